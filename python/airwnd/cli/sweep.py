"""``airwnd sweep``."""

from pathlib import Path
from typing import TYPE_CHECKING

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
    load,
    workers,
    workers_text,
)
from airwnd.results.marking import marking_warnings_of_all
from airwnd.text.quantities import counted, seconds_text

if TYPE_CHECKING:
    from airwnd.plugins.permission import CodePolicy
    from airwnd.study.batch import Workers
    from airwnd.study.sweeps import Swept


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
    default=1,
    metavar="N",
    help="Run each setting with seeds 1 to N; 1 by default.",
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
    seeds: int,
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

    The same command continues an interrupted sweep. A sweep with more values or seeds reuses finished runs.
    """
    from airwnd.study.sweeps import Design, carry_out
    from airwnd.study.sweeps.axes import grid
    from airwnd.study.sweeps.draws import draw

    pool = workers(jobs, dask, max_memory, threads)
    design = Design(
        scenario=load(file, settings, policy),
        grid=tuple(grid(text) for text in grids),
        random=tuple(draw(text, sample_seed) for text in randoms),
        seeds=seeds,
        sample_seed=sample_seed,
        series=series,
        stack=stack,
        ue=ue,
    )
    with batch_bar(design.scenario.name, out / "runs", progress) as update:
        swept = carry_out(design, out, pool, update, force=force)
    _show(swept, pool, out)


def _show(swept: "Swept", pool: "Workers", out: Path) -> None:
    results = swept.results
    took = f"{seconds_text(results.elapsed_s)} {workers_text(pool)}" if results.fresh else "0 s"
    kept = f", {results.reused} of them finished earlier" if results.reused else ""
    same = len(results) - results.fresh - results.reused
    repeated = f", {same} identical to others" if same else ""
    click.echo(f"{len(results)} runs of {counted(swept.settings, 'setting')} in {took}{kept}{repeated}")
    if results.fresh and pool.jobs:
        capacity_s = results.elapsed_s * pool.jobs
        overhead_ms = 1e3 * (capacity_s - results.simulation_s) / results.fresh
        busy = 100 * results.simulation_s / capacity_s
        click.echo(f"{busy:.1f} % of the time spent in simulations, {overhead_ms:.2f} ms overhead per run")
    if swept.seeds_alike:
        click.echo("every seed gave the same run: nothing in the scenario is random")
    # Tasks are ordered by seed: the first ones are the settings.
    tasks = results.tasks[: swept.settings]
    for line in marking_warnings_of_all([task.scenario.resolved for task in tasks]):
        click.echo(line)
    recorded = "series, " if swept.has_series else ""
    click.echo(f"data set: {out} (runs.parquet, flows.parquet, {recorded}manifest.json)")
