"""Contents of a plot as plain data, ready to be drawn."""

import math
from collections.abc import Iterable
from typing import Literal, TypedDict

from airwnd.study.axis import Level
from airwnd.study.reproduce.plot import Against, Over, Plot, Samples
from airwnd.study.reproduce.runner import Results
from airwnd.study.space import Setting
from airwnd.study.statistics import MIN_SEEDS, Interval

Numbers = list[float | None]

#: Keys of the values of a line in each direction.
_X: tuple[Literal["x", "x_low", "x_high", "paper_x"], ...] = ("x", "x_low", "x_high", "paper_x")
_Y: tuple[Literal["y", "low", "high", "paper_y"], ...] = ("y", "low", "high", "paper_y")


class Line(TypedDict):
    """One line, series of bars or point; ``look`` is its index, which selects its style.

    ``context``: it is shown for comparison only. ``low`` and ``high`` are the ends of the confidence
    intervals, if there are any; ``x_low`` and ``x_high`` those of a frontier in the horizontal direction.
    ``paper_x`` and ``paper_y`` are the paper's points.
    """

    label: str
    look: int
    context: bool
    x: Numbers
    y: Numbers
    low: Numbers
    high: Numbers
    x_low: Numbers
    x_high: Numbers
    paper_x: Numbers
    paper_y: Numbers


class Chart(TypedDict):
    """A figure. ``categories`` are the labels of groups of bars, whose x are 0, 1, 2, ...

    ``lines_label`` is the quantity in which the lines differ; empty: there is one line. ``optimal`` are the
    Pareto-optimal points of a frontier, from left to right.
    """

    name: str
    title: str
    kind: str
    x_label: str
    y_label: str
    x_scale: str
    y_scale: str
    x_limits: list[float] | None
    y_limits: list[float] | None
    x_ticks: Numbers
    categories: list[str]
    lines_label: str
    lines: list[Line]
    optimal: list[tuple[float, float]]
    ours: str


def chart(results: Results, plot: Plot) -> Chart:
    """Collect the contents of a plot."""
    ticks: Numbers = []
    categories: list[str] = []
    if isinstance(plot.contents, Over):
        if plot.kind == "bars":
            categories = [level.label for level in plot.contents.x.levels]
        else:
            ticks = list(plot.contents.x.positions or ())
    levels = plot.lines.levels if plot.lines else (None,)
    lines = [_filled(results, plot, level, look) for look, level in enumerate(levels)]
    if plot.kind == "frontier":
        lines = without_twins(lines)
    return Chart(
        name=plot.name,
        title=plot.title,
        kind=plot.kind,
        x_label=plot.x_label,
        y_label=plot.y_label,
        x_scale=scale_of(plot.x_scale, *(line[key] for line in lines for key in _X)),
        y_scale=scale_of(plot.scale, *(line[key] for line in lines for key in _Y)),
        x_limits=list(plot.x_limits) if plot.x_limits else None,
        y_limits=list(plot.limits) if plot.limits else None,
        x_ticks=ticks,
        categories=categories,
        lines_label=plot.lines.label if plot.lines else "",
        lines=lines,
        optimal=optimal(lines) if plot.kind == "frontier" else [],
        ours=_ours(results, plot),
    )


def scale_of(wanted: str, *columns: Numbers) -> str:
    """Return the wanted scale, or a linear one if no value is above 0: a logarithmic one would be empty."""
    values = [value for column in columns for value in column if value is not None]
    return "linear" if values and max(values) <= 0 else wanted


def _ours(results: Results, plot: Plot) -> str:
    seeds, max_seeds = results.effort.seeds, results.max_seeds
    if plot.kind == "time":
        return "ours: seed 1"
    if plot.kind == "distribution":
        return f"ours: {seeds} seed{'s' * (seeds > 1)}"
    if seeds < MIN_SEEDS:
        return f"ours: mean of {seeds} seeds" if seeds > 1 else "ours: one seed"
    upto = f" to {max_seeds}" if max_seeds > seeds else ""
    return f"ours: mean of {seeds}{upto} seeds, 95 % CI"


