"""Transport protocols of traffic."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from airwnd import _native


def is_udp(traffic: Mapping[str, Any]) -> bool:
    """Return whether traffic of a resolved scenario goes over UDP, so that it has no windows.

    Examples
    --------
    >>> [is_udp({"kind": kind}) for kind in ("cbr", "ping", "bulk")]
    [True, True, False]
    >>> is_udp({"kind": "python", "class": "calls.py:Call", "transport": "udp"})
    True
    """
    return traffic.get("transport") == "udp" or traffic["kind"] in _kinds()


@cache
def _kinds() -> frozenset[str]:
    return frozenset(_native.udp_traffic())
