"""Answers of an evaluation on the terminal."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from airwnd.study.evaluate.report import AnswerText, CriterionText, Report
from airwnd.study.evaluate.suite import LEVELS
from airwnd.study.evaluate.worst import place_text, value_text, worst
from airwnd.text.terminal import print_wrapped

_STYLES: dict[AnswerText, str] = {
    "meets": "bold green",
    "does not": "bold red",
    "not evaluated": "bold yellow",
}


def show(report: Report, console: Console) -> None:
    """Print the answer to each criterion, and the worst figure of each that is not met."""
    for suite in report.suites:
        console.print()
        print_wrapped(f"{report.candidate.name}: {suite.title}", console, "bold")
        grid = Table.grid(padding=(0, 2, 0, 0))
        for _ in range(4):
            grid.add_column(overflow="fold")
        for criterion in suite.criteria:
            answer = Text(criterion.answer, style=_STYLES[criterion.answer])
            grid.add_row(criterion.id, LEVELS[criterion.level], answer, Text(criterion.title))
            for line in _reasons(criterion, suite.settings):
                grid.add_row("", "", "", Text(line, style="dim"))
        console.print(grid)
        counts = [f"{_count(suite.criteria, answer)} {answer}" for answer in _STYLES]
        console.print(f"{suite.name}: {', '.join(counts)}")


def _count(criteria: list[CriterionText], answer: AnswerText) -> int:
    return sum(each.answer == answer for each in criteria)


def _reasons(criterion: CriterionText, settings: dict[str, dict[str, str]]) -> list[str]:
    if criterion.answer == "not evaluated":
        return [criterion.reason]
    return [
        f"{check.text}: {value_text(check, found)}, required {check.required}"
        + (f" ({place})" if (place := place_text(found, settings.get(check.scenario, {}))) else "")
        for check in criterion.checks
        if check.decides and check.answer == "does not"
        for found in [worst(check)]
    ]
