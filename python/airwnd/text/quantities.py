"""Formatting of quantities, shared by terminal, pictures and pages."""

from collections.abc import Iterable

from airwnd.vocabulary.columns import tables

# Units with a different spelling in the names of columns.
_IN_NAMES = {"kbit/s": "kbps", "%": "percent"}


def counted(number: int, what: str) -> str:
    """Format a count with its noun: ``1 flow``, ``2 flows``."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def seconds_text(seconds: float) -> str:
    """Format a duration, as ``1 min 23 s``."""
    minutes, rest = divmod(round(seconds), 60)
    if minutes:
        return f"{minutes} min {rest} s"
    return f"{rest} s" if seconds >= 10 else f"{seconds:.1f} s"  # noqa: PLR2004


def one_line(message: str) -> str:
    r"""Format a message as one line, with control characters escaped.

    Examples
    --------
    >>> one_line("a\nb \x1b[31m")
    'a b \\x1b[31m'
    """
    line = " ".join(message.split())
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in line)


def csv_cells(values: Iterable[object]) -> list[object]:
    """Return the cells of a CSV row; an apostrophe precedes texts that spreadsheets take for formulas.

    Examples
    --------
    >>> csv_cells(["=1+1", "-3.5", "-x", 2.5])
    ["'=1+1", '-3.5', "'-x", 2.5]
    """
    return [f"'{value}" if isinstance(value, str) and _is_formula(value) else value for value in values]


def _is_formula(text: str) -> bool:
    if not text.startswith(("=", "+", "-", "@", "\t", "\r")):
        return False
    try:
        float(text)
    except ValueError:
        return True
    return False


def axis_label(table: str, column: str) -> str:
    """Return the axis label of a column: its name, with the unit in parentheses.

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
