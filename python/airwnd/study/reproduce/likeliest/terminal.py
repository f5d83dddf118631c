"""Summary of a search on the terminal; the page has the rest."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from airwnd.study.reproduce.likeliest import judged
from airwnd.study.reproduce.likeliest.fit import PARTS, contradictions
from airwnd.study.reproduce.likeliest.report import Report, setup_text
from airwnd.study.reproduce.words import count_text
from airwnd.text.terminal import print_wrapped


def show(report: Report, console: Console) -> None:
    """Print the likeliest set-up, its fit, and what the numbers say about each axis."""
    found, fit = report.found, report.found.fit
    paper = found.choices.members[0].experiment.paper
    console.print()
    print_wrapped(f"{paper.key}: {paper.title}", console, "bold")
    print_wrapped(f"likeliest set-up: {setup_text(found, found.best)}", console)
    of = f"of the paper's {count_text(len(found.numbers), 'number')}"
    shares = fit.shares(fit.best)
    print_wrapped(f"{_shares(shares)} {of}", console)
    if found.left:
        print_wrapped(f"{_shares(found.predicted)} if each table is predicted from the others", console)
    grid = Table.grid(padding=(0, 2, 0, 2))
    for each in found.profiles:
        grid.add_row(found.choices.by_name[each.axis].label, str(each.status))
    console.print(grid)
    nowhere = [each for each in contradictions(fit) if not each.reached]
    print_wrapped(
        f"{count_text(len(nowhere), 'number')} more than {PARTS[-1]:.0%} off in every set-up that was run",
        console,
    )
    if report.claims:
        counted = judged.counts(report.claims).items()
        print_wrapped("claims there: " + ", ".join(f"{count} {name}" for name, count in counted), console)
    if not found.is_complete:
        print_wrapped("stopped by --budget; the same command continues", console)
    runs = f"{found.runs} runs, {found.runs - found.fresh} of them finished earlier"
    print_wrapped(f"{len(fit.setups)} of {found.total} set-ups, {runs}", console)


def _shares(shares: Sequence[float]) -> str:
    pairs = zip(PARTS, shares, strict=True)
    return ", ".join(f"{share:.0%} within {part:.0%}" for part, share in pairs)
