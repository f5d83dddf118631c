"""Small pictures of the report, as SVG whose colours are those of the page."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from airwnd.study.evaluate.report import CheckText, Result, SuiteText
from airwnd.study.evaluate.worst import worst

if TYPE_CHECKING:
    from markupsafe import Markup

_WIDTH, _HEIGHT, _EDGE = 260.0, 34.0, 8.0
_OURS, _THEIRS = 11.0, 25.0
_PADDING = 0.12
_MIN_SCENARIOS = 3
_SHAPES = ("triangle", "square", "diamond", "cross")


@dataclass(frozen=True, slots=True)
class _Scale:
    low: float
    high: float
    size: float

    @classmethod
    def of(cls, values: Sequence[float], size: float) -> "_Scale":
        low, high = min(values), max(values)
        pad = _PADDING * (high - low) or abs(high) * _PADDING or 1.0
        return cls(low - pad, high + pad, size)

    def __call__(self, value: float) -> float:
        part = (value - self.low) / (self.high - self.low)
        return _EDGE + (self.size - 2 * _EDGE) * min(max(part, 0.0), 1.0)


def draw(check: CheckText) -> "Markup":
    """Draw a check: the candidate at each point above, the references at the worst point below.

    The required range is plain, and the other side of the threshold is shaded.
    """
    from markupsafe import Markup

    chosen = worst(check)
    limits = [limit for limit in (check.above, check.below) if limit is not None]
    ours = [each.figure.mean for each in check.results if each.figure.mean is not None]
    theirs = [each.mean for each in chosen.references.values() if each.mean is not None]
    scale = _Scale.of([*ours, *theirs, *limits], _WIDTH)
    parts = [
        f'<svg class="strip" viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" role="img" aria-label="{_label(check)}">',
        *_limits(check, scale),
        *_candidate(check, chosen, scale),
        *(
            _mark(_SHAPES[index % len(_SHAPES)], scale(each.mean), _THEIRS, "theirs")
            for index, each in enumerate(chosen.references.values())
            if each.mean is not None
        ),
        "</svg>",
    ]
    return Markup("".join(parts))  # noqa: S704 (numbers, and words of this file)


def marker(index: int) -> "Markup":
    """Draw the marker of a reference, for a legend."""
    from markupsafe import Markup

    shape = _mark(_SHAPES[index % len(_SHAPES)], 7, 7, "theirs")
    whole = f'<svg class="marker" viewBox="0 0 14 14" aria-hidden="true">{shape}</svg>'
    return Markup(whole)  # noqa: S704 (numbers, and words of this file)


def _label(check: CheckText) -> str:
    return f"{len(check.results)} points against the threshold"


def _limits(check: CheckText, scale: _Scale) -> Iterator[str]:
    if check.above is not None:
        at = scale(check.above)
        yield f'<rect class="wrong" x="0" y="0" width="{at:.1f}" height="{_HEIGHT:g}"/>'
        yield f'<line class="limit" x1="{at:.1f}" x2="{at:.1f}" y1="0" y2="{_HEIGHT:g}"/>'
    if check.below is not None:
        at = scale(check.below)
        yield f'<rect class="wrong" x="{at:.1f}" y="0" width="{_WIDTH - at:.1f}" height="{_HEIGHT:g}"/>'
        yield f'<line class="limit" x1="{at:.1f}" x2="{at:.1f}" y1="0" y2="{_HEIGHT:g}"/>'


def _candidate(check: CheckText, chosen: Result, scale: _Scale) -> Iterator[str]:
    for each in check.results:
        if each is not chosen and each.figure.mean is not None:
            yield f'<circle class="other" cx="{scale(each.figure.mean):.1f}" cy="{_OURS:g}" r="3"/>'
    figure = chosen.figure
    if figure.mean is None:
        return
    kind = {"meets": "meets", "does not": "fails"}.get(chosen.answer, "none")
    if figure.low is not None and figure.high is not None:
        ends = f'x1="{scale(figure.low):.1f}" x2="{scale(figure.high):.1f}"'
        yield f'<line class="range {kind}" {ends} y1="{_OURS:g}" y2="{_OURS:g}"/>'
    yield f'<circle class="ours {kind}" cx="{scale(figure.mean):.1f}" cy="{_OURS:g}" r="4.5"/>'


def _mark(shape: str, x: float, y: float, name: str) -> str:
    r, d = 4.0, 4.8
    path = {
        "triangle": f"M{x:.1f} {y - r:.1f}l{r} {1.8 * r}h{-2 * r}z",
        "square": f"M{x - r * 0.9:.1f} {y - r * 0.9:.1f}h{1.8 * r}v{1.8 * r}h{-1.8 * r}z",
        "diamond": f"M{x:.1f} {y - d:.1f}l{d} {d}l{-d} {d}l{-d} {-d}z",
        "cross": f"M{x - r:.1f} {y - r:.1f}l{2 * r} {2 * r}m0 {-2 * r}l{-2 * r} {2 * r}",
    }[shape]
    return f'<path class="{name}" d="{path}"/>'


@dataclass(frozen=True, slots=True)
class _Pair:
    """Delay and goodput, both relative to the standard references, of an algorithm in a scenario."""

    who: int
    delay: float
    goodput: float


def fronts(suite: SuiteText) -> "Markup | None":
    """Draw goodput against delay: a small mark for each scenario, a large one for the median of all.

    ``None``: the suite has fewer than three scenarios with both.
    """
    from markupsafe import Markup

    pairs = list(_pairs(suite))
    ours = [each for each in pairs if each.who < 0]
    if len(ours) < _MIN_SCENARIOS:
        return None
    width, height = 460.0, 260.0
    xs = _Scale.of([*(math.log(each.delay) for each in pairs), 0.0], width)
    ys = _Scale.of([*(math.log(each.goodput) for each in pairs), 0.0], height)

    def x(delay: float) -> float:
        return xs(math.log(delay))

    def y(goodput: float) -> float:
        return height - ys(math.log(goodput))

    parts = list(_plane((width, height), (x(1), y(1))))
    for large in (False, True):
        for who in sorted({each.who for each in pairs}, reverse=True):
            mine = [each for each in pairs if each.who == who]
            if large:
                mine = [_Pair(who, median([p.delay for p in mine]), median([p.goodput for p in mine]))]
            kind = "large" if large else "small"
            for each in mine:
                at = (x(each.delay), y(each.goodput))
                if who < 0:
                    radius = 6 if large else 3
                    parts.append(
                        f'<circle class="ours {kind}" cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="{radius}"/>'
                    )
                else:
                    parts.append(_mark(_SHAPES[who % len(_SHAPES)], *at, f"theirs {kind}"))
    parts.append("</svg>")
    return Markup("".join(parts))  # noqa: S704 (numbers, and words of this file)


def _plane(size: tuple[float, float], origin: tuple[float, float], below: str = "") -> Iterator[str]:
    """Begin a picture of goodput against delay: axes through the references at `origin`, and their names."""
    (width, height), (x, y) = size, origin
    yield f'<svg class="front" viewBox="0 0 {width:g} {height:g}" role="img" aria-label="Goodput and delay">'
    yield f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{height:g}"/>'
    yield f'<line class="axis" y1="{y:.1f}" y2="{y:.1f}" x1="0" x2="{width:g}"/>'
    yield below
    yield f'<text x="{width - 6:g}" y="{height - 6:g}" text-anchor="end">more delay →</text>'
    yield '<text x="6" y="6" dominant-baseline="hanging">↑ more goodput</text>'


def medians(suite: SuiteText) -> tuple[float, float] | None:
    """Return the candidate's medians of delay and goodput, relative to the standard references.

    ``None``: the suite has fewer than three scenarios with both.
    """
    ours = [each for each in _pairs(suite) if each.who < 0]
    if len(ours) < _MIN_SCENARIOS:
        return None
    return median([each.delay for each in ours]), median([each.goodput for each in ours])


def board(points: Sequence[tuple[int, str, tuple[float, float]]]) -> "Markup | None":
    """Draw goodput against delay of candidates by number and name, and their Pareto front.

    ``None``: there are fewer than two.
    """
    from markupsafe import Markup, escape

    if len(points) < 2:  # noqa: PLR2004 (a front joins two)
        return None
    width, height = 720.0, 360.0
    xs = _Scale.of([*(math.log(at[0]) for *_, at in points), 0.0], width)
    ys = _Scale.of([*(math.log(at[1]) for *_, at in points), 0.0], height)
    places = [
        (number, name, xs(math.log(at[0])), height - ys(math.log(at[1]))) for number, name, at in points
    ]
    front = sorted(
        (x, y)
        for _, _, x, y in places
        if not any(a <= x and b <= y and (a, b) != (x, y) for _, _, a, b in places)
    )
    x0, y0 = xs(0.0), height - ys(0.0)
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in front)
    pareto = f'<polyline class="pareto" points="{line}"/>'
    parts = [
        *_plane((width, height), (x0, y0), pareto),
        *(
            f'<g><title>{escape(name)}</title><circle class="ours" cx="{x:.1f}" cy="{y:.1f}" r="4"/>'
            f'<text x="{x + 6:.1f}" y="{y - 4:.1f}">{number}</text></g>'
            for number, name, x, y in places
        ),
        "</svg>",
    ]
    return Markup("".join(parts))  # noqa: S704 (numbers, and escaped names)


def _pairs(suite: SuiteText) -> Iterator[_Pair]:
    """Yield delay and goodput of the candidate (-1) and of each reference by its number."""
    for criterion in suite.criteria:
        relative = [each for each in criterion.checks if "who='" in each.expression and not each.unit]
        for goodput in relative:
            delays = [
                each
                for each in relative
                if each.scenario == goodput.scenario and each.below and each is not goodput
            ]
            if goodput.above is None or not delays:
                continue
            for up, down in zip(goodput.results, delays[0].results, strict=False):
                if (up.beside, up.setting) != (down.beside, down.setting) or up.beside:
                    continue
                figures = [
                    (-1, down.figure.mean, up.figure.mean),
                    *(
                        (index, down.references[name].mean, up.references[name].mean)
                        for index, name in enumerate(up.references)
                    ),
                ]
                for who, delay, rate in figures:
                    if delay and rate and delay > 0 and rate > 0:
                        yield _Pair(who, delay, rate)
