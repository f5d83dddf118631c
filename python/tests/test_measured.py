"""Experiments that are measured with real programs: airwnd reads their table and judges their claims."""

import csv
import gzip
import json
import re
import shutil
import sys
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import polars as pl
import pytest

from airwnd import InputError
from airwnd.study.batch import Processes
from airwnd.study.reproduce import report
from airwnd.study.reproduce.design import Experiment
from airwnd.study.reproduce.runner import Effort, Results, check, reproduce
from airwnd.study.reproduce.tables import side_by_side
from airwnd.study.reproduce.verdict import Verdict

from .conftest import ROOT, Cli, script, write_experiment

EXPERIMENT = """\
title = "Two stacks"
place = "a link"
seeds = 3

[[axis]]
name = "stack"
label = "Stack"

[[axis.level]]
name = "kernel"
label = "Linux"

[[axis.level]]
name = "quic"
label = "QUIC"

[[measure]]
name = "rate_kbps"
label = "Throughput"
unit = "kbit/s"
value = "measured.goodput"
digits = 0

[[measure]]
name = "page_ms"
label = "Load time"
unit = "ms"
value = "measured.page"
digits = 0

[[plot]]
name = "rates"
title = "Throughput"
kind = "bars"
measure = "rate_kbps"
x = "stack"
"""
BARS = 'kind = "bars"\nmeasure = "rate_kbps"\nx = "stack"'
CLAIMS = """\
[[claim]]
id = "M1"
text = "QUIC is slower"
source = "a guess"
[[claim.check]]
text = "throughput of QUIC over that of Linux"
expression = "rate_kbps(stack='quic') / rate_kbps(stack='kernel')"
below = 1

[[claim]]
id = "M2"
text = "Pages load in a second"
source = "a guess"
[[claim.check]]
text = "load time"
expression = "page_ms()"
below = 1000
"""
MEASURED = """\
# 2026-11-22, a machine
stack,seed,goodput,page
kernel,1,1000,800
kernel,2,1100,810
kernel,3,1050,805
quic,1,700,
quic,2,800,
quic,3,760,
"""


@pytest.fixture
def measured(tmp_path: Path) -> Path:
    """An experiment with six measurements."""
    files = {"experiment.toml": EXPERIMENT, "claims.toml": CLAIMS, "measured.csv": MEASURED}
    return write_experiment(tmp_path, "stacks", files)


def results(folder: Path, out: Path) -> Results:
    experiment = Experiment.load(folder)
    effort = Effort.of(experiment, None, quick=False)
    check(experiment, effort)
    return reproduce(experiment, effort, out, Processes(1))


def test_claims_are_judged_from_measurements(measured: Path, tmp_path: Path) -> None:
    found = results(measured, tmp_path / "out")
    assert found.runs == 6
    verdicts = {claim.claim.id: claim.verdict for claim in found.claims()}
    assert verdicts == {"M1": Verdict.HOLDS, "M2": Verdict.OPEN}, "QUIC's pages were not measured"


def test_the_page_says_when_and_where_it_was_measured(measured: Path, tmp_path: Path) -> None:
    report.write(results(measured, tmp_path / "out"), tmp_path / "out")
    report.write_pages(tmp_path / "out")
    page = (tmp_path / "out" / "example" / "index.html").read_text(encoding="utf-8")
    assert "2026-11-22, a machine" in page
    assert "Total simulation time" not in page


def test_tables_leave_out_what_was_not_measured(measured: Path, tmp_path: Path) -> None:
    path = measured / "measured.csv"

    def rows() -> list[list[str]]:
        found = results(measured, tmp_path / "out")
        return [
            [head for (head,), _ in side_by_side(found, measure, {}).rows]
            for measure in found.experiment.measures
        ]

    assert rows() == [["Linux", "QUIC"], ["Linux"]]
    path.write_text(re.sub(r"(kernel,\d,\d+),\d+", r"\1,", MEASURED), encoding="utf-8")
    assert rows() == [["Linux", "QUIC"], []]
    report.write(results(measured, tmp_path / "out"), tmp_path / "out")
    report.write_pages(tmp_path / "out")
    page = (tmp_path / "out" / "example" / "index.html").read_text(encoding="utf-8")
    assert "<caption>Throughput (kbit/s)</caption>" in page
    assert "<caption>Load time (ms)</caption>" not in page


