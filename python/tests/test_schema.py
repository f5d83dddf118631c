"""The JSON Schemas accept the same files as the readers, and the shipped files."""

import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airwnd import InputError, Scenario, schema
from airwnd.study.reader import convert
from airwnd.study.reproduce import schemas
from airwnd.study.reproduce.claims import ClaimsFile
from airwnd.study.reproduce.design import ExperimentFile
from airwnd.study.reproduce.paper import PaperFile

from .conftest import CLAIMS, EXPERIMENT, ROOT, Cli

SHIPPED = sorted((ROOT / "experiments").rglob("scenario.toml"))
VALIDATOR = jsonschema.Draft202012Validator(schema())


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: str(path.relative_to(ROOT)))
def test_it_accepts_the_shipped_scenarios(path: Path) -> None:
    VALIDATOR.validate(tomllib.loads(path.read_text(encoding="utf-8")))
    VALIDATOR.validate(Scenario.load(path).resolved)


def test_it_rejects_a_misspelt_key(small: Scenario) -> None:
    assert not VALIDATOR.is_valid({**small.resolved, "duraton": "1s"})
    assert not VALIDATOR.is_valid({**small.resolved, "duration": 1})


FILES: dict[str, type] = {"experiment": ExperimentFile, "claims": ClaimsFile, "paper": PaperFile}
DESCRIPTIONS = sorted(path for name in FILES for path in (ROOT / "experiments").rglob(f"{name}.toml"))
PAPER = """
title = "On Nothing"
authors = "N. Obody"
[[claim]]
id = "T1"
where = "Table 0"
text = "Something arrives"
"""


