"""Experiments that are measured with real programs instead of simulated.

Such an experiment has ``measured.csv`` in its folder: a column per axis, ``seed``, and the columns that its
measures name (``value = "measured.COLUMN"``). A row is a measurement; an empty field: the measure does not
apply there. Lines that start with ``#`` say when and where it was measured. Real time and real programs are
not deterministic, so a program writes the file once; ``airwnd reproduce`` reads it, judges the claims and
makes the page.
"""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from airwnd.study.reader import LARGEST_FILE_MIB, Mistake, check_text, one_of, placed
from airwnd.study.reproduce.measure import MEASURED, Measure
from airwnd.study.space import Space
from airwnd.support.errors import InputError
from airwnd.support.files import read_text

FILE = "measured.csv"


@dataclass(frozen=True)
class Measured:
    """Measurements of an experiment.

    Attributes
    ----------
    source
        When and where they were made, from the ``#`` lines.
    values
        A row for each setting and seed: the axes, ``seed``, and each measure by its name (NaN: not measured).
    """

    source: str
    values: pl.DataFrame

    @property
    def seeds(self) -> int:
        """Highest seed of all measurements; 0: nothing has been measured."""
        return self.values["seed"].max() or 0  # type: ignore[return-value]


def is_measured(measures: Sequence[Measure]) -> bool:
    """Return whether the measures are columns of ``measured.csv``."""
    kinds = {measure.selection.table == MEASURED for measure in measures}
    if len(kinds) > 1:
        raise Mistake("measure", "either all measures or none are of the table `measured`")
    return kinds == {True}


def load_measured(path: Path, space: Space, measures: Sequence[Measure]) -> Measured:
    """Read ``measured.csv``; a missing file has no rows."""
    source, rows = _read(path)
    columns = {measure.name: measure.selection.column for measure in measures}
    found = []
    for number, row in rows:
        with placed(f"{path}:{number}"):
            found.append((*_setting(row, space), *(_number(row, column) for column in columns.values())))
    keys = {axis.name: pl.Enum(["", *axis.names]) for axis in space.axes}
    schema = {**keys, "seed": pl.Int64(), **dict.fromkeys(columns, pl.Float64())}
    values = pl.DataFrame(found, schema=schema, orient="row")
    twice = values.filter(values.select(*keys, "seed").is_duplicated())
    if not twice.is_empty():
        raise InputError(f"{path}: {', '.join(map(str, twice.row(0)[: len(keys) + 1]))} is listed twice")
    return Measured(source, values)


def _read(path: Path) -> tuple[str, list[tuple[int, dict[str, str]]]]:
    """Return the text of the ``#`` lines, and the numbered rows by column."""
    source: list[str] = []
    columns: list[str] = []
    rows: list[tuple[int, dict[str, str]]] = []
    lines = read_text(path, LARGEST_FILE_MIB).splitlines() if path.exists() else []
    for number, line in enumerate(lines, start=1):
        with placed(f"{path}:{number}"):
            check_text("", line)
            fields = next(csv.reader([line]), [])
            if line.startswith("#"):
                source.append(line.lstrip("# "))
            elif fields and not columns:
                columns = fields
            elif fields:
                if len(fields) != len(columns):
                    raise Mistake("", f"expected {len(columns)} fields, found {len(fields)}")
                rows.append((number, dict(zip(columns, fields, strict=True))))
    return " ".join(source), rows


def _setting(row: dict[str, str], space: Space) -> tuple[str | int, ...]:
    for axis in space.axes:
        one_of(axis.name, row.get(axis.name, ""), axis.names)
    seed = row.get("seed", "")
    if not seed.isdecimal() or int(seed) < 1:
        raise Mistake("seed", f"expected a number from 1 on, found `{seed}`")
    return *space.setting({axis.name: row[axis.name] for axis in space.axes}), int(seed)


def _number(row: dict[str, str], column: str) -> float:
    one_of("column", column, row)
    try:
        return float(row[column] or "nan")
    except ValueError:
        raise Mistake(column, f"expected a number, found `{row[column]}`") from None
