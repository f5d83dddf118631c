"""Which set-ups, in few words: ``Radius 500 m, DRWA's lambda 1.5 or 2; Radius 650 m``.

A set of set-ups is covered by boxes: some levels of each axis, all combined. An axis of which a box has all
levels does not matter there and is left out.
"""

import itertools
import re
from collections.abc import Collection, Mapping, Sequence

from airwnd.reproduce.axis import Axis

SetUp = Mapping[str, str]
"""A level of each open axis that exists there."""

Box = dict[str, tuple[str, ...]]
"""Some levels of each axis."""

_FEW = 4
"""Axes of which all orders are tried: 24."""

_LABEL = re.compile(r"(.*\S)\s*\(([^()]+)\)")
_QUANTITY = re.compile(r"([-+]?\d+(?:\.\d+)?)\s*(\D*)")


def describe(chosen: Collection[SetUp], every: Collection[SetUp], axes: Sequence[Axis]) -> str:
    """Say which set-ups are chosen, or which are not if that is shorter.

    Parameters
    ----------
    chosen
        Some of `every`.
    every
        All set-ups there are; of combinations that there are not nothing is said.
    axes
        The axes of the set-ups.
    """
    rest = [setup for setup in every if setup not in chosen]
    if not rest:
        return "all"
    if not chosen:
        return "none"
    of, but = boxes(chosen, every, axes), boxes(rest, every, axes)
    if _terms(of, axes) <= _terms(but, axes) + 1:
        return "; ".join(_box_text(box, axes) for box in of)
    return "all but " + "; ".join(_box_text(box, axes) for box in but)


def boxes(chosen: Collection[SetUp], every: Collection[SetUp], axes: Sequence[Axis]) -> list[Box]:
    """Cover the chosen set-ups, and no other, by large boxes, which may overlap."""
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
    """Write one set-up."""
    return ", ".join(levels_text(axis, [setup[axis.name]]) for axis in axes if axis.name in setup)


def levels_text(axis: Axis, names: Collection[str]) -> str:
    """Write ``Radius 500 m or 650 m``: the axis' label and levels, with the unit where the label has one."""
    match = _LABEL.fullmatch(axis.label)
    label, unit = (match[1], match[2]) if match else (axis.label, "")
    levels = " or ".join(_level_text(axis.level(name).label, unit) for name in names)
    return f"{label} {levels}"


def _level_text(label: str, unit: str) -> str:
    match = _QUANTITY.fullmatch(label)
    return f"{match[1]} {unit}" if unit and match and match[2] in ("", unit) else label


def _orders(axes: Sequence[Axis]) -> list[Sequence[Axis]]:
    """Return the orders in which a box is tried to grow: all, or of many axes those that begin with each."""
    if len(axes) <= _FEW:
        return list(itertools.permutations(axes))
    turned = [[*axes[index:], *axes[:index]] for index in range(len(axes))]
    return [*turned, *([*reversed(order)] for order in turned)]


def _grown(start: SetUp, rest: Sequence[SetUp], order: Sequence[Axis]) -> Box:
    """Make the box around a set-up as large as it gets without any of the rest, axis by axis."""
    box: Box = {axis.name: (start[axis.name],) if axis.name in start else axis.names for axis in order}
    for axis in order:
        for name in axis.names:
            larger = {**box, axis.name: (*box[axis.name], name)}
            if name not in box[axis.name] and not any(_has(larger, setup) for setup in rest):
                box = larger
    return box


def _has(box: Box, setup: SetUp) -> bool:
    """Tell whether a set-up lies in a box; an axis that does not exist there says nothing against it."""
    return all(level in box[axis] for axis, level in setup.items())


def _terms(found: Sequence[Box], axes: Sequence[Axis]) -> int:
    """Count the levels to be written."""
    counts = [(len(box[axis.name]), len(axis.names)) for box in found for axis in axes]
    return sum(count for count, all_of_them in counts if count < all_of_them)


def _box_text(box: Box, axes: Sequence[Axis]) -> str:
    matter = [axis for axis in axes if len(box[axis.name]) < len(axis.names)]
    return ", ".join(levels_text(axis, box[axis.name]) for axis in matter)
