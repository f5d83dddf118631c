"""Sweeps are compared by paired differences, drawn as a frontier, and exported."""

import csv
import io
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D

from airwnd import InputError, Scenario, Sweep, sweep
from airwnd.study.statistics import interval

from .conftest import SMALL, Cli

KEY, OTHER = "flow[0].cc", "ue[0].count"
SEEDS = 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("compare") / "data"
    scenario = Scenario.from_toml(SMALL).with_({"radio.fading": "epa"}, duration="500ms")
    sweep(scenario, grid={KEY: ["cubic", "vegas"], OTHER: [1, 2]}, seeds=SEEDS, out=out)
    return out


@pytest.fixture(scope="module")
def data(folder: Path) -> Sweep:
    return Sweep.load(folder)


def test_differences_are_paired_by_seed_and_setting(data: Sweep) -> None:
    found = data.compare(KEY, columns=["goodput_kbps", "flows.delay_ms_p50"])
    assert [(each.column, each.setting[OTHER], each.value) for each in found] == [
        (column, count, cc)
        for column in ("goodput_kbps", "delay_ms_p50")
        for count in (1, 2)
        for cc in ("cubic", "vegas")
    ]
    for each in found:
        frame = data.runs if each.table == "totals" else data.flows
        rows = (
            frame.filter(pl.col(OTHER) == each.setting[OTHER])
            .group_by(KEY, "seed")
            .agg(pl.col(each.column).mean())
        )
        of = {
            cc: rows.filter(pl.col(KEY) == cc).sort("seed")[each.column].to_numpy()
            for cc in ("cubic", "vegas")
        }
        mean = interval(of[str(each.value)].tolist())
        assert (each.mean.mean, each.mean.low) == pytest.approx((mean.mean, mean.low))
        if each.value == "cubic":
            assert (each.difference, each.percent, each.is_significant) == (None, None, False)
            continue
        difference = interval((of["vegas"] - of["cubic"]).tolist())
        assert each.difference is not None
        assert each.difference.mean == pytest.approx(difference.mean)
        assert each.difference.high == pytest.approx(difference.high)
        assert each.percent == pytest.approx(100 * difference.mean / of["cubic"].mean())
        assert each.is_significant == (difference.low > 0 or difference.high < 0)


def test_a_difference_is_found_where_the_means_overlap(data: Sweep) -> None:
    """Every seed has another level; the difference is the same in each."""
    level = pl.col("seed") * 1000.0
    runs = data.runs.with_columns(
        goodput_kbps=level + pl.when(pl.col(KEY) == "vegas").then(-10.0).otherwise(0.0)
    )
    runs = runs.with_columns(
        goodput_kbps=pl.col("goodput_kbps") + pl.col("seed") * 0.1 * (pl.col(KEY) == "vegas")
    )
    _, vegas = replace(data, runs=runs).compare(KEY, columns=["goodput_kbps"], where={OTHER: 1})
    assert vegas.difference is not None
    assert vegas.is_significant
    assert (vegas.difference.low, vegas.difference.high) == pytest.approx((-9.95, -9.55), abs=0.02)
    assert vegas.mean.low < 2490 < vegas.mean.high


def test_a_group_is_compared_in_the_columns_that_it_has(data: Sweep) -> None:
    (group,) = data.flows["group"].unique()
    found = data.compare(KEY, group=group, where={OTHER: 2})
    assert [(each.column, each.value) for each in found] == [
        (column, cc)
        for column in ("goodput_kbps", "delay_ms_mean", "delay_ms_p95", "on_time_percent", "pdf_percent")
        for cc in ("cubic", "vegas")
    ]
    rows = data.flows.filter((pl.col(OTHER) == 2) & (pl.col(KEY) == "vegas"))
    assert found[1].mean.mean == pytest.approx(rows["goodput_kbps"].mean())


def test_the_reference_can_be_chosen(data: Sweep) -> None:
    found = data.compare(KEY, "vegas", ["jain"], where={OTHER: 2})
    assert [(each.value, each.difference is None) for each in found] == [("vegas", True), ("cubic", False)]


