"""The open axes of a paper, over all of its experiments.

Open axes with the same name are one choice of the paper. ``experiments/<paper>/likeliest.toml``, which is
optional, states what the experiments' own files do not:

``[[join]]``
    the same choice has another name or other levels in one experiment, with the reason;
``[[axis]]``
    an open axis, or further levels of one, for several experiments that have a single value there;
``[[number]]``
    a number of the paper's text (:mod:`airwnd.study.reproduce.likeliest.numbers`);
``notes``
    why numbers contradict each other or cannot be reached.

::

    [[join]]
    experiment = "fig7"
    axis = "starts"
    levels = { 1ms = "together" }
    because = "With twelve UEs both mean that all start at once."

    [[axis]]
    experiments = ["table2", "table6"]
    name = "noise"
    label = "Noise figure of the UEs"
    open = "The paper's noise of 5 dBm is the eNB's, or every receiver's."
    [[axis.level]]
    name = "5dB"
    label = "5 dB"
    set = { "ue[0].noise_figure" = "5dB" }
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import msgspec
from msgspec import Meta

from airwnd._native import ScenarioError
from airwnd.scenario.scenario import Scenario
from airwnd.study.axis import Axis, AxisEntry, Level
from airwnd.study.reader import (
    Entry,
    Id,
    Mistake,
    Name,
    Text,
    Words,
    distinct,
    load,
    one_of,
    placed,
)
from airwnd.study.reproduce.design import Experiment
from airwnd.study.reproduce.expression import Expression
from airwnd.study.reproduce.regions import SetUp
from airwnd.study.space import Setting
from airwnd.support.errors import InputError

FILE = "likeliest.toml"

Places = Annotated[tuple[Id, ...], Meta(description="Experiments to which it applies.", min_length=1)]


class Join(Entry, frozen=True, kw_only=True):
    """A ``[[join]]``: names of a choice in one experiment."""

    experiment: Id
    axis: Annotated[Name, Meta(description="Axis of the paper.")]
    own: Annotated[Name | None, Meta(description="Axis of the experiment; default: the same name.")] = None
    levels: Annotated[
        dict[str, str], Meta(description="Levels of the experiment by level of the paper, where they differ.")
    ] = msgspec.field(default_factory=dict)
    because: Text


class Addition(AxisEntry, frozen=True, kw_only=True):
    """An ``[[axis]]`` of several experiments, or further levels of one."""

    experiments: Places

    # A level can be added to those of an experiment's own axis.
    _fewest: ClassVar[int] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.open is None:
            raise Mistake("open", "the reason is missing: the axis is one that the paper leaves open")
        distinct("`experiments`", self.experiments)
        if any(level.where for level in self.levels):
            raise Mistake("level.where", "a level that applies to several experiments can only `set` keys")


class Stated(Entry, frozen=True, kw_only=True):
    """A ``[[number]]`` of the paper's text: an expression over measures and its value or range."""

    experiment: Id
    text: Text
    quantity: Annotated[
        Name, Meta(description="Numbers of one quantity share the size of their discrepancy.")
    ]
    expression: Text
    only: Annotated[dict[str, Words], Meta(description="Only these levels of axes.")] = msgspec.field(
        default_factory=dict
    )
    equals: float | None = None
    tolerance: Annotated[
        float, Meta(description="Half of the last digit of `equals`, or what its wording allows.", ge=0)
    ] = 0.0
    between: tuple[float, float] | None = None
    source: Annotated[Text, Meta(description="Place in the paper, with its wording.")]

    def __post_init__(self) -> None:
        if (self.equals is None) == (self.between is None):
            raise Mistake("", "a number needs either `equals` or `between`")
        low, high = self.range
        if not 0.0 <= low <= high or high == 0.0:
            raise Mistake("", f"expected a range of values from 0, found {low:g} to {high:g}")
        if self.between is not None and low == high:
            raise Mistake("between", "expected two different values; use `equals`")

    @property
    def range(self) -> tuple[float, float]:
        """Smallest and largest value that agrees with the paper."""
        if self.equals is not None:
            return max(self.equals - self.tolerance, 0.0), self.equals + self.tolerance
        return self.between or (0.0, 0.0)


class LikeliestFile(Entry, frozen=True):
    """``likeliest.toml``."""

    join: tuple[Join, ...] = ()
    axis: tuple[Addition, ...] = ()
    number: tuple[Stated, ...] = ()
    notes: Annotated[
        tuple[Text, ...], Meta(description="Reasons of contradictions; shown with the results.")
    ] = ()


