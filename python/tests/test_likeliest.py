"""The likeliest set-up: synthetic papers of known truth, and a small paper that is the simulator's own."""

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.stats import qmc

from airwnd.study.batch import Processes
from airwnd.study.reproduce.design import Experiment
from airwnd.study.reproduce.likeliest import fit as fitting
from airwnd.study.reproduce.likeliest.choices import Choices
from airwnd.study.reproduce.likeliest.fit import (
    Fit,
    Known,
    Status,
    contradictions,
    cross_validate,
    known,
    log_probability,
    profile,
)
from airwnd.study.reproduce.likeliest.numbers import gather
from airwnd.study.reproduce.likeliest.race import (
    Combination,
    OutOfTimeError,
    Plan,
    combinations,
    design,
    leaders,
    neighbours,
    race,
)
from airwnd.study.reproduce.likeliest.report import Report, page
from airwnd.study.reproduce.likeliest.study import Effort, Runs, find
from airwnd.support.errors import InputError

from .conftest import Cli, write_experiment

POOL = Processes(1)
AXES = {"a": ("1", "2", "3"), "b": ("x", "y"), "idle": ("p", "q")}
EFFECT = {"1": 0.6, "2": 1.0, "3": 1.5, "x": 1.0, "y": 1.3}
TRUTH = {"a": "2", "b": "y"}


def setups() -> list[dict[str, str]]:
    return [{"a": a, "b": b, "idle": idle} for a in AXES["a"] for b in AXES["b"] for idle in AXES["idle"]]


def synthetic(scale: Mapping[str, float], wild: int = 0) -> Fit:
    """A paper of three tables with delays and percentages, of which `wild` numbers are five times too large.

    Delays depend on axis `a`, percentages on `b`, nothing on `idle`. The paper's simulator differs from ours
    by 5 % in each delay and by 0.5 % in each percentage; a run of ours by 3 % and 0.3 %.
    """
    random = np.random.default_rng(3)
    places = [(table, row, quantity) for table in "TUV" for row in range(6) for quantity in ("ms", "percent")]
    size = {"ms": 0.05, "percent": 0.005}

    def mean(setup: Mapping[str, str], row: int, quantity: str) -> float:
        effect = EFFECT[setup["a"]] if quantity == "ms" else EFFECT[setup["b"]] ** 0.1
        return scale[quantity] * (40.0 + 20.0 * row) * effect

    ranges = []
    for index, (_, row, quantity) in enumerate(places):
        value = mean(TRUTH, row, quantity) * math.exp(random.normal(0.0, size[quantity]))
        value *= 5.0 if index < wild else 1.0
        half = 0.005 * scale[quantity]
        ranges.append((value - half, value + half))
    by_setup = [
        (
            setup,
            [
                known(mean(setup, row, quantity) * np.exp(random.normal(0.0, 0.6 * size[quantity], 4)))
                for _, row, quantity in places
            ],
        )
        for setup in setups()
    ]
    return Fit.of(ranges, [place[2] for place in places], [place[0] for place in places], by_setup)


@pytest.mark.parametrize("wild", [0, 4])
def test_the_set_up_that_the_paper_used_is_found_also_with_wild_numbers(wild: int) -> None:
    fit = synthetic({"ms": 1.0, "percent": 1.0}, wild)
    best = fit.setups[fit.best]
    assert {name: best[name] for name in TRUTH} == TRUTH
    left = cross_validate(fit)
    status = {name: profile(fit, name, levels, left).status for name, levels in AXES.items()}
    assert status == {"a": Status.PINNED, "b": Status.PINNED, "idle": Status.FREE}
    found = {each.number for each in contradictions(fit)}
    assert found == set(range(wild)), "only wild numbers are out of reach"


def test_the_discrepancy_of_each_quantity_is_estimated() -> None:
    found = (fit := synthetic({"ms": 1.0, "percent": 1.0})).discrepancies(fit.best)
    # The t distribution has about 0.8 of the scale of the normal errors that it is fitted to.
    assert found["ms"] == pytest.approx(0.8 * 0.05, rel=0.4)
    assert found["percent"] == pytest.approx(0.8 * 0.005, rel=0.4)


