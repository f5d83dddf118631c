"""``airwnd plot``: figures for papers."""

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from airwnd.cli import completion
from airwnd.cli.options import PROGRESS, SEED, SET, Commands, FiniteRange, bar, code_options, load, pairs
from airwnd.plots.style import WIDTH, WIDTHS, Size, figure_of
from airwnd.support.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Literal

    from matplotlib.figure import Figure

    from airwnd.plugins.permission import CodePolicy
    from airwnd.scenario.run import Run

SOURCE = click.argument("source", metavar="FILE|RUN", type=click.Path(path_type=Path))
SOURCES = click.argument(
    "sources", metavar="FILE|RUN...", nargs=-1, required=True, type=click.Path(path_type=Path)
)

SERIES = click.option(
    "--series",
    metavar="TIME",
    default="100ms",
    show_default=True,
    help="Sampling interval of the time series when a scenario is run.",
)
GROUPS = click.option(
    "--group",
    "groups",
    metavar="ID",
    multiple=True,
    shell_complete=completion.groups,
    help="Group of flows to draw; may be repeated. Default: all groups that have values.",
)
GROUP = click.option(
    "--group",
    metavar="ID",
    shell_complete=completion.groups,
    help="Group of flows whose results are drawn; default: all flows. The picture names them if they are of "
    "several groups.",
)
LABEL = click.option(
    "--label",
    metavar="VALUE=NAME",
    multiple=True,
    help="Name of a swept key or of one of its values in the picture, as in --label cubic=CUBIC; may be "
    "repeated.",
)
WHERE = click.option(
    "--where",
    metavar="KEY=VALUE",
    multiple=True,
    shell_complete=completion.swept,
    help="Draw only runs with this value; may be repeated.",
)
LINES_BY = click.option(
    "--by",
    metavar="KEY",
    multiple=True,
    shell_complete=completion.swept,
    help="Of a sweep, draw a line for each value of this swept key; may be repeated. Default: the first with "
    "several values.",
)
LOG = click.option("--log", "logarithmic", is_flag=True, help="Draw the quantity on a logarithmic axis.")

_MIN_IN, _MAX_IN = 1.0, 40.0


def size_options(command: "Callable[..., Any]") -> "Callable[..., Any]":
    """Add the options for the size of a picture."""
    width = click.option(
        "--width",
        metavar="column|page|INCHES",
        help="Width of the picture: column (3.5 in) or page (7.16 in) of a two-column journal, or inches.",
    )
    height = click.option(
        "--height",
        type=FiniteRange(_MIN_IN, _MAX_IN),
        metavar="INCHES",
        help="Height of the picture; default: set by its kind.",
    )
    return width(height(command))


def _out(default: str) -> "Callable[[Any], Any]":
    return click.option(
        "-o",
        "--out",
        type=click.Path(path_type=Path),
        metavar="PICTURE",
        default=default,
        show_default=True,
        help="Output file; .svg, .pdf or .png selects the format.",
    )


@click.group(cls=Commands)
def plot() -> None:
    """Plot scenarios, runs and sweeps."""


@plot.command("map")
@SOURCE
@SET
@SEED
@click.option(
    "--quantity",
    type=click.Choice(["sinr", "rsrp", "cell", "uplink", "uplink-carrier"]),
    default="sinr",
    show_default=True,
    help="sinr: SINR with all cells at full load. rsrp: RSRP of the best cell. cell: the best cell. uplink, "
    "uplink-carrier: uplink SINR without interference, at the narrowest grant or over the whole carrier.",
)
@click.option("--points", type=int, default=300, show_default=True, help="Points along the longer side.")
@click.option(
    "--extent",
    metavar="W,E,S,N",
    help="Area in metres, as in --extent=-500,500,-400,400; default: an area with all sites and UEs.",
)
@click.option(
    "--height", type=float, metavar="METRES", help="Height above ground; default: that of the first UE group."
)
@_out("map.svg")
@code_options
def map_(
    source: Path,
    settings: tuple[str, ...],
    seed: int | None,
    quantity: str,
    points: int,
    extent: str | None,
    height: float | None,
    policy: "CodePolicy",
    out: Path,
) -> None:
    """Draw a radio map with sites, UEs and their paths.

    FILE is a scenario. RUN is the folder of a run, which provides scenario and seed.
    """
    from airwnd.plots.save import check

    check(out)
    area = None if extent is None else _area(extent)
    if source.is_dir():
        from airwnd.scenario.scenario import Scenario

        run = _stored(source, settings, seed)
        scenario, seed = Scenario(json.dumps(run.scenario), "scenario", "json", policy=policy), run.seed
    else:
        scenario = load(source, settings, policy)
    radio = scenario.radio_map(points, area, height, seed)
    _save(figure_of(radio.plot(quantity)), out)


