"""Answers of an evaluation on the terminal."""

from rich.console import Console
from rich.text import Text

from airwnd.study.evaluate.report import AnswerText, CriterionText, Report, SuiteText
from airwnd.study.evaluate.suite import LEVELS
from airwnd.study.evaluate.worst import place_text, value_text, worst
from airwnd.text.terminal import print_wrapped, wrapped

_STYLES: dict[AnswerText, str] = {
    "meets": "bold green",
    "does not": "bold red",
    "not evaluated": "bold yellow",
}
_INDENT = 4


def show(report: Report, console: Console) -> None:
    """Print the answer to each criterion, and the worst figure of each check that is not met."""
    for suite in report.suites:
        console.print()
        print_wrapped(f"{report.candidate.name}: {suite.title}", console, "bold")
        wide = max(len(each.id) for each in suite.criteria)
        for criterion in suite.criteria:
            answer = Text(f"{criterion.answer:<13}", style=_STYLES[criterion.answer])
            title = f"  {criterion.title} ({LEVELS[criterion.level]})"
            console.print(Text(f"{criterion.id:<{wide}}  ").append(answer).append(title), soft_wrap=True)
            for line in _reasons(criterion, suite):
                reason = wrapped(line, console.width, _INDENT, _INDENT + 2)
                console.print(Text(reason, style="dim"), soft_wrap=True)
        counts = [f"{_count(suite.criteria, answer)} {answer}" for answer in _STYLES]
        console.print(f"{suite.name}: {', '.join(counts)}")


def _count(criteria: list[CriterionText], answer: AnswerText) -> int:
    return sum(each.answer == answer for each in criteria)


def _reasons(criterion: CriterionText, suite: SuiteText) -> list[str]:
    if criterion.answer == "not evaluated":
        return [criterion.reason]
    found = []
    for check in criterion.checks:
        if check.decides and check.answer == "does not":
            result = worst(check)
            place = place_text(result, suite.settings.get(check.scenario, {}))
            where = f" ({place})" if place else ""
            found.append(f"{check.text}: {value_text(check, result)}, required {check.required}{where}")
    return found
