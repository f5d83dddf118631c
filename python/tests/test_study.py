"""Studies: an experiment is a sweep with measures and claims, and both have the same data set."""

import json
import re
from pathlib import Path

import polars as pl
import pytest

import airwnd
from airwnd.study.axis import Axis, AxisEntry, random_axis
from airwnd.study.draws import draw
from airwnd.study.reader import convert
from airwnd.study.reproduce.design import Experiment

from .conftest import Cli

SCENARIO = """
name = "line"
duration = "500ms"
[[link]]
rate = "10Mbps"
delay = "10ms"
queue = 20
[[ue]]
[[flow]]
"""

SWEPT = """
[[axis]]
name = "queue"
key = "link[0].queue"
values = [5, 20]

[[axis]]
name = "sender"
[[axis.level]]
name = "reno"
label = "Reno"
set = { "flow[0].cc" = "newreno" }
[[axis.level]]
name = "drwa"
label = "CUBIC under DRWA"
set = { "flow[0].cc" = "cubic", "flow[0].rwnd" = "drwa" }

[[axis]]
name = "factor"
key = "flow[0].rwnd.lambda"
values = [2, 3]
when = { sender = ["drwa"] }
"""

JUDGED = """
[[measure]]
name = "goodput"
label = "Goodput"
unit = "kbit/s"
digits = 0
value = "totals.goodput_kbps"

[[claim]]
id = "1"
text = "Something arrives"
[[claim.check]]
text = "goodput"
expression = "goodput()"
above = 0
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of a study, in that of the command."""
    folder = tmp_path / "mine" / "line"
    folder.mkdir(parents=True)
    (folder / "scenario.toml").write_text(SCENARIO)
    (folder / "experiment.toml").write_text(f"seeds = 3\n{SWEPT}{JUDGED}")
    return folder


def test_an_experiment_is_swept_and_judged(cli: Cli, folder: Path, tmp_path: Path) -> None:
    done = cli("sweep", folder, "--out", "out", "--jobs", "1")
    assert done.returncode == 0, done.stderr
    assert "18 runs in" in done.stdout
    assert "Goodput (kbit/s): ours" in done.stdout
    assert re.search(r"holds +1 +Something arrives", done.stdout)
    assert "data set: out (runs.parquet, flows.parquet, manifest.json)" in done.stdout
    assert "Something arrives" in (tmp_path / "out" / "index.html").read_text()
    sweep = airwnd.Sweep.load(tmp_path / "out")
    assert (sweep.keys, sweep.seeds) == (("queue", "sender", "factor"), 3)
    assert sweep.runs["factor"].to_list()[:9] == [None] * 3 + [2] * 3 + [3] * 3
    done = cli("compare", "out", "--by", "sender", "--where", "queue=5", "--column", "goodput_kbps", "--json")
    assert {each["value"] for each in json.loads(done.stdout)["differences"]} == {"reno", "drwa"}
    assert cli("plot", "sweep", "out", "--y", "goodput_kbps", "-o", "picture.svg").returncode == 0
    assert cli("export", "out", "--table", "runs").stdout.startswith("queue,sender,factor,seed,")


def test_a_reproduction_has_the_data_set_of_the_sweep(cli: Cli, folder: Path, tmp_path: Path) -> None:
    assert cli("sweep", folder, "--out", "swept", "--jobs", "1").returncode == 0
    assert cli("reproduce", folder, "--jobs", "1").returncode == 0
    for name in ("runs.parquet", "flows.parquet", "results.csv"):
        there, here = (tmp_path / out / name for out in ("swept", "out/mine/line"))
        assert there.read_bytes() == here.read_bytes(), name


def test_a_file_without_measures_is_a_sweep(cli: Cli, folder: Path, tmp_path: Path) -> None:
    (folder / "experiment.toml").write_text(SWEPT)
    done = cli("sweep", folder / "experiment.toml", "--out", "out", "--jobs", "1")
    assert done.returncode == 0, done.stderr
    assert airwnd.Sweep.load(tmp_path / "out").runs.height == 6


def test_a_grid_is_a_set_up_of_the_claims(cli: Cli, folder: Path, tmp_path: Path) -> None:
    done = cli("sweep", folder, "--grid", "link[0].delay=10ms,20ms", "--out", "out", "--jobs", "1")
    assert re.search(r"holds +1 +Something arrives", done.stdout)
    assert "Tables show one set-up: link[0].delay 10ms" in done.stdout
    assert airwnd.Sweep.load(tmp_path / "out").keys[-1] == "link[0].delay"


def test_random_points_of_a_file_are_those_of_the_option(folder: Path) -> None:
    texts = {"link[0].rate": "1Mbps..20Mbps:3", "link[0].queue": "log:5..100:3"}
    axis = Axis.of(convert({"name": "point", "random": texts, "sample_seed": 4}, AxisEntry, "here"))
    (option,) = random_axis([draw(f"{key}={text}", 4) for key, text in texts.items()])
    assert axis.columns == option.columns
    assert [level.changes for level in axis.levels] == [level.changes for level in option.levels]
    (folder / "experiment.toml").write_text(
        '[[axis]]\nname = "p"\nrandom = { "link[0].queue" = "5..100:3", "link[0].delay" = "1ms..9ms:3" }\n'
    )
    found = Experiment.load(folder)
    assert [found.scenario_for(each).resolved["link"][0]["queue"] for each in found.settings()] == [
        int(value) for value in draw("link[0].queue=5..100:3", 1).values
    ]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", ("--grid", "link[0].queue=1,2"), "grid link[0].queue: the axis queue sets it"),
        ("", ("--grid", "link[0].rate=x"), "grid link[0].rate=x: link[0].rate: `x` is not a rate"),
        ('[[axis]]\nname = "a"\nrandom = { "link[0].queue" = "5" }\n', (), "expected KEY=LOW..HIGH:N"),
        (
            '[[axis]]\nname = "a"\nkey = "stack"\nvalues = ["evil.py:connect"]\n',
            (),
            "experiment.toml: axis a: stack: a stack is code, which is named on the command line",
        ),
        ('[[axis]]\nname = "a"\nkey = "b"\n', (), "an axis needs `values` with `key`, [[axis.level]], or"),
        (
            '[[axis]]\nname = "a"\nkey = "b"\nvalues = [1]\nsample_seed = 2\n',
            (),
            "only an axis with `random`",
        ),
    ],
)
def test_an_error_is_one_line(
    cli: Cli, folder: Path, text: str, options: tuple[str, ...], message: str
) -> None:
    if text:
        (folder / "experiment.toml").write_text(text)
    done = cli("sweep", folder, *options, "--out", "out")
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr


def test_claims_have_one_file(cli: Cli, folder: Path) -> None:
    (folder / "claims.toml").write_text('[[claim]]\nid = "2"\n')
    done = cli("sweep", folder, "--out", "out")
    assert "experiment.toml: claim: claims.toml has claims, too; write all of them in one file" in done.stderr


def test_columns_have_no_value_where_an_axis_does_not_exist(folder: Path) -> None:
    from airwnd.study.dataset import setting_columns

    found = Experiment.load(folder)
    frame = setting_columns(found.axes, list(found.settings()))
    assert frame["factor"].dtype == pl.Int64
    assert frame["factor"].null_count() == 2
