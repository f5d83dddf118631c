"""Formatting of results, shared by terminal and page."""

import math
from collections import Counter

from airwnd.scenario.scenario import as_toml
from airwnd.study.reproduce.claims import Check, CheckResult, ClaimResult, Finding
from airwnd.study.reproduce.expression import Place
from airwnd.study.reproduce.runner import Effort
from airwnd.study.reproduce.verdict import Verdict
from airwnd.study.statistics import Interval


def count_text(number: int, thing: str) -> str:
    """Format a count with its noun: ``1 seed``, ``2 seeds``."""
    return f"{number} {thing}{'s' * (number != 1)}"


def effort_text(effort: Effort) -> str:
    """Describe the effort: ``full, 20 seeds``, ``5 of 20 seeds`` or ``preview, 2 of 20 seeds, shortened``.

    If seeds are added until the claims are decided: ``full, 20 seeds and more, until decided``. Changes by
    ``--set`` are named: ``20 seeds, changed by mac.scheduler=rr``.
    """
    seeds = f"{effort.seeds} of {effort.specified}" if effort.seeds < effort.specified else f"{effort.seeds}"
    more = " and more, until decided" if effort.decide else ""
    counted = f"{seeds} seed{'s' * (effort.specified != 1)}{more}"
    parts = ["full" * effort.full, "preview" * effort.preview, counted, "shortened" * bool(effort.changes)]
    changed = f"changed by {', '.join(effort.overrides)}" if effort.overrides else ""
    return ", ".join(part for part in (*parts, changed) if part)


def seeds_text(result: ClaimResult) -> str:
    """Return the number of seeds behind the deciding values of a claim: ``12`` or ``12 to 768``."""
    numbers = {
        finding.found.n for check in result.checks if check.check.decides for finding in check.findings
    }
    return " to ".join(map(str, sorted({min(numbers), max(numbers)})))


def setups_text(result: ClaimResult) -> str:
    """Return ``holds in 2 of 6 set-ups (Radius 500 m), not decided in 1``; empty: nothing is left open."""
    if not result.where:
        return ""
    counts = Counter(verdict for _, verdict in result.setups)
    every, good = counts.total(), counts[Verdict.HOLDS] + counts[Verdict.AGREES]
    text = f"{'agrees' if result.verdict.preview else 'holds'} in {good} of {count_text(every, 'set-up')}"
    which = f" ({result.where})" if 0 < good < every else ""
    others = [f", {each} in {counts[each]}" for each in (Verdict.CLOSE, Verdict.OPEN) if counts[each]]
    return text + which + "".join(others)


def place_text(place: Place) -> str:
    """Format a point of evaluation, as ``users = 20``."""
    return ", ".join(f"{axis} = {level}" for axis, level in place.items()) or "overall"


def interval_text(found: Interval, digits: int) -> str:
    """Format a mean with its interval, as ``12.3 [10.1, 14.5]``."""
    mean = f"{found.mean:z.{digits}f}"
    if math.isinf(found.half_width):
        return mean
    return f"{mean} [{found.low:z.{digits}f}, {found.high:z.{digits}f}]"


def finding_text(check: Check, finding: Finding) -> str:
    """Format the mean of a finding with its interval."""
    if math.isnan(finding.found.mean):
        return "undefined"
    return interval_text(finding.found, check.digits)


def spread_of_findings(result: CheckResult) -> str:
    """Format the mean of a single point, or the range of the means of several points."""
    if len(result.findings) == 1:
        return finding_text(result.check, result.findings[0])
    means = [finding.found.mean for finding in result.findings]
    digits = result.check.digits
    return f"{min(means):z.{digits}f} to {max(means):z.{digits}f}"


def plain_value(value: object) -> str:
    """Format a value that an experiment sets, as in a scenario file."""
    return value if isinstance(value, str) else as_toml(value)
