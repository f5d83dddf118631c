"""Verdicts on synthetic results."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airwnd import InputError
from airwnd.study.axis import Axis, AxisEntry
from airwnd.study.bounds import ANY
from airwnd.study.reader import convert
from airwnd.study.reproduce.claims import ClaimResult, Requirement, judge, load_claims
from airwnd.study.reproduce.expression import Lookup
from airwnd.study.reproduce.paper import Paper
from airwnd.study.reproduce.reasons import reason
from airwnd.study.reproduce.verdict import Verdict, together
from airwnd.study.space import Space
from airwnd.study.statistics import Interval, interval


def axis(name: str, levels: Sequence[str], **more: object) -> Axis:
    entry = {"name": name, "label": name, "level": [{"name": each, "label": each} for each in levels]}
    return Axis.of(convert(entry | more, AxisEntry, "here"))


SPACE = Space.of([axis("users", ("20", "40")), axis("method", ("drwa", "arwa"))], "here")

Seed = Callable[[Mapping[str, str], str], float]


def results(**by_method: float) -> Seed:
    def lookup(levels: Mapping[str, str], measure: str) -> float:
        assert measure == "delay_ms"
        return by_method[levels["method"]] + float(levels["users"])

    return lookup


def together_as_one(by_seed: Sequence[Seed]) -> Lookup:
    return lambda levels, measure: np.array([seed(levels, measure) for seed in by_seed])


def claim(
    tmp_path: Path,
    check: str,
    by_seed: Sequence[Seed],
    paper: Seed | None = None,
    *,
    space: Space = SPACE,
    preview: bool = False,
) -> ClaimResult:
    path = tmp_path / "claims.toml"
    head = '[[claim]]\nid = "X"\ntext = "x"\nsource = "x"\n[[claim.check]]\ntext = "x"\n'
    path.write_text(head + check, encoding="utf-8")
    (only,) = load_claims(path, Paper.load(tmp_path), space, {"delay_ms": ANY})
    printed = paper or results(drwa=0, arwa=1)
    return judge(only, together_as_one(by_seed), together_as_one([printed]), preview=preview)


ABOVE = "expression = \"delay_ms(method='arwa') - delay_ms(method='drwa')\"\nabove = 0\n"


def test_a_clear_difference_holds(tmp_path: Path) -> None:
    found = claim(tmp_path, ABOVE, [results(drwa=5, arwa=each) for each in (9, 9.1, 9.05)])
    assert found.verdict is Verdict.HOLDS


def test_a_false_claim_fails(tmp_path: Path) -> None:
    found = claim(tmp_path, ABOVE, [results(drwa=each, arwa=5) for each in (9, 9.1, 9.05)])
    assert found.verdict is Verdict.FAILS


def test_a_noisy_difference_is_not_decided(tmp_path: Path) -> None:
    found = claim(tmp_path, ABOVE, [results(drwa=5, arwa=each) for each in (6, 3, 6)])
    assert found.verdict is Verdict.OPEN


@pytest.mark.parametrize("seeds", [1, 2])
def test_too_few_seeds_give_no_verdict(tmp_path: Path, seeds: int) -> None:
    assert claim(tmp_path, ABOVE, [results(drwa=5, arwa=99)] * seeds).verdict is Verdict.OPEN


def test_seeds_are_paired(tmp_path: Path) -> None:
    # Seeds differ far more than methods, so that only pairs show the difference.
    by_seed = [results(drwa=base, arwa=base + 1 + base / 1e4) for base in (10, 500, 2000)]
    assert claim(tmp_path, ABOVE, by_seed).verdict is Verdict.HOLDS


def test_one_failing_point_fails_the_claim(tmp_path: Path) -> None:
    def odd(levels: Mapping[str, str], _: str) -> float:
        return 1.0 if (levels["method"] == "arwa") == (levels["users"] == "20") else 0.0

    found = claim(tmp_path, ABOVE, [odd] * 3)
    assert [finding.verdict for finding in found.checks[0].findings] == [Verdict.HOLDS, Verdict.FAILS]
    assert found.verdict is Verdict.FAILS
    assert claim(tmp_path, ABOVE + "only = { users = [20] }\n", [odd] * 3).verdict is Verdict.HOLDS


def test_a_contradiction_within_the_paper_is_shown(tmp_path: Path) -> None:
    good = [results(drwa=5, arwa=9)] * 3
    found = claim(tmp_path, ABOVE, good, paper=results(drwa=1, arwa=0))
    assert found.checks[0].paper_agrees is False
    assert found.verdict is Verdict.HOLDS, "the paper's numbers do not affect the verdict on ours"

    def missing(_: Mapping[str, str], measure: str) -> float:
        raise KeyError(measure)

    assert claim(tmp_path, ABOVE, good, paper=missing).checks[0].paper_agrees is None


def test_an_undefined_value_is_not_decided(tmp_path: Path) -> None:
    check = "expression = \"1 / (delay_ms(method='drwa', users=20) - 20)\"\nabove = 0\n"
    assert claim(tmp_path, check, [results(drwa=0, arwa=0)] * 3).verdict is Verdict.OPEN


@pytest.mark.parametrize(
    ("requirement", "value", "allowed"),
    [
        ("above = 3", 3, False),
        ("above = 3", 3.1, True),
        ("above = 3\ntolerance = 1", 2.5, True),
        ("below = 3", 3, False),
        ("below = 3\ntolerance = 1", 3.5, True),
        ("between = [2, 3]", 2, True),
        ("between = [2, 3]", 3.1, False),
        ("between = [2, 3]\ntolerance = 0.2", 3.1, True),
        ("equals = 3\ntolerance = 0.5", 3.5, True),
        ("equals = 3\ntolerance = 0.5", 3.6, False),
    ],
)
def test_requirements(tmp_path: Path, requirement: str, value: float, allowed: bool) -> None:
    check = f"expression = \"delay_ms(method='drwa', users=20) - 20\"\n{requirement}\n"
    found = claim(tmp_path, check, [results(drwa=value, arwa=0)] * 3)
    assert found.verdict is (Verdict.HOLDS if allowed else Verdict.FAILS)


@given(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=8), st.floats(-1e6, 1e6))
def test_a_verdict_never_contradicts_the_mean(values: list[float], bound: float) -> None:
    found = interval(values)
    verdict = Requirement(bound, float("inf"), strict=True, text="").judge(found)
    if verdict is Verdict.HOLDS:
        assert found.mean > bound
    if verdict is Verdict.FAILS:
        assert found.mean <= bound


def at_users(**by_users: float) -> Seed:
    """Return results in which ARWA's delay exceeds DRWA's by these values at each number of UEs."""
    return lambda levels, _: by_users[f"at{levels['users']}"] * (levels["method"] == "arwa")


@pytest.mark.parametrize(
    ("seeds", "requirement", "expected"),
    [
        (
            [(4.0, 1.0), (4.1, 1.1), (4.2, 1.2)],
            "above = 0",
            "All 2 values meet their requirement; the smallest margin: x at users = 40: 1.1 [0.9, 1.3], "
            "required > 0.",
        ),
        (
            [(4.0, 5.0)] * 3,
            "above = 3.9",
            "All 2 values meet their requirement; the smallest margin: x at users = 20: 4.0 [4.0, 4.0], "
            "required > 3.9.",
        ),
        (
            [(-4.0, 1.0), (-4.1, 1.1), (-4.2, 1.2)],
            "above = 0",
            "1 of 2 values do not meet their requirement; the farthest: x at users = 20: -4.1 [-4.3, -3.9], "
            "required > 0.",
        ),
        (
            [(4.0, 1.0), (4.1, -1.1), (4.2, 1.2)],
            "above = 0",
            "1 of 2 values are not decided with this number of seeds; for example: x at users = 40: "
            "0.4 [-2.8, 3.5], required > 0.",
        ),
        (
            [(4.0, 1.0), (4.1, 1.1), (4.2, 1.2)],
            'above = 0\nonly = { users = ["20"] }\nunit = "ms"',
            "One value decides: x at users = 20: 4.1 [3.9, 4.3], required > 0 ms.",
        ),
    ],
)
def test_the_reason_is_the_deciding_value(
    tmp_path: Path, seeds: list[tuple[float, float]], requirement: str, expected: str
) -> None:
    check = ABOVE.replace("above = 0", requirement)
    found = claim(tmp_path, check, [at_users(at20=few, at40=many) for few, many in seeds])
    assert reason(found) == expected


def test_the_reason_of_a_preview_has_no_interval(tmp_path: Path) -> None:
    found = claim(tmp_path, ABOVE, [at_users(at20=-2, at40=1)], preview=True)
    expected = (
        "1 of 2 means do not meet their requirement so far; for example: x at users = 20: -2.0, required > 0."
    )
    assert reason(found) == expected


def test_verdicts_are_combined() -> None:
    assert together([]) is Verdict.HOLDS
    assert together([Verdict.HOLDS, Verdict.OPEN]) is Verdict.OPEN
    assert together([Verdict.OPEN, Verdict.FAILS, Verdict.HOLDS]) is Verdict.FAILS
    assert Requirement(0, 1, strict=False, text="").judge(Interval(0.5, 0.5, 0.5, 3)) is Verdict.HOLDS


@pytest.mark.parametrize(
    ("check", "message"),
    [
        ("above = 0", "`expression` is missing"),
        ('expression = "delay_ms()"', "a check needs one of"),
        ('expression = "delay_ms()"\nabove = 0\nbelow = 1', "a check needs one of"),
        ('expression = "1 + 1"\nabove = 0', "expression: `1 . 1`: no measure; there are delay_ms"),
        ('expression = "delay_ms()"\nabove = "0"', "above: expected a number, found '0'"),
        ('expression = "delay_ms()"\nbetween = [2, 1]', r"between: expected \[low, high\]"),
        ('expression = "delay_ms()"\nabove = 0\ntolerence = 1', "unknown key `tolerence`"),
        ('expression = "dely_ms()"\nabove = 0', "expression: `dely_ms"),
        ('expression = "delay_ms()"\nabove = 0\nonly = { users = [30] }', "only: users"),
        ('expression = "delay_ms()"\nabove = 0\ndecides = false', "needs a .* that decides"),
    ],
)
def test_an_error_in_a_claims_file_names_its_place(tmp_path: Path, check: str, message: str) -> None:
    with pytest.raises(InputError, match=rf"claims\.toml: claim\[0\].*{message}"):
        claim(tmp_path, check, [])