def test_units_do_not_matter() -> None:
    plain = synthetic({"ms": 1.0, "percent": 1.0})
    scaled = synthetic({"ms": 1000.0, "percent": 0.01})
    np.testing.assert_allclose(plain.scores, scaled.scores, atol=1e-6)


def test_cross_validation_reveals_a_table_that_only_fits_by_itself() -> None:
    """Table T has many numbers and asks for level 2; the few of U and V are as in level 1."""
    counts = {"T": 12, "U": 3, "V": 3}
    tables = [table for table, count in counts.items() for _ in range(count)]
    ours = {"1": 100.0, "2": 200.0}
    printed = [200.0 if table == "T" else 100.0 for table in tables]
    by_setup = [({"a": level}, [Known(ours[level], 0.0, 4) for _ in tables]) for level in ours]
    fit = Fit.of([(value - 0.5, value + 0.5) for value in printed], ["ms"] * len(tables), tables, by_setup)
    assert fit.setups[fit.best] == {"a": "2"}
    left = {each.table: each for each in cross_validate(fit)}
    assert left["T"].fitted == (1.0, 1.0, 1.0)
    assert left["T"].predicted == (0.0, 0.0, 0.0), "the other tables predict level 1"
    assert left["T"].gain < 0.0
    assert fit.setups[left["T"].setup] == {"a": "1"}
    found = profile(fit, "a", ("1", "2"), list(left.values()))
    assert min(fall for fall in found.falls.values() if fall) > fitting.PINNED
    assert found.status is Status.LEANING, "not pinned: it depends on one table"


def test_an_axis_is_not_judged_far_from_the_likeliest_set_up() -> None:
    rows = {("1", "x"): 100.0, ("1", "y"): 150.0, ("2", "y"): 140.0}
    by_setup = [({"a": a, "b": b}, [Known(mean, 0.0, 4)] * 8) for (a, b), mean in rows.items()]
    fit = Fit.of([(99.5, 100.5)] * 8, ["ms"] * 8, ["T"] * 4 + ["U"] * 4, by_setup)
    assert fit.setups[fit.best] == {"a": "1", "b": "x"}
    left = cross_validate(fit)
    assert profile(fit, "a", ("1", "2"), left).status is Status.UNSEARCHED, "2 was run with b = y only"
    assert profile(fit, "b", ("x", "y"), left).status is Status.PINNED


def test_a_single_table_cannot_be_left_out() -> None:
    fit = Fit.of([(1.0, 2.0)], ["ms"], ["T"], [({"a": "1"}, [Known(1.5, 0.0, 2)])])
    assert cross_validate(fit) == []


def test_a_single_table_pins_nothing() -> None:
    by_setup = [({"a": level}, [Known(mean, 0.0, 4)] * 9) for level, mean in (("1", 100.0), ("2", 300.0))]
    fit = Fit.of([(99.5, 100.5)] * 9, ["ms"] * 9, ["T"] * 9, by_setup)
    assert profile(fit, "a", ("1", "2"), cross_validate(fit)).status is Status.LEANING


@pytest.mark.parametrize(("ours", "noise"), [(10.0, 0.0), (9.0, 0.1), (300.0, 0.02), (0.9, 0.0)])
def test_a_printed_number_has_the_probability_of_all_values_that_round_to_it(
    ours: float, noise: float
) -> None:
    low, high = 9.5, 10.5
    columns = (0, 20, 40)
    (found,) = log_probability(np.array([low]), np.array([high]), np.array([ours]), np.array([noise]))
    value = min(max(math.log(ours), math.log(low) - fitting.WORST), math.log(high) + fitting.WORST)
    for column in columns:
        scale = math.hypot(float(fitting.DISCREPANCIES[column]), noise)
        density = stats.t(4, loc=value, scale=scale).pdf
        expected, _ = integrate.quad(density, math.log(low), math.log(high), points=[value], limit=200)
        assert found[column] == pytest.approx(math.log(expected), rel=1e-4, abs=1e-6)


