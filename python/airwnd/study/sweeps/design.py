"""Settings of a sweep: each combination of the grid's values with each random point."""

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airwnd._native import ScenarioError
from airwnd.results.engine import duration_ns
from airwnd.scenario.scenario import Scenario
from airwnd.study.batch.task import Task
from airwnd.study.stacks import with_options
from airwnd.study.sweeps.axes import Axis, plain
from airwnd.study.transfers import Outside, single_transfer
from airwnd.support.errors import InputError
from airwnd.support.memory import share

#: One value, as text, per key.
Setting = tuple[str, ...]

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


@dataclass(frozen=True)
class Design:
    """Design of a sweep.

    Attributes
    ----------
    scenario
        Scenario common to all runs.
    grid, random
        Varied axes. All random axes have the same length: the values with index i form point i.
    seeds
        Number of seeds per setting: each is run with seeds 1 to `seeds`.
    sample_seed
        Seed of the random draws.
    series
        Sampling interval of the time series, as in ``"100ms"``; ``None``: no series.
    stack
        Stack with a transfer beside the flows of the scenario, whose options are axes, as in ``stack.cc``;
        ``None``: that of the axis ``stack``, or none.
    ue
        UE of that transfer; ``None``: the first.
    """

    scenario: Scenario
    grid: tuple[Axis, ...]
    random: tuple[Axis, ...]
    seeds: int
    sample_seed: int
    series: str | None = None
    stack: str | None = None
    ue: str | None = None

    def __post_init__(self) -> None:
        if not self.axes and self.seeds == 1:
            raise InputError(
                "nothing is varied: give seeds, a grid, KEY=VALUE,VALUE, or a random draw, KEY=LOW..HIGH:N"
            )
        if self.seeds < 1:
            raise InputError(f"seeds: {self.seeds} is not above zero")
        if self.series is not None:
            duration_ns("series", self.series)
        resolved = self.scenario.resolved
        places = [_place(resolved, axis.steps) for axis in self.axes]
        for place, times in Counter(places).items():
            if times > 1:
                key = self.axes[places.index(place)].key
                raise InputError(f"{key} is varied twice; give all its values at once")
        for axis in self.axes:
            if axis.key == _STACK and self.stack is not None:
                raise InputError(f"{axis.option} stack: --stack {self.stack} is given, too")
            if axis.steps[0] == _STACK and not self.has_stack:
                raise InputError(f"{axis.option} {axis.key}: name the stack with --stack")
            if axis.key in _TAKEN:
                raise InputError(f"{axis.option} {axis.key}: cannot be varied; {_TAKEN[axis.key]}")
        if self.ue is not None and not self.has_stack:
            raise InputError(f"ue {self.ue}: is that of a stack; name the stack with --stack")
        points = {len(axis.values): axis for axis in self.random}
        if len(points) > 1:
            found = ", ".join(f"{axis.key} has {number}" for number, axis in points.items())
            raise InputError(f"random keys are drawn together and need equally many points; {found}")

        self._check_size()

    def _check_size(self) -> None:
        """Raise an error if memory does not suffice to list the runs: each setting is a checked scenario."""
        points = len(self.random[0].values) if self.random else 1
        settings = math.prod(len(axis.values) for axis in self.grid) * points
        each = _SCENARIO_TEXTS * len(self.scenario.canonical) + _TASK_BYTES * self.seeds
        if settings * each > share():
            raise InputError(
                f"{settings} settings with {self.seeds} seeds each would take about "
                f"{settings * each / 1e9:.1f} GB before the first run, and {share() / 1e9:.1f} GB are free "
                "for it; give fewer values or seeds, or sweep in parts"
            )

    def __repr__(self) -> str:
        varied = ", ".join(f"{axis.key} ({len(axis.values)} values)" for axis in self.axes)
        return f"<Design of {self.scenario.name!r}: {varied or 'nothing varied'}, {self.seeds} seeds>"

    @property
    def axes(self) -> tuple[Axis, ...]:
        """All axes, those of the grid first."""
        return (*self.grid, *self.random)

    @property
    def has_stack(self) -> bool:
        """Whether a stack has a transfer."""
        return self.stack is not None or any(axis.key == _STACK for axis in self.axes)

    def settings(self) -> Iterator[Setting]:
        """Yield all settings; the random point changes fastest, then the last axis of the grid."""
        points = list(zip(*(axis.values for axis in self.random), strict=True)) or [()]
        for combination in itertools.product(*(axis.values for axis in self.grid)):
            for point in points:
                yield (*combination, *point)

    def task(self, setting: Setting, seed: int) -> Task:
        """Return the run of a setting with a seed; an error names the option that caused it."""
        scenario = self.scenario_for(setting)
        return Task(scenario, seed, self.series, self._outside(scenario, setting))

    def _outside(self, scenario: Scenario, setting: Setting) -> Outside | None:
        if not self.has_stack:
            return None
        given = {
            ".".join(axis.steps[1:]): plain(value)
            for axis, value in zip(self.axes, setting, strict=True)
            if axis.steps[0] == _STACK
        }
        name, options = with_options(str(given.pop("", self.stack)), given)
        is_upload = bool(options.pop("upload", False))
        return single_transfer(name, options, scenario.resolved, self.ue, is_upload=is_upload)

    def scenario_for(self, setting: Setting) -> Scenario:
        """Return the scenario of a setting; an error names the option that caused it."""
        varied = [pair for pair in zip(self.axes, setting, strict=True) if pair[0].steps[0] != _STACK]
        # A key within a table must be set after the table.
        order = sorted(varied, key=lambda pair: len(pair[0].steps))
        try:
            return self.scenario.override((axis.key, value) for axis, value in order)
        except ScenarioError as error:
            message = str(error)
            for axis, value in order:
                if message.startswith(f"--set {axis.key}={value}: "):
                    raise InputError(axis.option + message.removeprefix("--set")) from None
            raise


def _place(resolved: Mapping[str, Any], steps: Sequence[str]) -> tuple[str, ...]:
    """Return the parts of a key with ids and names of entries replaced by indices: one spelling per key."""
    section, *rest = steps
    entries = resolved.get(section)
    if not rest or not isinstance(entries, list):
        return tuple(steps)
    named = (
        str(index) for index, each in enumerate(entries) if rest[0] in {each.get("id"), each.get("name")}
    )
    return section, next(named, rest[0]), *rest[1:]
