"""No text of a picture leaves the picture or covers another one, however long names are."""

import itertools
import tomllib
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from airwnd import Scenario, Sweep, city, sweep
from airwnd.plots import category, style
from airwnd.plots.cdf import plot_cdf
from airwnd.plots.compare import plot_compare
from airwnd.plots.guard import Half, plot_halves
from airwnd.plots.save import save
from airwnd.results.selection import plain
from airwnd.study.reproduce import figures
from airwnd.study.reproduce.chart import Chart, Line

from .conftest import nightly

if TYPE_CHECKING:
    from airwnd.scenario.run import Run

LONG = "A download with a name that was chosen to be exact about what it does"
WORDS = f"{LONG}, over a long path through several buildings and a tunnel, at the 95th percentile"
SCENARIO = f"""\
name = "{WORDS}"
duration = "200ms"
handover.algorithm = "a3-rsrp"
[[site]]
sectors = 3
antenna = "parabolic"
[[ue]]
count = 9
placement = {{ kind = "disc", radius = "600m" }}
[[flow]]
id = "{LONG}"
[[flow]]
id = "{LONG[2:]} as well"
traffic = "cbr"
"""
# Tables that a sweep has as values of a key.
QUEUES = [
    '{kind="drop-tail",buffer="4MB"}',
    '{kind="drop-tail",buffer="100kB"}',
    '{kind="codel",target="5ms",interval="100ms"}',
]
TOLERANCE_PX = 1.5


@pytest.fixture(scope="module")
def run() -> "Run":
    """Flows with long names in a cell of NR with three sectors."""
    return Scenario.from_toml(SCENARIO).run(series="20ms", allocations=("0ms", "200ms"))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    """A sweep over tables, long words and numbers."""
    out = tmp_path_factory.mktemp("texts") / "data"
    grid: dict[str, list[object]] = {
        "rlc.queue": [tomllib.loads(f"value = {text}")["value"] for text in QUEUES],
        "mac.scheduler": ["pf", "rr"],
        "ue[0].count": [1, 3],
    }
    scenario = Scenario.from_toml(SCENARIO).with_(duration="50ms")
    sweep(scenario, grid=grid, seeds=3, series="10ms", out=out)
    return Sweep.load(out)


def texts(figure: Figure) -> Iterator[tuple[str, Text]]:
    """Yield the texts that are drawn, with the kind of each."""
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            for place, label in zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=False):
                if low <= place <= high:
                    # The boxes of tilted labels overlap, although the labels do not.
                    yield "tilted tick" if label.get_rotation() else "tick", label
            yield "label", axis.label
        for where in ("center", "left", "right"):
            name = {"center": "title", "left": "_left_title", "right": "_right_title"}[where]
            yield "title", getattr(axes, name)
        for text in axes.texts:
            yield "point", text
    legends = [*figure.legends, *filter(None, (axes.get_legend() for axes in figure.axes))]
    for legend in legends:
        yield "legend title", legend.get_title()
        for text in legend.get_texts():
            yield "legend", text
    for name in ("_suptitle", "_supxlabel"):
        if (whole := getattr(figure, name, None)) is not None:
            yield "title", whole


def problems(figure: Figure) -> list[str]:
    """Return the texts that leave the picture, and the pairs that overlap."""
    figure.draw_without_rendering()
    canvas = figure.bbox.padded(TOLERANCE_PX)
    boxes = [
        (kind, text.get_text(), text.get_window_extent())
        for kind, text in texts(figure)
        if text.get_visible() and text.get_text().strip()
    ]
    found = [
        f"{kind} {words!r} leaves the picture"
        for kind, words, box in boxes
        if not (canvas.x0 <= box.x0 and box.x1 <= canvas.x1 and canvas.y0 <= box.y0 and box.y1 <= canvas.y1)
    ]
    for (kind, words, box), (other, more, theirs) in itertools.combinations(boxes, 2):
        if kind == other == "tilted tick" or Bbox.intersection(_inside(box), _inside(theirs)) is None:
            continue
        found.append(f"{kind} {words!r} and {other} {more!r} overlap")
    return [*found, *unclear_lines(figure)]


def unclear_lines(figure: Figure) -> list[str]:
    """Return legends outside of the picture or with entries that look the same, and markers cut off."""
    found = []
    for legend in (*figure.legends, *filter(None, (axes.get_legend() for axes in figure.axes))):
        box, canvas = legend.get_window_extent(), figure.bbox.padded(TOLERANCE_PX)
        if box.x0 < canvas.x0 or box.x1 > canvas.x1 or box.y0 < canvas.y0 or box.y1 > canvas.y1:
            found.append(f"legend with {legend.get_texts()[0].get_text()!r} leaves the picture")
        looks = [look(handle) for handle in legend.legend_handles]
        found += [f"entries of a legend look the same: {each}" for each in {*looks} if looks.count(each) > 1]
    for axes in figure.axes:
        for line in axes.lines:
            # Caps of intervals are marks, too.
            if line.get_marker() in ("None", "none", "", "_", "|", None) or not line.get_clip_on():
                continue
            at = axes.transData.transform(line.get_xydata())
            inside = axes.bbox.padded(TOLERANCE_PX - line.get_markersize() * figure.dpi / 72 / 2)
            seen = at[[axes.bbox.padded(TOLERANCE_PX).contains(x, y) for x, y in at]]
            found += [f"marker at {x:.0f}, {y:.0f} is cut off" for x, y in seen if not inside.contains(x, y)]
    return found


