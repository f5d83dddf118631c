"""Conditions of a session."""

from typing import Any

import pytest

from airwnd.link.requirements import QUANTITIES, Requirement
from airwnd.support.errors import InputError


def flow(name: str, kind: str, group: str = "real", **values: float) -> dict[str, Any]:
    return {"id": name, "kind": kind, "group": group, **dict.fromkeys(QUANTITIES), **values}


FLOWS = [
    flow("real-0", "tcp", rtt_ms_p95=120.0, goodput_kbps=4000.0),
    flow("real-1", "icmp", rtt_ms_p95=60.0, goodput_kbps=5.0),
    flow("download-0", "bulk", group="download", rtt_ms_p95=900.0),
]


@pytest.mark.parametrize(
    ("text", "failures"),
    [
        ("p95 < 200ms", []),
        ("p95<0.1s", ["required p95<0.1s: real-0 (tcp) has 120.0"]),
        ("icmp.rtt_ms_p95 <= 60", []),
        ("icmp.rtt_ms_p95 < 60", ["required icmp.rtt_ms_p95 < 60: real-1 (icmp) has 60.0"]),
        ("tcp.goodput_kbps >= 4Mbit", []),
        ("tcp.goodput_kbps > 4Mbps", ["required tcp.goodput_kbps > 4Mbps: real-0 (tcp) has 4,000.0"]),
        ("udp.p99 < 1s", ["required udp.p99 < 1s: no flow has rtt_ms_p99"]),
        ("retransmissions < 5", ["required retransmissions < 5: no flow has retransmissions"]),
    ],
)
def test_flows_of_programs_meet_a_condition_or_are_named(text: str, failures: list[str]) -> None:
    assert Requirement.parse(text).failures(FLOWS) == failures


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("p95", "--require p95: expected QUANTITY, one of < <= > >=, and VALUE"),
        ("p95 == 80ms", "expected QUANTITY, one of"),
        ("rtt < 80ms", "unknown quantity `rtt`; allowed: p50, p95, p99, rtt_ms_mean"),
        ("sctp.p95 < 80ms", "unknown protocol `sctp`; allowed: tcp, udp, icmp, other"),
        ("p95 < 80mm", "--require p95 < 80mm: "),
        ("p95 < nan", "--require p95 < nan: "),
        ("goodput_kbps > 5ms", "--require goodput_kbps > 5ms: "),
        ("pdf_percent > 5%", "`5%` is not a number"),
    ],
)
def test_what_is_no_condition_is_named(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        Requirement.parse(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
