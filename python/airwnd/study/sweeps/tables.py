"""Tables of a sweep: a row per run, and a row per flow and run."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from airwnd.results.frames import frame_of, parquet
from airwnd.results.sweep import RECORDED
from airwnd.study.batch import Results
from airwnd.study.sweeps.axes import Axis, plain
from airwnd.study.sweeps.design import Design, Setting

_QUANTITY = re.compile(r"([-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*([^\d\s].*)")

# Maximum number of rows held as Python objects; a sweep may have millions of rows.
_CHUNK = 1000

# Placeholder for the columns of a setting.
_PLACE = "\0setting"
_HEAD = (_PLACE, "seed")


def tables(design: Design, settings: Sequence[Setting], results: Results) -> Iterator[tuple[str, bytes]]:
    """Yield the Parquet files with their names; rows are in the order of settings, then seeds.

    Tables with samples have a file per setting, so that a setting at a time is in memory.

    Parameters
    ----------
    design, settings
        Design of the sweep, and its settings.
    results
        Results in the order of seeds, then settings.
    """
    order = [(place, seed) for place in range(len(settings)) for seed in range(1, design.seeds + 1)]
    runs, flows = [], []
    for start in range(0, len(order), _CHUNK):
        run_rows: list[dict[str, Any]] = []
        flow_rows: list[dict[str, Any]] = []
        for place, seed in order[start : start + _CHUNK]:
            outcome = results[(seed - 1) * len(settings) + place].outcome
            head = {_PLACE: place, "seed": seed}
            run_rows.append({**head, **outcome["totals"]})
            flow_rows.extend({**head, **flow} for flow in outcome["flows"])
        runs.append(frame_of("totals", run_rows, _HEAD))
        flows.append(frame_of("flows", flow_rows, _HEAD))
    frame = setting_columns(design.axes, settings)
    yield "runs.parquet", _file(frame, runs)
    yield "flows.parquet", _file(frame, flows)
    if design.series is not None:
        for place in range(len(settings)):
            stored = [results[seed * len(settings) + place] for seed in range(design.seeds)]
            for name in RECORDED:
                found = [(seed, getattr(run, name)) for seed, run in enumerate(stored, 1)]
                # A table without rows has no columns either.
                if rows := [_recorded(table, place, seed) for seed, table in found if table.width]:
                    yield f"{name}/{place:05}.parquet", _file(frame, rows)


def _recorded(table: pl.DataFrame, place: int, seed: int) -> pl.DataFrame:
    """Return a table of a run in that of a sweep; flows are text, since runs may have different ones."""
    head = pl.lit(place).alias(_PLACE), pl.lit(seed).alias("seed")
    return table.select(*head, pl.all()).with_columns(pl.col("flow").cast(pl.String))


def setting_columns(axes: Sequence[Axis], settings: Sequence[Setting]) -> pl.DataFrame:
    """Return a row per setting with a column per key: numbers, truth values, or texts as given.

    If all values of a key have the same unit, there is also a column of numbers, named ``KEY [UNIT]``.
    """
    columns: dict[str, pl.Series] = {}
    for axis, values in zip(axes, zip(*settings, strict=True), strict=True):
        meant = [plain(text) for text in values]
        columns[axis.key] = _series(meant, values)
        matches = [_QUANTITY.fullmatch(value) for value in meant if isinstance(value, str)]
        units = {match[2] if match else None for match in matches}
        if len(matches) == len(meant) and len(units) == 1 and None not in units:
            numbers = [plain(match[1].removeprefix("+")) for match in matches if match]
            columns[f"{axis.key} [{units.pop()}]"] = _series(numbers, values)
    return pl.DataFrame(columns)


def _series(meant: Sequence[object], texts: Sequence[str]) -> pl.Series:
    types = {type(value) for value in meant}
    if types in ({bool}, {int}):
        return pl.Series(meant)
    if types <= {int, float}:
        return pl.Series(meant, dtype=pl.Float64, strict=False)
    shown = (value if isinstance(value, str) else text for value, text in zip(meant, texts, strict=True))
    return pl.Series(list(shown), dtype=pl.String)


def _file(settings: pl.DataFrame, chunks: Sequence[pl.DataFrame]) -> bytes:
    rows = pl.concat(chunks)
    columns = [column.gather(rows[_PLACE]) for column in settings]
    return parquet(pl.DataFrame([*columns, *rows.drop(_PLACE)]))
