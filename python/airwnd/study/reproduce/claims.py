"""Claims of a paper as data, and verdicts on whether they hold here.

``claims.toml`` or ``experiment.toml`` lists claims. Each claim has checks, and a check is an expression with
a requirement::

    [[claim]]
    id = "A09"

    [[claim.check]]
    text = "autotuning above ARWA"
    expression = "throughput_kbps(method='autotuning') - throughput_kbps(method='arwa')"
    above = 0
    unit = "kbit/s"

The text and the source of A09 are in the paper's ``paper.toml`` (:mod:`airwnd.study.reproduce.paper`).
Without such a file, the claim has its own ``text``, and may have a ``source``; with it, neither. A ``note``
is about the paper, for example where it contradicts itself. A ``note_full`` is about our numbers, and a
``cause`` is the mechanism behind the verdict in one sentence; both are shown only with a full run
(:attr:`airwnd.study.reproduce.runner.Effort.full`).

A requirement is ``above``, ``below``, ``between = [low, high]`` or ``equals``. ``tolerance`` widens it, and
``because`` gives the reason for its size. An expression is evaluated seed by seed, so that settings are
compared on common random numbers, and at each level of the axes that it does not name (``only`` restricts
these). A check holds at a point if the confidence interval of its mean lies inside the required range, fails
if it lies outside, is too close to tell if it contains the bound and ends within ``margin`` of it, and is
undecided otherwise. The margin is by default the largest change of the expression when one of its measures
changes by 1 %. A claim holds if all its checks hold at all points, and fails
if any check fails at any point. A check with ``decides = false`` is shown but does not affect the verdict,
for statements that contradict the paper's own table.

This applies within one set-up: one level for each axis that the paper leaves ``open``
(:mod:`airwnd.study.axis`). A claim is judged in every set-up. Only axes on which its deciding
checks depend form set-ups for it, and a set-up that no deciding check covers, because of ``only``, does not
count. :func:`airwnd.study.reproduce.verdict.over_setups` combines the verdicts of all set-ups.

A preview compares only means, and never fails.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, field

from airwnd.study.bounds import Bounds
from airwnd.study.reader import (
    Digits,
    Entry,
    Id,
    Mistake,
    Text,
    Unit,
    Words,
    distinct,
    load,
    placed,
)
from airwnd.study.reproduce.expression import Expression, Lookup, Place
from airwnd.study.reproduce.paper import Paper
from airwnd.study.reproduce.regions import SetUp, describe
from airwnd.study.reproduce.verdict import Verdict, over_setups, together
from airwnd.study.space import Space
from airwnd.study.statistics import CONFIDENCE, Interval, interval
from airwnd.support.errors import InputError

FILE = "claims.toml"

MARGIN = 0.01
"""Change of a measure whose effect on an expression is too close to tell: the papers print three digits."""

_REQUIREMENTS = ("above", "below", "between", "equals")
_ONE_REQUIREMENT: dict[str, Any] = {"oneOf": [{"required": [key]} for key in _REQUIREMENTS]}


class CheckEntry(Entry, frozen=True):
    """A ``[[claim.check]]``: an expression with a requirement."""

    text: Text
    expression: Annotated[Text, Meta(description="Arithmetic over measures at levels of the axes.")]
    above: float | None = None
    below: float | None = None
    between: Annotated[tuple[float, float] | None, Meta(description="Minimum and maximum value.")] = None
    equals: float | None = None
    tolerance: Annotated[float, Meta(description="Widens the requirement.", ge=0)] = 0.0
    because: Annotated[str, Meta(description="Reason for the requirement.")] = ""
    margin: Annotated[
        Annotated[float, Meta(ge=0)] | None,
        Meta(
            description="Distance from the bound within which a value is too close to tell; default: the "
            "change of the expression with 1 % of a measure."
        ),
    ] = None
    unit: Unit = ""
    digits: Digits = 1
    only: Annotated[
        dict[str, Words],
        Meta(description="Levels of axes that the expression does not name; default: all levels."),
    ] = field(default_factory=dict)
    decides: Annotated[bool, Meta(description="Whether the verdict depends on the check.")] = True

    def __post_init__(self) -> None:
        if sum(getattr(self, key) is not None for key in _REQUIREMENTS) != 1:
            raise Mistake("", "a check needs one of `above`, `below`, `between`, `equals`")
        if self.between and self.between[0] > self.between[1]:
            low, high = self.between
            raise Mistake("between", f"expected [low, high], found [{low:g}, {high:g}]")


LONGEST_CAUSE = 240
"""Maximum number of characters of a cause, which is one sentence."""

Cause = Annotated[str, Meta(max_length=LONGEST_CAUSE)]


class ClaimEntry(Entry, frozen=True):
    """A ``[[claim]]``."""

    id: Annotated[Id, Meta(description="Name of the claim, as in `paper.toml`.")]
    check: Annotated[
        tuple[Annotated[CheckEntry, Meta(extra_json_schema=_ONE_REQUIREMENT)], ...], Meta(min_length=1)
    ]
    text: Annotated[Text | None, Meta(description="The claim, if there is no `paper.toml`.")] = None
    source: Annotated[Text | None, Meta(description="Its source, if there is no `paper.toml`.")] = None
    note: Annotated[str, Meta(description="Note on the paper, such as where it contradicts itself.")] = ""
    note_full: Annotated[str, Meta(description="Note on our numbers; shown only with a full run.")] = ""
    cause: Annotated[
        Cause,
        Meta(description="Mechanism behind the verdict, in one sentence; shown only with a full run."),
    ] = ""

    def __post_init__(self) -> None:
        if not any(check.decides for check in self.check):
            raise Mistake("", f"claim {self.id} needs a [[claim.check]] that decides")


class ClaimsFile(Entry, frozen=True):
    """``claims.toml``: claims and their checks."""

    claim: Annotated[tuple[ClaimEntry, ...], Meta(min_length=1)]

    def __post_init__(self) -> None:
        distinct("[[claim]]", [claim.id for claim in self.claim])


@dataclass(frozen=True, slots=True)
class Requirement:
    """Required range of a value; `strict`: the ends are excluded (``above`` and ``below``)."""

    low: float
    high: float
    strict: bool
    text: str

    def judge(self, found: Interval, margin: float = 0.0) -> Verdict:
        """Compare an estimate with the requirement; `margin`: the distance that is too close to tell."""
        if math.isnan(found.mean):
            return Verdict.OPEN
        if self.strict:
            inside = found.low > self.low and found.high < self.high
            outside = found.high <= self.low or found.low >= self.high
        else:
            inside = found.low >= self.low and found.high <= self.high
            outside = found.high < self.low or found.low > self.high
        if inside or outside:
            return Verdict.HOLDS if inside else Verdict.FAILS
        contained = [bound for bound in (self.low, self.high) if found.low <= bound <= found.high]
        is_close = all(found.low >= bound - margin and found.high <= bound + margin for bound in contained)
        return Verdict.CLOSE if is_close else Verdict.OPEN

    def allows(self, value: float) -> bool:
        """Return whether an exact value, such as a number in the paper, meets the requirement."""
        return self.judge(Interval(value, value, value, 1)) is Verdict.HOLDS

    def preview(self, found: Interval) -> Verdict:
        """Compare only the mean with the requirement."""
        return Verdict.AGREES if self.allows(found.mean) else Verdict.UNSETTLED


@dataclass(frozen=True, slots=True)
class Check:
    """One check of a claim."""

    text: str
    expression: Expression
    requirement: Requirement
    because: str
    margin: float | None
    unit: str
    digits: int
    only: Mapping[str, Sequence[str]]
    decides: bool

    space: Space
    bounds: Bounds

    def places(self) -> list[tuple[Place, Place]]:
        """List the points of evaluation: a level of each axis not named, and the subset of relevant levels.

        Of points that differ only in axes that do not exist there, the first represents all.
        """
        found: dict[tuple[tuple[str, str], ...], tuple[Place, Place]] = {}
        for place in self.expression.places():
            if all(level in self.only.get(axis, [level]) for axis, level in place.items()):
                matters = self._matters(place)
                found.setdefault(tuple(matters.items()), (place, matters))
        return list(found.values())

    def _matters(self, place: Place) -> Place:
        exists: set[str] = set()
        for levels, fixed in self.expression.points(place):
            exists |= self.space.existing(levels).keys() - fixed
        return {axis: level for axis, level in place.items() if axis in exists}


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement of the paper.

    Attributes
    ----------
    note
        Note on the paper; empty: none.
    note_full
        Note on the numbers of a full run; empty: none.
    cause
        Mechanism behind the verdict of a full run; empty: not stated.
    """

    id: str
    text: str
    source: str
    note: str
    note_full: str
    cause: str
    checks: tuple[Check, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """A check at one point: our value, the paper's value, and the verdict on ours.

    `margin` is the distance from the bound within which our value is too close to tell.
    """

    place: Place
    found: Interval
    paper: float | None
    verdict: Verdict
    margin: float


@dataclass(frozen=True)
class CheckResult:
    """A check at all its points."""

    check: Check
    findings: tuple[Finding, ...]

    @cached_property
    def by_setup(self) -> Mapping[tuple[tuple[str, str], ...], Sequence[Finding]]:
        """The findings by their levels of the axes that the paper leaves open."""
        names = {axis.name for axis in self.check.space.open}
        found: dict[tuple[tuple[str, str], ...], list[Finding]] = {}
        for finding in self.findings:
            setup = tuple((axis, level) for axis, level in finding.place.items() if axis in names)
            found.setdefault(setup, []).append(finding)
        return found

    def at(self, setup: SetUp) -> list[Finding]:
        """Return the findings of a set-up."""
        levels = setup.items()
        return [each for key, found in self.by_setup.items() if levels >= set(key) for each in found]

    @cached_property
    def open(self) -> set[str]:
        """Open axes on which the check depends."""
        return {
            axis.name for axis in self.check.space.open for each in self.findings if axis.name in each.place
        }

    @cached_property
    def verdict(self) -> Verdict:
        """Verdict over all points of each set-up, and over all set-ups."""
        return over_setups(_by_setup([self]).values())

    @cached_property
    def paper_agrees(self) -> bool | None:
        """Whether the paper's own table satisfies the check; ``None``: the table lacks the numbers."""
        values = [finding.paper for finding in self.findings if finding.paper is not None]
        return all(map(self.check.requirement.allows, values)) if values else None


@dataclass(frozen=True)
class ClaimResult:
    """A claim with the results of its checks."""

    claim: Claim
    checks: tuple[CheckResult, ...]

    @cached_property
    def setups(self) -> list[tuple[SetUp, Verdict]]:
        """The verdict of all deciding checks in each set-up in which the claim is judged."""
        found = _by_setup([result for result in self.checks if result.check.decides])
        return [(dict(setup), verdict) for setup, verdict in found.items()]

    @cached_property
    def verdict(self) -> Verdict:
        """Verdict over all set-ups."""
        return over_setups([verdict for _, verdict in self.setups])

    @cached_property
    def where(self) -> str:
        """Description of the set-ups in which it holds, or agrees so far; empty: nothing is left open."""
        space, setups = self.checks[0].check.space, self.setups
        every = [setup for setup, _ in setups]
        if len(every) == 1 and not every[0]:
            return ""
        good = [setup for setup, verdict in setups if verdict in (Verdict.HOLDS, Verdict.AGREES)]
        names = {axis for setup in every for axis in setup}
        return describe(good, every, [axis for axis in space.open if axis.name in names])


def _by_setup(results: Sequence[CheckResult]) -> dict[tuple[tuple[str, str], ...], Verdict]:
    """Judge checks together in each set-up of the axes on which they depend, if any check covers it."""
    if not results:
        return {}
    found = {}
    for setup in results[0].check.space.setups(set().union(*(result.open for result in results))):
        findings = [finding for result in results for finding in result.at(setup)]
        if findings:
            found[tuple(setup.items())] = together(finding.verdict for finding in findings)
    return found


Confidence = Callable[[int], float]
"""Returns the confidence level of an interval over a number of seeds."""


def judge(
    claim: Claim,
    ours: Lookup,
    paper: Lookup,
    *,
    preview: bool = False,
    confidence: Confidence = lambda _: CONFIDENCE,
) -> ClaimResult:
    """Judge a claim on the results of several seeds.

    Parameters
    ----------
    claim
        The claim.
    ours
        Measures of our runs, one value for each seed.
    paper
        The paper's table, with single values; raises ``KeyError`` for missing values.
    preview
        Whether the runs are too few or too short for a decision.
    confidence
        Confidence level of the intervals, by the number of seeds.
    """
    return ClaimResult(
        claim,
        tuple(_judge(check, ours, paper, None if preview else confidence) for check in claim.checks),
    )


def _judge(check: Check, ours: Lookup, paper: Lookup, confidence: Confidence | None) -> CheckResult:
    findings = []
    for place, matters in check.places():
        values = check.expression.values(place, ours).tolist()
        level = CONFIDENCE if confidence is None else confidence(len(values))
        found = interval(values, check.bounds, level)
        printed: float | None
        try:
            (printed,) = check.expression.values(place, paper).tolist()
        except KeyError:
            printed = None
        margin = _margin(check, place, ours)
        if confidence is None:
            verdict = check.requirement.preview(found)
        else:
            verdict = check.requirement.judge(found, margin)
        findings.append(Finding(matters, found, printed, verdict, margin))
    return CheckResult(check, tuple(findings))


def _margin(check: Check, place: Place, ours: Lookup) -> float:
    if check.margin is not None:
        return check.margin
    found = check.expression.sensitivity(place, ours, MARGIN)
    return found if math.isfinite(found) else 0.0


def load_claims(path: Path, paper: Paper, space: Space, measures: Mapping[str, Bounds]) -> tuple[Claim, ...]:
    """Read ``claims.toml``; arguments as for :func:`checked_claims`."""
    return checked_claims(load(path, ClaimsFile).claim, path, paper, space, measures)


def checked_claims(
    entries: Sequence[ClaimEntry], path: Path, paper: Paper, space: Space, measures: Mapping[str, Bounds]
) -> tuple[Claim, ...]:
    """Check claims and parse their expressions.

    Parameters
    ----------
    entries, path
        The claims, and their file, for messages.
    paper
        The paper with all its claims.
    space
        The axes.
    measures
        Measures with the range of their possible values.
    """
    claims = []
    for index, entry in enumerate(entries):
        with placed(str(path), f"claim[{index}]"):
            text, source = _stated(entry, paper)
        checks = []
        for number, check in enumerate(entry.check):
            with placed(str(path), f"claim[{index}].check[{number}]"):
                checks.append(_check(check, space, measures))
        claims.append(Claim(entry.id, text, source, entry.note, entry.note_full, entry.cause, tuple(checks)))
    return tuple(claims)


def _stated(entry: ClaimEntry, paper: Paper) -> tuple[str, str]:
    """Return the text and source of a claim: those of ``paper.toml``, otherwise those of the entry."""
    if not paper.claims:
        if entry.text is None:
            raise Mistake("", "`text` is missing")
        return entry.text, entry.source or ""
    stated = paper.statement(entry.id)
    if not stated:
        known = ", ".join(each.id for each in paper.claims)
        raise Mistake("id", f"the paper makes no claim {entry.id}; paper.toml has {known}")
    for key in ("text", "source"):
        if getattr(entry, key) is not None:
            raise Mistake(key, f"paper.toml has it for claim {entry.id}")
    return stated.text, stated.where


def _check(entry: CheckEntry, space: Space, measures: Mapping[str, Bounds]) -> Check:
    levels = space.levels
    only = {axis: tuple(str(level) for level in chosen) for axis, chosen in entry.only.items()}
    for axis, chosen in only.items():
        if axis not in levels:
            raise Mistake("only", f"there is no axis {axis}; the axes are {', '.join(levels) or 'none'}")
        if other := next((level for level in chosen if level not in levels[axis]), None):
            raise Mistake("only", f"{axis} has no level {other}; its levels are {', '.join(levels[axis])}")
        distinct(f"the levels of `{axis}`", chosen, "only")
    try:
        expression = Expression.parse(entry.expression, levels, tuple(measures))
    except InputError as error:
        raise Mistake("expression", str(error)) from None
    check = Check(
        text=entry.text,
        expression=expression,
        requirement=requirement(entry),
        because=entry.because,
        margin=entry.margin,
        unit=entry.unit,
        digits=entry.digits,
        only=only,
        decides=entry.decides,
        space=space,
        bounds=expression.bounds(measures),
    )
    low, high = check.bounds
    if not (low <= high and low < math.inf and high > -math.inf):
        raise Mistake("expression", "it has no finite value")
    if not check.places():
        raise Mistake("", "`only` and the expression leave no point at which to evaluate the check")
    return check


def requirement(entry: CheckEntry) -> Requirement:
    """Return the required range of a check."""
    tolerance = entry.tolerance
    unit = f" {entry.unit}" if entry.unit else ""
    within = f" ± {tolerance:g}" if tolerance else ""
    if entry.above is not None:
        bound = entry.above - tolerance
        return Requirement(bound, math.inf, strict=True, text=f"> {bound:g}{unit}")
    if entry.below is not None:
        bound = entry.below + tolerance
        return Requirement(-math.inf, bound, strict=True, text=f"< {bound:g}{unit}")
    if entry.equals is not None:
        low = high = entry.equals
        text = f"{low:g}"
    else:
        low, high = entry.between or (math.nan, math.nan)
        text = f"{low:g} to {high:g}"
    return Requirement(low - tolerance, high + tolerance, strict=False, text=f"{text}{within}{unit}")
