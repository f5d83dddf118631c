"""Seeds that are added until claims are decided: the error rate, and which runs are added."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

from airwnd.study.axis import Axis, AxisEntry
from airwnd.study.batch import Processes
from airwnd.study.bounds import ANY
from airwnd.study.reader import convert
from airwnd.study.reproduce import search
from airwnd.study.reproduce.claims import Claim, ClaimResult, Requirement, judge, load_claims
from airwnd.study.reproduce.design import Experiment
from airwnd.study.reproduce.expression import Expression, Values
from airwnd.study.reproduce.paper import Paper
from airwnd.study.reproduce.runner import Effort, Results, reproduce
from airwnd.study.reproduce.sequential import Decide, confidence, confidence_at, undecided
from airwnd.study.reproduce.verdict import Verdict, over_setups, together
from airwnd.study.space import Setting, Space
from airwnd.study.statistics import CONFIDENCE, Interval, interval

from .conftest import Cli, nightly

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


def axis(name: str, levels: Sequence[str], **more: object) -> Axis:
    entry = {"name": name, "label": name, "level": [{"name": each, "label": each} for each in levels]}
    return Axis.of(convert(entry | more, AxisEntry, "here"))


SPACE = Space.of(
    [
        axis("method", ("drwa", "arwa", "tcp")),
        axis("factor", ("1", "2", "3"), open="Not given.", when={"method": ["drwa"]}),
    ],
    "here",
)
"""Three set-ups of DRWA, which share the runs of ARWA and TCP."""

CHECKS = ("drwa(method='drwa')", "arwa(method='arwa')", "tcp(method='tcp')")


def claim(tmp_path: Path, *checks: str, margin: float = 0.0) -> Claim:
    """Return a claim that values are above 0, each a measure of its own."""
    head = '[[claim]]\nid = "T1"\ntext = "x"\nsource = "x"\n'
    (tmp_path / "claims.toml").write_text(
        head
        + "".join(
            f'[[claim.check]]\ntext = "x"\nexpression = "{each}"\nabove = 0\nmargin = {margin}\n'
            for each in checks
        ),
        encoding="utf-8",
    )
    measures = dict.fromkeys(("drwa", "arwa", "tcp"), ANY)
    (found,) = load_claims(tmp_path / "claims.toml", Paper.load(tmp_path), SPACE, measures)
    return found


def judged(of: Claim, read: Callable[[Setting], Values], first: int = 3) -> ClaimResult:
    def paper(_: Mapping[str, str], measure: str) -> Values:
        raise KeyError(measure)

    return judge(
        of,
        lambda levels, _: read(SPACE.setting(levels)),
        paper,
        confidence=lambda seeds: confidence_at(seeds, first),
    )


def needs(of: Claim, means: Mapping[str, float], decide: Decide | None = None) -> set[str]:
    """Return the settings that get more seeds; with four seeds, means within 3.2 of the bound are open."""

    def read(setting: Setting) -> Values:
        return means["".join(setting)] + np.array([-1.5, 1.5, -1.5, 1.5])

    found = undecided([judged(of, read, first=4)], decide or Decide(64))
    return {"".join(SPACE.setting(levels)) for needed in found.values() for levels, _ in needed.measures}


@pytest.mark.parametrize(
    ("means", "expected"),
    [
        # It may hold with factor 2: no other set-up matters, and ARWA and TCP are known to hold.
        ({"drwa1": -1, "drwa2": 1, "drwa3": -1, "arwa": 9, "tcp": 9}, {"drwa2"}),
        # Both factors may be decided by twice the seeds: one look for both.
        ({"drwa1": 3, "drwa2": 3, "drwa3": 0.1, "arwa": 9, "tcp": 9}, {"drwa1", "drwa2"}),
        # To hold, it needs ARWA as well.
        ({"drwa1": -1, "drwa2": 2, "drwa3": -1, "arwa": 1, "tcp": 9}, {"drwa2", "arwa"}),
        # ARWA is expected to fail, which refutes all set-ups at once.
        ({"drwa1": -1, "drwa2": 1, "drwa3": -1, "arwa": -1, "tcp": 1}, {"arwa"}),
        # It fails with factor 1. Elsewhere one value of each set-up is expected to fail.
        ({"drwa1": -9, "drwa2": -1, "drwa3": -2, "arwa": 9, "tcp": 1}, {"drwa2", "drwa3"}),
        # A transfer that never ends cannot hold, and nothing is expected to fail with it.
        ({"drwa1": math.nan, "drwa2": -1, "drwa3": math.nan, "arwa": 1, "tcp": 9}, {"drwa2"}),
        ({"drwa1": math.nan, "drwa2": -9, "drwa3": math.nan, "arwa": -1, "tcp": 9}, {"arwa"}),
    ],
)
def test_seeds_go_where_they_decide(means: dict[str, float], expected: set[str], tmp_path: Path) -> None:
    assert needs(claim(tmp_path, *CHECKS), means) == expected


def test_only_named_claims_get_seeds_and_none_beyond_the_limit(tmp_path: Path) -> None:
    means = {"drwa1": -1.0, "drwa2": 1.0, "drwa3": 2.0, "arwa": 9.0, "tcp": 9.0}
    assert needs(claim(tmp_path, *CHECKS), means) == {"drwa3"}
    assert needs(claim(tmp_path, *CHECKS), means, Decide(7)) == set()
    assert needs(claim(tmp_path, *CHECKS), means, Decide(64, claims={"T2"})) == set()


def test_a_value_just_outside_does_not_refute(tmp_path: Path) -> None:
    """Within the margin it becomes too close to tell, which decides nothing: the other values count, too."""
    means = {"drwa1": -9.0, "drwa2": -9.0, "drwa3": 1.0, "arwa": -0.1, "tcp": 9.0}
    assert needs(claim(tmp_path, *CHECKS), means) == {"arwa"}
    assert needs(claim(tmp_path, *CHECKS, margin=0.5), means) == {"drwa3", "arwa"}


def _judged_until_decided(
    of: Claim, means: Mapping[str, float], random: np.random.Generator, *, everything: bool
) -> tuple[Verdict, int]:
    """Judge normal values with these means; `everything`: all settings get more seeds while it is open."""
    decide = Decide(3 * 2 ** LOOKS[-1])
    drawn = {key: mean + random.normal(size=decide.max_seeds) for key, mean in means.items()}
    counts = dict.fromkeys(means, 3)

    def read(setting: Setting) -> Values:
        return drawn["".join(setting)][: counts["".join(setting)]]

    while True:
        result = judged(of, read)
        before = dict(counts)
        for needed in undecided([result], decide).values():
            for levels, seeds in needed.measures:
                key = "".join(SPACE.setting(levels))
                counts[key] = max(counts[key], decide.after(seeds) or 0)
        if everything and counts != before:
            counts = dict.fromkeys(means, 2 * max(before.values()))
        if counts == before:
            return result.verdict, sum(counts.values())


@pytest.mark.parametrize(
    ("means", "truth", "saved"),
    [
        ({"drwa1": -0.5, "drwa2": 0.7, "drwa3": -0.5, "arwa": 2, "tcp": 2}, Verdict.PART, 0.5),
        ({"drwa1": 0.1, "drwa2": 0.2, "drwa3": -0.5, "arwa": 2, "tcp": -0.5}, Verdict.FAILS, 0.5),
        nightly({"drwa1": 0.0, "drwa2": -2, "drwa3": -2, "arwa": 2, "tcp": 2}, Verdict.OPEN, 0.5),
    ],
)
def test_a_choice_of_runs_errs_no_more_often_and_saves_half_of_them(
    means: dict[str, float], truth: Verdict, saved: float, tmp_path: Path
) -> None:
    """40 claims of each kind with up to 192 seeds: at 5 % each, six errors have a probability of 1.4 %."""
    of = claim(tmp_path, *CHECKS)
    random = np.random.default_rng(7)
    found = [_judged_until_decided(of, means, random, everything=False) for _ in range(40)]
    assert sum(verdict not in (truth, Verdict.OPEN) for verdict, _ in found) < 6
    assert sum(verdict is truth for verdict, _ in found) > 34
    every = [_judged_until_decided(of, means, random, everything=True) for _ in range(5)]
    assert np.mean([runs for _, runs in found]) < saved * np.mean([runs for _, runs in every])


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
    assert again.swept is not None
    assert again.swept.reused == found.runs, "the same command repeats nothing"


def test_nothing_is_added_without_need_or_time(uncertain: Path, folder: Path, tmp_path: Path) -> None:
    assert decided(uncertain, tmp_path / "out", Decide(3)).runs == 12, "no seeds are left"
    assert decided(uncertain, tmp_path / "fresh", Decide(24, budget_s=0.0)).runs == 12
    claims = (folder / "claims.toml").read_text(encoding="utf-8")
    (folder / "claims.toml").write_text(claims.replace("margin = 0", "margin = 1e6"), encoding="utf-8")
    found = decided(folder, tmp_path / "out", Decide(24))
    assert (found.runs, found.claims()[0].verdict) == (12, Verdict.CLOSE)


def test_the_name_of_a_claim_limits_what_gets_seeds(monkeypatch: pytest.MonkeyPatch, uncertain: Path) -> None:
    folder = uncertain.parent / "experiments" / "mine" / "figure"
    folder.parent.mkdir(parents=True)
    uncertain.rename(folder)
    monkeypatch.chdir(folder.parents[2])
    assert search.claims_named(["T1"]) == {folder: frozenset({"T1"})}
    assert search.claims_named(["mine/T1"]) == {folder: frozenset({"T1"})}
    for names in (["mine"], ["mine/figure"], ["T1", "mine"], ["mine", "T1"]):
        assert set(search.claims_named(names).values()) == {None}


def test_the_command_and_the_page_say_what_was_added(uncertain: Path, tmp_path: Path, cli: Cli) -> None:
    done = cli("reproduce", uncertain, "--decide", "--max-seeds", "6")
    assert done.returncode == 0, done.stderr
    assert "open: T1 (about" in done.stderr
    assert " seeds); 3 more runs, up to 6 seeds" in done.stderr
    assert "3 seeds and more, until decided" in done.stdout
    page = (tmp_path / "out" / "example" / "index.html").read_text(encoding="utf-8")
    assert "4 × 3 and more: 15 runs" in page
    stopped = cli("reproduce", uncertain, "--decide", "--max-seeds", "5")
    assert "not decided within --max-seeds and --budget: T1; the same command" in stopped.stdout
    for arguments, message in (
        (["--decide", "--quick"], "--quick gives no verdicts"),
        (["--budget", "3"], "--budget limits what --decide or --likeliest adds"),
    ):
        refused = cli("reproduce", uncertain, *arguments)
        assert refused.returncode == 2
        assert message in refused.stderr
