"""Reproductions: output, resumption, and independence of the number of jobs."""

import itertools
import json
import re
import shutil
import signal
from collections.abc import Iterable, Iterator
from dataclasses import replace
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree as ET

import polars as pl
import pytest
from rich.console import Console

from airwnd import InputError
from airwnd.study.batch import Processes
from airwnd.study.reproduce import report, terminal
from airwnd.study.reproduce.design import Experiment
from airwnd.study.reproduce.runner import Effort, Results, check, reproduce
from airwnd.study.reproduce.search import find, name_of
from airwnd.study.reproduce.verdict import Verdict
from airwnd.study.space import Setting

from .command_line import run_interrupted
from .conftest import ROOT, Cli, nightly

SHIPPED = sorted(path.parent for path in (ROOT / "experiments").glob("*/*/experiment.toml"))
NAME = "example/table0"


def results(folder: Path, out: Path, seeds: int = 2, jobs: int = 2) -> Results:
    experiment = Experiment.load(folder)
    return reproduce(experiment, Effort.of(experiment, seeds, quick=False), out, Processes(jobs))


def reused(found: Results) -> int:
    """Return the number of runs that were finished before."""
    assert found.swept is not None
    return found.swept.reused


def _with_every_pair(settings: Iterable[Setting]) -> Iterator[Setting]:
    """Yield settings, of which one or more have each pair of levels of two axes that occurs."""
    seen: set[tuple[tuple[int, str], ...]] = set()
    for setting in settings:
        pairs = set(itertools.combinations(enumerate(setting), 2))
        if not seen or pairs - seen:
            seen |= pairs
            yield setting


@pytest.mark.parametrize("experiment", SHIPPED, ids=lambda folder: "/".join(folder.parts[-2:]))
def test_the_shipped_experiments_are_readable(experiment: Path) -> None:
    found = Experiment.load(experiment)
    for setting in _with_every_pair(found.settings()):
        found.scenario_for(setting, found.quick.changes)
    assert found.claims
    assert (experiment / "README.md").exists()


def test_every_setting_is_run_with_every_seed(folder: Path, tmp_path: Path) -> None:
    found = results(folder, tmp_path / "out", seeds=3)
    assert found.readings.values.select("users", "method", "seed").rows() == [
        (users, method, seed) for users in "23" for method in ("drwa", "autotuning") for seed in (1, 2, 3)
    ]
    assert found.runs == check(found.experiment, found.effort) == 12
    assert len(list((tmp_path / "out" / "runs").iterdir())) == 12
    assert reused(found) == 0
    verdicts = {claim.claim.id: claim.verdict for claim in found.claims()}
    assert verdicts == {"T1": Verdict.HOLDS, "T2": Verdict.FAILS}


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_tables_on_the_terminal_are_not_cut(folder: Path, tmp_path: Path, width: int) -> None:
    text = (folder / "experiment.toml").read_text(encoding="utf-8")
    text = text.replace('"DRWA"', '"DRWA with a label of many words"').replace("[2, 3]", "[2, 3, 4]")
    (folder / "experiment.toml").write_text(
        text.replace("Number of users", "Users in the cell"), encoding="utf-8"
    )
    found = results(folder, tmp_path / "out")
    said = StringIO()
    terminal.show(found, Console(file=said, width=width))
    terminal.show_verdicts([found], Console(file=said, width=width))
    out = said.getvalue()
    assert "…" not in out
    assert max(map(len, out.splitlines())) <= width
    measure = found.experiment.measures[0]
    for setting in found.experiment.settings():
        assert measure.text(found.estimate(setting, measure).mean) in out


def test_levels_that_select_flows_share_a_run(folder: Path, tmp_path: Path) -> None:
    text = (folder / "experiment.toml").read_text(encoding="utf-8")
    for method, flow in (("drwa", 0), ("autotuning", 1)):
        setting = f'set = {{ "flow[0].rwnd" = "{method}" }}'
        assert setting in text
        text = text.replace(setting, f'where = {{ id = "flow-{flow}" }}')
    text = text.replace("totals.throughput_kbps", "flows.goodput_kbps")
    (folder / "experiment.toml").write_text(text, encoding="utf-8")
    found = results(folder, tmp_path / "out")
    assert found.runs == len(list((tmp_path / "out" / "runs").iterdir())) == 4
    assert check(found.experiment, found.effort) == 4, "known before the first run"
    for users in ("2", "3"):
        for seed in (1, 2):
            run = found.experiment.scenario.with_({"ue[0].count": int(users)}).run(seed)
            for flow, method in enumerate(("drwa", "autotuning")):
                measured = found.readings.of((users, method), "throughput_kbps")
                assert measured[seed - 1] == run.flows["goodput_kbps"][flow]


