"""The terminal: its width, texts without control characters, and tables that never cut a cell."""

import os
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

# Columns of an output that is no terminal, and the least that anything is laid out for.
_WIDTH = 80
_LEAST = 20
# A column of names is not made narrower than this.
_NAME = 10


def width() -> int:
    """Columns to lay the output out for: ``COLUMNS``, else the terminal's, else 80."""
    wanted = os.environ.get("COLUMNS", "")
    if wanted.isdecimal() and int(wanted):
        return max(int(wanted), _LEAST)
    if sys.stdout.isatty():
        try:
            return max(os.get_terminal_size(sys.stdout.fileno()).columns, _LEAST)
        except OSError:
            pass
    return _WIDTH


def console() -> Console:
    """Return the standard output, :func:`width` columns wide."""
    return Console(highlight=False, markup=False, emoji=False, width=width())


def plain(text: str) -> str:
    r"""Write characters that a terminal would obey as escapes.

    Examples
    --------
    >>> plain("caf\u00e9 \x1b[31m")
    'café \\x1b[31m'
    """
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def wrapped(text: str, columns: int, indent: int = 0, hanging: int | None = None) -> str:
    """Wrap a text at spaces, indented, lines after the first by `hanging`; words stay whole.

    Examples
    --------
    >>> print(wrapped("one-way delay at the IP layer", 22, hanging=2))
    one-way delay at the
      IP layer
    """
    behind = indent if hanging is None else hanging
    return textwrap.fill(
        text,
        max(columns, behind + _LEAST),
        initial_indent=" " * indent,
        subsequent_indent=" " * behind,
        break_long_words=False,
        break_on_hyphens=False,
    )


def print_wrapped(text: str, out: Console, style: str = "") -> None:
    """Print a paragraph, its lines after the first indented."""
    out.print(Text(wrapped(text, out.width, hanging=2), style=style), soft_wrap=True)


def number(value: float | None, digits: int = 0) -> str:
    """Write a number with its thousands apart, ``–`` for none; what rounds to zero has no sign.

    Examples
    --------
    >>> number(1234.56, 1), number(-0.01, 1), number(None)
    ('1,234.6', '0.0', '–')
    """
    return "–" if value is None else f"{value:z,.{digits}f}"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a :func:`sheet`.

    Attributes
    ----------
    head
        The heading, above the unit; it may have several lines.
    cells
        The texts.
    unit
        The last line of the heading.
    is_name
        Whether the cells are words: these start on the left and may wrap; numbers never do.
    rank
        The larger, the sooner the column gives way, with those of the same rank; one of rank 0 stays.
    key
        Name of the column in ``--json``.
    style
        How the cells look.
    """

    head: str
    cells: Sequence[str]
    unit: str = ""
    is_name: bool = False
    rank: int = 0
    key: str = ""
    style: str = ""

    @property
    def heading(self) -> str:
        """The lines above the cells."""
        return f"{self.head}\n{self.unit}" if self.unit else self.head

    @property
    def width(self) -> int:
        """Columns of the terminal that it takes where nothing wraps."""
        return max(len(line) for text in (self.heading, *self.cells) for line in text.split("\n"))

    @property
    def least(self) -> int:
        """Columns of the terminal that it takes at the least."""
        return min(self.width, _NAME) if self.is_name else self.width


def sheets(first: Sequence[Column], others: Sequence[Sequence[Column]], out: Console) -> None:
    """Print a table in as many parts as the width of `out` makes necessary, each with the first columns.

    Parameters
    ----------
    first
        The columns that each part begins with.
    others
        The other columns, in groups that stay together.
    out
        Where to.
    """
    part: list[Column] = []
    for group in others:
        if part and _total([*first, *part, *group]) > out.width:
            sheet([*first, *part], out)
            part = []
        part += group
    sheet([*first, *part], out)


def sheet(columns: Sequence[Column], out: Console) -> None:
    """Print a table that fits into the width of `out`.

    Columns give way by their rank, and a line says which of them did. Numbers are never cut or wrapped: if
    those of rank 0 alone are too wide, so is the table.
    """
    shown = list(columns)
    while _total(shown) > out.width and (last := max(column.rank for column in shown)):
        shown = [column for column in shown if column.rank != last]
    spare = out.width - _total(shown)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    lines = max(column.heading.count("\n") for column in shown)
    bodies: list[list[Text]] = []
    for column in shown:
        room = min(column.width - column.least, max(spare, 0))
        spare -= room
        heading = "\n" * (lines - column.heading.count("\n")) + column.heading
        table.add_column(
            Text(heading),
            justify="left" if column.is_name else "right",
            width=column.least + room,
            style=column.style,
        )
        bodies.append([_folded(cell, column.least + room) for cell in column.cells])
    for row in zip(*bodies, strict=True):
        table.add_row(*row)
    for line in _lines(table, max(out.width, _total(shown))):
        out.print(line, soft_wrap=True)
    if hidden := [column.key for column in columns if column not in shown]:
        print_wrapped(f"Not shown at this width, but in --json: {', '.join(hidden)}.\n", out)


def _total(columns: Sequence[Column]) -> int:
    """Columns of the terminal that they take at the least, with a space behind each and one before all."""
    return sum(column.least + 1 for column in columns) + len(columns)


def _folded(cell: str, width: int) -> Text:
    """Break a cell into lines, at spaces and hyphens where there are any."""
    return Text("\n".join(textwrap.wrap(cell, width)))


def _lines(table: Table, width: int) -> list[Text]:
    """Render a table to lines without spaces at their ends."""
    drawing = Console(width=width, color_system="truecolor")
    options = drawing.options.update(width=width)
    lines = []
    for segments in drawing.render_lines(table, options, pad=False):
        line = Text()
        for text, style, _ in segments:
            line.append(text, style)
        line.rstrip()
        lines.append(line)
    return lines
