"""Suite ``bbr-draft``: its cases, their answers, and controls that are bad on purpose."""

from pathlib import Path

import pytest

from airwnd.study.batch import Processes, Store, Workers
from airwnd.study.evaluate.candidate import parse
from airwnd.study.evaluate.contest import Contest
from airwnd.study.evaluate.evaluation import Effort, Evaluator
from airwnd.study.evaluate.judge import Answer, CriterionResult
from airwnd.study.evaluate.suite import Suite
from airwnd.study.statistics import MIN_SEEDS

from .test_evaluate import Inline

HERE = Path(__file__).parent
NEVER_BACKS_OFF = f"{HERE}/sabotaged.py:NeverBacksOff"
BACKS_OFF_TO_ZERO = f"{HERE}/sabotaged.py:BacksOffToZero"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Finished runs of the references, which all candidates share."""
    return Store(tmp_path_factory.mktemp("shared"))


def evaluated(
    candidate: str, store: Store, workers: Workers, *only: str, seeds: int = 6
) -> dict[str, CriterionResult]:
    contest = Contest.of(Suite.load("bbr-draft"), parse(candidate))
    effort = Effort(seeds=dict.fromkeys(contest.suite.criteria, seeds), only=only)
    return {each.entry.id: each for each in Evaluator(contest, store, workers).results(effort)}


def test_every_case_of_the_appendix_is_there_with_its_source_and_reasons() -> None:
    entry = Suite.load("bbr-draft").entry
    assert entry.source == "draft-ietf-ccwg-bbr-06, appendix A, July 2026"
    assert [each.section for each in entry.criterion] == [f"A.{number}" for number in range(1, 23)]
    for criterion in entry.criterion:
        assert criterion.id == criterion.section
        assert any(check.decides for check in criterion.check), criterion.id
        for check in criterion.check:
            # A threshold refers to a step of the case. One that decides nothing may be for information.
            words = ("step ", "steps ") if check.decides else ("step ", "for information")
            assert check.because.startswith(words), f"{criterion.id}: {check.because}"


def test_bbr3_passes_cheap_cases_and_sabotaged_controls_fail_them(shared: Store) -> None:
    cases = ("A.2", "A.14")
    ours = evaluated("bbr3", shared, Inline(), *cases, seeds=MIN_SEEDS)
    assert {name: each.answer for name, each in ours.items()} == dict.fromkeys(cases, Answer.MEETS)
    # After the losses cwnd is as before them.
    (loss,) = evaluated(NEVER_BACKS_OFF, shared, Inline(), "A.2", seeds=MIN_SEEDS)["A.2"].checks
    assert loss.answer is Answer.FAILS
    assert loss.findings[0].found.mean == pytest.approx(1, abs=0.05)
    # One segment instead of four; the path of 64 kbit/s is full nevertheless.
    sluggish = evaluated(BACKS_OFF_TO_ZERO, shared, Inline(), "A.14", seeds=MIN_SEEDS)
    floor, _, rate = sluggish["A.14"].checks
    assert (floor.answer, rate.answer) == (Answer.FAILS, Answer.MEETS)
    assert floor.findings[0].found.mean == 1


@pytest.mark.nightly
def test_bbr3_passes_the_cases_of_its_draft(shared: Store) -> None:
    found = evaluated("bbr3", shared, Processes())
    # A.16 to A.18 are close to their thresholds, or differ between seeds.
    others = {"A.16", "A.17", "A.18"}
    assert {name for name, each in found.items() if each.answer is not Answer.MEETS} <= others


# Cases that the candidate must fail, and cases that it must not: what BBRv3 has changed, and the sabotage.
OTHERS = {
    "bbr": ("A.2 A.6 A.10 A.17", "A.3 A.5 A.8 A.13"),
    NEVER_BACKS_OFF: ("A.2 A.5 A.6 A.8 A.10 A.16 A.17 A.18 A.21", "A.7 A.11 A.15 A.22"),
    BACKS_OFF_TO_ZERO: ("A.5 A.8 A.10 A.11 A.12 A.13 A.14 A.15 A.17 A.18 A.19 A.21", "A.2 A.6 A.7 A.22"),
}


@pytest.mark.nightly
@pytest.mark.parametrize("candidate", OTHERS, ids=["bbr", "never-backs-off", "backs-off-to-zero"])
def test_other_controls_fail_the_cases_that_they_should(candidate: str, shared: Store) -> None:
    fails, meets = (set(text.split()) for text in OTHERS[candidate])
    found = evaluated(candidate, shared, Processes(), *fails, *meets)
    assert {each for each in fails if found[each].answer is not Answer.FAILS} == set()
    assert {each for each in meets if found[each].answer is not Answer.MEETS} == set()
