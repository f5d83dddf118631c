"""Scenarios of cities."""

import gzip
import json
import math
import tracemalloc
from collections import Counter
from pathlib import Path

import pytest

import airwnd
from airwnd import InputError, ScenarioError
from airwnd.scenario.cities import Plan
from airwnd.scenario.cities.people import Coverage
from airwnd.scenario.cities.sites import grid, places, read
from airwnd.view.plan import sites as sites_of

from .conftest import Cli

KNOWN = (
    "x_m, y_m, lat, lon, azimuth_deg, height_m, radio, mcc, net, area, cell, unit, range, samples, "
    "changeable, created, updated, averagesignal, mnc, lac, cid, psc"
)
CELLS = """\
radio,mcc,net,area,cell,unit,lon,lat
LTE,262,1,1,25600,0,13.400,52.520
LTE,262,1,1,25601,0,13.402,52.520
GSM,262,1,1,25,0,13.500,52.520
LTE,262,1,1,25856,0,13.412,52.525
LTE,262,2,1,25856,0,13.412,52.525
"""


def points(scenario: airwnd.Scenario) -> dict[str, list[tuple[float, float]]]:
    return {
        group["name"]: [
            (float(x.removesuffix("m")), float(y.removesuffix("m"))) for x, y in group["placement"]["points"]
        ]
        for group in scenario.resolved["ue"]
    }


def test_a_city_runs_and_all_ways_of_moving_and_all_applications_occur() -> None:
    run = airwnd.city(
        rings=0, ues=60, traffic={"web": 1, "video": 1, "file": 1, "bulk": 1}, duration="1s"
    ).run()
    moving = {name.partition("-")[0] for name in run.groups["group"]}
    using = {name.partition("-")[2] for name in run.groups["group"]}
    assert moving == {"still", "walking", "driving"}
    assert using == {"web", "video", "file", "bulk"}
    assert run.cells.height == 3
    assert run.totals["goodput_kbps"] > 0


def test_threads_do_not_change_the_results(cli: Cli) -> None:
    city = airwnd.city(rings=1, ues=60, movement={"driving": 1}, duration="1s")
    alone = city.run(series="100ms")
    beside = city.run(series="100ms", threads=3)
    assert alone.outcome == beside.outcome
    assert alone.series.equals(beside.series)
    assert alone.events.equals(beside.events)
    (other,) = city.run_many([city.seed], series="100ms", threads=2)
    assert other.outcome == alone.outcome
    assert (
        cli("city", "--rings", "1", "--ues", "60", "--duration", "1s", "--out", "city.toml").returncode == 0
    )
    printed = [cli("run", "city.toml", "--json", "--threads", threads).stdout for threads in ("1", "4")]
    figures = [json.loads(text) for text in printed]
    assert figures[0]["totals"] == figures[1]["totals"]


def test_the_same_seed_gives_the_same_text_and_another_seed_other_places() -> None:
    assert Plan(ues=50).toml() == Plan(ues=50).toml()
    assert Plan(ues=50).toml() != Plan(ues=50, seed=2).toml()


def test_positions_at_a_quiet_hour_begin_those_at_the_busiest() -> None:
    quiet, busy = points(airwnd.city(ues=300, hour=5)), points(airwnd.city(ues=300))
    assert quiet
    for name, found in quiet.items():
        assert busy[name][: len(found)] == found


def test_groups_have_the_published_shares() -> None:
    # Times between starts that are no whole microseconds must be rounded.
    airwnd.city(ues=7919, traffic={"web": 1, "video": 1, "bulk": 1}, rings=5)
    found = airwnd.city(ues=10_000).resolved
    counts = {group["name"]: group["count"] for group in found["ue"]}
    assert sum(counts.values()) == 10_000
    assert counts["still-web"] == 3480
    assert counts["driving-file"] == 120
    assert "still-bulk" not in counts


def test_ues_are_in_the_hexagon_of_a_site_and_evenly_distributed_among_sites() -> None:
    masts = grid(2, 500.0)
    every = [place for found in points(airwnd.city(rings=1, ues=5600)).values() for place in found]
    nearest = Counter(
        min(range(len(masts)), key=lambda index: math.dist(masts[index], place)) for place in every
    )
    # None is in the area of the next ring of sites, apart from rounding to decimetres.
    assert sum(nearest[index] for index in range(places(1), len(masts))) < 5
    # 800 expected at each site, standard deviation 26.
    assert all(680 < nearest[index] < 920 for index in range(places(1)))
    apart = [min(math.dist(mast, place) for mast in masts) for place in every]
    assert min(apart) > 34.9
    assert max(apart) < 500.1 / math.sqrt(3)


