"""Every Rust test in the tree is compiled into an executable that the test run starts.

cargo names the executables, each executable lists its tests, and the compiler's dependency files name the
sources. All three are asked after a build, so an `autotests = false`, a module that no file declares, or a
folder without `main.rs` cannot hide a test.
"""

import json
import os
import re
import subprocess
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from .cargo import MAKE
from .conftest import ROOT, nightly

#: A test function, behind any other attributes.
_TEST = re.compile(r"^[ \t]*#\[test\]\s*(?:#\[[^\]]*\]\s*)*(?:pub )?fn (\w+)", re.MULTILINE)
#: In a folder `tests`, besides the sources of its programs.
_DATA = {"data", "proptest-regressions"}


@dataclass
class Package:
    """A package: its test executables, and what they contain."""

    folder: Path
    #: Names of the tests that the executables list, without their modules.
    listed: Counter[str] = field(default_factory=Counter)
    #: Sources of the executables.
    compiled: set[Path] = field(default_factory=set)


def run(*command: str, environment: Mapping[str, str] | None = None) -> str:
    """Return the output of a command."""
    environment = MAKE | dict(environment or os.environ)
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


@cache
def libraries() -> str:
    """Return the folder of the compiler's libraries."""
    return run("rustc", "--print", "target-libdir").strip()


def has_harness(package: Path, target: str) -> bool:
    """Whether the standard harness runs this target; one of its own does not list its tests."""
    manifest = tomllib.loads((package / "Cargo.toml").read_text(encoding="utf-8"))
    declared = [each for each in manifest.get("test", []) if each["name"] == target]
    return all(each.get("harness", True) for each in declared)


def dependencies(executable: Path) -> set[Path]:
    """Sources of an executable, from the compiler's dependency file."""
    rule = executable.with_suffix(".d").read_text(encoding="utf-8").split("\n", 1)[0]
    return {(ROOT / word).resolve() for word in rule.split(": ", 1)[1].split()}


def kernel_tests() -> list[str]:
    """Return the Makefile's arguments for test programs that `cargo test --tests` does not run."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (arguments,) = re.findall(r"^KERNEL_TESTS := (.*)$", makefile, re.MULTILINE)
    return str(arguments).split()


def packages(members: str) -> list[Package]:
    """Build the tests of these members of the workspace, and ask the executables.

    Parameters
    ----------
    members
        `workspace_default_members`, which `make test` runs, or `workspace_members`.
    """
    metadata = json.loads(run("cargo", "metadata", "--format-version", "1", "--no-deps", "--locked"))
    chosen = [package for package in metadata["packages"] if package["id"] in metadata[members]]
    folders = [Path(package["manifest_path"]).parent for package in chosen]
    found = {folder: Package(folder) for folder in folders}
    selection = ["--workspace"] if members == "workspace_members" else []
    build = ["cargo", "test", "--no-run", "--locked", "--message-format", "json", *selection]
    built = run(*build, "--tests") + run(*build, *kernel_tests())
    for message in map(json.loads, built.splitlines()):
        if message["reason"] == "compiler-artifact" and message["profile"]["test"]:
            folder = Path(message["manifest_path"]).parent
            add(found[folder], message["target"], Path(message["executable"]))
    return list(found.values())


def add(package: Package, target: Mapping[str, Any], executable: Path) -> None:
    """Add what an executable contains."""
    package.compiled |= dependencies(executable)
    if has_harness(package.folder, target["name"]):
        # Tests of macros are linked to the compiler's libraries.
        environment = {**os.environ, "LD_LIBRARY_PATH": libraries()}
        listing = run(str(executable), "--list", environment=environment)
        tests = (line.removesuffix(": test") for line in listing.splitlines() if line.endswith(": test"))
        package.listed.update(name.rpartition("::")[2] for name in tests)


def dark_tests(package: Package, sources: Iterable[Path]) -> Iterator[str]:
    """Yield tests in these sources that no executable of the package lists."""
    written: Counter[str] = Counter()
    files: dict[str, list[Path]] = {}
    for path in sources:
        for name in _TEST.findall(path.read_text(encoding="utf-8")):
            written[name] += 1
            files.setdefault(name, []).append(path)
    for name, times in sorted((written - package.listed).items()):
        places = ", ".join(str(path.relative_to(package.folder)) for path in files[name])
        yield f"{times} of the tests `{name}` in {places} is in no executable"


def dark_files(package: Package, paths: Iterable[Path]) -> Iterator[str]:
    """Yield what a folder `tests` of the package contains without use."""
    folder = package.folder / "tests"
    for path in paths:
        inner = path.relative_to(folder)
        if "proptest-regressions" in inner.parts:
            source = folder / "it" / inner.relative_to("proptest-regressions").with_suffix(".rs")
            if source not in package.compiled:
                yield f"{inner}: there is no {source.relative_to(folder)} that it belongs to"
        elif not _DATA & set(inner.parts[:-1]) and path.resolve() not in package.compiled:
            yield f"{inner} is part of no test program"


def check(package: Package, files: Iterable[Path]) -> list[str]:
    """Return the dark tests and files of a package."""
    own = [path for path in files if path.is_relative_to(package.folder)]
    sources = [path for path in own if path.suffix == ".rs"]
    tests = [path for path in own if path.is_relative_to(package.folder / "tests")]
    found = [*dark_tests(package, sources), *dark_files(package, tests)]
    return [f"{package.folder.relative_to(ROOT)}: {problem}" for problem in found]


def tracked() -> list[Path]:
    """Files of the project, also new ones that git does not ignore."""
    listing = run("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z")
    return [path for name in listing.split("\0") if name and (path := ROOT / name).is_file()]


@pytest.mark.parametrize(
    "members",
    ["workspace_default_members", nightly("workspace_members")],
)
def test_every_rust_test_is_in_a_program_that_is_run(members: str) -> None:
    files = tracked()
    assert [problem for package in packages(members) for problem in check(package, files)] == []


def test_make_test_runs_every_test_program() -> None:
    """The Makefile names those that cargo does not run by itself."""
    metadata = json.loads(run("cargo", "metadata", "--format-version", "1", "--no-deps", "--locked"))
    members = set(metadata["workspace_default_members"])
    targets = [
        target
        for package in metadata["packages"]
        if package["id"] in members
        for target in package["targets"]
    ]
    exempt = {target["name"] for target in targets if target["kind"] == ["test"] and not target["test"]}
    assert {word for word in kernel_tests() if word != "--test"} == exempt
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in ("cargo test --tests --locked", "cargo test $(KERNEL_TESTS) --locked", "cargo test --doc"):
        assert f"-- {command}" in makefile
