"""Plots of an experiment, as described in ``experiment.toml``.

::

    [[plot]]
    name = "fig6a"
    title = "Figure 6 (a)  Average throughput"
    kind = "lines"
    measure = "throughput_kbps"
    x = "users"
    lines = "method"
    at = { queue = "51200B" }
    limits = [0, 14000]

Kinds: ``lines`` (a measure over the axis `x`), ``bars`` (the same as bars, for axes whose levels are words),
``frontier`` (two measures against each other, a point for each level of `lines`; `x` is a measure), ``time``
(``value = "series.cwnd_bytes"`` over time, of the first seed), ``distribution`` (the cumulative distribution
of ``value = "flows.fct_s"`` over all seeds). ``time`` and ``distribution`` accept ``where`` and ``between``
like measures. `lines` is the axis with a line for each level, or for each of `levels`; a plot without `lines`
has one line. `at` fixes every other axis; an axis that the paper leaves open takes its level ``shown`` unless
`at` names it. The range of an axis includes at least `limits` (or `x_limits`). `scale` and `x_scale` are
``linear`` or ``log``.

A line connects the Pareto-optimal points of a frontier: those for which no other has both less `x` and more
`measure`, by the means of the measures.

`panels` names an axis: each of its levels has a separate plot. ``name = "delay"`` becomes ``delay-newreno``,
and the label of the level is added to the title.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal, Self, get_args

from msgspec import Meta, field

from airwnd.plots.axis import name as named
from airwnd.study.axis import Axis, Level, Where
from airwnd.study.reader import (
    Entry,
    Heading,
    Id,
    Mistake,
    Name,
    Word,
    Words,
    check_id,
    distinct,
    one_of,
)
from airwnd.study.reproduce.measure import SAMPLED, Between, Measure, Selection, Value
from airwnd.study.space import Space

Scale = Literal["linear", "log"]

Range = Annotated[
    tuple[float, float] | None, Meta(description="Range that is shown at least: minimum and maximum.")
]


class _Drawn(Entry, frozen=True, tag_field="kind"):
    """Keys shared by all kinds of plots."""

    name: Annotated[Id, Meta(description="Name of the plot's file, without its suffix.")]
    title: Heading
    lines: Annotated[Name | None, Meta(description="Axis with a line for each level.")] = None
    levels: Annotated[Words | None, Meta(description="Levels of `lines` to draw; default: all.")] = None
    at: Annotated[dict[str, Word], Meta(description="A level for each axis that is not drawn.")] = field(
        default_factory=dict
    )
    panels: Annotated[Name | None, Meta(description="Axis with a separate plot for each level.")] = None
    x_label: Heading | None = None
    y_label: Heading | None = None
    x_scale: Scale = "linear"
    scale: Annotated[Scale, Meta(description="Scale of the vertical axis.")] = "linear"
    x_limits: Range = None
    limits: Range = None

    def __post_init__(self) -> None:
        for key, limits in (("x_limits", self.x_limits), ("limits", self.limits)):
            if limits and limits[0] >= limits[1]:
                raise Mistake(key, f"expected [minimum, maximum], found [{limits[0]:g}, {limits[1]:g}]")
        for key, limits, scale in (
            ("x_limits", self.x_limits, self.x_scale),
            ("limits", self.limits, self.scale),
        ):
            if limits and scale == "log" and limits[0] <= 0:
                raise Mistake(key, f"a logarithmic scale begins above 0, found {limits[0]:g}")
        distinct("`levels`", map(str, self.levels or ()), "levels")


class _OfMeasures(_Drawn, frozen=True, kw_only=True):
    x: Annotated[Name, Meta(description="An axis; for a frontier, a measure.")]
    measure: Name


class Lines(_OfMeasures, frozen=True, kw_only=True, tag="lines"):
    """A measure over an axis of numbers."""


class Bars(_OfMeasures, frozen=True, kw_only=True, tag="bars"):
    """A measure over an axis, as bars."""


class Frontier(_OfMeasures, frozen=True, kw_only=True, tag="frontier"):
    """Two measures against each other, a point for each level of `lines`."""


class _OfRuns(_Drawn, frozen=True, kw_only=True):
    value: Value
    where: Where = field(default_factory=dict)
    between: Between = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.selection  # noqa: B018 (the property checks the entry)

    @property
    def selection(self) -> Selection:
        """Selection of the drawn values."""
        return Selection.of(self.value, self.where, self.between)


class Time(_OfRuns, frozen=True, kw_only=True, tag="time"):
    """Samples or events over time, of the first seed."""


class Distribution(_OfRuns, frozen=True, kw_only=True, tag="distribution"):
    """Cumulative distribution of a column over rows and seeds."""


PlotEntry = Lines | Bars | Frontier | Time | Distribution
KINDS = tuple(str(kind.__struct_config__.tag) for kind in get_args(PlotEntry))


@dataclass(frozen=True, slots=True)
class Over:
    """A measure over an axis."""

    x: Axis
    measure: Measure


@dataclass(frozen=True, slots=True)
class Against:
    """Two measures against each other."""

    x: Measure
    measure: Measure


@dataclass(frozen=True, slots=True)
class Samples:
    """Values of runs: over time, or their distribution."""

    selection: Selection


@dataclass(frozen=True, slots=True)
class Plot:
    """A figure. `contents` are :class:`Over` for lines and bars, :class:`Against` for a frontier."""

    name: str
    title: str
    kind: str
    contents: Over | Against | Samples
    lines: Axis | None
    at: Mapping[str, str]
    x_label: str
    y_label: str
    x_scale: str
    scale: str
    x_limits: Range
    limits: Range

    @classmethod
    def of(cls, entry: PlotEntry, space: Space, measures: Sequence[Measure]) -> list[Self]:
        """Create the plots of a ``[[plot]]``: one, or one for each level of ``panels``."""
        by_axis = space.by_name
        contents = _contents(entry, by_axis, {measure.name: measure for measure in measures})
        x_label, y_label = _labels(contents, timed=isinstance(entry, Time))
        plot = cls(
            name=entry.name,
            title=entry.title,
            kind=str(entry.__struct_config__.tag),
            contents=contents,
            lines=_lines(entry, by_axis),
            at={axis: str(level) for axis, level in entry.at.items()},
            x_label=entry.x_label or x_label,
            y_label=entry.y_label or y_label,
            x_scale=entry.x_scale,
            scale=entry.scale,
            x_limits=entry.x_limits,
            limits=entry.limits,
        )
        panels = by_axis[one_of("panels", entry.panels, by_axis)] if entry.panels else None
        plot._check_axes(by_axis, panels)
        return [plot] if panels is None else [plot._at_level(panels, level) for level in panels.levels]

    def _at_level(self, axis: Axis, level: Level) -> Self:
        name = f"{self.name}-{level.name}"
        check_id("panels", name)
        return replace(
            self,
            name=name,
            title=f"{self.title}: {level.label}",
            at={**self.at, axis.name: level.name},
        )

    def _check_axes(self, axes: Mapping[str, Axis], panels: Axis | None) -> None:
        """Check that every axis is either drawn or fixed to one level."""
        drawn = {self.contents.x.name} if isinstance(self.contents, Over) else set()
        if self.lines:
            drawn.add(self.lines.name)
        if panels and panels.name in drawn:
            raise Mistake("panels", f"the axis `{panels.name}` is drawn already")
        if panels:
            drawn.add(panels.name)
        for name, level in self.at.items():
            if name not in axes or name in drawn:
                free = ", ".join(axis for axis in axes if axis not in drawn) or "none"
                raise Mistake("at", f"`{name}` is not a remaining axis; these are: {free}")
            if level not in axes[name].names:
                raise Mistake("at", f"`{level}` is not a level of `{name}`: {', '.join(axes[name].names)}")
        for name, axis in axes.items():
            if axis.open is None and name not in drawn and name not in self.at:
                example = f'at = {{ {name} = "{axis.names[0]}" }}'
                raise Mistake("", f"the axis `{name}` is left open: add {example}")


def _contents(
    entry: PlotEntry, axes: Mapping[str, Axis], measures: Mapping[str, Measure]
) -> Over | Against | Samples:
    match entry:
        case Lines() | Bars():
            x = axes[one_of("x", entry.x, axes)]
            if isinstance(entry, Lines) and x.positions is None:
                raise Mistake("x", f'the levels of `{x.name}` are not numbers; use kind = "bars"')
            if entry.x_scale == "log" and min(x.positions or (0.0,)) <= 0:
                raise Mistake(
                    "x_scale", f"a logarithmic scale needs levels of `{x.name}` that are all above 0"
                )
            return Over(x, measures[one_of("measure", entry.measure, measures)])
        case Frontier():
            x_measure = measures[one_of("x", entry.x, measures)]
            return Against(x_measure, measures[one_of("measure", entry.measure, measures)])
    selection = entry.selection
    if (selection.table in SAMPLED) != isinstance(entry, Time):
        kind = entry.__struct_config__.tag
        raise Mistake("value", f"`{selection.table}` does not go with kind `{kind}`")
    return Samples(selection)


def _lines(entry: PlotEntry, axes: Mapping[str, Axis]) -> Axis | None:
    """Return the axis of the lines, restricted to the levels to draw."""
    lines = axes[one_of("lines", entry.lines, axes)] if entry.lines else None
    if entry.levels is None:
        return lines
    if lines is None:
        raise Mistake("levels", "they are levels of `lines`, which is missing")
    names = [str(name) for name in entry.levels]
    for name in names:
        if name not in lines.names:
            raise Mistake("levels", f"`{name}` is not a level of `{lines.name}`: {', '.join(lines.names)}")
    return replace(lines, levels=tuple(level for level in lines.levels if level.name in names))


def _labels(contents: Over | Against | Samples, *, timed: bool) -> tuple[str, str]:
    """Return the default labels of the axes."""
    match contents:
        case Over(x, measure):
            return x.label, measure.axis_label
        case Against(x, measure):
            return x.axis_label, measure.axis_label
    words, unit = named(contents.selection.table, contents.selection.column)
    label = f"{words} ({unit})" if unit else words
    return ("Time (s)", label) if timed else (label, "CDF")
