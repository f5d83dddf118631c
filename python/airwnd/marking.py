"""Messages about flows that need ECN marks where no queue sets them."""

from collections.abc import Mapping
from typing import Any

from airwnd import _native

# Parts of a scenario with queues.
_WITH_QUEUES = ("core", "link", "rlc", "ue")


def marking_warnings(scenario: Mapping[str, Any]) -> list[str]:
    """Describe the flows whose congestion control needs ECN marks, if no queue of the scenario marks.

    Parameters
    ----------
    scenario
        The resolved scenario.

    Returns
    -------
    list of str
        A line for each group of such flows.

    Examples
    --------
    >>> cell = {"flow": [{"id": "a", "cc": {"kind": "prague"}}], "rlc": {"queue": {"kind": "drop-tail"}}}
    >>> [line] = marking_warnings(cell)
    >>> line
    'flow a: `prague` needs ECN marks, and no queue marks; see `rlc.queue`, or `aqm` of a link'
    >>> marking_warnings(cell | {"rlc": {"queue": {"kind": "codel", "ecn": True}}})
    []
    """
    if any(_marks(scenario.get(part)) for part in _WITH_QUEUES):
        return []
    needing = set(_native.controls_of_marks())
    return [
        f"flow {flow['id']}: `{flow['cc']['kind']}` needs ECN marks, and no queue marks; "
        "see `rlc.queue`, or `aqm` of a link"
        for flow in scenario["flow"]
        if flow["cc"]["kind"] in needing
    ]


def _marks(part: Any) -> bool:
    match part:
        case {"kind": "dualpi2"} | {"ecn": True} | {"mark_above": int()} | {"mark_above_delay": str()}:
            return True
        case dict():
            return any(_marks(value) for value in part.values())
        case list():
            return any(_marks(value) for value in part)
        case _:
            return False