def test_the_first_repetitions_are_judged_before_all_are_measured(measured: Path) -> None:
    lines = MEASURED.splitlines(keepends=True)
    (measured / "measured.csv").write_text(
        "".join(line for line in lines if ",3," not in line), encoding="utf-8"
    )
    effort = Effort.of(Experiment.load(measured), None, quick=False)
    assert effort.seeds == 2
    assert effort.preview


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (MEASURED, "", "nothing has been measured"),
        ("kernel,1,1000", "kernel,one,1000", "measured.csv:3: seed: expected a number from 1 on"),
        ("kernel,1,1000", "kernal,1,1000", "measured.csv:3: stack: `kernal` is not one of kernel, quic"),
        ("kernel,1,1000", "kernel,1,fast", "measured.csv:3: goodput: expected a number, found `fast`"),
        ("kernel,2,", "kernel,1,", "measured.csv: kernel, 1 is listed twice"),
        (",page\n", ",pages\n", "measured.csv:3: column: `page` is not one of stack, seed, goodput, pages"),
        ("quic,3,760,", "quic,3,760", "measured.csv:8: expected 4 fields, found 3"),
    ],
)
def test_mistakes_in_a_table(measured: Path, old: str, new: str, message: str) -> None:
    (measured / "measured.csv").write_text(MEASURED.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        results(measured, measured.parent)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            '"measured.page"',
            '"totals.delay_ms_mean"',
            "either all measures or none are of the table `measured`",
        ),
        (
            'value = "measured.page"',
            'value = "measured.page"\nwhere = { id = "x" }',
            "no rows to choose from",
        ),
        (BARS, 'kind = "distribution"\nvalue = "flows.fct_s"\nlines = "stack"', "no plots over time"),
    ],
)
def test_mistakes_in_the_experiment(measured: Path, old: str, new: str, message: str) -> None:
    assert old in EXPERIMENT
    (measured / "experiment.toml").write_text(EXPERIMENT.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError, match=r"experiment\.toml") as caught:
        Experiment.load(measured)
    assert message in str(caught.value)


@pytest.mark.parametrize(("study", "links"), [("stacks", 5), ("guard", 7)])
def test_a_study_covers_every_hypothesis(study: str, links: int) -> None:
    """Each hypothesis is judged over at least two links."""
    folders = [path.parent for path in (ROOT / "experiments" / study).glob("*/experiment.toml")]
    experiments = [Experiment.load(folder) for folder in folders]
    assert len(experiments) == links
    judged = [claim.id for experiment in experiments for claim in experiment.claims]
    assert all(judged.count(claim.id) >= 2 for claim in experiments[0].paper.claims)


def test_an_experiment_without_measurements_is_a_message(
    cli: Cli, measured: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (measured / "measured.csv").unlink()
    monkeypatch.chdir(measured.parents[2])
    done = cli("reproduce", "example/stacks")
    assert done.returncode == 2
    assert "example/stacks: nothing has been measured" in done.stderr


LINK = """\
import json, sys
from pathlib import Path

folder = Path(sys.argv[sys.argv.index("--summary") + 1]).parent
lateness = Path(__file__).with_name("lateness")
now, *later = lateness.read_text().split()
lateness.write_text(" ".join(later) or now)
(folder / "summary.json").write_text(json.dumps({"link": {"lateness_us": {"p99": float(now)}}}))
call = {"program": "call", "down_delay_ms_p95": 30, "down_late_150_percent": 0, "down_loss_percent": 0}
(folder / "results.jsonl").write_text(json.dumps(call) + "\\n")
"""
"""A program in place of ``airwnd``: the lateness of its sessions is in a file, the last one repeats."""


@pytest.fixture
def measure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., pl.DataFrame]:
    """Measure the link `bus` of a copy of the study, and return its table."""
    study = shutil.copytree(ROOT / "experiments" / "stacks", tmp_path / "stacks")
    (tmp_path / "link.py").write_text(LINK, encoding="utf-8")
    program = script("measure", ROOT / "experiments" / "stacks")
    monkeypatch.setattr(program, "HERE", study)
    monkeypatch.setattr(program, "build_quinn", Path)
    command = ["--links", "bus", "--repetitions", "1", "--out", str(tmp_path / "out")]
    command += ["--airwnd", f"{sys.executable} {tmp_path / 'link.py'}"]

    def call(lateness: str, *arguments: str) -> pl.DataFrame:
        (tmp_path / "lateness").write_text(lateness, encoding="utf-8")
        monkeypatch.setattr(sys, "argv", ["measure.py", *command, *arguments])
        program.main()
        return pl.read_csv(study / "bus" / "measured.csv", comment_prefix="#")

    return call


