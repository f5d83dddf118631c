"""The endpoints: two processes, each in its own network namespace with a TUN device."""

import ctypes
import fcntl
import os
import select
import socket
import struct
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from .cases import Case

ADDRESSES = ("10.77.0.1", "10.77.0.2")
PORT = 5001
PERIOD_NS = 10_000_000
_CLONE_NEWNET = 0x40000000
_TUNSETIFF = 0x400454CA
_TUN_WITHOUT_HEADER = 0x1001
_INFO = struct.Struct("<8B24I4Q6I4Q2I2Q6I2HI")


@dataclass(frozen=True)
class Sample:
    """Fields of the kernel's `struct tcp_info`."""

    at_ns: int
    state: int
    """State of congestion control: 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss."""
    rto_us: int
    ssthresh: int
    """Segments."""
    cwnd: int
    """Segments."""
    srtt_us: int
    rttvar_us: int
    min_rtt_us: int
    reordering: int
    unacked: int
    lost: int
    retransmissions: int
    rcv_ssthresh: int
    rcv_rtt_us: int
    rcv_space: int
    pacing_rate: int
    """Bytes per second."""
    bytes_received: int


def sample(sock: socket.socket) -> Sample:
    """Read the state of a socket from the kernel."""
    raw = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO.size)
    v = _INFO.unpack(raw.ljust(_INFO.size, b"\0"))
    word = v[8:32]
    return Sample(
        at_ns=time.monotonic_ns(),
        state=v[1],
        rto_us=word[0],
        ssthresh=word[17],
        cwnd=word[18],
        srtt_us=word[15],
        rttvar_us=word[16],
        min_rtt_us=v[39],
        reordering=word[20],
        unacked=word[4],
        lost=word[6],
        retransmissions=word[23],
        rcv_ssthresh=word[14],
        rcv_rtt_us=word[21],
        rcv_space=word[22],
        pacing_rate=v[32],
        bytes_received=v[35],
    )


def _tun(own: str, peer: str) -> int:
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, _TUNSETIFF, struct.pack("16sH22x", b"path", _TUN_WITHOUT_HEADER))
    # One segment per buffer, so that packets on the path correspond to the decisions of congestion control.
    link = "link set path mtu 1500 gso_max_segs 1 txqueuelen 10000 up"
    for command in (f"addr add {own} peer {peer} dev path", link):
        subprocess.run(["ip", *command.split()], check=True)
    return fd


def _counters() -> dict[str, int]:
    """Read the counters of this namespace."""
    counters: dict[str, int] = {}
    for file in ("netstat", "snmp"):
        lines = Path(f"/proc/self/net/{file}").read_text(encoding="ascii").splitlines()
        for names, values in zip(lines[::2], lines[1::2], strict=True):
            counters |= {
                name: int(value) for name, value in zip(names.split()[1:], values.split()[1:], strict=True)
            }
    return counters


def live(case: Case, place: int, parent: Connection, channel: socket.socket) -> None:
    """Run an endpoint: 0 sends, 1 receives. It passes on its TUN device, and finally its samples."""
    if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "cannot make a network namespace")
    settings = dict(case.sysctl)
    for key, value in settings.items():
        Path(f"/proc/sys/net/ipv4/{key}").write_text(value, encoding="ascii")
    fd = _tun(ADDRESSES[place], ADDRESSES[1 - place])
    socket.send_fds(channel, [b"tun"], [fd])
    os.close(fd)
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(40))
    (_send if place == 0 else _receive)(case, parent)


def _watch(
    sock: socket.socket, until_ns: int, act: Callable[[], None], *, writes: Callable[[], bool]
) -> list[Sample]:
    """Take a sample each period, and call `act` whenever the socket is ready."""
    samples: list[Sample] = []
    due = time.monotonic_ns()
    while due < until_ns:
        wait = max(due - time.monotonic_ns(), 0) / 1e9
        readable, writable, _ = select.select([sock], [sock] if writes() else [], [], wait)
        if readable or writable:
            act()
        if time.monotonic_ns() >= due:
            samples.append(sample(sock))
            due += PERIOD_NS
    return samples


def _send(case: Case, parent: Connection) -> None:
    parent.recv()
    with socket.socket() as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, case.cc.encode())
        begin = time.monotonic_ns()
        sock.connect((ADDRESSES[1], PORT))
        sock.setblocking(False)
        left = case.send_bytes
        block = bytes(1 << 18)

        def act() -> None:
            nonlocal left
            part = block if left is None else block[:left]
            try:
                sent = sock.send(part)
            except BlockingIOError:
                return
            left = None if left is None else left - sent

        samples = _watch(sock, begin + int(1e9 * case.duration_s), act, writes=lambda: left != 0)
        parent.send((begin, samples, _counters()))


def _receive(case: Case, parent: Connection) -> None:
    with socket.create_server((ADDRESSES[1], PORT)) as server:
        parent.send("listening")
        sock, _ = server.accept()
        begin = time.monotonic_ns()
        sock.setblocking(False)
        samples = _watch(sock, begin + int(1e9 * case.duration_s), lambda: _drain(sock), writes=lambda: False)
        parent.send((begin, samples, _counters()))


def _drain(sock: socket.socket) -> None:
    try:
        sock.recv(1 << 22)
    except BlockingIOError:
        return
