"""Seeds that are added until every claim is decided, with an error rate that does not grow with their number.

An interval for a fixed number of seeds errs more often than it states if one looks at it again and again, and
stops when it is on one side of a bound. Here looks take place at fixed numbers of seeds, each twice the last,
and look k (counted from 0) has the error rate 0.05 * 6 / (pi^2 (k + 1)^2). The sum over all looks is 0.05, so
that by the union bound all intervals of a check contain its mean with a probability of 95 %, whenever one
stops (spending of the error rate: Lan and DeMets, Biometrika 70, 1983).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from airwnd.study.reproduce.claims import ClaimResult
from airwnd.study.reproduce.expression import Place
from airwnd.study.reproduce.statistics import CONFIDENCE
from airwnd.study.reproduce.verdict import Verdict

Undecided = tuple[Place, int]
"""Levels of all axes at which a measure is read, and the number of seeds behind the value."""


@dataclass(frozen=True, slots=True)
class Decide:
    """How far seeds are added.

    Attributes
    ----------
    max_seeds
        Maximum number of seeds of a setting.
    budget_s
        Wall-clock time after which no further look begins, in seconds; infinite: no limit.
    on_look
        Called before each look after the first with the open claims, the number of additional runs, and the
        maximum number of seeds.
    """

    max_seeds: int
    budget_s: float = math.inf
    on_look: Callable[[Mapping[str, Sequence[Undecided]], int, int], object] | None = None

    def after(self, seeds: int) -> int | None:
        """Return the number of seeds of the next look; ``None``: there is none."""
        return 2 * seeds if 2 * seeds <= self.max_seeds else None


def confidence_at(seeds: int, first: int) -> float:
    """Return the confidence level of an interval over `seeds`, if the first look was at `first`."""
    return confidence(round(math.log2(max(seeds, first) / first)))


def confidence(look: int) -> float:
    """Return the confidence level of a look, counted from 0."""
    return 1.0 - (1.0 - CONFIDENCE) * 6.0 / (math.pi * (look + 1)) ** 2


def undecided(results: Sequence[ClaimResult]) -> dict[str, list[Undecided]]:
    """Return the measures on which an open verdict depends, by claim.

    More seeds do not help a value that is undefined in some run. A set-up that fails is decided.
    """
    found: dict[str, list[Undecided]] = {}
    for result in results:
        if result.verdict is not Verdict.OPEN:
            continue
        setups = [setup for setup, verdict in result.setups if verdict is Verdict.OPEN]
        for judged in result.checks:
            if not judged.check.decides:
                continue
            places = {tuple(matters.items()): place for place, matters in judged.check.places()}
            findings = {
                tuple(finding.place.items()): finding
                for setup in setups
                for finding in judged.at(setup)
                if finding.verdict is Verdict.OPEN and not math.isnan(finding.found.mean)
            }
            for key, finding in findings.items():
                for levels, _ in judged.check.expression.points(places[key]):
                    found.setdefault(result.claim.id, []).append((levels, finding.found.n))
    return found