@pytest.mark.nightly
def test_late_sessions_are_repeated_and_finished_cells_are_kept(
    measure: Callable[..., pl.DataFrame],
) -> None:
    assert set(measure("2000 1000.5 5")["lateness_us"]) == {5.0}
    assert set(measure("7")["lateness_us"]) == {5.0}, "all cells are finished"
    table = measure("7", "--seconds", "9")
    assert set(table["lateness_us"]) == {7.0}, "cells of other downloads do not count"
    assert len(table) == 18


def test_an_incomplete_study_replaces_no_table(
    measure: Callable[..., pl.DataFrame], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "stacks" / "bus" / "measured.csv"
    before = table.read_bytes()
    with pytest.raises(SystemExit) as ended:
        measure("5 5 1001", "--workloads", "page")
    assert ended.value.code == 2
    assert table.read_bytes() == before
    told = capsys.readouterr().err
    assert told.count("more than 1001 us late, above the limit of 1000 us, in the last of 3 sessions") == 4
    assert f"{table}: unchanged, 22 of 24 cells are missing" in told


def test_the_study_of_guards_plans_each_setting_once_a_repetition() -> None:
    program = script("measure", ROOT / "experiments" / "guard")
    experiments = [Experiment.load(ROOT / "experiments" / "guard" / link) for link in ("bus", "walking")]
    cells = [cell for cells in program.plan(experiments, 2) for cell in cells]
    keys = {cell.key for cell in cells}
    assert len(cells) == len(keys) == 2 * 2 * (2 * 7 * 3 * 5 + 1), "settings, and ping alone"
    assert [cell.seed for cell in cells[:24]] == [1] * 24
    known = set(experiments[0].settings())
    assert all(cell.setting in known for cell in cells)
    recorded = [json.loads(cell.scenario)["link"][0]["start"] for cell in cells if cell.key.startswith("bus")]
    assert set(recorded) == {"0ns", "20s"}


def test_a_script_imports_those_of_its_own_folder() -> None:
    of_stacks = script("measure", ROOT / "experiments" / "stacks")
    of_guards = script("household", ROOT / "experiments" / "guard")
    assert of_guards.SERVER == script("measure", ROOT / "experiments" / "guard").SERVER
    assert of_stacks.__file__ != sys.modules["measure"].__file__


def test_the_page_of_guards_has_the_measured_figures(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page has what its program writes, and the tables of the other programs."""
    guard = ROOT / "experiments" / "guard"
    page, beside, shape, simulated, household = (
        script(name, guard) for name in ("results_page", "beside", "shape", "simulated", "household")
    )
    text = (guard / "RESULTS.md").read_text(encoding="utf-8")
    measured, mark, by_hand = text.partition(page.BY_HAND)
    assert mark
    assert measured == "\n\n".join([*page.page([page.load(guard / name) for name in page.LINKS]), ""])
    monkeypatch.setattr("sys.stdin", StringIO((guard / "beside.csv").read_text(encoding="utf-8")))
    beside.print_table()
    for row in capsys.readouterr().out.splitlines()[2:]:
        assert f"{row}\n" in by_hand
    for row in [*shape.table(shape.read(guard / "shaped.csv"))][1:]:
        assert row.split("|", 3)[3] in by_hand, row
    with (guard / "simulated.csv").open(encoding="utf-8", newline="") as file:
        assert "".join(simulated.table(list(csv.DictReader(file)))) in by_hand
    assert "".join(household.table(shape.read(guard / "household.csv"))) in by_hand


def test_rates_of_flent_are_those_during_the_transfers(tmp_path: Path) -> None:
    program = script("household", ROOT / "experiments" / "guard")
    # Transfers from 5 to 15 s, of which 3 s do not count.
    times = [0.0, 7.9, 8.0, 10.0, 14.9, 15.0]
    results = {"TCP download sum": [None, 99, 4, None, 6, 99], "TCP download BE": [1, 1, 1, 1, 1, 1]}
    uploads = {"TCP upload sum": [None, None, 2, 3, 4, None]}
    (tmp_path / "rrul.flent.gz").write_bytes(
        gzip.compress(json.dumps({"x_values": times, "results": results | uploads}).encode())
    )
    assert program.flent_mbps(tmp_path, 10) == (5.0, 3.0)
    single = {"x_values": times, "results": {"TCP download": [0, 0, 1, 2, 3, 0]}}
    (tmp_path / "rrul.flent.gz").write_bytes(gzip.compress(json.dumps(single).encode()))
    assert program.flent_mbps(tmp_path, 10) == (2.0, None)


def test_measures_of_a_guarded_download() -> None:
    program = script("measure", ROOT / "experiments" / "guard")
    experiment = Experiment.load(ROOT / "experiments" / "guard" / "bus")
    cell = program.Cell(experiment, "receiver", "drwa", "cubic", "late", 1)
    first = {"began": 0.0, "received": [[0.0, 0], [12.0, 12_000_000]], "retransmitted": 2}
    late = {"began": 6.0, "received": [[6.0, 0], [12.0, 3_000_000]], "retransmitted": 1}
    pings = [[-1.0, 20.0, 1], [0.5, 900.0, 2], [4.0, 30.0, 3], [5.0, 40.0, 4], [6.0, 50.0, 6]]
    found = program.measures_of(cell, 12.0)(
        [{"pings": pings, "flows": [first, late], "short": [100.0, 300.0]}]
    )
    assert found["goodput_kbps"] == pytest.approx(8 * 12_000 / 9)
    assert (found["ping_ms_p50"], found["base_ms"], found["ping_loss_percent"]) == (40.0, 20.0, 25.0)
    assert found["retransmitted"] == 3
    assert found["late_share"] == pytest.approx(1 / 3)
    assert found["jain"] == pytest.approx(9 / 10)
    assert (found["short_ms_p50"], found["short_ms_p95"]) == (200.0, 290.0)


def test_the_rule_of_cake_autorate() -> None:
    rule = script("autorate", ROOT / "experiments" / "guard" / "programs").Rule(1000, 5000, 20_000)
    now_s = 0.0

    def pass_time(rtt_ms: float, achieved: float, samples: int) -> float:
        nonlocal now_s
        for number in range(samples):
            now_s += 0.05
            rule.sample(now_s, rtt_ms)
            if number % 4 == 3:
                rule.load(now_s, achieved * rule.rate_kbps)
        return float(rule.rate_kbps)

    assert pass_time(40.0, 0.9, 20) == pytest.approx(5000 * 1.04**5), "high load without delay"
    before = rule.rate_kbps
    assert pass_time(400.0, 0.9, 3) == pytest.approx(before * 0.75), "three delayed samples: a full reduction"
    assert pass_time(400.0, 0.9, 400) == 1000, "never below the minimum"
    assert pass_time(40.0, 0.1, 100) > 1000, "low load returns to the base rate"
    assert pass_time(40.0, 0.9, 1000) == 20_000, "never above the maximum"
