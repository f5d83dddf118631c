"""Axes that a paper leaves open, and axes that exist only for some levels of others."""

import json
import re
from collections.abc import Mapping, Sequence
from io import StringIO
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from airwnd import InputError
from airwnd.study.axis import Axis, AxisEntry
from airwnd.study.batch import Processes
from airwnd.study.bounds import ANY
from airwnd.study.reader import convert
from airwnd.study.reproduce import report, terminal
from airwnd.study.reproduce.chart import chart
from airwnd.study.reproduce.claims import ClaimResult, judge, load_claims
from airwnd.study.reproduce.design import Experiment
from airwnd.study.reproduce.expression import Values
from airwnd.study.reproduce.paper import Paper
from airwnd.study.reproduce.regions import boxes, describe
from airwnd.study.reproduce.runner import Effort, Results, reproduce
from airwnd.study.reproduce.verdict import Verdict, over_setups, together
from airwnd.study.space import Setting, Space

from .conftest import CLAIMS, EXPERIMENT


def axis(name: str, levels: Sequence[str], **more: object) -> Axis:
    entry = {"name": name, "label": name, "level": [{"name": each, "label": each} for each in levels]}
    return Axis.of(convert(entry | more, AxisEntry, "here"))


RADIUS = axis("radius", ("500m", "650m"), label="Radius (m)", open="Not given.")
METHOD = axis("method", ("drwa", "arwa"))
FACTOR = axis(
    "factor", ("1", "1.5", "2"), label="DRWA's lambda", open="Not given.", when={"method": ["drwa"]}
)
SPACE = Space.of([RADIUS, METHOD, FACTOR], "here")
PREFIX = '[[claim]]\nid = "X"\ntext = "x"\nsource = "x"\n'
CHECK = '[[claim.check]]\ntext = "x"\nexpression = "delay_ms(method=\'{}\')"\nabove = 0\n'


def judged(
    tmp_path: Path, checks: str, values: Mapping[Setting, float], *, preview: bool = False
) -> ClaimResult:
    """Judge synthetic runs in which a setting has its given value, or 1."""
    (tmp_path / "claims.toml").write_text(PREFIX + checks, encoding="utf-8")
    (claim,) = load_claims(tmp_path / "claims.toml", Paper.load(tmp_path), SPACE, {"delay_ms": ANY})

    def ours(levels: Mapping[str, str], _: str) -> Values:
        return values.get(SPACE.setting(levels), 1.0) + np.array([0.0, 0.1, -0.1])

    def paper(_: Mapping[str, str], measure: str) -> Values:
        raise KeyError(measure)

    return judge(claim, ours, paper, preview=preview)


def test_an_axis_exists_for_its_levels_of_other_axes() -> None:
    assert list(SPACE.settings()) == [
        (radius, *rest)
        for radius in ("500m", "650m")
        for rest in (("drwa", "1"), ("drwa", "1.5"), ("drwa", "2"), ("arwa", ""))
    ]
    assert SPACE.existing({"radius": "500m", "method": "arwa", "factor": "2"}) == {
        "radius": "500m",
        "method": "arwa",
    }
    with pytest.raises(KeyError):
        SPACE.existing({"radius": "500m", "method": "drwa"})


def test_an_axis_does_not_exist_without_the_axis_it_depends_on() -> None:
    floor = axis("floor", ("0", "2"), open="Not given.", when={"factor": ["2"]})
    space = Space.of([floor, *SPACE.axes], "here")
    settings = list(space.settings())
    assert [setting for setting in settings if setting[0]] == [
        (floor, radius, "drwa", "2") for floor in ("0", "2") for radius in ("500m", "650m")
    ]
    assert len(settings) == 2 * (3 + 1 + 1)
    assert len(space.setups(["factor", "floor"])) == 2 + 2
    assert len(space.setups(["floor"])) == 2


