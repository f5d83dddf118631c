"""``airwnd compare``."""

import json
from pathlib import Path

import click

from airwnd.cli import completion
from airwnd.cli.options import pairs


@click.command()
@click.argument("folder", metavar="FOLDER", type=click.Path(path_type=Path))
@click.option(
    "--by",
    metavar="KEY",
    multiple=True,
    shell_complete=completion.swept,
    help="Swept key whose values are compared; repeated, the combinations are. Default: the only one.",
)
@click.option(
    "--to",
    metavar="VALUE",
    help="Value or combination that the others are compared to, as in 'prague, dualpi2'; default: the first.",
)
@click.option(
    "--column",
    "columns",
    metavar="COLUMN",
    multiple=True,
    shell_complete=completion.columns("totals", "flows"),
    help="Column of runs.parquet or flows.parquet; may be repeated. Default: goodput, completion "
    "time, delay, packets on time, losses, and without --group fairness, where they have values.",
)
@click.option(
    "--group", metavar="ID", shell_complete=completion.groups, help="Group of flows; default: all flows."
)
@click.option(
    "--where",
    metavar="KEY=VALUE",
    multiple=True,
    shell_complete=completion.swept,
    help="Compare only runs with this value; may be repeated.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def compare(
    folder: Path,
    by: tuple[str, ...],
    to: str | None,
    columns: tuple[str, ...],
    group: str | None,
    where: tuple[str, ...],
    as_json: bool,
) -> None:
    """Compare the values of a swept key, by differences of runs with the same seed.

    FOLDER is a data set written by `airwnd sweep FILE --seeds N --out FOLDER`. Runs with the same seed share
    random draws, so that the interval of a difference is narrower than those of its parts.
    """
    from airwnd.plots.axis import population
    from airwnd.study.comparison_table import encoded, show
    from airwnd.study.sweep import Sweep

    sweep = Sweep.load(folder)
    found = sweep.compare(by or None, to, columns or None, group=group, where=pairs("where", where))
    if as_json:
        click.echo(json.dumps({"seeds": sweep.seeds, "differences": [encoded(each) for each in found]}))
        return
    groups = sweep.flows["group"].unique(maintain_order=True).to_list()
    show(found, population(groups, group))
