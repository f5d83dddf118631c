"""``airwnd reproduce``."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from airwnd.cli.options import JOBS, PROGRESS, bar

if TYPE_CHECKING:
    from airwnd.reproduce.design import Experiment
    from airwnd.reproduce.runner import Effort


@click.command()
@click.argument("name", metavar="PAPER[/FIGURE]")
@click.option(
    "--seeds", type=click.IntRange(1), help="Seeds 1 to this; the experiment says how many by default."
)
@JOBS
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Where plots, page and finished runs go; out/PAPER/FIGURE by default.",
)
@click.option("--quick", is_flag=True, help="Shorter runs and fewer seeds, for a first look.")
@PROGRESS
def reproduce(
    name: str, seeds: int | None, jobs: int | None, out: Path | None, quick: bool, progress: bool | None
) -> None:
    """Run a paper's experiment and show it beside the paper.

    An interrupted reproduction goes on where it stopped when it is started again.
    """
    from airwnd.reproduce.design import Experiment
    from airwnd.reproduce.runner import Effort, find

    experiments = [Experiment.load(folder) for folder in find(name)]
    for experiment in experiments:
        folder = Path("out") / experiment.name
        if out:
            folder = out / experiment.folder.name if len(experiments) > 1 else out
        effort = Effort.of(experiment, seeds, jobs, quick=quick)
        _reproduce(experiment, effort, folder, progress)


def _reproduce(experiment: "Experiment", effort: "Effort", out: Path, progress: bool | None) -> None:
    from rich.console import Console

    from airwnd.reproduce import report, runner, terminal, words

    try:
        with bar(experiment.name, progress) as tell:
            results = runner.reproduce(experiment, effort, out, tell)
    except KeyboardInterrupt:
        click.echo(f"finished runs are kept in {out / 'runs'}; the same command goes on from there", err=True)
        raise
    terminal.show(results, Console())
    page = report.write(results, out)
    took = f"{words.seconds_text(results.elapsed_s)} with {effort.jobs} jobs"
    kept = f", {results.reused} of them finished earlier" if results.reused else ""
    click.echo(f"{results.runs} runs in {took}{kept}\nplots and page: {page}")
