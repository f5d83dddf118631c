"""The plots of an experiment, as ``experiment.toml`` describes them.

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
of ``value = "flows.fct_s"`` over all seeds). ``time`` and ``distribution`` take ``where`` and ``between`` as
measures do. `lines` is the axis whose levels are drawn beside each other, all or those in `levels`; a plot
without has one line. `at` fixes every other axis. `limits` and `x_limits` are shown at least; `scale` and
`x_scale` are ``linear`` or ``log``.

A frontier joins its Pareto-optimal points by a line: those for which no other has both less `x` and more
`measure`, the measures' means taken as they are.

`panels` names an axis, for a plot of its own for each of its levels: ``name = "delay"`` becomes
``delay-newreno``, and the level's label is added to the title.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from airwnd.reproduce.axis import Axis, Level
from airwnd.reproduce.measure import SAMPLED, Measure, Selection
from airwnd.reproduce.strict import Table
from airwnd.text import axis_label

KINDS = ("lines", "bars", "frontier", "time", "distribution")
SCALES = ("linear", "log")

Range = tuple[float, float] | None


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
    """What runs hold themselves: values over time, or their distribution."""

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
    def take(cls, table: Table, axes: Sequence[Axis], measures: Sequence[Measure]) -> list[Self]:
        """Read a ``[[plot]]``: one plot, or one for each level of ``panels``."""
        by_axis = {axis.name: axis for axis in axes}
        kind = table.choose("kind", KINDS, "lines")
        contents = _contents(table, kind, by_axis, {measure.name: measure for measure in measures})
        x_label, y_label = _labels(kind, contents)
        plot = cls(
            name=table.take("name", str),
            title=table.take("title", str),
            kind=kind,
            contents=contents,
            lines=_lines(table, by_axis),
            at={axis: str(level) for axis, level in table.table("at").items()},
            x_label=table.take("x_label", str, x_label),
            y_label=table.take("y_label", str, y_label),
            x_scale=table.choose("x_scale", SCALES, "linear"),
            scale=table.choose("scale", SCALES, "linear"),
            x_limits=_limits(table, "x_limits"),
            limits=_limits(table, "limits"),
        )
        panels = by_axis[table.choose("panels", by_axis)] if "panels" in table else None
        plot._check_axes(table, by_axis, panels)
        return [plot] if panels is None else [plot._at_level(panels, level) for level in panels.levels]

    def _at_level(self, axis: Axis, level: Level) -> Self:
        return replace(
            self,
            name=f"{self.name}-{level.name}",
            title=f"{self.title}: {level.label}",
            at={**self.at, axis.name: level.name},
        )

    def _check_axes(self, table: Table, axes: Mapping[str, Axis], panels: Axis | None) -> None:
        """Every axis is drawn, or stands at one level."""
        drawn = {self.contents.x.name} if isinstance(self.contents, Over) else set()
        if self.lines:
            drawn.add(self.lines.name)
        if panels and panels.name in drawn:
            raise table.error(f"panels: the axis `{panels.name}` is drawn already")
        if panels:
            drawn.add(panels.name)
        for name, level in self.at.items():
            if name not in axes or name in drawn:
                free = ", ".join(set(axes) - drawn) or "none"
                raise table.error(f"at: `{name}` is no axis that is left; these are: {free}")
            if level not in axes[name].names:
                raise table.error(f"at: `{level}` is no level of `{name}`: {', '.join(axes[name].names)}")
        for name, axis in axes.items():
            if name not in drawn and name not in self.at:
                example = f'at = {{ {name} = "{axis.names[0]}" }}'
                raise table.error(f"the axis `{name}` is left open: add {example}")


def _contents(
    table: Table, kind: str, axes: Mapping[str, Axis], measures: Mapping[str, Measure]
) -> Over | Against | Samples:
    match kind:
        case "lines" | "bars":
            x = axes[table.choose("x", axes)]
            if kind == "lines" and x.positions is None:
                raise table.error(f'x: the levels of `{x.name}` are no numbers; use kind = "bars"')
            return Over(x, measures[table.choose("measure", measures)])
        case "frontier":
            return Against(measures[table.choose("x", measures)], measures[table.choose("measure", measures)])
    selection = Selection.take(table, "value")
    if (selection.table in SAMPLED) != (kind == "time"):
        raise table.error(f"value: `{selection.table}` does not go with kind `{kind}`")
    return Samples(selection)


def _lines(table: Table, axes: Mapping[str, Axis]) -> Axis | None:
    """Take the axis whose levels are drawn beside each other, with the levels that are to be drawn."""
    lines = axes[table.choose("lines", axes)] if "lines" in table else None
    if "levels" not in table:
        return lines
    if lines is None:
        raise table.error("levels: they are those of `lines`, which is missing")
    names = table.take("levels", list)
    for name in names:
        if name not in lines.names:
            raise table.error(f"levels: `{name}` is no level of `{lines.name}`: {', '.join(lines.names)}")
    if not names:
        raise table.error(f"levels: none; the levels of `{lines.name}` are {', '.join(lines.names)}")
    return replace(lines, levels=tuple(level for level in lines.levels if level.name in names))


def _labels(kind: str, contents: Over | Against | Samples) -> tuple[str, str]:
    """Name the axes, unless the plot does."""
    match contents:
        case Over(x, measure):
            return x.label, measure.axis_label
        case Against(x, measure):
            return x.axis_label, measure.axis_label
    column = axis_label(contents.selection.table, contents.selection.column)
    return ("Time (s)", column) if kind == "time" else (column, "Share of all")


def _limits(table: Table, key: str) -> Range:
    limits = table.take(key, list, [])
    if not limits:
        return None
    if len(limits) != 2 or not all(isinstance(end, int | float) for end in limits) or limits[0] >= limits[1]:  # noqa: PLR2004
        raise table.error(f"{key}: expected [least, greatest], found {limits}")
    return float(limits[0]), float(limits[1])
