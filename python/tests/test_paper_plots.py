"""Plots of series, distributions, runs and sweeps agree with the stored data."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes
from scipy import stats

from airwnd import InputError, Run, Scenario, Sweep, sweep
from airwnd.plots import style
from airwnd.plots.cdf import plot_cdf
from airwnd.plots.compare import plot_compare

from .conftest import SMALL, Cli

# TS 36.213 Table 7.1.7.2.1-1: 48 PRBs, the 16 groups of a carrier of 10 MHz, at I_TBS 26, in each TTI.
CAPACITY_KBPS = 35_160
BURSTS = """\
preset = "airwnd-0.1"
duration = "6s"
tcp.stack = "linux"
rlc.queue = { kind = "drop-tail", buffer = "60KiB" }
[[site]]
[[ue]]
[[flow]]
cc = "cubic"
rwnd = "autotuning"
"""
WEB = """\
duration = "2s"
[[site]]
[[ue]]
count = 4
[[flow]]
id = "$web$"
traffic = { kind = "transfer", size = "30kB" }
arrivals = { kind = "poisson", rate = 3.0 }
[[flow]]
id = "bulk"
"""


def crowd(users: int) -> Run:
    settings = {"ue[0].count": users, "ue[0].placement": "disc"}
    return Scenario.from_toml(SMALL).with_(settings).run(series="20ms")


@pytest.fixture(scope="module")
def many() -> Run:
    """Sixty UEs for a second."""
    return crowd(60)


@pytest.fixture(scope="module")
def web() -> Run:
    """Short transfers concurrent with long ones; the name of the group has dollar signs."""
    return Scenario.from_toml(WEB).run(series="50ms")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep over buffers, windows and UEs, with four seeds."""
    out = tmp_path_factory.mktemp("sweep") / "data"
    grid: dict[str, list[object]] = {
        "flow[0].rwnd": ["autotuning", "drwa"],
        "rlc.queue.buffer": ["10KiB", "50KiB", "200KiB"],
        "ue[0].count": [1, 3],
    }
    # Without shadowing and fading, every UE at up to 6 km is in reach, with every seed.
    base = Scenario.from_toml('preset = "airwnd-0.1"\n' + SMALL).with_(
        {"ue[0].placement": {"kind": "disc", "radius": "6km"}}, duration="1s"
    )
    sweep(base, grid=grid, seeds=4, out=out)
    return out


def legend(axes: Axes) -> list[str]:
    found = axes.get_legend()
    return [] if found is None else [text.get_text() for text in found.get_texts()]


def points(axes: Axes) -> list[tuple[str, Any, Any]]:
    """Return the lines of error bars: label, positions and heights."""
    return [(str(each.get_label()), each[0].get_xdata(), each[0].get_ydata()) for each in axes.containers]


# Time series.


def test_the_air_rate_does_not_exceed_the_capacity_of_the_cell() -> None:
    run = Scenario.from_toml(BURSTS).run(series="50ms")
    # A retransmission releases the data queued behind it at the receiver, so that goodput is bursty.
    assert run.series["rate_kbps"].max() > 1.2 * CAPACITY_KBPS  # type: ignore[operator]
    assert run.series["air_kbps"].max() == CAPACITY_KBPS
    throughput = run.series["throughput_kbps"].mean()
    assert throughput == pytest.approx(run.totals["throughput_kbps"])
    assert throughput < run.series["air_kbps"].mean() < 1.1 * throughput  # type: ignore[operator]
    panels = {axes.get_ylabel(): axes for axes in run.plot_timeline().axes}
    (line,) = panels["Air rate\n(Mbit/s)"].lines
    assert np.asarray(line.get_ydata()).max() == CAPACITY_KBPS


def test_the_air_rate_of_a_later_flow_starts_at_zero() -> None:
    later = '[[flow]]\nid = "later"\ntraffic = { kind = "transfer", size = "9kB" }\n'
    arrivals = 'arrivals = { kind = "poisson", rate = 3.0 }\n'
    run = Scenario.from_toml(BURSTS + later + arrivals).run(series="50ms")
    assert run.flows.height > 5
    assert run.series["air_kbps"].max() <= CAPACITY_KBPS  # type: ignore[operator]


