"""Engines with plug-ins in Rust in place of the installed one."""

import _ctypes
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from airwnd import Sweep, _native
from airwnd.support import engine

from .cargo import TARGET, cargo, gentle_program
from .conftest import ROOT, Cli
from .test_evaluate import SMALL

SCENARIO = ROOT / "examples" / "rust-plugin" / "scenario.toml"
MODULE = Path(_native.__file__)


@pytest.fixture(scope="module")
def gentle() -> Path:
    """The engine with the plug-in of the guide; set-up has usually built it."""
    cargo("build", "--lib", "-p", "gentle")
    return TARGET / "debug" / "libgentle_engine.so"


def test_a_plug_in_in_rust_has_the_tools(cli_process: Cli, gentle: Path, tmp_path: Path) -> None:
    done = cli_process("--engine", gentle, "run", SCENARIO, "--set", "duration=5s", "--json")
    assert done.returncode == 0, done.stderr
    alone = tmp_path / "scenario.toml"
    alone.write_text(SCENARIO.read_text(encoding="utf-8").replace('"20s"', '"5s"'), encoding="utf-8")
    program = subprocess.run([gentle_program(), alone], capture_output=True, text=True, check=True).stdout
    assert {**json.loads(program), "wall_s": json.loads(done.stdout)["wall_s"]} == json.loads(done.stdout)
    grid = ("--set", "duration=1s", "--grid", "flow[0].cc.target=25ms,100ms", "--jobs", "2", "--out", "out")
    done = cli_process("sweep", SCENARIO, *grid, environment={engine.VARIABLE: str(gentle)})
    assert done.returncode == 0, done.stderr
    delays = Sweep.load(tmp_path / "out").runs["delay_ms_mean"]
    assert delays[0] < delays[1]


def test_a_plug_in_in_rust_is_evaluated_and_verified(cli_process: Cli, gentle: Path, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL, encoding="utf-8")
    words = ("evaluate", "plugin:gentle", "--suite", "small.toml", "--set", "target=20ms", "--jobs", "1")
    done = cli_process("--engine", gentle, *words)
    assert (done.returncode, done.stderr) == (0, "")
    path = tmp_path / "out" / "evaluate" / "plugin-gentle,target=20ms" / "report.json"
    again = cli_process(
        "--engine", gentle, "evaluate", "--verify", path, "--suite", "small.toml", "--jobs", "1"
    )
    assert (again.returncode, again.stdout) == (0, f"{path}: 3 rows again, the same bytes\n")
    without = cli_process(*words)
    assert without.returncode == 2
    assert without.stderr.endswith("no plug-in `gentle`: none is registered with this program\n")


def test_the_file_is_part_of_the_identity(cli_process: Cli, tmp_path: Path) -> None:
    copy = tmp_path / "copy.so"
    shutil.copy(MODULE, copy)
    done = cli_process("--engine", copy, "--debug", "doctor")
    assert f"engine {_native.ENGINE}+" in done.stdout


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere.so", "no such file; AIRWND_ENGINE names the library of an engine"),
        ("text.so", "file too short"),
        ("other.so", "PyInit__native"),
    ],
)
def test_a_file_that_is_no_engine_is_one_line(
    cli_process: Cli, tmp_path: Path, name: str, message: str
) -> None:
    (tmp_path / "text.so").write_text("no library")
    shutil.copy(_ctypes.__file__, tmp_path / "other.so")
    done = cli_process("--engine", name, "list")
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert message in done.stderr


def test_an_engine_of_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda _: "0.2.0")
    loader = engine._Loader(engine._MODULE, str(MODULE))
    with pytest.raises(ImportError, match=r"the engine has version 0\.3\.0, and this is airwnd 0\.2\.0"):
        loader.exec_module(_native)