def test_two_seeds_have_no_interval(data: Sweep) -> None:
    few = replace(data, runs=data.runs.filter(pl.col("seed") <= 2), seeds=2)
    _, vegas = few.compare(KEY, columns=["goodput_kbps"], where={OTHER: 1})
    assert vegas.difference is not None
    assert math.isinf(vegas.difference.high)
    assert not vegas.is_significant


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name the key to compare by --by KEY (in Python: by); swept are flow[0].cc, ue[0].count"),
        (["--by", "cc"], "by cc: not a swept key; there are flow[0].cc, ue[0].count"),
        (["--by", KEY, "--to", "reno"], "to reno: not a value of flow[0].cc; there are cubic, vegas"),
        (["--by", KEY, "--column", "goodputs_kbps"], "did you mean `goodput_kbps`"),
        (["--by", KEY, "--where", "ue[0].count"], "--where ue[0].count: expected KEY=VALUE"),
        (["--by", KEY, "--where", "ue[0].count=7"], "no such value; there are 1, 2"),
        (["--by", KEY, "--group", "up"], "no group `up`"),
        (["--by", KEY, "--column", "fct_s"], "column fct_s: no run has a value"),
    ],
)
def test_an_error_of_a_comparison_is_one_line(
    cli: Cli, folder: Path, arguments: list[str], message: str
) -> None:
    result = cli("compare", folder, *arguments)
    assert result.returncode == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_the_command_prints_what_python_returns(cli: Cli, folder: Path, data: Sweep) -> None:
    text = cli("compare", folder, "--by", KEY).stdout
    for part in ("ue[0].count = 1", "ue[0].count = 2", "goodput, kbit/s", "Jain's index", "*"):
        assert part in text
    printed = json.loads(cli("compare", folder, "--by", KEY, "--json").stdout)
    assert printed["seeds"] == SEEDS
    found = data.compare(KEY)
    assert [each["mean"]["mean"] for each in printed["differences"]] == [each.mean.mean for each in found]
    assert printed["differences"][0]["difference"] is None


def test_columns_of_a_newcomer_are_compared_where_they_have_values(tmp_path: Path, cli: Cli) -> None:
    scenario = Scenario.from_dict(
        {
            "duration": "2s",
            "link": [{"rate": "10Mbps", "delay": "20ms"}],
            "ue": [{}],
            "flow": [{"traffic": {"kind": "transfer", "size": "500kB"}}],
        }
    )
    sweep(scenario, grid={KEY: ["cubic", "newreno"]}, seeds=3, out=tmp_path / "out")
    found = Sweep.load(tmp_path / "out").compare()
    columns = list(dict.fromkeys(each.column for each in found))
    assert columns == ["goodput_kbps", "fct_s", "delay_ms_mean", "delay_ms_p95", "loss_percent", "jain"]
    text = cli("compare", tmp_path / "out").stdout
    assert "completion time, s" in text
    assert "No difference: goodput, kbit/s (mean 2,000.0); Jain's index (mean 1.0000)" in text