@pytest.mark.parametrize(("users", "lines"), [(1, 1), (3, 3), (12, 12), (60, 1)])
def test_more_than_twelve_flows_are_a_band(users: int, lines: int) -> None:
    run = crowd(users)
    axes = run.plot("rtt_ms", size=(3.5, None))
    assert len(axes.lines) == lines
    looks = {(line.get_color(), str(line.get_linestyle()), str(line._dash_pattern)) for line in axes.lines}  # type: ignore[attr-defined]
    assert len(looks) == lines, "any two lines differ"
    assert axes.get_xlim() == (0, 1)
    if users == 60:
        assert legend(axes) == ["5th to 95th percentile", "median of 60 flows"]
        at = run.series.drop_nulls("rtt_ms").filter((pl.col("time_s") - 0.5).abs() < 1e-6)["rtt_ms"]
        time, median = (np.asarray(values) for values in axes.lines[0].get_data())
        assert median[np.argmin(abs(time - 0.5))] == pytest.approx(at.median())
    else:
        assert legend(axes) == ([] if users == 1 else [f"flow-{number}" for number in range(users)])


def test_flows_are_selected_by_id_or_group(many: Run, web: Run) -> None:
    axes = many.plot("cwnd_bytes", flows=["flow-7", "flow-3"])
    assert legend(axes) == ["flow-7", "flow-3"]
    series = many.series.filter(pl.col("flow").cast(pl.String) == "flow-7").drop_nulls("cwnd_bytes")
    assert np.array_equal(np.asarray(axes.lines[0].get_ydata()), series["cwnd_bytes"].to_numpy())
    assert legend(web.plot("rate_kbps", flows=["bulk"])) == [f"bulk-{number}" for number in range(4)]
    with pytest.raises(InputError, match="no flow `flow-60`; there are flow-0, flow-1"):
        many.plot("cwnd_bytes", flows=["flow-60"])
    with pytest.raises(InputError, match="flows: expected a list, found 'flow-1'"):
        many.plot("cwnd_bytes", flows="flow-1")


def test_means_over_windows_keep_the_sum(many: Run) -> None:
    axes = many.plot("rate_kbps", flows=["flow-3"], mean_s=0.25)
    time, rate = (np.asarray(values) for values in axes.lines[0].get_data())
    assert time == pytest.approx([0.125, 0.375, 0.625, 0.875])
    goodput = many.flows.filter(pl.col("id") == "flow-3")["goodput_kbps"][0]
    # Windows of 12 or 13 samples of 20 ms.
    assert np.average(rate, weights=[12, 13, 12, 13]) == pytest.approx(goodput)
    assert axes.get_ylabel().endswith(",\nmeans of 250 ms")
    with pytest.raises(InputError, match=r"mean over 0\.0 s: expected a time above zero"):
        many.plot("rate_kbps", mean_s=0.0)


def test_large_numbers_have_larger_units() -> None:
    run = Scenario.from_toml(BURSTS).with_(duration="1s").run(series="50ms")
    axes = run.plot("air_kbps")
    assert axes.get_ylabel() == "Air rate (Mbit/s)"
    assert axes.yaxis.get_major_formatter()(20_000) == "20"
    assert np.asarray(axes.lines[0].get_ydata()).max() == run.series["air_kbps"].max(), (
        "the data are unchanged"
    )


# Distributions and runs side by side.


def test_distributions_end_where_the_values_end(web: Run) -> None:
    axes = plot_cdf({"one": web, "two": web}, "goodput_kbps", groups=["bulk"])
    bulk = web.flows.filter(pl.col("group") == "bulk")["goodput_kbps"].sort()
    for line in axes.lines:
        values, parts = (np.asarray(each) for each in line.get_data())
        assert values[1:].tolist() == bulk.to_list()
        assert parts.tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert legend(axes) == ["one (4)", "two (4)"]
    assert axes.get_ylabel() == "CDF over flows"
    delays = web.plot_cdf("delay_ms")
    assert delays.get_ylabel() == "CDF over samples of 50 ms"
    assert delays.get_xlabel() == "One-way delay (ms)"
    with pytest.raises(InputError, match="no column `delay`"):
        web.plot_cdf("delay")
    with pytest.raises(InputError, match=r"no values of fct_s|no transfer or page of bulk was completed"):
        web.plot_cdf("fct_s", groups=["bulk"])


def test_dollar_signs_are_drawn(web: Run) -> None:
    axes = web.plot_cdf("delay_ms")
    (text, _) = axes.get_legend().get_texts()  # type: ignore[union-attr]
    assert text.get_text().startswith(r"\$web\$ (")
    figure = style.figure_of(axes)
    figure.draw_without_rendering()
    assert style.literal(r"a $ and \$") == r"a \$ and \\$"


