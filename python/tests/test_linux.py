"""The emulated computer in which other tests find the kernel's congestion controls."""

import sys
from pathlib import Path

import pytest

from .linux import run_in_linux

#: Linux's congestion controls besides Reno and CUBIC, by its own names.
CONTROLS = (
    *("bbr", "bic", "cdg", "dctcp", "highspeed", "htcp", "hybla", "illinois"),
    *("lp", "nv", "scalable", "vegas", "veno", "westwood", "yeah"),
)

#: Prints how much later than after 1 ms a process wakes, in ns: a thousand times.
SCRIPT = """\
import socket, sys, time
for name in sys.argv[1:]:
    socket.socket().setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
open("/dev/net/tun", "rb+", buffering=0).close()
late = []
for _ in range(1000):
    start = time.monotonic_ns()
    time.sleep(0.001)
    late.append(time.monotonic_ns() - start - 1_000_000)
print(*late)
sys.exit(7)
"""


@pytest.mark.nightly
def test_linux_has_every_congestion_control_and_an_exact_clock(tmp_path: Path) -> None:
    command = ["unshare", "--user", "--net", sys.executable, "-c", SCRIPT, *CONTROLS]
    done = run_in_linux(command, tmp_path)
    assert (done.returncode, done.stderr) == (7, "")
    late = sorted(map(int, done.stdout.split()))
    # Linux may delay a timer by 50 us (PR_SET_TIMERSLACK); a few thousand instructions follow.
    assert late[0] >= 0
    assert late[989] < 100_000