def test_a_claim_is_judged_in_the_set_ups_it_depends_on(tmp_path: Path) -> None:
    about_arwa = judged(tmp_path, CHECK.format("arwa"), {("650m", "arwa", ""): -1})
    assert [(dict(setup), verdict) for setup, verdict in about_arwa.setups] == [
        ({"radius": "500m"}, Verdict.HOLDS),
        ({"radius": "650m"}, Verdict.FAILS),
    ]
    assert (about_arwa.verdict, about_arwa.where) == (Verdict.PART, "Radius 500 m")
    about_drwa = judged(tmp_path, CHECK.format("drwa"), {("500m", "drwa", "1"): -1})
    assert len(about_drwa.setups) == 6
    assert about_drwa.where == "DRWA's lambda 1.5 or 2; Radius 650 m"
    both = judged(tmp_path, CHECK.format("drwa") + CHECK.format("arwa"), {("650m", "arwa", ""): -1})
    assert (len(both.setups), both.where) == (6, "Radius 500 m")
    assert both.checks[1].verdict is Verdict.PART


def test_a_claim_holds_in_all_some_or_no_set_ups(tmp_path: Path) -> None:
    everywhere = judged(tmp_path, CHECK.format("drwa"), {})
    assert (everywhere.verdict, everywhere.where) == (Verdict.HOLDS, "all")
    nowhere = judged(tmp_path, CHECK.format("drwa"), dict.fromkeys(SPACE.settings(), -1.0))
    assert (nowhere.verdict, nowhere.where) == (Verdict.FAILS, "none")
    undecided: dict[Setting, float] = dict.fromkeys(SPACE.settings(), -1.0) | {("500m", "drwa", "2"): 0.0}
    assert judged(tmp_path, CHECK.format("drwa"), undecided).verdict is Verdict.OPEN


def test_a_check_may_cover_only_some_set_ups(tmp_path: Path) -> None:
    only = CHECK.format("drwa") + 'only = { factor = ["2"] }\n'
    values: dict[Setting, float] = {("500m", "drwa", "1"): -1.0, ("650m", "drwa", "2"): -1.0}
    found = judged(tmp_path, only, values)
    assert [verdict for _, verdict in found.setups] == [Verdict.HOLDS, Verdict.FAILS]
    pinned = judged(tmp_path, CHECK.format("drwa").replace("'drwa'", "'drwa', factor=2"), values)
    assert [dict(setup) for setup, _ in pinned.setups] == [{"radius": "500m"}, {"radius": "650m"}]


def test_a_preview_never_fails(tmp_path: Path) -> None:
    bad = judged(tmp_path, CHECK.format("drwa"), dict.fromkeys(SPACE.settings(), -1.0), preview=True)
    assert bad.verdict is Verdict.UNSETTLED
    good = judged(tmp_path, CHECK.format("drwa"), {}, preview=True)
    assert (good.verdict, good.where) == (Verdict.AGREES, "all")


VERDICTS = st.sampled_from([Verdict.HOLDS, Verdict.FAILS, Verdict.OPEN])


@given(st.lists(VERDICTS, min_size=1), VERDICTS)
def test_a_further_set_up_never_reverses_a_verdict(verdicts: list[Verdict], more: Verdict) -> None:
    before, after = over_setups(verdicts), over_setups([*verdicts, more])
    assert (before, after) not in [(Verdict.HOLDS, Verdict.FAILS), (Verdict.FAILS, Verdict.HOLDS)]
    assert (after is Verdict.HOLDS) == (set(verdicts) == {Verdict.HOLDS} and more is Verdict.HOLDS)
    assert (Verdict.HOLDS in verdicts) <= (after in (Verdict.HOLDS, Verdict.PART))
    assert over_setups([more, *reversed(verdicts)]) is after


@given(st.lists(st.sampled_from(Verdict)), st.sampled_from(Verdict))
def test_a_further_condition_never_improves_a_verdict(verdicts: list[Verdict], more: Verdict) -> None:
    whole = together([*verdicts, more])
    assert together([together(verdicts), more]) is whole or any(each.preview for each in (*verdicts, more))
    assert (whole is Verdict.HOLDS) == all(each is Verdict.HOLDS for each in (*verdicts, more))
    if Verdict.FAILS in (*verdicts, more):
        assert whole is Verdict.FAILS
    elif any(each.preview for each in (*verdicts, more)):
        assert whole.preview


AXES = [axis("a", "123"), axis("b", "xy"), axis("c", "pqr")]
EVERY = [dict(zip("abc", levels, strict=True)) for levels in product("123", "xy", "pqr")]


