"""Claims that fail or are too close to tell have a cause: a sentence, a table and a picture."""

import re
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from airwnd import InputError
from airwnd.plots import style

from .conftest import ROOT, TABLE0, nightly, script, write_experiment
from .test_picture_texts import problems

EXPERIMENTS = ROOT / "experiments"
NEED = ("does not hold", "too close to tell")
CAUSES = """
[[cause]]
claim = "T1"
seeds = 3

[[cause.panel]]
text = "Autotuning's throughput relative to DRWA's"
expression = "100 * (throughput_kbps(method='autotuning') / throughput_kbps(method='drwa') - 1)"
unit = "%"
at = { users = "2" }

[[cause.panel.column]]
text = "DRWA"
expression = "throughput_kbps(method='drwa')"

[[cause.panel.case]]
label = "as it is"

[[cause.panel.case]]
label = "shorter"
set = { duration = "500ms" }

[[cause.panel.case]]
label = "shorter with DRWA"
set = { duration = "500ms" }
only = { method = ["drwa"] }
"""


def refuted() -> dict[str, str]:
    """Return the experiment of each claim of a paper that fails or is too close to tell."""
    claims = script("index", EXPERIMENTS).judged()
    return {claim: row["experiment"] for claim, row in claims.items() if row["verdict"] in NEED}


@pytest.fixture(scope="module")
def causes() -> ModuleType:
    return script("causes", EXPERIMENTS)


@pytest.fixture(scope="module")
def every(causes: ModuleType) -> dict[str, Any]:
    found: dict[str, Any] = causes.every_cause()
    return found


@pytest.mark.parametrize(("claim", "experiment"), refuted().items())
def test_each_refuted_claim_has_a_sentence_a_section_a_table_and_a_picture(
    causes: ModuleType, every: dict[str, Any], claim: str, experiment: str
) -> None:
    folder = EXPERIMENTS / experiment
    claims = tomllib.loads((folder / "claims.toml").read_text(encoding="utf-8"))["claim"]
    (sentence,) = [each.get("cause") for each in claims if each["id"] == claim]
    assert sentence
    assert sentence.endswith(".")
    section = _section((folder / "README.md").read_text(encoding="utf-8"), f"## Cause of {claim}\n")
    assert sentence in " ".join(section.split())
    assert every[claim].table(causes.read_values()[claim]) in section
    assert f"python experiments/causes.py {claim}" in section
    (picture,) = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", section)
    assert (folder / picture).resolve() == every[claim].picture
    assert every[claim].picture.exists()
    every[claim].check()


def _section(text: str, heading: str) -> str:
    return text[text.index(heading) :].partition("\n## ")[0]


@pytest.fixture
def own(tmp_path: Path) -> Path:
    return write_experiment(tmp_path, "table0", {**TABLE0, "causes.toml": CAUSES})


def test_a_case_changes_its_scenario_only(causes: ModuleType, own: Path) -> None:
    (cause,) = causes.load_causes(own)
    found = cause.run(1)
    panel = "Autotuning's throughput relative to DRWA's"

    def kbps(method: str, **changes: str) -> np.ndarray:
        scenario = cause.experiment.scenario_for(("2", method), {}).with_(changes)
        return np.array([run.outcome["totals"]["throughput_kbps"] for run in scenario.run_many([1, 2, 3], 1)])

    drwa, tuned = kbps("drwa"), kbps("autotuning")
    short = {method: kbps(method, duration="500ms") for method in ("drwa", "autotuning")}
    expected = {
        "as it is": (tuned, drwa),
        "shorter": (short["autotuning"], short["drwa"]),
        "shorter with DRWA": (tuned, short["drwa"]),
    }
    for label, (first, second) in expected.items():
        value = found[panel, label, f"{panel} (%)"]
        gains = 100 * (first / second - 1)
        assert value.estimate.mean == pytest.approx(gains.mean())
        assert (value.minimum, value.maximum) == (pytest.approx(gains.min()), pytest.approx(gains.max()))
        assert found[panel, label, "DRWA"].estimate.mean == pytest.approx(second.mean())
    assert not np.allclose(drwa, short["drwa"])


def test_values_are_read_as_they_were_written(causes: ModuleType, own: Path, tmp_path: Path) -> None:
    (cause,) = causes.load_causes(own)
    found = cause.run(1)
    causes.write_values({"T1": found}, tmp_path / "causes.csv")
    again = causes.read_values(tmp_path / "causes.csv")["T1"]
    assert list(again) == list(found)
    assert cause.table(again) == cause.table(found)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('"T1"', '"T9"', "cause[0].claim: claims.toml has T1, T2, found T9"),
        ("seeds = 3", "seeds = 2", "cause[0].seeds: intervals need at least 3 seeds, found 2"),
        ("method='autotuning'", "method='cubic'", "the levels of `method` are drwa, autotuning"),
        ('label = "shorter"', 'label = "as it is"', "two of [[cause.panel.case]] are called `as it is`"),
    ],
)
def test_mistakes_are_named(causes: ModuleType, own: Path, before: str, after: str, said: str) -> None:
    path = own / "causes.toml"
    path.write_text(path.read_text(encoding="utf-8").replace(before, after), encoding="utf-8")
    with pytest.raises(InputError) as error:
        causes.load_causes(own)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.nightly
def test_pictures_are_those_of_the_values(causes: ModuleType, every: dict[str, Any]) -> None:
    for claim, found in causes.read_values().items():
        with style.styled(salt=every[claim].picture.stem):
            assert not problems(every[claim].draw(found)), claim
        before = every[claim].picture.read_bytes()
        causes.draw(every[claim], found)
        after = every[claim].picture.read_bytes()
        every[claim].picture.write_bytes(before)
        assert after == before, claim


@pytest.mark.parametrize("claim", [nightly("D05")])
def test_a_cause_repeats(causes: ModuleType, every: dict[str, Any], claim: str) -> None:
    recorded = causes.read_values()[claim]
    assert every[claim].table(every[claim].run(1)) == every[claim].table(recorded)
