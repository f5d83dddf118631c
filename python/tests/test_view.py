"""The explorer page in a browser: it shows the data of the tables."""

import base64
import dataclasses
import json
import re
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from playwright.sync_api import BrowserContext, FloatRect, Page

import airwnd
from airwnd import InputError, Run, Scenario, view
from airwnd.view import plan
from airwnd.view.content import content
from airwnd.view.pack import Packed, pack

from .browser import OpenPage, Shoot
from .conftest import SMALL, Cli, nightly

# The margins of all panels, as in static/canvas.js.
LEFT, RIGHT = 72, 18


def with_events(run: Run, rows: list[tuple[float, str, str, str | None, int | None]]) -> Run:
    schema = {
        "time_s": pl.Float64,
        "flow": pl.String,
        "event": pl.String,
        "cause": pl.String,
        "bytes": pl.Int64,
    }
    return dataclasses.replace(run, events=pl.DataFrame(rows, schema=schema, orient="row"))


@pytest.fixture(scope="module")
def cell() -> Run:
    """Three UEs for a second, with events."""
    run = Scenario.from_toml(SMALL).with_({"site[0].sectors": 3}).run(series="20ms")
    events: list[tuple[float, str, str, str | None, int | None]] = [
        (0.25, "flow-0", "drop", "rlc_queue_full", 552),
        (0.25, "flow-0", "recovery", None, None),
        (0.50, "flow-1", "drop", "radio_loss", 1040),
        (0.75, "flow-1", "timeout", None, None),
    ]
    return with_events(run, events)


@pytest.fixture(scope="module")
def crowd() -> Run:
    """Thirty UEs, too many for separate lines."""
    settings = {"ue[0].count": 30, "ue[0].placement": "disc", "flow[0].cc": "newreno"}
    return Scenario.from_toml(SMALL).with_(settings).run(series="10ms")


def opened(open_page: OpenPage, folder: Path, **size: int) -> Callable[..., Page]:
    """Return a function that writes a page about runs and opens it."""

    def call(**runs: Run) -> Page:
        page = open_page(view.write(runs, folder / "page.html"), **size)
        page.wait_for_selector("html[data-ready]", state="attached")
        return page

    return call


@pytest.fixture
def show(open_page: OpenPage, tmp_path: Path) -> Callable[..., Page]:
    return opened(open_page, tmp_path)


def test_scripts_in_the_texts_of_a_run_are_not_executed(
    drive: Run, context: BrowserContext, tmp_path: Path
) -> None:
    """The second line of defence: texts are escaped, too."""
    text = view.write({"run": drive}, tmp_path / "page.html").read_text(encoding="utf-8")
    hostile = (
        "<script>window.entered = 1</script><img src='none.png' onerror='window.entered = 2'>"
        "<script src='data:text/javascript,window.entered=3'></script>"
    )
    page = context.new_page()
    (tmp_path / "hostile.html").write_text(text.replace("<header>", f"<header>{hostile}"), encoding="utf-8")
    page.goto((tmp_path / "hostile.html").as_uri())
    page.wait_for_selector("html[data-ready]", state="attached")
    assert page.evaluate("window.entered") is None
    page.close()


def test_equal_runs_have_equal_pages(drive: Run, tmp_path: Path) -> None:
    pages = [view.write({"run": drive}, tmp_path / name).read_bytes() for name in ("a.html", "b.html")]
    assert pages[0] == pages[1]


def box(page: Page, selector: str) -> FloatRect:
    found = page.locator(selector).bounding_box()
    assert found is not None
    return found


def settle(page: Page) -> None:
    """Wait until all requested drawing is done."""
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def ranges(page: Page) -> list[list[float]]:
    """Return the ends of the time axis of each shown panel."""
    settle(page)
    found: list[list[float]] = page.eval_on_selector_all(
        ".panel:not([hidden])",
        "all => all.map(panel => [Number(panel.dataset.from), Number(panel.dataset.to)])",
    )
    return found


def place(page: Page, time: float, column: str = "cwnd_bytes", height: float = 0.6) -> tuple[float, float]:
    """Return the position of a time in a panel."""
    area = box(page, f".panel[data-column={column}] .plot")
    from_, to = ranges(page)[0]
    x = area["x"] + LEFT + (time - from_) / (to - from_) * (area["width"] - LEFT - RIGHT)
    return x, area["y"] + area["height"] * height


def values(page: Page, column: str) -> list[dict[str, str]]:
    settle(page)
    found: list[dict[str, str]] = page.eval_on_selector_all(
        f".panel[data-column={column}] .values span",
        "all => all.map(item => ({...item.dataset, text: item.innerText}))",
    )
    return found


def factor(page: Page, column: str) -> float:
    """Return by how much the values that a panel shows are to be multiplied for the unit of the column."""
    title = page.inner_text(f".panel[data-column={column}] h3")
    unit = re.search(r"\(([^)]+)\)", title)
    return {"kB": 1e3, "MB": 1e6, "Mbit/s": 1e3, "s": 1e3}.get(unit[1] if unit else "", 1.0)


