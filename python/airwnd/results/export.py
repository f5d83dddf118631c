"""Tables of runs and sweeps for other programs."""

import io
from pathlib import Path

import polars as pl

from airwnd.results.folder import RECORDED
from airwnd.results.run import RunData
from airwnd.results.sweep import SweepData, is_sweep
from airwnd.support.errors import InputError
from airwnd.support.manifests import FILE

_OF_RUN = ("flows", "groups", "cells", "links", "ues", "bearers", "connections", *RECORDED)


def tables_of(folder: Path) -> dict[str, pl.DataFrame]:
    """Read the tables of a run or a sweep that have rows.

    Parameters
    ----------
    folder
        Folder of a run or of a sweep.

    Returns
    -------
    dict
        Tables by name; the totals of a run are one with a single row.

    Raises
    ------
    InputError
        If the folder holds neither, or is damaged.
    """
    path = folder / FILE
    if not path.is_file():
        raise InputError(
            f"{folder}: not the folder of a run or sweep, it has no {FILE}; "
            "`airwnd run FILE --out FOLDER` or `airwnd sweep FILE --out FOLDER` writes one"
        )
    if is_sweep(folder):
        sweep = SweepData.load(folder)
        tables = {"runs": sweep.runs, "flows": sweep.flows}
        if sweep.series is not None:
            tables |= {"series": sweep.read_series(), "completions": sweep.read_completions()}
        return {name: table for name, table in tables.items() if table.height}
    run = RunData.load(folder)
    tables = {"totals": pl.DataFrame([run.totals]), **{name: getattr(run, name) for name in _OF_RUN}}
    return {name: table for name, table in tables.items() if table.height}


def encoded(table: pl.DataFrame, kind: str) -> bytes:
    """Encode a table.

    Parameters
    ----------
    table
        The table. Missing values are empty fields in CSV and ``null`` in JSON.
    kind
        ``"csv"``, ``"json"`` (a line per row) or ``"parquet"``.

    Returns
    -------
    bytes
        Content of a file.
    """
    file = io.BytesIO()
    match kind:
        case "csv":
            table.write_csv(file)
        case "json":
            table.write_ndjson(file)
        case _:
            table.write_parquet(file)
    return file.getvalue()
