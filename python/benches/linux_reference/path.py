"""The path: forwards packets between two TUN devices with a rate, a delay, a queue and losses."""

import gc
import heapq
import os
import select
import struct
import time
from collections import deque
from dataclasses import dataclass

from .cases import MSS, Case

SPIN_NS = 200_000
"""So long before a delivery the loop no longer sleeps: wake-ups are late by tens of microseconds."""
_IPV4, _TCP = 4, 6
_CE = 3
_SYN = 2
_END, _NOP, _SCALE, _SACK, _TIMESTAMPS = 0, 1, 3, 5, 8
_MASK = (1 << 64) - 1
_WORD = (1 << 32) - 1


@dataclass(frozen=True)
class Packet:
    """A TCP packet that entered the path."""

    at_ns: int
    forward: bool
    number: int
    """Index among the data packets accepted by the queue, from 1; 0: no data."""
    seq: int
    """Relative sequence number: the SYN has 0 (forward), and is acknowledged by 1 (backward)."""
    ack: int
    payload: int
    window: int
    """Receive window in bytes."""
    flags: int
    tsval: int
    tsecr: int
    sack: tuple[tuple[int, int], ...]
    fate: str
    """`sent`, `marked`, `dropped` (full queue) or `lost`."""
    queued_ns: int


def is_hit(number: int, part: float) -> bool:
    """Return whether packet `number` is in a random fraction of all: SplitMix64, as in the tests in Rust."""
    z = (number * 0x9E3779B97F4A7C15) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return (z ^ (z >> 31)) < int(part * (1 << 64))


class _Link:
    def __init__(self, case: Case, out: int, *, forward: bool) -> None:
        self.case = case
        self.out = out
        self.forward = forward
        self.ends: deque[int] = deque()
        self.data = 0
        self.sent: dict[int, int] = {}
        self.isn: int | None = None
        self.shift = 0

    def take(self, at_ns: int, since_ns: int, ip: bytes) -> tuple[Packet, int, bytes]:
        """Return the record of a packet, its delivery time, and the packet to deliver."""
        head = (ip[0] & 15) * 4
        tcp = ip[head:]
        _, _, seq, ack, offset, flags, window = struct.unpack("!HHIIBBH", tcp[:16])
        size = (offset >> 4) * 4
        payload = len(tcp) - size
        options = _options(tcp[20:size])
        if flags & _SYN:
            self.isn, self.shift = seq, options.shift
        else:
            window <<= self.shift
        seq = (seq - (self.isn or 0)) & _WORD
        fate, hand_over, start = self._fate(at_ns - since_ns, len(ip), seq, payload)
        if fate == "marked":
            ip = _mark(ip, head)
        number = self.data if payload and fate != "dropped" else 0
        queued = max(start - (at_ns - since_ns), 0)
        packet = Packet(
            at_ns=at_ns - since_ns,
            forward=self.forward,
            number=number,
            seq=seq,
            ack=ack,
            payload=payload,
            window=window,
            flags=flags,
            tsval=options.tsval,
            tsecr=options.tsecr,
            sack=options.sack,
            fate=fate,
            queued_ns=queued,
        )
        return packet, hand_over + since_ns, ip

    def _fate(self, now: int, length: int, seq: int, payload: int) -> tuple[str, int, int]:
        case, ends = self.case, self.ends
        while ends and ends[0] <= now:
            ends.popleft()
        if len(ends) > case.queue:
            return "dropped", 0, now
        fate = "sent"
        if self.forward and payload and case.mark_above is not None and len(ends) > case.mark_above:
            fate = "marked"
        start = ends[-1] if ends else now
        if self.forward and case.outage_s:
            begin, end = (int(1e9 * s) for s in case.outage_s)
            start = end if begin <= start < end else start
        end = start + length * 8 * 1_000_000_000 // case.rate_bps
        ends.append(end)
        hand_over = end + int(case.delay_ms * 1e6)
        if self.forward and payload:
            self.data += 1
            segment = (seq - 1) // MSS + 1
            self.sent[segment] = self.sent.get(segment, 0) + 1
            if self.sent[segment] <= case.lost.get(segment, 0) or is_hit(self.data, case.loss):
                fate = "lost"
            if case.late_every and self.data % case.late_every == 0:
                hand_over += int(case.late_ms * 1e6)
        return fate, hand_over, start


@dataclass
class _Options:
    shift: int = 0
    tsval: int = 0
    tsecr: int = 0
    sack: tuple[tuple[int, int], ...] = ()


def _options(raw: bytes) -> _Options:
    options = _Options()
    at = 0
    while at < len(raw) and raw[at] != _END:
        if raw[at] == _NOP:
            at += 1
            continue
        kind, length = raw[at], raw[at + 1]
        value = raw[at + 2 : at + length]
        if kind == _SCALE:
            options.shift = value[0]
        elif kind == _TIMESTAMPS:
            options.tsval, options.tsecr = struct.unpack("!II", value)
        elif kind == _SACK:
            options.sack = tuple((left, right) for left, right in struct.iter_unpack("!II", value))
        at += length
    return options


def _mark(ip: bytes, head: int) -> bytes:
    marked = bytearray(ip)
    marked[1] |= _CE
    marked[10:12] = b"\0\0"
    total = sum(struct.unpack(f"!{head // 2}H", marked[:head]))
    total = (total & 0xFFFF) + (total >> 16)
    marked[10:12] = struct.pack("!H", ~(total + (total >> 16)) & 0xFFFF)
    return bytes(marked)


def carry(case: Case, sender: int, receiver: int) -> tuple[list[Packet], list[int]]:
    """Forward packets until the run ends; return them with the lateness of each delivery, in ns.

    Time starts with the first packet. Sequence numbers are relative to the SYN of their direction, ACK
    numbers to that of the other direction.
    """
    links = {sender: _Link(case, receiver, forward=True), receiver: _Link(case, sender, forward=False)}
    waiting: list[tuple[int, int, int, bytes]] = []
    packets: list[Packet] = []
    since: int | None = None
    lateness: list[int] = []
    gc.disable()
    try:
        while True:
            now = time.monotonic_ns()
            if since is not None and now - since > 1e9 * case.duration_s:
                break
            wait = (waiting[0][0] - now - SPIN_NS) / 1e9 if waiting else 0.05
            ready, _, _ = select.select([sender, receiver], [], [], max(wait, 0.0))
            for fd in ready:
                ip = os.read(fd, 65536)
                at = time.monotonic_ns()
                if ip[0] >> 4 != _IPV4 or ip[9] != _TCP:
                    continue
                since = at if since is None else since
                packet, hand_over, ip = links[fd].take(at, since, ip)
                packets.append(packet)
                if packet.fate in {"sent", "marked"}:
                    heapq.heappush(waiting, (hand_over, len(packets), links[fd].out, ip))
            while waiting and waiting[0][0] <= time.monotonic_ns():
                due, _, fd, ip = heapq.heappop(waiting)
                lateness.append(time.monotonic_ns() - due)
                os.write(fd, ip)
    finally:
        gc.enable()
    isns = [links[sender].isn or 0, links[receiver].isn or 0]
    return [_relative(packet, isns) for packet in packets], lateness


def _relative(packet: Packet, isns: list[int]) -> Packet:
    other = isns[1] if packet.forward else isns[0]
    values = vars(packet) | {
        "ack": (packet.ack - other) & _WORD,
        "sack": tuple(((a - other) & _WORD, (b - other) & _WORD) for a, b in packet.sack),
    }
    return Packet(**values)
