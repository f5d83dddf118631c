"""Results over several seeds: means with confidence intervals."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from airwnd.results.run import RunData
from airwnd.study.statistics import CONFIDENCE, MIN_SEEDS
from airwnd.support.arguments import SEVERAL, checked
from airwnd.support.errors import InputError
from airwnd.support.student import half_width
from airwnd.vocabulary.columns import tables

if TYPE_CHECKING:
    import polars as pl

#: Tables with their key column; the totals have one row.
_KEYS = {"totals": None, "groups": "group", "flows": "id"}
# Columns of numbers that are identifiers.
_NAMES = ("ue",)


@checked(runs=SEVERAL)
def over_seeds(runs: Iterable[RunData]) -> "pl.DataFrame":
    """Return the mean of each result over runs with different seeds, with its 95 % confidence interval.

    Parameters
    ----------
    runs
        Runs of one scenario, as :meth:`airwnd.Scenario.run_many` returns them.

    Returns
    -------
    polars.DataFrame
        A row per result: its ``table`` (``totals``, ``groups``, ``flows``), the ``id`` of the group or flow,
        the ``column``, the ``mean``, the ends ``low`` and ``high`` of the interval (Student's t), and the
        number ``n`` of runs that have a value. With fewer than three values there is no interval.

    Raises
    ------
    InputError
        If there are no runs, if their scenarios differ, or if two runs have the same seed.

    Examples
    --------
    >>> import airwnd
    >>> base = airwnd.Scenario.load("experiments/arwa-2019/table6/scenario.toml").with_(duration="100ms")
    >>> found = airwnd.over_seeds(base.run_many(range(1, 5)))
    >>> found.columns
    ['table', 'id', 'column', 'mean', 'low', 'high', 'n']
    >>> found.row(0)[:3], found["n"][0]
    (('totals', None, 'goodput_kbps'), 4)
    """
    runs = list(runs)
    if not runs:
        raise InputError("runs: no runs")
    for run in runs:
        if not isinstance(run, RunData):
            raise InputError(f"runs: expected runs, found an object of type {type(run).__name__}")
        if run.scenario != runs[0].scenario:
            raise InputError("runs: these are runs of different scenarios")
    if len({run.seed for run in runs}) < len(runs):
        raise InputError("runs: two runs have the same seed")
    return estimates([run.outcome for run in runs])


def estimates(outcomes: Sequence[Mapping[str, Any]]) -> "pl.DataFrame":
    """Return the frame of :func:`over_seeds` for the outcomes of runs."""
    import polars as pl

    return pl.concat([_table(name, key, outcomes) for name, key in _KEYS.items()])


def _table(name: str, key: str | None, outcomes: Sequence[Mapping[str, Any]]) -> "pl.DataFrame":
    import polars as pl

    from airwnd.results.frames import frame_of

    columns = {
        column.name: column
        for column in tables()[name].columns.values()
        if column.type != "text" and column.name not in _NAMES
    }
    rows = chain.from_iterable([each[name]] if key is None else each[name] for each in outcomes)
    frame = frame_of(name, rows)
    ids = pl.lit(None, pl.String) if key is None else pl.col(key)
    long = frame.select(ids.alias("id"), *(pl.col(each).cast(pl.Float64) for each in columns)).unpivot(
        index="id", variable_name="column", value_name="value"
    )
    value = pl.col("value")
    found = long.group_by("id", "column", maintain_order=True).agg(
        mean=value.mean(), error=value.std() / value.count().sqrt(), n=value.count()
    )
    # The interval is clipped to the range of possible values.
    limits = pl.DataFrame(
        [(name, *column.range) for name, column in columns.items()],
        schema={"column": pl.String, "minimum": pl.Float64, "greatest": pl.Float64},
        orient="row",
    ).with_row_index("place")
    order = found.select("id").unique(maintain_order=True).with_row_index("row")
    mean, half = pl.col("mean"), pl.col("error") * pl.col("factor")
    return (
        found.join(limits, on="column")
        .join(order, on="id", nulls_equal=True)
        .join(_factors(found["n"]), on="n")
        .sort("row", "place")
        .select(
            pl.lit(name).alias("table"),
            "id",
            "column",
            "mean",
            low=(mean - half).clip(lower_bound=pl.min_horizontal("minimum", mean)),
            high=(mean + half).clip(upper_bound=pl.max_horizontal("greatest", mean)),
            n=pl.col("n").cast(pl.Int64),
        )
    )


def _factors(numbers: "pl.Series") -> "pl.DataFrame":
    """Return the half-width of the interval in standard errors, by the number of values."""
    import polars as pl

    rows = [(n, None if n < MIN_SEEDS else half_width(CONFIDENCE, n - 1)) for n in numbers.unique()]
    return pl.DataFrame(rows, schema={"n": numbers.dtype, "factor": pl.Float64}, orient="row")


def nested(found: "pl.DataFrame") -> dict[str, Any]:
    """Convert a frame of :func:`over_seeds` to JSON: results by column, in lists by group and by flow."""
    tree: dict[str, Any] = {"totals": {}, "groups": {}, "flows": {}}
    for row in found.iter_rows(named=True):
        figures = tree[row["table"]]
        if row["id"] is not None:
            figures = figures.setdefault(row["id"], {})
        figures[row["column"]] = {key: row[key] for key in ("mean", "low", "high", "n")}
    rows = {
        name: [{_KEYS[name]: each, **figures} for each, figures in tree[name].items()]
        for name in ("groups", "flows")
    }
    return {"totals": tree["totals"], **rows}


def is_random(outcomes: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the results depend on the seed."""
    return any(each["flows"] != outcomes[0]["flows"] for each in outcomes[1:])