@dataclass(frozen=True)
class Choice:
    """An open axis of the paper; `levels` maps names to labels."""

    name: str
    label: str
    levels: Mapping[str, str]
    shown: str
    open: str


@dataclass(frozen=True)
class Point:
    """A setting of an experiment, with the changes that its own axes do not have."""

    setting: Setting
    added: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Member:
    """An experiment of the paper, and how it represents the paper's choices.

    Attributes
    ----------
    renamed
        Names of its open axes by the paper's names, and levels by the paper's levels, where they differ.
    added
        Axes, or further levels of its own axes, by the paper's name.
    """

    experiment: Experiment
    renamed: Mapping[str, str] = field(default_factory=dict)
    levels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    added: Mapping[str, Axis] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the experiment's folder."""
        return self.experiment.folder.name

    @cached_property
    def own(self) -> Mapping[str, Axis]:
        """The experiment's open axes by the paper's names."""
        back = {own: name for name, own in self.renamed.items()}
        return {back.get(axis.name, axis.name): axis for axis in self.experiment.space.open}

    @property
    def choices(self) -> list[str]:
        """The paper's choices that this experiment has."""
        return [*self.own, *(name for name in self.added if name not in self.own)]

    def closed(self, levels: Mapping[str, str]) -> dict[str, str]:
        """Return the levels of the axes that the paper varies: those that are not open."""
        opened = {axis.name for axis in self.experiment.space.open}
        return {axis: level for axis, level in levels.items() if axis not in opened}

    def can(self, choice: str, level: str) -> bool:
        """Whether the experiment has this level of a choice."""
        extra = self.added.get(choice)
        return self._own_level(choice, level) is not None or (extra is not None and level in extra.names)

    def own_levels(self, setup: SetUp) -> dict[str, str]:
        """Return the levels of its own axes in a set-up; a level that is added stands on the shown one."""
        return {
            axis.name: self._own_level(name, setup[name]) or axis.shown
            for name, axis in self.own.items()
            if name in setup
        }

    def point(self, levels: Mapping[str, str], setup: SetUp) -> Point:
        """Return the setting with these levels in a set-up; other open axes take their shown level."""
        space = self.experiment.space
        chosen = {**space.shown, **levels, **self.own_levels(setup)}
        existing = space.existing(chosen)
        added = [
            (name, level)
            for name, level in setup.items()
            if name in self.added and self._own_level(name, level) is None
            if level in self.added[name].names
            if all(existing.get(axis) in allowed for axis, allowed in self.added[name].when.items())
        ]
        return Point(space.setting(chosen), tuple(added))

    def scenario(self, point: Point, quick: Mapping[str, Any]) -> Scenario:
        """Return the scenario of a point; the changes of added levels are applied last."""
        scenario = self.experiment.scenario_for(point.setting, quick)
        changes: dict[str, Any] = {}
        for choice, level in point.added:
            changes.update(self.added[choice].level(level).changes)
        try:
            return scenario.with_(changes) if changes else scenario
        except ScenarioError as error:
            path = self.experiment.folder.parent / FILE
            raise InputError(f"{path}: {self.name}: {dict(point.added)}: {error}") from None

    def _own_level(self, choice: str, level: str) -> str | None:
        axis = self.own.get(choice)
        name = self.levels.get(choice, {}).get(level, level)
        return name if axis is not None and name in axis.names else None


