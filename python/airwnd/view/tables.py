"""Columns of the tables on the page."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airwnd.results.controls import control_text
from airwnd.vocabulary.columns import Column, tables


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

_FLOWS = (
    *("id", "goodput_kbps", "delay_ms_mean", "delay_ms_p95", "rtt_ms_mean", "pdf_percent"),
    *("retransmissions", "timeouts", "cc", "rwnd", "ue", "fct_s"),
)
_TOTALS = (
    *("throughput_kbps", "goodput_kbps", "delay_ms_mean", "delay_ms_p95", "pdf_percent", "jain"),
    *("retransmissions", "timeouts"),
)
_GROUPS = (
    *("group", "flows", "completed", "unfinished"),
    *("fct_s_mean", "fct_s_p50", "fct_s_p95", "fct_s_p99"),
)
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


def _figures(table: str, keys: Sequence[str]) -> list[Figure]:
    columns = tables()[table].columns
    return [_figure(columns[key]) for key in keys]


def _figure(column: Column) -> Figure:
    digits = column.digits if column.type == "number" else None
    return Figure(column.name, column.short, column.shown_unit, digits, column.meaning)


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
        if value.get("kind") in ("python", "plugin"):
            # The name has the parameters; two versions of a class differ in their digest only.
            value = {"kind": control_text(value), "sha256": value.get("sha256", _NONE)}
        parts = [(f"{key}.{name}" if key else str(name), each) for name, each in value.items()]
    elif isinstance(value, list) and any(isinstance(each, Mapping) for each in value):
        parts = [(f"{key}[{index}]", each) for index, each in enumerate(value)]
    else:
        return {key: ", ".join(map(str, value)) if isinstance(value, list) else str(value)}
    return {name: text for inner, each in parts for name, text in _flat(each, inner).items()}