def of(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(schemas.schema(name))


@pytest.mark.parametrize("name", FILES)
def test_the_files_of_a_reproduction_have_schemas(name: str, cli: Cli) -> None:
    jsonschema.Draft202012Validator.check_schema(schemas.schema(name))
    assert json.loads(cli("schema", name).stdout) == schemas.schema(name)


def test_the_schema_of_a_scenario_is_the_default(cli: Cli) -> None:
    assert json.loads(cli("schema").stdout) == json.loads(cli("schema", "scenario").stdout) == schema()


def test_an_unknown_schema_is_one_line(cli: Cli) -> None:
    done = cli("schema", "paper.csv")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "'scenario', 'experiment', 'claims', 'paper'" in done.stderr


@pytest.mark.parametrize("path", DESCRIPTIONS, ids=lambda path: str(path.relative_to(ROOT)))
def test_they_accept_the_shipped_files(path: Path) -> None:
    of(path.stem).validate(tomllib.loads(path.read_text(encoding="utf-8")))


def _changed(raw: Any, path: str, value: object) -> dict[str, Any]:
    *steps, last = [int(step) if step.isdecimal() else step for step in path.split("/")]
    inner = raw
    for step in steps:
        inner = inner[step]
    if value is None:
        del inner[last]
    else:
        inner[last] = value
    found: dict[str, Any] = raw
    return found


@pytest.mark.parametrize(
    ("name", "path", "value", "message"),
    [
        ("experiment", "seeds", 0, "seeds: expected an integer >= 1, found 0"),
        ("experiment", "seeds", -3, "seeds: expected an integer >= 1, found -3"),
        ("experiment", "seeds", 1.5, "seeds: expected an integer, found 1.5"),
        ("experiment", "seeds", True, "seeds: expected an integer, found True"),
        ("experiment", "axis", None, "`axis` is missing"),
        ("experiment", "title", "", "title: expected a string of length >= 1, found ''"),
        (
            "experiment",
            "series",
            "often",
            "series: expected a time with its unit, as in \"20s\", found 'often'",
        ),
        ("experiment", "colour", 1, "unknown key `colour`; allowed: title, place, seeds, axis"),
        ("experiment", "axis", [], "axis: expected an array of length >= 1, found []"),
        (
            "experiment",
            "axis/0/key",
            None,
            "axis[0]: an axis needs `values` with `key`, [[axis.level]], or `random`",
        ),
        ("experiment", "axis/0/name", "number of users", "axis[0].name: expected a name of letters"),
        (
            "experiment",
            "axis/0/values/1",
            [3],
            "axis[0].values[1]: expected a boolean or an integer or a number",
        ),
        ("experiment", "axis/1/level/0/context", 1, "axis[1].level[0].context: expected a boolean, found 1"),
        ("experiment", "axis/1/level/0/where", {"id": []}, "axis[1].level[0].where: expected an array of"),
        ("experiment", "measure/0/digits", -1, "measure[0].digits: expected an integer >= 0, found -1"),
        (
            "experiment",
            "measure/0/statistic",
            "average",
            "measure[0].statistic: `average` is not one of count,",
        ),
        ("experiment", "axis/0/open", "", "axis[0].open: expected a string of length >= 1, found ''"),
        ("experiment", "axis/0/when", {"method": []}, "axis[0].when: expected an array of length >= 1"),
        ("experiment", "axis/0/shown", "2", "axis[0].shown: only an axis with `open` can have `shown`"),
        ("experiment", "measure/0/range", [0], "measure[0].range: expected an array of length 2, found [0]"),
        ("experiment", "plot/0/kind", None, "plot[0]: `kind` is missing; one of lines, bars, frontier"),
        ("experiment", "plot/0/kind", "pie", "plot[0].kind: `pie` is not one of"),
        ("experiment", "plot/0/value", "flows.fct_s", "plot[0]: unknown key `value`; allowed: kind, name,"),
        ("experiment", "plot/0/name", "../up", "plot[0].name: expected a name of letters, digits, _, - and"),
        ("experiment", "plot/0/limits", [1], "plot[0].limits: expected an array of length 2, found [1]"),
        (
            "experiment",
            "plot/0/scale",
            "logarithmic",
            "plot[0].scale: `logarithmic` is not one of linear, log",
        ),
        ("experiment", "quick/set", 1, "quick.set: expected a table, found 1"),
        ("claims", "claim", [], "claim: expected an array of length >= 1, found []"),
        ("claims", "claim/0/check/0/tolerance", -1, "claim[0].check[0].tolerance: expected a number >= 0"),
        ("claims", "claim/0/check/0/above", "0", "claim[0].check[0].above: expected a number, found '0'"),
        ("claims", "claim/0/check/0/equals", 1, "claim[0].check[0]: a check needs one of `above`, `below`"),
        ("claims", "claim/0/check/0/only", {"users": []}, "claim[0].check[0].only: expected an array of"),
        ("claims", "claim/0/text", 1, "claim[0].text: expected a string, found 1"),
        ("paper", "year", "2019", "year: expected an integer, found '2019'"),
        ("paper", "claim/0/where", None, "claim[0]: `where` is missing"),
    ],
)
def test_a_violation_of_the_schema_is_one_line(name: str, path: str, value: object, message: str) -> None:
    raw = tomllib.loads({"experiment": EXPERIMENT, "claims": CLAIMS, "paper": PAPER}[name])
    of(name).validate(raw)
    convert(raw, FILES[name], "here")
    wrong = _changed(raw, path, value)
    assert not of(name).is_valid(wrong)
    with pytest.raises(InputError) as caught:
        convert(wrong, FILES[name], "here")
    assert str(caught.value).startswith(f"here: {message}")
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("experiment", "seeds = 3", "seeds = nan", "seeds: expected a finite number, found nan"),
        ("experiment", '"100ms"', "inf", "quick.set.duration: expected a finite number, found inf"),
        ("experiment", '"100ms"', "2019-07-01", "quick.set.duration: expected a string, a number or"),
        ("experiment", "seeds = 3", "seeds = 3\nseeds = 3", "Cannot overwrite a value (at line 5"),
        ("experiment", "values = [2, 3]", "values = [2, 2]", "axis[0]: two of the levels are called `2`"),
        ("experiment", '"method"', '"users"', "two of [[axis]] and [[measure]] are called `users`"),
        ("experiment", '"users"', '"seed"', "no axis and no measure can be called seed, measure"),
        (
            "claims",
            "above = 0",
            "above = nan",
            "claim[0].check[0].above: expected a finite number, found nan",
        ),
        ("claims", "above = 0", "between = [2, 1]", "claim[0].check[0].between: expected [low, high], found"),
    ],
)
def test_conditions_beyond_the_schema_are_checked(
    cli: Cli, folder: Path, name: str, old: str, new: str, message: str
) -> None:
    path = folder / f"{name}.toml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    done = cli("reproduce", folder, "--quick")
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith(f"airwnd: {path}: {message}")
    assert len(done.stderr.splitlines()) == 1


def _places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path] * bool(path) + [place for key, each in inner for place in _places(each, (*path, key))]


VALUES = st.recursive(
    st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(data=st.data())
def test_the_message_of_any_file_names_it(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(FILES)))
    raw = tomllib.loads({"experiment": EXPERIMENT, "claims": CLAIMS, "paper": PAPER}[name])
    *steps, last = data.draw(st.sampled_from(_places(raw)))
    inner: Any = raw
    for step in steps:
        inner = inner[step]
    inner[last] = data.draw(VALUES)
    message = "here: "
    try:
        convert(raw, FILES[name], "here")
    except InputError as error:
        message = str(error)
    assert message.startswith("here: ")
    assert "at `$" not in message, "a path as msgspec writes it"
