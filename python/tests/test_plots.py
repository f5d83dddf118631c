"""Plots agree with the stored data."""

import sys
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection, PathCollection
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from airwnd import InputError, RadioMap, Run, Scenario
from airwnd.plots import style
from airwnd.plots.prbs import stretches
from airwnd.plots.style import figure_of

from .conftest import Cli

SITES = """\
name = "two sites"
duration = "400ms"
radio.amc = { kind = "piro-ew2010", ber = 0.01 }
[[site]]
sectors = 3
antenna = "parabolic"
[[site]]
position = ["600m", "200m"]
sectors = 3
azimuth = "60deg"
antenna = "parabolic"
[[ue]]
count = 30
placement = { kind = "disc", radius = "600m" }
[[flow]]
"""
DRIVE = """\
name = "drive"
duration = "12s"
handover.algorithm = "a3-rsrp"
[[site]]
[[site]]
position = ["200m", "0m"]
[[ue]]
placement = { kind = "list", points = [["-20m", "30m"]] }
mobility = { kind = "constant-velocity", speed = "20m/s" }
[[ue]]
name = "standing"
placement = { kind = "list", points = [["60m", "-40m"]] }
[[flow]]
"""
LINK = 'duration = "1s"\n[[link]]\nrate = "1Mbps"\n[[ue]]\n[[flow]]\n'


@pytest.fixture(scope="module")
def sites() -> Scenario:
    """Two sites of three sectors, with failed transport blocks."""
    return Scenario.from_toml(SITES)


@pytest.fixture(scope="module")
def radio(sites: Scenario) -> RadioMap:
    """Its radio map, at a coarse resolution."""
    return sites.radio_map(points=41)


@pytest.fixture(scope="module")
def run(sites: Scenario) -> Run:
    """A run of it with all records."""
    return sites.run(series="10ms", allocations=("100ms", "300ms"))


@pytest.fixture(scope="module")
def drive() -> Run:
    """A UE passes two sites, another one does not move."""
    return Scenario.from_toml(DRIVE).run(series="50ms")


def labels(axes: Axes) -> list[str]:
    legend = axes.get_legend()
    return [] if legend is None else [text.get_text() for text in legend.get_texts()]


# The map.


def test_the_grid_is_square_and_contains_everything(radio: RadioMap) -> None:
    steps = np.concatenate([np.diff(radio.x_m), np.diff(radio.y_m)])
    assert steps == pytest.approx(steps[0], rel=0.02)
    assert max(len(radio.x_m), len(radio.y_m)) == 41
    assert radio.sinr_db.shape == radio.rsrp_dbm.shape == radio.cell.shape == (len(radio.y_m), len(radio.x_m))
    for places in (radio.cells, radio.ues):
        assert places["x_m"].is_between(radio.x_m[0], radio.x_m[-1]).all()
        assert places["y_m"].is_between(radio.y_m[0], radio.y_m[-1]).all()


def test_ues_are_served_by_the_best_cell_on_the_map(sites: Scenario) -> None:
    # Shadowing is drawn per UE; the map has none.
    clear = sites.with_({"radio.shadowing.sigma": "0dB"})
    for ue in clear.run().ues.iter_rows(named=True):
        x, y = ue["x_m"], ue["y_m"]
        here = clear.radio_map(points=2, extent=(x, x + 1, y, y + 1))
        assert here.cell[0, 0] == ue["cell"]
        assert here.rsrp_dbm[0, 0] == pytest.approx(ue["rsrp_dbm"])


def test_a_seed_moves_the_ues_not_the_radio(sites: Scenario) -> None:
    area = (-700.0, 700.0, -700.0, 700.0)
    one, other = (sites.radio_map(points=5, extent=area, seed=seed) for seed in (1, 2))
    assert np.array_equal(one.sinr_db, other.sinr_db)
    assert not one.ues.equals(other.ues)
    assert one.ues["x_m"].equals(sites.run(seed=1).ues["x_m"])


