"""Reason for the verdict on a claim: the value that decides, alone and in one sentence."""

import math

from airwnd.study.reproduce.claims import CheckResult, ClaimResult, Finding
from airwnd.study.reproduce.verdict import Verdict
from airwnd.study.reproduce.words import finding_text, place_text

_GOOD = (Verdict.HOLDS, Verdict.AGREES)
_SENTENCES = {
    Verdict.HOLDS: "All {every} values meet their requirement; the smallest margin",
    Verdict.PART: "{some} of {every} values do not meet their requirement, or are not decided; the farthest",
    Verdict.FAILS: "{some} of {every} values do not meet their requirement; the farthest",
    Verdict.CLOSE: "{some} of {every} values are too close to their bound to tell; for example",
    Verdict.OPEN: "{some} of {every} values are not decided with this number of seeds; for example",
    Verdict.AGREES: "All {every} means meet their requirement so far; for example",
    Verdict.UNSETTLED: "{some} of {every} means do not meet their requirement so far; for example",
}


def reason(result: ClaimResult) -> str:
    """Describe in one sentence how many values decide as the claim does, and the one of :func:`decisive`."""
    every, some = _values(result)
    check, finding = decisive(result)
    where = f" at {place_text(finding.place)}" if finding.place else ""
    found = finding_text(check.check, finding)
    value = f"{check.check.text}{where}: {found}, required {check.check.requirement.text}"
    if len(every) == 1:
        return f"One value decides: {value}." if not result.verdict.preview else f"One mean: {value}."
    return f"{_SENTENCES[result.verdict].format(some=len(some), every=len(every))}: {value}."


def decisive(result: ClaimResult) -> tuple[CheckResult, Finding]:
    """Return the deciding value of a claim: the one with the smallest margin, or one that does not hold.

    Values of the set-up shown in plots and tables are preferred.
    """
    _, some = _values(result)
    shown = result.checks[0].check.space.shown
    preferred = [(check, finding) for check, finding in some if finding in check.at(shown)] or some
    return min(preferred, key=lambda pair: _margin(*pair))


_Values = list[tuple[CheckResult, Finding]]


def _values(result: ClaimResult) -> tuple[_Values, _Values]:
    """Return all values of the checks that decide, and those whose verdicts give that of the claim."""
    every = [(check, finding) for check in result.checks if check.check.decides for finding in check.findings]
    return every, [pair for pair in every if _decisive(pair[1].verdict, result.verdict)]


def _decisive(found: Verdict, claim: Verdict) -> bool:
    match claim:
        case Verdict.HOLDS | Verdict.AGREES:
            return True
        case Verdict.PART:
            return found not in _GOOD
        case _:
            return found is claim


def _margin(check: CheckResult, finding: Finding) -> tuple[float, float]:
    """Return the margin of a mean within its requirement, in half-widths of its interval; negative: outside.

    Means without an interval, or with a zero-width one, are compared by their distance relative to mean or
    bound.
    """
    mean, requirement = finding.found.mean, check.check.requirement
    if math.isnan(mean):
        return -math.inf, 0.0
    distance, bound = min(
        (mean - requirement.low, requirement.low), (requirement.high - mean, requirement.high)
    )
    half_width = finding.found.half_width
    steps = distance / half_width if half_width > 0.0 else math.copysign(math.inf, distance)
    return steps, distance / max(abs(mean), abs(bound)) if distance else 0.0
