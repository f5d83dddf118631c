"""Quantities as text, shared by terminal, pictures and pages."""

import re
from collections.abc import Iterable

_QUANTITY = re.compile(r"([-+]?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)\s*(\D*)")


def number_and_unit(text: str) -> tuple[str, str] | None:
    """Split a quantity; a pure number has no unit, and other texts are no quantity.

    Examples
    --------
    >>> number_and_unit("10 ms"), number_and_unit("-2.5e3"), number_and_unit("drop-tail")
    (('10', 'ms'), ('-2.5e3', ''), None)
    """
    found = _QUANTITY.fullmatch(text)
    return found and (found[1], found[2])


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