@pytest.mark.parametrize("quantity", ["sinr", "rsrp"])
def test_the_colours_are_the_values(radio: RadioMap, quantity: str) -> None:
    axes = radio.plot(quantity)
    (image,) = axes.images
    values = radio.sinr_db if quantity == "sinr" else radio.rsrp_dbm
    assert np.array_equal(np.asarray(image.get_array()), values)
    low, high = image.get_clim()
    # at most 1 % of the points are beyond either end, and the ends are round numbers
    assert np.mean(values < low) <= 0.01
    assert np.mean(values > high) <= 0.01
    assert low % 5 == high % 5 == 0
    bar = figure_of(axes).axes[1]
    assert (
        bar.get_ylabel()
        == {"sinr": "SINR at full load (dB)", "rsrp": "RSRP of the best cell (dBm)"}[quantity]
    )
    # a pixel's centre is its point
    west, east, south, north = image.get_extent()
    half = (radio.x_m[1] - radio.x_m[0]) / 2
    assert (west, east) == pytest.approx((radio.x_m[0] - half, radio.x_m[-1] + half))
    assert south < radio.y_m[0] < radio.y_m[-1] < north
    assert image.origin == "lower"


def test_sites_boresights_and_ues_are_at_their_positions(radio: RadioMap) -> None:
    axes = radio.plot()
    ues, masts = (each for each in axes.collections if isinstance(each, PathCollection))
    assert np.asarray(masts.get_offsets()).tolist() == [[0, 0], [600, 200]]
    assert np.asarray(ues.get_offsets()) == pytest.approx(radio.ues.select("x_m", "y_m").to_numpy())
    assert labels(axes) == ["UEs", "sites"]
    drawn = []
    for line in axes.lines:
        x, y = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
        drawn.append((x[0], y[0], np.degrees(np.arctan2(y[1] - y[0], x[1] - x[0])) % 360))
    want = radio.cells.select("x_m", "y_m", pl.col("boresight_deg") % 360).to_numpy()
    assert np.array(drawn) == pytest.approx(want)


def test_paths_are_those_of_a_run(drive: Run) -> None:
    radio = Scenario.from_toml(DRIVE).radio_map(points=9)
    axes = radio.plot()
    (line,) = axes.lines
    x, y = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
    assert (x[0], y[0]) == (-20, 30), "it starts at the initial position of the UE"
    moving = drive.series.drop_nulls("x_m")
    assert moving["flow"].unique().to_list() == ["flow-0"], "a UE that does not move has no path"
    assert (x[-1], y[-1]) == pytest.approx((moving["x_m"][-1], moving["y_m"][-1]))
    assert radio.x_m[0] < x.min() < x.max() < radio.x_m[-1], "the path is on the map"
    assert labels(axes) == ["paths", "UEs", "sites"]


def test_an_omnidirectional_antenna_has_no_boresight(small: Scenario) -> None:
    assert not small.radio_map(points=5).plot().lines


def test_neighbours_have_different_colours(radio: RadioMap) -> None:
    axes = radio.plot("cell")
    (image,) = axes.images
    colours = np.asarray(image.get_array())
    for a, b, one, other in (
        (radio.cell[1:], radio.cell[:-1], colours[1:], colours[:-1]),
        (radio.cell[:, 1:], radio.cell[:, :-1], colours[:, 1:], colours[:, :-1]),
    ):
        assert np.array_equal(a != b, one != other)
    # each number is in its cell
    for text in axes.texts:
        x, y = text.xy  # type: ignore[attr-defined]  # an Annotation, typed as Text
        at = np.argmin(abs(radio.y_m - y)), np.argmin(abs(radio.x_m - x))
        assert radio.cell[at] == int(text.get_text())
    assert {text.get_text() for text in axes.texts} == {str(cell) for cell in np.unique(radio.cell)}