@plot.command()
@SOURCE
@SET
@SEED
@click.option("--cell", type=int, default=0, show_default=True, help="Cell to plot.")
@click.option(
    "--carrier", type=int, default=0, show_default=True, help="Component carrier to plot; 0: the primary one."
)
@click.option("--from", "begin", metavar="TIME", help="Beginning of the window, as in 1s.")
@click.option("--to", "end", metavar="TIME", help="End of the window, as in 1.1s.")
@_out("prbs.svg")
@code_options
@PROGRESS
def prbs(
    source: Path,
    settings: tuple[str, ...],
    seed: int | None,
    cell: int,
    carrier: int,
    begin: str | None,
    end: str | None,
    out: Path,
    policy: "CodePolicy",
    progress: bool | None,
) -> None:
    """Draw the downlink PRB allocation of each slot (LTE: TTI) in a time window.

    FILE is a scenario to run. RUN is the folder of a run recorded with --allocations.
    """
    from airwnd.plots.save import check
    from airwnd.results.engine import window

    check(out)
    if (begin is None) != (end is None):
        raise click.UsageError("--from and --to must be given together.", click.get_current_context())
    requested = None if begin is None or end is None else (begin, end)
    if requested is None and not source.is_dir():
        raise InputError(f"{source}: a scenario needs a window, as in --from 1s --to 1.1s")
    run = _run(source, settings, seed, policy, progress, allocations=requested)
    window_s = None
    if requested is not None:
        begin_ns, end_ns = window("allocations", *requested)
        window_s = begin_ns / 1e9, end_ns / 1e9
    _save(figure_of(run.plot_prbs(cell, window_s, carrier=carrier)), out)


@plot.command()
@SOURCE
@SET
@SEED
@click.option("--flow", metavar="ID", help="Flow to plot, as in flow-0; default: the first.")
@SERIES
@_out("timeline.svg")
@code_options
@PROGRESS
def timeline(
    source: Path,
    settings: tuple[str, ...],
    seed: int | None,
    flow: str | None,
    series: str,
    out: Path,
    policy: "CodePolicy",
    progress: bool | None,
) -> None:
    """Draw cell, radio, queue, air rate, delay and window of a flow over time.

    FILE is a scenario to run. RUN is the folder of a run recorded with --series.
    """
    from airwnd.plots.save import check

    check(out)
    run = _run(source, settings, seed, policy, progress, series=series)
    _save(run.plot_timeline(flow), out)


