"""``airwnd city``."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import click

from airwnd.support.errors import InputError

# Metres of each unit.
_LENGTHS = {"km": 1e3, "m": 1.0}


@click.command()
@click.option(
    "--rings",
    type=click.IntRange(0, 10),
    metavar="N",
    help="Rings of sites around the first: 1 for 7 sites, 2 (default) for 19.",
)
@click.option(
    "--area",
    metavar="AREA",
    help="Area to cover, as in 25km2, instead of --rings.",
)
@click.option(
    "--spacing",
    default="500m",
    show_default=True,
    metavar="LENGTH",
    help="Inter-site distance of the grid.",
)
@click.option(
    "--sites",
    type=click.Path(path_type=Path),
    metavar="FILE.csv",
    help="Sites of a CSV file instead of a grid: columns lat and lon or x_m and y_m, or a list of cells of "
    "OpenCelliD or Mozilla, also as .gz.",
)
@click.option(
    "--centre",
    metavar="LAT,LON",
    help="Centre of the city, or X,Y in metres, as in the file; default: the mean of the sites.",
)
@click.option(
    "--radius",
    metavar="LENGTH",
    help="Leave out sites of the file beyond this distance from the centre.",
)
@click.option("--network", metavar="MCC-NET", help="Network to select from the file, as in 262-1.")
@click.option(
    "--radio",
    type=click.Choice(["LTE", "NR"], case_sensitive=False),
    help="Cells to select from the file; default: LTE if it has any, otherwise NR.",
)
@click.option(
    "--sectors", type=click.IntRange(1, 12), default=3, show_default=True, help="Sectors of each site."
)
@click.option(
    "--ues", type=click.IntRange(1), default=1000, show_default=True, help="Active UEs in the busiest hour."
)
@click.option(
    "--hour",
    type=click.IntRange(0, 23),
    help="Hour of the day, which scales the number of UEs; default: the busiest.",
)
@click.option(
    "--movement", metavar="SHARES", help="Shares of UEs, as in still=87,walking=7,driving=6 (the default)."
)
@click.option(
    "--traffic", metavar="SHARES", help="Shares of UEs, as in web=40,video=40,file=20,bulk=0 (the default)."
)
@click.option(
    "--duration", default="10s", show_default=True, metavar="TIME", help="Duration of the scenario."
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**63 - 1),
    default=1,
    show_default=True,
    help="Seed of the positions, and the scenario's seed.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE.toml",
    help="Output file; default: standard output.",
)
def city(
    rings: int | None,
    area: str | None,
    spacing: str,
    sites: Path | None,
    centre: str | None,
    radius: str | None,
    network: str | None,
    radio: str | None,
    sectors: int,
    ues: int,
    hour: int | None,
    movement: str | None,
    traffic: str | None,
    duration: str,
    seed: int,
    out: Path | None,
) -> None:
    """Make the scenario of a city: sites, UEs and their traffic at an hour of the day.

    UEs stay, walk or drive, and browse, watch video or transfer files, with published shares. The scenario is
    printed, or written to a file for `airwnd run`.
    """
    from airwnd.scenario.cities import Plan
    from airwnd.scenario.cities.day import BUSIEST
    from airwnd.scenario.scenario import Scenario
    from airwnd.support.files import check_file, source_name, write_atomically

    if out:
        check_file(out)
    plan = Plan(
        rings=rings,
        area_km2=None if area is None else _number("--area", area, {"km2": 1.0}),
        spacing_m=_number("--spacing", spacing, _LENGTHS),
        sites=sites,
        centre=None if centre is None else _pair(centre),
        radius_m=None if radius is None else _number("--radius", radius, _LENGTHS),
        network=network,
        radio=radio,
        sectors=sectors,
        ues=ues,
        hour=BUSIEST if hour is None else hour,
        movement=None if movement is None else _shares("--movement", movement),
        traffic=None if traffic is None else _shares("--traffic", traffic),
        duration=duration,
        seed=seed,
    )
    made, left_out = plan.made()
    if left_out:
        click.echo(f"{source_name(sites or Path())}: left out: {left_out}", err=True)
    scenario = Scenario.from_toml(made, str(out) if out else "city")
    if not out:
        click.echo(made, nl=False)
        return
    write_atomically(out, made)
    click.echo(f"{out}: {scenario.name}")


def _number(option: str, text: str, units: Mapping[str, float]) -> float:
    """Read a number with one of the units; the longer unit comes first."""
    for unit, factor in units.items():
        if text.endswith(unit):
            with suppress(ValueError):
                return float(text.removesuffix(unit)) * factor
    raise InputError(f"{option} {text}: expected a number with its unit, {' or '.join(units)}")


def _pair(text: str) -> tuple[float, float]:
    try:
        first, second = map(float, text.split(","))
    except ValueError:
        raise InputError(f"--centre {text}: expected two numbers, as in --centre 52.52,13.40") from None
    return first, second


def _shares(option: str, text: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for part in text.split(","):
        name, _, share = part.partition("=")
        try:
            value = float(share)
        except ValueError:
            raise InputError(f"{option} {text}: expected NAME=SHARE, separated by commas") from None
        if name.strip() in found:
            raise InputError(f"{option} {text}: {name.strip()} is given twice")
        found[name.strip()] = value
    return found