def test_a_large_map_is_in_kilometres(sites: Scenario) -> None:
    axes = sites.radio_map(points=9, extent=(-4000, 4000, -3000, 3000)).plot()
    assert axes.get_xlabel() == "East (km)"
    assert axes.get_xlim()[1] == pytest.approx(4.5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"points": 1}, "points: 1 is not in the range 2..5000"),
        ({"points": 5001}, "points: 5001 is not in the range 2..5000"),
        (
            {"extent": (5, 5, 0, 1)},
            "extent: 5,5,0,1 is not an area; expected WEST,EAST,SOUTH,NORTH in metres",
        ),
        ({"extent": (0, 1, 0, float("nan"))}, "extent: 0,1,0,nan is not an area"),
        ({"height_m": 0.0}, "height: 0 m is not above ground"),
    ],
)
def test_invalid_arguments_of_a_map_are_one_line(
    sites: Scenario, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message.replace(".", r"\.")):
        sites.radio_map(**changes)


def test_links_have_no_radio() -> None:
    with pytest.raises(InputError, match=r"^wire\.toml: there is no \[\[site\]\]"):
        Scenario.from_toml(LINK, "wire.toml").radio_map()


def test_an_unknown_quantity_is_an_error(radio: RadioMap) -> None:
    with pytest.raises(InputError, match="no map of `rsrq`; there are sinr, rsrp, cell"):
        radio.plot("rsrq")


# The resource blocks.


def rectangles(axes: Axes, *, again: bool) -> list[tuple[float, float, float, str]]:
    """Return begin in milliseconds, lowest and highest PRB, and colour of each rectangle."""
    (blocks,) = (
        each
        for each in axes.collections
        if isinstance(each, PatchCollection) and (each.get_hatch() is not None) == again
    )
    found = []
    for path, face in zip(blocks.get_paths(), blocks.get_facecolor(), strict=True):
        box = path.get_extents()
        assert box.width == pytest.approx(1.0), "a TTI is one millisecond"
        colour = to_hex(face).upper()  # type: ignore[arg-type]  # the stubs know no array of colours
        found.append((round(box.x0, 6), box.y0, box.y1, colour))
    return sorted(found)


@pytest.mark.parametrize("again", [False, True])
def test_blocks_are_the_allocations(run: Run, again: bool) -> None:
    axes = run.plot_prbs(4)
    rows = run.allocations.filter(pl.col("cell") == 4)
    ues = rows["ue"].unique().sort().to_list()
    assert 1 < len(ues) <= 7
    colour = {ue: style.COLOURS[place] for place, ue in enumerate(ues)}
    want = [
        (round(row["time_s"] * 1e3, 6), 3 * first, 3 * (first + count), colour[row["ue"]])
        for row in rows.iter_rows(named=True)
        if (row["transmission"] > 1) == again
        for first, count in stretches(row["rbgs"])
    ]
    assert want
    assert rectangles(axes, again=again) == sorted(want)
    assert labels(axes)[: len(ues) + 1] == [*(f"UE {ue}" for ue in ues), "retransmission"]
    assert axes.get_ylim() == (0, 50)


def test_failed_receptions_are_marked(run: Run) -> None:
    rows = run.allocations.filter(pl.col("cell") == 1, pl.col("reception") == "failed")
    (marks,) = (
        each
        for each in run.plot_prbs(1).collections
        if isinstance(each, PathCollection) and each.get_label() == "not decoded"
    )
    assert rows.height > 0
    assert np.asarray(marks.get_offsets())[:, 0] == pytest.approx(rows["time_s"].to_numpy() * 1e3 + 0.5)


def test_a_window_is_cut_out(run: Run) -> None:
    axes = run.plot_prbs(1, (0.15, 0.2))
    assert axes.get_xlim() == (150, 200)
    begins = [each[0] for each in rectangles(axes, again=False)]
    assert begins
    assert all(150 <= begin < 200 for begin in begins)


