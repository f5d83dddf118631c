"""Selection of values from the data set of a sweep."""

import difflib
import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from airwnd.support.errors import InputError
from airwnd.vocabulary.columns import later_names

if TYPE_CHECKING:
    from airwnd.results.sweep import SweepData


#: Keys of a table of TOML that name what it is, the most exact one first.
NAMES = ("class", "name", "kind")


def plain(value: object) -> str:
    """Return a swept value as text, as in ``true`` or ``10KiB``; a dash where the key is not varied."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def table_of(value: object) -> dict[str, Any] | None:
    """Return a swept value that is a table of TOML with a class, name or kind; ``None``: any other."""
    if not (isinstance(value, str) and value.startswith("{")):
        return None
    try:
        table = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return None
    return table if any(key in table for key in NAMES) else None


def name_of(table: Mapping[str, Any]) -> str:
    """Return the class of a plug-in without its file, or the kind of another table."""
    name = next(str(table[key]) for key in NAMES if key in table)
    return name.rpartition(":")[2]


def canonical(value: object) -> str:
    """Return a value as text, the same for a table of TOML with other spaces and another order of keys."""
    table = table_of(value)
    return plain(value) if table is None else json.dumps(table, sort_keys=True)


def named(values: Iterable[object], wanted: object) -> list[object]:
    """Return the values that a text means: those equal to it, otherwise the only table with this name."""
    values = list(values)
    equal = [value for value in values if canonical(value) == canonical(wanted)]
    alike = [value for value in values if (table := table_of(value)) and name_of(table) == plain(wanted)]
    return equal or (alike if len(alike) == 1 else [])


@dataclass(frozen=True, slots=True)
class Values:
    """A column of a table of a sweep.

    Attributes
    ----------
    table, column
        Its table, ``"totals"`` or ``"flows"``, and its name.
    rows
        A row per run: the swept keys, ``seed``, and ``value``.
    groups
        Groups of flows over which a value is taken; empty: it is not a result of flows.
    """

    table: str
    column: str
    rows: pl.DataFrame
    groups: tuple[str, ...]


def values_of(sweep: "SweepData", y: str, group: str | None) -> Values:
    """Return the values of a column by run.

    Parameters
    ----------
    sweep
        The data set.
    y
        A column of the runs, or of the flows, averaged over those of a run.
    group
        Group of flows; ``None``: all.
    """
    numbers = (found[0] for found in map(sweep.number, sweep.keys) if found is not None)
    keys = list(dict.fromkeys((*sweep.keys, *numbers)))
    groups = sweep.flows["group"].unique(maintain_order=True).to_list()
    flows = sweep.flows
    if group is not None:
        if group not in groups:
            raise InputError(f"no group `{group}`; {_hint(group, groups)}")
        flows = flows.filter(pl.col("group") == group)
    # Totals are results of all flows together.
    frames = {"totals": sweep.runs, "flows": flows} if group is None else {"flows": flows}
    prefix, dot, rest = y.rpartition(".")
    if dot and prefix in frames:
        y, frames = rest, {prefix: frames[prefix]}
    there = {
        table: [
            name
            for name, dtype in frame.schema.items()
            if dtype.is_numeric() and name not in keys and name != "seed"
        ]
        for table, frame in frames.items()
    }
    table = next((table for table, names in there.items() if y in names), None)
    if table is None:
        known = dict.fromkeys(name for names in there.values() for name in names)
        whole = f" of the group `{group}`" if group else ""
        raise InputError(f"no column `{y}`{whole}; {_hint(y, known)}")
    value = pl.col(y).cast(pl.Float64)
    if table == "totals":
        # Of the totals, PRB use and drops are results of the cells and links.
        over = tuple(groups) if y in sweep.flows.columns or y == "jain" else ()
        return Values(table, y, frames[table].select(*keys, "seed", value=value), over)
    rows = flows.group_by(*keys, "seed", maintain_order=True).agg(value=value.mean())
    return Values(table, y, rows, tuple(groups))


def _hint(word: str, known: Iterable[str]) -> str:
    if word in (later := later_names("totals", [word])):
        return f"it is called `{later[word]}` now"
    near = difflib.get_close_matches(word, list(known), n=3)
    if near:
        return f"did you mean {' or '.join(f'`{each}`' for each in near)}?"
    return f"there are {', '.join(known)}"


def only(sweep: "SweepData", rows: pl.DataFrame, where: Mapping[str, object]) -> pl.DataFrame:
    """Return the rows with these values of swept keys.

    Parameters
    ----------
    sweep
        The data set.
    rows
        Rows with its keys.
    where
        Values by key.
    """
    for key, value in where.items():
        check_key(sweep, key, "where")
        meant = named(rows[key].unique(maintain_order=True), value)
        kept = rows.filter(pl.col(key).is_in(meant))
        if kept.is_empty():
            there = ", ".join(plain(each) for (each,) in in_order(rows, [key]))
            raise InputError(f"where {key}={plain(value)}: no such value; there are {there}")
        rows = kept
    return rows


def equal(keys: Sequence[str], values: Sequence[object]) -> pl.Expr:
    """Return the condition that keys, at least one, have these values."""
    return pl.all_horizontal(pl.col(key).eq_missing(value) for key, value in zip(keys, values, strict=True))


def check_key(sweep: "SweepData", key: str, option: str) -> None:
    """Raise an ``InputError`` that names the option if the key was not swept."""
    if key == "group" and key not in sweep.keys:
        raise InputError(f"{option} group: not a swept key; --group, or group=, selects a group of flows")
    if key not in sweep.keys:
        raise InputError(f"{option} {key}: not a swept key; there are {', '.join(sweep.keys) or 'none'}")


def keys_of_lines(sweep: "SweepData", rows: pl.DataFrame, by: Sequence[str] | None) -> tuple[str, ...]:
    """Return the keys whose values have a line each; the others must have one value.

    Parameters
    ----------
    sweep
        The data set.
    rows
        Rows that are drawn, with its keys.
    by
        The keys; ``None``: the first with several values.
    """
    wide = [key for key in sweep.keys if rows[key].n_unique() > 1]
    for key in by or ():
        check_key(sweep, key, "by")
    chosen = tuple(by or wide[:1])
    if rest := [key for key in wide if key not in chosen]:
        values = ", ".join(plain(value) for (value,) in in_order(rows, rest[:1]))
        raise InputError(
            f"{rest[0]} has several values, {values}: select one by --where {rest[0]}=VALUE, or add "
            f"--by {rest[0]} (in Python: where, by)"
        )
    return chosen


def in_order(rows: pl.DataFrame, keys: Sequence[str]) -> list[tuple[object, ...]]:
    """Return the combinations of keys' values in the order of the sweep; the last key changes fastest."""
    if not keys:
        return [()]
    ranks = [
        {value: rank for rank, value in enumerate(rows[key].unique(maintain_order=True))} for key in keys
    ]
    found = rows.select(keys).unique().iter_rows()
    return sorted(found, key=lambda values: [rank[value] for rank, value in zip(ranks, values, strict=True)])
