"""``airwnd reproduce``."""

import datetime as dt
import math
import re
from contextlib import ExitStack
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from airwnd.cli import completion
from airwnd.cli.options import (
    DASK,
    JOBS,
    MAX_MEMORY,
    PROGRESS,
    SET,
    FiniteRange,
    batch_bar,
    code_options,
    earlier_text,
    naming,
    setting_pairs,
    workers,
    workers_text,
)
from airwnd.support.files import check_folder, write_atomically
from airwnd.support.locks import locked
from airwnd.text.quantities import counted, seconds_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from airwnd.plugins.permission import CodePolicy
    from airwnd.study.batch import Workers
    from airwnd.study.reproduce.runner import Results
    from airwnd.study.reproduce.sequential import Needed


@click.command()
@click.argument("names", metavar="PAPER[/FIGURE]|CLAIM...", nargs=-1, shell_complete=completion.experiments)
@click.option("--all", "every", is_flag=True, help="Reproduce all experiments of all papers.")
@click.option(
    "--seeds", type=click.IntRange(1), metavar="N", help="Use seeds 1 to N; default: set by each experiment."
)
@JOBS
@DASK
@MAX_MEMORY
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("out"),
    show_default=True,
    help="Folder for the pages; its PAPER/FIGURE folders hold plots, numbers and finished runs.",
)
@click.option(
    "--decide",
    is_flag=True,
    help="Add seeds until every claim, or those that are named, is decided or too close to tell; resumable.",
)
@click.option(
    "--likeliest",
    is_flag=True,
    help="Search for the set-up of each paper that fits all of its numbers best; resumable.",
)
@click.option(
    "--max-seeds",
    type=click.IntRange(3),
    metavar="N",
    help="Add no seeds beyond N; default: 1024 with --decide, 16 with --likeliest.",
)
@click.option(
    "--budget",
    type=FiniteRange(0.0, 1e6),
    metavar="MINUTES",
    help="With --decide or --likeliest: add nothing to an experiment or paper that has run for this time.",
)
@SET
@click.option("--list", "listing", is_flag=True, help="List papers, experiments and claims, and run nothing.")
@click.option(
    "--copy",
    "copies",
    metavar="PAPER[/FIGURE] FOLDER",
    type=(str, click.Path(path_type=Path)),
    help="Copy an experiment, or all of a paper, into FOLDER for editing, and run nothing.",
)
@click.option("--quick", is_flag=True, help="Use shorter runs and fewer seeds, for a first look.")
@code_options
@PROGRESS
def reproduce(
    names: tuple[str, ...],
    every: bool,
    seeds: int | None,
    decide: bool,
    likeliest: bool,
    max_seeds: int | None,
    budget: float | None,
    jobs: int | None,
    dask: str | None,
    max_memory: str | None,
    out: Path,
    settings: tuple[str, ...],
    listing: bool,
    copies: tuple[str, Path] | None,
    quick: bool,
    policy: "CodePolicy",
    progress: bool | None,
) -> None:
    """Reproduce published experiments and compare the results with the papers.

    A name is a paper, one of its figures or tables, the path of an experiment's folder, or a claim. The same
    command continues an interrupted reproduction. With --set, results are in a folder of their own in --out.
    """
    from airwnd.study.reproduce import report, runner, search
    from airwnd.study.reproduce.design import Experiment
    from airwnd.study.reproduce.sequential import Decide
    from airwnd.study.runner import reserved

    if listing:
        _list(_found(names) or search.find_all())
        return
    if copies is not None:
        if names or every:
            raise click.UsageError("--copy runs nothing, and takes no further names.")
        name, target = copies
        for folder in search.copy(_found((name,)), target):
            click.echo(f"copied: {folder}; run it with `airwnd reproduce {folder}`")
        return
    if every == bool(names):
        raise click.UsageError("Name what to reproduce, or give --all.", click.get_current_context())
    if decide and quick:
        raise click.UsageError("--quick gives no verdicts, so that --decide cannot apply.")
    if budget is not None and not (decide or likeliest):
        raise click.UsageError("--budget limits what --decide or --likeliest adds.")
    pool = workers(jobs, dask, max_memory)
    if likeliest:
        if decide or settings:
            raise click.UsageError("--likeliest has set-ups and seeds of its own: no --decide and no --set.")
        extent = _Extent(seeds, max_seeds, budget, quick)
        _search(search.find_all() if every else _found(names), extent, pool, out, policy, progress)
        return
    overrides = setting_pairs(settings)
    folders = search.find_all() if every else _found(names)
    experiments = [
        replace(Experiment.load(folder, naming(policy, settings, folder)), overrides=overrides)
        for folder in folders
    ]
    if every:
        experiments = [each for each in experiments if each.measured is None or each.measured.seeds]
    minutes = math.inf if budget is None else budget
    named = {} if every else search.claims_named(names)
    further = Decide(max_seeds or 1024, 60.0 * minutes, _report_look) if decide else None
    efforts = [
        runner.Effort.of(
            experiment, seeds, quick=quick, decide=further and replace(further, claims=named.get(folder))
        )
        for folder, experiment in zip(folders, experiments, strict=True)
    ]
    runs = list(map(runner.check, experiments, efforts))
    papers = search.papers()
    out = out / _folder_of(settings) if settings else out
    check_folder(out)
    done = []
    for number, (experiment, effort) in enumerate(zip(experiments, efforts, strict=True), start=1):
        place = f"{number}/{len(experiments)} " if len(experiments) > 1 else ""
        title = f"{place}{experiment.name}, {counted(runs[number - 1], 'run')}"
        folder = out / experiment.name
        with batch_bar(title, folder / "runs", progress) as update, reserved(folder):
            done.append(runner.reproduce(experiment, effort, folder, pool, update))
            report.write(done[-1], out)
    # Reproductions of other experiments may write into the same folder; the last of them has all results.
    with locked(out, wait=True):
        published = None if settings else search.published(report.LIKELIEST)
        index = report.write_pages(out, papers, published)
    _summarise(done, pool, out, index)


class _Extent(NamedTuple):
    """Options that limit a search for the likeliest set-up; ``None``: the default."""

    seeds: int | None
    max_seeds: int | None
    budget: float | None
    quick: bool


def _search(
    folders: "Sequence[Path]",
    extent: _Extent,
    pool: "Workers",
    out: Path,
    policy: "CodePolicy",
    progress: bool | None,
) -> None:
    """Search for the likeliest set-up of each paper, and print where the results are."""
    from airwnd.study.reproduce.design import Experiment
    from airwnd.study.reproduce.likeliest import report, terminal
    from airwnd.study.reproduce.likeliest.judged import judgements
    from airwnd.study.reproduce.likeliest.race import Plan
    from airwnd.study.reproduce.likeliest.study import Effort, Runs, find, is_searchable
    from airwnd.study.reproduce.report import LIKELIEST
    from airwnd.study.runner import reserved
    from airwnd.text.terminal import console

    usual = Plan()
    first = usual.first_seeds if extent.seeds is None else extent.seeds
    last = max(usual.last_seeds, first) if extent.max_seeds is None else extent.max_seeds
    if last < first:
        raise click.UsageError(f"--max-seeds {last} is below the first {first} seeds.")
    budget_s = math.inf if extent.budget is None else 60.0 * extent.budget
    effort = Effort(Plan(first_seeds=first, last_seeds=last), extent.quick, budget_s)
    papers: dict[Path, list[Path]] = {}
    for folder in folders:
        papers.setdefault(folder.resolve().parent, []).append(folder)
    check_folder(out)
    reports = []
    for paper, chosen in papers.items():
        experiments = [Experiment.load(folder, policy) for folder in chosen]
        if len(papers) > 1 and not is_searchable(experiments):
            click.echo(f"{paper.name}: no number that depends on something left open", err=True)
            continue
        with ExitStack() as locks:
            for experiment in experiments:
                locks.enter_context(reserved(out / experiment.name))
            runs = Runs(effort, out, pool, lambda title, folder: batch_bar(title, folder, progress))
            found = find(experiments, effort, runs)
            reports.append(report.Report(found, judgements(found, runs), str(dt.datetime.now(dt.UTC).date())))
            page = report.write(reports[-1], out / paper.name)
        terminal.show(reports[-1], console())
        click.echo(f"page: {page}")
    if reports:
        write_atomically(out / LIKELIEST, report.claims_csv(reports))
        click.echo(f"claims: {out / LIKELIEST}")