def test_the_command_names_the_groups_that_it_compares_together(cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "data"
    flows = [{"id": "download"}, {"id": "call", "traffic": {"kind": "cbr", "rate": "100kbps"}}]
    scenario = Scenario.from_toml(SMALL).with_(duration="200ms", flow=flows)
    sweep(scenario, grid={"flow[download].cc": ["cubic", "vegas"]}, seeds=2, out=out)
    assert "Over all flows: download, call." in cli("compare", out).stdout
    assert "Flows of call." in cli("compare", out, "--group", "call").stdout


def points(axes: Axes) -> dict[str, tuple[float, float]]:
    found = {}
    for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
        assert isinstance(handle, Line2D)
        x, y = np.ravel(handle.get_xydata())
        found[name] = (float(x), float(y))
    return found


def test_a_frontier_has_the_means_and_their_intervals(data: Sweep) -> None:
    (axes,) = data.plot_frontier(KEY, where={OTHER: 2}).axes
    assert "95% CI" in axes.get_ylabel()
    rows = data.runs.filter((pl.col(OTHER) == 2) & (pl.col(KEY) == "vegas"))
    bars = [bar for bar in axes.collections if isinstance(bar, LineCollection)][2:]
    for place, (column, bar) in enumerate(zip(("delay_ms_mean", "goodput_kbps"), bars, strict=True)):
        found = interval(rows[column].to_list())
        ends = bar.get_segments()[0][:, place]
        assert ends == pytest.approx((found.low, found.high))


def test_a_point_stands_for_a_combination_of_values(data: Sweep) -> None:
    (axes,) = data.plot_frontier([KEY, OTHER]).axes
    found = points(axes)
    assert list(found) == ["cubic, 1", "cubic, 2", "vegas, 1", "vegas, 2"]
    differences = {each.value: each for each in data.compare([KEY, OTHER], "vegas, 1", ["goodput_kbps"])}
    assert [*differences] == ["vegas, 1", "cubic, 1", "cubic, 2", "vegas, 2"]
    assert differences["vegas, 1"].difference is None
    for value, (_, y) in found.items():
        assert differences[value].mean.mean == pytest.approx(y)


def test_a_frontier_has_ellipses_of_one_standard_deviation(data: Sweep) -> None:
    figure = data.plot_frontier(KEY, where={OTHER: 2}, labels={"vegas": "TCP Vegas"}, spread="deviation")
    (axes,) = figure.axes
    found = points(axes)
    assert list(found) == ["cubic", "TCP Vegas"]
    assert "one standard deviation" in " ".join(axes.get_ylabel().split())
    rows = data.runs.filter((pl.col(OTHER) == 2) & (pl.col(KEY) == "vegas"))
    values = rows.select("delay_ms_mean", "goodput_kbps").to_numpy()
    assert found["TCP Vegas"] == pytest.approx(tuple(values.mean(axis=0)))
    outline = axes.patches[1].get_xy() - values.mean(axis=0)  # type: ignore[attr-defined]
    # On the ellipse of one standard deviation, the Mahalanobis distance is one.
    inverse = np.linalg.inv(np.cov(values.T))
    distance = np.einsum("ij,jk,ik->i", outline, inverse, outline)
    assert distance == pytest.approx(np.ones(len(outline)))


def test_wrong_arguments_of_a_frontier_are_one_line(data: Sweep) -> None:
    for arguments, message in (
        (
            {"by": KEY},
            r"ue\[0\].count has several values, 1, 2: select one by --where ue\[0\].count=VALUE",
        ),
        ({"by": KEY, "where": {OTHER: 1}, "spread": "ellipse"}, "spread: expected 'interval' or 'deviation'"),
        ({"by": "cc"}, "by cc: not a swept key"),
        (
            {"by": KEY, "where": {OTHER: 1}, "labels": {"reno": "Reno"}},
            "label reno: not a swept key and no value of one; there are flow",
        ),
        ({"by": KEY, "where": {OTHER: 1}, "x": "delay"}, "no column `delay`"),
    ):
        with pytest.raises(InputError, match=message):
            data.plot_frontier(**arguments)


def test_the_picture_is_written(cli: Cli, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "frontier.svg"
    result = cli("plot", "frontier", folder, "--where", "ue[0].count=1", "--label", "cubic=CUBIC", "-o", out)
    assert result.returncode == 0, result.stderr
    result = cli(
        "plot",
        "frontier",
        folder,
        "--by",
        KEY,
        "--by",
        OTHER,
        "--spread",
        "deviation",
        "-o",
        tmp_path / "b.svg",
    )
    assert result.returncode == 0, result.stderr
    assert "CUBIC" in out.read_text()


def test_exported_tables_have_the_values_of_the_data_set(
    cli: Cli, folder: Path, data: Sweep, tmp_path: Path
) -> None:
    rows = list(csv.DictReader(io.StringIO(cli("export", folder, "--table", "runs").stdout)))
    assert [float(row["goodput_kbps"]) for row in rows] == data.runs["goodput_kbps"].to_list()
    for kind in ("csv", "json", "parquet"):
        assert cli("export", folder, "--format", kind, "--out", tmp_path / kind).returncode == 0
    assert pl.read_parquet(tmp_path / "parquet" / "flows.parquet").equals(data.flows)
    lines = (tmp_path / "json" / "flows.json").read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == data.flows["id"].to_list()


def test_a_run_is_exported_with_its_series(cli: Cli, tmp_path: Path) -> None:
    run = Scenario.from_toml(SMALL).run(series="100ms")
    run.save(tmp_path / "run")
    assert cli("export", tmp_path / "run", "--out", tmp_path / "csv").returncode == 0
    written = {path.stem: pl.read_csv(path) for path in (tmp_path / "csv").iterdir()}
    assert set(written) >= {"totals", "flows", "groups", "series"}
    assert "connections" not in written, "it has no rows"
    assert written["series"]["delay_ms"].to_list() == run.series["delay_ms"].to_list()
    assert written["totals"]["goodput_kbps"].to_list() == [run.totals["goodput_kbps"]]


def test_an_error_of_an_export_is_one_line(cli: Cli, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("[1")
    for arguments, message in (
        ([folder], "--out FOLDER is needed for several tables; --table selects one of runs, flows"),
        ([folder, "--table", "runs", "--format", "parquet"], "--out FOLDER is needed for Parquet"),
        ([folder, "--table", "links"], "--table links: "),
        ([tmp_path / "nowhere"], "it has no manifest.json"),
        ([tmp_path], "manifest.json"),
    ):
        result = cli("export", *arguments)
        assert result.returncode == 2
        assert message in result.stderr
        assert result.stderr.count("\n") == 1


def test_a_run_is_not_written_to_a_file_name(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    result = cli("run", tmp_path / "small.toml", "--out", tmp_path / "x.csv")
    assert result.returncode == 2
    assert "`airwnd export FOLDER --format csv` writes them" in result.stderr
    assert not (tmp_path / "x.csv").exists()