def test_many_ues_share_a_colour_bar(run: Run) -> None:
    axes = run.plot_prbs(1)
    ues = run.allocations.filter(pl.col("cell") == 1)["ue"].unique().sort().to_list()
    assert len(ues) > 7
    bar = figure_of(axes).axes[1]
    assert bar.get_xlabel() == "UE"
    assert [text.get_text() for text in bar.get_xticklabels()] == [str(ue) for ue in ues]
    assert len({each[3] for each in rectangles(axes, again=False)}) > 7


@pytest.mark.parametrize(
    ("bandwidth", "groups", "prbs"),
    [
        ("1.4MHz", 6, 6),
        ("3MHz", 7, 14),
        ("5MHz", 12, 24),
        ("10MHz", 16, 48),
        ("15MHz", 18, 72),
        ("20MHz", 25, 100),
    ],
)
def test_rbgs_have_the_size_for_the_carrier(small: Scenario, bandwidth: str, groups: int, prbs: int) -> None:
    run = small.with_({"carrier.bandwidth": bandwidth}).run(allocations=("0ms", "201ms"))
    used = 0
    for rbgs in run.allocations["rbgs"].to_list():
        used |= rbgs
    assert used == (1 << groups) - 1
    axes = run.plot_prbs()
    assert max(each[2] for each in rectangles(axes, again=False)) == prbs
    # The drawn area equals the utilisation of the run; the TTI at the end of the run is the last.
    drawn = [each for again in (False, True) for each in rectangles(axes, again=again)]
    area = sum(top - bottom for _, bottom, top, _ in drawn)
    whole = {"1.4MHz": 6, "3MHz": 15, "5MHz": 25, "10MHz": 50, "15MHz": 75, "20MHz": 100}[bandwidth]
    assert area / whole / 200 == pytest.approx(run.cells["downlink_prb_use"][0], rel=1e-9)


@pytest.mark.parametrize(("carrier", "groups", "frequency"), [(0, 16, "2120MHz"), (1, 12, "1800MHz")])
def test_each_carrier_has_its_allocations(small: Scenario, carrier: int, groups: int, frequency: str) -> None:
    secondary = [{"bandwidth": "5MHz", "downlink_frequency": "1.8GHz"}]
    run = small.with_({"carrier.secondary": secondary}).run(allocations=("0ms", "100ms"))
    rows = run.allocations.filter(pl.col("carrier") == carrier)
    assert rows["rbgs"].max() == (1 << groups) - 1
    axes = run.plot_prbs(carrier=carrier)
    assert axes.get_title("left") == f"Cell 0, carrier {carrier} at {frequency}, downlink"
    drawn = [each for again in (False, True) for each in rectangles(axes, again=again)]
    assert max(each[2] for each in drawn) == (48, 24)[carrier]
    with pytest.raises(InputError, match="no carrier 2; there are 2, counted from 0"):
        run.plot_prbs(carrier=2)


NR = """\
name = "tdd"
duration = "300ms"
carrier = { bandwidth = "40MHz", downlink_frequency = "3.5GHz", uplink_frequency = "3.5GHz" }
radio.access = { kind = "nr", numerology = 1, pattern = "DDDSU" }
[[site]]
[[ue]]
count = 4
placement = { kind = "disc", radius = "200m" }
[[flow]]
"""