def test_runs_are_compared_side_by_side(many: Run, web: Run) -> None:
    figure = plot_compare({"many": many, "web": web})
    throughput, delay, jain, delivered = figure.axes
    for axes, column, unit in ((throughput, "throughput_kbps", "Mbit/s"), (delay, "delay_ms_mean", "ms")):
        (x, y) = axes.lines[0].get_data()
        assert np.asarray(x).tolist() == [run.totals[column] for run in (many, web)]
        assert np.asarray(y).tolist() == [0, 1]
        assert f"({unit})" in axes.get_xlabel()
    assert legend(delay) == ["mean", "95th percentile"]
    assert [text.get_text() for text in throughput.get_yticklabels()] == ["many", "web"]
    assert (jain.get_xlim()[0], delivered.get_xlim()[0]) == (0, 0)
    tall = plot_compare({f"run {number}": web for number in range(60)})
    assert tall.get_figheight() > 12
    with pytest.raises(InputError, match="no run to compare"):
        plot_compare({})


# Sweeps.


def test_a_sweep_has_a_default_layout(folder: Path) -> None:
    data = Sweep.load(folder)
    figure = data.plot()
    # The longest numeric key is the axis, the other two are lines and panels.
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["Number of UEs: 1", "Number of UEs: 3"]
    assert figure.axes[0].get_xlabel() == "Buffer size (KiB)"
    assert figure.axes[0].get_ylabel() == "One-way delay, mean (ms),\nmean of 4 seeds, 95% CI"
    assert figure.axes[0].get_xscale() == "log"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["autotuning", "drwa"]
    for users, axes in zip((1, 3), figure.axes, strict=True):
        for rwnd, x, y in points(axes):
            assert list(x) == [10, 50, 200]
            for buffer, mean in zip(x, y, strict=True):
                runs = data.runs.filter(
                    pl.col("ue[0].count") == users,
                    pl.col("flow[0].rwnd") == rwnd,
                    pl.col("rlc.queue.buffer") == f"{buffer:.0f}KiB",
                )
                assert mean == pytest.approx(runs["delay_ms_mean"].mean())


def test_intervals_use_students_t(folder: Path) -> None:
    data = Sweep.load(folder)
    figure = data.plot("throughput_kbps", by=[], where={"flow[0].rwnd": "drwa", "ue[0].count": 3})
    ((_, _, bars),) = figure.axes[0].containers
    segments = bars[0].get_segments()
    for buffer, (low, high) in zip(("10KiB", "50KiB", "200KiB"), segments, strict=True):
        values = data.runs.filter(
            pl.col("ue[0].count") == 3,
            pl.col("flow[0].rwnd") == "drwa",
            pl.col("rlc.queue.buffer") == buffer,
        )["throughput_kbps"].to_numpy()
        expected = stats.t.interval(0.95, 3, loc=values.mean(), scale=stats.sem(values))
        assert (low[1], high[1]) == pytest.approx(expected)


def test_words_have_separate_positions(folder: Path) -> None:
    figure = Sweep.load(folder).plot(
        "delay_ms_p95", x="flow[0].rwnd", by=["ue[0].count", "rlc.queue.buffer"], size=(3.5, None)
    )
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.get_xticklabels()] == ["autotuning", "drwa"]
    found = points(axes)
    assert [label for label, _, _ in found] == [
        f"{n}, {size}" for n in (1, 3) for size in ("10KiB", "50KiB", "200KiB")
    ]
    assert len({x for _, places, _ in found for x in places}) == 12, "no point covers another"


