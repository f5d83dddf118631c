"""Flows that arrive and complete: groups, completion times, plots; files of arrivals and sizes."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from airwnd import InputError, Run, Scenario, ScenarioError
from airwnd.plots.cdf import plot_fct
from airwnd.study.reader import convert
from airwnd.study.reproduce.measure import Measure
from airwnd.study.reproduce.readings import Tables, read

from .conftest import Cli

NETWORK = """\
name = "wire"
duration = "10s"
[[link]]
rate = "10Mbps"
delay = "10ms"
[[ue]]
"""
FLOWS = """\
count = 2
[[flow]]
id = "long"
[[flow]]
id = "short"
traffic = { kind = "transfer", size = { kind = "exponential", mean = "30kB" } }
arrivals = { kind = "poisson", rate = 5.0 }
[[flow]]
id = "pages"
traffic = { kind = "web", reading = "500ms" }
"""


@pytest.fixture(scope="module")
def run() -> Run:
    """Long downloads, short downloads and web pages over one wire."""
    return Scenario.from_toml(NETWORK + FLOWS).run()


def test_groups_summarise_their_flows(run: Run) -> None:
    groups = {row["group"]: row for row in run.groups.iter_rows(named=True)}
    assert list(groups) == ["long", "short", "pages"]
    flows = run.flows.group_by("group", maintain_order=True).agg(
        pl.len().alias("flows"), pl.col("goodput_kbps", "retransmissions", "timeouts", "packets_sent").sum()
    )
    for row in flows.iter_rows(named=True):
        assert {key: groups[row["group"]][key] for key in row} == pytest.approx(row)
    times = run.completions.with_columns(pl.col("flow").cast(pl.String))
    times = times.join(run.flows.select("group", flow="id"), on="flow")
    for name in ("short", "pages"):
        of_it = times.filter(pl.col("group") == name)["fct_s"]
        group, done = groups[name], of_it.drop_nulls().to_numpy()
        assert (group["completed"], group["unfinished"]) == (done.size, of_it.null_count())
        found = [group[f"fct_s_{key}"] for key in ("mean", "p50", "p95", "p99", "max")]
        assert found == pytest.approx([done.mean(), *np.percentile(done, [50, 95, 99, 100])])
    assert groups["long"]["fct_s_mean"] is None
    short = run.flows.filter(pl.col("group") == "short")
    assert short["fct_s"].drop_nulls().len() == groups["short"]["completed"]


def test_completions_are_saved_and_read_back(run: Run, tmp_path: Path) -> None:
    again = Run.load(run.save(tmp_path / "run"))
    assert again.outcome == run.outcome
    assert again.completions.equals(run.completions)
    assert pl.read_parquet(tmp_path / "run" / "groups.parquet").equals(run.groups)


def test_a_run_without_transfers_has_no_completions(small: Scenario, tmp_path: Path) -> None:
    plain = small.run()
    assert plain.completions.is_empty()
    plain.save(tmp_path / "run")
    assert not (tmp_path / "run" / "completions.parquet").exists()
    with pytest.raises(InputError, match="no transfer or page was completed; groups with completions: none"):
        plain.plot_fct()


def test_a_scenario_in_which_no_flow_arrives(cli: Cli, tmp_path: Path) -> None:
    flow = '[[flow]]\ntraffic = "transfer"\narrivals = { kind = "poisson", rate = 1e-6 }\n'
    (tmp_path / "none.toml").write_text(NETWORK + flow, encoding="utf-8")
    done = cli("run", "none.toml", "--series", "1s", "--out", "run")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_measure_of_a_group(run: Run) -> None:
    words = {"name": "fct", "label": "FCT", "unit": "s", "value": "groups.fct_s_p95"}
    measure = convert({**words, "digits": 2, "where": {"group": "short"}}, Measure, "experiment.toml")
    found = read(measure, Tables(run))
    assert found == run.groups.filter(pl.col("group") == "short")["fct_s_p95"][0]


def test_the_picture_shows_the_completions(run: Run) -> None:
    axes = plot_fct({"a": run, "b": run}, groups=["short"])
    group = run.groups.filter(pl.col("group") == "short").row(0, named=True)
    for line in axes.get_lines():
        times, parts = (np.asarray(values) for values in line.get_data())
        assert times[-1] == pytest.approx(group["fct_s_max"])
        assert parts[-1] == group["completed"] / (group["completed"] + group["unfinished"])
        assert np.all(np.diff(times) >= 0)
        assert times.size == group["completed"] + 1
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text().split(" ")[0] for text in legend.get_texts()] == ["a", "b"]
    with pytest.raises(
        InputError, match=r"no transfer or page of long was completed; groups .*: short, pages"
    ):
        plot_fct({"a": run}, groups=["long"])


def test_plot_fct_draws_scenarios_and_runs(run: Run, cli: Cli, tmp_path: Path) -> None:
    run.save(tmp_path / "first")
    (tmp_path / "wire.toml").write_text(NETWORK + FLOWS, encoding="utf-8")
    words = ["plot", "fct", "first", "wire.toml", "--group", "short", "--log", "-o", "fct.svg"]
    done = cli(*words)
    assert (done.returncode, done.stdout) == (0, "picture: fct.svg\n"), done.stderr
    assert (tmp_path / "fct.svg").stat().st_size > 5000


def test_files_of_arrivals_and_sizes(tmp_path: Path) -> None:
    rows = "time_s,size_bytes\n0.5,1000\n0.5,2000\n3,50000\n12,1\n"
    (tmp_path / "arrivals.csv").write_text(rows, encoding="utf-8")
    (tmp_path / "sizes.csv").write_text("size_bytes\n700\n", encoding="utf-8")
    flows = """
[[flow]]
traffic = "transfer"
arrivals = { kind = "file", path = "arrivals.csv" }
[[flow]]
id = "more"
traffic = { kind = "transfer", size = { kind = "empirical", path = "sizes.csv" } }
arrivals = { kind = "periodic", period = "4s" }
"""
    (tmp_path / "files.toml").write_text(NETWORK + flows, encoding="utf-8")
    scenario = Scenario.load(tmp_path / "files.toml")
    found = scenario.run().completions
    assert found["start_s"].to_list() == [0.5, 0.5, 3.0, 0.0, 4.0, 8.0]
    assert found["size_bytes"].to_list() == [1000, 2000, 50000, 700, 700, 700]
    # A resolved scenario is self-contained.
    alone = Scenario.from_dict(dict(scenario.resolved)).run().completions
    assert alone.equals(found)
    (tmp_path / "sizes.csv").write_text("size_bytes\n0\n", encoding="utf-8")
    with pytest.raises(ScenarioError, match=r"sizes.csv:2: 0 in column `size_bytes` is outside 1\.\."):
        Scenario.load(tmp_path / "files.toml")
