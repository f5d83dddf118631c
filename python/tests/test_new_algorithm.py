"""A new algorithm is one file and one line in the list of its family; it is then available everywhere.

The algorithms are those of the how-to: `make test` compiles and runs them with the Rust tests. The nightly
tests build the package with them, as a reader of the how-to does.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .cargo import TARGET, cargo
from .conftest import ROOT
from .pages import blocks

HOW_TO = ROOT / "docs" / "how-to" / "add-an-algorithm.md"
EXAMPLES = HOW_TO.parent / "algorithms"
# `file`, and `line` in the list of `mod.rs`:
PLACES = re.findall(
    r"^`(crates/\S+)`, and `(.+)` in the list of `(.+)`:$", HOW_TO.read_text("utf-8"), re.MULTILINE
)
CODE = [(EXAMPLES / Path(file).name).read_text("utf-8") for file, _, _ in PLACES]
NAMES = [Path(file).stem.replace("_", "-") for file, _, _ in PLACES]


def workspace() -> dict[Path, bytes]:
    """The files of the workspace's members, with an additional algorithm in four families."""
    top = [ROOT / "Cargo.toml", ROOT / "Cargo.lock"]
    members = ("adapters", "crates", "examples", "tools")
    inner = [path for folder in members for path in (ROOT / folder).rglob("*")]
    files = {path.relative_to(ROOT): path.read_bytes() for path in top + inner if path.is_file()}
    for (file, line, family), code in zip(PLACES, CODE, strict=True):
        files[Path(file)] = code.encode()
        listed, times = re.subn(r"(pub enum Spec \{)", rf"\1\n    {line}", files[Path(family)].decode())
        assert times == 1
        files[Path(family)] = listed.encode()
    return files


def mirror(files: dict[Path, bytes], folder: Path) -> None:
    """Make the folder contain these files; unchanged ones keep their times, which cargo compares."""
    for path, content in files.items():
        copy = folder / path
        if not copy.is_file() or copy.read_bytes() != content:
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(content)
    for copy in list(folder.rglob("*")):
        if copy.is_file() and copy.relative_to(folder) not in files:
            copy.unlink()


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package with the new algorithms, importable from the folder."""
    # Always the same place, so that later sessions build only changes.
    copy = TARGET / "extended"
    mirror(workspace(), copy)
    built = cargo("build", "-p", "airwnd-native", "--message-format", "json", folder=copy)
    (library,) = re.findall(r'"([^"]*lib_native\.so)"', built)
    package = tmp_path_factory.mktemp("package")
    shutil.copytree(
        ROOT / "python" / "airwnd", package / "airwnd", ignore=shutil.ignore_patterns("*.so", "experiments")
    )
    shutil.copy(library, package / "airwnd" / "_native.so")
    return package


def airwnd(folder: Path, *arguments: str) -> str:
    path = f"import runpy, sys; sys.path.insert(0, {str(folder)!r})"
    code = f"{path}; runpy.run_module('airwnd', run_name='__main__')"
    # Nothing wraps.
    environment = {**os.environ, "COLUMNS": "1000"}
    command = [sys.executable, "-I", "-c", code, *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_how_to_has_an_algorithm_for_each_of_four_families() -> None:
    assert NAMES == ["aimd", "paced", "head-drop", "max-rate"]
    assert len({family for _, _, family in PLACES}) == 4
    assert not any((ROOT / file).exists() for file, _, _ in PLACES)
    assert set(workspace()) > {Path(family) for _, _, family in PLACES}


def test_the_how_to_shows_the_first_file_and_leads_to_the_others() -> None:
    """The Rust tests compile the files."""
    assert {path.stem.replace("_", "-") for path in EXAMPLES.glob("*.rs")} == set(NAMES)
    (shown,) = (block.text for block in blocks(HOW_TO) if block.language == "rust")
    assert shown == CODE[0]
    links = re.findall(r"\]\(algorithms/(\S+)\)", HOW_TO.read_text("utf-8"))
    assert links == [Path(file).name for file, _, _ in PLACES[1:]]


@pytest.mark.nightly
@pytest.mark.parametrize(("name", "code"), list(zip(NAMES, CODE, strict=True)), ids=NAMES)
def test_it_is_listed_and_explained(extended: Path, name: str, code: str) -> None:
    summary = re.findall(r"/// (.*)\n(?:///.*\n)*#\[derive\(.*Params\)\]", code)[0]
    assert re.search(rf"^  {name} +{re.escape(summary)}$", airwnd(extended, "list"), re.MULTILINE)
    assert summary in airwnd(extended, "explain", name)


@pytest.mark.nightly
def test_it_is_in_the_schema(extended: Path) -> None:
    schema = json.dumps(json.loads(airwnd(extended, "schema")))
    for name in NAMES:
        assert f'{{"const": "{name}"}}' in schema


@pytest.mark.nightly
def test_the_scenario_of_the_how_to_uses_it(extended: Path) -> None:
    (scenario,) = (block for block in blocks(HOW_TO) if block.language == "toml")
    (extended / "scenario.toml").write_text(scenario.text, encoding="utf-8")
    found = json.loads(airwnd(extended, "run", "scenario.toml", "--json"))
    assert (found["flows"][0]["cc"], found["flows"][0]["rwnd"]) == ("aimd", "paced")
    assert found["totals"]["goodput_kbps"] > 0