def drag(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move((start[0] + end[0]) / 2, end[1])
    page.mouse.move(*end)
    page.mouse.up()


def test_the_cursor_shows_the_values_of_the_series(
    cell: Run, show: Callable[..., Page], shoot: Shoot
) -> None:
    page = show(cell=cell)
    panels = page.locator("#panel-switches label").all_inner_texts()
    assert len(set(panels)) == len(panels) > 5
    for time in (0.1, 0.46, 0.92):
        page.mouse.move(*place(page, time))
        for column in ("cwnd_bytes", "rwnd_bytes", "rtt_ms", "queue_bytes", "throughput_kbps", "mcs"):
            rows = cell.series.filter((pl.col("time_s") - time).abs() < 1e-6)
            expected = dict(zip(rows["flow"], rows[column], strict=True))
            shown = {each["flow"]: float(each["value"]) for each in values(page, column)}
            assert set(shown) == set(expected) == {"flow-0", "flow-1", "flow-2"}
            times = factor(page, column)
            for flow, value in expected.items():
                assert times * shown[flow] == pytest.approx(
                    np.nan if value is None else value, rel=1e-6, nan_ok=True
                )
    texts = [each["text"].strip() for each in values(page, "cwnd_bytes")]
    assert "(kB)" in page.inner_text(".panel[data-column=cwnd_bytes] h3")
    assert texts[0].startswith(f"{rows['cwnd_bytes'][0] / 1e3:,.3f}".rstrip("0").rstrip("."))
    assert sum("(ssthresh" in text for text in texts) == 1, "of the hovered line"
    shoot(page, "cell")


def test_the_table_has_the_results_of_the_flows(cell: Run, show: Callable[..., Page]) -> None:
    page = show(cell=cell)
    heads = [text.split("\n")[0].strip() for text in page.locator("#flows th").all_inner_texts()[2:]]
    assert {"flow", "goodput", "delay", "delay p95", "RTT", "PDF", "retrans.", "cc", "rwnd", "UE"} <= set(
        heads
    )
    for row in cell.flows.to_dicts():
        cells = page.locator(f"#flows tr[data-flow={row['id']}] td").all_inner_texts()[2:]
        shown = dict(zip(heads, [text.strip().replace(",", "") for text in cells], strict=True))
        assert float(shown["goodput"]) == pytest.approx(row["goodput_kbps"], abs=0.06)
        assert float(shown["delay p95"]) == pytest.approx(row["delay_ms_p95"], abs=0.006)
        assert (shown["cc"], shown["rwnd"], shown["UE"]) == (row["cc"], row["rwnd"], str(row["ue"]))
    totals = page.locator("#runs tbody tr").inner_text()
    assert f"{cell.totals['throughput_kbps']:,.1f}" in totals


def test_short_flows_have_their_curves(show: Callable[..., Page], cell: Run) -> None:
    flows = {
        "traffic": {"kind": "transfer", "size": "30kB"},
        "arrivals": {"kind": "poisson", "rate": 5.0},
    }
    short = Scenario.from_toml(SMALL).with_({f"flow[0].{key}": value for key, value in flows.items()})
    run = short.run(series="100ms")
    page = show(short=run)
    group = run.groups.row(0, named=True)
    row = page.locator("#groups tbody tr").inner_text().split()
    assert row[:4] == ["flow", *(str(group[key]) for key in ("flows", "completed", "unfinished"))]
    assert row[-1] == f"{group['fct_s_p99']:.3f}"
    # A step for each of the few flows, up to the completed fraction; the axis ends are at 8 and 112.
    steps = page.locator("#groups path").get_attribute("d")
    assert steps is not None
    assert steps.count("V") == group["completed"]
    done = group["completed"] / (group["completed"] + group["unfinished"])
    assert float(steps.rpartition("V")[2]) == pytest.approx(112 - 104 * done, abs=0.1)
    # After the three numbers along y, and before the label of the axis: round times.
    ticks = [float(text) for text in page.locator("#groups text").all_text_contents()[3:-1]]
    step = ticks[1]
    assert ticks == pytest.approx([step * place for place in range(len(ticks))])
    assert f"{step:e}"[:8] in {"1.000000", "2.000000", "5.000000"}
    assert 0 <= run.completions["fct_s"].max() - ticks[-1] < step  # type: ignore[operator]
    assert not show(cell=cell).locator("#groups").is_visible()


def test_a_page_omits_flows_that_do_not_fit(cell: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("airwnd.view.content._MAX_VALUES", 2 * cell.series["time_s"].n_unique())
    facts = content({"cell": cell}).facts["runs"][0]
    assert ([flow["id"] for flow in facts["flows"]], facts["leftOut"]) == (["flow-0", "flow-1"], 1)


def test_the_table_sorts_and_filters(crowd: Run, show: Callable[..., Page]) -> None:
    page = show(crowd=crowd)
    names = "#flows tbody tr:not([hidden]) td:nth-child(3)"
    for key in ("goodput_kbps", "id"):
        expected = sorted(crowd.flows.to_dicts(), key=lambda row: row["goodput_kbps"])
        if key == "id":
            expected = crowd.flows.to_dicts()
        page.click(f"#flows th[data-key={key}] button")
        assert page.locator(names).all_inner_texts() == [row["id"] for row in expected]
    page.click("#flows th[data-key=id] button")
    assert page.locator(names).first.inner_text() == "flow-29"
    page.fill("#flows input[type=search]", "flow-2 newreno")
    assert page.locator(names).all_inner_texts() == [f"flow-{n}" for n in (*range(29, 19, -1), 2)]


def test_all_panels_follow_a_zoom(cell: Run, show: Callable[..., Page]) -> None:
    page = show(cell=cell)
    whole = ranges(page)
    assert len(whole) == 6
    assert whole == [[0, 1]] * 6
    drag(page, place(page, 0.2, "rtt_ms"), place(page, 0.6, "rtt_ms"))
    zoomed = ranges(page)
    assert zoomed == [zoomed[0]] * 6
    assert zoomed[0] == pytest.approx([0.2, 0.6], abs=0.005)
    assert float(page.input_value("#from")) == pytest.approx(zoomed[0][0], abs=1e-4)
    page.mouse.move(*place(page, 0.3))
    page.mouse.wheel(0, -300)
    nearer = ranges(page)[0]
    assert nearer[1] - nearer[0] < 0.25
    assert nearer[0] < 0.3 < nearer[1]
    page.keyboard.down("Shift")
    drag(page, place(page, 0.3), place(page, 0.25))
    page.keyboard.up("Shift")
    panned = ranges(page)[0]
    assert panned[0] - nearer[0] == pytest.approx(0.05, abs=0.005)
    assert panned[1] - panned[0] == pytest.approx(nearer[1] - nearer[0])
    page.mouse.dblclick(*place(page, panned[0] + 0.01))
    assert ranges(page) == whole


def test_the_keyboard_does_what_the_mouse_does(cell: Run, show: Callable[..., Page]) -> None:
    page = show(cell=cell)
    page.focus("#plots")
    page.keyboard.press("+")
    assert ranges(page)[0] == pytest.approx([0.25, 0.75])
    page.keyboard.press("ArrowRight")
    assert ranges(page)[0] == pytest.approx([0.35, 0.85])
    page.keyboard.press("Shift+ArrowRight")
    assert {each["flow"] for each in values(page, "rtt_ms")} == {"flow-0", "flow-1", "flow-2"}
    page.keyboard.press("0")
    assert ranges(page)[0] == [0, 1]
    page.fill("#from", "0.4")
    page.keyboard.press("Enter")
    assert ranges(page)[0] == pytest.approx([0.4, 1.0])
    page.focus("#flows tr[data-flow=flow-1] button")
    page.keyboard.press("Space")
    assert page.get_attribute("#flows tr[data-flow=flow-1] button", "aria-pressed") == "true"


def test_panels_and_flows_are_switched(cell: Run, show: Callable[..., Page]) -> None:
    page = show(cell=cell)
    assert not page.is_visible(".panel[data-column=queue_packets]")
    page.check("#panel-switches input[value=queue_packets]")
    page.uncheck("#panel-switches input[value=mcs]")
    settle(page)
    assert page.is_visible(".panel[data-column=queue_packets]")
    assert not page.is_visible(".panel[data-column=mcs]")
    page.uncheck("#flows tr[data-flow=flow-1] input")
    page.mouse.move(*place(page, 0.5))
    assert {each["flow"] for each in values(page, "cwnd_bytes")} == {"flow-0", "flow-2"}
    assert "flow-1" not in page.inner_text("#legend")


def test_events_are_in_lanes_with_their_causes(cell: Run, show: Callable[..., Page], shoot: Shoot) -> None:
    page = show(cell=cell)
    settle(page)
    data = page.eval_on_selector("#lanes", "lanes => ({...lanes.dataset})")
    assert data == {"drop": "2", "timeout": "1", "recovery": "1"}
    lanes = box(page, "#lanes")
    x, _ = place(page, 0.25)
    page.mouse.move(x, lanes["y"] + 9)
    assert page.inner_text("#tip") == "0.2500 s flow-0: drop, rlc_queue_full, 552 bytes"
    shoot(page, "events")
    page.click("#flows tr[data-flow=flow-1] td:nth-child(4)")
    page.uncheck("#flows tr[data-flow=flow-0] input")
    settle(page)
    assert page.get_attribute("#lanes", "data-drop") == "1", "events of hidden flows are hidden"
    page.uncheck("#event-switches input[value=drop]")
    settle(page)
    page.mouse.move(place(page, 0.75)[0], lanes["y"] + 9 + 18)
    assert page.inner_text("#tip") == "0.7500 s flow-1: timeout"


def test_a_run_without_events_has_no_lanes(crowd: Run, show: Callable[..., Page]) -> None:
    page = show(crowd=dataclasses.replace(crowd, events=pl.DataFrame()))
    assert not page.is_visible("#lanes")


def test_a_ue_on_the_map_selects_its_flows(cell: Run, show: Callable[..., Page], shoot: Shoot) -> None:
    page = show(cell=cell)
    area = box(page, "#map canvas")
    places = json.loads(page.get_attribute("#map canvas", "data-places") or "[]")
    assert [ue for ue, _, _ in places] == cell.ues["ue"].to_list()
    selected = "#flows tr.selected"
    for ue, x, y in places[:2]:
        page.mouse.click(area["x"] + x, area["y"] + y)
        flows = cell.flows.filter(pl.col("ue") == ue)["id"].to_list()
        assert page.eval_on_selector_all(selected, "rows => rows.map(row => row.dataset.flow)") == flows
        assert f"UE {ue}" in page.inner_text("#tip")
    shoot(page, "map")
    page.mouse.click(area["x"] + x, area["y"] + y)
    assert page.locator(selected).count() == 0, "a second click deselects"


def test_a_line_is_selected_by_a_click(cell: Run, show: Callable[..., Page]) -> None:
    page = show(cell=cell)
    time = cell.series["time_s"].unique().sort()[30]
    low, high = (
        factor(page, "cwnd_bytes")
        * float(page.get_attribute(".panel[data-column=cwnd_bytes]", f"data-{end}") or 0)
        for end in ("low", "high")
    )
    row = cell.series.filter(pl.col("time_s") == time).sort("cwnd_bytes").row(-1, named=True)
    area = box(page, ".panel[data-column=cwnd_bytes] .plot")
    # The margins of 19 pixels above and 5 pixels below are empty.
    part = (high - row["cwnd_bytes"]) / (high - low)
    y = area["y"] + 19 + part * (area["height"] - 24)
    page.mouse.move(place(page, time)[0], y)
    page.mouse.click(place(page, time)[0], y)
    selected = page.eval_on_selector_all("#flows tr.selected", "rows => rows.map(row => row.dataset.flow)")
    level = cell.series.filter((pl.col("time_s") == time) & (pl.col("cwnd_bytes") == row["cwnd_bytes"]))
    assert len(selected) == 1
    assert selected[0] in level["flow"].to_list()


def test_many_flows_are_a_band(crowd: Run, show: Callable[..., Page], shoot: Shoot) -> None:
    page = show(crowd=crowd)
    assert "5th to 95th percentile of 30 flows" in page.inner_text("#legend")
    time = 0.5
    # Zoomed in so far that each step of the band is one sample.
    drag(page, place(page, 0.4), place(page, 0.6))
    page.mouse.move(*place(page, time))
    for column in ("cwnd_bytes", "rtt_ms", "throughput_kbps"):
        at = crowd.series.filter((pl.col("time_s") - time).abs() < 1e-6)[column].drop_nulls().to_numpy()
        band = next(each for each in values(page, column) if "median" in each)
        shown = [factor(page, column) * float(band[part]) for part in ("low", "median", "high")]
        assert shown == pytest.approx(np.quantile(at, [0.05, 0.5, 0.95]), rel=1e-5)
    page.click("#flows tr[data-flow=flow-7] td:nth-child(4)")
    page.click("#flows tr[data-flow=flow-3] td:nth-child(4)")
    page.mouse.move(*place(page, time))
    assert {"flow-3", "flow-7"} <= {each.get("flow") for each in values(page, "cwnd_bytes")}
    shoot(page, "band")
    page.check("input[value=lines]")
    settle(page)
    assert "30 flows" in page.inner_text("#legend")
    shoot(page, "lines")
    page.click("[data-do=show-selected]")
    settle(page)
    assert page.locator("#legend .key").all_inner_texts() == ["flow-3", "flow-7"]


def inked(page: Page, column: str) -> int:
    """Return the number of non-white pixels of a panel."""
    settle(page)
    count: int = page.eval_on_selector(
        f".panel[data-column={column}] canvas",
        """canvas => canvas.getContext("2d").getImageData(80, 25, canvas.width - 110, canvas.height - 35).data
           .reduce((count, value, i) => count + (i % 4 === 3 && value > 20 ? 1 : 0), 0)""",
    )
    return count


def test_all_lines_are_drawn(crowd: Run, show: Callable[..., Page]) -> None:
    page = show(crowd=crowd)
    page.check("input[value=lines]")
    every = inked(page, "queue_bytes")
    page.click("#flows thead input")
    none = inked(page, "queue_bytes")
    for flow in range(10):
        page.check(f"#flows tr[data-flow=flow-{flow}] input")
    some = inked(page, "queue_bytes")
    assert none < some < every


HUNDRED = {"ue[0].count": 100, "ue[0].placement": "disc", "site[0].sectors": 3}
KEYS = ("+", "+", "ArrowRight", "-", "0")
COUNT_STROKES = """() => {
    for (const name of ["lineTo", "arc", "fillRect"]) {
        const prototype = CanvasRenderingContext2D.prototype, draw = prototype[name];
        prototype[name] = function (...places) { window.strokes++; return draw.apply(this, places); };
    }
}"""


def test_a_hundred_ues_take_no_more_strokes_than_a_few(show: Callable[..., Page]) -> None:
    page = show(many=Scenario.from_toml(SMALL).with_(HUNDRED, duration="2s").run(series="10ms"))
    page.evaluate(COUNT_STROKES)
    panels = page.locator(".panel:not([hidden])").count()
    # A band has a stroke per pixel column; lines are no strokes at all, but frames and labels are.
    for many, maximum in (("band", panels * 1280), ("lines", 100)):
        page.check(f"input[value={many}]")
        page.focus("#plots")
        for key in KEYS:
            settle(page)
            page.evaluate("window.strokes = 0")
            page.keyboard.press(key)
            settle(page)
            assert 0 < page.evaluate("window.strokes") < maximum, (many, key)


@pytest.mark.nightly
def test_a_page_with_a_hundred_ues_is_fast(show: Callable[..., Page]) -> None:
    """In real time, on a machine that does nothing else; `make test` counts strokes instead."""
    page = show(many=Scenario.from_toml(SMALL).with_(HUNDRED, duration="20s").run(series="10ms"))
    durations = "name => performance.getEntriesByName(name).map(entry => entry.duration)"
    assert page.evaluate(durations, "airwnd load")[0] < 10_000
    for many in ("band", "lines"):
        page.check(f"input[value={many}]")
        page.focus("#plots")
        page.evaluate("performance.clearMeasures()")
        for key in KEYS:
            page.keyboard.press(key)
            settle(page)
        # Several times the usual time.
        assert np.median(page.evaluate(durations, "airwnd redraw")) < 500


@pytest.fixture(scope="module")
def city() -> Run:
    """Four hundred UEs in 21 cells, some of which move."""
    return airwnd.city(rings=1, ues=400, traffic={"video": 1}, duration="300ms").run(series="50ms")


def test_a_city_has_dots_for_ues_and_colours_for_the_load_of_cells(
    city: Run, show: Callable[..., Page], shoot: Shoot
) -> None:
    page = show(city=city)
    settle(page)
    drawn = json.loads(page.get_attribute("#map canvas", "data-places") or "")
    assert drawn == [], "no UE is emphasised"
    area = box(page, "#map canvas")
    page.mouse.move(area["x"] + area["width"] / 2, area["y"] + area["height"] / 2)
    tip = page.inner_text("#tip")
    assert "PRBs in use" in tip
    page.click("#flows tbody tr:first-child td:nth-child(4)")
    settle(page)
    drawn = json.loads(page.get_attribute("#map canvas", "data-places") or "")
    assert [ue for ue, _, _ in drawn] == [city.flows["ue"][0]]
    shoot(page, "city")


def test_the_colour_of_a_sector_follows_its_load(cell: Run, show: Callable[..., Page]) -> None:
    loads = [
        {**row, "downlink_prb_use": use} for row, use in zip(cell.outcome["cells"], (0, 0.5, 1), strict=True)
    ]
    page = show(cell=dataclasses.replace(cell, outcome={**cell.outcome, "cells": loads}))
    settle(page)
    area = box(page, "#map canvas")
    reach = 0.17 * min(area["width"], area["height"])
    # The site is at the origin.
    ues = cell.ues.select("x_m", "y_m").rows()
    drawn = [place[1:] for place in json.loads(page.get_attribute("#map canvas", "data-places") or "")]
    scale = (drawn[1][0] - drawn[0][0]) / (ues[1][0] - ues[0][0])
    middle = (drawn[0][0] - scale * ues[0][0], drawn[0][1] + scale * ues[0][1])
    shades = []
    for sector in plan.sites(cell.scenario)[0]["cells"]:
        # Beside the line of the boresight.
        angle = np.radians(sector["degrees"] + 25)
        x, y = middle[0] + 0.6 * reach * np.cos(angle), middle[1] - 0.6 * reach * np.sin(angle)
        shades.append(sum(pixel(page, "#map canvas", x, y)[:3]))
    assert shades == sorted(shades, reverse=True)
    assert shades[0] > shades[2] + 100


def test_the_table_has_the_first_rows_of_many_flows(city: Run, show: Callable[..., Page]) -> None:
    page = show(city=city)
    assert page.locator("#flows tbody tr").count() == 200
    assert page.inner_text("#flows .scroll p") == "and 200 more flows: sort or filter to see them"
    last = city.flows["id"][-1]
    page.fill("#flows input[type=search]", last)
    assert page.locator("#flows tbody tr td:nth-child(3)").all_inner_texts() == [last]
    assert not page.is_visible("#flows .scroll p")
    page.fill("#flows input[type=search]", "")
    page.click("#flows thead input")
    settle(page)
    assert page.locator("#flows tbody tr.unshown").count() == 200
    page.click("#flows th[data-key=goodput_kbps] button")
    page.click("#flows th[data-key=goodput_kbps] button")
    best = city.flows.sort("goodput_kbps", descending=True)["goodput_kbps"][0]
    assert page.locator("#flows tbody tr td:nth-child(4)").first.inner_text() == f"{best:,.1f}"


def test_a_run_without_cells_has_no_map(show: Callable[..., Page], shoot: Shoot) -> None:
    wire = {
        "name": "wire",
        "duration": "2s",
        "link": [{"rate": "10Mbps", "delay": "20ms", "queue": 30}],
        "ue": [{"count": 3}],
        "flow": [{}],
    }
    page = show(wire=Scenario.from_dict(wire).run(series="10ms"))
    assert "No map: the scenario has no cells." in page.inner_text("#map")
    assert page.locator("#map canvas").count() == 0
    assert page.locator(".panel[data-column=mcs]").count() == 0, "a quantity without values has no panel"
    shoot(page, "wire")


def test_runs_are_compared_flow_by_flow(cell: Run, show: Callable[..., Page], shoot: Shoot) -> None:
    other = Scenario.from_toml(SMALL).with_({"site[0].sectors": 3, "flow[0].rwnd": "drwa"}).run(series="50ms")
    page = show(autotuning=cell, drwa=other)
    rows = page.locator("#runs > .scroll tbody tr")
    assert rows.count() == 2
    for row, run in zip(rows.all_inner_texts(), (cell, other), strict=True):
        assert f"{run.totals['throughput_kbps']:,.1f}" in row
    assert "flow[0].rwnd.kind" in page.inner_text("#runs details")
    page.click("#flows tr[data-flow=flow-1][data-run='0'] td:nth-child(5)")
    assert page.locator("#flows tr.selected[data-flow=flow-1]").count() == 2, "the same flow in both runs"
    page.mouse.move(*place(page, 0.5))
    shown = {
        (each["run"], each["flow"]): factor(page, "rwnd_bytes") * float(each["value"])
        for each in values(page, "rwnd_bytes")
        if "flow" in each
    }
    for index, run in enumerate((cell, other)):
        at = run.series.filter(((pl.col("time_s") - 0.5).abs() < 1e-6) & (pl.col("flow") == "flow-1"))
        assert shown[str(index), "flow-1"] == pytest.approx(at["rwnd_bytes"][0], rel=1e-6)
    shoot(page, "runs")
    page.uncheck("#runs tr[data-run='1'] input")
    settle(page)
    assert "drwa" not in page.inner_text("#legend")


def test_names_are_shown_as_text(show: Callable[..., Page]) -> None:
    name = "</script><b>bold</b>"
    run = (
        Scenario.from_toml(SMALL)
        .with_({"name": name, "flow[0].id": name}, duration="100ms")
        .run(series="20ms")
    )
    page = show(**{name: run})
    assert page.inner_text("h1") == name
    assert page.locator("#flows tbody button").first.inner_text() == f"{name}-0"
    assert page.locator("b").count() == 0


@pytest.mark.parametrize("dtype", ["f4", "f8", "u4"])
def test_packing_is_lossless(dtype: str) -> None:
    values = np.random.default_rng(1).normal(1e6, 1e6, (3, 50)).astype(dtype)
    assert np.array_equal(unpack(pack(values)), values)


def unpack(packed: Packed) -> NDArray[Any]:
    """Unpack an array, like static/data.js."""
    size = int(packed.kind[1:])
    planes = np.frombuffer(zlib.decompress(base64.b64decode(packed.text)), np.uint8).reshape(size, -1)
    steps = np.ascontiguousarray(planes.T).view(f"u{size}").reshape(packed.shape)
    return np.cumsum(steps, axis=-1, dtype=f"u{size}").view(packed.kind)


def test_the_command_writes_next_to_the_first_run(cli: Cli, small: Scenario, tmp_path: Path) -> None:
    for name in ("one", "two"):
        small.run(series="20ms").save(tmp_path / name)
    done = cli("view", "one", "two", "--no-open")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"page: {tmp_path / 'one.html'}\n"
    assert (tmp_path / "one.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert cli("view", "two", "--out", "pages/my.html", "--no-open").returncode == 0
    assert (tmp_path / "pages" / "my.html").exists()


def test_the_browser_is_opened_if_there_is_one(
    cli_process: Cli, small: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small.run(series="20ms").save(tmp_path / "run")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    assert cli_process("view", "run").stderr == ""
    seen = tmp_path / "seen"
    script = tmp_path / "browser"
    script.write_text(f'#!/bin/sh\necho "$1" > "{seen}"\n', encoding="utf-8")
    script.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{script} %s")
    assert cli_process("view", "run").returncode == 0
    assert seen.read_text(encoding="utf-8").strip() == (tmp_path / "run.html").as_uri()


def test_a_run_that_cannot_be_viewed_is_one_line(cli: Cli, small: Scenario, tmp_path: Path) -> None:
    small.run().save(tmp_path / "bare")
    small.run(series="20ms").save(tmp_path / "full")
    small.run(series="20ms").save(tmp_path / "broken")
    (tmp_path / "broken" / "series.parquet").write_bytes(b"no table")
    small.run(series="20ms").save(tmp_path / "torn")
    (tmp_path / "torn" / "series.parquet").unlink()
    (tmp_path / "empty").mkdir()
    cases = {
        ("nowhere",): "nowhere: not a run's folder, it has no manifest.json; `airwnd run FILE --series 10ms",
        ("empty",): "empty: not a run's folder",
        ("full", "bare"): "bare: a run without time series; `airwnd run FILE --series 10ms --out FOLDER`",
        ("broken",): "broken/series.parquet: does not match its digest in manifest.json",
        ("torn",): "torn/series.parquet: the table is missing",
        ("full", "full"): "full: named twice",
        ("full", "--out", "empty"): "empty: a folder; expected the name of a page",
        ("full", "--out", "full/manifest.json/page.html"): "full/manifest.json: is a file; expected a folder",
        (): "Missing argument 'RUN...'",
    }
    for arguments, message in cases.items():
        done = cli("view", *arguments)
        assert (done.returncode, done.stdout) == (2, ""), arguments
        assert len(done.stderr.splitlines()) == 1
        assert message in done.stderr


def test_a_run_has_a_view_method(small: Scenario, tmp_path: Path) -> None:
    run = small.run(series="20ms")
    page = run.view(tmp_path / "page.html", browse=False)
    assert page == tmp_path / "page.html"
    assert "small" in page.read_text(encoding="utf-8")
    assert run.view(browse=False).read_bytes() == page.read_bytes(), "the same run gives the same page"
    with pytest.raises(InputError, match="run with series="):
        small.run().view()


def test_runs_have_the_shortest_unique_names(small: Scenario, tmp_path: Path) -> None:
    for name in ("a/run", "b/run", "b/other"):
        small.run(series="50ms").save(tmp_path / name)
    assert list(view.load([tmp_path / "a/run", tmp_path / "b/other"])) == ["run", "other"]
    assert list(view.load([tmp_path / "a/run", tmp_path / "b/run"])) == ["a/run", "b/run"]


# Screens.

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
[[flow]]
"""


@pytest.fixture(scope="module")
def drive() -> Run:
    """A UE with a handover."""
    return Scenario.from_toml(DRIVE).run(series="50ms")


def pixels(page: Page, selector: str, places: Sequence[tuple[float, float]]) -> list[list[int]]:
    """Return red, green, blue and alpha of a canvas at positions in CSS pixels."""
    found: list[list[int]] = page.eval_on_selector(
        selector,
        """(canvas, places) => {
            const context = canvas.getContext("2d"), ratio = devicePixelRatio;
            return places.map(([x, y]) => [...context.getImageData(x * ratio, y * ratio, 1, 1).data]);
        }""",
        places,
    )
    return found


def pixel(page: Page, selector: str, x: float, y: float) -> list[int]:
    return pixels(page, selector, [(x, y)])[0]


def test_handovers_and_the_path_are_shown_initially(
    drive: Run, show: Callable[..., Page], shoot: Shoot
) -> None:
    page = show(drive=drive)
    settle(page)
    (time,) = drive.events.filter(pl.col("event") == "handover_end")["time_s"]
    assert page.get_attribute(".panel[data-column=rtt_ms]", "data-changes") == "1"
    assert "handover ends" in page.inner_text("#legend")
    left = page.evaluate("parseFloat(getComputedStyle(document.documentElement).getPropertyValue('--left'))")
    width = box(page, "#axis canvas")["width"] - left - RIGHT
    at = round(left + time / 12 * width) + 0.5
    column = pixels(page, ".panel[data-column=rtt_ms] canvas", [(at, y) for y in range(30, 50)])
    assert max(alpha for *_, alpha in column) > 100, "a line in every panel"
    # The path starts at the UE's initial position, and the UE is at its position at the time of the cursor.
    assert page.get_attribute("#map canvas", "data-paths") == "1"
    ends = []
    for cursor in (0.05, 11.95):
        page.evaluate("scrollTo(0, 0)")
        area = box(page, ".panel[data-column=rtt_ms] .plot")
        page.mouse.move(area["x"] + left + cursor / 12 * width, area["y"] + 30)
        settle(page)
        ends.append(json.loads(page.get_attribute("#map canvas", "data-places") or "")[0])
    assert ends[0][1] < ends[1][1]
    assert ends[0][2] == ends[1][2]
    middle = (ends[0][1] + ends[1][1]) / 2
    assert pixel(page, "#map canvas", middle, ends[0][2])[3] > 100, "the path is drawn"
    shoot(page, "drive")


def test_no_label_exceeds_its_canvas(drive: Run, show: Callable[..., Page]) -> None:
    page = show(drive=drive)
    settle(page)
    widest = page.evaluate(
        "(() => { const context = document.createElement('canvas').getContext('2d');"
        ' context.font = \'11px system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif\';'
        " return context.measureText('handover starts').width; })()"
    )
    left = page.evaluate("parseFloat(getComputedStyle(document.documentElement).getPropertyValue('--left'))")
    assert left - 6 >= widest


@pytest.mark.parametrize("width", [390, nightly(700), nightly(1400)])
def test_the_page_is_as_wide_as_the_screen(
    drive: Run, crowd: Run, cell: Run, open_page: OpenPage, tmp_path: Path, shoot: Shoot, width: int
) -> None:
    show = opened(open_page, tmp_path, width=width, height=844)
    for name, runs in {"drive": {"drive": drive}, "pair": {"cell": cell, "crowd": crowd}}.items():
        page = show(**runs)
        settle(page)
        assert page.evaluate("document.documentElement.scrollWidth") == width
        for part in ("#plots", "#runs", "#map", "#flows", "#theme", ".panel[data-column=rtt_ms] .plot"):
            found = box(page, part)
            assert found["x"] >= 0, part
            assert found["x"] + found["width"] <= width, part
            assert found["width"] > 30, part
        stacked = box(page, "#runs")["y"] > box(page, "#plots")["y"] + box(page, "#plots")["height"] - 1
        assert stacked == (width < 900)
        if stacked:
            assert all(
                each["height"] >= 100 for each in map(box, [page] * 2, (".panel >> nth=0", "#map .plan"))
            )
        shoot(page, f"{name}-{width}", whole=True)


@pytest.mark.parametrize("scheme", [nightly("light"), "dark"])
def test_the_theme_follows_the_system_and_the_button(
    cell: Run, show: Callable[..., Page], shoot: Shoot, scheme: Any
) -> None:
    page = show(cell=cell)
    page.emulate_media(color_scheme=scheme)
    settle(page)

    def brightness(selector: str, key: str) -> float:
        colour = page.eval_on_selector(selector, f"part => getComputedStyle(part).{key}")
        return float(np.mean([int(part) for part in colour.split("(")[1].rstrip(")").split(",")[:3]]))

    def is_dark() -> bool:
        settle(page)
        paper, ink = brightness("body", "backgroundColor"), brightness("body", "color")
        assert abs(paper - ink) > 150
        grid = pixel(page, ".panel[data-column=rtt_ms] canvas", 72.5, 60)
        assert (float(np.mean(grid[:3])) < 120) == (paper < 128), "the canvases have the same background"
        return paper < 128

    assert is_dark() == (scheme == "dark")
    before = page.eval_on_selector("#legend line", "line => getComputedStyle(line).stroke")
    shoot(page, f"cell-{scheme}")
    page.click("#theme")
    assert is_dark() == (scheme == "light")
    assert page.eval_on_selector("#legend line", "line => getComputedStyle(line).stroke") != before
    assert page.inner_text("#theme") == scheme


def test_two_runs_have_a_shared_or_two_separate_scales(
    cell: Run, show: Callable[..., Page], shoot: Shoot
) -> None:
    bloated = Scenario.from_toml(SMALL).with_({"rlc.queue.buffer": "500KiB"}).run(series="20ms")
    page = show(cell=cell, bloated=bloated)
    column = ".panel[data-column=queue_bytes]"

    def high() -> float:
        settle(page)
        return factor(page, "queue_bytes") * float(page.get_attribute(column, "data-high") or 0)

    maximum = [run.series["queue_bytes"].max() for run in (cell, bloated)]
    assert high() == pytest.approx(1.06 * max(maximum), rel=0.02)  # type: ignore[type-var, operator]
    page.check("input[value=own]")
    assert high() == pytest.approx(1.06 * maximum[0], rel=0.02)  # type: ignore[operator]
    canvas = box(page, f"{column} .plot")
    strip = [
        (canvas["width"] - x, y) for x in range(10, 40, 2) for y in range(4, int(canvas["height"]) - 2, 2)
    ]
    alphas = [alpha for *_, alpha in pixels(page, f"{column} canvas", strip)]
    assert max(alphas) > 100, "the second run's axis has its labels on the right"
    shoot(page, "own")
    alone = show(cell=cell)
    assert not alone.is_visible("#scales")
