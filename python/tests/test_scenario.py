"""Scenarios in Python."""

import json
from pathlib import Path

import pytest

import airwnd
from airwnd import InputError, Scenario, ScenarioError

from .conftest import TABLE6


def test_the_same_scenario_from_toml_json_and_a_dictionary_is_equal(small: Scenario, tmp_path: Path) -> None:
    resolved = small.resolved
    from_dict = Scenario.from_dict(resolved)
    path = tmp_path / "resolved.json"
    path.write_text(json.dumps(resolved), encoding="utf-8")
    assert small == from_dict == Scenario.load(path)
    assert hash(small) == hash(from_dict)
    assert small != small.with_(duration="1s")


def test_with_reaches_into_tables_and_lists(small: Scenario) -> None:
    changed = small.with_({"rlc.queue.buffer": "10KiB", "ue[0].count": 5})
    assert changed.resolved["rlc"]["queue"]["buffer"] == "10KiB"
    assert changed.resolved["ue"][0]["count"] == 5
    assert small.resolved["ue"][0]["count"] == 3, "a scenario is immutable"


def test_with_takes_an_algorithm_with_parameters(small: Scenario) -> None:
    rwnd = small.with_({"flow[0].rwnd": {"kind": "drwa", "lambda": 2.0}}).resolved["flow"][0]["rwnd"]
    assert (rwnd["kind"], rwnd["lambda"]) == ("drwa", 2.0)


def test_texts_remain_texts_and_numbers_remain_numbers(small: Scenario) -> None:
    assert small.with_(name="5").name == "5"
    assert small.with_(name='quo"te\\').name == 'quo"te\\'
    assert small.override([("seed", "5")]).seed == 5


def test_an_error_is_one_line_that_names_its_place() -> None:
    text = (TABLE6 / "scenario.toml").read_text(encoding="utf-8")
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_toml(f'durration = "2s"\n{text}', "file.toml")
    assert str(caught.value).startswith("file.toml:1: unknown key `durration`; did you mean `duration`?")
    assert isinstance(caught.value, ValueError)


def test_a_binary_file_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "binary.toml"
    path.write_bytes(b"\xff\x00")
    with pytest.raises(InputError, match=r"binary\.toml:1: byte 0xff is not UTF-8"):
        Scenario.load(path)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        (
            "a.toml",
            'name = "x"'.encode("utf-16"),
            "a.toml: is UTF-16, as of `>` in PowerShell; save it as UTF-8",
        ),
        ("a.toml", b'{"name": "x"}', "a.toml: is JSON; give it a name that ends in .json"),
        ("a.yaml", b"name: x", "a.yaml: a scenario is TOML or JSON, not YAML"),
        ("a.yml", b"- x", "a.yml: a scenario is TOML or JSON, not YAML"),
    ],
)
def test_files_of_other_formats_are_named(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        Scenario.load(path)
    assert str(caught.value) == f"{tmp_path}/{message}"


def test_everything_public_can_be_imported() -> None:
    for name in airwnd.__all__:
        assert getattr(airwnd, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Scenaro'"):
        airwnd.Scenaro  # type: ignore[attr-defined]  # noqa: B018 (there is none)
