"""Resource grid of a carrier: PRBs, RBGs, slots and their directions."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from airwnd import _native

SYMBOLS = 14
"""Symbols of a slot (TS 38.211 §4.3.2)."""

# Files of runs from before NR have no `radio.access`.
_LTE = "lte"


def components(scenario: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the component carriers of a resolved scenario as single carriers, the primary one first."""
    primary = dict(scenario["carrier"])
    bandwidth = primary["bandwidth"]
    found = [primary]
    # Files of runs from before carrier aggregation have no `secondary`.
    for secondary in primary.pop("secondary", []):
        own = secondary.get("bandwidth", "none")
        own = bandwidth if own == "none" else own
        found.append({"bandwidth": own, "downlink_frequency": secondary["downlink_frequency"]})
    return found


@dataclass(frozen=True, slots=True)
class Grid:
    """Resource grid of a carrier of a scenario.

    Attributes
    ----------
    access
        ``"lte"`` or ``"nr"``.
    frequency
        Carrier frequency of the downlink, with its unit.
    prbs
        PRBs of the carrier.
    rbg_prbs
        PRBs of an RBG. The last RBG of an NR carrier may be smaller.
    slot_ms
        Duration of a slot in milliseconds: 1 for LTE, whose slots are TTIs.
    slots
        Downlink and uplink symbols of the slots of a period; FDD: one slot with all symbols in both
        directions.
    pattern
        TDD pattern such as ``DDDSU``; ``None``: FDD.
    warmup_ms
        Time between the start of the first period and time zero of the results, in milliseconds.
    """

    access: str
    frequency: str
    prbs: int
    rbg_prbs: int
    slot_ms: float
    slots: tuple[tuple[int, int], ...]
    pattern: str | None
    warmup_ms: float

    @classmethod
    def of(cls, scenario: Mapping[str, Any], carrier: int = 0) -> "Grid":
        """Return the grid of a component carrier of a resolved scenario with a site; 0: the primary one."""
        access = scenario["radio"].get("access", {"kind": _LTE})
        table = components(scenario)[carrier]
        raw = json.loads(_native.resource_grid(json.dumps(table), json.dumps(access)))
        return cls(
            access=access["kind"],
            frequency=table["downlink_frequency"],
            prbs=raw["prbs"],
            rbg_prbs=raw["rbg_prbs"],
            slot_ms=raw["slot_ns"] / 1e6,
            slots=tuple((down, up) for down, up in raw["slots"]),
            pattern=access.get("pattern"),
            warmup_ms=_native.parse_span(scenario["warmup"]) / 1e6,
        )

    @property
    def name(self) -> str:
        """Summary in a line, as in ``NR, 106 PRBs, slots of 0.5 ms, TDD DDDSU``."""
        if self.access == _LTE:
            return f"LTE, {self.prbs} PRBs, FDD"
        duplex = "FDD" if self.pattern is None else f"TDD {self.pattern}"
        return f"NR, {self.prbs} PRBs, slots of {self.slot_ms:g} ms, {duplex}"

    def downlink_ms(self, begin_ms: float) -> float:
        """Return how long the cell can send in the slot that begins at this time of the results."""
        slot = round((begin_ms + self.warmup_ms) / self.slot_ms)
        return self.slot_ms * self.slots[slot % len(self.slots)][0] / SYMBOLS

    def without_downlink(self, begin_ms: float, end_ms: float) -> list[tuple[float, float, bool]]:
        """Return intervals of TDD in which the cell does not send, and whether they are uplink.

        Parameters
        ----------
        begin_ms, end_ms
            Interval of the results' time that the intervals overlap.

        Returns
        -------
        list of tuple
            Begin and end in milliseconds; true: uplink, false: guard period.
        """
        if self.pattern is None:
            return []
        first = int((begin_ms + self.warmup_ms) / self.slot_ms)
        last = int((end_ms + self.warmup_ms) / self.slot_ms)
        found: list[tuple[float, float, bool]] = []
        for slot in range(first, last + 1):
            start = slot * self.slot_ms - self.warmup_ms
            down, up = self.slots[slot % len(self.slots)]
            edges = [start + symbols / SYMBOLS * self.slot_ms for symbols in (down, SYMBOLS - up, SYMBOLS)]
            for (left, right), uplink in zip(pairwise(edges), (False, True), strict=True):
                if right > left:
                    found.append((left, right, uplink))
        return [each for each in found if each[1] > begin_ms and each[0] < end_ms]
