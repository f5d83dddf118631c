"""``airwnd sweep``."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from airwnd.cli import completion
from airwnd.cli.options import (
    DASK,
    FILE,
    JOBS,
    MAX_MEMORY,
    PROGRESS,
    SET,
    THREADS,
    batch_bar,
    code_options,
    earlier_text,
    load,
    naming,
    setting_pairs,
    workers,
    workers_text,
)
from airwnd.results.marking import marking_warnings_of_all
from airwnd.support.errors import InputError
from airwnd.text.quantities import counted, seconds_text

if TYPE_CHECKING:
    from airwnd.plugins.permission import CodePolicy
    from airwnd.study.batch import Workers
    from airwnd.study.reproduce.design import Experiment
    from airwnd.study.runner import Swept

#: File that makes a folder that of an experiment.
EXPERIMENT = "experiment.toml"


@click.command()
@FILE
@SET
@click.option(
    "--grid",
    "grids",
    multiple=True,
    metavar="KEY=A,B,C",
    shell_complete=completion.settings,
    help="Vary a key, as in --grid rlc.queue.buffer=10KiB,50KiB. May be repeated: all combinations are run.",
)
@click.option(
    "--random",
    "randoms",
    multiple=True,
    metavar="KEY=[log:]LOW..HIGH:N",
    shell_complete=completion.settings,
    help="Draw N random values of a key, as in --random rlc.queue.buffer=log:10KiB..1MiB:20. May be "
    "repeated: the keys are drawn jointly, and each point is combined with the whole grid.",
)
@click.option(
    "--seeds",
    type=click.IntRange(1),
    metavar="N",
    help="Run each setting with seeds 1 to N; default: 1, or those of an experiment.",
)
@click.option(
    "--sample-seed", type=click.IntRange(0), default=1, show_default=True, help="Seed of the random draws."
)
@click.option(
    "--series",
    metavar="TIME",
    help="Record time series at this interval, as in 100ms, for `airwnd plot series FOLDER`.",
)
@click.option(
    "--stack",
    metavar="NAME",
    shell_complete=completion.stacks,
    help="Run a transfer of a stack, as of `airwnd stack`, beside the flows of the scenario. Its options are "
    "keys, as in --grid stack.cc=cubic,bbr, and so is the stack itself: --grid stack=quinn:bbr,smoltcp:reno. "
    "It is the flow `stack` in the results.",
)
@click.option("--ue", metavar="NAME", help="UE of the stack's transfer; default: the first.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FOLDER",
    help="Folder for the data set and the finished runs.",
)
@click.option(
    "--force", is_flag=True, help="Use FOLDER even if it holds other data; its tables are replaced."
)
@JOBS
@THREADS
@DASK
@MAX_MEMORY
@code_options
@PROGRESS
def sweep(
    file: Path,
    settings: tuple[str, ...],
    grids: tuple[str, ...],
    randoms: tuple[str, ...],
    seeds: int | None,
    sample_seed: int,
    series: str | None,
    stack: str | None,
    ue: str | None,
    out: Path,
    force: bool,
    jobs: int | None,
    threads: int,
    dask: str | None,
    max_memory: str | None,
    policy: "CodePolicy",
    progress: bool | None,
) -> None:
    """Run the scenario in FILE with many settings and seeds, and write one data set.

    FILE may be the folder of an experiment. Its axes and seeds are run, its claims are judged, and FOLDER
    gets a page, too; --grid and --random vary further keys.

    The same command continues an interrupted sweep. A sweep with more values or seeds reuses finished runs.
    """
    from airwnd.study import runner
    from airwnd.study.axis import grid, random_axis
    from airwnd.study.design import Design
    from airwnd.study.draws import draw

    pool = workers(jobs, dask, max_memory, threads)
    axes = [grid(text) for text in grids]
    drawn = [draw(text, sample_seed) for text in randoms]
    more: dict[str, Any] = {"sample_seed": sample_seed, "stack": stack, "ue": ue}
    if folder := _experiment(file):
        from airwnd.study.reproduce.design import Experiment

        more |= {} if series is None else {"series": series}
        policy = naming(policy, (*settings, *grids), folder)
        experiment = Experiment.load(folder, policy, (*axes, *random_axis(drawn)), **more)
        experiment = replace(experiment, overrides=setting_pairs(settings))
        _judge(experiment, seeds, pool, out, progress, force=force)
        return
    scenario = load(file, settings, naming(policy, grids, file.parent))
    design = Design.of(scenario, grid=axes, random=drawn, seeds=seeds or 1, series=series, **more)
    with batch_bar(design.scenario.name, out / "runs", progress) as update:
        swept = runner.sweep(design, out, pool, update, force=force)
    _show(swept, pool, out)


def _experiment(file: Path) -> Path | None:
    """Return the folder of an experiment that `file` names; ``None``: it is a scenario."""
    folder = file.parent if file.name == EXPERIMENT else file
    return folder if (folder / EXPERIMENT).is_file() else None


def _judge(
    experiment: "Experiment",
    seeds: int | None,
    pool: "Workers",
    out: Path,
    progress: bool | None,
    *,
    force: bool,
) -> None:
    """Run an experiment as a sweep, and judge its claims."""
    from airwnd.study.reproduce import report, runner, terminal
    from airwnd.study.runner import reserved
    from airwnd.text.terminal import console

    if experiment.measured is not None:
        raise InputError(f"{experiment.folder}: is measured, not simulated; `airwnd reproduce` reads it")
    effort = runner.Effort.of(experiment, seeds, quick=False)
    runner.check(experiment, effort)
    with batch_bar(experiment.name, out / "runs", progress) as update, reserved(out):
        results = runner.reproduce(experiment, effort, out, pool, update, force=force)
        page = report.write_alone(results, out)
    terminal.show(results, console())
    if results.swept is None:
        raise AssertionError("the experiment is not measured")
    took = f"{seconds_text(results.swept.elapsed_s)} {workers_text(pool)}"
    click.echo(f"{counted(results.runs, 'run')} in {took}{earlier_text(results.swept.reused)}")
    _show_files(out, has_series=experiment.series is not None)
    click.echo(f"page: {page}")


def _show(swept: "Swept", pool: "Workers", out: Path) -> None:
    took = f"{seconds_text(swept.elapsed_s)} {workers_text(pool)}" if swept.fresh else "0 s"
    kept = earlier_text(swept.reused)
    same = len(swept) - swept.fresh - swept.reused
    repeated = f", {same} identical to others" if same else ""
    click.echo(f"{len(swept)} runs of {counted(len(swept.tasks), 'setting')} in {took}{kept}{repeated}")
    if swept.fresh and pool.jobs:
        capacity_s = swept.elapsed_s * pool.jobs
        overhead_ms = 1e3 * (capacity_s - swept.fresh_s) / swept.fresh
        busy = 100 * swept.fresh_s / capacity_s
        click.echo(f"{busy:.1f} % of the time spent in simulations, {overhead_ms:.2f} ms overhead per run")
    if swept.seeds_alike:
        click.echo("every seed gave the same run: nothing in the scenario is random")
    for line in marking_warnings_of_all([task.scenario.resolved for task in swept.tasks.values()]):
        click.echo(line)
    _show_files(out, has_series=swept.has_series)


def _show_files(out: Path, *, has_series: bool) -> None:
    recorded = "series, " if has_series else ""
    click.echo(f"data set: {out} (runs.parquet, flows.parquet, {recorded}manifest.json)")
