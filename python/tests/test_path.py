"""Transports without I/O at the ends of a simulated network, in virtual time."""

# ruff: noqa: ARG002 (the methods of an endpoint have their arguments, needed or not)

import json
import math
import runpy
from collections import Counter
from collections.abc import Iterable
from itertools import count
from pathlib import Path as File
from typing import Any

import pytest

from airwnd import Endpoint, InputError, Pair, Path, Scenario, ScenarioError

from .conftest import ROOT

WIRE = {
    "name": "wire",
    "duration": "2s",
    "core": {"server_rate": "0bps", "server_delay": "0ms"},
    "link": [{"rate": "10Mbps", "delay": "20ms", "queue": 5}],
    "ue": [{"name": "phone", "count": 2}],
}


def path(**changes: object) -> Path:
    return Path(Scenario.from_dict({**WIRE, **changes}))


class Echo(Endpoint):
    """Send back what arrives, marked as ECT(1)."""

    def __init__(self) -> None:
        self.waiting: list[bytes] = []

    def transmit(self, now_s: float) -> Iterable[tuple[bytes, int]]:
        waiting, self.waiting = self.waiting, []
        return [(data, 1) for data in waiting]

    def receive(self, now_s: float, data: bytes, ecn: int) -> None:
        assert ecn == 0
        self.waiting.append(data)
        self.received_bytes += len(data)


class Clock(Endpoint):
    """Send a packet every 100 ms, and note when each comes back."""

    def __init__(self) -> None:
        self.next_s, self.due = 0.1, True
        self.rtts: list[float] = []

    def transmit(self, now_s: float) -> Iterable[bytes]:
        if not self.due:
            return []
        self.due = False
        return [f"{now_s!r:<1172}".encode()]

    def receive(self, now_s: float, data: bytes, ecn: int) -> None:
        assert ecn == 1
        self.rtts.append(now_s - float(data))
        self.received_bytes += len(data)

    def timeout(self) -> float:
        return self.next_s

    def on_timeout(self, now_s: float) -> None:
        assert now_s >= self.next_s
        self.next_s, self.due = self.next_s + 0.1, True


class Steady(Endpoint):
    """Send packets of 1000 bytes every 10 ms, and note the times of its calls."""

    protocol = "tcp"

    def __init__(self) -> None:
        self.next_s = 0.0
        self.calls: list[float] = []

    def transmit(self, now_s: float) -> Iterable[bytes]:
        self.calls.append(now_s)
        while self.next_s <= now_s:
            self.next_s += 0.01
            yield bytes(1000)

    def receive(self, now_s: float, data: bytes, ecn: int) -> None:
        self.received_bytes += len(data)

    def timeout(self) -> float:
        return self.next_s


class Sink(Endpoint):
    """An application that reads when the stack is asked for packets."""

    protocol = "tcp"

    def __init__(self) -> None:
        self.unread = 0

    def transmit(self, now_s: float) -> Iterable[bytes]:
        self.received_bytes += self.unread
        self.unread = 0
        return ()

    def receive(self, now_s: float, data: bytes, ecn: int) -> None:
        self.unread += len(data)


def test_pairs_begin_and_end_at_their_times() -> None:
    late = Steady()
    network = Path(Scenario.from_dict(WIRE), series="100ms")
    flows = network.run_all(
        [
            Pair(Sink(), late, "phone-1", start_s=0.5, stop_s=1.5),
            Pair(Sink(), Steady(), "phone-0"),
            Pair(Steady(), Sink(), "phone-0", start_s=1.0),
        ],
        2.0,
    )
    names = [network.id(flow) for flow in flows]
    run = network.finish()
    # Its clock begins with it.
    assert late.calls[0] == 0
    assert late.calls[-1] == pytest.approx(1, abs=0.011)
    rows = {row["id"]: row for row in run.flows.iter_rows(named=True)}
    assert [rows[name]["packets_sent"] for name in names] == pytest.approx([100, 200, 100], abs=1)
    series = run.series.filter(run.series["flow"] == names[0])
    moving = [time for time, rate in series.select("time_s", "rate_kbps").rows() if rate > 0]
    assert moving == pytest.approx([0.6 + 0.1 * number for number in range(10)])
    assert max(series["rate_kbps"].to_list()) == pytest.approx(800, rel=0.01)


def test_a_pair_begins_within_the_path() -> None:
    with pytest.raises(InputError, match="start_s: expected 0 s, the present, to 1 s, the end; found 3 s"):
        path().run_all([Pair(Sink(), Steady(), "phone", start_s=3)], 1.0)