@dataclass(frozen=True)
class Choices:
    """All experiments of a paper that take part, with its choices."""

    members: tuple[Member, ...]
    by_name: Mapping[str, Choice]
    stated: tuple[Stated, ...]
    joins: tuple[Join, ...]
    notes: tuple[str, ...]

    def setups(self, names: Sequence[str]) -> Iterator[SetUp]:
        """Yield all combinations of levels of these choices; the last one changes fastest."""
        if not names:
            yield {}
            return
        for level in self.by_name[names[0]].levels:
            for rest in self.setups(names[1:]):
                yield {names[0]: level, **rest}

    def axes(self, names: Sequence[str]) -> list[Axis]:
        """Return these choices as axes, for descriptions of set-ups."""
        chosen = [self.by_name[name] for name in names]
        return [
            Axis(
                each.name,
                each.label,
                tuple(Level(name=name, label=label) for name, label in each.levels.items()),
                each.open,
                each.shown,
                {},
            )
            for each in chosen
        ]

    @classmethod
    def of(cls, experiments: Sequence[Experiment]) -> Self:
        """Combine experiments of one paper, and read its ``likeliest.toml``.

        Raises
        ------
        InputError
            If an experiment is measured instead of simulated, or the file is invalid.
        """
        folder = experiments[0].folder.parent
        for each in experiments:
            if each.measured is not None:
                raise InputError(f"{each.name}: is measured; --likeliest needs simulated experiments")
        path = folder / FILE
        file = load(path, LikeliestFile) if path.exists() else LikeliestFile()
        known = {each.name for each in folder.iterdir() if (each / "experiment.toml").exists()}
        named: dict[str, list[tuple[str, ...]]] = {
            "join": [(each.experiment,) for each in file.join],
            "axis": [each.experiments for each in file.axis],
            "number": [(each.experiment,) for each in file.number],
        }
        for key, entries in named.items():
            for index, names in enumerate(entries):
                with placed(str(path), f"{key}[{index}]"):
                    for name in names:
                        one_of("experiment", name, sorted(known))
        members = tuple(_member(each, file, path) for each in experiments)
        there = {member.name for member in members}
        numbered = {each.folder.name for each in experiments if each.paper_values}
        numbered |= {each.experiment for each in file.number}
        return cls(
            members=members,
            # Order, labels and shown levels are those of the experiments with numbers.
            by_name=_combined(sorted(members, key=lambda each: each.name not in numbered)),
            stated=tuple(each for each in file.number if each.experiment in there),
            joins=tuple(each for each in file.join if each.experiment in there),
            notes=file.notes,
        )


def _member(experiment: Experiment, file: LikeliestFile, path: Path) -> Member:
    name, space = experiment.folder.name, experiment.space
    own = {axis.name: axis for axis in space.open}
    renamed, levels, added = {}, {}, {}
    for index, join in enumerate(file.join):
        if join.experiment != name:
            continue
        with placed(str(path), f"join[{index}]"):
            name_there = one_of("own" if join.own else "axis", join.own or join.axis, own)
            for level in join.levels.values():
                one_of("levels", level, own[name_there].names)
            renamed[join.axis], levels[join.axis] = name_there, join.levels
    for index, entry in enumerate(file.axis):
        if name not in entry.experiments:
            continue
        with placed(str(path), f"axis[{index}]"):
            if entry.name in space.by_name and entry.name not in own:
                raise Mistake("name", f"{name} varies `{entry.name}` as the paper does")
            for axis, allowed in entry.when.items():
                one_of("when", axis, space.by_name)
                for word in allowed:
                    one_of("when", str(word), space.by_name[axis].names)
            added[entry.name] = Axis.of(entry)
    return Member(experiment, renamed, levels, added)


def _combined(members: Sequence[Member]) -> dict[str, Choice]:
    """Combine the choices of all members; levels are in the order in which they are first found."""
    found: dict[str, Choice] = {}
    for member in members:
        for name in member.choices:
            axes = [axis for axis in (member.own.get(name), member.added.get(name)) if axis is not None]
            renamed = {own: level for level, own in member.levels.get(name, {}).items()}
            labels: dict[str, str] = {}
            for axis in axes:
                for level in axis.levels:
                    labels.setdefault(renamed.get(level.name, level.name), level.label)
            shown = renamed.get(axes[0].shown, axes[0].shown)
            there = found.get(name)
            if there is None:
                found[name] = Choice(name, axes[0].label, labels, shown, axes[0].open or "")
            else:
                found[name] = replace(there, levels=dict(there.levels) | _missing(labels, there.levels))
    return found


def _missing(labels: Mapping[str, str], there: Mapping[str, str]) -> dict[str, str]:
    return {level: label for level, label in labels.items() if level not in there}


def closed_places(member: Member, expression: Expression, only: Mapping[str, Words]) -> list[dict[str, str]]:
    """Return the rows at which an expression over measures is evaluated, without open axes."""
    space = member.experiment.space
    opened = {axis.name for axis in space.open}
    for name, levels in only.items():
        one_of("only", name, [axis.name for axis in space.axes if axis.name not in opened])
        for level in levels:
            one_of("only", str(level), space.by_name[name].names)
    allowed = {name: set(map(str, levels)) for name, levels in only.items()}
    found: dict[tuple[tuple[str, str], ...], dict[str, str]] = {}
    for place in expression.places():
        closed = member.closed(place)
        if all(level in allowed.get(axis, {level}) for axis, level in closed.items()):
            found.setdefault(tuple(closed.items()), closed)
    if not found:
        raise Mistake("only", "leaves no row at which to evaluate the expression")
    return list(found.values())
