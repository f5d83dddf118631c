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

from airwnd.errors import InputError
from airwnd.reproduce.expression import Expression, Lookup, Place
from airwnd.reproduce.paper import Paper
from airwnd.reproduce.statistics import Interval, interval
from airwnd.reproduce.strict import Table


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


def judge(claim: Claim, by_seed: Sequence[Lookup], paper: Lookup) -> ClaimResult:
    """Judge a claim on the results of several seeds.

    Parameters
    ----------
    claim
        What is claimed.
    by_seed
        For each seed, the measures of its runs.
    paper
        The paper's table; raises ``KeyError`` for what it does not have.
    """
    return ClaimResult(claim, tuple(_judge(check, by_seed, paper) for check in claim.checks))


def _judge(check: Check, by_seed: Sequence[Lookup], paper: Lookup) -> CheckResult:
    findings = []
    for place in check.places():
        values = [check.expression.value(place, lookup) for lookup in by_seed]
        found = interval(values)
        try:
            printed = check.expression.value(place, paper)
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
    table = Table.load(path)
    claims = tuple(_claim(each, paper, levels, measures) for each in table.tables("claim"))
    table.finish()
    return claims


def _claim(table: Table, paper: Paper, levels: Mapping[str, Sequence[str]], measures: Sequence[str]) -> Claim:
    name = table.take("id", str)
    stated = paper.statement(name)
    if paper.claims and not stated:
        known = ", ".join(each.id for each in paper.claims)
        raise table.error(f"id: the paper makes no claim {name}; paper.toml has {known}")
    claim = Claim(
        id=name,
        text=stated.text if stated else table.take("text", str),
        source=stated.where if stated else table.take("source", str),
        note=table.take("note", str, ""),
        checks=tuple(_check(each, levels, measures) for each in table.tables("check")),
    )
    if not any(check.decides for check in claim.checks):
        raise table.error(f"claim {claim.id} needs a [[claim.check]] that decides")
    return claim


def _check(table: Table, levels: Mapping[str, Sequence[str]], measures: Sequence[str]) -> Check:
    unit = table.take("unit", str, "")
    only = {axis: tuple(str(level) for level in chosen) for axis, chosen in table.table("only").items()}
    for axis, chosen in only.items():
        if axis not in levels or not set(chosen) <= set(levels[axis]):
            raise table.error(f"only: {axis} = {list(chosen)} is not among {dict(levels)}")
    text = table.take("expression", str)
    try:
        expression = Expression.parse(text, levels, measures)
    except InputError as error:
        raise table.error(f"expression: {error}") from None
    return Check(
        text=table.take("text", str),
        expression=expression,
        requirement=_requirement(table, unit),
        because=table.take("because", str, ""),
        unit=unit,
        digits=table.take("digits", int, 1),
        only=only,
        decides=table.take("decides", bool, default=True),
    )


def _requirement(table: Table, unit: str) -> Requirement:
    tolerance = table.number("tolerance", 0.0)
    given = [key for key in ("above", "below", "between", "equals") if key in table]
    if len(given) != 1:
        raise table.error("a check needs one of `above`, `below`, `between`, `equals`")
    unit = f" {unit}" if unit else ""
    within = f" ± {tolerance:g}" if tolerance else ""
    match given[0]:
        case "above":
            bound = table.number("above")
            return Requirement(
                bound - tolerance, math.inf, strict=True, text=f"> {bound - tolerance:g}{unit}"
            )
        case "below":
            bound = table.number("below")
            return Requirement(
                -math.inf, bound + tolerance, strict=True, text=f"< {bound + tolerance:g}{unit}"
            )
        case "equals":
            value = table.number("equals")
            low, high = value - tolerance, value + tolerance
            return Requirement(low, high, strict=False, text=f"{value:g}{within}{unit}")
    ends = table.take("between", list)
    if len(ends) != 2 or not all(isinstance(end, int | float) for end in ends) or ends[0] > ends[1]:  # noqa: PLR2004
        raise table.error(f"between: expected [low, high], found {ends}")
    low, high = ends[0] - tolerance, ends[1] + tolerance
    return Requirement(low, high, strict=False, text=f"{ends[0]:g} to {ends[1]:g}{within}{unit}")
