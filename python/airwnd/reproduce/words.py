"""Numbers in words, alike on the terminal and on the page."""

import math

from airwnd.reproduce.claims import Check, CheckResult, Finding
from airwnd.reproduce.expression import Place
from airwnd.scenario import as_toml


def place_text(place: Place) -> str:
    """Write ``users = 20``."""
    return ", ".join(f"{axis} = {level}" for axis, level in place.items()) or "overall"


def finding_text(check: Check, finding: Finding) -> str:
    """Write a mean with its interval, ``12.3 [10.1, 14.5]``."""
    found = finding.found
    if math.isnan(found.mean):
        return "undefined"
    mean = f"{found.mean:.{check.digits}f}"
    if math.isinf(found.half_width):
        return mean
    return f"{mean} [{found.low:.{check.digits}f}, {found.high:.{check.digits}f}]"


def spread_of_findings(result: CheckResult) -> str:
    """Write the mean of the one place, or the least and the greatest mean of several."""
    if len(result.findings) == 1:
        return finding_text(result.check, result.findings[0])
    means = [finding.found.mean for finding in result.findings]
    digits = result.check.digits
    return f"{min(means):.{digits}f} to {max(means):.{digits}f}"


def plain_value(value: object) -> str:
    """Write what an experiment sets, as one would in a scenario file."""
    return value if isinstance(value, str) else as_toml(value)
