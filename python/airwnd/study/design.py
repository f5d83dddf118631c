"""Design of a study: a scenario, the axes that vary it, and the number of seeds of each setting.

A sweep is a design. An experiment (:mod:`airwnd.study.reproduce.design`) is one with measures, claims and the
data of a paper.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Self

from airwnd._native import ScenarioError
from airwnd.results.engine import duration_ns
from airwnd.scenario.scenario import Scenario, as_toml
from airwnd.study.axis import Axis, Level, Rows, random_axis
from airwnd.study.batch.task import Task
from airwnd.study.draws import Drawn, steps
from airwnd.study.space import ABSENT, Setting, Space
from airwnd.study.stacks import with_options
from airwnd.study.transfers import Outside, single_transfer
from airwnd.support.errors import InputError
from airwnd.support.memory import share

# Memory of the list of runs: per scenario about this many times its resolved text, and bytes per task.
_SCENARIO_TEXTS = 5
_TASK_BYTES = 300

# First part of the keys of a stack's options.
_STACK = "stack"

# Names of columns that are not settings.
_TAKEN = {
    "seed": "--seeds sets the number of seeds of each setting",
    "ue": "name one of its settings, as in ue[0].count",
}


@dataclass(frozen=True, kw_only=True)
class Design:
    """Design of a study.

    Attributes
    ----------
    scenario
        Scenario common to all runs.
    space
        The axes.
    seeds
        Number of seeds per setting: each is run with seeds 1 to `seeds`.
    series
        Sampling interval of the time series, as in ``"100ms"``; ``None``: no series.
    sample_seed
        Seed of the random draws.
    stack
        Stack with a transfer beside the flows of the scenario, whose options are varied as in ``stack.cc``;
        ``None``: that of the key ``stack``, or none.
    ue
        UE of that transfer; ``None``: the first.
    overrides
        Changes of the scenario by ``--set``, which are not part of an experiment.
    """

    scenario: Scenario
    space: Space = field(default_factory=lambda: Space(()))
    seeds: int = 1
    series: str | None = None
    sample_seed: int = 1
    stack: str | None = None
    ue: str | None = None
    overrides: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(
        cls, scenario: Scenario, *, grid: Sequence[Axis] = (), random: Sequence[Drawn] = (), **rest: Any
    ) -> Self:
        """Create the design of a sweep, over a grid and over random keys that are drawn together."""
        found = cls(scenario=scenario, space=Space((*grid, *random_axis(random))), **rest)
        if not found.axes and found.seeds == 1:
            raise InputError(
                "nothing is varied: give seeds, a grid, KEY=VALUE,VALUE, or a random draw, KEY=LOW..HIGH:N"
            )
        return found

    def __post_init__(self) -> None:
        if self.seeds < 1:
            raise InputError(f"seeds: {self.seeds} is not above zero")
        if self.series is not None:
            duration_ns("series", self.series)
        self._check_options()
        if self.ue is not None and not self.has_stack:
            raise InputError(f"ue {self.ue}: is that of a stack; name the stack with --stack")
        self._check_size()

    def _check_options(self) -> None:
        """Raise an error if an axis of the command line varies what another axis does, or what it cannot."""
        resolved = self.scenario.resolved if any(axis.option for axis in self.axes) else {}
        varied: dict[tuple[str, ...], tuple[Axis, str]] = {}
        for axis in sorted(self.axes, key=lambda axis: bool(axis.option)):
            for key in axis.keys:
                first, name = varied.setdefault(_place(resolved, steps(key)), (axis, key))
                is_same = first is axis and name == key and axis.keys.count(key) == 1
                if axis.option and first.option and not is_same:
                    raise InputError(f"{name} is varied twice; give all its values at once")
                if axis.option and not first.option:
                    raise InputError(f"{axis.option} {key}: the axis {first.name} sets it")
                if steps(key)[0] == _STACK and not self.has_stack:
                    where = axis.option or f"{self._file}: axis {axis.name}:"
                    raise InputError(f"{where} {key}: name the stack with --stack")
                if key == _STACK and not axis.option:
                    message = "a stack is code, which is named on the command line: --grid stack=A,B"
                    raise InputError(f"{self._file}: axis {axis.name}: stack: {message}")
                if key == _STACK and self.stack is not None:
                    raise InputError(f"{axis.option} stack: --stack {self.stack} is given, too")
                if axis.option and key in _TAKEN:
                    raise InputError(f"{axis.option} {key}: cannot be varied; {_TAKEN[key]}")

    def _check_size(self) -> None:
        """Raise an error if memory does not suffice to list the runs: each setting is a checked scenario."""
        settings = math.prod(len(axis.levels) for axis in self.axes)
        each = _SCENARIO_TEXTS * len(self.scenario.canonical) + _TASK_BYTES * self.seeds
        if settings * each > share():
            raise InputError(
                f"{settings} settings with {self.seeds} seeds each would take about "
                f"{settings * each / 1e9:.1f} GB before the first run, and {share() / 1e9:.1f} GB are free "
                "for it; give fewer values or seeds, or sweep in parts"
            )

    def __repr__(self) -> str:
        varied = ", ".join(f"{axis.name} ({len(axis.levels)} values)" for axis in self.axes)
        return f"<Design of {self.scenario.name!r}: {varied or 'nothing varied'}, {self.seeds} seeds>"

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes; the settings of the last change fastest."""
        return self.space.axes

    @property
    def has_stack(self) -> bool:
        """Whether a stack has a transfer."""
        return self.stack is not None or any(_STACK in axis.keys for axis in self.axes)

    @property
    def _file(self) -> str:
        """File of the axes, for messages."""
        return ""

    def settings(self) -> Iterator[Setting]:
        """Yield all settings; the last axis changes fastest."""
        return self.space.settings()

    def levels(self, setting: Setting) -> Iterator[tuple[Axis, Level]]:
        """Yield the levels of the axes that exist in a setting."""
        for axis, name in zip(self.axes, setting, strict=True):
            if name != ABSENT:
                yield axis, axis.level(name)

    def rows(self, setting: Setting) -> Rows:
        """Return the selection of flows of a setting within its run; empty: all flows."""
        chosen: dict[str, tuple[Any, ...]] = {}
        for _, level in self.levels(setting):
            chosen.update(level.rows)
        return chosen

    def base(self, extra: Mapping[str, Any]) -> Scenario:
        """Return the scenario without a setting, with `extra` changes (``[quick]``), then ``--set``."""
        try:
            scenario = self.scenario.with_(extra) if extra else self.scenario
        except ScenarioError as error:
            raise InputError(f"{self._file}: quick.set: {str(error).removeprefix('--set ')}") from None
        return scenario.override(self.overrides) if self.overrides else scenario

    def scenario_for(self, setting: Setting, extra: Mapping[str, Any] = MappingProxyType({})) -> Scenario:
        """Return the scenario of a setting: `extra` changes, then those by ``--set``, then the setting's."""
        changes = {
            key: (as_toml(value, key), axis, level)
            for axis, level in self.levels(setting)
            for key, value in level.changes.items()
            if steps(key)[0] != _STACK
        }
        # Axes of a file are applied in its order. Of options, a key within a table is set after the table.
        order = sorted(changes.items(), key=lambda each: len(steps(each[0])) if each[1][1].option else 0)
        base = self.base(extra)
        try:
            return base.override((key, text) for key, (text, _, _) in order) if order else base
        except ScenarioError as error:
            message = str(error)
            for key, (text, axis, level) in order:
                rest = message.removeprefix(f"--set {key}={text}: ")
                if axis.option and rest != message:
                    given = axis.columns[key][axis.names.index(level.name)]
                    raise InputError(f"{axis.option} {key}={given}: {rest}") from None
            if not self._file:
                raise
            raise InputError(f"{self._file}: setting {setting}: {message}") from None

    def scenarios(self, extra: Mapping[str, Any]) -> dict[Setting, Scenario]:
        """Return the scenario of every setting; an error in any of them is raised before the first run."""
        return {setting: self.scenario_for(setting, extra) for setting in self.settings()}

    def task(self, setting: Setting) -> Task:
        """Return the run of a setting with seed 1; an error names the option or file that caused it."""
        scenario = self.scenario_for(setting)
        return Task(scenario, 1, self.series, self._outside(scenario, setting))

    def _outside(self, scenario: Scenario, setting: Setting) -> Outside | None:
        if not self.has_stack:
            return None
        given = {
            ".".join(steps(key)[1:]): as_toml(value) if isinstance(value, list | dict) else value
            for _, level in self.levels(setting)
            for key, value in level.changes.items()
            if steps(key)[0] == _STACK
        }
        name, options = with_options(str(given.pop("", self.stack)), given)
        is_upload = bool(options.pop("upload", False))
        return single_transfer(name, options, scenario.resolved, self.ue, is_upload=is_upload)


def _place(resolved: Mapping[str, Any], parts: Sequence[str]) -> tuple[str, ...]:
    """Return the parts of a key with ids and names of entries replaced by indices: one spelling per key."""
    section, *rest = parts
    entries = resolved.get(section)
    if not rest or not isinstance(entries, list):
        return tuple(parts)
    named = (
        str(index) for index, each in enumerate(entries) if rest[0] in {each.get("id"), each.get("name")}
    )
    return section, next(named, rest[0]), *rest[1:]
