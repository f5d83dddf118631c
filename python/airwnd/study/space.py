"""The space of a study's axes: where each axis exists, and all settings.

An axis with ``when = { method = ["drwa"] }`` exists where the axis ``method`` exists and has the level
``drwa``. A setting has `ABSENT` in place of the level of an axis that does not exist there, so that one run
represents all of its levels.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from airwnd.study.axis import Axis
from airwnd.study.reader import Mistake, placed

Setting = tuple[str, ...]
"""The name of one level per axis, in the order of the axes; `ABSENT`: the axis does not exist there."""

ABSENT = ""
"""Placeholder for the level of an axis that does not exist in a setting."""


MAX_SETTINGS = 100_000
MAX_SETUPS = 1000
"""Maximum number of combinations of open axes, in each of which every claim is judged."""


@dataclass(frozen=True)
class Space:
    """The axes, in the order of the file."""

    axes: tuple[Axis, ...]

    @classmethod
    def of(cls, axes: Iterable[Axis], where: str) -> Self:
        """Combine axes to a space; `where` is the file named in messages.

        Raises
        ------
        InputError
            If ``when`` names an axis or level that does not exist, or if its dependencies are circular.
        """
        space = cls(tuple(axes))
        with placed(where, "axis"):
            for what, combined, maximum in (
                ("settings", space.axes, MAX_SETTINGS),
                ("set-ups", space.open, MAX_SETUPS),
            ):
                count = math.prod(len(axis.levels) for axis in combined)
                if count > maximum:
                    raise Mistake(
                        "", f"all levels combined are {count} {what}; at most {maximum} are possible"
                    )
        for index, axis in enumerate(space.axes):
            with placed(where, f"axis[{index}]"):
                space._check(axis)
        with placed(where):
            space._sorted  # noqa: B018 (the property raises an error for circular dependencies)
        return space

    @cached_property
    def by_name(self) -> Mapping[str, Axis]:
        """The axes by name."""
        return {axis.name: axis for axis in self.axes}

    @property
    def open(self) -> tuple[Axis, ...]:
        """The axes that the paper leaves open."""
        return tuple(axis for axis in self.axes if axis.open is not None)

    @property
    def shown(self) -> dict[str, str]:
        """Levels of the open axes that plots and tables show."""
        return {axis.name: axis.shown for axis in self.open}

    @property
    def shown_setup(self) -> dict[str, str]:
        """The set-up of plots and tables, without the axes that do not exist there."""
        return next(setup for setup in self.setups(self.shown) if setup.items() <= self.shown.items())

    @property
    def levels(self) -> Mapping[str, tuple[str, ...]]:
        """The names of the levels by axis."""
        return {axis.name: axis.names for axis in self.axes}

    def existing(self, levels: Mapping[str, str]) -> dict[str, str]:
        """Drop the levels of axes that do not exist at these levels.

        Parameters
        ----------
        levels
            A level of each axis that exists; a missing one raises ``KeyError``.
        """
        found: dict[str, str] = {}
        for axis in self._sorted:
            if all(found.get(other) in allowed for other, allowed in axis.when.items()):
                found[axis.name] = levels[axis.name]
        return {axis.name: found[axis.name] for axis in self.axes if axis.name in found}

    def setting(self, levels: Mapping[str, str]) -> Setting:
        """Arrange levels in the order of the axes, with `ABSENT` where an axis does not exist."""
        found = self.existing(levels)
        return tuple(found.get(axis.name, ABSENT) for axis in self.axes)

    def settings(self) -> Iterator[Setting]:
        """Yield all settings; the last axis changes fastest."""
        combined = itertools.product(*(axis.names for axis in self.axes))
        if not any(axis.when for axis in self.axes):
            yield from combined
            return
        names = [axis.name for axis in self.axes]
        yield from dict.fromkeys(self.setting(dict(zip(names, levels, strict=True))) for levels in combined)

    def setups(self, among: Iterable[str]) -> list[dict[str, str]]:
        """Return all combinations of levels of these open axes, each without axes that do not exist there.

        Dependencies on axes that are not among them are taken as met.
        """
        names = set(among)
        chosen = [axis for axis in self._sorted if axis.name in names]
        found: list[dict[str, str]] = [{}]
        for axis in chosen:
            found = [
                {**setup, axis.name: level} if exists else setup
                for setup in found
                for exists in [all(setup.get(on) in axis.when[on] for on in axis.when if on in names)]
                for level in (axis.names if exists else (ABSENT,))
            ]
        ordered = [
            {axis.name: setup[axis.name] for axis in self.axes if axis.name in setup} for setup in found
        ]
        places = {axis.name: axis.names for axis in self.axes}
        return sorted(
            ordered,
            key=lambda setup: [
                places[name].index(setup[name]) if name in setup else -1 for name in places if name in names
            ],
        )

    def order(self, axes: Iterable[Axis]) -> Callable[[Setting], tuple[int, ...]]:
        """Return a sort key of settings by the levels of these axes; the last axis changes fastest."""
        ranks = [
            (self.axes.index(axis), {name: rank for rank, name in enumerate((ABSENT, *axis.names))})
            for axis in axes
        ]
        return lambda setting: tuple(rank[setting[index]] for index, rank in ranks)

    def _check(self, axis: Axis) -> None:
        for other, allowed in axis.when.items():
            if other not in self.by_name or other == axis.name:
                others = ", ".join(name for name in self.by_name if name != axis.name)
                raise Mistake("when", f"`{other}` is not one of the other axes {others or '(none)'}")
            for level in allowed:
                names = self.by_name[other].names
                if level not in names:
                    raise Mistake("when", f"`{level}` is not a level of `{other}`: {', '.join(names)}")

    @cached_property
    def _sorted(self) -> tuple[Axis, ...]:
        """The axes in the order of their dependencies."""
        found: list[Axis] = []
        left = list(self.axes)
        while left:
            known = {axis.name for axis in found}
            ready = next((axis for axis in left if known.issuperset(axis.when)), None)
            if ready is None:
                names = ", ".join(axis.name for axis in left)
                raise Mistake("axis", f"`when` is circular: {names}")
            found.append(ready)
            left.remove(ready)
        return tuple(found)