@pytest.mark.parametrize("warmup", ["500ms", "501ms", "500.5ms"])
def test_slots_of_tdd_have_their_direction(warmup: str) -> None:
    run = Scenario.from_toml(f'warmup = "{warmup}"\n{NR}').run(allocations=("250ms", "300ms"))
    axes = run.plot_prbs(window_s=(0.25, 0.3))
    offset = float(warmup.removesuffix("ms"))
    boxes = [
        path.get_extents()
        for each in axes.collections
        if isinstance(each, PatchCollection)
        for path in each.get_paths()
    ]
    assert boxes
    kinds = set()
    for box in boxes:
        place = round((box.x0 + offset) / 0.5) % 5
        # Ten of fourteen symbols of the special slot are downlink; its last RBG ends with the carrier.
        assert box.width == pytest.approx(0.5 if place < 3 else 0.5 * 10 / 14)
        assert box.y1 <= 106
        kinds.add(place)
    assert kinds == {0, 1, 2, 3}
    assert max(box.y1 for box in boxes) == 106
    shades = [
        (patch.get_x(), patch.get_width(), to_hex(patch.get_facecolor()).upper())
        for patch in axes.patches
        if isinstance(patch, Rectangle)
    ]
    uplink = sum(width for _, width, colour in shades if colour == "#DDDDDD")
    guard = sum(width for _, width, colour in shades if colour == "#F2F2F2")
    # 20 periods of 2.5 ms, cut at both ends: uplink 16 symbols of 70, guard 2.
    assert uplink == pytest.approx(50 * 16 / 70, abs=1.1)
    assert guard == pytest.approx(50 * 2 / 70, abs=0.1)
    for box in boxes:
        middle = (box.x0 + box.x1) / 2
        assert not any(left < middle < left + width for left, width, _ in shades)
    assert axes.get_title("left") == "Cell 0, downlink; NR, 106 PRBs, slots of 0.5 ms, TDD DDDSU"
    assert {"uplink", "guard period"} <= set(labels(axes))


def test_missing_allocations_are_an_error(sites: Scenario, run: Run) -> None:
    with pytest.raises(InputError, match="a run without allocations: run with allocations="):
        sites.run().plot_prbs()
    with pytest.raises(InputError, match="no cell 6; there are 6, counted from 0"):
        run.plot_prbs(6)


def test_allocations_are_saved(run: Run, tmp_path: Path) -> None:
    back = Run.load(run.save(tmp_path))
    assert back.allocations.equals(run.allocations)
    assert back.allocations.schema == run.allocations.schema
    assert run.allocations["time_s"].is_between(0.1, 0.3, closed="left").all()


# The timeline.


def test_panels_are_columns_of_the_series(run: Run) -> None:
    figure = run.plot_timeline("flow-3")
    series = run.series.filter(pl.col("flow").cast(pl.String) == "flow-3")
    panels = {axes.get_ylabel().split("\n")[0]: axes for axes in figure.axes}
    columns = {"Cell": "cell", "SINR": "sinr_db", "Queue": "queue_bytes"}
    columns |= {"Air rate": "air_kbps", "Delay": "delay_ms", "cwnd": "cwnd_bytes"}
    for name, column in columns.items():
        line = panels[name].lines[0]
        known = series.drop_nulls(column)
        assert np.array_equal(np.asarray(line.get_xdata()), known["time_s"].to_numpy()), name
        assert np.asarray(line.get_ydata()) == pytest.approx(known[column].to_numpy()), name
    delay = panels["Delay"]
    rtts_ms = series.drop_nulls("rtt_ms")["rtt_ms"].to_numpy()
    assert [line.get_label() for line in delay.lines] == ["one-way", "RTT"]
    assert np.asarray(delay.lines[1].get_ydata()) == pytest.approx(rtts_ms), "the ACKs' way is the difference"
    assert figure.axes[-1].get_xlabel() == "Time (s)"
    assert figure.axes[-1].get_xlim() == (0, run.duration_s)


def test_cell_and_rsrp_show_the_best_neighbour(drive: Run) -> None:
    cell, rsrp = drive.plot_timeline().axes[:2]
    series = drive.series.filter(pl.col("flow").cast(pl.String) == "flow-0")
    for axes, columns in ((cell, ("cell", "neighbour")), (rsrp, ("rsrp_dbm", "neighbour_rsrp_dbm"))):
        for line, column in zip(axes.lines, columns, strict=False):
            assert np.asarray(line.get_ydata()) == pytest.approx(series[column].to_numpy())
    assert cell.get_yticks().tolist() == [0, 1]
    assert labels(cell) == ["serving", "best neighbour", "handover"]


