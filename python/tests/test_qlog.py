"""The qlog of a path: events of the network and of the stacks at its ends, on one clock."""

# ruff: noqa: ARG002 (the methods of an endpoint have their arguments, needed or not)

import json
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path as File
from typing import Any

import jsonschema
import pytest

from airwnd import Endpoint, InputError, Path, Run, Scenario, ScenarioError
from airwnd.scenario.qlog import SCHEMA

from .test_path import WIRE

CELL = {
    "name": "cell",
    "duration": "1s",
    "rlc": {"queue": {"kind": "drop-tail", "buffer": "20kB"}},
    "site": [{}],
    "ue": [{"name": "phone"}],
}
# CDDL of draft-ietf-quic-qlog-main-schema, sections 4 to 7, as of July 2026.
MAIN = {
    "type": "object",
    "required": ["file_schema", "serialization_format", "traces"],
    "properties": {
        "file_schema": {"const": "urn:ietf:params:qlog:file:contained"},
        "serialization_format": {"const": "application/qlog+json"},
        "title": {"type": "string"},
        "traces": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/trace"}},
    },
    "$defs": {
        "trace": {
            "type": "object",
            "required": ["event_schemas", "events"],
            "properties": {
                "title": {"type": "string"},
                "vantage_point": {
                    "required": ["type"],
                    "properties": {
                        "type": {"enum": ["client", "server", "network", "unknown"]},
                        "flow": {"enum": ["client", "server", "unknown"]},
                    },
                },
                "common_fields": {
                    "required": ["reference_time"],
                    "properties": {
                        "time_format": {"enum": ["relative_to_epoch", "relative_to_previous_event"]},
                        "reference_time": {
                            "required": ["clock_type", "epoch"],
                            "properties": {
                                "clock_type": {"const": "monotonic"},
                                "epoch": {"const": "unknown"},
                            },
                        },
                    },
                },
                "event_schemas": {
                    "type": "array",
                    "minItems": 1,
                    "items": {"type": "string", "format": "uri", "pattern": "^(urn|https):"},
                },
                "events": {"type": "array", "items": {"$ref": "#/$defs/event"}},
            },
        },
        "event": {
            "type": "object",
            "required": ["time", "name", "data"],
            "properties": {
                "time": {"type": "number"},
                "name": {"type": "string", "pattern": "^[a-z0-9_]+:[a-z0-9_]+$"},
                "data": {"type": "object"},
            },
        },
    },
}


class Stack(Endpoint):
    """Send packets at an interval, some of them equal, and log them on the clock of the machine."""

    def __init__(self, interval_s: float, size: int) -> None:
        self.interval_s, self.size = interval_s, size
        self.next_s, self.number = 0.0, 0
        self.waiting: list[dict[str, Any]] = []

    def transmit(self, now_s: float) -> Iterable[tuple[bytes, int]]:
        while self.next_s <= now_s:
            self.next_s += self.interval_s
            self.number += 1
            for _ in range(2):
                self.note("quic:packet_sent", {"raw": {"length": self.size}})
                yield bytes([self.number % 256]) * self.size, 2

    def receive(self, now_s: float, data: bytes, ecn: int) -> None:
        self.received_bytes += len(data)
        self.note("quic:packet_received", {"raw": {"length": len(data)}, "ce": ecn == 3})

    def timeout(self) -> float:
        return self.next_s

    def note(self, name: str, data: dict[str, Any]) -> None:
        self.waiting.append({"time": 1.7e12, "name": name, "data": data})

    def qlog(self) -> list[dict[str, Any]]:
        taken, self.waiting = self.waiting, []
        return taken


def logged(
    file: File, settings: dict[str, Any] = WIRE, *, client: Endpoint | None = None, **more: Any
) -> tuple[Run, dict[str, Any]]:
    """Return the run of a path between two stacks, and its qlog."""
    path = Path(Scenario.from_dict(settings), 1, qlog=file, **more)
    path.run(client or Stack(0.011, 200), Stack(0.0021, 1200), 0.5, ue="phone")
    run = path.finish()
    return run, json.loads(file.read_text(encoding="utf-8"))


def of(log: dict[str, Any], vantage: str) -> list[dict[str, Any]]:
    """Return the events of the trace of a vantage point."""
    (events,) = (each["events"] for each in log["traces"] if each["vantage_point"]["type"] == vantage)
    return list(events)


