"""Axes of a sweep: a key of the scenario and its values, as texts in the syntax of ``--set``."""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass

from airwnd.scenario.scenario import as_toml
from airwnd.support.arguments import SEVERAL
from airwnd.support.errors import InputError

_STEP = re.compile(r"\[([^]]*)]|([^.\[]+)")
_OPENING, _CLOSING, _QUOTES = "[{", "]}", "\"'"


@dataclass(frozen=True, slots=True)
class Axis:
    """A varied key and its values.

    Attributes
    ----------
    option
        Option that defines the axis, for messages: ``grid`` or ``random``.
    key
        Dotted key, as in ``flow[0].rwnd``.
    values
        Values in TOML or as bare text.
    drawn_from
        Specification of random values; ``None``: listed values.
    """

    option: str
    key: str
    values: tuple[str, ...]
    drawn_from: str | None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """Parts of the key; ``flow[0].rwnd`` and ``flow.0.rwnd`` are equal. Brackets may contain dots."""
        return tuple(within or step for within, step in _STEP.findall(self.key))


def grid(text: str) -> Axis:
    """Parse ``KEY=VALUE,VALUE``; commas within brackets and quotes do not separate values."""
    key, equals, rest = text.partition("=")
    if not equals or not key.strip():
        raise InputError(f"grid {text}: expected KEY=VALUE,VALUE as in rlc.queue.buffer=10KiB,50KiB")
    return _checked(Axis("grid", key.strip(), tuple(_split(rest, text))), text)


def grid_axis(key: str, values: Sequence[object]) -> Axis:
    """Create an axis from Python values."""
    SEVERAL.check(f"grid {key}", values)
    return _checked(Axis("grid", key.strip(), tuple(as_toml(value, f"grid {key}") for value in values)), key)


def plain(text: str) -> object:
    """Parse a text as a number, a truth value or a string; a table or list is returned as its text."""
    try:
        read = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    value = read["value"]
    return value if len(read) == 1 and isinstance(value, bool | int | float | str) else text


def _checked(axis: Axis, text: str) -> Axis:
    if not axis.values:
        raise InputError(f"grid {text}: no values")
    seen: set[tuple[type, object]] = set()
    for value in axis.values:
        meant = plain(value)
        if (type(meant), meant) in seen:
            raise InputError(f"grid {text}: the value {value} is listed twice")
        seen.add((type(meant), meant))
    return axis


def _split(values: str, text: str) -> list[str]:
    parts, depth, quote = [""], 0, ""
    for character in values:
        if quote:
            quote = "" if character == quote else quote
        elif character in _QUOTES:
            quote = character
        elif character in _OPENING:
            depth += 1
        elif character in _CLOSING:
            depth -= 1
        if character == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += character
    if depth or quote:
        raise InputError(f"grid {text}: a bracket or quote is not closed")
    found = [part.strip() for part in parts]
    if found == [""]:
        raise InputError(f"grid {text}: no values; expected KEY=VALUE,VALUE")
    if "" in found:
        raise InputError(f"grid {text}: an empty value between commas")
    return found