def test_values_beyond_ten_times_and_undefined_ones_count_as_ten_times() -> None:
    low, high, noise = np.full(4, 9.5), np.full(4, 10.5), np.zeros(4)
    rows = log_probability(low, high, np.array([math.nan, 1e6, 105.0, 0.0]), noise)
    np.testing.assert_array_equal(rows[0], rows[1])
    np.testing.assert_allclose(rows[1], rows[2])
    assert np.isfinite(rows).all()


def test_a_printed_zero_has_the_values_below_half_of_its_digit() -> None:
    ours = np.array([0.0, 0.4, 3.0, 30.0])
    rows = log_probability(np.zeros(4), np.full(4, 0.5), ours, np.zeros(4))
    middle = rows[:, 30]
    assert (np.diff(middle) < 0.0).all()
    assert middle[0] == pytest.approx(0.0, abs=0.05)


SIZES = (4, 3, 3, 2, 2, 4, 3)
LEVELS = [tuple(map(str, range(size))) for size in SIZES]
HIDDEN = ("3", "1", "2", "0", "1", "2", "2")


class Oracle:
    """Scores of a separable problem, with noise that falls with the seeds."""

    def __init__(self, limit: float = math.inf) -> None:
        self.seeds: dict[Combination, int] = {}
        self.limit = limit

    def score(self, wanted: Sequence[Combination], seeds: int) -> Mapping[Combination, float]:
        for each in wanted:
            if len(self.seeds) >= self.limit:
                raise OutOfTimeError
            self.seeds[each] = seeds
        return {each: self._score(each) for each in self.seeds}

    def _score(self, each: Combination) -> float:
        random = np.random.default_rng([int(level) for level in each])
        noise = float(random.normal()) / math.sqrt(self.seeds[each])
        pairs = zip(each, HIDDEN, SIZES, strict=False)
        return noise - 10.0 * sum(abs(int(a) - int(b)) / size for a, b, size in pairs)


@pytest.mark.parametrize(("levels", "count"), [((2, 3, 5), 8), ((4,), 9), ((2, 2, 7, 3, 2, 3, 4), 50)])
def test_a_design_is_the_latin_hypercube_of_scipy(levels: tuple[int, ...], count: int) -> None:
    axes = [tuple(str(level) for level in range(number)) for number in levels]
    points = qmc.LatinHypercube(d=len(axes), rng=1).random(count)
    expected = [tuple(str(int(value * n)) for value, n in zip(each, levels, strict=True)) for each in points]
    assert design(axes, count) == list(dict.fromkeys(expected))


def test_a_large_product_is_searched_by_a_design_and_by_neighbours() -> None:
    oracle = Oracle()
    race(LEVELS, tuple("0" * len(SIZES)), oracle.score, Plan(2, 16, 128, 24, 5))
    assert combinations(LEVELS) == 1728
    assert len(oracle.seeds) < 250
    assert oracle.seeds[HIDDEN] == 16
    assert set(neighbours(LEVELS, HIDDEN)) <= oracle.seeds.keys(), "every axis has a profile"
    assert list(oracle.seeds.values()).count(16) >= 5
    assert list(oracle.seeds.values()).count(2) > len(oracle.seeds) / 3, "bad set-ups get no more seeds"


def test_chosen_set_ups_take_the_place_of_a_design() -> None:
    oracle = Oracle()
    chosen = [HIDDEN, ("3", "1", "2", "0", "1", "2", "1")]
    race(LEVELS, tuple("0" * len(SIZES)), oracle.score, Plan(1, 4, 128, 24, 2), chosen)
    assert set(neighbours(LEVELS, HIDDEN)) <= oracle.seeds.keys()
    assert len(oracle.seeds) < 2 + 1 + 2 * len(neighbours(LEVELS, HIDDEN))
    assert oracle.seeds[HIDDEN] == 4


