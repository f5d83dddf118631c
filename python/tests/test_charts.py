"""Charts from synthetic readings: positions and styles."""

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from matplotlib.patches import Rectangle

from airwnd import InputError
from airwnd.plots import axis, style
from airwnd.study.reproduce import figures, tables
from airwnd.study.reproduce.chart import Chart, Line, bar_place, chart, optimal, scale_of, without_twins
from airwnd.study.reproduce.design import Experiment
from airwnd.study.reproduce.labels import Box, place
from airwnd.study.reproduce.readings import Readings
from airwnd.study.reproduce.runner import Effort, Results

from .conftest import write_experiment

if TYPE_CHECKING:
    from airwnd.study.space import Setting

EXPERIMENT = """
title = "All kinds of plots"
place = "Figures 1 to 5"
seeds = 3
series = "100ms"

[[axis]]
name = "queue"
label = "Queue (KiB)"
key = "rlc.queue.buffer"
values = ["10KiB", "50KiB"]

[[axis]]
name = "method"
label = "Receive window"
[[axis.level]]
name = "drwa"
label = "DRWA"
set = { "flow[0].rwnd" = "drwa" }
[[axis.level]]
name = "arwa"
label = "ARWA"
set = { "flow[0].rwnd" = "arwa" }
context = true

[[measure]]
name = "rate"
label = "Rate"
unit = "kbit/s"
digits = 1
value = "totals.goodput_kbps"

[[measure]]
name = "delay"
label = "Delay"
unit = "ms"
digits = 1
value = "totals.delay_ms_mean"

[[plot]]
name = "lines"
title = "Lines"
kind = "lines"
x = "queue"
measure = "rate"
lines = "method"
limits = [0, 10]

[[plot]]
name = "bars"
title = "Bars"
kind = "bars"
x = "method"
measure = "rate"
at = { queue = "10KiB" }

[[plot]]
name = "frontier"
title = "Frontier"
kind = "frontier"
x = "delay"
measure = "rate"
lines = "method"
panels = "queue"
x_scale = "log"

[[plot]]
name = "time"
title = "Time"
kind = "time"
value = "series.cwnd_bytes"
lines = "method"
levels = ["arwa"]
at = { queue = "10KiB" }

[[plot]]
name = "distribution"
title = "Distribution"
kind = "distribution"
value = "flows.delay_ms_p95"
lines = "method"
at = { queue = "10KiB" }
"""

PAPER = """# Example, Table 0.
queue,method,rate,delay
10KiB,drwa,5,50
50KiB,drwa,6,60
50KiB,arwa,8,80
"""


@pytest.fixture
def results(tmp_path: Path) -> Results:
    folder = write_experiment(tmp_path, "figures", {"experiment.toml": EXPERIMENT, "paper.csv": PAPER})
    experiment = Experiment.load(folder)
    rates: dict[Setting, tuple[float, ...]] = {
        ("10KiB", "drwa"): (1.0, 2.0, 3.0),
        ("10KiB", "arwa"): (4.0, 4.0, 4.0),
        ("50KiB", "drwa"): (5.0, 6.0, 7.0),
        ("50KiB", "arwa"): (8.0, 9.0, 10.0),
    }
    rows = [
        {"queue": queue, "method": method, "seed": seed, "rate": rate, "delay": 10 * rate}
        for (queue, method), values in rates.items()
        for seed, rate in enumerate(values, start=1)
    ]
    values = pl.DataFrame(rows)
    keys = ("queue", "method", "seed")
    times = pl.DataFrame({"time_s": [0.1, 0.2, 0.3], "place": [0, 1, 2]})
    samples = {
        "time": values.filter(pl.col("seed") == 1)
        .join(times, how="cross")
        .select(
            *keys,
            "time_s",
            value=pl.when(pl.col("place") == 0).then(1000.0).when(pl.col("place") == 2).then("rate"),
        ),
        "distribution": pl.concat(
            [values.select(*keys, value="rate"), values.select(*keys, value=2 * pl.col("rate"))]
        ),
    }
    readings = Readings(("queue", "method"), values, samples)
    return Results(experiment, Effort.of(experiment, None, quick=False), readings, None, 1)


def drawn(results: Results, name: str) -> Chart:
    (plot,) = (plot for plot in results.experiment.plots if plot.name == name)
    return chart(results, plot)


