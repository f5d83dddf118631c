"""Levels of parameters: declared in the engine, followed by `explain`, the schema and the reference."""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from airwnd import _native
from airwnd.vocabulary.algorithms import LEVELS, schema, without_none

from .conftest import Cli

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"


@cache
def catalogue() -> list[dict[str, Any]]:
    """Return the algorithm families."""
    families: list[dict[str, Any]] = json.loads(_native.catalogue())
    return families


@cache
def whole_schema() -> dict[str, Any]:
    """Return the schema of scenarios."""
    return schema()


def declared() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield each algorithm and section, as `explain` names it, with its parameters."""
    for family in catalogue():
        for member in family["members"]:
            yield f"{family['name']}/{member['name']}", member["params"]
    for section in json.loads(_native.sections()):
        yield section["heading"].strip("[]"), section["params"]


def page(name: str) -> str:
    """Return the part of the reference about an algorithm or a section."""
    family, slash, member = name.partition("/")
    if slash:
        text, heading = (REFERENCE / f"{family}.md").read_text("utf-8"), f"## {member}\n"
    elif name == "tcp":
        return (REFERENCE / "tcp.md").read_text("utf-8").partition("## Quirks")[0]
    else:
        text = (REFERENCE / "scenario.md").read_text("utf-8")
        heading = rf"## `\[+{re.escape(name)}\]+`\n" if name else "## Top level\n"
        return re.split(r"^## ", re.split(heading, text, maxsplit=1)[1], maxsplit=1, flags=re.MULTILINE)[0]
    return text.partition(f"\n{heading}")[2].partition("\n## ")[0]


def properties(name: str) -> dict[str, Any]:
    """Return the schemas of the parameters of an algorithm or the keys of a section."""
    family, slash, member = name.partition("/")
    if slash:
        schemas = next(each for each in catalogue() if each["name"] == family)["schema"]
        tables = (each["properties"] for each in schemas["anyOf"] if "properties" in each)
        return next(each for each in tables if each["kind"]["const"] == member)
    found: Any = whole_schema()
    for step in filter(None, name.split(".")):
        found = without_none(found["properties"][step])
        found = found.get("items", found)
    keys: dict[str, Any] = found["properties"]
    return keys


def rows(text: str) -> list[str]:
    """Return the first cells of the tables."""
    return re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("name", "params"), [pytest.param(*each, id=each[0] or "top") for each in declared()]
)
def test_a_level_reaches_schema_and_reference(name: str, params: list[dict[str, Any]]) -> None:
    levels = {each["name"]: each["level"] for each in params}
    described = properties(name)
    assert {key: described[key]["x-level"] for key in levels} == levels
    ranks = [LEVELS.index(each["x-level"]) for each in described.values() if "x-level" in each]
    assert ranks == sorted(ranks), "the schema has the basic keys first"
    if name == "flow.tcp":
        return
    shown, _, folded = page(name).partition("<details>")
    # The page of the stacks has a column for each.
    basic = {key for key, level in levels.items() if level == "basic" and (name, key) != ("tcp", "stack")}
    assert basic <= set(rows(shown))
    assert set(rows(folded)) == {key for key, level in levels.items() if level != "basic"}
    for level in LEVELS[1:]:
        count = list(levels.values()).count(level)
        assert not count or f"{count} {level}" in folded.partition("</summary>")[0], level


def test_explain_shows_the_basic_parameters_and_counts_the_others(cli: Cli) -> None:
    for name, params in declared():
        if not name:
            continue
        levels = {each["name"]: each["level"] for each in params}
        brief, full = (cli("explain", name, *more).stdout for more in ((), ("--all",)))
        heads = re.findall(r"^  (\w+)(?: \[|  )", brief, re.MULTILINE)
        every = re.findall(r"^  (\w+)(?: \[|  )", full, re.MULTILINE)
        assert {key for key in levels if key in every} == set(levels), name
        assert {key for key in levels if key in heads} == {
            key for key, level in levels.items() if level == "basic"
        }, name
        hidden = sum(level != "basic" for level in levels.values())
        assert (f"  {hidden} more with --all: " in brief) == bool(hidden), name
        assert "more with --all" not in full
        (found,) = (
            each
            for each in json.loads(cli("explain", name, "--json").stdout)
            if each["kind"] in {"algorithm", "section"}
        )
        told = found["params"] if "params" in found else list(found["keys"].values())
        assert {each["name"]: each["level"] for each in told if each["name"] in levels} == levels, name


def test_a_level_is_told_with_its_parameter(cli: Cli) -> None:
    assert "; expert; source: " in " ".join(cli("explain", "rlc.report_period").stdout.split())
    assert "expert" not in cli("explain", "rlc.mode").stdout


def test_a_newcomer_sees_a_quarter_of_the_parameters() -> None:
    levels = [each["level"] for name, params in declared() for each in params if name != "flow.tcp"]
    assert 0.2 < levels.count("basic") / len(levels) < 0.5
    assert levels.count("expert") > 50


def test_check_explains_the_keys_of_a_scenario(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(
        'duration = "2s"\n[[link]]\nrate = "10Mbps"\n[[ue]]\n[[flow]]\ncc = "cubic"\n'
        'traffic = { kind = "web", page = { kind = "lognormal", sigma = 1.0 } }\n',
        encoding="utf-8",
    )
    done = cli("check", "a.toml", "--explain", "--set", "flow[0].cc.beta=0.6")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "a.toml: a valid scenario"
    assert [line for line in lines if line.startswith("  ") and line[2] != " "] == [
        '  duration = "2s" [time]  (line 1)',
        '  link[0].rate = "10Mbps" [bit/s]  (line 3)',
        '  flow[0].cc = "cubic"  (line 6)',
        "  flow[0].cc.beta = 0.6  (--set)",
        '  flow[0].traffic = "web"  (line 7)',
        '  flow[0].traffic.page = "lognormal" [B]  (line 7)',
        "  flow[0].traffic.page.sigma = 1.0 [ln B]  (line 7)",
    ]
    place = lines.index("  flow[0].cc.beta = 0.6  (--set)")
    assert lines[place + 1].startswith("      Multiplicative decrease")
    assert "      default 0.7" in lines[place:]


def test_explain_and_json_exclude_each_other(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("", encoding="utf-8")
    done = cli("check", "a.toml", "--explain", "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--explain prints text; choose it or --json." in done.stderr
