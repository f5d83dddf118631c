"""Random values between two bounds, in steps of the last digit of the bounds."""

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from random import Random

from airwnd.support.errors import InputError

_STEP = re.compile(r"\[([^]]*)]|([^.\[]+)")

_FORM = "KEY=LOW..HIGH:N or KEY=log:LOW..HIGH:N, as in rlc.queue.buffer=10KiB..1MiB:20"
_MAX_POINTS = 1_000_000
_NUMBER = r"([-+]?\d+(?:\.\d+)?)\s*([^\d.:\s]*)"
_DRAW = re.compile(rf"(log:)?\s*{_NUMBER}\s*\.\.\s*{_NUMBER}\s*:\s*(\d+)")

# Compatible units, by dimension; the engine's tests of the same units are in crates/units.
_UNITS = (
    {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9},
    {"B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30},
    {"bps": 1, "kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9},
    {"bit/s": 1, "kbit/s": 10**3, "Mbit/s": 10**6, "Gbit/s": 10**9},
    {"Hz": 1, "kHz": 10**3, "MHz": 10**6, "GHz": 10**9},
    {"m": 1, "km": 10**3},
)


@dataclass(frozen=True, slots=True)
class Drawn:
    """Random values of a key.

    Attributes
    ----------
    key
        Dotted key, as in ``flow[0].rwnd``.
    spec
        ``LOW..HIGH:N`` or ``log:LOW..HIGH:N``.
    values
        The values drawn, as texts with their unit.
    """

    key: str
    spec: str
    values: tuple[str, ...]


def steps(key: str) -> tuple[str, ...]:
    """Return the parts of a key, as of ``flow[0].rwnd`` or ``flow.0.rwnd``; brackets may contain dots."""
    return tuple(within or step for within, step in _STEP.findall(key))


def draw(text: str, sample_seed: int) -> Drawn:
    """Parse ``KEY=LOW..HIGH:N`` and draw N values, uniformly or uniformly in the logarithm.

    Each key has its own random stream: the draws of a key do not depend on other keys, and a draw of more
    points starts with the same points.
    """
    key, equals, rest = text.partition("=")
    key = key.strip()
    match = _DRAW.fullmatch(rest.strip())
    if not (equals and key and match):
        raise InputError(f"random {text}: expected {_FORM}")
    log, low_number, low_unit, high_number, high_unit, points = match.groups()
    unit, low_factor, high_factor = _common(low_unit, high_unit, text)
    low, high = Decimal(low_number) * low_factor, Decimal(high_number) * high_factor
    if low >= high:
        raise InputError(f"random {text}: the lower bound must be below the upper one")
    if log and low <= 0:
        raise InputError(f"random {text}: the bounds of a logarithmic draw must be above zero")
    if int(points) > _MAX_POINTS:
        raise InputError(f"random {text}: at most {_MAX_POINTS} points are drawn")
    if int(points) == 0:
        raise InputError(f"random {text}: no points; expected {_FORM}")
    digits = max(_decimals(low_number), _decimals(high_number))
    step = Decimal(1).scaleb(-digits)
    first, last = int(low / step), int(high / step)
    # Equivalent spellings of a key, such as `ue[0].count` and `ue.0.count`, have the same stream.
    stream = Random(f"{sample_seed} {'.'.join(steps(key))}")  # noqa: S311
    pick = _logarithmic if log else _uniform
    values = [f"{step * pick(stream.random(), first, last):f}{unit}" for _ in range(int(points))]
    return Drawn(key, rest.strip(), tuple(values))


def _uniform(chance: float, first: int, last: int) -> int:
    return min(first + math.floor(chance * (last - first + 1)), last)


def _logarithmic(chance: float, first: int, last: int) -> int:
    return min(max(round(first * math.exp(chance * math.log(last / first))), first), last)


def _common(low: str, high: str, text: str) -> tuple[str, int, int]:
    """Return the smaller of two units, and the factor from each unit to it."""
    if low == high:
        return low, 1, 1
    for units in _UNITS:
        if low in units and high in units:
            small = min(low, high, key=units.__getitem__)
            if units[max(low, high, key=units.__getitem__)] % units[small]:
                break
            return small, units[low] // units[small], units[high] // units[small]
    raise InputError(f"random {text}: the bounds need the same unit, found `{low}` and `{high}`")


def _decimals(number: str) -> int:
    return len(number.partition(".")[2])
