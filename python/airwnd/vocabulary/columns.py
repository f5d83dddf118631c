"""The columns of a run's tables: name, type, unit and meaning, as the engine declares them."""

import difflib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, Literal

from airwnd import _native
from airwnd.support.errors import InputError


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    name
        Name in JSON, data frames, Parquet files and measures.
    type
        ``"number"``, ``"integer"`` or ``"text"``.
    words
        Allowed words of a text; empty: any text.
    unit
        Unit; ``"1"`` for pure numbers and for text.
    range
        Minimum and maximum possible value; infinite: no bound.
    meaning
        One sentence.
    """

    name: str
    type: Literal["number", "integer", "text"]
    words: tuple[str, ...]
    unit: str
    range: tuple[float, float]
    meaning: str

    @property
    def shown_unit(self) -> str:
        """The unit as shown in headings; empty for a pure number."""
        return "" if self.unit == "1" else self.unit


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a run.

    Attributes
    ----------
    name
        The attribute of :class:`airwnd.Run`; ``run`` is the top level of :attr:`airwnd.Run.outcome`.
    meaning
        Meaning of a row.
    columns
        Columns by name, in order.
    """

    name: str
    meaning: str
    columns: Mapping[str, Column]


@cache
def tables() -> Mapping[str, Table]:
    """All tables of a run with their columns.

    Returns
    -------
    Mapping[str, Table]
        The tables by name.

    Examples
    --------
    >>> import airwnd
    >>> column = airwnd.tables()["flows"].columns["delay_ms_p95"]
    >>> column.unit, column.meaning
    ('ms', 'One-way delay between the IP layers of sender and receiver: 95th percentile.')
    """
    found = {}
    for raw in json.loads(_native.tables()):
        columns = {each["name"]: _column(each) for each in raw["columns"]}
        found[raw["name"]] = Table(raw["name"], raw["meaning"], MappingProxyType(columns))
    return MappingProxyType(found)


def _column(raw: dict[str, Any]) -> Column:
    minimum, greatest = raw["range"]
    bounds = -math.inf if minimum is None else minimum, math.inf if greatest is None else greatest
    return Column(**{**raw, "words": tuple(raw["words"]), "range": bounds})


def find(path: str) -> Column:
    """Find the column that ``TABLE.COLUMN`` names.

    Raises
    ------
    InputError
        If there is no such column; the message suggests the closest names.
    """
    name, _, column = path.partition(".")
    known = tables()
    if name not in known:
        raise InputError(f"unknown table `{name}`; the tables are {', '.join(known)}")
    columns = known[name].columns
    if column not in columns:
        near = difflib.get_close_matches(column, columns, n=3)
        hint = (
            f"did you mean {' or '.join(f'`{each}`' for each in near)}?"
            if near
            else f"there are {', '.join(columns)}"
        )
        raise InputError(f"{name} have no column `{column}`; {hint}")
    return columns[column]