def test_lines_are_at_the_numeric_levels(results: Results) -> None:
    found = drawn(results, "lines")
    drwa, arwa = found["lines"]
    assert (drwa["label"], drwa["x"], drwa["y"]) == ("DRWA", [10, 50], [2, 6])
    assert arwa["y"] == [4, 9]
    assert (arwa["low"][0], arwa["high"][0]) == (4, 4)
    assert drwa["low"][0] == 0, "a rate is not negative"
    assert drwa["low"][1] == pytest.approx(6 - 4.3027 / 3**0.5, abs=0.001)  # t of two degrees of freedom
    assert (drwa["paper_x"], drwa["paper_y"]) == ([10, 50], [5, 6])
    assert (arwa["paper_x"], arwa["paper_y"]) == ([50], [8])
    assert found["ours"] == "ours: mean of 3 seeds, 95 % CI"
    assert (found["x_label"], found["y_label"]) == ("Queue (KiB)", "Rate (kbit/s)")


def test_bars_are_at_word_levels(results: Results) -> None:
    found = drawn(results, "bars")
    (line,) = found["lines"]
    assert found["categories"] == ["DRWA", "ARWA"]
    assert (line["x"], line["y"], line["paper_y"]) == ([0, 1], [2, 4], [5])


@pytest.mark.parametrize(
    ("values", "scale"),
    [([0.0, 2.0], "log"), ([0.0, -1.0], "linear"), ([None, -1.0], "linear"), ([None], "log")],
)
def test_a_logarithmic_scale_needs_a_value_above_zero(values: list[float | None], scale: str) -> None:
    assert scale_of("log", values, [None]) == scale
    numbers = [float("nan") if value is None else value for value in values]
    axes = style.new_figure((3, 3)).subplots()
    axes.plot(range(len(numbers)), numbers)
    axis.scale(axes, "y", numbers, "log")
    above = any(value is not None and value > 0 for value in values)
    assert axes.get_yscale() == ("log" if above else "linear")


@pytest.mark.parametrize("lines", range(1, 8))
def test_groups_of_bars_do_not_touch(lines: int) -> None:
    edges = []
    for index in range(lines):
        width, shift = bar_place(lines, index)
        edges.append((shift - width / 2, shift + width / 2))
    assert edges[0][0] > -0.5
    assert edges[-1][1] < 0.5
    assert all(left[1] < right[0] for left, right in itertools.pairwise(edges))


def test_a_frontier_has_intervals_in_both_directions(results: Results) -> None:
    drwa, arwa = drawn(results, "frontier-50KiB")["lines"]
    assert (drwa["x"], drwa["y"]) == ([60], [6])
    assert (arwa["paper_x"], arwa["paper_y"]) == ([80], [8])
    assert drwa["x_low"][0] == pytest.approx(60 - 43.027 / 3**0.5, abs=0.01)
    assert drwa["low"][0] == pytest.approx(6 - 4.3027 / 3**0.5, abs=0.001)


def test_a_frontier_has_a_panel_for_each_level(results: Results) -> None:
    panels = [plot for plot in results.experiment.plots if plot.kind == "frontier"]
    assert [(plot.name, plot.title) for plot in panels] == [
        ("frontier-10KiB", "Frontier: 10KiB"),
        ("frontier-50KiB", "Frontier: 50KiB"),
    ]
    assert drawn(results, "frontier-10KiB")["lines"][0]["x"] == [20]


def frontier(*points: tuple[float | None, float | None]) -> Chart:
    """Draw points named a, b, c and so on."""
    lines = [
        Line(
            label=chr(ord("a") + index),
            look=index,
            context=False,
            x=[x],
            y=[y],
            low=[y],
            high=[y],
            x_low=[x],
            x_high=[x],
            paper_x=[],
            paper_y=[],
        )
        for index, (x, y) in enumerate(points)
    ]
    return Chart(
        name="frontier",
        title="Frontier",
        kind="frontier",
        x_label="Delay (ms)",
        y_label="Rate (kbit/s)",
        x_scale="log",
        y_scale="linear",
        x_limits=None,
        y_limits=None,
        x_ticks=[],
        categories=[],
        lines_label="Method",
        lines=without_twins(lines),
        optimal=optimal(lines),
        ours="ours: one seed",
    )