@given(st.lists(st.booleans(), min_size=len(EVERY), max_size=len(EVERY)))
def test_boxes_cover_exactly_the_chosen_set_ups(chosen: list[bool]) -> None:
    wanted = [setup for setup, each in zip(EVERY, chosen, strict=True) if each]
    found = boxes(wanted, EVERY, AXES)
    assert [
        setup for setup in EVERY if any(all(setup[name] in box[name] for name in setup) for box in found)
    ] == wanted


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ([setup for setup in EVERY if setup["b"] == "x"], "b x"),
        ([setup for setup in EVERY if setup["a"] != "2" and setup["b"] == "x"], "a 1 or 3, b x"),
        ([setup for setup in EVERY if setup["a"] == "1" or setup["b"] == "y"], "a 1; b y"),
        ([setup for setup in EVERY if setup != EVERY[0]], "all but a 1, b x, c p"),
        (EVERY, "all"),
        ([], "none"),
    ],
)
def test_set_ups_are_described_briefly(chosen: list[dict[str, str]], words: str) -> None:
    assert describe(chosen, EVERY, AXES) == words


OPEN_AXES = """
[[axis]]
name = "buffer"
label = "Buffer (KiB)"
open = "The paper does not give its size."
shown = "20KiB"
key = "rlc.queue.buffer"
values = ["10KiB", "20KiB"]

[[axis]]
name = "factor"
label = "DRWA's factor"
open = "The paper does not give it."
when = { method = ["drwa"] }
key = "flow[0].rwnd.lambda"
values = [1, 2]
"""


@pytest.fixture
def left_open(folder: Path) -> Path:
    """The small experiment, with two open axes."""
    text = EXPERIMENT.replace("\n[[measure]]", OPEN_AXES + "\n[[measure]]")
    (folder / "experiment.toml").write_text(text, encoding="utf-8")
    return folder


def run(folder: Path, out: Path, seeds: int = 3) -> Results:
    experiment = Experiment.load(folder)
    return reproduce(experiment, Effort.of(experiment, seeds, quick=False), out, Processes(2))


