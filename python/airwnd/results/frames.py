"""Data frames of the engine's tables, and their Parquet files."""

from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from airwnd import _native
from airwnd.vocabulary.columns import tables

if TYPE_CHECKING:
    from airwnd.results.raw import Column, Columns, Raw

_TYPES: dict[str, type[pl.DataType]] = {"number": pl.Float64, "integer": pl.Int64, "text": pl.String}


def recorded(raw: "Raw") -> dict[str, pl.DataFrame]:
    """Build the frames of series, events, allocations and completions; see :class:`airwnd.Run`."""
    return {name: table_of(columns) for name, columns in raw.tables.items()}


def parquet(frame: pl.DataFrame) -> bytes:
    """Return a frame as the bytes of a Parquet file; equal frames give equal bytes."""
    buffer = BytesIO()
    frame.write_parquet(buffer, compression="zstd")
    return buffer.getvalue()


def table_of(columns: "Columns") -> pl.DataFrame:
    """Build a frame from the engine's columns; null where the engine has no value."""
    return pl.DataFrame({name: _column(column) for name, column in columns.items()})


def _column(column: "Column") -> pl.Series:
    if isinstance(column, tuple):
        places, words = column
        return pl.Series(words, dtype=pl.Enum(words)).gather(_whole(places))
    return _whole(column) if column.dtype == np.uint32 else pl.Series(column).fill_nan(None)


def _whole(numbers: NDArray[Any]) -> pl.Series:
    series = pl.Series(numbers, dtype=pl.UInt32)
    return series.set(series == _native.NOTHING, None)


def frame_of(table: str, rows: Iterable[Mapping[str, Any]], before: Sequence[str] = ()) -> pl.DataFrame:
    """Build a frame from JSON objects, with the columns that the engine declares for a table.

    Parameters
    ----------
    table
        Name of the table.
    rows
        A value for each column; null for a missing value.
    before
        Additional integer columns, placed first.
    """
    columns = {name: _TYPES[column.type] for name, column in tables()[table].columns.items()}
    return pl.DataFrame(list(rows), schema={**dict.fromkeys(before, pl.Int64), **columns})


def flattened(row: Mapping[str, Any]) -> dict[str, Any]:
    """Flatten nested objects to column names: ``delay_ms.p95`` becomes ``delay_ms_p95``."""
    flat: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, Mapping):
            flat.update({f"{key}_{inner}": deep for inner, deep in flattened(value).items()})
        else:
            flat[key] = value
    return flat
