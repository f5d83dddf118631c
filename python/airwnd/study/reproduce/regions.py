"""Short descriptions of sets of set-ups: ``Radius 500 m, DRWA's lambda 1.5 or 2; Radius 650 m``.

A set of set-ups is covered by boxes: all combinations of some levels of each axis. If a box has all levels of
an axis, the axis is left out of its description.
"""

import itertools
import re
from collections.abc import Collection, Mapping, Sequence

from airwnd.study.axis import Axis
from airwnd.text.quantities import number_and_unit

SetUp = Mapping[str, str]
"""A level of each open axis that exists in the set-up."""

Box = dict[str, tuple[str, ...]]
"""Some levels of each axis."""

_FEW = 4
"""Maximum number of axes for which all orders are tried: 24 orders."""

_LABEL = re.compile(r"(.*\S)\s*\(([^()]+)\)")


def describe(chosen: Collection[SetUp], every: Collection[SetUp], axes: Sequence[Axis]) -> str:
    """Describe the chosen set-ups, or the others if that is shorter.

    Parameters
    ----------
    chosen
        Subset of `every`.
    every
        All existing set-ups; other combinations are ignored.
    axes
        Axes of the set-ups.
    """
    rest = [setup for setup in every if setup not in chosen]
    if not rest:
        return "all"
    if not chosen:
        return "none"
    included, excluded = boxes(chosen, every, axes), boxes(rest, every, axes)
    if _terms(included, axes) <= _terms(excluded, axes) + 1:
        return "; ".join(_box_text(box, axes) for box in included)
    return "all but " + "; ".join(_box_text(box, axes) for box in excluded)


def boxes(chosen: Collection[SetUp], every: Collection[SetUp], axes: Sequence[Axis]) -> list[Box]:
    """Cover exactly the chosen set-ups by large boxes, which may overlap."""
    found: list[Box] = []
    left = [setup for setup in every if setup in chosen]
    rest = [setup for setup in every if setup not in chosen]
    while left:
        grown = [_grown(left[0], rest, order) for order in _orders(axes)]
        best = max(grown, key=lambda box: (sum(_has(box, setup) for setup in left), -_terms([box], axes)))
        found.append({axis.name: tuple(n for n in axis.names if n in best[axis.name]) for axis in axes})
        left = [setup for setup in left if not _has(best, setup)]
    return found


def setup_text(setup: SetUp, axes: Sequence[Axis]) -> str:
    """Describe one set-up."""
    return ", ".join(levels_text(axis, [setup[axis.name]]) for axis in axes if axis.name in setup)


def levels_text(axis: Axis, names: Collection[str]) -> str:
    """Return ``Radius 500 m or 650 m``: label and levels of an axis, with the unit if the label has one."""
    match = _LABEL.fullmatch(axis.label)
    label, unit = (match[1], match[2]) if match else (axis.label, "")
    levels = " or ".join(_level_text(axis.level(name).label, unit) for name in names)
    return f"{label} {levels}"


def _level_text(label: str, unit: str) -> str:
    parts = number_and_unit(label)
    return f"{parts[0]} {unit}" if unit and parts and parts[1] in ("", unit) else label


def _orders(axes: Sequence[Axis]) -> list[Sequence[Axis]]:
    """Return the orders of axes for growing a box: all; for many axes, rotations in both directions."""
    if len(axes) <= _FEW:
        return list(itertools.permutations(axes))
    turned = [[*axes[index:], *axes[:index]] for index in range(len(axes))]
    return [*turned, *([*reversed(order)] for order in turned)]


def _grown(start: SetUp, rest: Sequence[SetUp], order: Sequence[Axis]) -> Box:
    """Grow a box around a set-up, axis by axis, as far as possible without including any of the rest."""
    box: Box = {axis.name: (start[axis.name],) if axis.name in start else axis.names for axis in order}
    for axis in order:
        for name in axis.names:
            larger = {**box, axis.name: (*box[axis.name], name)}
            if name not in box[axis.name] and not any(_has(larger, setup) for setup in rest):
                box = larger
    return box


def _has(box: Box, setup: SetUp) -> bool:
    """Return whether a set-up lies in a box; axes that do not exist in the set-up are ignored."""
    return all(level in box[axis] for axis, level in setup.items())


def _terms(found: Sequence[Box], axes: Sequence[Axis]) -> int:
    """Count the levels in a description."""
    counts = [(len(box[axis.name]), len(axis.names)) for box in found for axis in axes]
    return sum(count for count, all_of_them in counts if count < all_of_them)


def _box_text(box: Box, axes: Sequence[Axis]) -> str:
    matter = [axis for axis in axes if len(box[axis.name]) < len(axis.names)]
    return ", ".join(levels_text(axis, box[axis.name]) for axis in matter)
