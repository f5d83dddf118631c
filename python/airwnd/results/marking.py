"""Messages about flows that need ECN marks where no queue sets them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from airwnd import _native

# Parts of a scenario with queues.
_WITH_QUEUES = ("core", "link", "rlc", "ue")


def marking_warnings(
    scenario: Mapping[str, Any], controls: Iterable[tuple[str, str | None]] | None = None
) -> list[str]:
    """Describe the flows whose congestion control needs ECN marks, if no queue of the scenario marks.

    Parameters
    ----------
    scenario
        The resolved scenario.
    controls
        Flows with their congestion controls, ``None`` for flows without; by default those of the scenario.

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
    if controls is None:
        controls = ((flow["id"], flow["cc"]["kind"]) for flow in scenario["flow"])
    return [
        f"flow {flow}: `{control}` needs ECN marks, and no queue marks; see `rlc.queue`, or `aqm` of a link"
        for flow, control in dict.fromkeys(controls)
        if control in needing
    ]


def marking_warnings_of_all(scenarios: Sequence[Mapping[str, Any]]) -> list[str]:
    """Describe such flows of several scenarios, and in how many of them they are.

    Parameters
    ----------
    scenarios
        The resolved scenarios.

    Returns
    -------
    list of str
        A line for each group of flows and control, with the number of settings unless these are all.

    Examples
    --------
    >>> cell = {"flow": [{"id": "a", "cc": {"kind": "prague"}}]}
    >>> [line] = marking_warnings_of_all([cell, {"flow": [{"id": "a", "cc": {"kind": "cubic"}}]}])
    >>> line.partition(", ")[0]
    '1 of 2 settings: flow a: `prague` needs ECN marks'
    """
    lines = Counter(line for scenario in scenarios for line in marking_warnings(scenario))
    every = len(scenarios)
    return [
        line if count == every else f"{count} of {every} settings: {line}" for line, count in lines.items()
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
