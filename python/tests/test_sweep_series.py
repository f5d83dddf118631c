"""Time series of a sweep: stored for each setting, and drawn with an interval over the seeds."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure

from airwnd import InputError, Run, Scenario, Sweep, sweep
from airwnd.results.selection import named
from airwnd.study.statistics import interval

from .conftest import Cli

KEY = "flow[download].cc"
SCENARIO = """\
name = "call beside a download"
duration = "500ms"
radio.fading = "epa"
rlc.queue = { kind = "drop-tail", buffer = "100KiB" }
[[site]]
[[ue]]
count = 2
placement = { kind = "disc", radius = "300m" }
[[flow]]
id = "download"
[[flow]]
id = "call"
traffic = { kind = "cbr", rate = "500kbps" }
"""
SEEDS = 3


@pytest.fixture(scope="module")
def base() -> Scenario:
    return Scenario.from_toml(SCENARIO)


@pytest.fixture(scope="module")
def folder(base: Scenario, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("series") / "data"
    sweep(base, grid={KEY: ["cubic", {"kind": "vegas", "alpha": 3}]}, seeds=SEEDS, series="50ms", out=out)
    return out


@pytest.fixture(scope="module")
def data(folder: Path) -> Sweep:
    return Sweep.load(folder)


@pytest.fixture(scope="module")
def runs(base: Scenario) -> list[Run]:
    """The runs of the sweep with CUBIC."""
    return [base.run(seed, "50ms") for seed in range(1, SEEDS + 1)]


def lines(figure: Figure) -> dict[str, tuple[list[float], list[float]]]:
    """Return times and values of the lines by their labels."""
    (axes,) = figure.axes
    return {
        str(line.get_label()): (np.asarray(line.get_xdata()).tolist(), np.asarray(line.get_ydata()).tolist())
        for line in axes.lines
    }


def test_the_series_of_a_sweep_are_those_of_its_runs(folder: Path, data: Sweep, runs: list[Run]) -> None:
    assert sorted(path.name for path in (folder / "series").iterdir()) == ["00000.parquet", "00001.parquet"]
    series = data.read_series()
    assert series.columns[:4] == [KEY, "seed", "time_s", "flow"]
    for run in runs:
        found = series.filter((pl.col(KEY) == "cubic") & (pl.col("seed") == run.seed)).drop(KEY, "seed")
        assert found.equals(run.series.with_columns(pl.col("flow").cast(pl.String)))
    assert data.read_series(["delay_ms"]).equals(series.select(KEY, "seed", "time_s", "flow", "delay_ms"))


def test_a_point_is_the_mean_over_flows_and_then_over_seeds(data: Sweep, runs: list[Run]) -> None:
    figure = data.plot_series("throughput_kbps", flows=["download"], where={KEY: "cubic"})
    ((times, drawn),) = lines(figure).values()
    own = [run.series.filter(pl.col("flow").cast(pl.String).str.starts_with("download")) for run in runs]
    expected = [
        interval(
            [float(each.filter(pl.col("time_s") == at)["throughput_kbps"].mean()) for each in own]  # type: ignore[arg-type]
        )
        for at in times
    ]
    assert len(times) == 10
    assert drawn == pytest.approx([each.mean for each in expected])
    (band,) = figure.axes[0].collections
    corners = np.unique(np.concatenate([path.vertices for path in band.get_paths()]), axis=0)
    for at, each in zip(times, expected, strict=True):
        heights = corners[np.isclose(corners[:, 0], at), 1]
        assert (heights.min(), heights.max()) == pytest.approx((each.low, each.high))


def test_windows_average_the_samples_that_end_in_them(data: Sweep) -> None:
    fine, coarse = (
        next(iter(lines(data.plot_series("throughput_kbps", mean_s=mean_s, where={KEY: "cubic"})).values()))
        for mean_s in (None, 0.25)
    )
    assert coarse[0] == pytest.approx([0.125, 0.375])
    assert coarse[1] == pytest.approx([np.mean(fine[1][:5]), np.mean(fine[1][5:])])


def test_lines_are_values_and_groups_with_their_names(data: Sweep) -> None:
    figure = data.plot_series(flows=["download", "call"], labels={"vegas": "TCP Vegas", KEY: "Sender"})
    assert list(lines(figure)) == ["cubic, download", "TCP Vegas, download", "cubic, call", "TCP Vegas, call"]
    (axes,) = figure.axes
    legend = axes.get_legend()
    assert legend is not None
    assert legend.get_title().get_text() == "Sender"
    assert axes.get_ylabel() == "One-way delay (ms),\nmean of 3 seeds, 95% CI"
    whole = data.plot_series()
    assert list(lines(whole)) == ["cubic", "vegas"]
    assert whole.axes[0].get_ylabel().endswith("over all flows: download, call")
    title = whole.axes[0].get_legend()
    assert title is not None
    assert title.get_title().get_text() == "Congestion control, download"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"quantity": "delay"}, "no series `delay`; there are cwnd_bytes, "),
        ({"quantity": "cell"}, "series `cell` has no mean over flows and seeds"),
        ({"by": ["cc"]}, "by cc: not a swept key"),
        ({"flows": ["upload"]}, "no flow or group `upload`; groups are download, call"),
        ({"where": {KEY: "reno"}}, "where flow.download..cc=reno: no such value"),
        ({"where": {"group": "call"}}, "where group: not a swept key; --group, or group=, selects"),
        ({"labels": {"reno": "Reno"}}, "label reno: not a swept key and no value of one"),
        ({"mean_s": math.inf}, "mean over inf s: expected a time above zero"),
    ],
)
def test_a_wrong_argument_is_one_line(data: Sweep, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        data.plot_series(**arguments)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["vegas", '{alpha = 3, kind = "vegas"}'])
def test_a_table_is_selected_by_its_kind_or_any_spelling(data: Sweep, text: str) -> None:
    assert list(lines(data.plot_cdf("goodput_kbps", where={KEY: text}, labels={text: "V"}, by=[KEY]))) == [
        "V"
    ]
    reference = data.compare(KEY, to=text, columns=["jain"])[0]
    assert (reference.difference, "vegas" in str(reference.value)) == (None, True)


def test_a_name_of_several_tables_selects_none() -> None:
    tables = ['{kind="vegas",alpha=3}', '{kind="vegas",alpha=4}', "cubic", 3]
    assert named(tables, "vegas") == []
    assert named(tables, '{kind="vegas", alpha=4}') == tables[1:2]
    assert (named(tables, "cubic"), named(tables, "3")) == (["cubic"], [3])


def test_a_distribution_is_the_mean_of_those_of_the_runs(data: Sweep) -> None:
    rows = data.read_series(["delay_ms"]).filter(
        (pl.col(KEY) == "cubic") & pl.col("flow").str.starts_with("call")
    )
    rows = rows.drop_nulls()
    figure = data.plot_cdf("delay_ms", groups=["call"], where={KEY: "cubic"})
    ((places, drawn),) = lines(figure).values()
    (axes,) = figure.axes
    assert axes.get_xlabel() == "One-way delay (ms),\nflows of call"
    assert axes.get_ylabel() == "CDF over samples of 50 ms,\nmean of 3 seeds, 95% CI"
    assert (drawn[0], drawn[-1]) == (0.0, 1.0)
    runs = [part["delay_ms"].to_numpy() for part in rows.partition_by("seed", maintain_order=True)]
    for place in range(1, len(places), 7):
        found = interval([float((run <= places[place]).mean()) for run in runs])
        assert drawn[place] == pytest.approx(found.mean)
        (band,) = axes.collections
        corners = np.concatenate([path.vertices for path in band.get_paths()])
        heights = corners[np.isclose(corners[:, 0], places[place]), 1]
        for bound in (max(found.low, 0), min(found.high, 1)):
            assert np.isclose(heights, bound).any()


def test_a_distribution_of_flows_needs_no_series(base: Scenario, tmp_path: Path) -> None:
    sweep(base.with_(duration="100ms"), grid={KEY: ["cubic", "vegas"]}, seeds=2, out=tmp_path)
    found = Sweep.load(tmp_path)
    figure = found.plot_cdf("goodput_kbps", groups=["download", "call"], labels={"vegas": "Vegas"})
    assert list(lines(figure)) == ["cubic, download", "Vegas, download", "cubic, call", "Vegas, call"]
    assert not figure.axes[0].collections, "two seeds have no interval"
    with pytest.raises(InputError, match=r"no column `delay_ms` to draw; .*; a sweep with --series has more"):
        found.plot_cdf("delay_ms")
    with pytest.raises(InputError, match="no `fct_s` in these runs: no transfer or page was completed"):
        found.plot_cdf()


def test_transfers_that_are_not_completed_count(base: Scenario, tmp_path: Path) -> None:
    short = {"kind": "transfer", "size": "20kB"}
    scenario = base.with_({"flow[call].traffic": short, "flow[call].start": "300ms"})
    slow = {"kind": "drop-tail", "buffer": "1MB"}
    sweep(scenario, grid={"rlc.queue": [slow]}, seeds=3, series="100ms", out=tmp_path)
    found = Sweep.load(tmp_path)
    rows = found.read_completions()
    assert 0 < rows["fct_s"].null_count() < rows.height
    figure = found.plot_cdf()
    ((_, drawn),) = lines(figure).values()
    done = [float(run["fct_s"].is_not_null().mean()) for run in rows.partition_by("seed")]  # type: ignore[arg-type]
    assert drawn[-1] == pytest.approx(np.mean(done))
    assert figure.axes[0].get_xlabel() == "Completion time (s)", "downloads have none"


def test_keys_without_a_place_are_an_error(base: Scenario, tmp_path: Path) -> None:
    sweep(
        base.with_(duration="50ms"),
        grid={KEY: ["cubic", "vegas"], "ue[0].count": [1, 2]},
        series="10ms",
        out=tmp_path,
    )
    found = Sweep.load(tmp_path)
    with pytest.raises(InputError, match=r"ue\[0\].count has several values, 1, 2: select one by --where"):
        found.plot_series()
    assert len(lines(found.plot_series(by=[KEY, "ue[0].count"]))) == 4
    figure = found.plot_series(where={"ue[0].count": 2})
    assert figure.axes[0].get_ylabel().startswith("One-way delay (ms),\nover all flows"), (
        "no seeds, no interval"
    )
    assert not figure.axes[0].collections


def test_the_commands(cli: Cli, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "cell.toml").write_text(SCENARIO, encoding="utf-8")
    begin = (
        "sweep",
        tmp_path / "cell.toml",
        "--set",
        "duration=100ms",
        "--grid",
        f"{KEY}=cubic",
        "--out",
        tmp_path / "a",
    )
    done = cli(*begin, "--series", "20ms")
    assert (done.returncode, done.stdout.splitlines()[-1].rpartition(" (")[2]) == (
        0,
        "runs.parquet, flows.parquet, series, manifest.json)",
    )
    done = cli(*begin)
    assert done.returncode == 2
    assert "its time series: 20ms, those of this sweep: none; choose another --out, or" in done.stderr
    assert cli(*begin, "--force").returncode == 0
    assert not (tmp_path / "a" / "series").exists()
    done = cli("plot", "series", tmp_path / "a")
    assert "the runs of this sweep have no time series; `airwnd sweep FILE --series 100ms`" in done.stderr
    assert "series: `20`" in cli(*begin, "--force", "--series", "20").stderr
    out = tmp_path / "series.svg"
    done = cli("plot", "series", folder, "--label", "vegas(alpha=3)=V (3)", "-o", out)
    assert "label vegas(alpha=3): not a swept key" in done.stderr
    done = cli("plot", "series", folder, "--label", "vegas", "-o", out)
    assert "--label vegas: expected VALUE=NAME, as in --label cubic=CUBIC" in done.stderr
    label = '{kind="vegas",alpha=3}=Vegas'
    assert cli("plot", "series", folder, "--flow", "call", "--label", label, "-o", out).returncode == 0
    assert "Vegas" in out.read_text()
    done = cli("plot", "series", tmp_path / "cell.toml", "--by", KEY, "-o", out)
    assert "--by applies to the folder of a sweep" in done.stderr
    done = cli("plot", "series", folder, "--seed", "2", "-o", out)
    assert "--set and --seed apply to scenarios" in done.stderr
    done = cli("export", folder, "--table", "series")
    assert done.stdout.startswith(f"{KEY},seed,time_s,flow,")
    done = cli(
        "run",
        tmp_path / "cell.toml",
        "--seeds",
        2,
        "--set",
        "duration=50ms",
        "--series",
        "10ms",
        "--out",
        tmp_path / "s",
    )
    assert done.returncode == 0, done.stderr
    assert Sweep.load(tmp_path / "s").read_series(["rtt_ms"])["seed"].unique().sort().to_list() == [1, 2]
    done = cli("plot", "compare", folder)
    assert "the folder of a sweep, not of a run; `airwnd plot sweep`, `frontier`, `series` and" in done.stderr
    done = cli("plot", "cdf", folder, "--group", "call", "--quantity", "delay_ms", "-o", out)
    assert (done.returncode, done.stderr) == (0, "")
    assert "CDF over" in out.read_text()
    done = cli("plot", "cdf", tmp_path / "cell.toml", "--where", f"{KEY}=cubic", "-o", out)
    assert "--where applies to the folder of a sweep" in done.stderr
