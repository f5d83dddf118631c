"""Verdicts, and how several make one.

A full run decides: a check or a claim *holds*, *does not hold*, or is *not decided* at its number of seeds.
Over the set-ups that a paper leaves open a claim may also *hold in part*. A preview
(:attr:`airwnd.reproduce.runner.Effort.preview`) decides nothing: it only says whether what was found *agrees
so far*.
"""

from collections.abc import Collection, Iterable
from enum import StrEnum


class Verdict(StrEnum):
    """Whether a claim holds."""

    HOLDS = "holds"
    PART = "holds in part"
    FAILS = "does not hold"
    OPEN = "not decided"
    AGREES = "preview: agrees so far"
    UNSETTLED = "preview: open"

    @property
    def preview(self) -> bool:
        """Whether it is no verdict yet."""
        return self in (Verdict.AGREES, Verdict.UNSETTLED)


def together(verdicts: Iterable[Verdict]) -> Verdict:
    """Combine what must all hold: checks, places, experiments on the same claim.

    One failure fails the whole. Otherwise one preview makes it a preview, which agrees if all previews agree
    and everything else holds. Otherwise one open question leaves it open, and what holds in part does so of
    the whole.
    """
    found = set(verdicts)
    if Verdict.FAILS in found:
        return Verdict.FAILS
    if any(verdict.preview for verdict in found):
        return Verdict.AGREES if found <= {Verdict.HOLDS, Verdict.AGREES} else Verdict.UNSETTLED
    for verdict in (Verdict.OPEN, Verdict.PART):
        if verdict in found:
            return verdict
    return Verdict.HOLDS


def over_setups(verdicts: Collection[Verdict]) -> Verdict:
    """Combine the verdicts in the set-ups that the paper leaves open, one each.

    Holds in all: holds. Holds in some: holds in part, whatever the others are. Fails in all: does not hold.
    None of these (it holds nowhere and is open somewhere): not decided. A preview agrees if it does in all.
    """
    found = set(verdicts)
    if any(verdict.preview for verdict in found):
        return Verdict.AGREES if found == {Verdict.AGREES} else Verdict.UNSETTLED
    if Verdict.HOLDS in found:
        return Verdict.HOLDS if len(found) == 1 else Verdict.PART
    return Verdict.FAILS if found == {Verdict.FAILS} else Verdict.OPEN
