"""``airwnd sweep``."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from airwnd.cli.options import (
    DASK,
    FILE,
    JOBS,
    MAX_MEMORY,
    PROGRESS,
    SET,
    batch_bar,
    code_options,
    load,
    workers,
    workers_text,
)
from airwnd.text import counted, seconds_text

if TYPE_CHECKING:
    from airwnd.batch import Workers
    from airwnd.code_policy import CodePolicy
    from airwnd.sweeps import Swept


@click.command()
@FILE
@SET
@click.option(
    "--grid",
    "grids",
    multiple=True,
    metavar="KEY=A,B,C",
    help="Vary a setting, as in --grid rlc.queue.buffer=10KiB,50KiB; several give all combinations.",
)
@click.option(
    "--random",
    "randoms",
    multiple=True,
    metavar="KEY=[log:]LOW..HIGH:N",
    help="Draw N values of a setting, as in --random rlc.queue.buffer=log:10KiB..1MiB:20; several are drawn "
    "together, and each point is combined with the whole grid.",
)
@click.option("--seeds", type=click.IntRange(1), default=1, help="Run each setting with seeds 1 to this.")
@click.option(
    "--sample-seed", type=click.IntRange(0), default=1, help="Decides the random draws; 1 by default."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FOLDER",
    help="Where the data set and the finished runs go.",
)
@click.option(
    "--force", is_flag=True, help="Use FOLDER even if it holds something else; its tables are replaced."
)
@JOBS
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
    out: Path,
    force: bool,
    jobs: int | None,
    dask: str | None,
    max_memory: str | None,
    policy: "CodePolicy",
    progress: bool | None,
) -> None:
    """Run the scenario in FILE over many settings and seeds, and write one data set.

    An interrupted sweep goes on where it stopped when it is started again; one with more values or seeds
    reuses what is there.
    """
    from airwnd.sweeps import Design, carry_out
    from airwnd.sweeps.axes import grid
    from airwnd.sweeps.draws import draw

    crew = workers(jobs, dask, max_memory)
    design = Design(
        scenario=load(file, settings, policy),
        grid=tuple(grid(text) for text in grids),
        random=tuple(draw(text, sample_seed) for text in randoms),
        seeds=seeds,
        sample_seed=sample_seed,
    )
    with batch_bar(design.scenario.name, out / "runs", progress) as tell:
        swept = carry_out(design, out, crew, tell, force=force)
    _show(swept, crew, out)


def _show(swept: "Swept", crew: "Workers", out: Path) -> None:
    results = swept.results
    took = f"{seconds_text(results.elapsed_s)} {workers_text(crew)}" if results.fresh else "no time"
    kept = f", {results.reused} of them finished earlier" if results.reused else ""
    same = len(results) - results.fresh - results.reused
    repeated = f", {same} the same as others" if same else ""
    click.echo(f"{len(results)} runs of {counted(swept.settings, 'setting')} in {took}{kept}{repeated}")
    if results.fresh and crew.jobs:
        capacity_s = results.elapsed_s * crew.jobs
        overhead_ms = 1e3 * (capacity_s - results.simulation_s) / results.fresh
        busy = 100 * results.simulation_s / capacity_s
        click.echo(f"{busy:.1f} % of the time spent in simulations, {overhead_ms:.2f} ms a run beside it")
    if swept.seeds_alike:
        click.echo("every seed gave the same run: nothing in the scenario is random")
    click.echo(f"data set: {out} (runs.parquet, flows.parquet, manifest.json)")
