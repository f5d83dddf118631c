"""Output to the terminal: its width, texts without control characters, and tables without truncated cells."""

import os
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

# Width of an output that is not a terminal, and minimum width of any layout.
_WIDTH = 80
_MIN = 20
# Minimum width of a column of names.
_NAME = 10


def width() -> int:
    """Return the width of the output in columns: ``COLUMNS``, otherwise the terminal's, otherwise 80."""
    requested = os.environ.get("COLUMNS", "")
    if requested.isdecimal() and int(requested):
        return max(int(requested), _MIN)
    if sys.stdout.isatty():
        try:
            return max(os.get_terminal_size(sys.stdout.fileno()).columns, _MIN)
        except OSError:
            pass
    return _WIDTH


def console() -> Console:
    """Return a console on standard output, :func:`width` columns wide."""
    return Console(highlight=False, markup=False, emoji=False, width=width())


def plain(text: str) -> str:
    r"""Escape the control characters of a text.

    Examples
    --------
    >>> plain("caf\u00e9 \x1b[31m")
    'café \\x1b[31m'
    """
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def wrapped(text: str, columns: int, indent: int = 0, hanging: int | None = None) -> str:
    """Wrap a text at spaces and indent it, lines after the first by `hanging`; words are not broken.

    Examples
    --------
    >>> print(wrapped("one-way delay at the IP layer", 22, hanging=2))
    one-way delay at the
      IP layer
    """
    behind = indent if hanging is None else hanging
    return textwrap.fill(
        text,
        max(columns, behind + _MIN),
        initial_indent=" " * indent,
        subsequent_indent=" " * behind,
        break_long_words=False,
        break_on_hyphens=False,
    )


def print_wrapped(text: str, out: Console, style: str = "") -> None:
    """Print a paragraph with a hanging indent."""
    out.print(Text(wrapped(text, out.width, hanging=2), style=style), soft_wrap=True)


def number(value: float | None, digits: int = 0) -> str:
    """Format a number with thousands separators; ``None`` as ``–``; a zero has no sign.

    Examples
    --------
    >>> number(1234.56, 1), number(-0.01, 1), number(None)
    ('1,234.6', '0.0', '–')
    """
    return "–" if value is None else f"{value:z,.{digits}f}"


def stacked(heading: str) -> str:
    r"""Break a heading at its last space.

    Examples
    --------
    >>> stacked("delay p95")
    'delay\np95'
    """
    return "\n".join(heading.rsplit(" ", 1))


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a :func:`sheet`.

    Attributes
    ----------
    head
        Heading above the unit; it may have several lines.
    cells
        Texts of the cells.
    unit
        Unit, the last line of the heading.
    is_name
        Whether the cells are words, which are left-aligned and may wrap. Numbers are never wrapped.
    rank
        Order of omission in a narrow table: columns of the highest rank are omitted first, those of rank 0
        never.
    key
        Name of the column in ``--json``.
    style
        Style of the cells.
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
        """Heading with the unit."""
        return f"{self.head}\n{self.unit}" if self.unit else self.head

    @property
    def width(self) -> int:
        """Width without wrapping, in columns of the terminal."""
        return max(len(line) for text in (self.heading, *self.cells) for line in text.split("\n"))

    @property
    def minimum(self) -> int:
        """Minimum width, in columns of the terminal."""
        return min(self.width, _NAME) if self.is_name else self.width


def sheets(first: Sequence[Column], others: Sequence[Sequence[Column]], out: Console) -> None:
    """Print a table in as many parts as the width of `out` requires, each with the first columns.

    Parameters
    ----------
    first
        Columns at the start of each part.
    others
        Other columns, in groups that are not split.
    out
        Output console.
    """
    part: list[Column] = []
    for group in others:
        if part and _total([*first, *part, *group]) > out.width:
            sheet([*first, *part], out)
            part = []
        part += group
    sheet([*first, *part], out)


def sheet(columns: Sequence[Column], out: Console) -> None:
    """Print a table that fits the width of `out`.

    Columns are omitted by rank, and a line below the table names them. Numbers are never truncated or
    wrapped: if the columns of rank 0 alone are too wide, the table is too wide.
    """
    shown = list(columns)
    while _total(shown) > out.width and (last := max(column.rank for column in shown)):
        shown = [column for column in shown if column.rank != last]
    spare = out.width - _total(shown)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    lines = max(column.heading.count("\n") for column in shown)
    bodies: list[list[Text]] = []
    for column in shown:
        room = min(column.width - column.minimum, max(spare, 0))
        spare -= room
        heading = "\n" * (lines - column.heading.count("\n")) + column.heading
        table.add_column(
            Text(heading),
            justify="left" if column.is_name else "right",
            width=column.minimum + room,
            style=column.style,
        )
        bodies.append([_folded(cell, column.minimum + room) for cell in column.cells])
    for row in zip(*bodies, strict=True):
        table.add_row(*row)
    for line in _lines(table, max(out.width, _total(shown))):
        out.print(line, soft_wrap=True)
    if hidden := [column.key for column in columns if column not in shown]:
        print_wrapped(f"Not shown at this width, but in --json: {', '.join(hidden)}.\n", out)


def _total(columns: Sequence[Column]) -> int:
    """Return the minimum width of a table, with a space after each column and padding between them."""
    return sum(column.minimum + 1 for column in columns) + len(columns)


def _folded(cell: str, width: int) -> Text:
    """Break a cell into lines, at spaces and hyphens if possible."""
    return Text("\n".join(textwrap.wrap(cell, width)))


def _lines(table: Table, width: int) -> list[Text]:
    """Render a table as lines without trailing spaces."""
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