def test_finished_runs_are_not_repeated(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = results(folder, out)
    again = results(folder, out, seeds=3)
    assert (reused(again), again.runs) == (8, 12)
    assert again.readings.values.filter(pl.col("seed") <= 2).equals(first.readings.values)


def test_series_are_stored_with_the_results(folder: Path, tmp_path: Path) -> None:
    path, out = folder / "experiment.toml", tmp_path / "out"
    text = 'series = "50ms"\n' + path.read_text(encoding="utf-8")
    path.write_text(text.replace("totals.throughput_kbps", "series.cwnd_bytes"), encoding="utf-8")
    first = results(folder, out)
    scenario = first.experiment.scenario_for(("2", "drwa"), {})
    window = scenario.run(1, series="50ms").series["cwnd_bytes"].mean()
    assert first.readings.of(("2", "drwa"), "throughput_kbps")[0] == pytest.approx(window)
    again = results(folder, out)
    assert reused(again) == 8
    assert again.readings.values.equals(first.readings.values)
    next(out.glob("runs/*.parquet")).unlink()
    with pytest.warns(UserWarning, match="1 stored run failed verification"):
        assert reused(results(folder, out)) == 7


def test_a_changed_scenario_is_run_again(folder: Path, tmp_path: Path) -> None:
    results(folder, tmp_path / "out", seeds=1)
    path = folder / "scenario.toml"
    path.write_text(path.read_text().replace('duration = "1s"', 'duration = "900ms"'))
    assert reused(results(folder, tmp_path / "out", seeds=1)) == 0


def test_a_truncated_file_is_run_again(folder: Path, tmp_path: Path) -> None:
    first = results(folder, tmp_path / "out", seeds=1)
    for index, path in enumerate((tmp_path / "out" / "runs").iterdir()):
        path.write_text(path.read_text()[: index * 100])
    with pytest.warns(UserWarning, match="4 stored runs failed verification"):
        again = results(folder, tmp_path / "out", seeds=1)
    assert reused(again) == 0
    assert again.readings.values.equals(first.readings.values)


def test_jobs_do_not_change_the_results(folder: Path, tmp_path: Path, cli: Cli) -> None:
    for jobs in ("1", "2"):
        done = cli(
            "reproduce", folder, "--seeds", "2", "--jobs", jobs, "--out", tmp_path / jobs, "--progress"
        )
        assert done.returncode == 0, done.stderr
        assert f"{NAME}, 8 runs" in done.stderr
    one, two = tmp_path / "1" / NAME, tmp_path / "2" / NAME
    names = sorted(path.name for path in one.iterdir() if path.suffix in (".csv", ".svg", ".png"))
    assert names == ["results.csv", "throughput.png", "throughput.svg"]
    for name in names:
        assert (one / name).read_bytes() == (two / name).read_bytes(), name


def test_an_svg_is_well_formed(folder: Path, tmp_path: Path) -> None:
    report.write(results(folder, tmp_path / "runs"), tmp_path)
    assert ET.parse(tmp_path / NAME / "throughput.svg").getroot().tag.endswith("svg")  # noqa: S314


def test_quick_is_defined_by_the_experiment(folder: Path, tmp_path: Path, cli: Cli) -> None:
    done = cli("reproduce", folder, "--quick", "--out", tmp_path / "out")
    assert "4 runs" in done.stdout
    stored = json.loads(next((tmp_path / "out" / NAME / "runs").iterdir()).read_text())
    assert stored["outcome"]["duration_s"] == 0.1
    assert "preview: agrees so far" in done.stdout
    assert "preview: open" in done.stdout
    assert "does not hold" not in done.stdout
    assert "95 %" not in done.stdout


def test_experiments_are_found_by_name_from_a_subfolder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    assert [each.resolve() for each in find("example/table0")] == [folder]
    assert [each.resolve() for each in find("example")] == [folder]
    with pytest.raises(InputError, match=r"no experiment.* `exmple`; did you mean `example` or .* --list"):
        find("exmple")


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("A08", ["arwa-2019/table5"]),
        ("arwa-2019/A08", ["arwa-2019/table5"]),
        ("arwa/table5", ["arwa-2019/table5"]),
        ("arwa/A03", ["arwa-2019/table2"]),
        ("constant", ["constant-cwnd/fig2", "constant-cwnd/fig3"]),
        ("T1", ["example/table0"]),
    ],
)
def test_claims_and_short_names_of_papers_are_found(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, names: list[str]
) -> None:
    other = folder.parents[1] / "example-2020" / "table0"
    shutil.copytree(folder, other)
    claims = (other / "claims.toml").read_text(encoding="utf-8")
    (other / "claims.toml").write_text(claims.replace('"T1"', '"T7"'), encoding="utf-8")
    monkeypatch.chdir(folder)
    assert [name_of(each) for each in find(name)][: len(names)] == names


