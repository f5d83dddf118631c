"""``airwnd run``, ``check`` and ``schema``."""

import json
from pathlib import Path

import click

from airwnd.cli.options import FILE, PROGRESS, SET, bar, load


@click.command()
@FILE
@SET
@click.option("--seed", type=click.IntRange(0, 2**64 - 1), help="Another seed than the scenario's.")
@click.option("--out", type=click.Path(path_type=Path), help="Write manifest.json and Parquet tables there.")
@click.option("--series", metavar="TIME", help="Keep time series sampled this often, as in 10ms.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@PROGRESS
def run(
    file: Path,
    settings: tuple[str, ...],
    seed: int | None,
    out: Path | None,
    series: str | None,
    as_json: bool,
    progress: bool | None,
) -> None:
    """Simulate the scenario in FILE."""
    scenario = load(file, settings)
    with bar(f"{scenario.name}", progress) as tell:
        result = scenario.run(seed, series, tell)
    if out:
        result.save(out)
    if as_json:
        click.echo(json.dumps(result.to_json(), allow_nan=False))
        return
    from airwnd.summary import show

    show(result)
    if out:
        click.echo(f"written to {out}")


@click.command()
@FILE
@SET
@click.option("--json", "as_json", is_flag=True, help="Print the scenario with all defaults written out.")
def check(file: Path, settings: tuple[str, ...], as_json: bool) -> None:
    """Check the scenario in FILE without running it."""
    scenario = load(file, settings)
    click.echo(json.dumps(scenario.resolved, indent=2) if as_json else f"{file}: a valid scenario")


@click.command()
def schema() -> None:
    """Print the JSON Schema of a scenario, for editors."""
    from airwnd import algorithms

    click.echo(json.dumps(algorithms.schema(), indent=2))