def test_a_mast_between_close_neighbours_gets_its_ues() -> None:
    close = [(0.0, 0.0), (20.0, 0.0), (-20.0, 0.0), (0.0, 20.0), (0.0, -20.0)]
    found = Coverage(close).points(50, "1")
    assert len(found) == 50
    assert all(min(math.dist(place, mast) for mast in close) > 10 for place in found)


def test_the_grid_is_that_of_the_engine() -> None:
    drawn = sites_of(airwnd.city(rings=3, ues=5).resolved)
    masts = grid(3, 500.0)
    assert [site["x"] for site in drawn] == pytest.approx([x for x, _ in masts])
    assert [site["y"] for site in drawn] == pytest.approx([y for _, y in masts], abs=1e-6)
    cells = airwnd.city(rings=1, ues=5).radio_map(points=2).cells
    assert cells["x_m"].to_list()[::3] == pytest.approx([x for x, _ in grid(1, 500.0)])
    assert cells["y_m"].to_list()[::3] == pytest.approx([y for _, y in grid(1, 500.0)], abs=1e-6)


def test_cells_of_opencellid_become_enbs_in_metres(tmp_path: Path) -> None:
    file = tmp_path / "cells.csv"
    file.write_text(CELLS)
    with pytest.raises(InputError, match="cells of 262-1, 262-2; select one network"):
        airwnd.city(sites=file)
    found = airwnd.city(sites=file, network="262-1", centre=(52.52, 13.401), ues=5).resolved["site"]
    assert found[0]["position"] == ["0m", "0m"]
    east, north = (float(text.removesuffix("m")) for text in found[1]["position"])
    # A minute of latitude is a nautical mile of 1852 m, within 0.5 % anywhere on the ellipsoid.
    assert north == pytest.approx(0.005 * 60 * 1852, rel=0.005)
    assert east == pytest.approx(0.011 * 60 * 1852 * math.cos(math.radians(52.52)), rel=0.006)


OPEN = "radio,mcc,net,area,cell,unit,lon,lat,range,samples,changeable,created,updated,averageSignal"
MOZILLA = "radio,mcc,mnc,lac,cid,psc,lon,lat,range,samples,changeable,created,updated,averageSignal"


def rows_of(radio: str, shift: int, stations: int = 4) -> list[str]:
    """Three cells of each base station, 1 km apart, whose cells are 50 m around them."""
    return [
        f"{radio},262,1,7,{(5000 + station) << shift | cell},9,{13 + station * 0.0147 + 0.0007 * cell:.4f},"
        f"{52 + (cell == 1) * 0.0004:.4f},1000,5,1,1415319088,1612345678,0"
        for station in range(stations)
        for cell in range(3)
    ]


ROWS = rows_of("LTE", 8)


@pytest.mark.parametrize(
    "data",
    [
        "\n".join([OPEN, *ROWS]).encode(),
        "\n".join([MOZILLA, *ROWS]).encode(),
        "\n".join(ROWS).encode(),
        "\r\n".join([OPEN.upper(), *ROWS, ""]).encode(),
        "\r".join([OPEN, *ROWS]).encode(),
        b"\xef\xbb\xbf" + "\n".join([MOZILLA, *ROWS]).encode(),
        "\n".join([OPEN, *ROWS]).replace(",", ";").encode(),
        "\n".join(ROWS).replace(",", "\t").encode(),
        "\n".join(['"' + line.replace(",", '","') + '"' for line in [OPEN, *ROWS]]).encode(),
        gzip.compress("\n".join([OPEN, *ROWS]).encode()),
        gzip.compress("\n".join(ROWS).encode()),
    ],
    ids=[
        *("OpenCelliD", "Mozilla", "no header", "CRLF", "CR", "byte order mark", "semicolons", "tabs"),
        *("quotes", "gzip", "gzip without header"),
    ],
)
def test_lists_of_cells_as_people_have_them(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "cells").write_bytes(data)
    found = read(tmp_path / "cells", None, None, None)
    assert (len(found.masts), found.radio, found.left_out) == (4, "LTE", "")
    # A thousandth of a degree of longitude is 68.7 m at 52 degrees.
    assert found.masts[1].x - found.masts[0].x == pytest.approx(14.7 * 68.7, rel=0.002)