def test_a_claim_of_several_papers_needs_the_paper(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(folder, folder.parents[1] / "another" / "table0")
    monkeypatch.chdir(folder)
    with pytest.raises(InputError, match="`T1` may be of another or example: write another/T1"):
        find("T1")
    assert [name_of(each) for each in find("example/T1")] == [NAME]


def test_experiments_are_listed_with_their_claims(cli: Cli, folder: Path) -> None:
    listed = cli("reproduce", "--list", cwd=folder).stdout.splitlines()
    place = next(number for number, line in enumerate(listed) if line.startswith(f"  {NAME}: "))
    assert [line.split()[0] for line in listed[place + 1 : place + 3]] == ["T1", "T2"]
    assert any(line.startswith("    A08  Half TCP, half UDP") for line in listed)
    few = cli("reproduce", "--list", "A08", cwd=folder)
    assert few.stderr == "A08: arwa-2019/table5\n"
    assert len(few.stdout.splitlines()) == 3


def test_an_experiment_is_copied_and_not_replaced(cli: Cli, tmp_path: Path) -> None:
    done = cli("reproduce", "--copy", "arwa/table5", "mine", cwd=tmp_path)
    assert done.stdout == "copied: mine/table5; run it with `airwnd reproduce mine/table5`\n", done.stderr
    copy = Experiment.load(tmp_path / "mine" / "table5")
    shipped = Experiment.load(ROOT / "experiments" / "arwa-2019" / "table5")
    assert (copy.name, copy.scenario, copy.paper.title) == (
        "mine/table5",
        shipped.scenario,
        shipped.paper.title,
    )
    assert [each.text for each in copy.claims] == [each.text for each in shipped.claims]
    (tmp_path / "mine" / "table5" / "scenario.toml").write_text("mine", encoding="utf-8")
    again = cli("reproduce", "--copy", "arwa/table5", "mine", cwd=tmp_path)
    assert (again.returncode, again.stderr.count("\n")) == (2, 2)
    assert "mine/table5: exists already, and is not replaced" in again.stderr
    assert (tmp_path / "mine" / "table5" / "scenario.toml").read_text(encoding="utf-8") == "mine"
    other = cli("reproduce", "--copy", "smred/fig4", "mine", cwd=tmp_path)
    assert "mine/paper.toml: describes another paper" in other.stderr
    assert not (tmp_path / "mine" / "fig4").exists()


def test_a_changed_scenario_is_marked_and_kept_apart(cli: Cli, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    plain = cli("reproduce", folder, "--quick", "--out", out)
    changes = ("--set", "mac.scheduler=rr", "--set", "duration=150ms")
    done = cli("reproduce", folder, "--quick", *changes, "--out", out)
    assert (plain.returncode, done.returncode) == (0, 0), done.stderr
    assert "changed by mac.scheduler=rr, duration=150ms" in done.stdout
    assert "changed by" not in plain.stdout
    changed = out / "set-mac.scheduler=rr,duration=150ms"
    found, usual = (
        json.loads((root / NAME / "results.json").read_text(encoding="utf-8")) for root in (changed, out)
    )
    assert (found["changed"], usual["changed"]) == (["mac.scheduler=rr", "duration=150ms"], [])
    assert (found["duration"], found["reused"]) == ("150ms", 0)
    stored = json.loads(next((changed / NAME / "runs").iterdir()).read_text())
    assert stored["outcome"]["duration_s"] == 0.15, "--set applies after --quick"
    for page in ("example/index.html", "index.html"):
        assert "mac.scheduler=rr" in (changed / page).read_text(encoding="utf-8")
        assert "mac.scheduler=rr" not in (out / page).read_text(encoding="utf-8")
    assert "changed by mac.scheduler=rr" in (changed / "verdicts.csv").read_text(encoding="utf-8")


def test_full_runs_of_a_changed_scenario_are_not_the_experiment(folder: Path) -> None:
    experiment = replace(Experiment.load(folder), overrides=(("mac.scheduler", "rr"),))
    effort = Effort.of(experiment, None, quick=False)
    assert (effort.preview, effort.full) == (False, False)
    assert Effort.of(Experiment.load(folder), None, quick=False).full


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("mac.schedulr=rr", "schedulr"),
        ("mac.scheduler", "--set mac.scheduler: expected KEY=VALUE"),
        ("ue[0].count=7", "--set ue[0].count=7: changes no run; the axes set the key"),
    ],
)
def test_a_change_without_effect_is_an_error(cli: Cli, folder: Path, change: str, message: str) -> None:
    done = cli("reproduce", folder, "--quick", "--set", change)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
    assert message in done.stderr


