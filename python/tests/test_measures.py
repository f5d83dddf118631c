"""Measures of a run, checked against the run's tables."""

import math
from typing import get_args

import numpy as np
import polars as pl
import pytest

from airwnd import InputError, Run, Scenario
from airwnd.study.reader import convert
from airwnd.study.reproduce.measure import Measure, Statistic
from airwnd.study.reproduce.readings import Tables
from airwnd.study.reproduce.readings import read as read_tables

SCENARIO = """\
duration = "1s"
[[site]]
[[ue]]
count = 3
placement = { kind = "ring", radius = "200m" }
[[flow]]
id = "web"
rwnd = "autotuning"
traffic = { kind = "transfer", size = "100kB" }
[[flow]]
id = "call"
traffic = { kind = "cbr", rate = "64kbps" }
"""


@pytest.fixture(scope="module")
def run() -> Run:
    return Scenario.from_toml(SCENARIO).run(series="50ms")


def read(run: Run, **description: object) -> float:
    return read_tables(measure(**description), Tables(run))


def measure(**description: object) -> Measure:
    fields = {"name": "m", "label": "M", "unit": "", "digits": 1, **description}
    return convert(fields, Measure, "here")


def test_totals_are_read_by_column(run: Run) -> None:
    assert read(run, value="totals.jain") == run.totals["jain"]
    assert read(run, value="totals.drops_rlc_queue_full") == run.totals["drops_rlc_queue_full"]


@pytest.mark.parametrize("statistic", ["mean", "median", "min", "max", "sum", "std"])
def test_a_statistic_over_some_flows(run: Run, statistic: str) -> None:
    web = run.flows.filter(pl.col("group") == "web")["delay_ms_mean"]
    expected = {"std": web.std(ddof=0)}.get(statistic) or getattr(web, statistic)()
    found = read(run, value="flows.delay_ms_mean", where={"group": "web"}, statistic=statistic)
    assert found == pytest.approx(expected)


def test_every_statistic_is_one(run: Run) -> None:
    delays = run.flows["delay_ms_mean"].to_numpy()
    for statistic in get_args(Statistic):
        found = read(run, value="flows.delay_ms_mean", statistic=statistic)
        if statistic == "count":
            assert found == delays.size
        elif statistic not in {"sum", "std", "jain"}:
            assert delays.min() <= found <= delays.max()
    assert read(run, value="flows.delay_ms_mean", statistic="p5") == np.percentile(delays, 5)


def test_rows_without_a_value_do_not_count(run: Run) -> None:
    assert run.flows["fct_s"].null_count() == 3
    assert read(run, value="flows.fct_s", statistic="count") == 3
    assert read(run, value="flows.fct_s") == pytest.approx(run.flows["fct_s"].mean())


def test_a_measure_without_rows_is_undefined(run: Run) -> None:
    nothing = measure(value="flows.fct_s", where={"group": "call"})
    found = read_tables(nothing, Tables(run))
    assert math.isnan(found)
    assert nothing.text(found) == "–"


def test_rows_are_selected_by_numbers_and_words(run: Run) -> None:
    first = run.flows.filter(pl.col("ue") == 0)["goodput_kbps"].sum()
    for where in (
        {"ue": 0},
        {"ue": [0.0]},
        {"id": ["web-0", "call-0"]},
        {"ue": [0, 7], "kind": ["cbr", "transfer"]},
    ):
        assert read(run, value="flows.goodput_kbps", where=where, statistic="sum") == pytest.approx(first)
    assert math.isnan(read(run, value="flows.goodput_kbps", where={"ue": "0"}))


def test_jain_of_selected_flows(run: Run) -> None:
    rates = run.flows.filter(pl.col("group") == "call")["goodput_kbps"].to_numpy()
    expected = rates.sum() ** 2 / (rates.size * (rates**2).sum())
    found = read(run, value="flows.goodput_kbps", where={"group": ["call"]}, statistic="jain")
    assert found == pytest.approx(expected)


def test_series_between_two_times(run: Run) -> None:
    part = run.series.filter(
        pl.col("time_s").is_between(0.05, 0.15) & pl.col("flow").cast(pl.String).str.starts_with("web")
    )
    assert 0 < part.height < run.series.height
    found = read(
        run, value="series.rwnd_bytes", where={"group": "web"}, between=["50ms", "150ms"], statistic="max"
    )
    assert found == part["rwnd_bytes"].max()


def test_events_are_counted() -> None:
    tight = Scenario.from_toml(SCENARIO).with_({"rlc.queue": {"kind": "drop-tail", "buffer": "5kB"}})
    run = tight.run(series="50ms")
    drops = read(run, value="events.bytes", where={"event": "drop", "group": "web"}, statistic="count")
    assert drops == run.events.filter(pl.col("event") == "drop").height > 0


@pytest.mark.parametrize(
    ("description", "message"),
    [
        ({"value": "flow.fct_s"}, "value: expected TABLE.COLUMN, where the tables are totals, flows"),
        ({"value": "flows"}, "value: expected TABLE.COLUMN, .*, found 'flows'"),
        (
            {"value": "flows.fct_s", "statistic": "average"},
            "statistic: `average` is not one of count, jain, max",
        ),
        ({"value": "totals.jain", "where": {"group": "web"}}, "where: totals have no rows"),
        ({"value": "flows.fct_s", "between": ["1s", "2s"]}, "between: only series and events have times"),
        ({"value": "series.rtt_ms", "between": ["1s"]}, "between: expected an array of length 2, found"),
        (
            {"value": "series.rtt_ms", "between": ["1s", "soon"]},
            r"between\[1\]: expected a time with its unit",
        ),
        ({"value": "series.rtt_ms", "between": ["2s", "1s"]}, "between: expected the earlier time first"),
        ({"value": "totals.jain", "where": {"group": []}}, "where: expected an array of length >= 1"),
        ({"value": "totals.jain", "digits": -1}, "digits: expected an integer >= 0, found -1"),
        ({"value": "totals.jain", "digits": True}, "digits: expected an integer, found True"),
        ({"value": "totals.jain", "name": "a b"}, "name: expected a name of letters, digits and _"),
    ],
)
def test_an_invalid_measure_is_rejected(description: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        measure(**description)


@pytest.mark.parametrize(
    ("description", "message"),
    [
        ({"value": "flows.fct"}, "value: flows have no column `fct`; did you mean `fct_s`"),
        ({"value": "flows.delay_ms"}, "value: flows have no column `delay_ms`; did you mean `delay_ms_p"),
        ({"value": "totals.__class__"}, "value: totals have no column `__class__`; there are goodput_kbps,"),
        ({"value": "flows.id"}, "value: `id` of flows is not a number"),
        ({"value": "flows.fct_s", "where": {"grp": "web"}}, "where: `grp` is not one of id, group"),
        (
            {"value": "flows.fct_s", "where": {"ue": [1, 1]}},
            "where: two of the values of `ue` are called `1`",
        ),
        ({"value": "series.cwnd"}, "value: series have no column `cwnd`; there are time_s, "),
        ({"value": "series.rtt_ms", "where": {"eu": 1}}, "where: `eu` is not one of time_s, .*, id, group"),
    ],
)
def test_a_missing_column_is_named(description: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        measure(**description)


def test_missing_series_give_a_hint(small: Scenario) -> None:
    with pytest.raises(InputError, match='there are none; the experiment needs series = "100ms"'):
        read(small.run(), value="series.rtt_ms")
