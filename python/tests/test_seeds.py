"""A scenario with several seeds: means, intervals, and a data set with only seeds."""

import json
import signal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import airwnd
from airwnd import Scenario
from airwnd.study.seeds import estimates
from airwnd.study.statistics import interval

from .conftest import Cli

LOSSY = """\
name = "lossy"
duration = "500ms"
[[link]]
name = "access"
rate = "10Mbps"
delay = "5ms"
queue = 50
loss = { kind = "packet-error", rate = 0.02 }
[[ue]]
name = "phones"
count = 2
[[flow]]
id = "download"
[[flow]]
id = "call"
traffic = "cbr"
"""


@pytest.fixture(scope="module")
def lossy() -> Scenario:
    return Scenario.from_toml(LOSSY)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "lossy.toml"
    path.write_text(LOSSY, encoding="utf-8")
    return path


def test_intervals_are_those_of_the_reproductions(lossy: Scenario) -> None:
    runs = lossy.run_many(range(1, 6))
    found = airwnd.over_seeds(runs)
    checked = 0
    for row in found.iter_rows(named=True):
        column = airwnd.tables()[row["table"]].columns[row["column"]]
        rows = (
            [run.totals for run in runs]
            if row["table"] == "totals"
            else [
                each
                for run in runs
                for each in run.outcome[row["table"]]
                if each[{"groups": "group", "flows": "id"}[row["table"]]] == row["id"]
            ]
        )
        values = [each[column.name] for each in rows if each[column.name] is not None]
        assert row["n"] == len(values)
        if not values:
            assert row["mean"] is row["low"] is row["high"] is None
            continue
        expected = interval(values, column.range)
        assert (row["mean"], row["low"], row["high"]) == pytest.approx(
            (expected.mean, expected.low, expected.high)
        )
        checked += 1
    assert checked > 100
    assert found["id"].unique(maintain_order=True).to_list() == [
        None, "download", "call", "download-0", "download-1", "call-0", "call-1",
    ]  # fmt: skip


def test_an_interval_is_clipped_to_possible_values(lossy: Scenario) -> None:
    outcome: Any = lossy.run().outcome
    values: dict[str, list[float]] = {"pdf_percent": [100.0, 100.0, 97.0], "timeouts": [0, 0, 3]}
    outcomes = [
        {**outcome, "totals": {**outcome["totals"], **{key: each[run] for key, each in values.items()}}}
        for run in range(3)
    ]
    found = estimates(outcomes).filter(pl.col("table") == "totals")
    pdf, timeouts = (found.row(by_predicate=pl.col("column") == key, named=True) for key in values)
    assert (pdf["mean"], pdf["high"]) == (99, 100)
    assert pdf["low"] < 97
    assert (timeouts["mean"], timeouts["low"]) == (1, 0)
    assert timeouts["high"] > 3


def test_runs_without_flows_have_only_totals(lossy: Scenario) -> None:
    outcome = {**lossy.run().outcome, "flows": [], "groups": []}
    assert estimates([outcome] * 3)["table"].unique().to_list() == ["totals"]


def test_two_seeds_have_a_mean_and_no_interval(lossy: Scenario) -> None:
    found = airwnd.over_seeds(lossy.run_many([1, 2]))
    assert found["mean"].drop_nulls().len() > 0
    assert found["low"].null_count() == found.height


def test_the_table_fits_80_columns_and_the_json_has_the_same(cli: Cli, file: Path) -> None:
    shown = cli("run", file, "--seeds", "4").stdout
    assert shown.startswith("lossy, seeds 1 to 4\n")
    assert all(len(line) <= 80 for line in shown.splitlines()), shown
    found = json.loads(cli("run", file, "--seeds", "4", "--json").stdout)
    assert [run["seed"] for run in found["runs"]] == [1, 2, 3, 4]
    goodput = found["totals"]["goodput_kbps"]
    mean = sum(run["totals"]["goodput_kbps"] for run in found["runs"]) / 4
    assert goodput["mean"] == pytest.approx(mean)
    half = (goodput["high"] - goodput["low"]) / 2
    line = next(line for line in shown.splitlines() if line.startswith(" goodput_kbps"))
    assert line.split() == ["goodput_kbps", f"{mean:,.1f}", f"{half:,.1f}", "kbit/s"]
    assert [group["group"] for group in found["groups"]] == ["download", "call"]
    assert len(found["flows"]) == 4


