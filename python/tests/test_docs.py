"""The examples of the documentation work, and every public name is documented."""

import doctest
import importlib
import inspect
import itertools
import pkgutil
import re
import shlex
import tomllib
from collections import Counter
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

import click
import pytest

import airwnd
from airwnd import Scenario
from airwnd.cli import cli as command_line
from airwnd.vocabulary.algorithms import family

from .conftest import ROOT, Cli, nightly
from .pages import PAGES, Block, blocks, commands

MODULES = sorted(module.name for module in pkgutil.walk_packages(airwnd.__path__, "airwnd."))
PUBLIC = [name for name in airwnd.__all__ if not name.startswith("__")]
CHEAP = ("run", "check", "city", "list", "explain", "schema", "sweep", "plot")
#: Pages whose examples take more than three seconds of processor time, except the two that people read first.
SLOW = (
    "draw-pictures.md",
    "explore-a-run.md",
    "short-flows.md",
    "simulate-a-city.md",
    "sweep.md",
    "tutorial-nr.md",
)
# Wall-clock times differ in each run.
TIMES = re.compile(r"\bin \d|real time|of the time")


@pytest.mark.parametrize("name", ["airwnd", *(name for name in MODULES if not name.endswith("__main__"))])
def test_docstrings(name: str, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.parametrize(
    "page",
    [nightly(page) if page.name in SLOW else page for page in PAGES],
    ids=[str(page.relative_to(ROOT)) for page in PAGES],
)
def test_the_examples_of_a_page_work(
    page: Path, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Execute the page in an empty folder, from its first block to its last."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "experiments").symlink_to(ROOT / "experiments")
    _bring_what_a_reader_has()
    for block, after in itertools.pairwise([*blocks(page), None]):
        assert block
        if block.file:
            Path(block.file).write_text(block.text, encoding="utf-8")
        if not block.tried:
            continue
        if block.language == "toml":
            Scenario.from_toml(block.text, str(page))
        elif block.language == "python":
            exec(compile(block.text, str(page), "exec"), {"__name__": "page"})  # noqa: S102
        elif block.language == "sh":
            for command in commands(block.text):
                _try(shlex.split(command, comments=True), after, cli)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("flow[0].rwnd", "autotuning"),
        ("flow[0].rwnd", "drwa"),
        ("flow[0].rwnd", "arwa"),
        ("rlc.queue.buffer", "100kB"),
        ("rlc.queue.buffer", "30kB"),
    ],
)
def test_the_tutorial_gives_the_results_of_its_scenario(key: str, value: str) -> None:
    page = ROOT / "docs" / "tutorial.md"
    text = page.read_text(encoding="utf-8")
    scenario = next(block.text for block in blocks(page) if block.language == "toml")
    totals = airwnd.Scenario.from_dict(tomllib.loads(scenario)).with_({key: value}).run().totals
    assert f"{totals['throughput_kbps']:.1f}" in text
    assert f"{totals['delay_ms_mean']:.2f}" in text


@pytest.mark.parametrize(
    ("page", "scenario", "changes", "figures"),
    [
        ("tutorial-nr.md", "nr.toml", {}, "throughput of {:.0f} Mbit/s with a mean delay of {:.0f} ms"),
        (
            "tutorial-nr.md",
            "nr.toml",
            {"rlc.queue": {"kind": "codel", "buffer": "4MB"}},
            "it is {:.0f} Mbit/s with {:.0f} ms",
        ),
        ("tutorial-nr.md", "tdd.toml", {}, "The cell carries {:.0f} Mbit/s, in three whole slots"),
        (
            "tutorial-nr.md",
            "tdd.toml",
            {"radio.access": {"kind": "nr", "numerology": 1, "pattern": "DDDSU", "mimo": {}}},
            "two layers: the cell carries {:.0f} Mbit/s",
        ),
        ("tutorial-nr.md", "mmwave.toml", {}, "Seed 1 carries {:.0f} Mbit/s with a mean delay of {:.0f} ms"),
        (
            "tutorial-nr.md",
            "mmwave.toml",
            {"radio.blockage": "none"},
            "without blockage {:.0f} Mbit/s with {:.0f} ms",
        ),
        ("how-to/compare-with-ns3.md", "phone.toml", {}, "it downloads at {:.1f} Mbit/s"),
    ],
)
def test_pages_state_the_results_of_their_scenarios(
    page: str, scenario: str, changes: dict[str, Any], figures: str
) -> None:
    path = ROOT / "docs" / page
    settings = next(block.text for block in blocks(path) if block.file == scenario)
    totals = Scenario.from_toml(settings).with_(changes).run().totals
    text = " ".join(path.read_text(encoding="utf-8").split())
    assert figures.format(totals["throughput_kbps"] / 1e3, totals["delay_ms_mean"]) in text


