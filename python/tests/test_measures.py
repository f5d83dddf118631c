"""What is read from a run, checked against the run's own tables."""

import math

import polars as pl
import pytest

from airwnd import InputError, Run, Scenario
from airwnd.reproduce.measure import Measure
from airwnd.reproduce.strict import Table

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


def measure(**description: object) -> Measure:
    fields = {"name": "m", "label": "M", "unit": "", "digits": 1, **description}
    table = Table(fields, "here")
    found = Measure.take(table)
    table.finish()
    return found


def test_totals_are_read_by_column(run: Run) -> None:
    assert measure(value="totals.jain").read(run) == run.totals["jain"]
    assert measure(value="totals.drops_rlc_queue_full").read(run) == run.totals["drops_rlc_queue_full"]


@pytest.mark.parametrize("statistic", ["mean", "median", "min", "max", "sum", "std"])
def test_a_statistic_over_some_flows(run: Run, statistic: str) -> None:
    web = run.flows.filter(pl.col("group") == "web")["delay_ms_mean"]
    expected = {"std": web.std(ddof=0)}.get(statistic) or getattr(web, statistic)()
    found = measure(value="flows.delay_ms_mean", where={"group": "web"}, statistic=statistic).read(run)
    assert found == pytest.approx(expected)


def test_rows_without_a_value_do_not_count(run: Run) -> None:
    assert run.flows["fct_s"].null_count() == 3
    assert measure(value="flows.fct_s", statistic="count").read(run) == 3
    assert measure(value="flows.fct_s").read(run) == pytest.approx(run.flows["fct_s"].mean())


def test_a_measure_without_rows_is_undefined(run: Run) -> None:
    nothing = measure(value="flows.fct_s", where={"group": "call"})
    assert math.isnan(nothing.read(run))
    assert nothing.text(nothing.read(run)) == "–"


def test_jain_of_chosen_flows(run: Run) -> None:
    rates = run.flows.filter(pl.col("group") == "call")["goodput_kbps"].to_numpy()
    expected = rates.sum() ** 2 / (rates.size * (rates**2).sum())
    found = measure(value="flows.goodput_kbps", where={"group": ["call"]}, statistic="jain")
    assert found.read(run) == pytest.approx(expected)


def test_series_between_two_times(run: Run) -> None:
    part = run.series.filter(
        pl.col("time_s").is_between(0.2, 0.5) & pl.col("flow").cast(pl.String).str.starts_with("web")
    )
    assert 0 < part.height < run.series.height
    found = measure(
        value="series.rwnd_bytes", where={"group": "web"}, between=["200ms", "500ms"], statistic="max"
    )
    assert found.read(run) == part["rwnd_bytes"].max()


def test_events_are_counted() -> None:
    tight = Scenario.from_toml(SCENARIO).with_({"rlc.queue": {"kind": "drop-tail", "buffer": "5kB"}})
    run = tight.run(series="50ms")
    drops = measure(value="events.bytes", where={"event": "drop", "group": "web"}, statistic="count")
    assert drops.read(run) == run.events.filter(pl.col("event") == "drop").height > 0


@pytest.mark.parametrize(
    ("description", "message"),
    [
        ({"value": "flow.fct_s"}, "`flow.fct_s` is no TABLE.COLUMN; the tables are totals, flows"),
        ({"value": "flows"}, "is no TABLE.COLUMN"),
        ({"value": "flows.fct_s", "statistic": "average"}, "statistic: `average` is none of mean, median"),
        ({"value": "totals.jain", "where": {"group": "web"}}, "where: totals have no rows"),
        ({"value": "flows.fct_s", "between": ["1s", "2s"]}, "between: only series and events have times"),
        ({"value": "series.rtt_ms", "between": ["1s"]}, "between: expected two times"),
        ({"value": "series.rtt_ms", "between": ["1s", "soon"]}, "between: expected two times"),
    ],
)
def test_a_wrong_measure_is_refused(description: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        measure(**description)


@pytest.mark.parametrize(
    ("description", "message"),
    [
        ({"value": "flows.fct"}, "measure `m`: flows have no `fct`; there are id, "),
        ({"value": "flows.delay_ms"}, r"flows have no `delay_ms`; there are .*delay_ms_mean"),
        ({"value": "flows.fct_s", "where": {"grp": "web"}}, "flows have no `grp`"),
        ({"value": "series.cwnd"}, "series have no column `cwnd`; there are time_s, "),
        ({"value": "series.rtt_ms", "where": {"eu": 1}}, "flows have no `eu`; there are id"),
    ],
)
def test_a_column_that_is_not_there_is_named(run: Run, description: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        measure(**description).read(run)


def test_series_that_were_not_asked_for_are_asked_for(small: Scenario) -> None:
    with pytest.raises(InputError, match='there are none; the experiment needs series = "100ms"'):
        measure(value="series.rtt_ms").read(small.run())
