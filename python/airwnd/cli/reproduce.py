"""``airwnd reproduce``."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from airwnd.cli.options import JOBS, PROGRESS, bar

if TYPE_CHECKING:
    from airwnd.reproduce.design import Experiment
    from airwnd.reproduce.runner import Effort, Results


@click.command()
@click.argument("names", metavar="PAPER[/FIGURE]...", nargs=-1)
@click.option("--all", "every", is_flag=True, help="All experiments of all papers.")
@click.option(
    "--seeds", type=click.IntRange(1), help="Seeds 1 to this; each experiment says how many by default."
)
@JOBS
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("out"),
    show_default=True,
    help="Where the pages go, and in PAPER/FIGURE plots, numbers and finished runs.",
)
@click.option("--quick", is_flag=True, help="Shorter runs and fewer seeds, for a first look.")
@PROGRESS
def reproduce(
    names: tuple[str, ...],
    every: bool,
    seeds: int | None,
    jobs: int | None,
    out: Path,
    quick: bool,
    progress: bool | None,
) -> None:
    """Run papers' experiments and show them beside the papers.

    A name is a paper, one of its figures, or the path of an experiment's folder. An interrupted reproduction
    goes on where it stopped when it is started again.
    """
    from airwnd.reproduce import report
    from airwnd.reproduce.design import Experiment
    from airwnd.reproduce.runner import Effort, find, find_all, papers

    if every == bool(names):
        raise click.UsageError("Name what to reproduce, or give --all.")
    folders = find_all() if every else list(dict.fromkeys(folder for name in names for folder in find(name)))
    experiments = [Experiment.load(folder) for folder in folders]
    efforts = [Effort.of(experiment, seeds, jobs, quick=quick) for experiment in experiments]
    for experiment, effort in zip(experiments, efforts, strict=True):
        experiment.scenarios(effort.changes)
    done = []
    for number, (experiment, effort) in enumerate(zip(experiments, efforts, strict=True), start=1):
        title = f"{number}/{len(experiments)} {experiment.name}" if len(experiments) > 1 else experiment.name
        done.append(_run(experiment, effort, out, title, progress))
    index = report.write_pages(out, papers())
    _summarise(done, out, index)


def _run(
    experiment: "Experiment", effort: "Effort", out: Path, title: str, progress: bool | None
) -> "Results":
    from airwnd.reproduce import report, runner

    try:
        with bar(title, progress) as tell:
            results = runner.reproduce(experiment, effort, out / experiment.name, tell)
    except KeyboardInterrupt:
        kept = out / experiment.name / "runs"
        click.echo(f"finished runs are kept in {kept}; the same command goes on from there", err=True)
        raise
    report.write(results, out)
    return results


def _summarise(done: "list[Results]", out: Path, index: Path) -> None:
    from rich.console import Console

    from airwnd.reproduce import terminal, words
    from airwnd.reproduce.report import PAGE

    console = Console()
    if len(done) == 1:
        terminal.show(done[0], console)
    else:
        terminal.show_verdicts(done, console)
    runs, reused = sum(each.runs for each in done), sum(each.reused for each in done)
    elapsed = words.seconds_text(sum(each.elapsed_s for each in done))
    kept = f", {reused} of them finished earlier" if reused else ""
    click.echo(f"{runs} runs in {elapsed} with {done[0].effort.jobs} jobs{kept}")
    for key in dict.fromkeys(each.experiment.folder.parent.name for each in done):
        click.echo(f"page: {out / key / PAGE}")
    click.echo(f"index: {index}")