def look(handle: Any) -> tuple[object, ...]:
    """Return the properties that distinguish an entry of a legend."""
    names = ("color", "facecolor", "hatch", "marker", "markerfacecolor", "linestyle")
    dashes = str(getattr(handle, "_dash_pattern", None))  # Matplotlib has no getter
    return dashes, *(str(getattr(handle, f"get_{name}", lambda: None)()) for name in names)


def _inside(box: Bbox) -> Bbox:
    return Bbox.from_extents(
        box.x0 + TOLERANCE_PX, box.y0 + TOLERANCE_PX, box.x1 - TOLERANCE_PX, box.y1 - TOLERANCE_PX
    )


def check(figure: Figure) -> None:
    assert figure.axes
    assert not problems(figure)
    extents = [axes.get_window_extent() for axes in figure.axes if axes.get_label() != "<colorbar>"]
    assert all(min(each.width, each.height) > 20 for each in extents), "the axes did not collapse"


def test_the_measure_finds_what_it_is_for() -> None:
    with style.styled():
        figure = Figure(figsize=(3, 2))
        axes = figure.subplots()
        axes.set_title(WORDS, loc="left")
        axes.text(0.5, 0.5, "one above")
        axes.text(0.5, 0.5, "another")
        assert problems(figure) == [
            f"title {WORDS!r} leaves the picture",
            "point 'one above' and point 'another' overlap",
        ]


@pytest.mark.parametrize(
    "size",
    [
        pytest.param(None, id="usual"),
        pytest.param((3.5, None), id="column"),
        nightly((7.16, 2.4), id="page"),
    ],
)
class TestPictures:
    """Pictures of runs and sweeps, in several sizes."""

    def test_series(self, run: "Run", size: style.Size | None) -> None:
        check(style.figure_of(run.plot("rtt_ms", size=size)))
        check(style.figure_of(run.plot("delay_ms", flows=run.flows["id"].to_list()[:5], size=size)))

    def test_distributions(self, run: "Run", size: style.Size | None) -> None:
        check(style.figure_of(plot_cdf({LONG: run, WORDS: run}, "delay_ms", size=size)))
        check(style.figure_of(plot_cdf({LONG: run}, "goodput_kbps", size=size)))

    def test_comparison(self, run: "Run", size: style.Size | None) -> None:
        runs = {f"{number} {WORDS}": run for number in range(5)}
        check(plot_compare(runs, size=size if size is None or size[0] > 5 else None))
        check(plot_compare(runs, group=LONG))

    @pytest.mark.parametrize(
        "layout",
        [
            {"x": "rlc.queue", "by": ["mac.scheduler"], "facet": "ue[0].count"},
            {"x": "ue[0].count", "by": ["rlc.queue"], "facet": "mac.scheduler"},
            {"x": "mac.scheduler", "by": ["ue[0].count"], "facet": "rlc.queue"},
            {"x": "rlc.queue", "by": ["mac.scheduler", "ue[0].count"]},
        ],
        ids=["x", "by", "facet", "two"],
    )
    @pytest.mark.parametrize("group", [pytest.param(None, id="all"), nightly(LONG, id="group")])
    def test_sweep(
        self, data: Sweep, size: style.Size | None, layout: dict[str, Any], group: str | None
    ) -> None:
        check(data.plot("delay_ms_p95", group=group, size=size, **layout))

    def test_frontier(self, data: Sweep, size: style.Size | None) -> None:
        where = {"mac.scheduler": "pf", "ue[0].count": 3}
        labels = {plain(data.runs["rlc.queue"][0]): WORDS}
        check(data.plot_frontier("rlc.queue", where=where, labels=labels, size=size))

    def test_distributions_of_a_sweep(self, data: Sweep, size: style.Size | None) -> None:
        where = {"mac.scheduler": "pf", "ue[0].count": 3}
        check(data.plot_cdf("delay_ms", where=where, size=size))
        groups = data.flows["group"].unique(maintain_order=True).to_list()
        labels = {"rlc.queue": WORDS, "codel": WORDS}
        check(data.plot_cdf("goodput_kbps", groups=groups, where=where, labels=labels, size=size))

    def test_series_of_a_sweep(self, data: Sweep, size: style.Size | None) -> None:
        where = {"mac.scheduler": "pf", "ue[0].count": 3}
        check(data.plot_series("rtt_ms", where=where, size=size))
        groups = data.flows["group"].unique(maintain_order=True).to_list()
        labels = {"rlc.queue": WORDS, "codel": WORDS}
        figure = data.plot_series(
            "delay_ms", flows=groups, by=["rlc.queue"], where=where, labels=labels, size=size
        )
        check(figure)


