"""Seeds that are added until every claim is decided, with an error rate that does not grow with their number.

An interval for a fixed number of seeds errs more often than it states if one looks at it again and again, and
stops when it is on one side of a bound. Here looks take place at fixed numbers of seeds, each twice the last,
and look k (counted from 0) has the error rate 0.05 * 6 / (pi^2 (k + 1)^2). The sum over all looks is 0.05, so
that by the union bound all intervals of a check contain its mean with a probability of 95 %, whenever one
stops (spending of the error rate: Lan and DeMets, Biometrika 70, 1983).

All intervals are valid at all looks, so that the choice of the values that get more seeds is free. Seeds go
where they decide (:func:`undecided`): a claim holds in part as soon as it holds in one set-up, and a set-up
is refuted by one of its values.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from airwnd.study.reproduce.claims import Check, ClaimResult, Finding
from airwnd.study.reproduce.expression import Place
from airwnd.study.reproduce.verdict import Verdict
from airwnd.study.statistics import CONFIDENCE


@dataclass(frozen=True, slots=True)
class Needed:
    """The runs that a claim needs next.

    Attributes
    ----------
    setups
        Number of set-ups in which the claim is open.
    seeds
        Expected number of seeds at which the values that get more seeds are decided; infinite: a value is
        equal to its bound, as far as known.
    measures
        Levels of all axes at which a measure is read, with the number of seeds behind the value.
    """

    setups: int
    seeds: float
    measures: Sequence[tuple[Place, int]]


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
    claims
        Ids of the claims for which seeds are added; ``None``: all.
    """

    max_seeds: int
    budget_s: float = math.inf
    on_look: Callable[[Mapping[str, Needed], int, int], object] | None = None
    claims: Collection[str] | None = None

    def after(self, seeds: int) -> int | None:
        """Return the number of seeds of the next look; ``None``: there is none."""
        return 2 * seeds if 2 * seeds <= self.max_seeds else None

    def concerns(self, result: ClaimResult) -> bool:
        """Return whether seeds are added for a claim if it is open."""
        return self.claims is None or result.claim.id in self.claims


def confidence_at(seeds: int, first: int) -> float:
    """Return the confidence level of an interval over `seeds`, if the first look was at `first`."""
    return confidence(round(math.log2(max(seeds, first) / first)))


def confidence(look: int) -> float:
    """Return the confidence level of a look, counted from 0."""
    return 1.0 - (1.0 - CONFIDENCE) * 6.0 / (math.pi * (look + 1)) ** 2


def undecided(results: Sequence[ClaimResult], decide: Decide) -> dict[str, Needed]:
    """Return what each open claim needs next; a claim that no run can decide needs nothing.

    If the claim may hold in a set-up, because all values there are expected to meet their requirement, it
    needs only such set-ups: those expected to be decided with twice the seeds, or else the one that needs the
    fewest. If it may hold in none, it needs all set-ups in which it is open; where a value is expected to
    fail, this value alone. Of several, the one that needs the fewest seeds for each set-up that it decides.

    More seeds do not help a value that is undefined in some run. A set-up that fails is decided.

    Parameters
    ----------
    results
        All claims; only open ones that `decide` concerns need runs.
    decide
        Limits: a value that has the maximum number of seeds gets no more.
    """
    found = {}
    for result in results:
        if result.verdict is Verdict.OPEN and decide.concerns(result) and (needed := _needed(result, decide)):
            found[result.claim.id] = needed
    return found


@dataclass(frozen=True, slots=True)
class _Value:
    """A check at a point, in a set-up in which the claim is open."""

    number: int
    check: Check
    finding: Finding

    @property
    def key(self) -> tuple[int, tuple[tuple[str, str], ...]]:
        """The number of the check and the point, which set-ups may share."""
        return self.number, tuple(self.finding.place.items())

    @property
    def is_undefined(self) -> bool:
        return math.isnan(self.finding.found.mean)

    @property
    def is_open(self) -> bool:
        return self.finding.verdict is Verdict.OPEN and not self.is_undefined

    @property
    def may_hold(self) -> bool:
        if self.is_open:
            return self.check.requirement.allows(self.finding.found.mean)
        return self.finding.verdict is Verdict.HOLDS

    @property
    def may_fail(self) -> bool:
        return self.is_open and not self.may_hold and self._distance > self.finding.margin

    @property
    def seeds(self) -> float:
        """Expected number of seeds at which it is decided, or too close to tell."""
        found = self.finding.found
        enough = max(self._distance, self.finding.margin - self._distance)
        return found.n * (found.half_width / enough) ** 2 if enough else math.inf

    @property
    def _distance(self) -> float:
        """Distance of the mean from the nearest bound."""
        requirement, mean = self.check.requirement, self.finding.found.mean
        return min(abs(mean - requirement.low), abs(mean - requirement.high))


def _needed(result: ClaimResult, decide: Decide) -> Needed | None:
    deciding = [(number, judged) for number, judged in enumerate(result.checks) if judged.check.decides]
    setups = [
        [_Value(number, judged.check, finding) for number, judged in deciding for finding in judged.at(setup)]
        for setup, verdict in result.setups
        if verdict is Verdict.OPEN
    ]
    expected = [setup for setup in setups if all(value.may_hold for value in setup)]
    chosen = _to_confirm(expected, decide) if expected else _to_refute(setups, decide)
    if not chosen:
        return None
    places = {
        number: {tuple(matters.items()): place for place, matters in judged.check.places()}
        for number, judged in deciding
    }
    measures = [
        (levels, value.finding.found.n)
        for (number, point), value in chosen.items()
        for levels, _ in value.check.expression.points(places[number][point])
    ]
    return Needed(len(setups), max(value.seeds for value in chosen.values()), measures)


_Chosen = dict[tuple[int, tuple[tuple[str, str], ...]], _Value]


def _to_confirm(setups: Sequence[Sequence[_Value]], decide: Decide) -> _Chosen:
    """Choose the open values of the set-ups that are expected to hold soonest."""
    opened = [[value for value in setup if value.is_open] for setup in setups]
    able = [setup for setup in opened if all(decide.after(each.finding.found.n) for each in setup)]
    if not able:
        return {}
    soon = [setup for setup in able if all(each.seeds <= 2 * each.finding.found.n for each in setup)]
    chosen = soon or [min(able, key=lambda setup: max(each.seeds for each in setup))]
    return {value.key: value for setup in chosen for value in setup}


def _to_refute(setups: Sequence[Sequence[_Value]], decide: Decide) -> _Chosen:
    """Choose for each set-up the value that is expected to fail soonest, or all open values."""
    able = [
        [value for value in setup if value.is_open and decide.after(value.finding.found.n)]
        for setup in setups
    ]
    shared = Counter(value.key for setup in able for value in setup if value.may_fail)
    chosen = {}
    for setup, values in zip(setups, able, strict=True):
        failing = [value for value in values if value.may_fail]
        if failing:
            soonest = min(failing, key=lambda value: value.seeds / shared[value.key])
            chosen[soonest.key] = soonest
        elif not any(value.is_undefined for value in setup):
            chosen.update({value.key: value for value in values})
    return chosen
