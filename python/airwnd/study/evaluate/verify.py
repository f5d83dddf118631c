"""Verification of a report: the evaluation again, and which rows differ, and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from airwnd import _native
from airwnd.study.evaluate.contest import Contest
from airwnd.study.evaluate.report import (
    CheckText,
    CriterionText,
    Figure,
    Report,
    Result,
    SuiteText,
    candidate_digest,
    criterion_digest,
    scenario_digest,
)
from airwnd.study.evaluate.worst import number


@dataclass(frozen=True, slots=True)
class Difference:
    """A row that differs.

    Attributes
    ----------
    row
        ``SUITE/CRITERION``; empty: the report as a whole.
    what
        What differs.
    """

    row: str
    what: str

    def __str__(self) -> str:
        return f"{self.row}: {self.what}" if self.row else self.what


def seeds_of(suite: SuiteText) -> dict[str, int]:
    """Return the number of seeds of each criterion, as a report has them."""
    return {each.id: each.seeds for each in suite.criteria}


def inputs(report: Report, contests: Sequence[Contest]) -> list[Difference]:
    """Compare the inputs of a report with those of this version, before anything is run."""
    found = []
    if report.engine != _native.ENGINE:
        found.append(Difference("", f"the engine is another one: {report.engine}, now {_native.ENGINE}"))
    candidate = report.candidate
    if (candidate.kind, candidate.sha256) != (contests[0].candidate.kind, candidate_digest(contests[0])):
        found.append(Difference("", f"the candidate {candidate.name} has changed"))
    for suite, contest in zip(report.suites, contests, strict=True):
        found += _of_suite(suite, contest)
    return found


def _of_suite(suite: SuiteText, contest: Contest) -> list[Difference]:
    found = []
    for criterion in suite.criteria:
        row = f"{suite.name}/{criterion.id}"
        entry = contest.suite.criteria.get(criterion.id)
        if entry is None:
            found.append(Difference(row, "the suite no longer has this criterion"))
            continue
        if criterion.sha256 != criterion_digest(entry):
            found.append(Difference(row, "a threshold, an expression or a text of the criterion has changed"))
        for name, digest in criterion.scenarios.items():
            scenario = contest.suite.scenarios.get(name)
            if scenario is None or digest != scenario_digest(contest, scenario):
                found.append(Difference(row, f"scenario {name} has changed"))
    return found


def results(before: Report, now: Report, *, is_real: bool = False) -> list[Difference]:
    """Compare the results of two reports, row by row.

    Results in real time, `is_real`, differ if their intervals are apart.
    """
    found = []
    rows: Mapping[tuple[str, str], CriterionText] = {
        (suite.name, criterion.id): criterion for suite, criterion in now.criteria()
    }
    for suite, criterion in before.criteria():
        row = f"{suite.name}/{criterion.id}"
        other = rows.get((suite.name, criterion.id))
        if other is None:
            continue
        if criterion.answer != other.answer and not is_real:
            found.append(Difference(row, f"answer: {criterion.answer}, now {other.answer}"))
        found += [Difference(row, what) for what in _checks(criterion.checks, other.checks, is_real=is_real)]
    return found


def _checks(before: Sequence[CheckText], now: Sequence[CheckText], *, is_real: bool) -> list[str]:
    others = {each.text: each for each in now}
    found = []
    for check in before:
        other = others.get(check.text)
        if other is None:
            found.append(f"no longer checked: {check.text}")
        elif (check.required, check.expression) != (other.required, other.expression):
            found.append(f"threshold of `{check.text}`: {check.required}, now {other.required}")
        elif is_real and (
            apart := [each for each in zip(check.results, other.results, strict=True) if _apart(*each)]
        ):
            figures = " and ".join(_text(each.figure, check) for each in apart[0])
            found.append(f"intervals of `{check.text}` are apart: {figures}")
        elif not is_real and check.results != other.results:
            found.append(f"figures of `{check.text}` differ")
    return found


def _apart(before: Result, now: Result) -> bool:
    ends = (before.figure.low, before.figure.high, now.figure.low, now.figure.high)
    if any(end is None for end in ends):
        return (before.figure.mean is None) != (now.figure.mean is None)
    low, high, now_low, now_high = (end for end in ends if end is not None)
    return high < now_low or now_high < low


def _text(figure: Figure, check: CheckText) -> str:
    return f"{number(figure.low, check.digits)} to {number(figure.high, check.digits)}"