def test_identical_settings_are_run_once(left_open: Path, tmp_path: Path) -> None:
    found = run(left_open, tmp_path / "out", seeds=1)
    assert found.runs == 2 * 2 * (2 + 1)
    assert found.paper(
        found.experiment.setting({"users": "2", "method": "drwa"}), found.experiment.measures[0]
    )
    for setting in found.experiment.settings():
        assert (setting[3] == "") == (setting[1] == "autotuning")
    report.write(found, tmp_path / "out")
    rows = (tmp_path / "out" / "example" / "table0" / "results.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 1 + found.runs


def test_pages_show_one_set_up_and_judge_all(left_open: Path, tmp_path: Path) -> None:
    claims = CLAIMS + "".join(
        f"""
[[claim]]
id = "T{index}"
text = "x"
source = "x"
[[claim.check]]
text = "x"
expression = "throughput_kbps(method='{method}')"
above = 0
only = {{ users = [2] }}
"""
        for index, method in ((3, "drwa"), (4, "autotuning"))
    )
    (left_open / "claims.toml").write_text(claims, encoding="utf-8")
    results = run(left_open, tmp_path / "out")
    found = report.write(results, tmp_path / "out")
    assert found["shown"] == "Buffer 20 KiB, DRWA's factor 1"
    assert {claim["id"]: (claim["verdict"], claim["setups"]) for claim in found["claims"]} == {
        "T1": ("holds", "holds in 4 of 4 set-ups"),
        "T2": ("does not hold", "holds in 0 of 4 set-ups"),
        "T3": ("holds", "holds in 4 of 4 set-ups"),
        "T4": ("holds", "holds in 2 of 2 set-ups"),
    }
    assert found["claims"][2]["matrix"] == {
        "heads": ["Buffer (KiB)"],
        "across": [("DRWA's factor", [("1", 1), ("2", 1)])],
        "rows": [([buffer], ["holds", "holds"]) for buffer in ("10KiB", "20KiB")],
    }
    assert [setup for setup, *_ in found["claims"][2]["checks"][0]["elsewhere"]] == [
        "Buffer 10 KiB, DRWA's factor 1",
        "Buffer 10 KiB, DRWA's factor 2",
        "Buffer 20 KiB, DRWA's factor 2",
    ]
    assert found["elsewhere"] is not None
    assert [heads for heads, _ in found["elsewhere"]["rows"]] == [
        ["10KiB", factor, users, method]
        for factor, method in (("–", "Autotuning"), ("1", "DRWA"), ("2", "DRWA"))
        for users in "23"
    ] + [["20KiB", "2", users, "DRWA"] for users in "23"]
    (table,) = found["tables"]
    assert (len(table["rows"]), table["columns"]) == (2, ["DRWA", "Autotuning"])
    shown = results.values(("2", "drwa", "20KiB", "1"), results.experiment.measures[0])
    assert found["charts"][0]["lines"][0]["y"][0] == pytest.approx(sum(shown) / 3)
    said = StringIO()
    terminal.show(results, Console(file=said, width=100))
    assert "one set-up: Buffer 20 KiB, DRWA's factor 1" in said.getvalue()
    assert json.loads((tmp_path / "out/example/table0/results.json").read_text()) == json.loads(
        json.dumps(found)
    )


PLOTS = """
[[plot]]
name = "over"
title = "Over what is open"
kind = "bars"
measure = "throughput_kbps"
x = "factor"
lines = "method"
at = { users = 3, buffer = "10KiB" }

[[plot]]
name = "each"
title = "Each"
kind = "lines"
measure = "throughput_kbps"
x = "users"
lines = "method"
panels = "buffer"
"""


def test_plots_may_draw_open_axes(left_open: Path, tmp_path: Path) -> None:
    path = left_open / "experiment.toml"
    path.write_text(path.read_text(encoding="utf-8") + PLOTS, encoding="utf-8")
    results = run(left_open, tmp_path / "out", seeds=1)
    (measure,) = results.experiment.measures
    charts = {plot.name: chart(results, plot) for plot in results.experiment.plots}
    assert sorted(charts) == ["each-10KiB", "each-20KiB", "over", "throughput"]
    drwa, autotuning = charts["over"]["lines"]
    assert drwa["y"] == [results.values(("3", "drwa", "10KiB", factor), measure)[0] for factor in "12"]
    assert autotuning["y"] == results.values(("3", "autotuning", "10KiB", ""), measure) * 2
    assert charts["each-20KiB"]["lines"] == charts["throughput"]["lines"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("values = [1, 2]", "values = [1]", r"axis\[3\].*open: .*at least two levels, found only 1"),
        (
            "{ method =",
            "{ methd =",
            r"axis\[3\]\.when: `methd` is not one of the other axes users, method, buffer",
        ),
        ("{ method =", "{ factor =", r"axis\[3\]\.when: `factor` is not one of the other axes"),
        ('["drwa"]', '["arwa"]', r"axis\[3\]\.when: `arwa` is not a level of `method`: drwa, autotuning"),
        ('shown = "20KiB"', 'shown = "30KiB"', r"axis\[2\].*shown: `30KiB` is not one of 10KiB, 20KiB"),
        ('open = "The paper does not give its size."\n', "", r"axis\[2\].*shown: only an axis with `open`"),
        ('shown = "20KiB"', "when = { factor = [1] }", None),
        ('name = "users"', 'name = "users"\nwhen = { method = ["drwa"] }', None),
    ],
)
def test_an_error_in_an_axis_is_one_line(left_open: Path, old: str, new: str, message: str | None) -> None:
    path = left_open / "experiment.toml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    if message is None:
        Experiment.load(left_open)
        return
    with pytest.raises(InputError, match=message) as caught:
        Experiment.load(left_open)
    assert len(str(caught.value).splitlines()) == 1


def test_circular_dependencies_of_axes_are_rejected(left_open: Path) -> None:
    path = left_open / "experiment.toml"
    text = path.read_text(encoding="utf-8").replace(
        'name = "method"', 'name = "method"\nwhen = { factor = [1] }'
    )
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="axis: `when` is circular: method, factor"):
        Experiment.load(left_open)


def test_the_papers_table_has_no_columns_of_open_axes(left_open: Path) -> None:
    table = left_open / "paper.csv"
    table.write_text(re.sub("users,", "users,buffer,", table.read_text()).replace("2,d", "2,10KiB,d"))
    with pytest.raises(InputError, match=r"paper.csv:2: `buffer` is left open by the paper"):
        Experiment.load(left_open)
