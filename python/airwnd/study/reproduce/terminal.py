"""Output of a reproduction on the terminal: tables side by side, and verdicts with their numbers."""

import textwrap
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from airwnd.study.reproduce.claims import CheckResult, ClaimResult, Finding
from airwnd.study.reproduce.measure import Measure
from airwnd.study.reproduce.regions import setup_text
from airwnd.study.reproduce.runner import Results
from airwnd.study.reproduce.tables import side_by_side
from airwnd.study.reproduce.verdict import Verdict, together
from airwnd.study.reproduce.words import (
    count_text,
    effort_text,
    finding_text,
    place_text,
    setups_text,
    spread_of_findings,
)
from airwnd.study.statistics import MIN_SEEDS
from airwnd.text.terminal import Column, print_wrapped, sheets

_STYLES = {
    Verdict.HOLDS: "bold green",
    Verdict.PART: "bold cyan",
    Verdict.FAILS: "bold red",
    Verdict.CLOSE: "bold magenta",
    Verdict.OPEN: "bold yellow",
    Verdict.AGREES: "bold blue",
    Verdict.UNSETTLED: "bold blue",
}

# Labels of levels are wrapped at this length.
_LABEL = 14


def show(results: Results, console: Console) -> None:
    """Print the tables and the claims."""
    experiment, space = results.experiment, results.experiment.space
    console.print()
    print_wrapped(experiment.title, console, "bold")
    print_wrapped(f"{experiment.paper.title}, {experiment.place}", console)
    if space.open:
        print_wrapped(f"Tables show one set-up: {setup_text(space.shown_setup, space.open)}", console)
    console.print()
    for measure in experiment.measures:
        _side_by_side(results, measure, console)
    claims = results.claims()
    if claims:
        console.print(Text(f"Claims ({effort_text(results.effort)}); {_how(results)}\n", style="bold"))
        console.print(_claims(claims, full=results.effort.full))


def _how(results: Results) -> str:
    """Describe the basis of the verdicts."""
    if results.effort.preview:
        return "comparison of means, no verdicts"
    return "[95 % intervals] of values paired by seed"


def show_verdicts(done: Sequence[Results], console: Console) -> None:
    """Print a line for each claim of several experiments."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    for _ in range(4):
        grid.add_column(overflow="fold")
    for results in done:
        for result in results.claims():
            verdict = _verdict(result.verdict)
            text = Text(result.claim.text)
            if setups := setups_text(result):
                text.append(f" [{setups}]", style="dim")
            grid.add_row(results.experiment.name, verdict, result.claim.id, text)
    console.print(grid)


def show_counts(done: Sequence[Results], console: Console) -> None:
    """Print the claims by verdict, a line for each verdict."""
    by_claim: dict[tuple[str, str], list[Verdict]] = {}
    for results in done:
        for result in results.claims():
            key = results.experiment.paper.key, result.claim.id
            by_claim.setdefault(key, []).append(result.verdict)
    verdicts = {key: together(found) for key, found in by_claim.items()}
    for verdict in Verdict:
        names = [name for (_, name), found in verdicts.items() if found is verdict]
        if names:
            of = f"{len(names)} of {count_text(len(verdicts), 'claim')}"
            print_wrapped(f"{verdict}: {of} ({', '.join(names)})", console, _STYLES[verdict])


def _side_by_side(results: Results, measure: Measure, console: Console) -> None:
    layout = side_by_side(results, measure, results.experiment.space.shown)
    if not layout.rows:
        return
    unit = f" ({measure.unit})" if measure.unit else ""
    spread = " ± half of the 95 % interval" if results.effort.seeds >= MIN_SEEDS else ""
    has_paper = any(cell.paper is not None for _, row in layout.rows for cell in row)
    sources = "paper | ours" if has_paper else "ours"
    print_wrapped(f"{measure.label}{unit}: {sources}{spread}", console, "bold")
    heads = [
        Column(head, [names[index] for names, _ in layout.rows], is_name=True)
        for index, head in enumerate(layout.heads)
    ]
    pairs = []
    for index, label in enumerate(layout.columns):
        cells = [row[index] for _, row in layout.rows]
        papers = [cell.paper_text for cell in cells]
        ours = [f"{cell.ours_text} {cell.spread_text}".strip() for cell in cells]
        head = textwrap.wrap(label, _LABEL)
        if has_paper:
            pairs.append([Column("\n".join([*head, "paper"]), papers, style="dim"), Column("ours", ours)])
        else:
            pairs.append([Column("\n".join(head) or "ours", ours)])
    sheets(heads, pairs, console)


def _claims(claims: list[ClaimResult], *, full: bool) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    # The verdict of a check is indented by two spaces.
    verdicts = [result.verdict.value for result in claims]
    verdicts += [f"  {check.verdict.value}" for result in claims for check in result.checks]
    grid.add_column(min_width=max(map(len, verdicts)), overflow="fold")
    grid.add_column(overflow="fold")
    for result in claims:
        text = Text(f"{result.claim.id}  {result.claim.text}", style="bold")
        if setups := setups_text(result):
            text.append(f"\n{setups}", style="not bold")
        grid.add_row(_verdict(result.verdict), text)
        for check in result.checks:
            grid.add_row(*_check(check))
        if full and result.claim.cause:
            grid.add_row("", Text(f"Why: {result.claim.cause}"))
        for note in (result.claim.note, result.claim.note_full if full else ""):
            if note:
                grid.add_row("", Text(note, style="italic"))
        grid.add_row("", "")
    return grid


def _check(result: CheckResult) -> tuple[Text, Text]:
    check = result.check
    line = Text(f"{check.text}: {check.requirement.text}; ours {spread_of_findings(result)}")
    if not check.decides:
        line.append(" (does not affect the verdict)", style="dim")
    if result.paper_agrees is False:
        line.append(" The paper's own table contradicts this.", style="italic")
    unmet = [each for each in result.findings if each.verdict not in (Verdict.HOLDS, Verdict.AGREES)]
    shown = [each for each in result.at(check.space.shown) if each in unmet]
    if len(result.findings) > 1:
        for finding in shown:
            line.append("\n  ").append(_unmet(result, finding))
    if others := len(unmet) - len(shown):
        line.append(f"\n  and {others} in other set-ups, see the page", style="dim")
    return Text("  ").append(_verdict(result.verdict, strong=False)), line


def _unmet(result: CheckResult, finding: Finding) -> Text:
    where = f"{place_text(finding.place)}: {finding_text(result.check, finding)} "
    return Text(where).append(_verdict(finding.verdict, strong=False))


def _verdict(verdict: Verdict, *, strong: bool = True) -> Text:
    style = _STYLES[verdict]
    return Text(verdict.value, style=style if strong else style.removeprefix("bold "))
