"""Known answers of ``airwnd evaluate``: published results, and controls that are bad on purpose."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from airwnd.study.batch import Processes, Store
from airwnd.study.evaluate.candidate import parse
from airwnd.study.evaluate.contest import Contest
from airwnd.study.evaluate.evaluation import Effort, Evaluator
from airwnd.study.evaluate.judge import Answer, CriterionResult
from airwnd.study.evaluate.suite import Suite

pytestmark = pytest.mark.nightly

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Finished runs of the references, which all candidates share."""
    return Store(tmp_path_factory.mktemp("shared"))


def evaluated(candidate: str, store: Store, *only: str) -> dict[str, CriterionResult]:
    """Evaluate a candidate against RFC 9743."""
    contest = Contest.of(Suite.load("rfc9743"), parse(candidate))
    results = Evaluator(contest, store, Processes()).results(Effort(only=only))
    return {each.entry.id: each for each in results}


# Rows that the sabotage must fail, and rows that it must not: the others are close to their thresholds.
# DelayBlind leaves its neighbour so little that a misbehaving receiver cannot harm it further (7.6).
SABOTAGED = {
    "Sound": (
        "",
        "5.1.1 5.1.2 5.1.3 5.1.4 5.1.5 5.2-starvation 5.2.1 5.2.2 5.2.3 "
        "6.1 6.3 6.4 7.2 7.3 7.4 7.6 7.7 7.8 7.9",
    ),
    "NeverBacksOff": (
        "5.1.1 5.1.3 5.1.4 5.2-starvation 5.2.1 5.2.2 5.2.3 6.3 6.4 7.1 7.2",
        "5.1.2 7.4 7.5",
    ),
    "BacksOffToZero": (
        "5.1.5 5.2-starvation 6.1 6.3 6.4 7.1 7.3 7.5 7.6 7.7 7.8 7.9",
        "5.1.1 5.1.2 5.2.1 5.2.2 5.2.3 7.2 7.4",
    ),
    "Unfair": (
        "5.1.3 5.2-starvation 5.2.1 5.2.3 6.3 7.1 7.2",
        "5.1.2 5.1.4 6.1 7.4 7.5 7.6 7.7 7.8 7.9",
    ),
    "DelayBlind": (
        "5.1.3 5.2-starvation 5.2.1 5.2.2 6.3 6.4 7.1 7.2 7.3",
        "5.1.2 6.1 7.4 7.8 7.9",
    ),
}


@pytest.mark.parametrize("name", SABOTAGED)
def test_a_sabotaged_control_fails_the_rows_that_it_should(name: str, shared: Store) -> None:
    fails, meets = (set(text.split()) for text in SABOTAGED[name])
    found = evaluated(f"{HERE}/sabotaged.py:{name}", shared)
    assert {each for each in fails if found[each].answer is not Answer.FAILS} == set()
    assert {each for each in meets if found[each].answer is not Answer.MEETS} == set()


def test_ack_division_deceives_a_control_that_counts_acks(shared: Store) -> None:
    """Savage et al., ACM CCR 29(5), 1999."""
    found = evaluated(f"{HERE}/sabotaged.py:CountsAcks", shared, "7.6")["7.6"]
    assert found.answer is Answer.FAILS
    gain, others = figures(found, 1, setting="divides")
    assert gain > 1.4 > max(others.values())
    left, others = figures(found, 2, setting="divides")
    assert left < 0.6 < min(others.values())


def figures(result: CriterionResult, number: int, **place: str) -> tuple[float, Mapping[str, float]]:
    """Return a figure of the candidate and those of the references."""
    (finding,) = [each for each in result.checks[number].findings if place.items() <= each.place.items()]
    return finding.found.mean, {name: each.mean for name, each in finding.references.items()}


def test_bbr_causes_loss_and_harms_loss_based_flows_in_shallow_buffers(shared: Store) -> None:
    """Hock, Bless and Zitterbart, ICNP 2017; RFC 9743 section 5.1.3."""
    found = evaluated("bbr", shared, "5.1.3", "5.2.1")
    assert found["5.1.3"].answer is Answer.FAILS
    assert found["5.2.1"].answer is Answer.FAILS
    for beside in ("newreno", "cubic"):
        left, _ = figures(found["5.2.1"], 0, beside=beside, setting="first-half")
        assert left < 0.5


def test_vegas_starves_beside_cubic_in_a_large_buffer(shared: Store) -> None:
    """Mo et al., INFOCOM 1999. A Vegas flow that begins later takes the queue that it finds for the path."""
    found = evaluated("vegas", shared, "5.2-starvation", "5.2.1")
    assert found["5.2-starvation"].answer is Answer.FAILS
    share, _ = figures(found["5.2-starvation"], 0, beside="cubic", setting="first-four")
    assert share < 0.1
    assert found["5.2.1"].answer is Answer.MEETS


def test_ledbat_yields_to_cubic(shared: Store) -> None:
    """RFC 6817: it leaves capacity to flows whose queue exceeds its target."""
    found = evaluated("ledbat", shared, "5.2-starvation", "5.2.1")
    share, _ = figures(found["5.2-starvation"], 0, beside="cubic", setting="first-four")
    assert share < 0.5
    left, others = figures(found["5.2.1"], 0, beside="cubic", setting="first-four")
    assert left > 1.2 * max(others.values())
    assert found["5.2.1"].answer is Answer.MEETS


def test_reno_loses_to_cubic_on_a_long_fat_path(shared: Store) -> None:
    """RFC 9438 section 1."""
    reno, others = figures(evaluated("newreno", shared, "7.5")["7.5"], 1)
    assert reno < 0.75 * others["cubic"]


def test_codel_loses_packets_of_long_bursts(tmp_path: Path) -> None:
    """A burst that takes more than the interval of 100 ms to send (RFC 8289 section 3.2)."""
    contest = Contest.of(Suite.load("rfc7928"), parse("aqm:codel"))
    (found,) = Evaluator(contest, Store(tmp_path), Processes()).results(Effort(only=("7",)))
    short, long = (figures(found, 0, setting=setting)[0] for setting in ("three", "long"))
    assert long < short - 0.5


def test_ledbat_takes_more_behind_codel(tmp_path: Path) -> None:
    """Gong et al., Computer Networks 65, 2014: its queue is below LEDBAT's target."""
    contest = Contest.of(Suite.load("rfc7928"), parse("aqm:codel"))
    (found,) = Evaluator(contest, Store(tmp_path), Processes()).results(Effort(only=("5.4",)))
    assert found.answer is Answer.FAILS
    left, others = figures(found, 1)
    assert left < 0.9 * others["aqm:drop-tail"]
