"""Cases: a path, its impairments (loss, late packets, outages, marks), and the data sent."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

MSS = 1448
"""Payload bytes of a full segment: an MTU of 1500 less headers and timestamps."""


@dataclass(frozen=True)
class Case:
    """One flow over a path that is equal in both directions, except for impairments of data packets."""

    name: str
    cc: str = "cubic"
    duration_s: float = 30.0
    rate_bps: int = 10_000_000
    delay_ms: float = 25.0
    """One-way delay after the queue."""
    queue: int = 100
    """Capacity in packets, without the one in transmission."""
    send_bytes: int | None = None
    """Bytes written at once; `None`: unlimited."""
    loss: float = 0.0
    """Fraction of data packets lost, selected by a hash of their number."""
    lost: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    """Number of lost transmissions by segment of the flow, counted from 1."""
    late_every: int = 0
    """Interval in data packets at which one is delayed; 0: none."""
    late_ms: float = 0.0
    outage_s: tuple[float, float] | None = None
    """Begin and end of an outage of the forward link; `None`: no outage."""
    mark_above: int | None = None
    """Queue length in packets above which arrivals are marked (CE), with ECN at both endpoints."""
    sysctl: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Settings of both endpoints below /proc/sys/net/ipv4."""


def _cases() -> dict[str, Case]:
    controls = ("reno", "cubic", "bbr")
    long = [Case(f"{cc}", cc) for cc in controls]
    lossy = [Case(f"{cc}-loss-{100 * loss:g}", cc, loss=loss) for cc in controls for loss in (0.001, 0.01)]
    late = [Case(f"{cc}-late-{ms}", cc, late_every=100, late_ms=ms) for cc in ("reno",) for ms in (5, 40)]
    tail = [
        Case(f"tail-{n}", duration_s=3, send_bytes=30 * MSS, lost={31 - k: 1 for k in range(1, n + 1)})
        for n in (1, 2, 3, 4)
    ]
    ten = dict.fromkeys(range(21, 31), 1)
    others = [
        Case("rto", duration_s=5, send_bytes=30 * MSS, lost={**ten, 30: 2}),
        Case("back-off", duration_s=10, send_bytes=30 * MSS, lost={30: 5}),
        Case("lost-retransmission", duration_s=5, send_bytes=200 * MSS, lost={50: 2}),
        Case("outage", duration_s=15, outage_s=(5.0, 6.5)),
        Case("short", duration_s=3, send_bytes=70 * MSS),
        Case("long-path", duration_s=12, rate_bps=20_000_000, delay_ms=100, queue=1000),
        Case("ecn", "reno", mark_above=30, sysctl={"tcp_ecn": "1"}),
    ]
    ecn_cubic = replace(others[-1], name="ecn-cubic", cc="cubic")
    return {case.name: case for case in [*long, *lossy, *late, *tail, *others, ecn_cubic]}


CASES = _cases()