def test_a_packet_takes_the_time_of_the_path() -> None:
    clock, echo = Clock(), Echo()
    network = path()
    network.run(clock, echo, 1.95, ue="phone-1")
    # 1200 B at 10 Mbit/s and 20 ms, in both directions; the core takes microseconds.
    assert clock.rtts == pytest.approx([2 * 0.020_96] * len(clock.rtts), abs=5e-6)
    assert len(clock.rtts) == 20
    run = network.finish()
    row = run.flows.row(0, named=True)
    assert (row["kind"], row["ue"], row["packets_sent"]) == ("udp", 1, 20)
    assert row["goodput_kbps"] == pytest.approx(20 * 1172 * 8 / 1.95 / 1e3)


def test_packets_by_hand_are_delivered_or_dropped() -> None:
    network = path()
    flow = network.open("phone", ports=(1, 2), dscp=46)
    for number in range(8):
        network.send(flow, bytes([number]) * 1000, from_ue=False, ecn=2)
    seen = []
    while network.advance(1.0) < 1:
        while (packet := network.poll()) is not None:
            seen.append((packet.data[0], packet.dropped, packet.to_ue, packet.ecn, len(packet.data)))
            assert packet.time_s == network.time_s
            assert packet.sent_s == 0
    # One is being sent and five wait; a drop is known at once.
    assert seen[:2] == [(6, "link_queue_full", True, 2, 1000), (7, "link_queue_full", True, 2, 1000)]
    assert [number for number, *_ in seen[2:]] == [0, 1, 2, 3, 4, 5]
    assert network.finish().drops["link_queue_full"] == 2


def test_a_whole_nanosecond_is_itself() -> None:
    """The product with 1e9 is often a little above it, and was rounded up to the next nanosecond."""
    path = Path(Scenario.from_dict(WIRE), seed=1)
    times = [number / 1e9 for number in range(1_000_001, 999_999_999, 9_999_991)]
    assert any((time_s * 1e9) % 1 for time_s in times), "some are not exact"
    assert [path.advance(time_s) for time_s in times] == times
    # A time between two nanoseconds is rounded up.
    assert path.advance(1.000_000_000_4) == 1.000_000_001


def test_the_same_calls_have_the_same_run() -> None:
    def figures(seed: int) -> object:
        scenario = Scenario.from_dict(
            {"name": "cell", "duration": "1s", "site": [{}], "ue": [{"count": 2}], "flow": [{}]}
        )
        network = Path(scenario, seed, series="100ms")
        network.run(Clock(), Echo(), 1)
        run = network.finish()
        return run.outcome, run.series.rows()

    assert repr(figures(1)) == repr(figures(1))
    assert repr(figures(1)) != repr(figures(2))


class Endless(Echo):
    def transmit(self, now_s: float) -> Iterable[tuple[bytes, int]]:
        return ((b"x", 0) for _ in count())


class Late(Echo):
    def timeout(self) -> float:
        return -1.0


class Words(Echo):
    def transmit(self, now_s: float) -> Iterable[tuple[bytes, int]]:
        return ["text"]  # type: ignore[list-item]


def wrong(name: str, value: object) -> Endpoint:
    """Return an endpoint with another attribute, or with a method that returns this value."""
    is_method = name in {"transmit", "timeout"}
    endpoint: Endpoint = type("Wrong", (Echo,), {name: (lambda *_: value) if is_method else value})()
    return endpoint


