"""Comparison of the values of a swept key: differences of runs with the same seed and other settings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from airwnd.plots.category import texts
from airwnd.results.selection import check_key, equal, named, only, plain, values_of
from airwnd.study.statistics import Interval, interval
from airwnd.support.errors import InputError

if TYPE_CHECKING:
    from airwnd.results.sweep import SweepData

# Columns that are compared by default, where they have values. Losses of links and radio, and fairness, are
# results of a whole run.
_FIRST = ("goodput_kbps", "fct_s", "delay_ms_mean", "delay_ms_p95", "on_time_percent")
_COLUMNS, _COLUMNS_OF_GROUP = (*_FIRST, "loss_percent", "jain"), (*_FIRST, "pdf_percent")


@dataclass(frozen=True, slots=True)
class Difference:
    """A value of the compared key against the reference, in one column and one combination of the other keys.

    Attributes
    ----------
    setting
        Values of the other keys.
    value
        The value of the compared key; of several keys, their short texts, as in ``"prague, dualpi2"``.
    table, column
        Column of the results.
    mean
        Mean over the seeds with its 95 % confidence interval.
    difference
        Mean difference from the reference, run by run with the same seed, with its interval; ``None``: it is
        the reference.
    percent
        `difference` in percent of the mean of the reference; ``None`` if that is zero.
    """

    setting: Mapping[str, object]
    value: object
    table: str
    column: str
    mean: Interval
    difference: Interval | None
    percent: float | None

    @property
    def is_significant(self) -> bool:
        """Whether the interval of the difference excludes zero."""
        found = self.difference
        return found is not None and (found.low > 0 or found.high < 0)


def compare(  # noqa: PLR0913 (keywords of a public function)
    sweep: "SweepData",
    by: str | Sequence[str] | None = None,
    to: object = None,
    columns: Sequence[str] | None = None,
    *,
    group: str | None = None,
    where: Mapping[str, object] | None = None,
) -> list[Difference]:
    """Compare the values of a key; :meth:`airwnd.Sweep.compare` documents the arguments."""
    keys = [by] if isinstance(by, str) else list(by or _compared(sweep, where or {}))
    for key in keys:
        check_key(sweep, key, "by")
    others = [key for key in sweep.keys if key not in keys]
    by = ", ".join(keys)
    found: list[Difference] = []
    for column in columns or (_COLUMNS if group is None else _COLUMNS_OF_GROUP):
        taken = values_of(sweep, column, group)
        rows = only(sweep, taken.rows, where or {}).drop_nulls("value")
        if rows.is_empty():
            if columns is None:
                continue
            raise InputError(f"column {column}: no run has a value")
        if len(keys) > 1:
            rows = rows.with_columns(_joined(rows, keys).alias(by))
        there = rows[by].unique(maintain_order=True).to_list()
        meant = there if to is None else named(there, to)
        if not meant:
            raise InputError(f"to {plain(to)}: not a value of {by}; there are {', '.join(map(plain, there))}")
        reference = meant[0]
        settings = rows.select(others).unique(maintain_order=True).to_dicts() if others else [{}]
        for setting in settings:
            here = rows.filter(equal(list(setting), list(setting.values()))) if setting else rows
            # The reference may be without a key that others have, such as a parameter of theirs.
            same = [pl.col(key).eq_missing(value) | pl.col(key).is_null() for key, value in setting.items()]
            base = rows.filter(equal([by], [reference]), *same).select("seed", base="value").unique("seed")
            for value in (reference, *(each for each in there if each != reference)):
                own = (
                    here.filter(equal([by], [value]))
                    .unique("seed")
                    .join(base, on="seed", maintain_order="left")
                )
                if own.is_empty():
                    continue
                difference = interval((own["value"] - own["base"]).to_list())
                about = float(own["base"].mean())  # type: ignore[arg-type]
                found.append(
                    Difference(
                        setting,
                        value,
                        taken.table,
                        taken.column,
                        interval(own["value"].to_list()),
                        None if value == reference else difference,
                        100 * difference.mean / about if about and value != reference else None,
                    )
                )
    return found


def _joined(rows: pl.DataFrame, keys: Sequence[str]) -> pl.Series:
    """Return the combination of the keys' values in each row as one text."""
    short = [texts(rows[key].unique(maintain_order=True)) for key in keys]
    found = rows.select(keys).iter_rows()
    return pl.Series([", ".join(map(dict.__getitem__, short, values)) for values in found])


def _compared(sweep: "SweepData", where: Mapping[str, object]) -> list[str]:
    """Return the key to compare: the only one left."""
    free = [key for key in sweep.keys if key not in where]
    if len(free) != 1:
        there = f"; swept are {', '.join(sweep.keys)}" if sweep.keys else ", but only seeds are swept"
        raise InputError(f"name the key to compare by --by KEY (in Python: by){there}")
    return free