def test_seeds_that_change_nothing_are_named(cli: Cli, file: Path) -> None:
    done = cli("run", file, "--seeds", "3", "--set", "link[access].loss=none")
    assert "every seed gave the same run" in done.stdout
    assert "every seed gave the same run" not in cli("run", file, "--seeds", "3").stdout
    assert "they need at least 3 seeds" in cli("run", file, "--seeds", "2").stdout


def test_out_is_the_data_set_of_a_sweep_of_seeds_alone(cli: Cli, file: Path, tmp_path: Path) -> None:
    shown = cli("run", file, "--seeds", "3", "--out", tmp_path / "run").stdout
    cli("sweep", file, "--seeds", "3", "--out", tmp_path / "sweep")
    for name in ("runs.parquet", "flows.parquet", "manifest.json"):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "sweep" / name).read_bytes()
    runs = pl.read_parquet(tmp_path / "run" / "runs.parquet")
    assert runs.columns[0] == "seed"
    assert runs["seed"].to_list() == [1, 2, 3]
    again = cli("run", file, "--seeds", "3", "--out", tmp_path / "run").stdout
    assert again.partition("total")[2] == shown.partition("total")[2]
    more = cli("sweep", file, "--seeds", "4", "--out", tmp_path / "run")
    assert "3 of them finished earlier" in more.stdout
    other = cli("sweep", file, "--grid", "link[access].queue=5,6", "--out", tmp_path / "run")
    assert "holds a sweep over seeds alone, not over link[access].queue" in other.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--seeds", "3", "--seed", "1"), "--seed applies to a single run, not to --seeds."),
        (("--seeds", "3", "--series", "1ms"), "--series with --seeds requires --out."),
        (("--seeds", "3", "--pcap", "x.pcap"), "--pcap applies to a single run, not to --seeds."),
        (("--jobs", "3"), "--jobs requires --seeds."),
        (("--seeds", "0"), "Invalid value for '--seeds'"),
    ],
)
def test_options_not_allowed_with_seeds(
    cli: Cli, file: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = cli("run", file, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_ctrl_c_keeps_finished_runs(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from airwnd.cli.seeds import Pool, run_seeds
    from airwnd.study.batch import Processes, Report, Task

    def interrupted(_: Processes, tasks: list[Task], report: Report) -> None:
        report.finished(0, tasks[0].carry_out())
        signal.raise_signal(signal.SIGINT)

    scenario, out = Scenario.load(file), tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(Processes, "carry_out", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run_seeds(scenario, 3, Pool(None, 1, None), False, out, force=False, as_json=False)
    assert "finished runs are kept in" in capsys.readouterr().err
    assert len(list((out / "runs").glob("*.json"))) == 1
    run_seeds(scenario, 3, Pool(1, 1, None), False, out, force=False, as_json=False)
    assert "seeds 1 to 3" in capsys.readouterr().out
    assert len(list((out / "runs").glob("*.json"))) == 3


def test_entries_are_selected_by_id_or_name(lossy: Scenario, cli: Cli, file: Path, tmp_path: Path) -> None:
    by_name = lossy.with_({"flow[download].cc": "cubic", "link[access].rate": "5Mbps", "ue[phones].count": 3})
    assert by_name == lossy.with_({"flow[0].cc": "cubic", "link[0].rate": "5Mbps", "ue[0].count": 3})
    renamed = lossy.with_({"flow[1].id": "v.2", "flow[v.2].start": "10ms"})
    assert renamed.resolved["flow"][1]["start"] == "10ms"
    frame = airwnd.sweep(lossy, grid={"flow[download].cc": ["cubic", "newreno"]}, out=tmp_path / "out")
    assert frame["flow[download].cc"].to_list() == ["cubic", "newreno"]
    done = cli("sweep", file, "--grid", "flow[download].cc=cubic", "--grid", "flow[0].cc=bbr", "--out", "x")
    assert "flow[download].cc is varied twice" in done.stderr
    done = cli("run", file, "--set", "flow[up].cc=cubic")
    assert done.returncode == 2
    assert done.stderr == (
        "airwnd: --set flow[up].cc=cubic: no entry is named `up`; allowed: `download`, `call`, or an index "
        "below 2\n"
    )