def test_handovers_are_marked_when_they_end(drive: Run) -> None:
    ends = drive.events.filter(pl.col("event") == "handover_end")
    assert ends["flow"].cast(pl.String).to_list() == ["flow-0"]
    for axes in drive.plot_timeline().axes:
        marks = [line for line in axes.lines if line.get_label() == "handover"]
        assert [float(np.asarray(line.get_xdata())[0]) for line in marks] == ends["time_s"].to_list()
    # from then on, the series has the other cell
    series = drive.series.filter(pl.col("flow").cast(pl.String) == "flow-0")
    after = series.filter(pl.col("time_s") > ends["time_s"][0])
    assert after["cell"].unique().to_list() == [1]
    for axes in drive.plot_timeline("flow-1").axes:
        assert "handover" not in [line.get_label() for line in axes.lines]


def test_a_link_has_no_cell_to_show() -> None:
    figure = Scenario.from_toml(LINK).run(series="50ms").plot_timeline()
    assert "Cell" not in [axes.get_ylabel() for axes in figure.axes]


def test_a_timeline_needs_series_and_a_flow(sites: Scenario, run: Run) -> None:
    with pytest.raises(InputError, match="a run without time series"):
        sites.run().plot_timeline()
    with pytest.raises(
        InputError, match="no flow `flow`; there are flow-0, flow-1, flow-2, flow-3, flow-4, "
    ):
        run.plot_timeline("flow")


