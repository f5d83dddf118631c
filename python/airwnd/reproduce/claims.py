"""What a paper claims, as data, and whether it holds here.

``claims.toml`` lists claims; each has checks, and a check is an expression with a requirement::

    [[claim]]
    id = "A09"

    [[claim.check]]
    text = "autotuning above ARWA"
    expression = "throughput_kbps(method='autotuning') - throughput_kbps(method='arwa')"
    above = 0
    unit = "kbit/s"

What A09 says and where stands in the paper's ``paper.toml`` (:mod:`airwnd.reproduce.paper`); without such a
file a claim has a ``text`` and a ``source`` of its own, and with it neither. Its ``note`` tells where the
paper contradicts itself.

A requirement is ``above``, ``below``, ``between = [low, high]`` or ``equals``; ``tolerance`` widens it and
``because`` says why that much. An expression is evaluated seed by seed, so that settings are compared on
common random numbers, and at each level of the axes that it leaves open (``only`` restricts these). A check
holds at a place if the confidence interval of its mean lies inside what is required, fails if it lies
outside, and is not decided otherwise; a claim holds if all its checks hold everywhere and does not if any
fails anywhere. ``decides = false`` shows a check without letting it decide, for what a paper says against
its own table.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, field

from airwnd.errors import InputError
from airwnd.reproduce.expression import Expression, Lookup, Place
from airwnd.reproduce.paper import Paper
from airwnd.reproduce.reader import Digits, Entry, Mistake, Text, Words, load, placed
from airwnd.reproduce.statistics import Interval, interval

_REQUIREMENTS = ("above", "below", "between", "equals")
_ONE_REQUIREMENT: dict[str, Any] = {"oneOf": [{"required": [key]} for key in _REQUIREMENTS]}


class CheckEntry(Entry, frozen=True):
    """A ``[[claim.check]]``: an expression with a requirement."""

    text: Text
    expression: Annotated[Text, Meta(description="Arithmetic over measures at levels of the axes.")]
    above: float | None = None
    below: float | None = None
    between: Annotated[tuple[float, float] | None, Meta(description="Least and greatest value.")] = None
    equals: float | None = None
    tolerance: Annotated[float, Meta(description="Widens the requirement.", ge=0)] = 0.0
    because: Annotated[str, Meta(description="Why the requirement is what it is.")] = ""
    unit: str = ""
    digits: Digits = 1
    only: Annotated[
        dict[str, Words], Meta(description="Levels at which an open axis is looked at; all without it.")
    ] = field(default_factory=dict)
    decides: Annotated[bool, Meta(description="Whether the verdict depends on it.")] = True

    def __post_init__(self) -> None:
        if sum(getattr(self, key) is not None for key in _REQUIREMENTS) != 1:
            raise Mistake("", "a check needs one of `above`, `below`, `between`, `equals`")
        if self.between and self.between[0] > self.between[1]:
            low, high = self.between
            raise Mistake("between", f"expected [low, high], found [{low:g}, {high:g}]")


class ClaimEntry(Entry, frozen=True):
    """A ``[[claim]]``."""

    id: Annotated[Text, Meta(description="The claim's name, the same as in `paper.toml`.")]
    check: Annotated[
        tuple[Annotated[CheckEntry, Meta(extra_json_schema=_ONE_REQUIREMENT)], ...], Meta(min_length=1)
    ]
    text: Annotated[Text | None, Meta(description="What is claimed, without a `paper.toml`.")] = None
    source: Annotated[Text | None, Meta(description="Where it is claimed, without a `paper.toml`.")] = None
    note: Annotated[str, Meta(description="Where the paper contradicts itself.")] = ""

    def __post_init__(self) -> None:
        if not any(check.decides for check in self.check):
            raise Mistake("", f"claim {self.id} needs a [[claim.check]] that decides")


class ClaimsFile(Entry, frozen=True):
    """``claims.toml``: what is claimed, and how it is checked."""

    claim: Annotated[tuple[ClaimEntry, ...], Meta(min_length=1)]


class Verdict(StrEnum):
    """Whether a claim holds."""

    HOLDS = "holds"
    FAILS = "does not hold"
    OPEN = "not decided"


@dataclass(frozen=True, slots=True)
class Requirement:
    """Where a value must lie. An end is excluded if it is a bound to be above or below."""

    low: float
    high: float
    strict: bool
    text: str

    def judge(self, found: Interval) -> Verdict:
        """Compare an estimate."""
        if math.isnan(found.mean):
            return Verdict.OPEN
        if self.strict:
            inside = found.low > self.low and found.high < self.high
            outside = found.high <= self.low or found.low >= self.high
        else:
            inside = found.low >= self.low and found.high <= self.high
            outside = found.high < self.low or found.low > self.high
        return Verdict.HOLDS if inside else Verdict.FAILS if outside else Verdict.OPEN

    def allows(self, value: float) -> bool:
        """Judge a value known exactly, such as a number in the paper."""
        return self.judge(Interval(value, value, value, 1)) is Verdict.HOLDS


@dataclass(frozen=True, slots=True)
class Check:
    """One comparison of a claim."""

    text: str
    expression: Expression
    requirement: Requirement
    because: str
    unit: str
    digits: int
    only: Mapping[str, Sequence[str]]
    decides: bool

    def places(self) -> list[Place]:
        """Where it is evaluated."""
        return [
            place
            for place in self.expression.places()
            if all(level in self.only.get(axis, [level]) for axis, level in place.items())
        ]


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement of the paper; `note` tells where the paper contradicts itself."""

    id: str
    text: str
    source: str
    note: str
    checks: tuple[Check, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """A check at one place: ours, the paper's own value, and the verdict on ours."""

    place: Place
    found: Interval
    paper: float | None
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class CheckResult:
    """A check at all its places."""

    check: Check
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> Verdict:
        """Of all places together."""
        return together(finding.verdict for finding in self.findings)

    @property
    def paper_agrees(self) -> bool | None:
        """Whether the paper's own table satisfies the check; ``None`` if it does not have the numbers."""
        values = [finding.paper for finding in self.findings if finding.paper is not None]
        return all(map(self.check.requirement.allows, values)) if values else None


@dataclass(frozen=True, slots=True)
class ClaimResult:
    """A claim with the results of its checks."""

    claim: Claim
    checks: tuple[CheckResult, ...]

    @property
    def verdict(self) -> Verdict:
        """Of all deciding checks together."""
        return together(result.verdict for result in self.checks if result.check.decides)


def together(verdicts: Iterable[Verdict]) -> Verdict:
    """Combine: one failure fails, otherwise one open question leaves it open."""
    found = set(verdicts)
    for verdict in (Verdict.FAILS, Verdict.OPEN):
        if verdict in found:
            return verdict
    return Verdict.HOLDS


def judge(claim: Claim, ours: Lookup, paper: Lookup) -> ClaimResult:
    """Judge a claim on the results of several seeds.

    Parameters
    ----------
    claim
        What is claimed.
    ours
        The measures of our runs, one value for each seed.
    paper
        The paper's table, of one value each; raises ``KeyError`` for what it does not have.
    """
    return ClaimResult(claim, tuple(_judge(check, ours, paper) for check in claim.checks))


def _judge(check: Check, ours: Lookup, paper: Lookup) -> CheckResult:
    findings = []
    for place in check.places():
        found = interval(check.expression.values(place, ours).tolist())
        printed: float | None
        try:
            (printed,) = check.expression.values(place, paper).tolist()
        except KeyError:
            printed = None
        findings.append(Finding(place, found, printed, check.requirement.judge(found)))
    return CheckResult(check, tuple(findings))


def load_claims(
    path: Path, paper: Paper, levels: Mapping[str, Sequence[str]], measures: Sequence[str]
) -> tuple[Claim, ...]:
    """Read ``claims.toml``; a folder without one makes no claims."""
    if not path.exists():
        return ()
    claims = []
    for index, entry in enumerate(load(path, ClaimsFile).claim):
        with placed(str(path), f"claim[{index}]"):
            text, source = _stated(entry, paper)
        checks = []
        for number, check in enumerate(entry.check):
            with placed(str(path), f"claim[{index}].check[{number}]"):
                checks.append(_check(check, levels, measures))
        claims.append(Claim(entry.id, text, source, entry.note, tuple(checks)))
    return tuple(claims)


def _stated(entry: ClaimEntry, paper: Paper) -> tuple[str, str]:
    """Give a claim's text and source: the paper's, or, without a paper, the entry's own."""
    if not paper.claims:
        for key in ("text", "source"):
            if getattr(entry, key) is None:
                raise Mistake("", f"`{key}` is missing")
        return entry.text or "", entry.source or ""
    stated = paper.statement(entry.id)
    if not stated:
        known = ", ".join(each.id for each in paper.claims)
        raise Mistake("id", f"the paper makes no claim {entry.id}; paper.toml has {known}")
    for key in ("text", "source"):
        if getattr(entry, key) is not None:
            raise Mistake(key, f"paper.toml says it for claim {entry.id}")
    return stated.text, stated.where


def _check(entry: CheckEntry, levels: Mapping[str, Sequence[str]], measures: Sequence[str]) -> Check:
    only = {axis: tuple(str(level) for level in chosen) for axis, chosen in entry.only.items()}
    for axis, chosen in only.items():
        if axis not in levels or not set(chosen) <= set(levels[axis]):
            raise Mistake("only", f"{axis} = {list(chosen)} is not among {dict(levels)}")
    try:
        expression = Expression.parse(entry.expression, levels, measures)
    except InputError as error:
        raise Mistake("expression", str(error)) from None
    return Check(
        text=entry.text,
        expression=expression,
        requirement=_requirement(entry),
        because=entry.because,
        unit=entry.unit,
        digits=entry.digits,
        only=only,
        decides=entry.decides,
    )


def _requirement(entry: CheckEntry) -> Requirement:
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
