"""Captures, as analysed by tshark.

tshark sees only packets, not the state of the endpoints. Where its definitions differ from TCP's, its counts
are compared with the counts of our senders by the same definition:

* tshark classifies a retransmission as out of order if the first RTT has not passed since the newest data, so
  that only the sum of both equals our retransmissions.
* A duplicate ACK in tshark repeats the number of the previous ACK. With SACK, ours reports new data above
  (RFC 6675 §2), even if it also advances the ACK number.
* A fast retransmission in tshark is any that starts at the number of at least two duplicate ACKs and follows
  the last one within 20 ms. Ours are the first ones of a recovery.
"""

import hashlib
import itertools
import math
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import airwnd
from airwnd import Capture, InputError, Run, Scenario

from .command_line import run_interrupted
from .conftest import Cli, nightly

Frame = Mapping[str, str]

CHECKS = [f"{protocol}.check_checksum:TRUE" for protocol in ("ip", "tcp", "udp")]
ANALYSIS = (
    *("retransmission", "fast_retransmission", "spurious_retransmission", "out_of_order", "duplicate_ack"),
    *("zero_window", "lost_segment"),
)
ERROR = str(0x0080_0000)
GOOD = "1"


def tshark(file: Path, *fields: str) -> list[Frame]:
    """Return tshark's fields of each packet; several values of a field are separated by commas."""
    program = shutil.which("tshark")
    assert program, "these tests need tshark: apt-get install tshark"
    command = [
        program,
        "-r",
        str(file),
        "-T",
        "fields",
        "-E",
        "separator=/t",
        "-o",
        "nameres.network_name:FALSE",
    ]
    command += [word for check in CHECKS for word in ("-o", check)]
    command += [word for field in fields for word in ("-e", field)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = done.stdout.split("\n")[:-1]
    return [dict(zip(fields, line.split("\t"), strict=True)) for line in lines]


def analyse(file: Path, *fields: str) -> list[Frame]:
    analysis = (f"tcp.analysis.{word}" for word in ANALYSIS)
    return tshark(file, "frame.time_epoch", "ip.src", "tcp.len", *analysis, *fields)


def flagged(frames: Sequence[Frame], *words: str) -> list[Frame]:
    return [frame for frame in frames if any(frame[f"tcp.analysis.{word}"] for word in words)]


def wired(loss: float = 0.0, /, **changes: Any) -> Scenario:
    """A download over 10 Mbit/s and 60 ms."""
    scenario = {
        "name": "wired",
        "preset": "airwnd-0.1",
        "duration": "10s",
        "link": [
            {
                "rate": "10Mbps",
                "delay": "20ms",
                "queue": 100,
                "loss": {"kind": "packet-error", "rate": loss},
            }
        ],
        "ue": [{}],
        "flow": [{}],
    }
    return Scenario.from_dict(scenario).with_(changes)


CELL = """
name = "cell"
preset = "airwnd-0.1"
duration = "1s"
[[site]]
[[ue]]
count = 2
[[flow]]
[[flow]]
id = "call"
traffic = "cbr"
[[flow]]
id = "upload"
direction = "up"
"""


@pytest.fixture
def capture(tmp_path: Path) -> Callable[..., tuple[Run, Path]]:
    """Run a scenario and capture it."""

    def call(scenario: Scenario, *nodes: str, snaplen: int | None = None) -> tuple[Run, Path]:
        file = tmp_path / "capture.pcapng"
        return scenario.run(series="1s", pcap=Capture(file, nodes or ("server",), snaplen)), file

    return call


Captured = Callable[..., tuple[Run, Path]]


@pytest.mark.parametrize("scenario", [wired(0.02), Scenario.from_toml(CELL)], ids=["wired", "cell"])
def test_tshark_finds_no_errors(capture: Captured, scenario: Scenario) -> None:
    _, file = capture(scenario, "all", snaplen=0)
    status = ("ip.checksum.status", "tcp.checksum.status", "udp.checksum.status")
    frames = tshark(file, "_ws.malformed", "_ws.expert.severity", "frame.protocols", *status)
    assert len(frames) > 1000
    assert not [frame for frame in frames if frame["_ws.malformed"]]
    assert not [frame for frame in frames if ERROR in frame["_ws.expert.severity"].split(",")]
    checked = [value for frame in frames for key in status for value in frame[key].split(",") if value]
    assert set(checked) == {GOOD}
    assert len(checked) >= 2 * len(frames), "an IP packet and its payload"
    tunnelled = [frame for frame in frames if "gtp" in frame["frame.protocols"]]
    assert bool(tunnelled) == bool(scenario.resolved["site"])
    known = {"raw", "ip", "tcp", "udp", "data", "gtp"}
    assert {word for frame in frames for word in frame["frame.protocols"].split(":")} <= known


MSS = 536


def newly_sacked(frames: Sequence[Frame]) -> list[int]:
    """Return the indices of ACKs that newly SACK a segment (RFC 6675 §2)."""
    known: set[int] = set()
    places = []
    for place, frame in enumerate(frames):
        edges = [frame[f"tcp.options.sack_{edge}"].split(",") for edge in ("le", "re")]
        blocks = [(int(left), int(right)) for left, right in zip(*edges, strict=True) if left]
        reported = {seq for left, right in blocks for seq in range(left, right, MSS)}
        if reported - known:
            places.append(place)
        known |= reported
    return places


@pytest.mark.parametrize("sack", [False, True])
@pytest.mark.parametrize("loss", [nightly(0.0), nightly(0.01), 0.05])
def test_tshark_counts_as_the_sender_does(capture: Captured, loss: float, sack: bool) -> None:
    scenario = wired(loss, **{"tcp.sack": sack, "duration": "10s" if loss else "4s"})
    run, file = capture(scenario)
    ours = run.flows.row(0, named=True)
    frames = analyse(file, "tcp.ack", "tcp.options.sack_le", "tcp.options.sack_re")
    sent = [frame for frame in frames if frame["ip.src"] == "10.1.0.1"]
    received = [frame for frame in frames if frame["ip.src"] == "7.0.0.2"]
    assert len(sent) == ours["packets_sent"]
    assert ours["retransmissions"] >= 10

    assert len(flagged(sent, "retransmission", "out_of_order")) == ours["retransmissions"]
    assert not flagged(frames, "spurious_retransmission", "lost_segment")

    repeats = [place for place, frame in enumerate(received) if frame["tcp.analysis.duplicate_ack"]]
    if sack:
        reports = newly_sacked(received)
        assert len(reports) == ours["duplicate_acks"]
        assert set(repeats) <= set(reports)
        for place in set(reports) - set(repeats):
            assert int(received[place]["tcp.ack"]) > int(received[place - 1]["tcp.ack"])
    else:
        assert len(repeats) == ours["duplicate_acks"]

    fast = flagged(sent, "fast_retransmission")
    begun = run.events.filter(event="recovery")["time_s"].to_list()
    assert len(begun) == ours["fast_retransmits"]
    for moment in begun:
        assert any(math.isclose(float(frame["frame.time_epoch"]), moment, abs_tol=1e-9) for frame in fast)
    if loss <= 0.01 or not sack:
        assert len(fast) == len(begun)


def test_closed_windows(capture: Captured) -> None:
    slow = {"flow[0].read_rate": "10kbps", "tcp.receive_buffer": f"{40 * MSS}B", "duration": "60s"}
    run, file = capture(wired(**slow))
    ours = run.flows.row(0, named=True)
    frames = analyse(file)
    assert len(flagged(frames, "zero_window")) == ours["zero_windows"] >= 10
    read_bytes = 10_000 / 8 * 60
    assert ours["goodput_kbps"] * 60e3 / 8 == pytest.approx(read_bytes + 40 * MSS, rel=0.03)


def test_both_directions_through_a_cell(capture: Captured) -> None:
    scenario = Scenario.from_toml(CELL).with_({"ue[0].count": 1, "duration": "3s"})
    for node, address, row in (("server", "10.1.0.1", 0), ("ue-0", "7.0.0.2", 2)):
        run, file = capture(scenario, node)
        ours = run.flows.row(row, named=True)
        frames = analyse(file, "tcp.stream", "tcp.srcport")
        port = str(49_152 + row)
        sent = [frame for frame in frames if frame["ip.src"] == address]
        peer = "tcp.srcport" if node == "ue-0" else None
        sent = [frame for frame in sent if peer is None or frame[peer] == port]
        streams = {frame["tcp.stream"] for frame in sent if int(frame["tcp.len"] or 0) > 0}
        sent = [frame for frame in sent if frame["tcp.stream"] in streams]
        assert len(sent) == ours["packets_sent"]
        assert len(flagged(sent, "retransmission", "out_of_order")) == ours["retransmissions"] > 0


@pytest.mark.nightly
def test_sequence_numbers_wrap(capture: Captured) -> None:
    fast = {
        "link[0].rate": "10Gbps",
        "link[0].delay": "1ms",
        "core.server_delay": "0s",
        "tcp.mss": 60_000,
        "tcp.send_buffer": "64MiB",
        "tcp.receive_buffer": "64MiB",
        "link[0].queue": 10_000,
    }
    run, file = capture(wired(1e-4, **fast).with_(duration="4500ms"))
    ours = run.flows.row(0, named=True)
    assert ours["goodput_kbps"] * 4.5e3 / 8 > 2**32
    frames = analyse(file, "tcp.seq_raw")
    sent = [frame for frame in frames if frame["ip.src"] == "10.1.0.1"]
    numbers = [int(frame["tcp.seq_raw"]) for frame in sent]
    assert any(before > 2**31 > after for before, after in itertools.pairwise(numbers))
    assert len(flagged(sent, "retransmission", "out_of_order")) == ours["retransmissions"] > 0
    assert not flagged(frames, "lost_segment")


def test_marks(capture: Captured) -> None:
    _, file = capture(
        wired(**{"tcp.ecn": "classic", "link[0].mark_above": 20, "duration": "4s"}), "server", "ue-0"
    )
    frames = tshark(
        file, "frame.interface_name", "ip.src", "ip.dsfield.ecn", "tcp.len", "tcp.flags.ece", "tcp.flags.cwr"
    )
    assert frames[0]["tcp.flags.ece"] == frames[0]["tcp.flags.cwr"] == "1", "the SYN requests ECN"
    data = [frame for frame in frames if int(frame["tcp.len"]) > 0]
    sent, received = (
        [frame["ip.dsfield.ecn"] for frame in data if frame["frame.interface_name"] == node]
        for node in ("server", "ue-0")
    )
    assert set(sent) == {"2"}
    assert set(received) == {"2", "3"}
    assert any(frame["tcp.flags.ece"] == "1" and frame["ip.src"] == "7.0.0.2" for frame in frames[3:])
    assert any(frame["tcp.flags.cwr"] == "1" and frame["ip.src"] == "10.1.0.1" for frame in frames[3:])


def test_a_lost_packet_is_captured_only_before_the_loss(capture: Captured) -> None:
    run, file = capture(wired(0.05, **{"flow[0].stop": "8s"}), "all")
    frames = tshark(file, "frame.interface_name", "ip.src", "ip.id", "ip.ttl")
    seen = {
        node: [
            frame
            for frame in frames
            if frame["frame.interface_name"] == node and frame["ip.src"] == "10.1.0.1"
        ]
        for node in ("server", "gateway", "ue-0")
    }
    counts = [len(frames) for frames in seen.values()]
    assert counts[0] == run.flows["packets_sent"][0]
    assert counts[2] == run.flows["packets_received"][0]
    assert counts[1] - counts[2] == run.drops["link_error"] > 10
    assert {frame["ip.ttl"] for frame in seen["server"]} == {"64"}
    assert {frame["ip.ttl"] for frame in seen["ue-0"]} == {"63"}
    numbers = [int(frame["ip.id"], 16) for frame in seen["server"]]
    assert numbers == list(range(len(numbers)))
    assert {frame["ip.id"] for frame in seen["ue-0"]} <= {frame["ip.id"] for frame in seen["server"]}


@pytest.mark.parametrize(("snaplen", "kept"), [(None, 52), (0, MSS + 52), (60, 60), (20, 20)])
def test_the_snap_length(capture: Captured, snaplen: int | None, kept: int) -> None:
    _, file = capture(wired().with_(duration="200ms"), snaplen=snaplen)
    frames = tshark(file, "frame.len", "frame.cap_len", "tcp.len", "_ws.malformed")
    data = [frame for frame in frames if frame["frame.len"] == str(MSS + 52)]
    assert len(data) > 10
    for frame in data:
        assert int(frame["frame.cap_len"]) == kept
    assert not [frame for frame in frames if frame["_ws.malformed"]]


def test_the_tunnel(capture: Captured) -> None:
    _, file = capture(Scenario.from_toml(CELL), "enb-0", "gateway")
    frames = tshark(
        file, "frame.interface_name", "ip.src", "frame.len", "gtp.teid", "gtp.seq_number", "udp.dstport"
    )
    tunnelled, plain = (
        [frame for frame in frames if frame["frame.interface_name"] == node] for node in ("enb-0", "gateway")
    )
    assert len(tunnelled) > 100
    assert {frame["udp.dstport"].split(",")[0] for frame in tunnelled} == {"2152"}
    for ue in (0, 1):
        down = [
            frame
            for frame in tunnelled
            if frame["gtp.teid"] == f"0x{ue + 1:08x}" and frame["ip.src"].startswith("10.2.0.1,")
        ]
        assert [int(frame["gtp.seq_number"], 16) for frame in down] == list(range(len(down)))
        sent = [int(frame["frame.len"]) for frame in plain if frame["ip.src"] == "10.1.0.1"]
        assert {int(frame["frame.len"]) - 40 for frame in down} <= set(sent)


def test_the_older_format(tmp_path: Path) -> None:
    scenario = wired(0.01).with_(duration="500ms")
    older, newer = tmp_path / "a.pcap", tmp_path / "a.pcapng"
    for file in (older, newer):
        scenario.run(pcap=file)
    assert older.read_bytes()[:4] == bytes.fromhex("4d3cb2a1")
    fields = ("frame.time_epoch", "ip.id", "tcp.seq_raw", "tcp.window_size", "frame.len")
    assert tshark(older, *fields) == tshark(newer, *fields)
    with pytest.raises(InputError, match=r"a\.pcap: a \.pcap holds one node"):
        scenario.run(pcap=Capture(older, nodes=["server", "ue-0"]))


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    scenario = Scenario.from_toml(CELL).with_(duration="100ms")
    files = [tmp_path / name for name in ("a.pcapng", "b.pcapng")]
    outcomes = [scenario.run(pcap=Capture(file, "all", snaplen=0)).outcome for file in files]
    assert files[0].read_bytes() == files[1].read_bytes()
    assert outcomes[0] == scenario.run().outcome, "a capture does not change the run"


def test_the_bytes_are_known(tmp_path: Path) -> None:
    file = tmp_path / "golden.pcapng"
    wired(0.05, duration="200ms").run(pcap=Capture(file, "all"))
    content = file.read_bytes()
    # The file names the program twice; a release changes only these bytes.
    program = f"airwnd {airwnd.__version__}".encode()
    assert content.count(program) == 2
    assert hashlib.sha256(content.replace(program, b"airwnd 0.1.0")).hexdigest() == GOLDEN


GOLDEN = "c06a7207c65727b2437ba49a668608400b1dc8ce493ee3ba75e9c71c405ee2b9"


def test_the_file_is_complete_after_an_interruption(tmp_path: Path) -> None:
    file = tmp_path / "capture.pcapng"

    def interrupt(done: float) -> None:
        if done > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        wired().run(progress=interrupt, pcap=file)
    times = [float(frame["frame.time_epoch"]) for frame in tshark(file, "frame.time_epoch")]
    assert 4 < times[-1] < 7


def test_ctrl_c_leaves_a_complete_file(tmp_path: Path) -> None:
    file = tmp_path / "long.pcap"
    (tmp_path / "long.toml").write_text(CELL)
    done = run_interrupted(
        *("run", "long.toml", "--set", "duration=1000s", "--pcap", file),
        cwd=tmp_path,
        when=lambda: file.exists() and file.stat().st_size > 100_000,
    )
    assert done.returncode == 130
    assert len(tshark(file, "frame.number")) > 1000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--pcap", "nowhere/a.pcapng"), "nowhere/a.pcapng: there is no folder nowhere; make it first"),
        (("--pcap", "/dev/full"), "/dev/full: No space left on device"),
        (
            ("--pcap", "a.pcapng", "--pcap-node", "ue-9"),
            "pcap: there is no node `ue-9`; nodes: server, gateway, enb-0, ue-0 to ue-1, or all",
        ),
        (
            ("--pcap", "a.pcap", "--pcap-node", "all"),
            "a.pcap: a .pcap holds one node; name one, or end the file in .pcapng",
        ),
        (
            ("--pcap-node", "ue-0"),
            "--pcap-node, --pcap-snaplen and --pcap-layers require --pcap. See `airwnd run --help`.",
        ),
    ],
)
def test_errors(cli: Cli, tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    (tmp_path / "cell.toml").write_text(CELL)
    done = cli("run", "cell.toml", *arguments)
    assert (done.returncode, done.stderr) == (2, f"airwnd: {message}\n")
    assert done.stdout == ""


def test_errors_in_python(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no node to capture at"):
        wired().run(pcap=Capture(tmp_path / "a.pcapng", nodes=[]))
    with pytest.raises(InputError, match="a snap length of -1; 0 to 65535 bytes are allowed"):
        wired().run(pcap=Capture(tmp_path / "a.pcapng", snaplen=-1))
    with pytest.raises(InputError, match="real_only is for airwnd link"):
        wired().run(pcap=Capture(tmp_path / "a.pcapng", real_only=True))
    assert not (tmp_path / "a.pcapng").exists()
