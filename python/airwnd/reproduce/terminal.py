"""A reproduction on the terminal: tables side by side, and the verdicts with their numbers."""

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from airwnd.reproduce.claims import CheckResult, ClaimResult, Finding
from airwnd.reproduce.measure import Measure
from airwnd.reproduce.regions import setup_text
from airwnd.reproduce.runner import Results
from airwnd.reproduce.statistics import LEAST_SEEDS
from airwnd.reproduce.tables import side_by_side
from airwnd.reproduce.verdict import Verdict
from airwnd.reproduce.words import (
    effort_text,
    finding_text,
    place_text,
    setups_text,
    spread_of_findings,
)

_STYLES = {
    Verdict.HOLDS: "bold green",
    Verdict.PART: "bold cyan",
    Verdict.FAILS: "bold red",
    Verdict.OPEN: "bold yellow",
    Verdict.AGREES: "bold blue",
    Verdict.UNSETTLED: "bold blue",
}


def show(results: Results, console: Console) -> None:
    """Print the tables and the claims."""
    experiment, space = results.experiment, results.experiment.space
    console.print(Text(f"\n{experiment.title}", style="bold"))
    console.print(Text(f"{experiment.paper.title}, {experiment.place}"))
    if space.open:
        console.print(Text(f"Tables show one set-up: {setup_text(space.shown_setup, space.open)}"))
    for measure in experiment.measures:
        console.print(_side_by_side(results, measure))
    claims = results.claims()
    if claims:
        console.print(Text(f"Claims ({effort_text(results.effort)}); {_how(results)}\n", style="bold"))
        console.print(_claims(claims, full=results.effort.full))


def _how(results: Results) -> str:
    """Say what the verdicts rest on."""
    if results.effort.preview:
        return "means compared, nothing is decided"
    return "[95 % intervals] of values paired by seed"


def show_verdicts(done: Sequence[Results], console: Console) -> None:
    """Print one line for each claim of several experiments."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    for _ in range(3):
        grid.add_column(no_wrap=True)
    grid.add_column()
    for results in done:
        for result in results.claims():
            verdict = _verdict(result.verdict)
            text = Text(result.claim.text)
            if setups := setups_text(result):
                text.append(f" [{setups}]", style="dim")
            grid.add_row(results.experiment.name, verdict, result.claim.id, text)
    console.print(grid)


def _side_by_side(results: Results, measure: Measure) -> Table:
    layout = side_by_side(results, measure, results.experiment.space.shown)
    unit = f" ({measure.unit})" if measure.unit else ""
    spread = " ± half of the 95 % interval" if results.effort.seeds >= LEAST_SEEDS else ""
    table = Table(
        title=f"{measure.label}{unit}: paper | ours{spread}",
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    for head in layout.heads:
        table.add_column(head, justify="right", no_wrap=True)
    for column in layout.columns:
        table.add_column(column or "paper", justify="right", style="dim", no_wrap=True)
        table.add_column("" if column else "ours", justify="right", no_wrap=True)
    for heads, cells in layout.rows:
        numbers = [(cell.paper_text, f"{cell.ours_text} {cell.spread_text}".strip()) for cell in cells]
        table.add_row(*heads, *(text for pair in numbers for text in pair))
    return table


def _claims(claims: list[ClaimResult], *, full: bool) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column()
    for result in claims:
        text = Text(f"{result.claim.id}  {result.claim.text}", style="bold")
        if setups := setups_text(result):
            text.append(f"\n{setups}", style="not bold")
        grid.add_row(_verdict(result.verdict), text)
        for check in result.checks:
            grid.add_row(*_check(check))
        for note in (result.claim.note, result.claim.note_full if full else ""):
            if note:
                grid.add_row("", Text(note, style="italic"))
        grid.add_row("", "")
    return grid


def _check(result: CheckResult) -> tuple[Text, Text]:
    check = result.check
    line = Text(f"{check.text}: {check.requirement.text}; ours {spread_of_findings(result)}")
    if not check.decides:
        line.append(" (shown, does not decide)", style="dim")
    if result.paper_agrees is False:
        line.append(" The paper's own table contradicts this.", style="italic")
    trouble = [each for each in result.findings if each.verdict not in (Verdict.HOLDS, Verdict.AGREES)]
    shown = [each for each in result.at(check.space.shown) if each in trouble]
    if len(result.findings) > 1:
        for finding in shown:
            line.append("\n  ").append(_trouble(result, finding))
    if others := len(trouble) - len(shown):
        line.append(f"\n  and {others} in other set-ups, see the page", style="dim")
    return Text("  ").append(_verdict(result.verdict, strong=False)), line


def _trouble(result: CheckResult, finding: Finding) -> Text:
    where = f"{place_text(finding.place)}: {finding_text(result.check, finding)} "
    return Text(where).append(_verdict(finding.verdict, strong=False))


def _verdict(verdict: Verdict, *, strong: bool = True) -> Text:
    style = _STYLES[verdict]
    return Text(verdict.value, style=style if strong else style.removeprefix("bold "))