def test_a_column_of_the_flows_is_averaged(folder: Path) -> None:
    data = Sweep.load(folder)
    figure = data.plot(
        "rtt_ms_mean", x="ue[0].count", where={"flow[0].rwnd": "drwa", "rlc.queue.buffer": "10KiB"}
    )
    ((_, x, y),) = points(figure.axes[0])
    flows = data.flows.filter(pl.col("flow[0].rwnd") == "drwa", pl.col("rlc.queue.buffer") == "10KiB")
    for users, mean in zip(x, y, strict=True):
        of_run = (
            flows.filter(pl.col("ue[0].count") == users).group_by("seed").agg(pl.col("rtt_ms_mean").mean())
        )
        assert mean == pytest.approx(of_run["rtt_ms_mean"].mean())


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep of two downloads beside four calls."""
    out = tmp_path_factory.mktemp("groups") / "data"
    text = WEB.replace('traffic = { kind = "transfer", size = "30kB" }', 'traffic = "cbr"')
    base = Scenario.from_toml(text.replace('arrivals = { kind = "poisson", rate = 3.0 }\n', ""))
    sweep(base.with_({"flow[0].id": "calls"}, duration="200ms"), grid={"ue[0].count": [2, 3]}, out=out)
    return out


@pytest.mark.parametrize(
    ("column", "group", "label"),
    [
        ("goodput_kbps", None, "over all flows: calls, bulk"),
        ("flows.goodput_kbps", None, "over all flows: calls, bulk"),
        ("goodput_kbps", "calls", "flows of calls"),
        ("flows.rtt_ms_p95", "bulk", "flows of bulk"),
        ("downlink_prb_use", None, ""),
    ],
)
def test_the_axis_names_the_flows_of_an_average(
    mixed: Path, column: str, group: str | None, label: str
) -> None:
    data = Sweep.load(mixed)
    (axes,) = data.plot(column, group=group).axes
    assert axes.get_ylabel().partition("\n")[2] == label
    ((_, x, y),) = points(axes)
    name = column.removeprefix("flows.")
    flows = data.flows if group is None else data.flows.filter(pl.col("group") == group)
    totals = group is None and not column.startswith("flows.")
    rows = data.runs if totals else flows
    for users, mean in zip(x, y, strict=True):
        assert mean == pytest.approx(rows.filter(pl.col("ue[0].count") == users)[name].mean())


@pytest.mark.parametrize(
    ("column", "group", "message"),
    [
        ("goodput_kbps", "call", "no group `call`; did you mean `calls`\\?"),
        ("jain", "calls", "no column `jain` of the group `calls`"),
        ("flow.goodput_kbps", None, "no column `flow.goodput_kbps`; did you mean `goodput_kbps`"),
    ],
)
def test_an_unknown_group_of_a_sweep_is_an_error(
    mixed: Path, column: str, group: str | None, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        Sweep.load(mixed).plot(column, group=group)


def test_runs_are_compared_by_one_group(web: Run) -> None:
    assert plot_compare({"web": web}).get_supxlabel() == "Over all flows: \\$web\\$, bulk"
    figure = plot_compare({"web": web}, group="bulk")
    assert figure.get_supxlabel() == "Flows of bulk"
    flows = web.flows.filter(pl.col("group") == "bulk")
    throughput, _, jain, delivered = (float(np.asarray(axes.lines[0].get_xdata())[0]) for axes in figure.axes)
    assert throughput == pytest.approx(flows["throughput_kbps"].sum(), rel=0.01)
    goodput = flows["goodput_kbps"].to_numpy()
    assert jain == pytest.approx(goodput.sum() ** 2 / (4 * (goodput**2).sum()))
    sent, received = (int(flows[column].sum()) for column in ("packets_sent", "packets_received"))
    assert delivered == pytest.approx(100 * received / sent)
    with pytest.raises(InputError, match=r"web: no group `nope`; there are \$web\$, bulk"):
        plot_compare({"web": web}, group="nope")


def test_random_points_are_not_averaged(tmp_path: Path) -> None:
    base = Scenario.from_toml(SMALL).with_(duration="100ms")
    random = {"ue[0].count": "1..3:12", "rlc.queue.buffer": "log:5KiB..1MiB:12"}
    frame = sweep(base, random=random, seeds=2, out=tmp_path / "data")
    figure = Sweep.load(tmp_path / "data").plot(x="ue[0].count")
    ((_, x, y),) = points(figure.axes[0])
    settings = frame.select("ue[0].count", "rlc.queue.buffer").unique()
    assert len(x) == len(y) == settings.height > 3
    assert figure.axes[0].lines[0].get_linestyle() == "None"


def test_of_thirty_lines_only_some_are_named(tmp_path: Path) -> None:
    base = Scenario.from_toml(SMALL).with_(duration="50ms")
    grid = {"tcp.mss": list(range(500, 530)), "ue[0].count": [1, 2]}
    sweep(base, grid=grid, out=tmp_path / "data")
    figure = Sweep.load(tmp_path / "data").plot("throughput_kbps", x="ue[0].count", by=["tcp.mss"])
    names = legend(figure.axes[0])
    assert (len(points(figure.axes[0])), len(names), names[-1]) == (30, 13, "and 18 more")
    assert figure.get_figheight() > style.new_figure().get_figheight(), "the legend does not shrink the axes"


# The command line.


def test_pictures_are_vector_graphics_with_embedded_fonts(
    cli: Cli, folder: Path, web: Run, tmp_path: Path
) -> None:
    web.save(tmp_path / "web")
    commands: dict[str, tuple[str | Path, ...]] = {
        "series": ("web", "--quantity", "rate_kbps", "--flow", "bulk", "--mean", "200ms", "--width", "page"),
        "cdf": ("web", "--quantity", "delay_ms", "--log", "--width", "column"),
        "compare": ("web", "--height", "2"),
        "sweep": (folder, "--where", "ue[0].count=3", "--width", "column"),
    }
    for name, options in commands.items():
        for out in (f"{name}.pdf", f"{name}.svg", f"{name}-again.pdf"):
            done = cli("plot", name, *options, "-o", out)
            assert (done.returncode, done.stdout, done.stderr) == (0, f"picture: {out}\n", ""), name
        page = (tmp_path / f"{name}.pdf").read_bytes()
        assert page == (tmp_path / f"{name}-again.pdf").read_bytes()
        assert b"/FontFile2" in page, "the font is embedded as TrueType"
        assert b"/Type3" not in page
        assert b"/Subtype /Image" not in page
    # A point is 1/72 of an inch.
    assert b"/MediaBox [ 0 0 252 " in (tmp_path / "cdf.pdf").read_bytes()
    assert 'width="515.52pt"' in (tmp_path / "series.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("series", "bare"), 'no series `delay_ms`; there are none: run with series="10ms"'),
        (("series", "run", "--quantity", "delay"), "no series `delay`; there are cwnd_bytes"),
        (("series", "run", "--flow", "x"), "no flow `x`; there are "),
        (("series", "run", "--mean", "1"), "--mean: `1` needs a unit"),
        (("series", "run", "--mean", "0s"), "mean over 0.0 s: expected a time above zero"),
        (
            ("series", "run", "--width", "wide"),
            "--width wide: expected column, page, or inches between 1",
        ),
        (("series", "run", "--width", "nan"), "--width nan: expected column, page"),
        (("cdf", "bare"), "no transfer or page was completed; groups with completions: none"),
        (("cdf", "bare", "--quantity", "rate_kbps"), "a run with time series has more"),
        (("compare", "run", "run"), "run: named twice"),
        (("compare", "nowhere"), "nowhere: No such file or directory"),
        (("sweep", "run"), "run/manifest.json: not the manifest of a sweep"),
        (("sweep", "nowhere"), "nowhere: not the folder of a sweep, it has no manifest.json"),
        (("sweep", "data", "--y", "delay_ms"), "no column `delay_ms`; it is called `delay_ms_mean` now"),
        (("sweep", "data", "--x", "ue[0].cout"), "x ue[0].cout: not a swept key; there are flow[0].rwnd, "),
        (("sweep", "data", "--by", "seed"), "by seed: not a swept key"),
        (("sweep", "data", "--x", "ue[0].count", "--by", "ue[0].count"), "the key is already used"),
        (
            ("sweep", "data", "--by", "flow[0].rwnd", "--x", "ue[0].count"),
            "rlc.queue.buffer has several values",
        ),
        (("sweep", "data", "--where", "ue[0].count"), "--where ue[0].count: expected KEY=VALUE"),
        (("sweep", "data", "--where", "ue[0].count=2"), "where ue[0].count=2: no such value; there are 1, 3"),
        (
            ("sweep", "data", "-o", "sweep.gif"),
            "sweep.gif: the name of a picture must end in .svg, .pdf, .png",
        ),
        (("sweep", "torn"), "torn: the tables of the sweep cannot be read"),
    ],
)
def test_an_error_is_one_line(
    cli: Cli, folder: Path, tmp_path: Path, web: Run, arguments: tuple[str, ...], message: str
) -> None:
    web.save(tmp_path / "run")
    Scenario.from_toml(SMALL).with_(duration="50ms").run().save(tmp_path / "bare")
    (tmp_path / "data").symlink_to(folder)
    (tmp_path / "torn").mkdir()
    (tmp_path / "torn" / "manifest.json").write_bytes((folder / "manifest.json").read_bytes())
    done = cli("plot", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr
