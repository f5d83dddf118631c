"""``airwnd evaluate``."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from airwnd.cli import completion
from airwnd.cli.options import (
    DASK,
    JOBS,
    MAX_MEMORY,
    PROGRESS,
    batch_bar,
    earlier_text,
    setting_pairs,
    toml_values,
    workers,
    workers_text,
)
from airwnd.plugins.permission import PLUGIN_TIMEOUT_S
from airwnd.support.errors import InputError
from airwnd.support.files import check_folder, remove_partial_files
from airwnd.support.locks import locked
from airwnd.text.quantities import counted, seconds_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from airwnd.study.batch import Workers
    from airwnd.study.evaluate.candidate import Subject
    from airwnd.study.evaluate.contest import Contest
    from airwnd.study.evaluate.evaluation import Effort
    from airwnd.study.evaluate.report import Done, Report
    from airwnd.study.evaluate.suite import Suite

# Suites of a candidate for which none is named.
_USUAL = {"sender": ("rfc9743", "cellular"), "receiver": ("rfc9743", "cellular"), "queue": ("rfc7928",)}
_DIFFERS = 1


@click.command()
@click.argument("candidate", required=False, shell_complete=completion.candidates)
@click.option(
    "--suite",
    "suites",
    multiple=True,
    metavar="NAME|FILE",
    shell_complete=completion.suites,
    help="Suite of criteria: rfc9743 and cellular (default), rfc7928 (default for a queue discipline), "
    "bbr-draft, or a file. May be repeated.",
)
@click.option(
    "--beacon",
    metavar="HEX",
    default="",
    help="Draw rates, delays and seeds of the scenarios from this value of a public beacon, published after "
    "the candidate, such as a round of drand.",
)
@click.option(
    "--against",
    metavar="A,B,...",
    help="References beside which the candidate runs; default: those of the suite.",
)
@click.option(
    "--only", multiple=True, metavar="ID", help="Evaluate this criterion or section only. May be repeated."
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Set a parameter of the candidate. May be repeated.",
)
@click.option(
    "--seeds",
    type=click.IntRange(min=3),
    metavar="N",
    help="Seeds of each run, 3 or more; default: the number of the suite.",
)
@click.option(
    "--budget",
    metavar="TIME",
    help="Begin no further criterion after this time, as in 10min; what is left is used for more seeds of "
    "criteria that are too close to tell.",
)
@JOBS
@DASK
@MAX_MEMORY
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("out/evaluate"),
    show_default=True,
    help="Folder for the reports, each in a folder of its own, and for the finished runs that they share.",
)
@click.option(
    "--plugin-timeout",
    metavar="TIME",
    default=f"{PLUGIN_TIMEOUT_S:g}s",
    show_default=True,
    help="Wall-clock limit for each call into the candidate's code.",
)
@click.option(
    "--verify",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="REPORT",
    help="Run the evaluation of a report.json again, and tell which rows differ; exit code 1 if any does.",
)
@click.option(
    "--copy",
    "copies",
    type=(str, click.Path(path_type=Path)),
    metavar="SUITE FOLDER",
    help="Copy a suite and its files into FOLDER for editing, and run nothing.",
)
@PROGRESS
def evaluate(
    candidate: str | None,
    suites: tuple[str, ...],
    beacon: str,
    against: str | None,
    only: tuple[str, ...],
    settings: tuple[str, ...],
    seeds: int | None,
    budget: str | None,
    jobs: int | None,
    dask: str | None,
    max_memory: str | None,
    out: Path,
    plugin_timeout: str,
    verify: Path | None,
    copies: tuple[str, Path] | None,
    progress: bool | None,
) -> None:
    """Evaluate a congestion control against suites of criteria, and write a report.

    \b
    CANDIDATE
    cubic                a sender of airwnd
    my_cc.py:Gentle      a Python class, which is executed
    rwnd:standing        a receive-window control
    aqm:codel            a queue discipline
    kernel:bbr           TCP of this machine's kernel, in real time
    quinn:bbr            a stack of an installed package, such as airwnd-stacks
    stack:mine.py:connect  a stack in Python, as for airwnd stack
    plugin:gentle        a plug-in in Rust of the engine, as in airwnd --engine FILE evaluate plugin:gentle

    The same command continues an interrupted evaluation. Naming a file executes it.
    """  # noqa: D301 (Click requires the backspace)
    from airwnd.results.engine import duration_ns
    from airwnd.study.evaluate import candidate as candidates
    from airwnd.study.evaluate.contest import Contest
    from airwnd.study.evaluate.evaluation import Effort
    from airwnd.study.evaluate.suite import copy

    if copies is not None:
        if candidate:
            raise click.UsageError("--copy runs nothing, and takes no candidate.")
        for file in copy(*copies):
            click.echo(f"copied: {file}")
        return
    pool = workers(jobs, dask, max_memory)
    timeout_s = duration_ns("plugin timeout", plugin_timeout) / 1e9
    if verify is not None:
        _verify(verify, candidate, suites, timeout_s, pool, out, progress)
        return
    if not candidate:
        raise click.UsageError(
            "Name a candidate, as in `airwnd evaluate cubic`.", click.get_current_context()
        )
    subject = candidates.parse(candidate, toml_values(setting_pairs(settings)))
    if subject.is_real and jobs is None:
        # Sessions in real time would disturb each other.
        pool = workers(1, dask, max_memory)
    names = tuple(filter(None, map(str.strip, (against or "").split(","))))
    contests = [
        Contest.of(_suite(name, beacon), subject, names, timeout_s)
        for name in dict.fromkeys(suites or _USUAL[subject.kind])
    ]
    numbers = {each.id: seeds for contest in contests for each in contest.suite.entry.criterion if seeds}
    effort = Effort(duration_ns("budget", budget) / 1e9 if budget else None, numbers or None, only)
    _check_only(contests, effort)
    # A suite from which nothing is selected has no part in the report.
    contests = [each for each in contests if any(map(effort.selects, each.suite.entry.criterion))]
    done = _run(contests, [effort] * len(contests), out, pool, progress)
    drawn = f",beacon={contests[0].suite.beacon[:8]}" if beacon else ""
    _finish(done, out / f"{_folder_of(subject)}{drawn}", pool)


def _suite(name: str, beacon: str) -> "Suite":
    """Read a suite, drawn from the value of a beacon unless that is empty."""
    from airwnd.study.evaluate.beacon import drawn
    from airwnd.study.evaluate.suite import Suite

    found = Suite.load(name)
    return drawn(found, beacon) if beacon else found


def _check_only(contests: "Sequence[Contest]", effort: "Effort") -> None:
    from dataclasses import replace

    known = [each for contest in contests for each in contest.suite.entry.criterion]
    for name in effort.only:
        if not any(replace(effort, only=(name,)).selects(each) for each in known):
            raise InputError(f"--only {name}: no criterion; there are {', '.join(each.id for each in known)}")


def _folder_of(subject: "Subject") -> str:
    parameters = "".join(f",{key}={value}" for key, value in subject.parameters.items())
    return re.sub(r"[^\w.=,+-]+", "-", subject.name + parameters, flags=re.ASCII)[:100]


def _run(
    contests: "Sequence[Contest]",
    efforts: "Sequence[Effort]",
    out: Path,
    pool: "Workers",
    progress: bool | None,
) -> "list[Done]":
    """Evaluate each suite in turn; the budget is that of all of them."""
    import time
    from dataclasses import replace

    from airwnd.study.batch import Store
    from airwnd.study.evaluate.evaluation import Evaluator
    from airwnd.study.evaluate.judge import checks_of
    from airwnd.study.evaluate.report import Done

    for contest in contests:
        contest.check_suite()
        for criterion in contest.suite.entry.criterion:
            checks_of(contest, criterion)
    check_folder(out)
    runs = out / "runs"
    done = []
    begin = time.perf_counter()
    with locked(out):
        if runs.is_dir():
            remove_partial_files(runs)
        for contest, effort in zip(contests, efforts, strict=True):
            left = effort.budget_s and max(effort.budget_s - (time.perf_counter() - begin), 0.0)
            evaluator = Evaluator(contest, Store(runs), pool, _bars(contest, runs, progress))
            results = evaluator.results(replace(effort, budget_s=left))
            done.append(Done(contest, results, evaluator.counts))
    return done


def _bars(
    contest: "Contest", runs: Path, progress: bool | None
) -> "Callable[[str], AbstractContextManager[Callable[[float], None] | None]]":
    return lambda title: batch_bar(f"{contest.suite.entry.name} {title}", runs, progress)


def _finish(done: "Sequence[Done]", folder: Path, pool: "Workers") -> None:
    from airwnd.study.evaluate import page, report

    found = report.gather(done)
    path = report.write(found, folder)
    written = page.write(found, folder)
    _show(found)
    counts = [each.counts for each in done]
    runs, reused = sum(each.runs for each in counts), sum(each.reused for each in counts)
    elapsed = seconds_text(sum(each.elapsed_s for each in counts))
    click.echo(f"\n{counted(runs, 'run')} in {elapsed} {workers_text(pool)}{earlier_text(reused)}")
    click.echo(f"report: {path}")
    click.echo(f"Open {written}: each criterion with its figures, thresholds and reasons")


def _show(report: "Report") -> None:
    from airwnd.study.evaluate.terminal import show
    from airwnd.text.terminal import console

    show(report, console())


def _verify(
    path: Path,
    candidate: str | None,
    suites: tuple[str, ...],
    timeout_s: float,
    pool: "Workers",
    out: Path,
    progress: bool | None,
) -> None:
    """Run the evaluation of a report again, without its finished runs."""
    from tempfile import TemporaryDirectory

    from airwnd.study.evaluate import candidate as candidates
    from airwnd.study.evaluate import report as reports
    from airwnd.study.evaluate import verify
    from airwnd.study.evaluate.contest import Contest
    from airwnd.study.evaluate.evaluation import Effort

    before = reports.read(path)
    name = before.candidate.name
    if candidate not in (None, name):
        raise InputError(f"{path}: a report of {name}, not of {candidate}")
    # A report may come from anywhere: only the user's own word executes a file.
    if candidates.names_code(name) and not candidate:
        raise InputError(f"{path}: to execute {name}, write airwnd evaluate {name} --verify {path}")
    subject = candidates.parse(name, before.candidate.parameters)
    names = suites or tuple(each.name for each in before.suites)
    beacon = before.suites[0].beacon
    loaded = {suite.entry.name: suite for suite in (_suite(name, beacon) for name in names)}
    missing = [each.name for each in before.suites if each.name not in loaded]
    if missing:
        raise InputError(f"{path}: name the file of suite {missing[0]} with --suite")
    contests = [
        Contest.of(loaded[each.name], subject, tuple(each.against), timeout_s) for each in before.suites
    ]
    differences = verify.inputs(before, contests)
    efforts = [
        Effort(seeds=verify.seeds_of(each), only=tuple(criterion.id for criterion in each.criteria))
        for each in before.suites
    ]
    out.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=out, prefix="verify-") as folder:
        done = _run(contests, efforts, Path(folder), pool, progress)
        now = reports.gather(done)
    differences += verify.results(before, now, is_real=subject.is_real)
    for each in differences:
        click.echo(str(each))
    if differences:
        raise click.exceptions.Exit(_DIFFERS)
    if subject.is_real:
        click.echo(f"{path}: {counted(len(before.criteria()), 'row')} again, all intervals overlap")
        return
    same = "the same bytes" if reports.written(now) == path.read_bytes() else "the same results"
    click.echo(f"{path}: {counted(len(before.criteria()), 'row')} again, {same}")