@pytest.mark.parametrize(
    ("name", "rwnd"),
    [
        *(
            (f"`{member.name}`", member.name)
            for member in family("rwnd").members
            if member.name not in {"fixed", "plugin", "python"}
        ),
        ('`dfcsd` with `update = "step"`', {"kind": "dfcsd", "update": "step"}),
    ],
)
def test_the_guide_to_receivers_gives_the_results_of_its_scenario(
    name: str, rwnd: str | dict[str, str]
) -> None:
    page = ROOT / "docs" / "how-to" / "control-from-the-receiver.md"
    settings = next(block.text for block in blocks(page) if block.file == "phone.toml")
    flows = Scenario.from_toml(settings).with_({"flow[0].rwnd": rwnd}).run().flows
    download, call = flows.rows(named=True)
    figures = f"| {download['goodput_kbps'] / 1e3:.1f} | {call['delay_ms_p95']:.0f} |"
    rows = page.read_text(encoding="utf-8").splitlines()
    assert any(re.match(rf"\| {re.escape(name)}[ ,]", row) and row.endswith(figures) for row in rows), figures


def _bring_what_a_reader_has() -> None:
    """Write the scenarios of the README and of the tutorial, which other pages use."""
    for page, file in (("README.md", "scenario.toml"), ("docs/tutorial.md", "bufferbloat.toml")):
        first = next(block.text for block in blocks(ROOT / page) if block.language == "toml")
        Path(file).write_text(first, encoding="utf-8")


def _try(words: list[str], after: Block | None, cli: Cli) -> None:
    """Check a command, and run it if it is a fast one of ours."""
    program, *rest = words
    if program == "make":
        assert re.search(rf"^{rest[0]}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE), (
            words
        )
    if program == "cargo":
        _check_cargo(rest)
    if program != "airwnd":
        return
    command = command_line.commands[rest[0]]
    # Click keeps a command's help option, with the names of the first context.
    parent = click.Context(command_line, **command_line.context_settings)
    context = command.make_context(rest[0], rest[1:], parent=parent)
    for param in command.params:
        if isinstance(param, click.Argument) and isinstance(param.type, click.Path):
            given = context.params[str(param.name)]
            assert all(Path(path).exists() for path in (given if param.nargs != 1 else [given])), words
    if rest[0] not in CHEAP or "--dask" in rest:
        return
    done = cli(*rest)
    shown = after.text if after and after.language == "text" else ""
    complaint = shown if shown.startswith("airwnd: ") else ""
    assert (done.returncode, done.stderr) == (2 if complaint else 0, complaint)
    if shown and not complaint:
        missing = [line for line in shown.splitlines() if line not in done.stdout and not TIMES.search(line)]
        assert not missing, words


def _check_cargo(words: list[str]) -> None:
    """Check that the packages, tests and examples that a command names exist."""
    named = {option: word for option, word in itertools.pairwise(words) if option.startswith("-")}
    name = named.get("-p", "airwnd-lab").removeprefix("airwnd-")
    crates = [ROOT / folder / name for folder in ("crates", "tools") if (ROOT / folder / name).is_dir()]
    assert len(crates) == 1, words
    for option, file in (("--example", "examples/{}.rs"), ("--test", "tests/{}/main.rs")):
        if option in named:
            assert (crates[0] / file.format(named[option])).is_file(), words


def test_tests_that_pages_name_exist(root: Path) -> None:
    named = re.compile(r"`([\w/-]+\.(?:rs|py))::(\w+)`")
    pages = [page for folder in ("docs", "experiments") for page in (root / folder).rglob("*.md")]
    found = {match for page in pages for match in named.findall(page.read_text(encoding="utf-8"))}
    assert len(found) > 30
    missing = [
        f"{file}::{name}"
        for file, name in sorted(found)
        if not (root / file).is_file()
        or not re.search(rf"\b(?:fn|def) {name}\(", (root / file).read_text(encoding="utf-8"))
    ]
    assert not missing


