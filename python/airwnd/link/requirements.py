"""Conditions that a session must meet, for CI jobs: ``--require 'p95 < 80ms'``."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from operator import ge, gt, le, lt
from typing import Any

from airwnd import _native
from airwnd.errors import InputError
from airwnd.link.wire import rate_text
from airwnd.terminal import number

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
_SHORT = {f"p{rank}": f"rtt_ms_p{rank}" for rank in (50, 95, 99)}
_CONDITION = re.compile(
    r"\s*(?:(?P<kind>[a-z]+)\.)?(?P<quantity>[a-z0-9_]+)\s*(?P<operator><=?|>=?)\s*(?P<limit>\S.*?)\s*"
)


@dataclass(frozen=True, slots=True)
class Requirement:
    """A bound of a quantity, for every real flow that has it.

    Attributes
    ----------
    text
        As written by the user.
    kind
        Protocol of the flows; ``None``: all.
    quantity
        Column of the table ``flows``.
    operator
        ``<``, ``<=``, ``>`` or ``>=``.
    limit
        Bound, in the unit of the column.
    """

    text: str
    kind: str | None
    quantity: str
    operator: str
    limit: float

    @classmethod
    def parse(cls, text: str) -> "Requirement":
        """Read a condition, as in ``icmp.rtt_ms_p95 < 80ms`` or ``goodput_kbps >= 5Mbit``.

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
        quantity = _SHORT.get(match["quantity"], match["quantity"])
        if kind is not None and kind not in KINDS:
            raise InputError(f"--require {text}: unknown protocol `{kind}`; allowed: {', '.join(KINDS)}")
        if quantity not in QUANTITIES:
            known = ", ".join((*_SHORT, *QUANTITIES))
            raise InputError(f"--require {text}: unknown quantity `{match['quantity']}`; allowed: {known}")
        try:
            limit = _value(quantity, match["limit"])
        except (ValueError, _native.ScenarioError) as error:
            raise InputError(f"--require {text}: {error}") from None
        return cls(text.strip(), kind, quantity, operator, limit)

    def failures(self, flows: Iterable[Mapping[str, Any]]) -> list[str]:
        """Return a line for each real flow that fails the condition, or one if no flow has the quantity.

        Parameters
        ----------
        flows
            Rows of the table ``flows``.
        """
        real = [row for row in flows if row["group"] == "real" and self.kind in (None, row["kind"])]
        found = [
            (row["id"], row["kind"], row[self.quantity]) for row in real if row[self.quantity] is not None
        ]
        if not found:
            return [f"required {self.text}: no flow has {self.quantity}"]
        holds = _OPERATORS[self.operator]
        return [
            f"required {self.text}: {name} ({kind}) has {number(value, 1)}"
            for name, kind, value in found
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
