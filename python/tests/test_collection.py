"""Every test of the project is collected: its place, its name or another test does not hide it."""

import ast
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import COLLECTED, ROOT

TESTS = ROOT / "python" / "tests"
#: Folders with generated files, and links to other folders.
GENERATED = {"target", "out", "__pycache__", "node_modules"}


def defined(file: Path) -> Iterator[str]:
    """Yield the tests of a file: functions, and methods of classes, whose names begin as pytest requires."""
    top = ast.parse(file.read_text(encoding="utf-8")).body
    classes = [node for node in top if isinstance(node, ast.ClassDef) and node.name.startswith("Test")]
    scopes = [("", top), *((f"{each.name}::", each.body) for each in classes)]
    for scope, body in scopes:
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
                yield scope + node.name


def python_files() -> Iterator[Path]:
    """Yield the Python files of the project in folders named `tests`."""
    for folder, inner, names in os.walk(ROOT):
        inner[:] = [name for name in inner if name not in GENERATED and not name.startswith(".")]
        if "tests" in Path(folder).relative_to(ROOT).parts:
            yield from (Path(folder, name) for name in names if name.endswith(".py"))


def test_every_test_is_collected(pytestconfig: pytest.Config) -> None:
    collected = {name.partition("[")[0] for name in pytestconfig.stash[COLLECTED]}
    files = {ROOT / name.partition("::")[0] for name in collected}
    if {Path(each).resolve() for each in pytestconfig.args} == {TESTS}:
        files |= set(TESTS.glob("**/test_*.py"))
    expected = Counter(
        f"{file.relative_to(ROOT).as_posix()}::{name}" for file in files for name in defined(file)
    )
    assert [name for name, times in expected.items() if times > 1] == [], "defined twice"
    if not any("::" in each for each in pytestconfig.args):
        assert sorted(set(expected) - collected) == []


def test_no_test_is_outside_the_files_that_pytest_reads() -> None:
    files = list(python_files())
    assert Path(__file__) in files
    read = [file for file in files if file.is_relative_to(TESTS) and file.name.startswith("test_")]
    elsewhere = set(files) - set(read)
    assert {file: [*defined(file)] for file in elsewhere if any(defined(file))} == {}
