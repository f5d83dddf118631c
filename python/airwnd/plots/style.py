"""Style of plots: colour-blind safe colours, with markers and dashes that work in black and white."""

import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from airwnd.support.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Line:
    """Colour, marker and dashes of a line; each of the three distinguishes it from other lines."""

    colour: str
    marker: str
    dashes: Any


# Okabe and Ito, "Color universal design", 2008.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
# Solid, long dashes, dashes and dots, dots.
_DASHES: tuple[Any, ...] = ("solid", (0, (5, 2)), (0, (5, 1.5, 1, 1.5)), (0, (1, 1.5)))
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", "p", ">", "h", "*", "d", "8")

#: Replacement of each colour on a dark background: lighter, for a contrast of at least 4.5 to 1.
DARK = {
    "#0072B2": "#4FA8E0",
    "#D55E00": "#EE7A2A",
    "#009E73": "#24B98D",
    "#CC79A7": "#D98FB8",
    "#56B4E9": "#8CCDF2",
    "#E69F00": "#F0B432",
    "#000000": "#E4E8EC",
}

#: Widths in inches of a column and of the page of a two-column journal (IEEE, ACM).
WIDTHS = {"column": 3.5, "page": 7.16}
#: Default width of a picture, in inches.
WIDTH = 4.6

#: Width and height in inches; `None`: a height that follows from the width.
Size = tuple[float, float | None]
# Ratio of height to width, for figures wider than the default and for others.
_FLAT, _STEEP = 0.5, 0.72
# Width of a character of tick labels in inches, and maximum number of lines of a category.
_CHARACTER_IN, _CATEGORY_LINES = 0.075, 3

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
    # TrueType: text in a PDF remains text, and publishers reject Type 3 fonts.
    "pdf.fonttype": 42,
    "savefig.dpi": 300,
    "svg.fonttype": "path",
    "xtick.direction": "out",
    "ytick.direction": "out",
}


def line(index: int, count: int = 2) -> Line:
    """Return one of 28 distinct line styles; a repeated colour has different dashes.

    Parameters
    ----------
    index
        The position, from 0.
    count
        Number of lines; a single one is solid.

    Returns
    -------
    Line
        ``colour``, ``marker`` and ``dashes`` for Matplotlib.
    """
    kind = (index % len(COLOURS) + index // len(COLOURS)) % len(_DASHES) if count > 1 else 0
    return replace(point(index), dashes=_DASHES[kind])


def point(index: int) -> Line:
    """Return one of 14 distinct styles of points.

    Parameters
    ----------
    index
        The position, from 0.

    Returns
    -------
    Line
        ``colour`` and ``marker``, without dashes.
    """
    return Line(COLOURS[index % len(COLOURS)], _MARKERS[index % len(_MARKERS)], "none")


def literal(text: str) -> str:
    r"""Escape a text so that Matplotlib neither reads it as a formula nor hides it from legends.

    Parameters
    ----------
    text
        A text from an input: a title, a label, the id of a flow.

    Returns
    -------
    str
        Text for Matplotlib that is drawn exactly as `text`.

    Examples
    --------
    >>> print(literal("US$ 5 to US$ 6"))
    US\$ 5 to US\$ 6
    """
    text = text.replace("$", r"\$")
    # Matplotlib leaves labels that begin with an underscore out of legends; a word joiner has no width.
    return f"\u2060{text}" if text.startswith("_") else text


def name_categories(axes: "Axes", places: Sequence[float], words: Sequence[str]) -> bool:
    """Label categories along x, without grid lines; return whether the labels are tilted.

    A label that is too wide for its category is wrapped, or all are tilted if a word is too wide.

    Parameters
    ----------
    axes
        Their axes.
    places
        Positions of the categories.
    words
        Their labels.
    """
    axes.grid(visible=False, axis="x")
    width_in = axes.figure.get_size_inches()[0] * axes.get_position().width  # type: ignore[union-attr]
    letters = max(int(width_in / _CHARACTER_IN / len(words)) - 1, 1)
    wrapped = [textwrap.wrap(word, letters, break_long_words=False) for word in words]
    tilted = any(len(parts) > _CATEGORY_LINES or max(map(len, parts)) > letters for parts in wrapped)
    shown = words if tilted else map("\n".join, wrapped)
    axes.set_xticks(places, list(map(literal, shown)))
    if tilted:
        for label in axes.get_xticklabels():
            label.set(rotation=30, horizontalalignment="right", rotation_mode="anchor")
    return tilted


def require() -> None:
    """Check that Matplotlib is installed, which is an extra.

    Raises
    ------
    InputError
        If it is not.
    """
    if find_spec("matplotlib") is None:
        raise InputError("Matplotlib is not installed: pip install 'airwnd[plots]'")


@contextmanager
def styled(salt: str = "airwnd") -> Iterator[None]:
    """Draw within this style: ``with style.styled(): ...``.

    Parameters
    ----------
    salt
        Makes the identifiers of several SVGs on one page distinct.
    """
    require()
    import matplotlib as mpl

    with mpl.rc_context({**_SETTINGS, "svg.hashsalt": salt}):
        yield


def figure_of(axes: "Axes") -> "Figure":
    """Return the figure of axes."""
    figure = axes.get_figure(root=True)
    if figure is None:
        raise ValueError("the axes have been removed from their figure")
    return figure


def new_figure(size: Size | None = None) -> "Figure":
    """Create a figure of a size in inches, without a window or global state."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from airwnd.plots.fit import FittingLayoutEngine

    width, height = size or (WIDTH, None)
    figure = Figure(
        figsize=(width, height or width * (_FLAT if width > WIDTH else _STEEP)),
        layout=FittingLayoutEngine(),
    )
    FigureCanvasAgg(figure)
    return figure
