"""Axes of the plots: labels with units, scales, legends. Text from scenarios is drawn literally."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from airwnd.plots import category, style
from airwnd.vocabulary.columns import larger_unit, tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

#: Maximum number of lines. More lines are drawn as a band, or not all named in the legend.
MAX_LINES = 12

_LOWER_CASE = ("cwnd", "rwnd", "ssthresh")

_LETTER_IN = 0.068
_SWATCH_IN = 0.47
_TICKS_IN = 0.8
# Number of legend lines that fit a figure, and the height of a line.
_LEGEND_LINES, _LINE_IN = 2, 0.165
_MAX_TICKS = 8
_NAMED_GROUPS = 3
_DECADES_WITH_STEPS = 2.5
_LOG_FROM, _UNEVEN = 10, 1.5


def name(table: str, column: str) -> tuple[str, str]:
    """Return the label and the unit of a column on an axis."""
    known = tables()[table].columns.get(column)
    words, unit = (known.label, known.shown_unit) if known else (column, "")
    return upper(words), unit


def upper(words: str) -> str:
    """Capitalise the name of a quantity, except variables such as cwnd."""
    return words if words.startswith(_LOWER_CASE) else words[:1].upper() + words[1:]


def population(groups: "Sequence[str]", group: str | None = None) -> str:
    """Return the flows over which a value is taken, for a label; empty if all flows are of one group.

    Parameters
    ----------
    groups
        All groups of flows.
    group
        The group that is drawn; ``None``: all.
    """
    if group is not None:
        return f"flows of {group}"
    if len(groups) < 2:  # noqa: PLR2004 (one group)
        return ""
    named = ", ".join(groups) if len(groups) <= _NAMED_GROUPS else f"{len(groups)} groups"
    return f"over all flows: {named}"


def quantity(  # noqa: PLR0913 (parts of a label)
    axis: "Axis", words: str, unit: str, largest: float, note: str = "", *, before_unit: str = " "
) -> None:
    """Label an axis with its unit, and use a larger unit where numbers would be long.

    Parameters
    ----------
    axis
        Matplotlib axis.
    words
        Name of the quantity.
    unit
        Unit of the data; empty for a pure number.
    largest
        Largest value.
    note
        Additional text after the name.
    before_unit
        Separator of name and unit: a line break if the axis is short.
    """
    from matplotlib.ticker import FuncFormatter

    factor, shown = larger_unit(unit, largest)
    label = f"{words}{before_unit}({shown})" if shown else words
    axis.set_label_text(style.literal(label + (f",\n{note}" if note else "")))
    # Matplotlib's logarithmic labels are formulas in a different typeface.
    minus = "\N{MINUS SIGN}"
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / factor:.10g}".replace("-", minus)))


def scale(axes: "Axes", which: str, values: "ArrayLike", wanted: str = "auto") -> None:
    """Make an axis linear or logarithmic; a logarithmic axis has ticks at the values if they are few.

    Parameters
    ----------
    axes
        Matplotlib axes.
    which
        ``"x"`` or ``"y"``.
    values
        Values drawn along the axis.
    wanted
        ``"linear"``, ``"log"``, or ``"auto"``: logarithmic if the values spread unevenly over a decade. An
        axis without a value above 0 is linear.
    """
    from matplotlib.ticker import FixedLocator, LogLocator, NullLocator

    distinct = np.unique(np.asarray(values, float))
    positive = distinct[distinct > 0]
    logarithmic = positive.size > 0 and (wanted == "log" or (wanted == "auto" and _grows(distinct)))
    axis = axes.xaxis if which == "x" else axes.yaxis
    formatter = axis.get_major_formatter()
    if logarithmic:
        (axes.set_xscale if which == "x" else axes.set_yscale)("log")
        decades = np.log10(positive[-1] / positive[0])
        steps = (1.0, 2.0, 5.0) if decades <= _DECADES_WITH_STEPS else (1.0,)
        if which == "x" and wanted == "auto" and distinct.size <= _MAX_TICKS:
            axis.set_major_locator(FixedLocator(distinct.tolist()))
        else:
            axis.set_major_locator(LogLocator(subs=steps))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(formatter)


def _grows(distinct: "np.typing.NDArray[np.float64]") -> bool:
    """Return whether distinct values grow by factors rather than by constant steps."""
    if distinct.size <= 2 or distinct[0] <= 0 or distinct[-1] < _LOG_FROM * distinct[0]:  # noqa: PLR2004
        return False
    steps = np.diff(distinct)
    return bool(steps.max() > _UNEVEN * steps.min())


def in_columns(names: "Sequence[str]", width_in: float) -> tuple[int, list[str]]:
    """Return how many columns of labels fit, and the labels, shortened if not even one column does.

    A legend is filled column by column, and each column is as wide as its longest label.
    """
    fitting = max(int((width_in - _SWATCH_IN) / _LETTER_IN), 1)
    names = [category.shortened(name, fitting) for name in names]
    lengths = list(map(len, names))

    def fits(columns: int) -> bool:
        longest = sum(part.max() for part in np.array_split(lengths, columns))
        return bool(columns * _SWATCH_IN + _LETTER_IN * longest <= width_in)

    return max(filter(fits, range(2, len(names) + 1)), default=1), names


def grow_for_legend(figure: "Figure", lines: int) -> None:
    """Increase the height of a figure for a legend of many lines."""
    figure.set_figheight(figure.get_figheight() + max(lines - _LEGEND_LINES, 0) * _LINE_IN)


def legend(
    axes: "Axes", title: str = "", *, panels: int = 1, above_all: bool = False, grow: bool = False
) -> None:
    """Draw a legend above the axes, in as many columns as fit; of very many lines, only the first are named.

    Parameters
    ----------
    axes
        Matplotlib axes.
    title
        Key in which the lines differ.
    panels
        Number of axes side by side in the figure, each with its own legend.
    above_all
        Place the legend above the whole figure.
    grow
        Increase the height of the figure for a long legend.
    """
    from matplotlib.lines import Line2D

    handles, names = axes.get_legend_handles_labels()
    if not handles:
        return
    handles, names = list[Any](handles), list[str](names)
    if len(handles) > MAX_LINES:
        more = f"and {len(handles) - MAX_LINES} more"
        handles = [*handles[:MAX_LINES], Line2D([], [], linestyle="none")]
        names = [*names[:MAX_LINES], more]
    width = (style.figure_of(axes).get_size_inches()[0] - _TICKS_IN) / panels
    columns, names = in_columns(names, width)
    lines = math.ceil(len(names) / columns) + bool(title)
    if grow:
        grow_for_legend(style.figure_of(axes), lines)
    place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 1)}
    owner: Axes | Figure = axes
    if above_all:
        place, owner = {"loc": "outside upper left"}, style.figure_of(axes)
    owner.legend(
        handles,
        names,
        **place,
        title=style.literal(title) or None,
        alignment="left",
        ncols=columns,
        borderaxespad=0.2,
        columnspacing=1.0,
        handlelength=2.4,
    )