def test_rows_without_a_place_or_of_other_radios_are_left_out_and_counted(cli: Cli, tmp_path: Path) -> None:
    zeros = rows_of("LTE", 8, 1)[0].replace("13.0000,52.0000", "0,0.0")
    other = [zeros, "GSM,262,1,7,12345,0,13,52,1,1,1,1,1,0", *rows_of("NR", 12, 1)]
    nowhere = [
        ROWS[0].replace("13.0000", ""),
        ROWS[1].replace("52.0004", "  "),
        ROWS[2].replace("52.0", "99"),
    ]
    (tmp_path / "cells.csv").write_text("\n".join([OPEN, *ROWS, *other, *nowhere]), encoding="ascii")
    done = cli("city", "--sites", "cells.csv", "--ues", "9")
    left_out = (
        "3 rows without coordinates, 1 row of GSM, 3 rows of NR, 1 row with mistakes, the first "
        "cells.csv:21: lat: expected -90 to 90, found 99000"
    )
    assert (done.returncode, done.stderr) == (0, f"cells.csv: left out: {left_out}\n")
    assert "# Sites: 4 eNBs, of 12 LTE cells in cells.csv.\n" in done.stdout
    assert f"# Left out: {left_out}.\n" in done.stdout


@pytest.mark.parametrize("bits", [24, 28, 32])
def test_nr_cells_become_gnbs_of_the_length_of_identities_that_fits(tmp_path: Path, bits: int) -> None:
    file = tmp_path / "cells.csv"
    file.write_text("\n".join([OPEN, *rows_of("NR", 36 - bits)]), encoding="ascii")
    found = read(file, None, None, None)
    assert (len(found.masts), found.radio) == (4, "NR")
    assert airwnd.city(sites=file, ues=5).resolved["radio"]["access"]["kind"] == "nr"


def test_a_radio_is_selected(tmp_path: Path) -> None:
    file = tmp_path / "cells.csv"
    file.write_text("\n".join([OPEN, *ROWS, *rows_of("NR", 12, 2)]), encoding="ascii")
    assert len(read(file, None, None, None, "LTE").masts) == 4
    assert len(read(file, None, None, None, "NR").masts) == 2
    with pytest.raises(InputError, match="radio: expected LTE or NR, found 5G"):
        airwnd.city(sites=file, radio="5G")


@pytest.mark.nightly
def test_the_list_of_a_country_takes_little_memory(tmp_path: Path) -> None:
    """The memory of 60 000 rows; a region keeps its own cells only."""
    file = tmp_path / "cells.csv.gz"
    with gzip.open(file, "wt", compresslevel=1) as text:
        for number in range(60_000):
            lon, lat = 6 + number % 300 / 30, 47 + number // 300 / 30
            text.write(f"LTE,262,1,7,{number << 8},9,{lon},{lat},1000,5,1,1415319088,1612345678,0\n")
    tracemalloc.start()
    found = read(file, (50.0, 10.0), 2000.0, None)
    _, maximum = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found.masts) == 1
    # All 60 000 base stations take 52 MB.
    assert maximum < 4e6


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (gzip.compress(("\n".join([*ROWS, ""]) * 99).encode())[:-200], r"damaged after line \d+: "),
        (gzip.compress(b"LTE," + b"1" * (2 << 20)), r":1: longer than 1,048,576 characters$"),
        (b"radio,\xff\n", r"not UTF-8 after line 0$"),
        (b"LTE,1,2\n", r":1: expected 14 fields, as without a header line$"),
    ],
)
def test_a_damaged_file_is_one_line(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "cells").write_bytes(data)
    with pytest.raises(InputError, match=message) as caught:
        read(tmp_path / "cells", None, None, None)
    assert "\n" not in str(caught.value)


