"""The columns of a run's tables: name, type, unit and meaning, as the engine declares them."""

import difflib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, Literal

from airwnd import _native
from airwnd.support.errors import InputError

# Larger units for each unit of a column, with their factors.
_LARGER = {
    "kbit/s": ((1e6, "Gbit/s"), (1e3, "Mbit/s")),
    "bytes": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")),
    "ms": ((1e3, "s"),),
    "m": ((1e3, "km"),),
}
# Minimum largest value, in the larger unit, for an axis to use that unit.
_FROM = 10


def larger_unit(unit: str, largest: float) -> tuple[float, str]:
    """Return the unit in which an axis up to this value has short numbers, and its multiple of the given one.

    Examples
    --------
    >>> larger_unit("kbit/s", 72_000), larger_unit("kbit/s", 9_000)
    ((1000.0, 'Mbit/s'), (1.0, 'kbit/s'))
    """
    fits = (each for each in _LARGER.get(unit, ()) if largest >= _FROM * each[0])
    return next(fits, (1.0, unit))


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
    short
        Heading in a table, without the unit.
    label
        Name on an axis, without the unit.
    digits
        Decimals in a table; 0 for whole numbers and text.
    rank
        Order of omission in a narrow table: the highest rank first, 0 never.
    formerly
        Name in earlier versions; ``None``: the same.
    meaning
        One sentence.
    """

    name: str
    type: Literal["number", "integer", "text"]
    words: tuple[str, ...]
    unit: str
    range: tuple[float, float]
    short: str
    label: str
    digits: int
    rank: int
    formerly: str | None
    meaning: str

    @property
    def shown_unit(self) -> str:
        """The unit as shown in headings; empty for a pure number."""
        return "" if self.unit == "1" else self.unit

    @property
    def title(self) -> str:
        """The heading with the unit in parentheses."""
        return f"{self.short} ({self.shown_unit})" if self.shown_unit else self.short


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


def later_names(table: str, columns: Iterable[str]) -> dict[str, str]:
    """Return the present names of those columns that an earlier version has written under another name."""
    known = {each.formerly: each.name for each in tables()[table].columns.values()}
    return {name: known[name] for name in columns if name in known}


class NamedRow(dict[str, Any]):
    """The one row of a table; a wrong name is an error that suggests the right one."""

    def __init__(self, table: str, row: Mapping[str, Any]) -> None:
        super().__init__(row)
        self._table = table

    def __missing__(self, name: str) -> Any:
        """Raise an error that suggests a name."""
        try:
            find(f"{self._table}.{name}")
        except InputError as error:
            raise KeyError(str(error)) from None
        raise KeyError(name)


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
        later = next((each.name for each in columns.values() if each.formerly == column), None)
        if later:
            raise InputError(f"{name} have no column `{column}`: it is called `{later}` now")
        near = difflib.get_close_matches(column, columns, n=3)
        hint = (
            f"did you mean {' or '.join(f'`{each}`' for each in near)}?"
            if near
            else f"there are {', '.join(columns)}"
        )
        raise InputError(f"{name} have no column `{column}`; {hint}")
    return columns[column]
