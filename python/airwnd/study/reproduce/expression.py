"""Expressions of ``claims.toml``: arithmetic over measures at selected settings.

``delay_ms(method="arwa") / delay_ms(method="autotuning")`` does not name the axis ``users``, so it is
evaluated at each level of ``users``. ``users=previous`` refers to the level before the current one.
"""

import ast
import operator
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from airwnd.study import bounds
from airwnd.study.bounds import Bounds
from airwnd.study.reader import LARGEST
from airwnd.support.errors import InputError

LONGEST = 2000
"""Maximum number of characters of an expression."""

DEEPEST = 100
"""Maximum nesting depth of operations."""

Values = NDArray[np.float64]

Lookup = Callable[[Mapping[str, str], str], Values]
"""Returns the values of a measure, one for each seed, at a level of every axis."""

Place = dict[str, str]
"""Point of evaluation: a level of each axis that the expression does not name."""


def _divide(dividend: Any, divisor: Any) -> Any:
    """Divide; NaN for a division by zero."""
    return np.where(divisor == 0, np.nan, np.divide(dividend, divisor))


_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: _divide,
}
_BINARY_BOUNDS: dict[type[ast.operator], Callable[[Bounds, Bounds], Bounds]] = {
    ast.Add: bounds.plus,
    ast.Sub: bounds.minus,
    ast.Mult: bounds.times,
    ast.Div: bounds.over,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": np.abs,
    "min": lambda *values: reduce(np.minimum, values),
    "max": lambda *values: reduce(np.maximum, values),
}
_FUNCTION_BOUNDS: dict[str, Callable[..., Bounds]] = {
    "abs": bounds.absolute,
    "min": bounds.minimum,
    "max": bounds.greatest,
}


FUNCTIONS = tuple(_FUNCTIONS)
"""Names of functions, which measures cannot have."""

_TEXTS = re.compile(r"'[^']*'|\"[^\"]*\"")
_FOREIGN = re.compile(r"[^A-Za-z0-9_+\-*/().,=\s]")


@dataclass(frozen=True, slots=True)
class Expression:
    """A checked expression over axes with the given levels."""

    text: str
    tree: ast.expr
    levels: Mapping[str, Sequence[str]]

    @classmethod
    def parse(cls, text: str, levels: Mapping[str, Sequence[str]], measures: Sequence[str]) -> "Expression":
        """Parse and check an expression.

        Raises
        ------
        InputError
            If the expression has no measure, or contains anything except numbers, ``+ - * /``, ``abs``,
            ``min``, ``max``, measures and levels of axes.
        """
        tree = _parse(text.strip())
        _check(tree, levels, measures)
        if not any(map(_is_measure, ast.walk(tree))):
            raise InputError(f"`{text}`: no measure; there are {', '.join(measures)}")
        return cls(text, tree, levels)

    def places(self) -> Iterator[Place]:
        """Yield all combinations of levels of the axes that the expression does not name."""
        calls = [node for node in ast.walk(self.tree) if _is_measure(node)]
        fixed = [
            {str(k.arg): _level(k) for k in call.keywords} for call in calls if isinstance(call, ast.Call)
        ]
        open_axes = [axis for axis in self.levels if any(each.get(axis) is None for each in fixed)]
        relative = {axis for each in fixed for axis, level in each.items() if level is None}
        yield from self._combine(open_axes, relative)

    def _combine(self, axes: list[str], relative: set[str]) -> Iterator[Place]:
        if not axes:
            yield {}
            return
        levels = self.levels[axes[0]]
        for level in levels[1:] if axes[0] in relative else levels:
            for rest in self._combine(axes[1:], relative):
                yield {axes[0]: level, **rest}

    def points(self, place: Place) -> list[tuple[Place, set[str]]]:
        """Return the lookups at a point: for each measure, the levels of all axes, and the axes it names."""
        calls = [node for node in ast.walk(self.tree) if isinstance(node, ast.Call) and _is_measure(node)]
        return [
            (self._levels(call, place), {str(k.arg) for k in call.keywords if _level(k) is not None})
            for call in calls
        ]

    def bounds(self, measures: Mapping[str, Bounds]) -> Bounds:
        """Return the range of possible values, from those of the measures."""
        return self._bounds(self.tree, measures)

    def _bounds(self, node: ast.expr, measures: Mapping[str, Bounds]) -> Bounds:
        match node:
            case ast.Constant(value=int() | float() as number):
                return float(number), float(number)
            case ast.UnaryOp(operand=operand):
                return bounds.negative(self._bounds(operand, measures))
            case ast.BinOp(left=left, op=op, right=right):
                return _BINARY_BOUNDS[type(op)](self._bounds(left, measures), self._bounds(right, measures))
            case ast.Call(func=ast.Name(id=name), args=args) if name in _FUNCTIONS:
                return _FUNCTION_BOUNDS[name](*(self._bounds(arg, measures) for arg in args))
            case ast.Call(func=ast.Name(id=name)):
                return measures[name]
        raise AssertionError("parse accepts nothing else")

    def values(self, place: Place, lookup: Lookup) -> Values:
        """Evaluate at a point, seed by seed; NaN if a measure is undefined or the result is not finite.

        If measures have values for different numbers of seeds, those of the fewest count.
        """
        count = min(lookup(levels, measure).size for levels, measure in self._lookups(place))
        with np.errstate(all="ignore"):
            found = np.asarray(
                self._value(self.tree, place, lambda levels, measure: lookup(levels, measure)[:count]),
                dtype=np.float64,
            )
        return np.where(np.isfinite(found), found, np.nan)

    def sensitivity(self, place: Place, lookup: Lookup, part: float) -> float:
        """Return the largest change of the value when the mean of one of the measures changes by `part`."""
        calls = self._lookups(place)
        means = [np.array([np.mean(lookup(levels, measure))]) for levels, measure in calls]

        def value(factors: Sequence[float]) -> float:
            pairs = zip(calls, means, factors, strict=True)
            known = {(tuple(levels.items()), name): mean * factor for (levels, name), mean, factor in pairs}
            return float(self.values(place, lambda levels, name: known[tuple(levels.items()), name])[0])

        usual = [1.0] * len(calls)
        changed = [[*usual[:index], 1.0 + part, *usual[index + 1 :]] for index in range(len(calls))]
        return max(abs(value(factors) - value(usual)) for factors in changed)

    def _lookups(self, place: Place) -> list[tuple[Place, str]]:
        """Return the different lookups at a point: levels of all axes, and a measure."""
        found: dict[tuple[tuple[tuple[str, str], ...], str], tuple[Place, str]] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and _is_measure(node):
                levels = self._levels(node, place)
                found.setdefault((tuple(levels.items()), node.func.id), (levels, node.func.id))
        return list(found.values())

    def _value(self, node: ast.expr, place: Place, lookup: Lookup) -> Any:
        match node:
            case ast.Constant(value=int() | float() as number):
                return float(number)
            case ast.UnaryOp(operand=operand):
                return -self._value(operand, place, lookup)
            case ast.BinOp(left=left, op=op, right=right):
                return _BINARY[type(op)](self._value(left, place, lookup), self._value(right, place, lookup))
            case ast.Call(func=ast.Name(id=name), args=args) if name in _FUNCTIONS:
                return _FUNCTIONS[name](*(self._value(arg, place, lookup) for arg in args))
            case ast.Call(func=ast.Name(id=name)) as call:
                return lookup(self._levels(call, place), name)
        raise AssertionError("parse accepts nothing else")

    def _levels(self, call: ast.Call, place: Place) -> Place:
        """Return the level of each axis for the lookup of a measure."""
        at = dict(place)
        for keyword in call.keywords:
            axis = str(keyword.arg)
            levels = list(self.levels[axis])
            at[axis] = _level(keyword) or levels[levels.index(place[axis]) - 1]
        return at


