"""The page on the papers' claims has the verdicts of `verdicts.csv`."""

import tomllib
from types import ModuleType

import pytest

from .conftest import ROOT, script

EXPERIMENTS = ROOT / "experiments"
PAGE = (EXPERIMENTS / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def index() -> ModuleType:
    return script("index", EXPERIMENTS)


def test_the_page_has_the_table_that_the_program_writes(index: ModuleType) -> None:
    assert index.page() == PAGE


def test_every_claim_of_the_papers_is_judged(index: ModuleType) -> None:
    stated = {
        claim["id"]
        for paper in index.PAPERS
        for claim in tomllib.loads((EXPERIMENTS / paper / "paper.toml").read_text(encoding="utf-8"))["claim"]
    }
    assert index.judged().keys() == stated
    assert {row["verdict"] for row in index.judged().values()} <= set(index.VERDICTS)
