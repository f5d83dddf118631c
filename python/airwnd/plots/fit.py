"""Layout that keeps texts inside the picture: titles and labels of axes that are too long are wrapped."""

import re
import textwrap
import warnings
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.layout_engine import ConstrainedLayoutEngine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text
    from numpy.typing import NDArray

# Wrapping changes the layout, and the layout the space for texts.
_MAX_PASSES = 4
_MAX_LINES = 6
# A font is up to this share wider at another resolution.
_WIDER = 0.03
# Attribute of a text that was wrapped: what it shows, and its whole text.
_WHOLE = "_airwnd_whole"
# The space between a number and its unit, where no line ends.
_BEFORE_UNIT, _NO_BREAK = re.compile(r"(?<=\d) (?=[^\W\d]|[%‰])"), "\N{NO-BREAK SPACE}"
# Distance from the edge of the picture and between texts of neighbouring axes, in points.
_MARGIN_PT = 2.0
# Distance of the texts of a legend from the left end of its axes, in points.
_LEGEND_PAD_PT = 5.0


class FittingLayoutEngine(ConstrainedLayoutEngine):
    """Matplotlib's constrained layout, in which no text extends beyond the picture or its axes' share."""

    def execute(self, fig: "Figure") -> None:
        """Arrange the axes, and wrap the texts for which there is too little space."""
        for _ in range(_MAX_PASSES):
            # Before long texts are wrapped, they may leave no space for axes: only the last layout warns.
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                super().execute(fig)
            # All texts are wrapped for the same layout.
            wrapped = [_wrap(text, limits) for text, limits in list(_texts(fig))]
            if not any(wrapped):
                break
        else:
            super().execute(fig)
            return
        for each in caught:
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)


def _texts(figure: "Figure") -> "Iterator[tuple[Text, tuple[float, float]]]":
    """Yield each title and label with the ends of its space in pixels, along its direction."""
    margin = _MARGIN_PT * figure.dpi / 72
    width, height = figure.bbox.width - margin, figure.bbox.height - margin
    whole = (margin, width)
    for name in ("_suptitle", "_supxlabel"):
        if (text := getattr(figure, name, None)) is not None:
            yield text, whole
    for axes in figure.axes:
        left, right = _between(axes, figure.axes, 0, width, margin)
        for name in ("title", "_left_title", "_right_title"):
            yield getattr(axes, name), (left, right)
        yield axes.xaxis.label, (left, right)
        yield (
            axes.yaxis.label,
            _beside(axes, _between(axes, figure.axes, 1, height, margin), legends=bool(figure.legends)),
        )
        if (legend := axes.get_legend()) is not None:
            # A legend is placed when it is drawn, with its left end on that of the axes.
            begin = _corners(legend.get_title())[0, 0]
            space = right - _corners(axes)[0, 0] - _LEGEND_PAD_PT * figure.dpi / 72
            yield legend.get_title(), (begin, begin + space)
    for legend in figure.legends:
        yield legend.get_title(), whole


def _between(
    axes: "Axes", every: "list[Axes]", direction: int, end: float, margin: float
) -> tuple[float, float]:
    """Return the ends of the space of axes along x (0) or y (1): half-way to their neighbours."""
    mine = _corners(axes)
    low, high = margin, end
    for other in every:
        theirs = _corners(other)
        across = 1 - direction
        beside = theirs[0, across] < mine[1, across] and mine[0, across] < theirs[1, across]
        if other is axes or not beside:
            continue
        if theirs[1, direction] <= mine[0, direction]:
            low = max(low, (theirs[1, direction] + mine[0, direction] + margin) / 2)
        elif theirs[0, direction] >= mine[1, direction]:
            high = min(high, (theirs[0, direction] + mine[1, direction] - margin) / 2)
    return low, high


def _wrap(text: "Text", limits: tuple[float, float]) -> bool:
    """Wrap a text that extends beyond its space; return whether it did."""
    words = text.get_text()
    if not words or not text.get_visible():
        return False
    low, high = _corners(text).T[_direction(text)]
    where = text.get_horizontalalignment()
    spare = _WIDER * (high - low)
    before_end, after_begin = (0.0 if where == side else spare for side in ("right", "left"))
    if low - after_begin >= limits[0] - 1 and high + before_end <= limits[1] + 1:
        return False
    space = {
        "left": limits[1] - low,
        "center": 2 * min(limits[1] - (low + high) / 2, (low + high) / 2 - limits[0]),
        "right": high - limits[0],
    }[where]
    characters = max(int(max(map(len, words.split("\n"))) * space / (high - low + spare)), 4)
    # A text that was wrapped already is wrapped again from its beginning.
    before, whole = getattr(text, _WHOLE, (words, words))
    lines = (whole if before == words else words).split("\n")
    together = [_BEFORE_UNIT.sub(_NO_BREAK, line) for line in lines]
    wrapped = [part.replace(_NO_BREAK, " ") for line in together for part in textwrap.wrap(line, characters)]
    if len(wrapped) > _MAX_LINES:
        wrapped = [*wrapped[: _MAX_LINES - 1], f"{wrapped[_MAX_LINES - 1][: characters - 1]}…"]
    shown = "\n".join(wrapped)
    if shown == words:
        return False
    text.set_text(shown)
    setattr(text, _WHOLE, (shown, "\n".join(lines)))
    return True


def _beside(axes: "Axes", limits: tuple[float, float], *, legends: bool) -> tuple[float, float]:
    """Return the ends of the space of a label of y, next to tilted labels of x and a legend of the figure."""
    (_, low), (_, high) = _corners(axes)
    tilted = any(label.get_rotation() for label in axes.get_xticklabels())
    return low if tilted else limits[0], high if legends else limits[1]


def _corners(artist: "Axes | Text") -> "NDArray[np.float64]":
    """Return the lower left and the upper right corner."""
    return np.asarray(artist.get_window_extent().extents).reshape(2, 2)


def _direction(text: "Text") -> int:
    """Return along which coordinate a text runs: x (0), or y (1)."""
    return int(round(text.get_rotation()) % 180 == 90)  # noqa: PLR2004 (degrees)
