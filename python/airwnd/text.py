"""Quantities in words, alike on the terminal, in pictures and on pages."""

from airwnd.columns import tables

# Units that columns' names spell otherwise.
_IN_NAMES = {"kbit/s": "kbps", "%": "percent"}


def counted(number: int, what: str) -> str:
    """Write a number of things: ``1 flow``, ``2 flows``."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def seconds_text(seconds: float) -> str:
    """Write a length of time, ``1 min 23 s``."""
    minutes, rest = divmod(round(seconds), 60)
    if minutes:
        return f"{minutes} min {rest} s"
    return f"{rest} s" if seconds >= 10 else f"{seconds:.1f} s"  # noqa: PLR2004


def axis_label(table: str, column: str) -> str:
    """Write the name of a column of a table with its unit in brackets.

    Examples
    --------
    >>> axis_label("series", "rtt_ms"), axis_label("series", "mcs"), axis_label("flows", "delay_ms_p95")
    ('RTT (ms)', 'MCS', 'delay p95 (ms)')
    """
    known = tables()[table].columns
    unit = known[column].shown_unit if column in known else ""
    in_names = _IN_NAMES.get(unit, unit.lower())
    words = " ".join(word for word in column.split("_") if word != in_names) or column
    name = words.upper() if words in ("rtt", "mcs", "sinr", "rsrp") else words
    return f"{name} ({unit})" if unit else name