def connect(network: Path, client: Endpoint, until_s: float = 1) -> None:
    network.run(client, Echo(), until_s, ue="phone")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: p.open("tablet"), "there is no UE `tablet`; UEs: phone-0, phone-1"),
        (lambda p: p.open("phone", dscp=64), "dscp: expected a number from 0 to 63, found 64"),
        (lambda p: p.send(0, b"x", from_ue=True), "flow 0 was not opened on this path"),
        (lambda p: p.min_delay_s(0, to_ue=True), "flow 0 was not opened on this path"),
        (
            lambda p: p.send(p.open("phone"), b"x" * 70_000, from_ue=True),
            "a datagram of 70000 bytes is too large",
        ),
        (lambda p: p.send(p.open("phone"), b"x", from_ue=True, ecn=4), "ecn: expected a number from 0 to 3"),
        (lambda p: (p.advance(1), p.advance(0.5)), "is before the path's present"),
        (lambda p: p.advance(float("nan")), "to_s must be a number of seconds"),
        (lambda p: p.advance(1e12), "to_s must be a number of seconds"),
        (lambda p: p.run(Endless(), Echo(), 1, ue="phone"), "at 0 s Endless.transmit sends without end"),
        (
            lambda p: p.run(Late(), Echo(), 1, ue="phone"),
            "at 0 s an endpoint sends without end, or",
        ),
        (
            lambda p: connect(p, Words()),
            "Words.transmit: data: expected bytes, found 'text'",
        ),
        (lambda p: p.open("phone", dscp=300), "dscp: expected a number from 0 to 63, found 300"),
        (lambda p: p.open("phone", ports=(70_000, 1)), "ports: expected a pair of ports from 0 to 65535"),
        (lambda p: p.send(p.open("phone"), b"", from_ue=True, ecn=300), "ecn: expected a number from 0 to 3"),
        (lambda p: p.send(-1, b"x", from_ue=True), "flow: expected the number of a flow, found -1"),
        (lambda p: p.send(2**40, b"x", from_ue=True), "flow: expected the number of a flow"),
        (lambda p: p.min_delay_s(-1, to_ue=True), "flow: expected the number of a flow, found -1"),
        (lambda p: p.advance("1s"), "to_s: expected a number, found '1s'"),
        (lambda p: connect(p, Echo(), math.inf), "until_s: expected a number of seconds of at most"),
        (lambda p: connect(p, wrong("transmit", 5)), "Wrong.transmit returned int instead"),
        (
            lambda p: connect(p, wrong("transmit", [(b"x", 0, 0)])),
            "transmit: expected bytes and an ECN field",
        ),
        (
            lambda p: connect(p, wrong("transmit", [(b"x", -1)])),
            "Wrong.transmit: ecn: expected",
        ),
        (
            lambda p: connect(p, wrong("timeout", math.nan)),
            "Wrong.timeout returned nan instead of",
        ),
        (
            lambda p: connect(p, wrong("timeout", "1")),
            "Wrong.timeout returned '1' instead of",
        ),
        (
            lambda p: connect(p, wrong("received_bytes", -1)),
            "Wrong.received_bytes: expected a whole number from 0, found -1",
        ),
        (
            lambda p: connect(p, wrong("retransmissions", 0.5)),
            "Wrong.retransmissions: expected a whole number from 0, found 0.5",
        ),
        (lambda p: (p.finish(), p.finish()), "the path is finished"),
        (lambda p: (p.open("phone"), p.finish(), p.send(0, b"x", from_ue=True)), "the path is finished"),
        (lambda p: (p.finish(), p.advance(2)), "the path is finished"),
        (lambda p: (p.finish(), p.poll()), "the path is finished"),
    ],
)
def test_a_wrong_call_has_one_line(call: object, message: str) -> None:
    with pytest.raises((InputError, ScenarioError)) as raised:
        call(path())  # type: ignore[operator]
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_aioquic_downloads_through_a_cell(tmp_path: File, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    example = runpy.run_path(str(ROOT / "examples" / "aioquic-in-cell" / "download.py"))
    run = example["download"]("reno", 1, log=True, until_s=1)
    (row,) = run.flows.filter(kind="udp").rows(named=True)
    assert row["goodput_kbps"] > 800
    log = json.loads((tmp_path / "reno-1.qlog").read_text(encoding="utf-8"))
    network, client, server = (trace["events"] for trace in log["traces"])

    def sizes(events: list[dict[str, Any]], name: str, **about: str) -> Counter[float]:
        """Return the bytes by time, since packets of QUIC share datagrams."""
        found: Counter[float] = Counter()
        for event in events:
            data = event["data"]
            if event["name"] == name and about.items() <= data.items():
                found[event["time"]] += data["raw"].get("payload_length") or data["raw"]["length"]
        return found

    # aioquic takes times from the clock of the machine; the file has those of the network.
    for sender, receiver, direction in ((server, client, "downlink"), (client, server, "uplink")):
        for events, name, event in (
            (sender, "transport:packet_sent", "airwnd:datagram_sent"),
            (receiver, "transport:packet_received", "airwnd:datagram_delivered"),
        ):
            ours, theirs = sizes(network, event, direction=direction), sizes(events, name)
            assert len(ours) > 20
            assert theirs.keys() == ours.keys()
            # The padding of datagrams of the handshake is no packet (RFC 9000 §14.1).
            assert {now: size for now, size in ours.items() if theirs[now] != size and now > 100} == {}