def test_the_leaders_include_the_best_without_each_table() -> None:
    """Table T asks for level 3, as all numbers together; U and V ask for level 1."""
    tables = [table for table, count in {"T": 12, "U": 3, "V": 3}.items() for _ in range(count)]
    printed = [300.0 if table == "T" else 100.0 for table in tables]
    by_setup = [
        ({"a": level}, [Known(mean, 0.0, 4) for _ in tables])
        for level, mean in {"1": 100.0, "2": 900.0, "3": 300.0, "4": 303.0}.items()
    ]
    fit = Fit.of([(value - 0.5, value + 0.5) for value in printed], ["ms"] * len(tables), tables, by_setup)
    assert fit.ranking[:2] == [2, 3]
    assert leaders(fit, 2) == [2, 0]
    assert leaders(fit, 9) == [2, 0, 3, 1]


def test_a_small_product_is_run_completely_and_each_level_is_looked_at_again() -> None:
    oracle = Oracle()
    race(LEVELS[:3], ("0", "0", "0"), oracle.score, Plan(2, 8, 128, 24, 5))
    assert len(oracle.seeds) == 36
    ranked = sorted(oracle.seeds, key=oracle._score, reverse=True)
    for index, levels in enumerate(LEVELS[:3]):
        for level in levels:
            first = next(each for each in ranked if each[index] == level)
            assert oracle.seeds[first] > 2


def test_a_search_out_of_time_keeps_what_has_been_run() -> None:
    oracle = Oracle(limit=10)
    race(LEVELS[:3], ("0", "0", "0"), oracle.score, Plan())
    assert len(oracle.seeds) == 10


DELAY = """
title = "Delay by path"
place = "Table {number}"
seeds = 3

[quick]
seeds = 1
set = {{ duration = "100ms" }}

[[axis]]
name = "users"
label = "Number of users"
key = "ue[0].count"
values = [1, 2]

[[axis]]
name = "server"
label = "Server"
open = "The paper does not say how far away the server is."
key = "core.server_delay"
values = {values}

[[axis]]
name = "{other}"
label = "Window"
open = "The paper has no window."
key = "tcp.receive_buffer"
values = ["1MB", "2MB"]

[[measure]]
name = "delay_ms"
label = "Delay"
unit = "ms"
value = "totals.delay_ms_mean"
digits = 1

[[measure]]
name = "throughput_kbps"
label = "Throughput"
unit = "kbit/s"
value = "totals.throughput_kbps"
digits = 0
"""
DELAY_CLAIMS = """
[[claim]]
id = "L1"
text = "The server is far away"
source = "here"
[[claim.check]]
text = "delay"
expression = "delay_ms()"
above = 40
unit = "ms"
"""
ADDED = """
[[axis]]
experiments = ["table2"]
name = "server"
label = "Server"
open = "The paper does not say how far away the server is."
key = "core.server_delay"
values = ["50ms"]

[[join]]
experiment = "table2"
axis = "window"
own = "buffer"
because = "The same buffer."
"""


@pytest.fixture
def paper(tmp_path: Path) -> Path:
    """A paper of two tables with the same numbers; return its folder."""
    for number, values, other in ((1, '["5ms", "20ms", "50ms"]', "window"), (2, '["5ms", "20ms"]', "buffer")):
        text = DELAY.format(number=number, values=values, other=other)
        files = {"experiment.toml": text, "paper.csv": "users,delay_ms\n1,50\n2,60\n"}
        folder = write_experiment(tmp_path, f"table{number}", files)
    (folder.parent / "likeliest.toml").write_text(ADDED, encoding="utf-8")
    return folder.parent


