"""Windows of this machine's kernel and of the simulator: senders that the application limits, short paths."""

import json
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path

import polars as pl
import pytest

from airwnd import Run, Scenario

from .command_line import command_words

MSS = 1448
#: Sends bursts of segments, a pause after each, and stores cwnd before each burst and after the last pause.
SERVER = textwrap.dedent("""
    import json, socket, struct, sys, time
    file, segments, bursts, pause = sys.argv[1], *map(float, sys.argv[2:])
    listening = socket.create_server(("", 8000))
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
    connection, _ = listening.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def cwnd():  # tcpi_snd_cwnd of struct tcp_info
        return struct.unpack_from("I", connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104), 80)[0]

    begin, found = time.monotonic(), []
    for burst in range(int(bursts)):
        time.sleep(max(0.0, begin + burst * pause - time.monotonic()))
        found.append(cwnd())
        connection.sendall(bytes(int(segments) * 1448))
    time.sleep(pause)
    json.dump([*found, cwnd()], open(file, "w"))
""")
CLIENT = textwrap.dedent("""
    import socket
    connection = socket.create_connection(("server", 8000))
    while connection.recv(1 << 20):
        pass
""")


def of_the_kernel(folder: Path, segments: int, bursts: int, pause_s: float) -> list[int]:
    """Return cwnd in segments before each burst and at the end."""
    server, file = folder / "server.py", folder / "windows.json"
    server.write_text(SERVER, encoding="utf-8")
    arguments = [str(file), str(segments), str(bursts), str(pause_s)]
    link = command_words("link", "--rate", "100Mbit", "--delay", "50ms")
    serve = shlex.join([sys.executable, "-I", str(server), *arguments])
    subprocess.run(
        [*link, "--server", serve, "--", sys.executable, "-I", "-c", CLIENT], check=True, cwd=folder
    )
    found: list[int] = json.loads(file.read_text(encoding="utf-8"))
    return found


def of_the_simulator(segments: int, bursts: int, pause_s: float) -> list[int]:
    """Return cwnd in segments before each burst and at the end."""
    size = f"{segments * MSS}B"
    rate = f"{segments * MSS * 8 / pause_s:.3f}bps"
    scenario = Scenario.from_dict(
        {
            "duration": f"{bursts * pause_s}s",
            "warmup": "0ms",
            "link": [{"rate": "100Mbps", "delay": "50ms"}],
            "ue": [{}],
            "flow": [{"cc": "cubic", "traffic": {"kind": "ftp", "chunk": size, "rate": rate}}],
            # This model of FTP discards what does not fit into the send buffer, for which the server waits.
            "tcp": {"send_buffer_autotuning": False},
        }
    )
    series = scenario.run(series="10ms").series
    before = [0.01, *(burst * pause_s - 0.005 for burst in range(1, bursts + 1))]
    windows = (series.filter(pl.col("time_s") <= time)["cwnd_bytes"].last() for time in before)
    return [int(window) // MSS for window in windows if isinstance(window, float)]


# A burst enlarges cwnd by the segments that it limited, or in slow start to twice those in flight. Each pause
# of the last case is longer than one retransmission timeout, and shorter than two.
@pytest.mark.nightly
@pytest.mark.parametrize(
    ("segments", "bursts", "pause_s"), [(9, 1, 1.0), (10, 1, 1.0), (18, 1, 1.0), (40, 1, 1.0), (30, 8, 0.58)]
)
def test_bursts_leave_the_windows_of_the_kernel(
    tmp_path: Path, segments: int, bursts: int, pause_s: float
) -> None:
    kernel = of_the_kernel(tmp_path, segments, bursts, pause_s)
    assert of_the_simulator(segments, bursts, pause_s) == kernel


#: Packets of the queue of a short path.
QUEUE = 1000


def offered_by_the_kernel(folder: Path, rate: str, delay: str) -> int:
    """Return the largest receive window of a download, in bytes."""
    link = command_words("link", "--quiet", "--rate", rate, "--delay", delay, "--queue", str(QUEUE))
    record = ["--out", str(folder), "--series", "10ms", "--lateness-limit", "1h"]
    download = ["iperf3", "-c", "server", "-R", "-t", "4", "-C", "cubic"]
    subprocess.run([*link, *record, "--", *download], check=True, stdout=subprocess.DEVNULL)
    sockets = Run.load(folder).sockets
    return _largest(sockets.filter(pl.col("direction") == "up"))


def offered_by_the_simulator(rate: str, delay: str) -> int:
    """Return the largest receive window of a download, in bytes."""
    scenario = Scenario.from_dict(
        {
            "duration": "4s",
            "core": {"server_delay": "0ms"},
            "link": [{"rate": rate, "delay": delay, "queue": QUEUE}],
            "ue": [{}],
            "flow": [{"cc": "cubic"}],
        }
    )
    return _largest(scenario.run(series="10ms").series)


def _largest(samples: pl.DataFrame) -> int:
    largest = samples["rwnd_bytes"].max()
    assert isinstance(largest, float)
    return int(largest)


# An RTT below a tick of the timestamp clock once counted as zero: the simulated window stayed at 81,920 B.
# How far a window grows depends on the packets that happen to fall into a round trip: those of the kernel
# were 7.8 to 12.4 MB at 700 Mbit/s and 4.3 to 20.7 MB at 1 Gbit/s, the simulated ones 6.6 and 14.5 MB.
@pytest.mark.nightly
@pytest.mark.parametrize(("rate", "delay"), [("700Mbps", "100us"), ("1Gbps", "250us")])
def test_receivers_on_paths_shorter_than_a_tick_open_their_windows_as_the_kernels(
    tmp_path: Path, rate: str, delay: str
) -> None:
    kernel = offered_by_the_kernel(tmp_path, rate.replace("bps", "bit"), delay)
    simulated = offered_by_the_simulator(rate, delay)
    # At least twice the queue, which is full at times and then arrives in a round trip; at most 5/8 of the
    # buffer.
    minimum, maximum = 2 * QUEUE * MSS, 5 * (32 << 20) // 8
    assert minimum <= kernel <= maximum, "the kernel's rule is another one"
    assert minimum <= simulated <= maximum, f"the kernel has {kernel} B"
