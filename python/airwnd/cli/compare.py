"""``airwnd compare``."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from airwnd.cli.options import pairs
from airwnd.study.reproduce.statistics import MIN_SEEDS
from airwnd.text.terminal import Column, console, number, plain, print_wrapped, sheet
from airwnd.vocabulary.columns import tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from airwnd.study.reproduce.statistics import Interval
    from airwnd.study.sweeps.comparison import Difference


@click.command()
@click.argument("folder", metavar="FOLDER", type=click.Path(path_type=Path))
@click.option("--by", metavar="KEY", help="Swept key whose values are compared; default: the only one.")
@click.option("--to", metavar="VALUE", help="Value that the others are compared to; default: the first.")
@click.option(
    "--column",
    "columns",
    metavar="COLUMN",
    multiple=True,
    help="Column of runs.parquet or flows.parquet; may be repeated. Default: goodput, delay, loss, fairness.",
)
@click.option("--group", metavar="ID", help="Group of flows; default: all flows.")
@click.option(
    "--where", metavar="KEY=VALUE", multiple=True, help="Compare only runs with this value; may be repeated."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def compare(
    folder: Path,
    by: str | None,
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
    from airwnd.study.sweeps.comparison import COLUMNS
    from airwnd.study.sweeps.result import Sweep

    sweep = Sweep.load(folder)
    found = sweep.compare(by, to, columns or COLUMNS, group=group, where=pairs("where", where))
    if as_json:
        click.echo(json.dumps({"seeds": sweep.seeds, "differences": [_plain(each) for each in found]}))
        return
    out = console()
    for setting in {tuple(each.setting.items()): None for each in found}:
        if setting:
            print_wrapped(", ".join(f"{key} = {plain(str(value))}" for key, value in setting), out, "bold")
        rows = [each for each in found if tuple(each.setting.items()) == setting]
        for name in {(each.table, each.column): None for each in rows}:
            _show(name, [each for each in rows if (each.table, each.column) == name], out)
    print_wrapped(
        "Differences from the first row, run by run with the same seed, with the 95 % confidence interval of "
        "their mean (Student's t). *: it excludes zero.",
        out,
        "dim",
    )


def _show(name: tuple[str, str], rows: "Sequence[Difference]", out: "Console") -> None:
    declared = tables()[name[0]].columns[name[1]]
    unit = f", {declared.shown_unit}" if declared.shown_unit else ""

    def shown(value: float) -> str:
        return number(value, declared.digits)

    differences = [each.difference for each in rows]
    intervals = [
        "" if found is None or found.n < MIN_SEEDS else f"[{shown(found.low)}, {shown(found.high)}]"
        for found in differences
    ]
    percents = [
        ("" if each.percent is None else f"{each.percent:+.1f}") + (" *" if each.is_significant else "  ")
        for each in rows
    ]
    sheet(
        [
            Column(f"{declared.label}{unit}", [plain(str(each.value)) for each in rows], is_name=True),
            Column("mean", [shown(each.mean.mean) for each in rows]),
            Column("difference", ["" if found is None else shown(found.mean) for found in differences]),
            Column("95 % CI", intervals, rank=1, key="low, high"),
            Column("%  ", percents),
        ],
        out,
    )


def _plain(each: "Difference") -> dict[str, object]:
    def bounds(found: "Interval | None") -> dict[str, float | None] | None:
        if found is None:
            return None
        return {key: value if abs(value) < float("inf") else None for key, value in asdict(found).items()}

    return {
        **{key: getattr(each, key) for key in ("setting", "value", "table", "column", "percent")},
        "mean": bounds(each.mean),
        "difference": bounds(each.difference),
    }
