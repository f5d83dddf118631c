"""``airwnd plot``: pictures for papers."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from airwnd.cli.options import PROGRESS, SET, bar, load
from airwnd.errors import InputError
from airwnd.style import figure_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from matplotlib.figure import Figure

    from airwnd.run import Run

SOURCE = click.argument("source", metavar="FILE|RUN", type=click.Path(path_type=Path))
SEED = click.option("--seed", type=click.IntRange(0, 2**64 - 1), help="Another seed than the scenario's.")


def _out(default: str) -> "Callable[[Any], Any]":
    return click.option(
        "-o",
        "--out",
        type=click.Path(path_type=Path),
        metavar="PICTURE",
        default=default,
        show_default=True,
        help="Where the picture goes: .svg, .pdf or .png.",
    )


@click.group()
def plot() -> None:
    """Draw a picture of a scenario or a run."""


@plot.command("map")
@SOURCE
@SET
@SEED
@click.option(
    "--quantity",
    type=click.Choice(["sinr", "rsrp", "cell", "uplink", "uplink-carrier"]),
    default="sinr",
    show_default=True,
    help="What the colours show: SINR with all cells at full load, RSRP of the best cell, or which it is; "
    "SINR of the uplink at its narrowest grant or over the whole carrier, without interference.",
)
@click.option("--points", type=int, default=300, show_default=True, help="Points along the longer side.")
@click.option(
    "--extent",
    metavar="W,E,S,N",
    help="The area in metres, as in --extent=-500,500,-400,400; sites and terminals lie inside by default.",
)
@click.option(
    "--height", type=float, metavar="METRES", help="Height above ground; that of the first group by default."
)
@_out("map.svg")
def map_(
    source: Path,
    settings: tuple[str, ...],
    seed: int | None,
    quantity: str,
    points: int,
    extent: str | None,
    height: float | None,
    out: Path,
) -> None:
    """Draw what is heard where, with sites, terminals and their paths.

    FILE is a scenario; RUN a run's folder, of which scenario and seed are taken.
    """
    from airwnd.plots.save import check

    check(out)
    area = None if extent is None else _area(extent)
    if source.is_dir():
        from airwnd.scenario import Scenario

        run = _stored(source, settings, seed)
        scenario, seed = Scenario.from_dict(run.scenario), run.seed
    else:
        scenario = load(source, settings)
    radio = scenario.radio_map(points, area, height, seed)
    _save(figure_of(radio.plot(quantity)), out)


@plot.command()
@SOURCE
@SET
@SEED
@click.option("--cell", type=int, default=0, show_default=True, help="Whose PRBs.")
@click.option("--from", "begin", metavar="TIME", help="Begin of the window, as in 1s.")
@click.option("--to", "end", metavar="TIME", help="End of the window, as in 1.1s.")
@_out("prbs.svg")
@PROGRESS
def prbs(
    source: Path,
    settings: tuple[str, ...],
    seed: int | None,
    cell: int,
    begin: str | None,
    end: str | None,
    out: Path,
    progress: bool | None,
) -> None:
    """Draw who got which PRBs in each TTI of a window of time.

    FILE is a scenario, which is run; RUN the folder of a run that was made with --allocations.
    """
    from airwnd.engine import window
    from airwnd.plots.save import check

    check(out)
    if (begin is None) != (end is None):
        raise click.UsageError("--from and --to go together.", click.get_current_context())
    asked = None if begin is None or end is None else (begin, end)
    if asked is None and not source.is_dir():
        raise InputError(f"{source}: a scenario needs a window, as in --from 1s --to 1.1s")
    run = _run(source, settings, seed, progress, allocations=asked)
    window_s = None
    if asked is not None:
        begin_ns, end_ns = window(*asked)
        window_s = begin_ns / 1e9, end_ns / 1e9
    _save(figure_of(run.plot_prbs(cell, window_s)), out)


@plot.command()
@SOURCE
@SET
@SEED
@click.option("--flow", metavar="ID", help="Whose timeline, as in flow-0; the first flow's by default.")
@click.option(
    "--series",
    metavar="TIME",
    default="100ms",
    show_default=True,
    help="How often a scenario's run is sampled.",
)
@_out("timeline.svg")
@PROGRESS
def timeline(
    source: Path,
    settings: tuple[str, ...],
    seed: int | None,
    flow: str | None,
    series: str,
    out: Path,
    progress: bool | None,
) -> None:
    """Draw a flow's way through cells and queues over time.

    FILE is a scenario, which is run; RUN the folder of a run that was made with --series.
    """
    from airwnd.plots.save import check

    check(out)
    run = _run(source, settings, seed, progress, series=series)
    _save(run.plot_timeline(flow), out)


@plot.command()
@click.argument("sources", metavar="FILE|RUN...", nargs=-1, required=True, type=click.Path(path_type=Path))
@SET
@SEED
@click.option(
    "--group",
    "groups",
    metavar="ID",
    multiple=True,
    help="Only this group of flows; may be repeated. All in which something was completed by default.",
)
@click.option("--log", "logarithmic", is_flag=True, help="A logarithmic axis of time.")
@_out("fct.svg")
@PROGRESS
def fct(
    sources: tuple[Path, ...],
    settings: tuple[str, ...],
    seed: int | None,
    groups: tuple[str, ...],
    logarithmic: bool,
    out: Path,
    progress: bool | None,
) -> None:
    """Draw which part of the transfers and pages took how long.

    FILE is a scenario, which is run; RUN the folder of a run. Several are drawn into one picture.
    """
    from airwnd.plots.fct import plot_fct
    from airwnd.plots.save import check

    check(out)
    runs = {str(source): _run(source, settings, seed, progress) for source in sources}
    _save(figure_of(plot_fct(runs, groups=groups, logarithmic=logarithmic)), out)


def _run(
    source: Path, settings: tuple[str, ...], seed: int | None, progress: bool | None, **records: "Any"
) -> "Run":
    """Read a run's folder, or run a scenario with what the picture needs."""
    if source.is_dir():
        return _stored(source, settings, seed)
    scenario = load(source, settings)
    with bar(scenario.name, progress) as tell:
        return scenario.run(seed, progress=tell, **records)


def _stored(folder: Path, settings: tuple[str, ...], seed: int | None) -> "Run":
    if settings or seed is not None:
        told = "--set and --seed are for scenarios; a run's folder has been run."
        raise click.UsageError(told, click.get_current_context())
    from airwnd.run import Run

    return Run.load(folder)


def _area(text: str) -> tuple[float, float, float, float]:
    try:
        west, east, south, north = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(
            f"extent: `{text}` is no area; expected WEST,EAST,SOUTH,NORTH in metres, as in -500,500,-400,400"
        ) from None
    return west, east, south, north


def _save(figure: "Figure", out: Path) -> None:
    from airwnd.plots.save import save

    save(figure, out)
    click.echo(f"picture: {out}")
