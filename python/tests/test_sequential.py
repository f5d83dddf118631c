"""Seeds that are added until claims are decided: the error rate, and which runs are added."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

from airwnd.study.batch import Processes
from airwnd.study.reproduce.bounds import ANY
from airwnd.study.reproduce.claims import Requirement
from airwnd.study.reproduce.design import Experiment
from airwnd.study.reproduce.expression import Expression
from airwnd.study.reproduce.runner import Effort, Results, reproduce
from airwnd.study.reproduce.sequential import Decide, confidence, confidence_at
from airwnd.study.reproduce.statistics import CONFIDENCE, Interval, interval
from airwnd.study.reproduce.verdict import Verdict, over_setups, together

from .conftest import Cli

LOOKS = range(7)


def test_the_error_rates_of_all_looks_add_up_to_the_usual_one() -> None:
    rates = [1.0 - confidence(look) for look in range(100_000)]
    assert sum(rates) == pytest.approx(1.0 - CONFIDENCE, rel=1e-4)
    assert [confidence_at(seeds, 3) for seeds in (3, 6, 24)] == [confidence(0), confidence(1), confidence(3)]


@pytest.mark.parametrize(("draw", "limit"), [("normal", 0.05), ("gamma", 0.075)])
def test_a_true_claim_at_its_bound_is_rarely_refuted_however_long_it_is_judged(
    draw: str, limit: float
) -> None:
    """10,000 claims "the mean is at least zero", whose mean is zero, with 3 seeds and up to 192.

    Fixed intervals of 95 % refute several times as many. Skewed values (gamma, shape 4) exceed 5 % slightly:
    Student's t assumes normal ones.
    """
    random = np.random.default_rng(1)
    shape = (10_000, 3 * 2 ** LOOKS[-1])
    values = random.normal(size=shape) if draw == "normal" else random.gamma(4.0, size=shape) - 4.0
    refuted = {rule: np.zeros(len(values), dtype=bool) for rule in ("sequential", "fixed")}
    for look in LOOKS:
        seen = values[:, : 3 * 2**look]
        standard_error = stats.sem(seen, axis=1)
        for rule, level in (("sequential", confidence(look)), ("fixed", CONFIDENCE)):
            half = stats.t.ppf((1 + level) / 2, seen.shape[1] - 1) * standard_error
            refuted[rule] |= np.abs(seen.mean(axis=1)) > half
    assert refuted["sequential"].mean() < limit
    assert refuted["fixed"].mean() > 2.5 * refuted["sequential"].mean()


def test_an_interval_that_contains_the_bound_and_ends_near_it_is_too_close_to_tell() -> None:
    above = Requirement(10.0, float("inf"), strict=True, text="")
    near = Interval(10.0, 9.95, 10.05, 5)
    assert above.judge(near, margin=0.1) is Verdict.CLOSE
    assert above.judge(near, margin=0.01) is Verdict.OPEN
    assert above.judge(Interval(11.0, 9.95, 12.05, 5), margin=0.1) is Verdict.OPEN
    assert above.judge(Interval(10.2, 10.1, 10.3, 5), margin=1.0) is Verdict.HOLDS, "it is decided"


def test_too_close_to_tell_is_between_a_failure_and_an_open_verdict() -> None:
    assert together([Verdict.CLOSE, Verdict.HOLDS]) is Verdict.CLOSE
    assert together([Verdict.CLOSE, Verdict.OPEN]) is Verdict.OPEN
    assert together([Verdict.CLOSE, Verdict.FAILS]) is Verdict.FAILS
    assert over_setups([Verdict.CLOSE, Verdict.FAILS]) is Verdict.CLOSE
    assert over_setups([Verdict.CLOSE, Verdict.OPEN]) is Verdict.OPEN
    assert over_setups([Verdict.CLOSE, Verdict.HOLDS]) is Verdict.PART


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x(a='1') - x(a='2')", 3.0),
        ("x(a='1') / x(a='2')", 300.0 / (200.0 * 0.99) - 1.5 - 0.000153),
        ("100 * (x(a='1') / x(a='2') - 1)", 1.5),
        ("min(x(a='1'), x(a='2'))", 2.0),
    ],
)
def test_the_margin_is_the_effect_of_one_per_cent_of_a_measure(text: str, expected: float) -> None:
    expression = Expression.parse(text, {"a": ("1", "2")}, ["x"])
    means = {"1": 300.0, "2": 200.0}
    found = expression.sensitivity({}, lambda levels, _: np.array([means[levels["a"]]] * 3), 0.01)
    assert found == pytest.approx(expected, rel=0.02)


def test_measures_with_different_numbers_of_seeds_are_paired_from_the_first() -> None:
    expression = Expression.parse("x(a='1') - x(a='2')", {"a": ("1", "2")}, ["x"])
    known = {"1": np.array([5.0, 6.0, 7.0, 8.0]), "2": np.array([1.0, 1.0])}
    assert expression.values({}, lambda levels, _: known[levels["a"]]).tolist() == [4.0, 5.0]


def decided(folder: Path, out: Path, decide: Decide | None) -> Results:
    experiment = Experiment.load(folder)
    effort = Effort.of(experiment, None, quick=False, decide=decide)
    return reproduce(experiment, effort, out, Processes(2))


@pytest.fixture
def uncertain(folder: Path, tmp_path: Path) -> Path:
    """An experiment with a claim about one of its four settings whose bound is within the interval."""
    first = decided(folder, tmp_path / "out", None)
    values = first.readings.of(("2", "drwa"), "throughput_kbps").to_list()
    found = interval(values, ANY)
    assert found.half_width > 0.0
    bound = found.mean + 0.5 * found.half_width
    (folder / "claims.toml").write_text(
        '[[claim]]\nid = "T1"\ntext = "Much arrives"\nsource = "here"\n[[claim.check]]\ntext = "throughput"\n'
        f"expression = \"throughput_kbps(users=2, method='drwa')\"\nabove = {bound!r}\nmargin = 0\n",
        encoding="utf-8",
    )
    return folder


def test_seeds_are_added_where_a_claim_needs_them(uncertain: Path, tmp_path: Path) -> None:
    looks: list[tuple[list[str], int, int]] = []
    decide = Decide(24, on_look=lambda still_open, runs, seeds: looks.append(([*still_open], runs, seeds)))
    found = decided(uncertain, tmp_path / "out", decide)
    counts = dict(
        found.readings.values.group_by("users", "method")
        .len()
        .select(pl.concat_str("users", "method", separator=" "), "len")
        .rows()
    )
    most = counts.pop("2 drwa")
    assert set(counts.values()) == {3}
    assert most in {6, 12, 24}
    assert looks == [(["T1"], added, total) for added, total in ((3, 6), (6, 12), (12, 24)) if total <= most]
    (claim,) = found.claims()
    assert claim.verdict is not Verdict.OPEN or most == 24
    assert (found.runs, found.max_seeds) == (9 + most, most)
    again = decided(uncertain, tmp_path / "out", Decide(24))
    assert again.readings.values.equals(found.readings.values)
    assert again.reused == found.runs, "the same command repeats nothing"


def test_nothing_is_added_without_need_or_time(uncertain: Path, folder: Path, tmp_path: Path) -> None:
    assert decided(uncertain, tmp_path / "out", Decide(3)).runs == 12, "no seeds are left"
    assert decided(uncertain, tmp_path / "fresh", Decide(24, budget_s=0.0)).runs == 12
    claims = (folder / "claims.toml").read_text(encoding="utf-8")
    (folder / "claims.toml").write_text(claims.replace("margin = 0", "margin = 1e6"), encoding="utf-8")
    found = decided(folder, tmp_path / "out", Decide(24))
    assert (found.runs, found.claims()[0].verdict) == (12, Verdict.CLOSE)


def test_the_command_and_the_page_say_what_was_added(uncertain: Path, tmp_path: Path, cli: Cli) -> None:
    done = cli("reproduce", uncertain, "--decide", "--max-seeds", "6")
    assert done.returncode == 0, done.stderr
    assert "open: T1; 3 more runs, up to 6 seeds" in done.stderr
    assert "3 seeds and more, until decided" in done.stdout
    page = (tmp_path / "out" / "example" / "index.html").read_text(encoding="utf-8")
    assert "4 × 3 and more: 15 runs" in page
    stopped = cli("reproduce", uncertain, "--decide", "--max-seeds", "5")
    assert "not decided within --max-seeds and --budget: T1; the same command" in stopped.stdout
    for arguments, message in (
        (["--decide", "--quick"], "--quick gives no verdicts"),
        (["--budget", "3"], "--budget limits what --decide adds"),
    ):
        refused = cli("reproduce", uncertain, *arguments)
        assert refused.returncode == 2
        assert message in refused.stderr
