"""Argument checks of public functions: a wrong argument raises a one-line ``InputError`` that names it."""

import functools
import inspect
import math
import os
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ParamSpec, TypeVar

from airwnd.support.errors import InputError

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Kind:
    """Allowed values of an argument.

    Attributes
    ----------
    allowed
        Description of the allowed values, for messages.
    fits
        Returns whether a value is allowed.
    """

    allowed: str
    fits: Callable[[Any], bool]

    def __or__(self, other: "Kind") -> "Kind":
        return Kind(f"{self.allowed} or {other.allowed}", lambda value: self.fits(value) or other.fits(value))

    def check(self, name: str, value: object) -> None:
        """Raise an ``InputError`` if the value of the argument `name` is not allowed."""
        if not self.fits(value):
            raise InputError(f"{name}: expected {self.allowed}, found {_shown(value)}")


def whole(minimum: int | None = None, maximum: int | None = None, shown: str = "a whole number") -> Kind:
    """Allow whole numbers in a range."""

    def fits(value: object) -> bool:
        return (
            type(value) is not bool
            and isinstance(value, Integral)
            and (minimum is None or minimum <= int(value))
            and (maximum is None or int(value) <= maximum)
        )

    return Kind(shown, fits)


def instances(allowed: str, *types: type) -> Kind:
    """Allow instances of the given types."""
    return Kind(allowed, lambda value: isinstance(value, types))


def tuples_of(kind: Kind, length: int, allowed: str) -> Kind:
    """Allow sequences of the given length whose items are of one kind."""

    def fits(value: object) -> bool:
        return (
            isinstance(value, Sequence)
            and not isinstance(value, str)
            and len(value) == length
            and all(map(kind.fits, value))
        )

    return Kind(allowed, fits)


NONE = Kind("None", lambda value: value is None)
WHOLE = whole()
SEED = whole(0, 2**63 - 1, "a whole number from 0 to 2**63 - 1")
POSITIVE = whole(1, None, "a whole number above zero")
NUMBER = Kind(
    "a finite number",
    lambda value: type(value) is not bool and isinstance(value, Real) and math.isfinite(value),
)
REAL = Kind("a number", lambda value: type(value) is not bool and isinstance(value, Real))
TEXT = instances("a text", str)
DURATION = instances('a text with a unit, as in "10ms",', str)
MEMORY = whole(1, None, "a number of bytes") | instances('a text as in "2GB"', str)
FLAG = instances("True or False", bool)
PATH = instances("a path", str, os.PathLike)
MAPPING = instances("a dictionary", Mapping)
CALLABLE = Kind("a function", callable)
SEVERAL = Kind(
    "a list", lambda value: isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)
)
PAIR = tuples_of(TEXT, 2, "a pair of texts")
SIZE = tuples_of(NUMBER | NONE, 2, "a pair of width and height in inches")
SCALE = Kind("'linear' or 'log'", lambda value: value in ("linear", "log"))
# Checked without importing matplotlib, which takes longer than a short run.
AXES = Kind("matplotlib axes", lambda value: hasattr(value, "set_xlabel"))


def checked(**kinds: Kind) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Check the named arguments of a function before each call; omitted arguments are not checked.

    Examples
    --------
    >>> @checked(seed=SEED)
    ... def run(seed=1):
    ...     return seed
    >>> run(seed=-1)
    Traceback (most recent call last):
    airwnd.support.errors.InputError: seed: expected a whole number from 0 to 2**63 - 1, found -1
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            try:
                given = signature.bind(*args, **kwargs).arguments
            except TypeError:
                # The call raises Python's own error, which names the function and the argument.
                return function(*args, **kwargs)
            for name, kind in kinds.items():
                if name in given:
                    kind.check(name, given[name])
            return function(*args, **kwargs)

        return call

    return decorate


def _shown(value: object) -> str:
    if value is None or isinstance(value, str | bool | int | float):
        return reprlib.repr(value)
    return f"an object of type {type(value).__name__}"
