"""A download beside ``airwnd guard``, in an emulated computer with root privileges.

Prints ``limited`` when the sender has seen the window of the guard for some time, and ``released`` when it
has seen larger ones after a SIGKILL of the guard. Only the standard library and the native module are
imported: reading a file takes a long time there.
"""

# ruff: noqa: S607, T201

import os
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO

SENDER, PORT = "192.0.2.1", 5001
WINDOW = 20_000
UNIT = 1024
"""Bytes of a unit of the window field, at most."""
SAMPLES = 50
"""Consecutive windows that must agree."""
PATIENCE = 5_000
GUARD = "import sys; from airwnd import _native; sys.exit(_native.guard(sys.argv[1:]))"
CGROUP = Path("/sys/fs/cgroup/guarded")


def main() -> None:
    """Limit a download, kill the guard, and watch the windows."""
    subprocess.run(["mount", "-t", "cgroup2", "none", "/sys/fs/cgroup"], check=True)
    CGROUP.mkdir()
    (CGROUP / "cgroup.procs").write_text(str(os.getpid()), encoding="utf-8")
    command = ["unshare", "--net", sys.executable, "-I", __file__, "send"]
    sender = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    # The namespace is there when the program has started.
    assert sender.stdin
    assert sender.stdout
    assert sender.stdout.readline() == "started\n"
    script = f"""
        ip link add near type veth peer name far netns {sender.pid}
        ip address add 192.0.2.2/24 dev near
        ip link set near up
        nsenter --net=/proc/{sender.pid}/ns/net sh -ec '
            ip address add {SENDER}/24 dev far
            ip link set far up
            tc qdisc add dev far root netem delay 10ms'
    """
    subprocess.run(["sh", "-ec", script], check=True)
    print("go", file=sender.stdin, flush=True)
    assert sender.stdout.readline() == "listening\n"
    spec = f'{{kind = "fixed", limit = "{WINDOW}B"}}'
    arguments = [sys.executable, "-I", "-c", GUARD, "--cgroup", str(CGROUP), "--rwnd", spec]
    guard = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)
    assert guard.stderr
    line = guard.stderr.readline()
    if line != "guarding\n":
        sys.exit(line)
    threading.Thread(target=receive, daemon=True).start()
    await_windows(sender.stdout, lambda window: window <= WINDOW + UNIT)
    print("limited")
    guard.kill()
    await_windows(sender.stdout, lambda window: window > 4 * WINDOW)
    print("released", flush=True)
    sender.kill()


def receive() -> None:
    """Read without end."""
    with socket.create_connection((SENDER, PORT)) as connection:
        while connection.recv(1 << 16):
            pass


def await_windows(windows: IO[str], condition: Callable[[int], bool]) -> None:
    """Wait until some consecutive windows satisfy a condition."""
    consecutive, window = 0, 0
    for _ in range(PATIENCE):
        window = int(windows.readline())
        consecutive = consecutive + 1 if condition(window) else 0
        if consecutive == SAMPLES:
            return
    sys.exit(f"not after {PATIENCE} windows; the last is {window}")


def send() -> None:
    """Send without end over one connection, and print the window of the receiver after each piece."""
    print("started", flush=True)
    sys.stdin.readline()
    with socket.create_server((SENDER, PORT)) as server:
        print("listening", flush=True)
        connection, _ = server.accept()
        while True:
            connection.sendall(bytes(4096))
            # tcpi_snd_wnd of struct tcp_info (linux/tcp.h)
            (window,) = struct.unpack_from(
                "I", connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 232), 228
            )
            print(window, flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["send"]:
        send()
    else:
        main()