@pytest.fixture
def own_paper(paper: Path, cli: Cli, tmp_path: Path) -> Path:
    """The same with our own numbers, with a server 50 ms away, and with a claim."""
    (paper / "table1" / "claims.toml").write_text(DELAY_CLAIMS, encoding="utf-8")
    done = cli("reproduce", str(paper / "table1"), "--seeds", "6", "--jobs", "1", "--out", "first")
    assert done.returncode == 0
    results = (tmp_path / "first" / "example" / "table1" / "results.csv").read_text(encoding="utf-8")
    values: dict[tuple[str, str], list[float]] = {}
    for row in csv.DictReader(results.splitlines()):
        if row["server"] == "50ms":
            values.setdefault((row["users"], row["measure"]), []).append(float(row["ours"]))
    lines = ["users,delay_ms,throughput_kbps"]
    for users in ("1", "2"):
        delay, rate = (np.mean(values[users, name]) for name in ("delay_ms", "throughput_kbps"))
        lines.append(f"{users},{delay:.1f},{rate:.0f}")
    for each in ("table1", "table2"):
        (paper / each / "paper.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return paper


@pytest.mark.usefixtures("own_paper")
def test_the_command_finds_the_simulator_s_own_set_up(cli: Cli, tmp_path: Path) -> None:
    done = cli("reproduce", "--likeliest", "example", "--jobs", "1", "--max-seeds", "4")
    assert done.returncode == 0, done.stderr
    assert "likeliest set-up: Server: 50ms" in done.stdout
    out = tmp_path / "out" / "example"
    page = (out / "LIKELIEST.md").read_text(encoding="utf-8")
    assert "| Server | **pinned** |" in page
    assert "| Window | **free** |" in page
    assert "0 of 8 numbers are more than 20 % off" in page
    claims = list(csv.DictReader((tmp_path / "out" / "likeliest.csv").read_text().splitlines()))
    assert [(row["claim"], row["at_the_likeliest"], row["over_all"]) for row in claims] == [
        ("L1", "holds", "")
    ]
    ranked = list(csv.DictReader((out / "likeliest-set-ups.csv").read_text().splitlines()))
    assert [row["server"] for row in ranked] == ["50ms", "50ms", *["20ms"] * 2, *["5ms"] * 2]
    assert len(list(csv.DictReader((out / "likeliest-numbers.csv").read_text().splitlines()))) == 8

    again = cli("reproduce", "--likeliest", "example", "--jobs", "1", "--max-seeds", "4")
    runs = next(line for line in again.stdout.splitlines() if "finished earlier" in line)
    words = runs.split()
    assert words[words.index("runs,") - 1] == words[words.index("runs,") + 1], "no run is repeated"
    assert (out / "LIKELIEST.md").read_text(encoding="utf-8") == page


def test_a_large_product_is_compared_first_in_tables_of_few_axes(own_paper: Path, tmp_path: Path) -> None:
    """Table 1 has no window: its three servers choose the set-ups of Table 2."""
    path = own_paper / "table1" / "experiment.toml"
    text = path.read_text(encoding="utf-8")
    start, end = text.index('[[axis]]\nname = "window"'), text.index("[[measure]]")
    path.write_text(text[:start] + text[end:], encoding="utf-8")
    experiments = [Experiment.load(own_paper / name) for name in ("table1", "table2")]
    effort = Effort(Plan(first_seeds=1, last_seeds=4, most=2))
    with pytest.raises(InputError, match="no set-up is complete within the budget"):
        find(experiments, replace(effort, budget_s=0.0), Runs(replace(effort, budget_s=0.0), tmp_path, POOL))
    effort = Effort(Plan(first_seeds=1, last_seeds=4, most=4))
    found = find(experiments, effort, Runs(effort, tmp_path / "runs", POOL))
    assert found.screened is not None
    assert found.screened.tables == ["table1"]
    assert (found.screened.names, found.screened.count, found.screened.kept) == (["server"], 3, 2)
    assert found.best["server"] == "50ms"
    assert {"server": "5ms", "window": "2MB"} not in found.fit.setups
    assert "where all 3 combinations of Server were compared: the best 2" in page(Report(found, [], ""))


@pytest.mark.usefixtures("paper")
def test_the_budget_ends_a_search(cli: Cli) -> None:
    done = cli("reproduce", "--likeliest", "example", "--jobs", "1", "--budget", "0")
    assert done.returncode != 0
    assert "no set-up is complete within the budget" in done.stderr


def test_numbers_have_the_range_of_their_column_s_last_decimal(paper: Path) -> None:
    (paper / "table1" / "paper.csv").write_text("users,delay_ms\n1,50.0\n2,51.25\n", encoding="utf-8")
    experiments = [Experiment.load(paper / name) for name in ("table1", "table2")]
    found = [each for each in gather(Choices.of(experiments)) if each.table == "table1"]
    assert [(each.low, each.high) for each in found] == [
        pytest.approx((49.995, 50.005)),
        pytest.approx((51.245, 51.255)),
    ]
    assert [each.printed for each in found] == ["50.00", "51.25"]


STATED = '[[number]]\nexperiment = "table1"\ntext = "gain"\nquantity = "gain"\nsource = "conclusion"\n'


def test_a_number_of_the_text_is_compared_at_each_row(paper: Path) -> None:
    path = paper / "likeliest.toml"
    path.write_text(
        ADDED + STATED + 'expression = "delay_ms() / throughput_kbps()"\nbetween = [1.1, 1.15]\n',
        encoding="utf-8",
    )
    experiments = [Experiment.load(paper / name) for name in ("table1", "table2")]
    found = [each for each in gather(Choices.of(experiments)) if each.quantity == "gain"]
    assert [(each.place, each.low, each.high) for each in found] == [
        ({"users": "1"}, 1.1, 1.15),
        ({"users": "2"}, 1.1, 1.15),
    ]
    assert found[0].printed == "1.1 to 1.15"


EXPRESSION = 'expression = "delay_ms()"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (STATED + EXPRESSION, "number[0]: a number needs either `equals` or `between`"),
        (STATED + EXPRESSION + "between = [2, 1]\n", "expected a range of values from 0, found 2 to 1"),
        (STATED + EXPRESSION + "equals = -3\n", "expected a range of values from 0, found 0 to -3"),
        (STATED + 'expression = "speed()"\nequals = 1\n', "number[0].expression: "),
        (STATED + EXPRESSION + "equals = 1\nonly = { server = ['5ms'] }\n", "`server` is not one of users"),
        (STATED.replace("table1", "table9") + EXPRESSION + "equals = 1\n", "`table9` is not one of table1, "),
        (ADDED.replace('open = "The', 'label2 = "The'), "unknown key `label2`"),
        (ADDED.replace('own = "buffer"', 'own = "loss"'), "join[0].own: `loss` is not one of server, buffer"),
        (ADDED.replace('name = "server"', 'name = "users"'), "table2 varies `users` as the paper does"),
        ("", "table2 has numbers, but not the level 50ms of `server`; add a [[join]] or the level"),
    ],
)
def test_mistakes_in_the_file_are_one_line(paper: Path, cli: Cli, text: str, message: str) -> None:
    (paper / "likeliest.toml").write_text(text, encoding="utf-8")
    done = cli("reproduce", "--likeliest", "example", "--jobs", "1")
    assert done.returncode != 0
    assert message in done.stderr
    assert "likeliest.toml" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--decide",), "no --decide and no --set"),
        (("--set", "duration=1s"), "no --decide and no --set"),
        (("--seeds", "8", "--max-seeds", "4"), "--max-seeds 4 is below the first 8 seeds"),
    ],
)
def test_options_that_do_not_apply_are_refused(
    folder: Path, cli: Cli, options: tuple[str, ...], message: str
) -> None:
    done = cli("reproduce", "--likeliest", str(folder), *options)
    assert done.returncode == 2
    assert message in done.stderr


def test_a_paper_without_open_axes_has_nothing_to_search(folder: Path, cli: Cli) -> None:
    done = cli("reproduce", "--likeliest", str(folder), "--jobs", "1")
    assert done.returncode != 0
    assert "example: nothing that the paper leaves open changes one of its numbers" in done.stderr
