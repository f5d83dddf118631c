"""Verdicts, and rules for combining them.

A full run gives a verdict: a check or a claim *holds*, *does not hold*, is *too close to tell* (the interval
contains the bound, and all of it is within the margin of the check), or is *not decided* with its number of
seeds. Over the set-ups that a paper leaves open, a claim may also *hold in part*. A preview
(:attr:`airwnd.study.reproduce.runner.Effort.preview`) gives no verdict: it only shows whether the results
*agree so far*.
"""

from collections.abc import Collection, Iterable
from enum import StrEnum


class Verdict(StrEnum):
    """Verdict on a claim or a check."""

    HOLDS = "holds"
    PART = "holds in part"
    FAILS = "does not hold"
    CLOSE = "too close to tell"
    OPEN = "not decided"
    AGREES = "preview: agrees so far"
    UNSETTLED = "preview: open"

    @property
    def preview(self) -> bool:
        """Whether it is only the result of a preview."""
        return self in (Verdict.AGREES, Verdict.UNSETTLED)


CLASSES = {
    Verdict.HOLDS: "holds",
    Verdict.PART: "part",
    Verdict.FAILS: "fails",
    Verdict.CLOSE: "close",
    Verdict.OPEN: "open",
    Verdict.AGREES: "preview",
    Verdict.UNSETTLED: "unsettled",
}
"""CSS classes of verdicts on pages."""


def together(verdicts: Iterable[Verdict]) -> Verdict:
    """Combine verdicts that must all hold: of checks, points, or experiments on the same claim.

    Any failure makes the result a failure. Otherwise any preview makes it a preview, which agrees if all
    previews agree and all other verdicts hold. Otherwise any undecided verdict makes it undecided, any *too
    close to tell* makes it that, and any *holds in part* makes it *holds in part*.
    """
    found = set(verdicts)
    if Verdict.FAILS in found:
        return Verdict.FAILS
    if any(verdict.preview for verdict in found):
        return Verdict.AGREES if found <= {Verdict.HOLDS, Verdict.AGREES} else Verdict.UNSETTLED
    for verdict in (Verdict.OPEN, Verdict.CLOSE, Verdict.PART):
        if verdict in found:
            return verdict
    return Verdict.HOLDS


def over_setups(verdicts: Collection[Verdict]) -> Verdict:
    """Combine the verdicts in all set-ups that the paper leaves open.

    Holds in all: holds. Holds in some: holds in part, for any other verdicts. Fails in all: does not hold.
    Otherwise (holds in none): not decided if it is open in some, and else too close to tell. A preview agrees
    if it agrees in all.
    """
    found = set(verdicts)
    if any(verdict.preview for verdict in found):
        return Verdict.AGREES if found == {Verdict.AGREES} else Verdict.UNSETTLED
    if Verdict.HOLDS in found:
        return Verdict.HOLDS if len(found) == 1 else Verdict.PART
    if Verdict.OPEN in found:
        return Verdict.OPEN
    return Verdict.CLOSE if Verdict.CLOSE in found else Verdict.FAILS
