"""A new algorithm is one file and one line in its family's list; it then shows up everywhere.

The algorithms are those of the how-to, so that what it shows compiles and runs.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import ROOT
from .pages import blocks

HOW_TO = ROOT / "docs" / "how-to" / "add-an-algorithm.md"
# `file`, and `line` in the list of `mod.rs`:
PLACES = re.findall(
    r"^`(crates/\S+)`, and `(.+)` in the list of `(.+)`:$", HOW_TO.read_text("utf-8"), re.MULTILINE
)
CODE = [block.text for block in blocks(HOW_TO) if block.language == "rust"]
NAMES = [Path(file).stem.replace("_", "-") for file, _, _ in PLACES]


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with an algorithm more in four families, its package importable from there."""
    copy = tmp_path_factory.mktemp("extended")
    for name in ("crates", "examples", "Cargo.toml", "Cargo.lock"):
        source = ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, copy / name)
    for (file, line, family), code in zip(PLACES, CODE, strict=True):
        (copy / file).write_text(code, encoding="utf-8")
        listed, times = re.subn(
            r"(pub enum Spec \{)", rf"\1\n    {line}", (copy / family).read_text(encoding="utf-8")
        )
        assert times == 1
        (copy / family).write_text(listed, encoding="utf-8")
    environment = {"CARGO_TARGET_DIR": str(ROOT / "target"), **os.environ, "PYO3_BUILD_EXTENSION_MODULE": "1"}
    command = ["cargo", "build", "--locked", "--quiet", "-p", "airwnd-py", "--message-format", "json"]
    done = subprocess.run(  # the first build of these crates takes a minute
        command, cwd=copy, env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    (library,) = re.findall(r'"([^"]*lib_native\.so)"', done.stdout)
    shutil.copytree(
        ROOT / "python" / "airwnd", copy / "airwnd", ignore=shutil.ignore_patterns("*.so", "experiments")
    )
    shutil.copy(library, copy / "airwnd" / "_native.so")
    return copy


def airwnd(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "airwnd", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout


def test_the_how_to_has_one_for_each_of_four_families() -> None:
    assert NAMES == ["aimd", "paced", "head-drop", "max-rate"]


@pytest.mark.parametrize(("name", "code"), list(zip(NAMES, CODE, strict=True)), ids=NAMES)
def test_it_is_listed_and_explained(extended: Path, name: str, code: str) -> None:
    summary = re.findall(r"/// (.*)\n(?:///.*\n)*#\[derive\(.*Params\)\]", code)[0]
    assert re.search(rf"^  {name} +{re.escape(summary)}$", airwnd(extended, "list"), re.MULTILINE)
    assert summary in airwnd(extended, "explain", name)


def test_it_is_in_the_schema(extended: Path) -> None:
    schema = json.dumps(json.loads(airwnd(extended, "schema")))
    for name in NAMES:
        assert f'{{"const": "{name}"}}' in schema


def test_the_scenario_of_the_how_to_uses_it(extended: Path) -> None:
    (scenario,) = (block for block in blocks(HOW_TO) if block.language == "toml")
    (extended / "scenario.toml").write_text(scenario.text, encoding="utf-8")
    found = json.loads(airwnd(extended, "run", "scenario.toml", "--json"))
    assert (found["flows"][0]["cc"], found["flows"][0]["rwnd"]) == ("aimd", "paced")
    assert found["totals"]["goodput_kbps"] > 0