def test_sites_in_metres_may_have_azimuth_and_height(tmp_path: Path) -> None:
    file = tmp_path / "sites.csv"
    file.write_text("x_m, y_m, azimuth_deg, height_m\n0,0,10,25\n600,0,,\n601,2,50,\n5000,0,,\n")
    found = airwnd.city(sites=file, centre=(0, 0), radius_m=1000, ues=5).resolved["site"]
    assert [site["position"] for site in found] == [["0m", "0m"], ["600m", "0m"]]
    assert (found[0]["azimuth"], found[0]["height"]) == ("10deg", "25m")
    assert (found[1]["azimuth"], found[1]["height"]) == ("30deg", "30m")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the header needs the columns x_m and y_m, or lat and lon, not both"),
        ("lat,lon,x_m,y_m\n1,1,1,1\n", "the header needs the columns x_m and y_m, or lat and lon, not both"),
        ("x_m,y_m,x_m\n1,2,3\n", ":1: the column x_m appears twice"),
        ("x_m,y_m\n1,2\n1\n", ":3: expected 2 fields, as in line 1"),
        ("x_m,y_m\n1,2,3\n", ":2: expected 2 fields, as in line 1"),
        (
            "x_m,y_m\n0,0\n4e6,0\n",
            ":2: 2,000 km from the centre; at most 1,000 km east and north are allowed; "
            "a radius leaves out distant sites",
        ),
        (
            "x_m,y_m\n" + "".join(f"{500 * index},0\n" for index in range(400)),
            ": 400 sites with 3 sectors each, 1,200 cells in all; at most 1,000 are allowed; "
            "a centre and a radius select sites",
        ),
        ("x_m,y_m\n", "there are no sites in the file"),
        ("x_m,y_m\n1,a\n", ":2: y_m: expected a number, found 'a'"),
        ("lat,lon\n91,0\n", ":2: lat: expected -90 to 90, found 91"),
        ("x_m,y_m,height_m\n1,2,-3\n", ":2: height_m: expected 0.1 to 1000, found -3"),
        ("mcc,net,lat,lon\nx,1,2,3\n", ":2: mcc: expected a number, found 'x'"),
        (
            "radio,cell,lat,lon\nGSM,1,2,3\n",
            "no row has LTE or NR in the column radio; left out: 1 row of GSM",
        ),
        ("mcc,net,lat,lon,cell\n1,2,3,4,5\n", "the columns radio and cell belong together"),
        ("lat;lon\n52,5;13,4\n", ":2: lon: expected a number, found '13,4'; decimals have a point"),
        ("latitude,lon\n1,2\n", f":1: unknown column 'latitude'; known: {KNOWN}"),
        ("52.5,13.4\n", f":1: there is no header line before the numbers; columns: {KNOWN}"),
        ("lat,lon\n1,\n", ":2: lon: expected a number, found ''"),
    ],
)
def test_a_wrong_file_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "sites.csv"
    file.write_text(text)
    with pytest.raises(InputError) as caught:
        airwnd.city(sites=file)
    assert str(caught.value).startswith(str(file))
    assert str(caught.value).endswith(message)


def test_too_many_cells_are_the_engines_error() -> None:
    with pytest.raises(ScenarioError, match="1986 cells in all; at most 1000 are allowed"):
        airwnd.city(rings=10, sectors=6)


def test_the_command_writes_a_scenario(cli: Cli, tmp_path: Path) -> None:
    done = cli("city", "--area", "1km2", "--ues", "9", "--hour", "5", "--out", "city.toml")
    assert done.stdout == "city.toml: city of 7 sites, 1 UE at 5:00\n"
    assert (tmp_path / "city.toml").read_text() == Plan(area_km2=1.0, ues=9, hour=5).toml()
    assert cli("check", "city.toml").returncode == 0
    printed = cli("city", "--rings", "1", "--spacing", "0.5km", "--movement", "driving=1", "--ues", "9")
    assert printed.stdout == Plan(rings=1, movement={"driving": 1.0}, ues=9).toml()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--spacing 3", "airwnd: --spacing 3: expected a number with its unit, km or m"),
        ("--spacing 0m", "airwnd: spacing: expected 1 to 100,000 m, found 0"),
        ("--area -1km2", "airwnd: area: expected square kilometres above 0, found -1"),
        ("--area 1e9km2", "airwnd: area: 1e+09 km2 need more than 10 rings of sites 500 m apart"),
        ("--area 1km2 --rings 1", "airwnd: area: rings are given, too; expected one of them"),
        ("--centre 1", "airwnd: --centre 1: expected two numbers, as in --centre 52.52,13.40"),
        ("--centre 1,2", "airwnd: centre: selects from a file of sites; there is none"),
        ("--sites a --rings 1", "airwnd: rings: belongs to a grid; the sites are those of a"),
        ("--sites missing.csv", "airwnd: missing.csv: No such file or directory"),
        ("--movement fly=1", "airwnd: movement: unknown 'fly'; expected still, walking, driving"),
        ("--traffic web=-1", "airwnd: traffic: web: expected a share of at least 0, found -1"),
        ("--traffic web=1,video=1,web=2", "airwnd: --traffic web=1,video=1,web=2: web is given twice"),
        ("--centre nan,1 --sites a", "airwnd: centre: expected finite numbers, found nan,1"),
        # Without an early check the positions of these UEs would be drawn first.
        ("--ues 100000000", "airwnd: ues: 100,000,000 active UEs at 21:00; at most 100,000 are allowed"),
        ("--traffic web=0", "airwnd: traffic: no share is above 0"),
        ("--traffic web", "airwnd: --traffic web: expected NAME=SHARE, separated by commas"),
        ("--duration 3", "airwnd: duration: `3` needs a unit"),
    ],
)
def test_a_wrong_option_is_one_line(cli: Cli, options: str, message: str) -> None:
    done = cli("city", *options.split())
    assert done.returncode == 2
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1
