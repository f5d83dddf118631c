"""Columns of the tables on the page."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from airwnd.vocabulary.columns import tables


@dataclass(frozen=True, slots=True)
class Figure:
    """A column of a table on the page.

    Attributes
    ----------
    key
        Name of the column.
    head
        Heading.
    unit
        Unit; empty for words and pure numbers.
    digits
        Number of decimals; ``None`` for words and integers.
    meaning
        Meaning, for a tooltip.
    """

    key: str
    head: str
    unit: str
    digits: int | None
    meaning: str


_NONE = "–"

# Headings and decimals by column; the engine declares units and meanings.
_FLOWS = {
    "id": ("flow", None),
    "goodput_kbps": ("goodput", 1),
    "delay_ms_mean": ("delay", 2),
    "delay_ms_p95": ("p95", 2),
    "rtt_ms_mean": ("RTT", 2),
    "pdf_percent": ("PDF", 2),
    "retransmissions": ("rtx", None),
    "timeouts": ("timeouts", None),
    "cc": ("cc", None),
    "rwnd": ("rwnd", None),
    "ue": ("UE", None),
    "fct_s": ("FCT", 3),
}
_TOTALS = {
    "throughput_kbps": ("throughput", 1),
    "goodput_kbps": ("goodput", 1),
    "delay_ms": ("delay", 2),
    "delay_ms_p95": ("p95", 2),
    "pdf_percent": ("PDF", 2),
    "jain": ("Jain", 4),
    "retransmissions": ("rtx", None),
    "timeouts": ("timeouts", None),
}
_GROUPS = {
    "group": ("group", None),
    "flows": ("flows", None),
    "completed": ("done", None),
    "unfinished": ("not done", None),
    "fct_s_mean": ("FCT", 3),
    "fct_s_p50": ("p50", 3),
    "fct_s_p95": ("p95", 3),
    "fct_s_p99": ("p99", 3),
}
_DROPS = Figure("drops", "drops", "", None, "Packets dropped, all causes.")


def group_figures() -> list[Figure]:
    """Return the columns of the table of groups of flows."""
    return _figures("groups", _GROUPS)


def flow_figures(filled: Collection[str]) -> list[Figure]:
    """Return the columns of the table of flows that have values."""
    return [figure for figure in _figures("flows", _FLOWS) if figure.key in filled]


def total_figures(totals: Mapping[str, Any]) -> list[Figure]:
    """Return the columns of the table of runs: those of the totals, and the sum of the drops."""
    found = [figure for figure in _figures("totals", _TOTALS) if figure.key in totals]
    place = next(index for index, figure in enumerate(found) if figure.key == "retransmissions")
    return [*found[:place], _DROPS, *found[place:]]


def _figures(table: str, shown: Mapping[str, tuple[str, int | None]]) -> list[Figure]:
    columns = tables()[table].columns
    return [
        Figure(key, head, columns[key].shown_unit, digits, columns[key].meaning)
        for key, (head, digits) in shown.items()
    ]


def differences(scenarios: list[Mapping[str, Any]]) -> list[tuple[str, list[str]]]:
    """Return the settings in which resolved scenarios differ, with the value in each scenario.

    Examples
    --------
    >>> differences([{"name": "a", "rlc": {"buffer": "1KiB"}}, {"name": "b", "rlc": {"buffer": "2KiB"}}])
    [('rlc.buffer', ['1KiB', '2KiB'])]
    """
    flat = [_flat(scenario) for scenario in scenarios]
    keys = dict.fromkeys(key for each in flat for key in each if key not in ("name", "seed"))
    rows = {key: [each.get(key, _NONE) for each in flat] for key in keys}
    differing = {key: values for key, values in rows.items() if len(set(values)) > 1}
    # If runs have different algorithms, the parameters that only one of them has are omitted.
    return [
        (key, values)
        for key, values in differing.items()
        if _NONE not in values or f"{key.rpartition('.')[0]}.kind" not in differing
    ]


def _flat(value: Any, key: str = "") -> dict[str, str]:
    if isinstance(value, Mapping):
        parts = [(f"{key}.{name}" if key else str(name), each) for name, each in value.items()]
    elif isinstance(value, list) and any(isinstance(each, Mapping) for each in value):
        parts = [(f"{key}[{index}]", each) for index, each in enumerate(value)]
    else:
        return {key: ", ".join(map(str, value)) if isinstance(value, list) else str(value)}
    return {name: text for inner, each in parts for name, text in _flat(each, inner).items()}
