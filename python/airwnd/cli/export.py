"""``airwnd export``."""

import sys
from pathlib import Path

import click

from airwnd.support.errors import InputError


@click.command()
@click.argument("folder", metavar="RUN|SWEEP", type=click.Path(path_type=Path))
@click.option(
    "--table",
    "names",
    metavar="NAME",
    multiple=True,
    help="Table to export, as in flows; may be repeated. Default: all that have rows.",
)
@click.option(
    "--format",
    "kind",
    type=click.Choice(["csv", "json", "parquet"]),
    default="csv",
    show_default=True,
    help="csv, json (a line per row) or parquet.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Folder for a file per table; default: one table as CSV or JSON on standard output.",
)
def export(folder: Path, names: tuple[str, ...], kind: str, out: Path | None) -> None:
    """Write the tables of a run or of a sweep as CSV, JSON lines or Parquet.

    RUN is a folder written by `airwnd run FILE --out RUN`, SWEEP by `airwnd sweep FILE --out SWEEP`.
    """
    from airwnd.results.export import encoded, tables_of

    tables = tables_of(folder)
    unknown = [name for name in names if name not in tables]
    if unknown:
        raise InputError(f"--table {unknown[0]}: {folder} has no such table; it has {', '.join(tables)}")
    chosen = {name: tables[name] for name in names or tables}
    if out is None:
        if len(chosen) > 1 or kind == "parquet":
            raise InputError(
                f"--out FOLDER is needed for {'Parquet' if kind == 'parquet' else 'several tables'}; "
                f"--table selects one of {', '.join(tables)}"
            )
        (table,) = chosen.values()
        sys.stdout.write(encoded(table, kind).decode())
        return
    out.mkdir(parents=True, exist_ok=True)
    from airwnd.support.files import write_atomically

    for name, table in chosen.items():
        path = out / f"{name}.{kind}"
        write_atomically(path, encoded(table, kind))
        click.echo(f"{path}: {table.height:,} rows")
