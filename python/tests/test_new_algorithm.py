"""A new algorithm is one file and one line in its family's list; it then shows up everywhere."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import ROOT

# Family, folder, the file and the type to start from.
START = {
    "my-sched": ("crates/cell/src/mac/sched", "rr", "Rr"),
    "my-rwnd": ("crates/tcp/src/rwnd", "fixed", "Fixed"),
    "my-cc": ("crates/tcp/src/cc", "fixed", "Fixed"),
    "my-aqm": ("crates/cell/src/rlc/aqm", "drop_tail", "DropTail"),
}


def camel(stem: str) -> str:
    return "".join(word.capitalize() for word in stem.split("_"))


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with an algorithm more in four families, its package importable from there."""
    copy = tmp_path_factory.mktemp("extended")
    for name in ("crates", "examples", "Cargo.toml", "Cargo.lock"):
        source = ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, copy / name)
    for kind, (folder, stem, type_name) in START.items():
        new = kind.replace("-", "_")
        text = (copy / folder / f"{stem}.rs").read_text(encoding="utf-8")
        text = re.sub(rf"\b{type_name}\b", camel(new), text).split("#[cfg(test)]")[0]
        text = re.sub(r"(params! \{\s*///) [^\n]*", r"\1 A stranger's idea.", text, count=1)
        (copy / folder / f"{new}.rs").write_text(text, encoding="utf-8")
        family = copy / folder / "mod.rs"
        listed = re.sub(
            r'(pub family Spec \("[^"]*"\) \{)',
            rf"\1 {new}: {camel(new)},",
            family.read_text(encoding="utf-8"),
        )
        family.write_text(listed, encoding="utf-8")
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


@pytest.mark.parametrize("kind", START)
def test_it_is_listed_and_explained(extended: Path, kind: str) -> None:
    assert re.search(rf"^  {kind} +A stranger's idea\.$", airwnd(extended, "list"), re.MULTILINE)
    assert "A stranger's idea." in airwnd(extended, "explain", kind)


def test_it_is_in_the_schema(extended: Path) -> None:
    schema = json.dumps(json.loads(airwnd(extended, "schema")))
    for kind in START:
        assert f'{{"const": "{kind}"}}' in schema


def test_a_scenario_can_use_it(extended: Path) -> None:
    scenario = """
        duration = "200ms"
        mac.scheduler = "my-sched"
        rlc.queue = "my-aqm"
        [[site]]
        [[ue]]
        [[flow]]
        cc = "my-cc"
        rwnd = "my-rwnd"
    """
    (extended / "scenario.toml").write_text(scenario, encoding="utf-8")
    found = json.loads(airwnd(extended, "run", "scenario.toml", "--json"))
    assert (found["flows"][0]["cc"], found["flows"][0]["rwnd"]) == ("my-cc", "my-rwnd")