def _parse(text: str) -> ast.expr:
    """Parse an expression of limited size."""
    if len(text) > LONGEST:
        raise InputError(f"expected at most {LONGEST} characters, found {len(text)}")
    if foreign := _FOREIGN.search(_TEXTS.sub("", text)):
        raise InputError(f"`{text}`: {foreign[0]!r} is not allowed in an expression")
    too_deep = f"operations are nested more than {DEEPEST} levels deep"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", SyntaxWarning)
            tree = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise InputError(f"`{text}`: {error.msg}") from None
    except (MemoryError, RecursionError):  # limits of Python's parser
        raise InputError(too_deep) from None
    level: list[ast.AST] = [tree]
    for _ in range(DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    if level:
        raise InputError(too_deep)
    return tree


def _is_measure(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id not in _FUNCTIONS


def _level(keyword: ast.keyword) -> str | None:
    """Return the level named by a keyword; ``None``: ``previous``."""
    return str(keyword.value.value) if isinstance(keyword.value, ast.Constant) else None


def _check(node: ast.expr, levels: Mapping[str, Sequence[str]], measures: Sequence[str]) -> None:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            if abs(number) > LARGEST:
                raise InputError(f"a number is greater than {LARGEST:g}")
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            _check(operand, levels, measures)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            _check(left, levels, measures)
            _check(right, levels, measures)
        case ast.Call(func=ast.Name(id=name), args=[_, *_] as args, keywords=[]) if name in _FUNCTIONS:
            if name == "abs" and len(args) > 1:
                raise InputError(f"`{ast.unparse(node)}`: `abs` takes one value")
            for arg in args:
                _check(arg, levels, measures)
        case ast.Call(func=ast.Name(id=name), args=[], keywords=keywords) if name in measures:
            _check_levels(keywords, levels)
        case ast.Call(func=ast.Name(id=name)):
            raise InputError(
                f"`{ast.unparse(node)}`: `{name}` takes levels as axis=level if it is one of "
                f"the measures {', '.join(measures)}; functions are {', '.join(_FUNCTIONS)}"
            )
        case _:
            raise InputError(f"`{ast.unparse(node)}` is not allowed in an expression")


def _check_levels(keywords: Sequence[ast.keyword], levels: Mapping[str, Sequence[str]]) -> None:
    if len({keyword.arg for keyword in keywords}) < len(keywords):
        raise InputError(f"`{', '.join(map(ast.unparse, keywords))}` names an axis twice")
    for keyword in keywords:
        _check_level(keyword, levels)


def _check_level(keyword: ast.keyword, levels: Mapping[str, Sequence[str]]) -> None:
    axis = keyword.arg or "**"
    if axis not in levels:
        raise InputError(f"`{axis}` is not one of the axes {', '.join(levels)}")
    match keyword.value:
        case ast.Name(id="previous"):
            return
        case ast.Constant(value=level) if str(level) in levels[axis]:
            return
    raise InputError(
        f"`{ast.unparse(keyword)}`: the levels of `{axis}` are {', '.join(levels[axis])}, or previous"
    )
