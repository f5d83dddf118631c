"""Program on the UE: pings and transfers, first without the guard, then with it.

``python -m airwnd.guard.inside FILE`` reads its task from FILE, a JSON object, and appends each sample to the
task's ``out`` as a line of JSON. ``python -m airwnd.guard.inside download SECONDS`` is the default transfer.
It imports the standard library only.
"""

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

PING_S, RATE_S = 0.05, 0.1
#: Time without a transfer, before the first one and after each: the queue drains.
IDLE_S = 3.0
#: Parts in their order: idle, then the two transfers.
IDLE, WITHOUT, WITH = "idle", "without", "with"
_ECHO_REQUEST, _ECHO_REPLY = 8, 0
# A browser needs some seconds to start.
_PATIENCE_S = 60.0
# Bytes received when a transfer has begun: more than a name lookup and a handshake.
_FIRST_BYTES, _POLL_S = 5000, 0.005

Write = Callable[[dict[str, Any]], None]


def main() -> None:
    """Run a task, or the default transfer."""
    if sys.argv[1] == "download":
        download(float(sys.argv[2]))
        return
    task = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    cgroup = Path(task["cgroup"])
    with Path(task["out"]).open("a", encoding="utf-8") as file:
        lock = threading.Lock()

        def write(sample: dict[str, Any]) -> None:
            with lock:
                file.write(json.dumps(sample) + "\n")

        # A refusal comes before anything is measured.
        with guarded(task["guard"]):
            pass
        with observed(IDLE, write):
            time.sleep(IDLE_S)
        with transfer(task["transfer"], cgroup) as process, observed(WITHOUT, write):
            wait(process, task["seconds"])
        time.sleep(IDLE_S)
        with (
            guarded(task["guard"]),
            transfer(task["transfer"], cgroup) as process,
            observed(WITH, write) as began,
        ):
            wait(process, task["seconds"])
        for interval in remeasured(Path(task["log"]), cgroup):
            write({"part": WITH, "measured_s": [at - began for at in interval]})


@contextmanager
def guarded(command: list[str]) -> Iterator[None]:
    """Run the guard; end with its message and exit code if it does not start."""
    guard = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)  # noqa: S603 (our own command)
    line = (guard.stderr.readline() if guard.stderr else "").strip()
    if line != "guarding":
        sys.stderr.write(f"{line}\n")
        sys.exit(guard.wait())
    try:
        yield
    finally:
        guard.send_signal(signal.SIGTERM)
        guard.communicate()


def remeasured(log: Path, cgroup: Path) -> list[tuple[float, float]]:
    """Return when the minimum RTT of a cgroup's flows was measured again: beginning and end of each interval.

    Parameters
    ----------
    log
        File of ``airwnd guard --json-log``, which also has the flows that have ended.
    cgroup
        Folder of the cgroup, whose inode is the identifier of the kernel.
    """
    own = cgroup.stat().st_ino
    states = map(json.loads, log.read_text(encoding="utf-8").splitlines())
    flows = [flow for state in states for place in state["places"] for flow in place["flows"]]
    return sorted(
        {tuple(flow["measured_s"]) for flow in flows if flow["cgroup"] == own and flow["measured_s"]}
    )


@contextmanager
def observed(part: str, write: Write) -> Iterator[float]:
    """Ping the server and read the interface's counter; yield the time of the beginning."""
    began = time.monotonic()
    stop = threading.Event()
    watchers = [
        threading.Thread(target=watch, args=(part, began, stop, write)) for watch in (_ping, _count_bytes)
    ]
    for watcher in watchers:
        watcher.start()
    try:
        yield began
    finally:
        stop.set()
        for watcher in watchers:
            watcher.join()


@contextmanager
def transfer(command: list[str], cgroup: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a command in a cgroup, from its first data on; at the end, kill it with all its descendants."""
    before = _received()
    enter = f'echo $$ > "{cgroup}/cgroup.procs" && exec "$@"'
    environment = {**os.environ, "TMPDIR": str(Path(sys.argv[1]).parent)}
    words = ["/bin/sh", "-c", enter, "sh", *command]
    process = subprocess.Popen(words, env=environment)  # noqa: S603 (from the caller)
    try:
        until = time.monotonic() + _PATIENCE_S
        while _received() - before < _FIRST_BYTES:
            if process.poll() is not None or time.monotonic() > until:
                sys.exit("the program on the UE has received nothing")
            time.sleep(_POLL_S)
        yield process
    finally:
        # A browser starts processes in sessions of their own.
        (cgroup / "cgroup.kill").write_text("1", encoding="ascii")
        process.wait()
        while "populated 1" in (cgroup / "cgroup.events").read_text(encoding="ascii"):
            time.sleep(_POLL_S)


def wait(process: "subprocess.Popen[bytes]", seconds: float) -> None:
    """Wait for some time; a transfer that ends early leaves a shorter part."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)


def _ping(part: str, began: float, stop: threading.Event, write: Write) -> None:
    """Send echo requests at a constant interval; a sample for each answer."""
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as raw:
        raw.connect(("server", 0))
        raw.settimeout(PING_S / 4)
        identifier = os.getpid() & 0xFFFF
        sent: dict[int, float] = {}
        due = began
        while not stop.is_set():
            now = time.monotonic()
            if now >= due:
                number = len(sent) & 0xFFFF
                sent[number] = now
                raw.send(_request(identifier, number))
                due += PING_S
            with suppress(TimeoutError):
                packet = raw.recv(2048)
                now = time.monotonic()
                kind, _, _, echoed, number = struct.unpack_from("!BBHHH", packet, (packet[0] & 15) * 4)
                if kind == _ECHO_REPLY and echoed == identifier and number in sent:
                    at = sent[number]
                    write({"part": part, "t_s": at - began, "rtt_ms": (now - at) * 1e3})


def _request(identifier: int, number: int) -> bytes:
    """Return an echo request of 64 bytes (RFC 792)."""
    header = struct.pack("!BBHHH", _ECHO_REQUEST, 0, 0, identifier, number)
    words = struct.unpack("!32H", header + bytes(56))
    total = sum(words)
    total = (total & 0xFFFF) + (total >> 16)
    checksum = ~(total + (total >> 16)) & 0xFFFF
    return struct.pack("!BBHHH", _ECHO_REQUEST, 0, checksum, identifier, number) + bytes(56)


def _count_bytes(part: str, began: float, stop: threading.Event, write: Write) -> None:
    """Sample the bytes that the UE has received, with the headers of IP and TCP."""
    due, first = began, _received()
    while not stop.is_set():
        write({"part": part, "t_s": time.monotonic() - began, "bytes": _received() - first})
        due += RATE_S
        stop.wait(max(due - time.monotonic(), 0.0))


def _received() -> int:
    total = 0
    for line in Path("/proc/net/dev").read_text(encoding="ascii").splitlines()[2:]:
        name, _, fields = line.partition(":")
        if name.strip() != "lo":
            total += int(fields.split()[0])
    return total


def download(seconds: float) -> None:
    """Read the server's endless stream for some seconds."""
    until = time.monotonic() + seconds
    with socket.create_connection(("server", 80), _PATIENCE_S) as connection:
        connection.sendall(b"GET /stream HTTP/1.1\r\nHost: server\r\nConnection: close\r\n\r\n")
        while time.monotonic() < until and connection.recv(1 << 18):
            pass


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
