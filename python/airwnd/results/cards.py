"""HTML cards for notebooks: a scenario, a run or a sweep in a few lines and a small table."""

from collections.abc import Mapping, Sequence
from html import escape
from itertools import repeat
from typing import Any

from airwnd.results.controls import control_text
from airwnd.results.headline import headline, overall
from airwnd.text.terminal import number
from airwnd.vocabulary.columns import tables
from airwnd.vocabulary.transport import is_udp

_MAX_ROWS = 10
_GROUP_KEYS = ("group", "flows", "cc", "rwnd", "goodput_kbps", "delay_ms_mean", "delay_ms_p95", "fct_s_mean")
# Decimals of numbers that are no column of a run's tables.
_DIGITS = 1
# Only a transparent grey, so that the card works on light and dark pages.
_LINE = "1px solid rgba(128,128,128,.4)"
_BOX = f"max-width:60em;padding:.5em .8em;border:{_LINE};border-radius:4px;overflow-x:auto"
_TABLE = "border-collapse:collapse;margin:.5em 0 0"
_CELL = f"padding:.1em .8em .1em 0;border-bottom:{_LINE};background:none"

Row = Sequence[object]


def card(
    title: str,
    lines: Sequence[str],
    heads: Sequence[str],
    rows: Sequence[Row],
    digits: Sequence[int] | None = None,
) -> str:
    """Return the HTML of a card; all texts are escaped.

    Parameters
    ----------
    title
        Title line.
    lines
        Paragraphs below the title.
    heads
        Headings of the table's columns.
    rows
        Rows of the table; ``None`` as a dash. Only the first ten are shown.
    digits
        Decimals of the numbers in each column; ``None``: one.
    """
    digits = [_DIGITS] * len(heads) if digits is None else digits
    paragraphs = "".join(f'<div style="opacity:.8">{escape(line)}</div>' for line in lines)
    sides = [
        "left" if any(isinstance(row[place], str) for row in rows) else "right" for place in range(len(heads))
    ]
    head = "".join(_cell("th", text, side) for text, side in zip(heads, sides, strict=True))
    body = "".join(
        "".join(
            ["<tr>", *map(_cell, repeat("td"), map(_text, row, digits), sides), "</tr>"],
        )
        for row in rows[:_MAX_ROWS]
    )
    table = f'<table style="{_TABLE}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    hidden = len(rows) - _MAX_ROWS
    more = f'<div style="opacity:.8">and {hidden:,} more</div>' if hidden > 0 else ""
    return (
        f'<div style="{_BOX}"><strong>{escape(title)}</strong>{paragraphs}{table if rows else ""}{more}</div>'
    )


def scenario_card(scenario: Mapping[str, Any]) -> str:
    """Return the card of a resolved scenario: its main settings, and a row per section of flows."""
    flows = [
        {
            "group": flow["id"],
            "ue": flow.get("ue", "all"),
            "direction": flow["direction"],
            "kind": flow["traffic"]["kind"],
            **{key: _controller(flow, key) for key in ("cc", "rwnd")},
        }
        for flow in scenario["flow"]
    ]
    ues = ", ".join(f"{group['name']} ({group['count']})" for group in scenario["ue"])
    lines = [
        f"{scenario['duration']} after a warm-up of {scenario['warmup']}, seed {scenario['seed']}; UEs: {ues}"
    ]
    heads = ["flow", "UEs", "direction", "traffic", "cc", "rwnd"]
    return card(
        scenario["name"], [*lines, *headline(scenario, flows)], heads, [list(flow.values()) for flow in flows]
    )


def _controller(flow: Mapping[str, Any], key: str) -> str | None:
    return None if is_udp(flow["traffic"]) else control_text(flow[key])


def run_card(scenario: Mapping[str, Any], outcome: Mapping[str, Any]) -> str:
    """Return the card of a run: main settings, totals, and a row per group of flows."""
    totals = outcome["totals"]
    # Folders written by earlier versions have no groups.
    groups = outcome.get("groups", ())
    shown = overall(scenario, totals, groups, "throughput_kbps", "delay_ms_mean", "pdf_percent")
    line = f"{outcome['duration_s']:g} s; {shown}"
    columns = tables()["groups"].columns
    keys = [key for key in _GROUP_KEYS if any(group[key] is not None for group in groups)]
    return card(
        f"{outcome['scenario']}, seed {outcome['seed']}",
        [*(headline(scenario, groups) if groups else ()), line],
        [columns[key].title for key in keys],
        [[group[key] for key in keys] for group in groups],
        [columns[key].digits for key in keys],
    )


def _text(value: object, digits: int) -> str:
    if isinstance(value, float):
        return number(value, digits)
    return "–" if value is None else str(value)


def _cell(tag: str, text: str, side: str) -> str:
    return f'<{tag} style="{_CELL};text-align:{side}">{escape(text)}</{tag}>'