def test_the_line_of_a_frontier_joins_pareto_optimal_points() -> None:
    # The third has more delay and less rate than the second. The fourth has the delay of the first and less
    # rate. The fifth has the rate of the second and more delay. The delay of the sixth is unknown.
    found = frontier((10, 1), (20, 3), (30, 2), (10, 0.5), (40, 3), (None, 9), (50, 4))
    assert found["optimal"] == [(10, 1), (20, 3), (50, 4)]
    with style.styled():
        (joined, *_) = figures.draw(found).axes[0].lines
    assert np.asarray(joined.get_xydata()).tolist() == [[10, 1], [20, 3], [50, 4]]


def test_identical_runs_are_one_point_with_two_names() -> None:
    found = frontier((10, 1), (20, 3), (10, 1), (None, None), (None, None))
    assert [line["label"] for line in found["lines"]] == ["a, c", "b", "d", "e"]


def test_a_frontier_without_points_is_drawn() -> None:
    found = frontier((None, None))
    with style.styled():
        figures.draw(found)
    assert found["optimal"] == []


def test_points_for_comparison_are_hollow(results: Results) -> None:
    found = drawn(results, "frontier-50KiB")
    with style.styled():
        lines = figures.draw(found).axes[0].lines
    fills: dict[Any, set[Any]] = {}
    for line in lines:
        fills.setdefault(line.get_marker(), set()).add(line.get_markerfacecolor())
    assert fills["o"] - {"white"}, "ours"
    assert fills["s"] == {"white"}, "for comparison"


def test_points_of_a_frontier_have_distinct_styles() -> None:
    looks = [style.point(index) for index in range(14)]
    assert len({look.marker for look in looks}) == 14


@pytest.mark.parametrize("count", [1, 5, 13])
def test_labels_cover_neither_points_nor_each_other(count: int) -> None:
    # All points are within the size of one label.
    points = [(500.0 + 9 * (7 * index % 13), 400.0 + 8 * (5 * index % 13)) for index in range(count)]
    sizes = [(90.0, 20.0)] * count
    inside = Box(0, 0, 1000, 800)
    places = place(points, sizes, inside, marker=8)
    names = [Box.around(found.x, found.y, *size) for found, size in zip(places, sizes, strict=True)]
    assert all(name.overlap(inside) == pytest.approx(name.area) for name in names)
    for one, other in itertools.combinations(names, 2):
        assert one.overlap(other) == 0
    for name in names:
        assert all(name.overlap(Box.around(x, y, 8, 8)) == 0 for x, y in points)


def test_a_label_is_nearest_to_its_own_point() -> None:
    points = [(400.0, 400.0), (430.0, 400.0)]
    inside = Box(0, 0, 1000, 800)
    for point, other, found in zip(
        points, points[::-1], place(points, [(90.0, 20.0)] * 2, inside, 8), strict=True
    ):
        name = Box.around(found.x, found.y, 90, 20)
        assert name.distance(point) <= name.distance(other)


def test_a_label_in_a_corner_stays_inside() -> None:
    (found,) = place([(995.0, 795.0)], [(90.0, 20.0)], Box(0, 0, 1000, 800), marker=8)
    assert Box.around(found.x, found.y, 90, 20).overlap(Box(0, 0, 1000, 800)) == pytest.approx(1800)


def test_plots_over_time_use_the_first_seed(results: Results) -> None:
    (arwa,) = drawn(results, "time")["lines"]
    assert (arwa["label"], arwa["x"], arwa["y"]) == ("ARWA", [0.1, 0.2, 0.3], [1000, None, 4])


def test_a_distribution_pools_the_seeds(results: Results) -> None:
    drwa, arwa = drawn(results, "distribution")["lines"]
    assert drwa["x"] == [1, 2, 2, 3, 4, 6]
    assert drwa["y"] == pytest.approx([1 / 6, 1 / 3, 1 / 2, 2 / 3, 5 / 6, 1])
    assert arwa["x"] == [4, 4, 4, 8, 8, 8]


@pytest.mark.parametrize("name", ["lines", "bars", "frontier-50KiB", "time", "distribution"])
def test_a_drawing_of_each_kind_has_labels_scale_and_limits(results: Results, name: str) -> None:
    found = drawn(results, name)
    with style.styled():
        axes = figures.draw(found).axes[0]
    assert axes.get_xscale() == found["x_scale"]
    assert axes.get_ylabel() == found["y_label"]
    heights = [patch.get_height() for patch in axes.patches if isinstance(patch, Rectangle)]
    shown = np.concatenate([np.asarray(line.get_ydata(), float) for line in axes.lines] + [heights])
    for line in found["lines"]:
        assert all(np.isclose(shown, value).any() for value in line["y"] if value is not None), line["label"]
    if found["y_limits"]:
        assert axes.get_ylim()[1] >= found["y_limits"][1]