@plot.command()
@click.argument("source", metavar="FILE|RUN|SWEEP", type=click.Path(path_type=Path))
@SET
@SEED
@click.option(
    "--quantity",
    metavar="COLUMN",
    default="delay_ms",
    show_default=True,
    shell_complete=completion.columns("series"),
    help="Column of the time series, as in cwnd_bytes; `airwnd explain series` lists them.",
)
@click.option(
    "--flow",
    "flows",
    metavar="ID",
    multiple=True,
    shell_complete=completion.groups,
    help="Flow or group of flows to draw; may be repeated. Default: all; more than 12 are drawn as a band, "
    "and those of a sweep as their mean.",
)
@LINES_BY
@WHERE
@LABEL
@click.option("--mean", metavar="TIME", help="Average over windows of this length before drawing, as in 1s.")
@SERIES
@size_options
@_out("series.svg")
@code_options
@PROGRESS
def series(
    source: Path,
    settings: tuple[str, ...],
    seed: int | None,
    quantity: str,
    flows: tuple[str, ...],
    by: tuple[str, ...],
    where: tuple[str, ...],
    label: tuple[str, ...],
    mean: str | None,
    series: str,
    width: str | None,
    height: float | None,
    out: Path,
    policy: "CodePolicy",
    progress: bool | None,
) -> None:
    """Draw a column of the time series: a line per flow, or a band over many flows.

    FILE is a scenario to run. RUN is the folder of a run recorded with --series. SWEEP is that of a sweep
    recorded with --series: it has a line per value of a swept key, the mean over flows and seeds, in a band,
    the 95 % confidence interval over the seeds.
    """
    from airwnd.plots.save import check
    from airwnd.results.engine import duration_ns
    from airwnd.results.sweep import is_sweep

    check(out)
    size = _size(width, height)
    mean_s = None if mean is None else duration_ns("--mean", mean) / 1e9
    if is_sweep(source):
        from airwnd.study.sweep import Sweep

        _refuse_settings(settings, seed)
        figure = Sweep.load(source).plot_series(
            quantity,
            by=by or None,
            flows=flows,
            where=pairs("where", where),
            labels=pairs("label", label),
            mean_s=mean_s,
            size=size,
        )
        _save(figure, out)
        return
    _refuse_keys(by, where, label)
    run = _run(source, settings, seed, policy, progress, series=series)
    _save(figure_of(run.plot(quantity, flows=flows, mean_s=mean_s, size=size)), out)