def times_of(log: dict[str, Any], kind: str) -> dict[int, float]:
    """Return the times of events of datagrams by their numbers."""
    events = (each for each in of(log, "network") if each["name"] == f"airwnd:datagram_{kind}")
    return {each["data"]["datagram"]: each["time"] for each in events}


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, dict[str, Any]]:
    """A cell whose queue overflows, with a qlog and time series."""
    return logged(tmp_path_factory.mktemp("qlog") / "cell.qlog", CELL, series="20ms")


def test_the_file_has_the_structure_of_the_draft(loaded: tuple[Run, dict[str, Any]]) -> None:
    _, log = loaded
    jsonschema.Draft202012Validator(MAIN).validate(log)
    assert [each["vantage_point"]["type"] for each in log["traces"]] == ["network", "client", "server"]
    assert log["traces"][0]["event_schemas"] == [SCHEMA, "urn:ietf:params:qlog:events:simulation"]
    assert log["traces"][1]["event_schemas"] == [SCHEMA, "urn:ietf:params:qlog:events:quic"]
    # The loader of qvis (quiclog/qvis, FileLoader.ts and QlogLoaderV2.ts) asks for these near the beginning.
    assert (log["qlog_version"], log["qlog_format"]) == ("0.3", "JSON")
    assert list(log).index("qlog_format") < list(log).index("title")
    for trace in log["traces"]:
        assert all(before["time"] <= after["time"] for before, after in pairwise(trace["events"]))


def test_counts_are_those_of_the_results(loaded: tuple[Run, dict[str, Any]]) -> None:
    run, log = loaded
    found = Counter(
        (each["name"], each["data"]["direction"])
        for each in of(log, "network")
        if each["name"].startswith("airwnd:datagram")
    )
    row = run.flows.row(0, named=True)
    assert row["packets_dropped"] > 0
    assert found["airwnd:datagram_sent", "downlink"] == row["packets_sent"]
    assert found["airwnd:datagram_delivered", "downlink"] == row["packets_received"]
    assert found["airwnd:datagram_dropped", "downlink"] == row["packets_dropped"]
    causes = Counter(
        each["data"]["trigger"] for each in of(log, "network") if each["name"].endswith("dropped")
    )
    assert causes == {cause: number for cause, number in run.drops.items() if number}


def test_a_datagram_has_one_number_and_leaves_once(loaded: tuple[Run, dict[str, Any]]) -> None:
    _, log = loaded
    sent: dict[int, dict[str, Any]] = {}
    for event in of(log, "network"):
        data = event["data"]
        if event["name"] == "airwnd:datagram_sent":
            assert data["datagram"] not in sent
            sent[data["datagram"]] = event
        elif event["name"].startswith("airwnd:datagram"):
            begun = sent.pop(data["datagram"])
            assert data["raw"] == begun["data"]["raw"]
            assert data.get("delay_ms", 0.0) == pytest.approx(
                event["time"] - begun["time"] if "delay_ms" in data else 0.0, abs=2e-6
            )
    assert sent  # what is inside at the end


def test_events_of_both_stacks_are_on_the_clock_of_the_network(loaded: tuple[Run, dict[str, Any]]) -> None:
    _, log = loaded

    def times(vantage: str, name: str, direction: str | None = None) -> Counter[float]:
        return Counter(
            each["time"]
            for each in of(log, vantage)
            if each["name"] == name and (direction is None or each["data"]["direction"] == direction)
        )

    for sender, receiver, direction in (("server", "client", "downlink"), ("client", "server", "uplink")):
        assert times(sender, "quic:packet_sent") == times("network", "airwnd:datagram_sent", direction)
        assert times(receiver, "quic:packet_received") == times(
            "network", "airwnd:datagram_delivered", direction
        )