def test_limits_hide_no_point(results: Results) -> None:
    found = drawn(results, "lines")
    found["y_limits"] = [3, 5]
    with style.styled():
        low, high = figures.draw(found).axes[0].get_ylim()
    assert low <= 0
    assert high > 9


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('kind = "bars"', 'kind = "pie"', r"plot\[1\]\.kind: `pie` is not one of .*lines"),
        ('at = { queue = "10KiB" }', "", 'axis `queue` is left open: add at = { queue = "10KiB" }'),
        (
            'at = { queue = "10KiB" }',
            'at = { queue = "5KiB" }',
            "`5KiB` is not a level of `queue`: 10KiB, 50KiB",
        ),
        ('at = { queue = "10KiB" }', 'at = { q = "50KiB" }', "`q` is not a remaining axis; these are: queue"),
        ('panels = "queue"', 'panels = "buffer"', "panels: `buffer` is not one of queue, method"),
        ('panels = "queue"', 'panels = "method"', "panels: the axis `method` is drawn already"),
        ('levels = ["arwa"]', "levels = []", r"levels: expected an array of length >= 1, found \[\]"),
        ('levels = ["arwa"]', 'levels = ["arw"]', "levels: `arw` is not a level of `method`: drwa, arwa"),
        ('x = "method"', 'x = "method"\nlevels = ["drwa"]', "levels: they are levels of `lines`"),
        ("context = true", "context = 1", r"level\[1\]\.context: expected a boolean, found 1"),
        ('x = "queue"', 'x = "method"', 'the levels of `method` are not numbers; use kind = "bars"'),
        ('x = "delay"', 'x = "queue"', "x: `queue` is not one of rate, delay"),
        ("series.cwnd_bytes", "flows.fct_s", "value: `flows` does not go with kind `time`"),
        ("flows.delay_ms_p95", "series.rtt_ms", "value: `series` does not go with kind `distribution`"),
        ("limits = [0, 10]", "limits = [10, 0]", r"limits: expected \[minimum, maximum\], found \[10, 0\]"),
        ('name = "bars"', 'name = "lines"', r"two of \[\[plot\]\] are called `lines`"),
    ],
)
def test_an_invalid_plot_is_rejected(results: Results, old: str, new: str, message: str) -> None:
    path = results.experiment.folder / "experiment.toml"
    assert old in EXPERIMENT
    path.write_text(EXPERIMENT.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError, match=message):
        Experiment.load(path.parent)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("50KiB,arwa", "60KiB,arwa", "paper.csv:5: queue: `60KiB` is not one of 10KiB, 50KiB"),
        ("rate,delay", "rate,dely", "paper.csv:2: `dely` is neither an axis nor a measure"),
        ("5,50", "nan,50", "paper.csv:3: rate: expected a number up to .*, found 'nan'"),
        ("50KiB,drwa", "10KiB,drwa", "paper.csv:4: the setting 10KiB, drwa is listed twice"),
        ("10KiB,drwa,5,50", ",,,", "paper.csv:3: queue: `` is not one of 10KiB, 50KiB"),
        ("10KiB,drwa,5,50", "10KiB,drwa,5,50,500", "paper.csv:3: expected 4 fields, found 5"),
    ],
)
def test_an_invalid_paper_table_is_rejected(results: Results, old: str, new: str, message: str) -> None:
    (results.experiment.folder / "paper.csv").write_text(PAPER.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError, match=message):
        Experiment.load(results.experiment.folder)


def test_an_axis_too_long_for_columns_becomes_rows(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    (measure,) = (each for each in results.experiment.measures if each.name == "rate")

    def layout() -> tuple[tuple[str, ...], tuple[str, ...], list[list[str]]]:
        found = tables.side_by_side(results, measure, {})
        return found.heads, found.columns, [[cell.ours_text for cell in cells] for _, cells in found.rows]

    assert layout() == (("Queue (KiB)",), ("DRWA", "ARWA"), [["2.0", "4.0"], ["6.0", "9.0"]])
    monkeypatch.setattr(tables, "_COLUMNS", 1)
    assert layout() == (("Receive window",), ("10KiB", "50KiB"), [["2.0", "6.0"], ["4.0", "9.0"]])
