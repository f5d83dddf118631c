"""Data frames of what the engine gives, and their files."""

from collections.abc import Iterable, Mapping
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from airwnd import _native

if TYPE_CHECKING:
    from airwnd.engine import Column, Columns, Raw


def recorded(raw: "Raw") -> dict[str, pl.DataFrame]:
    """Make the frames of series, events, allocations and completions that :class:`airwnd.Run` describes."""
    return {name: table_of(columns) for name, columns in raw.tables.items()}


def parquet(frame: pl.DataFrame) -> bytes:
    """Write a frame as a Parquet file; the same frame gives the same bytes."""
    buffer = BytesIO()
    frame.write_parquet(buffer, compression="zstd")
    return buffer.getvalue()


def table_of(columns: "Columns") -> pl.DataFrame:
    """Make a frame of the engine's columns; null where it says nothing."""
    return pl.DataFrame({name: _column(column) for name, column in columns.items()})


def _column(column: "Column") -> pl.Series:
    if isinstance(column, tuple):
        places, words = column
        return pl.Series(words, dtype=pl.Enum(words)).gather(_whole(places))
    return _whole(column) if column.dtype == np.uint32 else pl.Series(column).fill_nan(None)


def _whole(numbers: NDArray[Any]) -> pl.Series:
    series = pl.Series(numbers, dtype=pl.UInt32)
    return series.set(series == _native.NOTHING, None)


def frame_of(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Make a frame of JSON objects; ``delay_ms_p95`` is what ``delay_ms.p95`` is in them."""
    frame = pl.DataFrame([_flat(row) for row in rows], infer_schema_length=None)
    # A figure that no flow has (the completion time of endless flows) still is a column of numbers.
    return frame.with_columns(pl.col(pl.Null).cast(pl.Float64))


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, Mapping):
            flat.update({f"{key}_{inner}": deep for inner, deep in _flat(value).items()})
        else:
            flat[key] = value
    return flat