def test_samples_and_marks_are_in_the_file(tmp_path: File) -> None:
    settings = {**CELL, "rlc": {"queue": {"kind": "codel", "ecn": True}}}
    run, log = logged(tmp_path / "x.qlog", settings, series="20ms")
    samples = [each for each in of(log, "network") if each["name"] == "airwnd:sampled"]
    assert [each["time"] for each in samples] == [20.0 * count for count in range(1, 26)]
    assert [each["data"].get("queue_bytes") for each in samples] == run.series["queue_bytes"].to_list()
    marked = [
        each
        for each in of(log, "network")
        if each["name"] == "airwnd:datagram_delivered" and each["data"]["ecn"] == "CE"
    ]
    assert len(marked) == run.flows["packets_marked"][0] > 0
    marks, sent, left = (times_of(log, kind) for kind in ("marked", "sent", "delivered"))
    assert sorted(marks) == sorted(each["data"]["datagram"] for each in marked)
    # CoDel marks a packet that has waited and leaves its queue, before it crosses the air.
    assert all(sent[number] + 5 < at < left[number] for number, at in marks.items())
    times = [each["time"] for each in of(log, "network")]
    assert times == sorted(times)


#: A car that is handed over from one cell to the other.
DRIVE: dict[str, Any] = {
    "name": "drive",
    "duration": "3s",
    "handover": {"algorithm": "a3-rsrp"},
    "site": [{"position": ["0m", "0m"]}, {"position": ["400m", "0m"]}],
    "ue": [
        {
            "name": "car",
            "placement": {"kind": "list", "points": [["150m", "20m"]]},
            "mobility": {"kind": "constant-velocity", "speed": "40m/s"},
        }
    ],
}


def test_handovers_are_in_the_file(tmp_path: File) -> None:
    path = Path(Scenario.from_dict(DRIVE), 1, series="100ms", qlog=tmp_path / "x.qlog")
    path.run(Stack(0.1, 200), Stack(0.1, 200), 3.0, ue="car")
    run = path.finish()
    log = json.loads((tmp_path / "x.qlog").read_text(encoding="utf-8"))
    there = [
        (event["time"], event["name"].partition(":")[2], event["data"].get("cell"))
        for event in of(log, "network")
        if "handover" in event["name"]
    ]
    rows = run.events.filter(run.events["event"] != "drop")
    assert [
        (1e3 * time, event, cell) for time, event, cell in rows.select("time_s", "event", "cell").rows()
    ] == [(pytest.approx(time), event, cell) for time, event, cell in there]
    assert {event for _, event, _ in there} >= {"handover_start", "handover_end"}


def test_the_radio_interface_is_in_the_file(tmp_path: File) -> None:
    settings = {**DRIVE, "ue": [{"name": "other"}, *DRIVE["ue"]], "flow": [{"ue": "other"}]}
    scenario = Scenario.from_dict(settings)

    def connect(name: str, **more: Any) -> Run:
        path = Path(scenario, 1, series="100ms", qlog=tmp_path / name, **more)
        path.run(Stack(0.1, 200), Stack(0.01, 200), 3.0, ue="car")
        return path.finish()

    run = connect("radio.qlog", radio=True)
    assert run.outcome == connect("without.qlog").outcome
    log = json.loads((tmp_path / "radio.qlog").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(MAIN).validate(log)
    events = of(log, "network")
    assert all(before["time"] <= after["time"] for before, after in pairwise(events))
    names = Counter(each["name"] for each in events)
    radio = {"airwnd:grant_sent", "airwnd:block_sent", "airwnd:control_sent"}
    assert {each["data"]["ue"] for each in events if each["name"] in radio} == {"car"}
    # A packet of 228 bytes fits into the block of a grant.
    assert names["airwnd:grant_sent"] > names["airwnd:datagram_sent"] > 300
    assert {each["data"]["outcome"] for each in events if each["name"] == "airwnd:block_sent"} >= {"decoded"}
    assert names["airwnd:control_sent"] > 10
    grants = [each for each in events if each["name"] == "airwnd:grant_sent"]
    assert {each["data"]["direction"] for each in grants} == {"downlink", "uplink"}
    assert all(each["data"]["on_air_ms"] >= each["time"] for each in grants)
    starts = [each["data"] for each in events if each["name"] == "airwnd:handover_start"]
    rows = run.events.filter(run.events["event"] == "handover_start")
    assert [each["to_cell"] for each in starts] == rows["cell"].to_list() != []


def test_records_of_the_radio_interface_need_cells_and_a_file(tmp_path: File) -> None:
    with pytest.raises(InputError, match="radio: the records are written to a qlog"):
        Path(Scenario.from_dict(CELL), radio=True)
    with pytest.raises(ScenarioError, match="links have no radio interface"):
        Path(Scenario.from_dict(WIRE), qlog=tmp_path / "x.qlog", radio=True)


def test_equal_runs_have_equal_bytes_and_the_results_without_a_file(tmp_path: File) -> None:
    first, _ = logged(tmp_path / "1.qlog", series="20ms")
    second, _ = logged(tmp_path / "2.qlog", series="20ms")
    assert (tmp_path / "1.qlog").read_bytes() == (tmp_path / "2.qlog").read_bytes()
    path = Path(Scenario.from_dict(WIRE), 1, series="20ms")
    path.run(Stack(0.011, 200), Stack(0.0021, 1200), 0.5, ue="phone")
    assert path.finish().outcome == first.outcome == second.outcome


def test_an_owner_adds_events_with_times_of_its_own(tmp_path: File) -> None:
    path = Path(Scenario.from_dict(WIRE), 1, qlog=tmp_path / "x.qlog")
    flow = path.open("phone")
    path.advance(0.25)
    path.log(flow, [{"name": "rtp:sent", "data": {}, "time_format": "absolute"}], from_ue=False)
    path.advance(0.5)
    own = [
        {"name": "rtp:rate", "time": 260, "data": {"kbps": 5}},
        {"name": "rtp:rate", "time": 300.5, "data": {}},
    ]
    path.log(flow, own, from_ue=False, own_times=True)
    path.finish()
    log = json.loads((tmp_path / "x.qlog").read_text(encoding="utf-8"))
    assert of(log, "server") == [
        {"time": 250.0, "name": "rtp:sent", "data": {}},
        {"time": 260.0, "name": "rtp:rate", "data": {"kbps": 5}},
        {"time": 300.5, "name": "rtp:rate", "data": {}},
    ]
    assert sorted(tmp_path.iterdir()) == [tmp_path / "x.qlog"]


def test_a_copy_that_a_link_makes_has_no_number(tmp_path: File) -> None:
    link = {"rate": "10Mbps", "delay": "20ms", "duplicate": {"probability": 0.5}}
    _, log = logged(tmp_path / "x.qlog", {**WIRE, "link": [link]})
    delivered = [each for each in of(log, "network") if each["name"] == "airwnd:datagram_delivered"]
    numbers = [each["data"]["datagram"] for each in delivered if "datagram" in each["data"]]
    assert len(set(numbers)) == len(numbers) < len(delivered)


def test_without_a_file_nothing_is_logged() -> None:
    path = Path(Scenario.from_dict(WIRE))
    client = Stack(0.1, 100)
    path.run(client, Stack(0.1, 100), 0.2, ue="phone")
    assert client.waiting
    path.log(0, client.waiting, from_ue=True)


def _log(events: Any, **more: Any) -> Callable[[File], object]:
    def call(folder: File) -> None:
        path = Path(Scenario.from_dict(WIRE), 1, qlog=folder / "x.qlog")
        flow = path.open("phone")
        path.advance(0.1)
        path.log(more.pop("flow", flow), events, from_ue=True, **more)

    return call


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda folder: Path(Scenario.from_dict(WIRE), qlog=folder / "x.sqlog"),
            "expected a name that ends in",
        ),
        (lambda folder: Path(Scenario.from_dict(WIRE), qlog=folder / "no" / "x.qlog"), "there is no folder"),
        (_log([5]), "expected an event, a dictionary with a text `name`"),
        (_log([{"name": "x:y"}]), "expected an event, a dictionary with a text `name`"),
        (
            _log([{"name": "x:y", "data": {"z": object()}}]),
            "qlog: event x:y: Encoding objects of type object",
        ),
        (_log([{"name": "x:y", "data": {}}], own_times=True), "expected a time from 0.0 ms"),
        (
            _log([{"name": "x:y", "time": 101.0, "data": {}}], own_times=True),
            "to 100.0 ms, the present; found 101",
        ),
        (_log([], flow=7), "flow 7 was not opened on this path"),
    ],
)
def test_a_wrong_call_has_one_line(call: Callable[[File], object], message: str, tmp_path: File) -> None:
    with pytest.raises(InputError) as raised:
        call(tmp_path)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
