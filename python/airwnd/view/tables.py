"""The figures that a page's tables show."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Figure:
    """A column of a table: where it is found, its head, unit and digits; none for words and whole numbers."""

    key: str
    head: str
    unit: str = ""
    digits: int | None = None


_NONE = "–"

_FLOW = (
    Figure("id", "flow"),
    Figure("goodput_kbps", "goodput", "kbit/s", 1),
    Figure("delay_ms_mean", "delay", "ms", 2),
    Figure("delay_ms_p95", "p95", "ms", 2),
    Figure("rtt_ms_mean", "RTT", "ms", 2),
    Figure("pdf_percent", "PDF", "%", 2),
    Figure("retransmissions", "rtx"),
    Figure("timeouts", "timeouts"),
    Figure("cc", "cc"),
    Figure("rwnd", "rwnd"),
    Figure("ue", "UE"),
    Figure("fct_s", "FCT", "s", 3),
)

_TOTAL = (
    Figure("throughput_kbps", "throughput", "kbit/s", 1),
    Figure("goodput_kbps", "goodput", "kbit/s", 1),
    Figure("delay_ms", "delay", "ms", 2),
    Figure("delay_ms_p95", "p95", "ms", 2),
    Figure("pdf_percent", "PDF", "%", 2),
    Figure("jain", "Jain", digits=4),
    Figure("drops", "drops"),
    Figure("retransmissions", "rtx"),
    Figure("timeouts", "timeouts"),
)


_GROUP = (
    Figure("group", "group"),
    Figure("flows", "flows"),
    Figure("completed", "done"),
    Figure("unfinished", "not done"),
    Figure("fct_s_mean", "FCT", "s", 3),
    Figure("fct_s_p50", "p50", "s", 3),
    Figure("fct_s_p95", "p95", "s", 3),
    Figure("fct_s_p99", "p99", "s", 3),
)


def group_figures() -> list[Figure]:
    """Give the columns of the table of groups of flows."""
    return list(_GROUP)


def flow_figures(filled: Collection[str]) -> list[Figure]:
    """Give the columns of the table of flows, of those that have values."""
    return [figure for figure in _FLOW if figure.key in filled]


def total_figures(totals: Mapping[str, Any]) -> list[Figure]:
    """Give the columns of the table of runs."""
    return [figure for figure in _TOTAL if figure.key in totals]


def flat_totals(totals: Mapping[str, Any]) -> dict[str, Any]:
    """Give a run's totals as one row: drops of all causes together."""
    return {**totals, "drops": sum(totals["drops"].values())}


def differences(scenarios: list[Mapping[str, Any]]) -> list[tuple[str, list[str]]]:
    """Find the settings in which resolved scenarios differ, with the value of each.

    Examples
    --------
    >>> differences([{"name": "a", "rlc": {"buffer": "1KiB"}}, {"name": "b", "rlc": {"buffer": "2KiB"}}])
    [('rlc.buffer', ['1KiB', '2KiB'])]
    """
    flat = [_flat(scenario) for scenario in scenarios]
    keys = dict.fromkeys(key for each in flat for key in each if key not in ("name", "seed"))
    rows = {key: [each.get(key, _NONE) for each in flat] for key in keys}
    differing = {key: values for key, values in rows.items() if len(set(values)) > 1}
    # Where runs have different algorithms, the parameters that only one of them has say no more.
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