@pytest.mark.parametrize(
    ("page", "heading", "facts"),
    [
        ("README.md", "## Install", ("Linux", "macOS", "Windows", "Python 3.11", "minutes", "GB")),
        ("docs/how-to/guard-a-machine.md", "# How to", ("uploads", "QUIC", "UDP", "Linux 6.1", "root")),
        ("docs/index.md", "## Tutorial", ("JupyterLab", "airwnd[notebooks]", "jupyter lab")),
    ],
)
def test_a_section_says_first_where_it_helps(
    root: Path, page: str, heading: str, facts: tuple[str, ...]
) -> None:
    """Before the first command, and before a list of links."""
    text = "\n" + (root / page).read_text(encoding="utf-8")
    first = re.split(r"^```|^- \[", text.split(f"\n{heading}", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]
    assert not [fact for fact in facts if fact not in first]


def test_extras_that_pages_name_exist(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pages = [root / "README.md", *(root / "docs").rglob("*.md")]
    texts = [page.read_text(encoding="utf-8") for page in pages]
    named = {extra for text in texts for extra in re.findall(r"airwnd\[(\w+)\]", text)}
    assert {"dask", "gym", "notebooks", "pandas", "plots"} <= named <= project["optional-dependencies"].keys()
    # Without quotes, zsh takes brackets for a pattern.
    assert not [text for text in texts if re.search(r"pip install [^'\s]*\[", text)]


def test_crates_whose_documentation_pages_name_begin_with_an_example(root: Path) -> None:
    pages = (root / "docs").rglob("*.md")
    named = re.compile(r"`cargo\s+doc\s[^`]*-p\s(\S+)`")
    found = {name for page in pages for name in named.findall(page.read_text(encoding="utf-8"))}
    assert found == {"airwnd", "airwnd-lab"}
    for name in found:
        source = root / "crates" / name.removeprefix("airwnd-") / "src" / "lib.rs"
        head = re.match(r"(//!.*\n)+", source.read_text(encoding="utf-8"))
        assert head
        assert re.search(rf"//! ```\n(//!.*\n)*?//! use {name.replace('-', '_')}::", head.group()), name


def test_no_page_has_a_section_twice(root: Path) -> None:
    """A merge that keeps both sides of a section duplicates it without a conflict."""
    twice = []
    for page in (page for folder in ("docs", "experiments") for page in (root / folder).rglob("*.md")):
        text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        above: list[str] = []
        paths: Counter[tuple[str, ...]] = Counter()
        for marks, title in re.findall(r"^(#+) (.+)$", text, flags=re.MULTILINE):
            above = [*above[: len(marks) - 1], title]
            paths[tuple(above)] += 1
        twice += [f"{page.relative_to(root)}: {' / '.join(path)}" for path, n in paths.items() if n > 1]
    assert not twice


def test_every_page_is_in_the_index(root: Path) -> None:
    index = (root / "docs" / "index.md").read_text(encoding="utf-8")
    for page in (root / "docs").glob("**/*.*"):
        if page.suffix in {".md", ".ipynb"} and page.parent.name not in {"reference", "_site"}:
            link = page.relative_to(root / "docs").as_posix()
            assert link == "index.md" or f"({link})" in index, f"docs/index.md does not lead to {link}"


def _documented() -> dict[str, Any]:
    """Return the public functions and classes, and the public methods of these."""
    found: dict[str, Any] = {}
    for name in PUBLIC:
        what = getattr(airwnd, name)
        found[name] = what
        if isinstance(what, type):
            members = {key: value for key, value in vars(what).items() if not key.startswith("_")}
            found |= {
                f"{name}.{key}": getattr(what, key) for key, value in members.items() if _has_text(value)
            }
    return found


def _has_text(value: object) -> bool:
    return callable(value) or isinstance(value, classmethod | staticmethod | property)


DOCUMENTED = _documented()


@pytest.mark.parametrize("name", DOCUMENTED)
def test_public_names_are_documented(name: str) -> None:
    what = DOCUMENTED[name]
    text = inspect.getdoc(what)
    assert text, f"{name} has no docstring"
    if isinstance(what, type) and issubclass(what, BaseException):
        return
    section = "Attributes" if is_dataclass(what) else "Parameters"
    for parameter in _parameters(what):
        assert re.search(
            rf"^{section}\n-+\n(.*\n)*?(.*, )?\**{parameter}(,.*)?\n    \S", text, re.MULTILINE
        ), f"{name} does not say what `{parameter}` is"
    if inspect.isfunction(what) or inspect.ismethod(what):
        returns = inspect.signature(what).return_annotation
        assert returns in {None, "None"} or "\nReturns\n---" in text, f"{name} does not say what it returns"


def _parameters(what: object) -> list[str]:
    """Return the parameters of a callable; none for properties and classes without a constructor."""
    if not callable(what) or (isinstance(what, type) and "__init__" not in vars(what)):
        return []
    return [name for name in inspect.signature(what).parameters if name != "self"]
