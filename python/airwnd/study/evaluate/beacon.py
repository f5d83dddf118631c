"""A second set of scenarios, drawn from the value of a public beacon, to which no candidate can be tuned.

The value, such as a round of drand or a pulse of NIST's beacon, is published after a date at which the
entries are closed. It determines the seeds of all runs, and the rates and delays of the scenarios whose
checks compare the candidate with references. Queues keep their size in bandwidth-delay products.
"""

import copy
import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from airwnd.study.evaluate.suite import CANDIDATE, ScenarioEntry, Suite
from airwnd.support.errors import InputError
from airwnd.text.quantities import number_and_unit

_VALUE = re.compile(r"[0-9a-f]{32,256}")
_WHOLE = {
    "bps": {"bps": 1, "kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9},
    "B": {"B": 1, "kB": 10**3, "MB": 10**6, "KiB": 2**10, "MiB": 2**20},
}
# Octaves below and above the value of the suite.
_OCTAVES = 1.0
_RATES = {"rate", "rate_up"}
_DELAYS = {"delay", "delay_up", "server_delay"}
_QUEUES = {"queue", "queue_up", "queue_bytes", "buffer"}
_MIN_PACKETS = 2


@dataclass(frozen=True, slots=True)
class _Factors:
    rate: float
    delay: float

    def of(self, key: str) -> float | None:
        """Return the factor of a key; ``None``: the key keeps its value."""
        if key in _RATES:
            return self.rate
        if key in _DELAYS:
            return self.delay
        return self.rate * self.delay if key in _QUEUES else None


def drawn(suite: Suite, value: str) -> Suite:
    """Return a suite whose scenarios and seeds are drawn from the value of a beacon.

    Raises
    ------
    InputError
        If the value is not 32 to 256 hexadecimal digits.
    """
    value = value.strip().lower()
    if not _VALUE.fullmatch(value):
        raise InputError(f"--beacon {value:.40}: expected 32 to 256 hexadecimal digits")
    entry = suite.entry
    checks = [check for criterion in entry.criterion for check in criterion.check]
    # A threshold that is no comparison is one for these rates and delays.
    fixed = {check.scenario for check in checks if "who=" not in check.expression}
    scenarios = tuple(
        each if each.id in fixed else _drawn(each, f"{value}/{entry.name}/{each.id}")
        for each in entry.scenario
    )
    first_seed = 1 + int(_fraction(value, "seed") * 2**31)
    return Suite(suite.path, replace(entry, scenario=scenarios), value, first_seed)


def _drawn(entry: ScenarioEntry, value: str) -> ScenarioEntry:
    octaves = (_OCTAVES * (2 * _fraction(value, what) - 1) for what in ("rate", "delay"))
    factors = _Factors(*(2**octave for octave in octaves))
    run = copy.deepcopy(entry.run)
    for table in _places(run):
        for key, given in table.items():
            if (factor := factors.of(key)) is not None:
                table[key] = _scaled(given, factor)
    settings = tuple(
        replace(each, changes={key: _changed(key, given, factors) for key, given in each.changes.items()})
        for each in entry.setting
    )
    return replace(entry, run=run, setting=settings)


def _places(run: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the tables with rates and delays: of links, the core, and traffic beside the candidate."""
    # The rates of Wi-Fi are those of its standards.
    yield from (link for link in run.get("link", ()) if link.get("kind") != "wifi")
    if "core" in run:
        yield run["core"]
    for flow in run.get("flow", ()):
        if not str(flow.get("id", "")).startswith(CANDIDATE) and isinstance(flow.get("traffic"), dict):
            yield flow["traffic"]


def _changed(key: str, given: Any, factors: _Factors) -> Any:
    is_of_candidate = key.startswith(f"flow[{CANDIDATE}")
    factor = None if is_of_candidate else factors.of(key.rpartition(".")[2])
    return given if factor is None else _scaled(given, factor)


def _scaled(given: Any, factor: float) -> Any:
    """Return a quantity, or a number of packets, times a factor."""
    if isinstance(given, int) and not isinstance(given, bool):
        return max(round(given * factor), min(given, _MIN_PACKETS))
    parts = number_and_unit(given) if isinstance(given, str) else None
    if parts is None or not parts[1]:
        return given
    number, unit = float(parts[0]) * factor, parts[1]
    for whole, units in _WHOLE.items():
        if unit in units:
            # Rates and sizes are whole numbers of bits per second and bytes.
            return f"{float(f'{number:.4g}') * units[unit]:.0f}{whole}"
    return f"{number:.4g}{unit}"


def _fraction(value: str, what: str) -> float:
    """Return a number from 0 to 1 that a value and a purpose determine."""
    digest = hashlib.sha256(f"{value}/{what}".encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48