@plot.command()
@click.argument(
    "sources", metavar="FILE|RUN|SWEEP...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@SET
@SEED
@click.option(
    "--quantity",
    metavar="COLUMN",
    default="fct_s",
    show_default=True,
    shell_complete=completion.columns("completions", "flows", "series"),
    help="Column of completions (as fct_s), flows (as goodput_kbps) or the time series (as delay_ms).",
)
@GROUPS
@LINES_BY
@WHERE
@LABEL
@LOG
@SERIES
@size_options
@_out("cdf.svg")
@code_options
@PROGRESS
def cdf(
    sources: tuple[Path, ...],
    settings: tuple[str, ...],
    seed: int | None,
    quantity: str,
    groups: tuple[str, ...],
    by: tuple[str, ...],
    where: tuple[str, ...],
    label: tuple[str, ...],
    logarithmic: bool,
    series: str,
    width: str | None,
    height: float | None,
    out: Path,
    policy: "CodePolicy",
    progress: bool | None,
) -> None:
    """Draw cumulative distributions (CDFs): a line per run and group of flows.

    FILE is a scenario to run. RUN is the folder of a run. SWEEP is that of a sweep: it has a line per value
    of a swept key, the mean of the distributions of the seeds, in a band, its 95 % confidence interval.
    """
    from airwnd.plots.cdf import plot_cdf
    from airwnd.plots.save import check
    from airwnd.results.sweep import is_sweep

    check(out)
    size = _size(width, height)
    if len(sources) == 1 and is_sweep(sources[0]):
        from airwnd.study.sweep import Sweep

        _refuse_settings(settings, seed)
        figure = Sweep.load(sources[0]).plot_cdf(
            quantity,
            by=by or None,
            groups=groups,
            where=pairs("where", where),
            labels=pairs("label", label),
            logarithmic=logarithmic,
            size=size,
        )
        _save(figure, out)
        return
    _refuse_keys(by, where, label)
    runs = _runs(sources, settings, seed, policy, progress, series=series)
    _save(figure_of(plot_cdf(runs, quantity, groups=groups, logarithmic=logarithmic, size=size)), out)


@plot.command()
@SOURCES
@SET
@SEED
@GROUPS
@LOG
@_out("fct.svg")
@code_options
@PROGRESS
def fct(
    sources: tuple[Path, ...],
    settings: tuple[str, ...],
    seed: int | None,
    groups: tuple[str, ...],
    logarithmic: bool,
    out: Path,
    policy: "CodePolicy",
    progress: bool | None,
) -> None:
    """Draw the distribution of completion times (FCT) of transfers and pages.

    FILE is a scenario to run. RUN is the folder of a run. Several are drawn into one picture.
    """
    from airwnd.plots.cdf import plot_fct
    from airwnd.plots.save import check

    check(out)
    runs = _runs(sources, settings, seed, policy, progress)
    _save(figure_of(plot_fct(runs, groups=groups, logarithmic=logarithmic)), out)


@plot.command()
@SOURCES
@SET
@SEED
@GROUP
@size_options
@_out("compare.svg")
@code_options
@PROGRESS
def compare(
    sources: tuple[Path, ...],
    settings: tuple[str, ...],
    seed: int | None,
    group: str | None,
    width: str | None,
    height: float | None,
    out: Path,
    policy: "CodePolicy",
    progress: bool | None,
) -> None:
    """Compare throughput, delay, fairness and packet delivery of runs side by side.

    FILE is a scenario to run. RUN is the folder of a run.
    """
    from airwnd.plots.compare import plot_compare
    from airwnd.plots.save import check

    check(out)
    size = _size(width, height)
    _save(plot_compare(_runs(sources, settings, seed, policy, progress), group=group, size=size), out)


@plot.command()
@click.argument("folder", metavar="FOLDER", type=click.Path(path_type=Path))
@click.option(
    "--x",
    metavar="KEY",
    shell_complete=completion.swept,
    help="Swept key on the horizontal axis; default: the numeric one with the most values.",
)
@click.option(
    "--y",
    metavar="COLUMN",
    default="delay_ms_mean",
    show_default=True,
    shell_complete=completion.columns("totals", "flows"),
    help="Column of runs.parquet, or of flows.parquet (averaged over the flows of each run); with a table, "
    "as in flows.delay_ms_mean, only of that one.",
)
@click.option(
    "--by",
    metavar="KEY",
    multiple=True,
    shell_complete=completion.swept,
    help="Draw a line for each value of this swept key; may be repeated. Default: the first remaining key.",
)
@click.option(
    "--facet",
    metavar="KEY",
    shell_complete=completion.swept,
    help="Draw a panel for each value of this swept key; default: the second remaining key.",
)
@WHERE
@GROUP
@LABEL
@click.option(
    "--x-scale",
    type=click.Choice(["auto", "linear", "log"]),
    default="auto",
    show_default=True,
    help="Scale of the horizontal axis; auto: logarithmic if the values spread unevenly over a decade.",
)
@click.option(
    "--y-scale",
    type=click.Choice(["linear", "log"]),
    default="linear",
    show_default=True,
    help="Scale of the vertical axis.",
)
@size_options
@_out("sweep.svg")
def sweep(
    folder: Path,
    x: str | None,
    y: str,
    by: tuple[str, ...],
    facet: str | None,
    where: tuple[str, ...],
    group: str | None,
    label: tuple[str, ...],
    x_scale: "Literal['auto', 'linear', 'log']",
    y_scale: "Literal['linear', 'log']",
    width: str | None,
    height: float | None,
    out: Path,
) -> None:
    """Draw a result over a swept key: mean and 95 % confidence interval over the seeds.

    FOLDER is a data set written by `airwnd sweep FILE --out FOLDER`.
    """
    from airwnd.plots.save import check
    from airwnd.study.sweep import Sweep

    check(out)
    size = _size(width, height)
    figure = Sweep.load(folder).plot(
        y,
        x=x,
        by=by or None,
        facet=facet,
        where=pairs("where", where),
        group=group,
        labels=pairs("label", label),
        x_scale=x_scale,
        y_scale=y_scale,
        size=size,
    )
    _save(figure, out)


@plot.command()
@click.argument("folder", metavar="FOLDER", type=click.Path(path_type=Path))
@click.option(
    "--by",
    metavar="KEY",
    multiple=True,
    shell_complete=completion.swept,
    help="Draw a point for each value of this swept key; may be repeated. Default: the first with several "
    "values.",
)
@click.option(
    "--x",
    metavar="COLUMN",
    default="delay_ms_mean",
    show_default=True,
    shell_complete=completion.columns("totals", "flows"),
    help="Column on the horizontal axis.",
)
@click.option(
    "--y",
    metavar="COLUMN",
    default="goodput_kbps",
    show_default=True,
    shell_complete=completion.columns("totals", "flows"),
    help="Column on the vertical axis.",
)
@WHERE
@LABEL
@GROUP
@click.option(
    "--spread",
    type=click.Choice(["interval", "deviation"]),
    default="interval",
    show_default=True,
    help="interval: 95 % confidence interval of each mean. deviation: ellipse of one standard deviation of "
    "the runs.",
)
@click.option(
    "--x-scale",
    type=click.Choice(["auto", "linear", "log"]),
    default="auto",
    show_default=True,
    help="Scale of the horizontal axis; auto: logarithmic if the values spread unevenly over a decade.",
)
@size_options
@_out("frontier.svg")
def frontier(
    folder: Path,
    by: tuple[str, ...],
    x: str,
    y: str,
    where: tuple[str, ...],
    label: tuple[str, ...],
    group: str | None,
    spread: "Literal['interval', 'deviation']",
    x_scale: "Literal['auto', 'linear', 'log']",
    width: str | None,
    height: float | None,
    out: Path,
) -> None:
    """Draw throughput against delay: a point for each value of a swept key, the mean over the seeds.

    FOLDER is a data set written by `airwnd sweep FILE --seeds N --out FOLDER`.
    """
    from airwnd.plots.save import check
    from airwnd.study.sweep import Sweep

    check(out)
    figure = Sweep.load(folder).plot_frontier(
        by or None,
        x,
        y,
        group=group,
        where=pairs("where", where),
        labels=pairs("label", label),
        spread=spread,
        x_scale=x_scale,
        size=_size(width, height),
    )
    _save(figure, out)


def _size(width: str | None, height: float | None) -> Size | None:
    """Return width and height in inches; ``None``: the default of the kind of picture."""
    if width is None and height is None:
        return None
    try:
        inches = WIDTH if width is None else WIDTHS.get(width) or float(width)
    except ValueError:
        inches = math.nan
    if not _MIN_IN <= inches <= _MAX_IN:
        allowed = f"{', '.join(WIDTHS)}, or inches between {_MIN_IN:g} and {_MAX_IN:g}"
        raise InputError(f"--width {width}: expected {allowed}")
    return inches, height


def _runs(
    sources: tuple[Path, ...],
    settings: tuple[str, ...],
    seed: int | None,
    policy: "CodePolicy",
    progress: bool | None,
    **records: "Any",
) -> "dict[str, Run]":
    """Read run folders and run scenarios; each run is keyed by its path."""
    twice = next((source for place, source in enumerate(sources) if source in sources[:place]), None)
    if twice is not None:
        raise InputError(f"{twice}: named twice")
    return {str(source): _run(source, settings, seed, policy, progress, **records) for source in sources}


def _run(
    source: Path,
    settings: tuple[str, ...],
    seed: int | None,
    policy: "CodePolicy",
    progress: bool | None,
    **records: "Any",
) -> "Run":
    """Read a run folder, or run a scenario with the records that the picture needs."""
    if source.is_dir():
        return _stored(source, settings, seed)
    scenario = load(source, settings, policy)
    with bar(scenario.name, progress) as update:
        return scenario.run(seed, progress=update, **records)


def _stored(folder: Path, settings: tuple[str, ...], seed: int | None) -> "Run":
    _refuse_settings(settings, seed)
    from airwnd.scenario.run import Run

    return Run.load(folder)


def _refuse_keys(by: tuple[str, ...], where: tuple[str, ...], label: tuple[str, ...]) -> None:
    for option, given in (("--by", by), ("--where", where), ("--label", label)):
        if given:
            message = f"{option} applies to the folder of a sweep."
            raise click.UsageError(message, click.get_current_context())


def _refuse_settings(settings: tuple[str, ...], seed: int | None) -> None:
    if settings or seed is not None:
        message = "--set and --seed apply to scenarios, not to the folder of a finished run."
        raise click.UsageError(message, click.get_current_context())


def _area(text: str) -> tuple[float, float, float, float]:
    try:
        west, east, south, north = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(
            f"extent: `{text}` is not an area; expected WEST,EAST,SOUTH,NORTH in metres, "
            "as in -500,500,-400,400"
        ) from None
    return west, east, south, north


def _save(figure: "Figure", out: Path) -> None:
    from airwnd.plots.save import save

    save(figure, out)
    click.echo(f"picture: {out}")