# Length of the readable part of a folder's name.
_NAME = 60


def _folder_of(settings: tuple[str, ...]) -> str:
    """Return the folder of results with ``--set``, which are not mixed with those of other scenarios."""
    text = ",".join(settings)
    readable = re.sub(r"[^\w.=,+-]+", "-", text, flags=re.ASCII)[:_NAME]
    # Different changes may read alike.
    digest = "" if readable == text else f"-{sha256(text.encode()).hexdigest()[:8]}"
    return f"set-{readable}{digest}"


def _found(names: tuple[str, ...]) -> list[Path]:
    """Find the experiments, and say which ones a short name or a claim stands for."""
    from airwnd.study.reproduce import search

    folders: dict[Path, None] = {}
    for name in names:
        found = search.find(name)
        folders.update(dict.fromkeys(found))
        if not search.is_exact(name):
            click.echo(f"{name}: {', '.join(map(search.name_of, found))}", err=True)
    return list(folders)


def _list(folders: list[Path]) -> None:
    """Print papers, experiments and claims."""
    from airwnd.study.reproduce import search

    for number, (heading, experiments) in enumerate(search.listed(folders).items()):
        click.echo("\n" * bool(number) + click.style(heading, bold=True))
        for each in experiments:
            click.echo(f"  {each.name}: {each.title}")
            for name, text in each.claims:
                click.echo(f"    {name}  {text}")


def _report_look(still_open: "Mapping[str, Needed]", runs: int, seeds: int) -> None:
    """Print which claims are open, what each is expected to need, and what is added."""
    from airwnd.study.reproduce.words import count_text

    parts = []
    for claim, needed in still_open.items():
        setups = f"{count_text(needed.setups, 'set-up')}, " if needed.setups > 1 else ""
        parts.append(f"{claim} ({setups}{_expected_text(needed.seeds)})")
    click.echo(f"\nopen: {', '.join(parts)}; {runs} more runs, up to {seeds} seeds", err=True)


def _expected_text(seeds: float) -> str:
    """Return ``about 960 seeds``, with two significant digits."""
    return (
        f"about {float(f'{seeds:.2g}'):,.0f} seeds" if math.isfinite(seeds) else "a value equal to its bound"
    )


def _summarise(done: "list[Results]", pool: "Workers", out: Path, index: Path) -> None:
    from airwnd.study.reproduce import terminal
    from airwnd.study.reproduce.report import PAGE, VERDICTS
    from airwnd.study.reproduce.verdict import Verdict
    from airwnd.study.reproduce.words import count_text
    from airwnd.text.terminal import console

    if changed := done[0].effort.overrides:
        click.echo(f"\nThe scenario is not the experiment's: changed by {', '.join(changed)}")
    if len(done) == 1:
        terminal.show(done[0], console())
    else:
        terminal.show_verdicts(done, console())
    ran = [each.swept for each in done if each.swept]
    elapsed = seconds_text(sum(each.elapsed_s for each in ran))
    took = f"{elapsed} {workers_text(pool)}{earlier_text(sum(each.reused for each in ran))}"
    click.echo()
    click.echo(f"{sum(each.runs for each in done)} runs of {count_text(len(done), 'experiment')} in {took}")
    terminal.show_counts(done, console())
    still_open = [
        result.claim.id
        for each in done
        for result in each.claims()
        if each.effort.decide and each.effort.decide.concerns(result) and result.verdict is Verdict.OPEN
    ]
    if still_open:
        click.echo(
            f"not decided within --max-seeds and --budget: {', '.join(still_open)}; the same command with "
            "larger limits continues, unless a value is undefined"
        )
    click.echo(f"verdicts: {out / VERDICTS}")
    for key in dict.fromkeys(each.experiment.folder.parent.name for each in done):
        click.echo(f"page: {out / key / PAGE}")
    click.echo(f"Open {index}: each claim with its verdict, the reason and its checks")