def without_twins(points: list[Line]) -> list[Line]:
    """Merge points with identical numbers: the same runs under two names."""
    found: list[Line] = []
    for point in points:
        twin = next((each for each in found if (each["x"], each["y"]) == (point["x"], point["y"])), None)
        if twin and point["x"] != [None]:
            twin["label"] += f", {point['label']}"
        else:
            found.append(point)
    return found


def optimal(points: list[Line]) -> list[tuple[float, float]]:
    """Return the Pareto-optimal points: no other has less x and at least as much y, or equal x and more y."""
    both = [(x, y) for point in points for x, y in zip(point["x"], point["y"], strict=True)]
    found: list[tuple[float, float]] = []
    for x, y in sorted(
        ((x, y) for x, y in both if x is not None and y is not None), key=lambda p: (p[0], -p[1])
    ):
        if not found or y > found[-1][1]:
            found.append((x, y))
    return found


def _filled(results: Results, plot: Plot, level: Level | None, look: int) -> Line:
    at = {**plot.at, plot.lines.name: level.name} if plot.lines and level else dict(plot.at)
    line = _line(level, look)
    match plot.contents:
        case Over(x, measure):
            positions = x.positions if plot.kind == "lines" else None
            for index, name in enumerate(x.names):
                setting = results.experiment.setting({**at, x.name: name})
                place = positions[index] if positions else float(index)
                _add(line, place, results.estimate(setting, measure), results.paper(setting, measure))
        case Against(x_measure, measure):
            setting = results.experiment.setting(at)
            found = results.estimate(setting, x_measure)
            _add(line, found.mean, results.estimate(setting, measure), None)
            line["x_low"], line["x_high"] = [_finite(found.low)], [_finite(found.high)]
            printed = results.paper(setting, x_measure), results.paper(setting, measure)
            if None not in printed:
                line["paper_x"], line["paper_y"] = [printed[0]], [printed[1]]
        case Samples():
            _add_samples(line, results, plot, results.experiment.setting(at))
    return line


def _add_samples(line: Line, results: Results, plot: Plot, setting: Setting) -> None:
    samples = results.readings.samples_of(setting, plot.name)
    if plot.kind == "time":
        line["x"], line["y"] = samples["time_s"].to_list(), samples["value"].to_list()
        return
    line["x"] = samples["value"].sort().to_list()
    line["y"] = [(rank + 1) / samples.height for rank in range(samples.height)]


def _line(level: Level | None, look: int) -> Line:
    return Line(
        label=level.label if level else "",
        look=look,
        context=level.context if level else False,
        x=[],
        y=[],
        low=[],
        high=[],
        x_low=[],
        x_high=[],
        paper_x=[],
        paper_y=[],
    )


def _add(line: Line, x: float, y: Interval, paper: float | None) -> None:
    line["x"].append(_finite(x))
    line["y"].append(_finite(y.mean))
    line["low"].append(_finite(y.low))
    line["high"].append(_finite(y.high))
    if paper is not None:
        line["paper_x"].append(x)
        line["paper_y"].append(paper)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def known(values: Iterable[float | None]) -> list[float]:
    """Drop missing values."""
    return [value for value in values if value is not None]


def spread(middle: Numbers, low: Numbers, high: Numbers) -> tuple[list[float], list[float]]:
    """Return the distances below and above the middle; zero where the spread is unknown."""

    def distances(ends: Numbers, sign: int) -> list[float]:
        pairs = zip(middle, ends, strict=True)
        return [0.0 if m is None or end is None else sign * (end - m) for m, end in pairs]

    return distances(low, -1), distances(high, 1)


def bar_place(lines: int, index: int) -> tuple[float, float]:
    """Return the width of a bar and its offset from the middle of its group, which has width 1."""
    share = 0.8 / lines
    return 0.92 * share, (index - (lines - 1) / 2) * share
