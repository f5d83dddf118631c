"""Conditions that a session must meet, for CI jobs: ``--require 'p95 < 80ms'``."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from operator import ge, gt, le, lt
from typing import Any

from airwnd import _native
from airwnd.link.battery.results import QUANTITIES as BATTERY
from airwnd.link.wire import rate_text
from airwnd.support.errors import InputError
from airwnd.text.terminal import number

KINDS = ("tcp", "udp", "icmp", "other")
QUANTITIES = (
    *(f"{what}_ms_{which}" for what in ("rtt", "delay") for which in ("mean", "p50", "p95", "p99")),
    "goodput_kbps",
    "throughput_kbps",
    "pdf_percent",
    "packets_dropped",
    "retransmissions",
)
_OPERATORS: Mapping[str, Callable[[float, float], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge}
# Short for the first quantity with this end: of flows the RTT.
_SHORT = ("p50", "p95", "p99")
_CONDITION = re.compile(
    r"\s*(?:(?P<kind>[a-z]+)\.)?(?P<quantity>[a-z0-9_]+)\s*(?P<operator><=?|>=?)\s*(?P<limit>\S.*?)\s*"
)


@dataclass(frozen=True, slots=True)
class Requirement:
    """A bound of a quantity, for every real flow that has it, or for rows of a battery.

    Attributes
    ----------
    text
        As written by the user.
    kind
        Protocol of the flows, or kind of a battery's rows; ``None``: all flows.
    quantity
        Column of the table ``flows``, or quantity of the rows.
    operator
        ``<``, ``<=``, ``>`` or ``>=``.
    limit
        Bound, in the unit of the quantity.
    """

    text: str
    kind: str | None
    quantity: str
    operator: str
    limit: float

    @classmethod
    def parse(cls, text: str, *, has_battery: bool = False) -> "Requirement":
        """Read a condition, as in ``icmp.rtt_ms_p95 < 80ms`` or ``goodput_kbps >= 5Mbit``.

        Parameters
        ----------
        text
            The condition.
        has_battery
            Whether the session has rows of a battery.

        Examples
        --------
        >>> Requirement.parse("p95<80ms").limit, Requirement.parse("tcp.goodput_kbps > 5Mbit").limit
        (80.0, 5000.0)

        Raises
        ------
        InputError
            If the text is no condition.
        """
        match = _CONDITION.fullmatch(text)
        if not match:
            raise InputError(
                f"--require {text}: expected QUANTITY, one of < <= > >=, and VALUE, as in 'rtt_ms_p95 < 80ms'"
            )
        kind, operator = match["kind"], match["operator"]
        if kind in BATTERY and not has_battery:
            raise InputError(f"--require {text}: `{kind}` requires --battery")
        if kind is not None and kind not in (*KINDS, *BATTERY):
            known = ", ".join((*KINDS, *(BATTERY if has_battery else ())))
            raise InputError(f"--require {text}: unknown protocol `{kind}`; allowed: {known}")
        quantities = BATTERY.get(kind or "", QUANTITIES)
        short = {word: name for word in _SHORT for name in reversed(quantities) if name.endswith(f"_{word}")}
        quantity = short.get(match["quantity"], match["quantity"])
        if quantity not in quantities:
            known = ", ".join((*short, *quantities))
            raise InputError(f"--require {text}: unknown quantity `{match['quantity']}`; allowed: {known}")
        try:
            limit = _value(quantity, match["limit"])
        except (ValueError, _native.ScenarioError) as error:
            raise InputError(f"--require {text}: {error}") from None
        return cls(text.strip(), kind, quantity, operator, limit)

    def failures(
        self, flows: Iterable[Mapping[str, Any]], battery: Iterable[Mapping[str, Any]] = ()
    ) -> list[str]:
        """Return a line for each flow or row that fails the condition, or one if none has the quantity.

        Parameters
        ----------
        flows
            Rows of the table ``flows``; the real ones count.
        battery
            Rows of the battery.
        """
        if self.kind in BATTERY:
            rows = [(row["id"], row) for row in battery if row["kind"] == self.kind]
        else:
            rows = [
                (f"{row['id']} ({row['kind']})", row)
                for row in flows
                if row["group"] == "real" and self.kind in (None, row["kind"])
            ]
        found = [(name, row[self.quantity]) for name, row in rows if row[self.quantity] is not None]
        if not found:
            what = "row of the battery" if self.kind in BATTERY else "flow"
            return [f"required {self.text}: no {what} has {self.quantity}"]
        holds = _OPERATORS[self.operator]
        return [
            f"required {self.text}: {name} has {number(value, 1)}"
            for name, value in found
            if not holds(value, self.limit)
        ]


def _value(quantity: str, text: str) -> float:
    """Convert a bound to the unit of a column: a number, or a quantity with a unit of its own."""
    if re.fullmatch(r"\d+(\.\d*)?|\.\d+", text):
        return float(text)
    if "_ms" in quantity:
        return float(_native.parse_span(text)) / 1e6
    if quantity.endswith("_kbps"):
        return _native.parse_rate(rate_text(text)) / 1e3
    raise ValueError(f"`{text}` is not a number")