# The command line.


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The scenario as a file."""
    path = tmp_path / "sites.toml"
    path.write_text(SITES, encoding="utf-8")
    return path


def test_pictures_are_files_of_the_same_bytes(cli: Cli, file: Path, run: Run, tmp_path: Path) -> None:
    """Of the scenario, which is simulated, and of the stored run."""
    run.save(tmp_path / "run")
    commands = {
        "map": ("--points", "20", "--quantity", "rsrp", "--extent=-500,700,-300,600", "--height", "3"),
        "prbs": ("--cell", "1", "--from", "100ms", "--to", "150ms"),
        "timeline": ("--flow", "flow-1"),
    }
    simulate = {"timeline": ("--series", "10ms")}
    for name, options in commands.items():
        pictures = []
        for source, more in ((file, simulate.get(name, ())), ("run", ())):
            done = cli("plot", name, source, *options, *more, "-o", f"{name}.svg")
            assert (done.returncode, done.stderr) == (0, ""), name
            assert done.stdout == f"picture: {name}.svg\n"
            pictures.append((tmp_path / f"{name}.svg").read_text(encoding="utf-8"))
        assert pictures[0] == pictures[1], name
        assert pictures[0].startswith("<?xml")


def test_the_map_of_a_run_is_that_of_its_scenario(
    cli: Cli, file: Path, sites: Scenario, tmp_path: Path
) -> None:
    sites.run(seed=4).save(tmp_path / "run")
    cli("plot", "map", "run", "--points", "9", "-o", "run.svg")
    cli("plot", "map", file, "--seed", "4", "--points", "9", "-o", "scenario.svg")
    assert (tmp_path / "run.svg").read_bytes() == (tmp_path / "scenario.svg").read_bytes()


def test_run_keeps_allocations(cli: Cli, file: Path, tmp_path: Path) -> None:
    done = cli("run", file, "--allocations", "100ms..120ms", "--out", "run")
    assert (done.returncode, done.stderr) == (0, "")
    times = Run.load(tmp_path / "run").allocations["time_s"]
    assert times.is_between(0.1, 0.12, closed="left").all()
    assert times.len() > 10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("plot", "map", "sites.toml", "-o", "map.gif"),
            "map.gif: the name of a picture must end in .svg, .pdf, .png",
        ),
        (("plot", "map", "sites.toml", "--quantity", "rsrq"), "'rsrq' is not one of"),
        (("plot", "map", "sites.toml", "--points", "0"), "points: 0 is not in the range 2..5000"),
        (
            ("plot", "map", "sites.toml", "--extent", "1,2,3"),
            "extent: `1,2,3` is not an area; expected WEST,EAST",
        ),
        (("plot", "map", "sites.toml", "--height", "-1"), "height: -1 m is not above ground"),
        (("plot", "map", "nowhere.toml"), "nowhere.toml: No such file or directory"),
        (("plot", "map", "link.toml"), "link.toml: there is no [[site]], so there is no radio to map"),
        (("plot", "prbs", "sites.toml"), "sites.toml: a scenario needs a window, as in --from 1s --to 1.1s"),
        (("plot", "prbs", "sites.toml", "--from", "1s"), "--from and --to must be given together"),
        (("plot", "prbs", "sites.toml", "--from", "1", "--to", "2s"), "allocations: `1` needs a unit"),
        (
            ("plot", "prbs", "sites.toml", "--from", "5s", "--to", "6s"),
            "allocations: the window begins at 5s, but the run ends at 400ms",
        ),
        (("plot", "prbs", "link.toml", "--from", "1ms", "--to", "6ms"), "links have no resource blocks"),
        (
            ("plot", "prbs", "sites.toml", "--cell", "9", "--from", "1ms", "--to", "6ms"),
            "no cell 9; there are 6, counted from 0",
        ),
        (("plot", "timeline", "sites.toml", "--flow", "x"), "no flow `x`; there are flow-0"),
        (("plot", "timeline", "."), ".: not a run's folder, it has no manifest.json"),
        (("plot", "timeline", ".", "--seed", "2"), "--set and --seed apply to scenarios"),
        (("run", "sites.toml", "--allocations", "1s"), "--allocations 1s: expected FROM..TO"),
        (
            ("run", "sites.toml", "--allocations", "2s..1s"),
            "the window begins at 2s, not before its end at 1s",
        ),
    ],
)
def test_an_error_is_one_line(cli: Cli, file: Path, arguments: tuple[str, ...], message: str) -> None:
    file.with_name("link.toml").write_text(LINK, encoding="utf-8")
    done = cli(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr


def test_ids_of_flows_are_drawn_literally() -> None:
    """Neither as formulas nor hidden because of an underscore."""
    flow = "[[flow]]\nid = '{}'\ntraffic = {{ kind = 'transfer', size = '1kB' }}\n"
    names = [r"$\frac{$", "_hidden", "US$ 5"]
    text = 'duration = "200ms"\n[[site]]\n[[ue]]\n' + "".join(map(flow.format, names))
    run = Scenario.from_toml(text).run(series="10ms")
    for axes in (run.plot("cwnd_bytes"), run.plot_fct()):
        figure_of(axes).savefig(BytesIO())
        legend = axes.get_legend()
        assert legend
        found = [label.get_text().replace(r"\$", "$") for label in legend.get_texts()]
        for name in names:
            assert any(name in label for label in found), found


@pytest.mark.parametrize(
    "words", [("plot", "map", "cell.toml", "-o", "map.svg"), ("reproduce", "arwa-2019/fig3")]
)
def test_without_matplotlib_the_extra_is_named_before_anything_is_run(
    cli: Cli, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "cell.toml").write_text('duration = "10ms"\n[[site]]\n[[ue]]\n[[flow]]\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = cli(*words)
    assert done.stderr == "airwnd: Matplotlib is not installed: pip install 'airwnd[plots]'\n"
    assert done.returncode == 2
    assert not [path for path in tmp_path.rglob("*") if path.suffix in {".svg", ".parquet"}]
    assert cli("run", "cell.toml").returncode == 0