def test_maps_prbs_and_timelines(run: "Run") -> None:
    radio = Scenario.from_toml(SCENARIO).radio_map(points=20)
    for quantity in ("sinr", "rsrp", "cell", "uplink", "uplink-carrier"):
        check(style.figure_of(radio.plot(quantity)))
    check(style.figure_of(run.plot_prbs()))
    check(run.plot_timeline())


def test_numbers_of_many_cells_do_not_overlap() -> None:
    radio = city(rings=2, ues=5).radio_map(points=50)
    figure = style.figure_of(radio.plot("cell"))
    check(figure)
    numbers = {int(text.get_text()) for axes in figure.axes for text in axes.texts}
    shown = set(np.unique(radio.cell).tolist())
    assert numbers < shown
    assert len(numbers) > len(shown) / 3, "most numbers that fit are there"


def test_transfers_with_and_without_guard() -> None:
    pings = [(at, 40.0) for at in np.arange(0.0, 10.0, 0.2)]
    received = [(at, int(at * 1e6)) for at in np.arange(0.0, 10.0, 0.2)]
    guarded = Half("guarded, with a parameter of it", pings, received, measured_s=[(5.0, 5.2)])
    check(plot_halves([Half("without guard", pings, received), guarded], WORDS))


def made_up(kind: str, *, lines: int, categories: int = 4, long: str = LONG) -> Chart:
    """Return a chart of a reproduction with long names."""
    names = [f"{number} {long}"[: 20 + 3 * number] for number in range(lines)]
    several = 1 if kind == "frontier" else categories
    x: list[float | None] = [float(number) for number in range(several)]

    def line(index: int, name: str) -> Line:
        y: list[float | None] = [10.0 + index + number for number in range(several)]
        at = [20.0 + 3 * (index % 3)] if kind == "frontier" else x
        return Line(
            label=name, look=index, context=index == 1, x=[*at], y=y,
            low=[value - 0.5 for value in y if value is not None],
            high=[value + 0.5 for value in y if value is not None],
            x_low=[value - 1 for value in at if value is not None] if kind == "frontier" else [],
            x_high=[value + 1 for value in at if value is not None] if kind == "frontier" else [],
            paper_x=[*at], paper_y=y,
        )  # fmt: skip

    drawn = [line(index, name) for index, name in enumerate(names)]
    return Chart(
        name="made-up", title=f"{WORDS}", kind=kind, x_label=f"{WORDS} (kbit/s)", y_label=f"{WORDS} (ms)",
        x_scale="linear", y_scale="linear", x_limits=None, y_limits=[10.0, 12.0], x_ticks=[],
        categories=[f"{number} {long}" for number in range(categories)] if kind == "bars" else [],
        lines_label=WORDS, lines=drawn, optimal=[(20.0, 10.0), (23.0, 12.0)] if kind == "frontier" else [],
        ours="ours: mean of 5 to 1024 seeds, 95 % CI",
    )  # fmt: skip


@pytest.mark.parametrize("lines", [nightly(1), nightly(2), nightly(5), 9])
@pytest.mark.parametrize("kind", ["lines", "bars", "time", "distribution", "frontier"])
def test_charts_of_reproductions(kind: str, lines: int, tmp_path: Path) -> None:
    chart = made_up(kind, lines=lines)
    before = deepcopy(chart)
    with style.styled():
        figure = figures.draw(chart)
        check(figure)
        assert figures.svg(figure, "a").startswith("<?xml")
    axes, legend = figure.axes[0], figure.legends[0]
    assert " ".join(legend.get_title().get_text().split()) == ("" if kind == "frontier" else WORDS)
    gap_px = axes.xaxis.label.get_window_extent().y0 - legend.get_window_extent().y1
    assert gap_px < 20, "no space is left empty"
    assert chart == before, "texts of the page are whole"
    save(figure, tmp_path / "chart.png")
    assert not problems(figure), "nor at the resolution of a file"


def test_tables_are_named_by_kind_and_what_differs() -> None:
    found = category.texts([*QUEUES, '{kind="python",class="daimd.py:Daimd"}', True, 0.5, "4MB"])
    assert list(found.values()) == [
        "drop-tail(buffer=4MB)",
        "drop-tail(buffer=100kB)",
        "codel",
        "Daimd",
        "true",
        "0.5",
        "4MB",
    ]
    assert category.texts(["{not toml"]) == {"{not toml": "{not toml"}
    (long,) = category.texts([LONG]).values()
    assert (len(long), long[16], long[:16]) == (32, "…", LONG[:16])
    same = [f"{LONG}{digit}{LONG}" for digit in "12"]
    assert list(category.texts(same).values()) == same, "distinct values remain distinct"


def test_short_texts_are_not_changed(data: Sweep) -> None:
    figure = data.plot(
        "delay_ms_mean", x="mac.scheduler", by=["ue[0].count"], where={"rlc.queue": data.runs["rlc.queue"][0]}
    )
    assert figure.axes[0].get_xlabel() == "Downlink scheduler"
