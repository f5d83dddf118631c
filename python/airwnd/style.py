"""How plots look: colours for the colour-blind, markers and dashes that survive black and white."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Line:
    """Colour, marker and dashes of one line; any of the three tells it from the others."""

    colour: str
    marker: str
    dashes: Any


_SOLID, _LONG, _DOTS, _MIXED = "solid", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 1.5, 1, 1.5))

# Okabe and Ito, "Color universal design", 2008.
LINES = (
    Line("#0072B2", "o", _LONG),
    Line("#D55E00", "s", _SOLID),
    Line("#009E73", "^", _MIXED),
    Line("#CC79A7", "D", _DOTS),
    Line("#56B4E9", "v", _LONG),
    Line("#E69F00", "P", _SOLID),
    Line("#000000", "X", _MIXED),
)

#: What takes the place of a colour on a dark ground: lighter where the contrast would be below 4.5 to 1.
DARK = {
    "#0072B2": "#4FA8E0",
    "#D55E00": "#EE7A2A",
    "#009E73": "#24B98D",
    "#CC79A7": "#D98FB8",
    "#56B4E9": "#8CCDF2",
    "#E69F00": "#F0B432",
    "#000000": "#E4E8EC",
}

#: Widths of figures in inches: a column and the page of a two-column journal (IEEE, ACM).
WIDTHS = {"column": 3.5, "page": 7.16}
#: Width of a picture by default, in inches.
WIDTH = 4.6

#: Width and height in inches; `None`: the height that suits the width.
Size = tuple[float, float | None]
# Heights as parts of the width, of wide and of other figures.
_FLAT, _STEEP = 0.5, 0.72

_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", "p", ">", "h", "*", "d", "8")

_SETTINGS: Any = {
    "axes.axisbelow": True,
    "axes.edgecolor": "#444444",
    "axes.grid": True,
    "axes.labelsize": 9,
    "axes.linewidth": 0.7,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "figure.figsize": (WIDTH, 3.3),
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 8.5,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "lines.markersize": 5.5,
    # TrueType: text in a PDF stays text, and publishers take no Type 3 fonts.
    "pdf.fonttype": 42,
    "savefig.dpi": 300,
    "svg.fonttype": "path",
    "xtick.direction": "out",
    "ytick.direction": "out",
}


def line(index: int, count: int = 2) -> Line:
    """Give the style of the line at a position; styles repeat after the last.

    Parameters
    ----------
    index
        The position, from 0.
    count
        How many lines there are: one alone need not be told from others, and is drawn without gaps.

    Returns
    -------
    Line
        Its ``colour``, ``marker`` and ``dashes``, as Matplotlib takes them.
    """
    found = LINES[index % len(LINES)]
    return found if count > 1 else replace(found, dashes=_SOLID)


def point(index: int) -> Line:
    """Give the style of the point at a position: twice as many that differ as there are lines.

    Parameters
    ----------
    index
        The position, from 0.

    Returns
    -------
    Line
        Its ``colour`` and ``marker``; it has no dashes.
    """
    return Line(LINES[index % len(LINES)].colour, _MARKERS[index % len(_MARKERS)], "none")


def literal(text: str) -> str:
    r"""Keep Matplotlib from reading a text as a formula, or hiding it from legends.

    Parameters
    ----------
    text
        What an input calls something: a title, a label, the id of a flow.

    Returns
    -------
    str
        What to pass to Matplotlib, so that exactly `text` is drawn.

    Examples
    --------
    >>> print(literal("US$ 5 to US$ 6"))
    US\$ 5 to US\$ 6
    """
    text = text.replace("$", r"\$")
    # Matplotlib leaves labels that begin with an underscore out of legends; a word joiner has no width.
    return f"\u2060{text}" if text.startswith("_") else text


def series(index: int, count: int = 2) -> Line:
    """Give the style of a line among up to 28 that all differ: a colour that repeats has other dashes.

    Parameters
    ----------
    index
        The position, from 0.
    count
        Number of lines; a single one is solid.

    Returns
    -------
    Line
        Its ``colour``, ``marker`` and ``dashes``, as Matplotlib takes them.
    """
    dashes = (_SOLID, _LONG, _MIXED, _DOTS)
    kind = (index % len(LINES) + index // len(LINES)) % len(dashes)
    return replace(point(index), dashes=dashes[kind] if count > 1 else _SOLID)


@contextmanager
def styled(salt: str = "airwnd") -> Iterator[None]:
    """Draw within this style: ``with style.styled(): ...``.

    Parameters
    ----------
    salt
        Keeps the identifiers of several SVGs on one page apart.
    """
    import matplotlib as mpl

    with mpl.rc_context({**_SETTINGS, "svg.hashsalt": salt}):
        yield


def figure_of(axes: "Axes") -> "Figure":
    """Give the figure that axes stand in."""
    figure = axes.get_figure(root=True)
    if figure is None:
        raise ValueError("axes that have left their figure")
    return figure


def new_figure(size: Size | None = None) -> "Figure":
    """Make a figure without a window or global state, of a size in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    width, height = size or (WIDTH, None)
    figure = Figure(
        figsize=(width, height or width * (_FLAT if width > WIDTH else _STEEP)), layout="constrained"
    )
    FigureCanvasAgg(figure)
    return figure
