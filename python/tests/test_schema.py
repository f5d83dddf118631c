"""The JSON Schema accepts what the engine accepts."""

import tomllib
from pathlib import Path

import jsonschema
import pytest

from airwnd import Scenario, schema

from .conftest import ROOT

SHIPPED = sorted((ROOT / "experiments").rglob("scenario.toml"))
VALIDATOR = jsonschema.Draft202012Validator(schema())


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: str(path.relative_to(ROOT)))
def test_it_accepts_what_is_shipped(path: Path) -> None:
    VALIDATOR.validate(tomllib.loads(path.read_text(encoding="utf-8")))
    VALIDATOR.validate(Scenario.load(path).resolved)


def test_it_refuses_a_misspelt_key(small: Scenario) -> None:
    assert not VALIDATOR.is_valid({**small.resolved, "duraton": "1s"})
    assert not VALIDATOR.is_valid({**small.resolved, "duration": 1})
