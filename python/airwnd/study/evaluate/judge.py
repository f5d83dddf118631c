"""Answers: a check at each of its points, and a criterion over all of them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np

from airwnd.study.bounds import Bounds
from airwnd.study.evaluate.contest import HIGHEST, LOWEST, Contest
from airwnd.study.evaluate.suite import CANDIDATE, CriterionCheck, CriterionEntry
from airwnd.study.reader import Mistake, placed
from airwnd.study.reproduce.claims import Requirement, requirement
from airwnd.study.reproduce.expression import Expression, Lookup, Place, Values
from airwnd.study.reproduce.verdict import Verdict
from airwnd.study.statistics import MIN_SEEDS, Interval, interval
from airwnd.support.errors import InputError


class Answer(StrEnum):
    """Answer to a criterion."""

    MEETS = "meets"
    FAILS = "does not"
    NONE = "not evaluated"


_OF = {Verdict.HOLDS: Answer.MEETS, Verdict.FAILS: Answer.FAILS}


@dataclass(frozen=True, slots=True)
class Check:
    """A check whose expression has been parsed."""

    entry: CriterionCheck
    expression: Expression
    requirement: Requirement
    bounds: Bounds

    def places(self) -> list[Place]:
        """List the points of evaluation: beside each reference and in each setting, for the candidate."""
        return [
            place
            for place in self.expression.places()
            if place.get("who", CANDIDATE) == CANDIDATE
            and all(level in self.entry.only.get(axis, [level]) for axis, level in place.items())
        ]


@dataclass(frozen=True)
class Finding:
    """A check at one point.

    Attributes
    ----------
    place
        Levels of `beside` and `setting`.
    values
        Value of each seed.
    found
        Their mean with its interval.
    references
        The same figure of each reference in the candidate's place; empty if the expression names `who`.
    answer
        Answer at this point.
    reason
        Reason why it is not evaluated; empty otherwise.
    """

    place: Place
    values: tuple[float, ...]
    found: Interval
    references: Mapping[str, Interval]
    answer: Answer
    reason: str


@dataclass(frozen=True)
class CheckResult:
    """A check at all its points."""

    check: Check
    findings: tuple[Finding, ...]

    @cached_property
    def answer(self) -> Answer:
        """Answer over all points."""
        return together([finding.answer for finding in self.findings])


@dataclass(frozen=True)
class CriterionResult:
    """A criterion with the results of its checks.

    Attributes
    ----------
    seeds
        Number of seeds of each run; 0: it has not been run.
    reason
        Reason why it is not evaluated; empty otherwise.
    """

    entry: CriterionEntry
    checks: tuple[CheckResult, ...]
    seeds: int
    confidence: float
    reason: str = ""

    @cached_property
    def answer(self) -> Answer:
        """Answer over all deciding checks."""
        deciding = [each.answer for each in self.checks if each.check.entry.decides]
        return together(deciding) if deciding else Answer.NONE

    @cached_property
    def why(self) -> str:
        """Reason why it is not evaluated; empty otherwise."""
        if self.answer is not Answer.NONE:
            return ""
        if self.reason:
            return self.reason
        found = [
            (each, finding)
            for each in self.checks
            if each.check.entry.decides
            for finding in each.findings
            if finding.answer is Answer.NONE
        ]
        (first, finding), more = found[0], len(found) - 1
        others = f"; and {more} more" if more else ""
        return f"{first.check.entry.text}: {finding.reason}{others}"


def together(answers: Sequence[Answer]) -> Answer:
    """Combine answers: one failure decides, then one point that is not evaluated."""
    for answer in (Answer.FAILS, Answer.NONE):
        if answer in answers:
            return answer
    return Answer.MEETS


def checks_of(contest: Contest, criterion: CriterionEntry) -> tuple[Check, ...]:
    """Parse the checks of a criterion.

    Raises
    ------
    InputError
        If an expression is invalid, or `only` names what does not exist; one line with file and key.
    """
    suite = contest.suite
    index = suite.entry.criterion.index(criterion)
    found = []
    for number, entry in enumerate(criterion.check):
        with placed(str(suite.path), f"criterion[{index}].check[{number}]"):
            found.append(_parsed(contest, entry))
    return tuple(found)


def _parsed(contest: Contest, entry: CriterionCheck) -> Check:
    scenario = contest.suite.scenarios[entry.scenario]
    measures = {each.name: each.bounds for each in scenario.measure}
    levels = contest.levels(scenario)
    for axis, chosen in entry.only.items():
        if axis not in levels:
            raise Mistake("only", f"there is no axis {axis}; the axes are {', '.join(levels)}")
        # A reference may be missing in this contest, but a setting is written in the suite.
        if axis == "setting" and (other := next((each for each in chosen if each not in levels[axis]), None)):
            raise Mistake("only", f"there is no setting {other}; there are {', '.join(levels[axis])}")
    try:
        expression = Expression.parse(entry.expression, levels, tuple(measures))
    except InputError as error:
        raise Mistake("expression", str(error)) from None
    return Check(entry, expression, requirement(entry), expression.bounds(measures))


def with_extremes(lookup: Lookup, standard: Sequence[str]) -> Lookup:
    """Add the levels `lowest` and `highest` of `who` to a lookup."""

    def found(levels: Mapping[str, str], measure: str) -> Values:
        if levels["who"] not in (LOWEST, HIGHEST):
            return lookup(levels, measure)
        values = np.stack([lookup({**levels, "who": name}, measure) for name in standard])
        # A figure that one of them lacks does not count; `fmin` and `fmax` ignore it.
        reduced: Values = (np.fmin if levels["who"] == LOWEST else np.fmax).reduce(values)
        return reduced

    return found


def judge(check: Check, lookup: Lookup, references: Sequence[str], confidence: float) -> CheckResult:
    """Answer a check at all its points."""
    return CheckResult(
        check, tuple(_judge(check, place, lookup, references, confidence) for place in check.places())
    )


def _judge(
    check: Check, place: Place, lookup: Lookup, references: Sequence[str], confidence: float
) -> Finding:
    values = check.expression.values(place, lookup).tolist()
    found = interval(values, check.bounds, confidence)
    others = (
        {
            name: interval(
                check.expression.values({**place, "who": name}, lookup).tolist(), check.bounds, confidence
            )
            for name in references
        }
        if "who" in place
        else {}
    )
    answer, reason = _answer(check, found, others)
    levels = {axis: level for axis, level in place.items() if axis != "who"}
    return Finding(levels, tuple(values), found, others, answer, reason)


def _answer(check: Check, found: Interval, others: Mapping[str, Interval]) -> tuple[Answer, str]:
    if math.isnan(found.mean):
        if any(not math.isnan(each.mean) for each in others.values()):
            # The references have a value: for example, no transfer of the candidate has completed.
            return Answer.FAILS, ""
        return Answer.NONE, "undefined in some run"
    if found.n < MIN_SEEDS:
        return Answer.NONE, f"{found.n} seeds give no interval; {MIN_SEEDS} are needed"
    verdict = check.requirement.judge(found)
    if verdict in _OF:
        return _OF[verdict], ""
    digits = check.entry.digits
    return Answer.NONE, (
        f"too close to tell with {found.n} seeds: {found.low:.{digits}f} to {found.high:.{digits}f}, "
        f"required {check.requirement.text}"
    )