def test_measurements_have_no_scenario_to_change(cli: Cli, tmp_path: Path) -> None:
    done = cli("reproduce", "guard/bus", "--set", "duration=1s", cwd=tmp_path)
    assert done.returncode == 2
    assert "guard/bus: --set duration=1s: the experiment is measured, not simulated" in done.stderr


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("experiment.toml", "seeds = 3", "", "seeds: claims need at least 3 seeds to be decided, found 1"),
        ("experiment.toml", "seeds = 3", 'seeds = "2"', "seeds: expected an integer, found '2'"),
        ("experiment.toml", 'title = "A', 'tile = "A', "unknown key `tile`; allowed: title, place, seeds, "),
        ("experiment.toml", 'x = "users"', 'x = "user"', r"plot\[0\]\.x: `user` is not one of users, method"),
        (
            "experiment.toml",
            "values = [2, 3]",
            "values = [2, 2]",
            r"axis\[0\]: two of the levels are called `2`",
        ),
        (
            "experiment.toml",
            "values = [2, 3]",
            "values = []",
            r"axis\[0\]\.values: expected an array of length >= 1, found \[\]",
        ),
        ("experiment.toml", "ue[0].count", "ue[3].count", "`3` is not an index below 1"),
        (
            "experiment.toml",
            "totals.throughput_kbps",
            "totals.troughput",
            "totals have no column `troughput`; did you mean",
        ),
        ("experiment.toml", "digits = 1", "digits = 1\ncolour = 2", r"measure\[0\]: unknown key `colour`"),
        ("experiment.toml", "[quick]", "[quick", "experiment.toml: "),
        ("paper.csv", "1900", "many", "paper.csv:5: throughput_kbps"),
        ("paper.csv", "users,method", "user,method", "paper.csv:2"),
        ("claims.toml", "above = 0", "above = 0\nbelow = 1", "a check needs one of"),
    ],
)
def test_an_error_in_an_experiment_is_one_line(
    cli: Cli, folder: Path, file: str, old: str, new: str, message: str
) -> None:
    text = (folder / file).read_text(encoding="utf-8")
    assert old in text
    (folder / file).write_text(text.replace(old, new, 1), encoding="utf-8")
    done = cli("reproduce", folder, "--seeds", "1")
    assert done.returncode == 2, done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert re.search(message, done.stderr), done.stderr


@pytest.mark.parametrize("how", [nightly(signal.SIGKILL), signal.SIGINT])
def test_a_reproduction_continues_where_it_stopped(
    folder: Path, tmp_path: Path, cli: Cli, how: signal.Signals
) -> None:
    out, seeds = tmp_path / "out", "3"
    text = (folder / "scenario.toml").read_text()
    (folder / "scenario.toml").write_text(text.replace('duration = "1s"', 'duration = "12s"'))
    arguments = ("reproduce", folder, "--seeds", seeds, "--jobs", "2", "--out")
    finished = 0

    def ready() -> bool:
        nonlocal finished
        finished = len(list((out / NAME / "runs").glob("[!.]*.json")))
        return finished >= 3

    done = run_interrupted(*arguments, out, cwd=tmp_path, when=ready, by=how)
    assert done.returncode == (130 if how is signal.SIGINT else -9)
    if how is signal.SIGINT:
        assert "finished runs are kept" in done.stderr
        assert "Traceback" not in done.stderr
    assert finished < 12, "it was interrupted in the middle"

    again = cli(*arguments, out)
    assert again.returncode == 0, again.stderr
    reused = int(re.search(r"(\d+) of them finished earlier", again.stdout)[1])  # type: ignore[index]  # without a match it fails
    assert finished <= reused < 12
    cli(*arguments, tmp_path / "whole")
    assert (out / NAME / "results.csv").read_bytes() == (
        tmp_path / "whole" / NAME / "results.csv"
    ).read_bytes()
