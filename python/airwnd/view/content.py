"""Data of a page about its runs: facts as JSON, series and events as packed arrays."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from airwnd.plots import style
from airwnd.results.grid import Grid, components
from airwnd.results.reach import reach_warnings
from airwnd.results.run import RunData
from airwnd.view import plan
from airwnd.view.pack import Packed, pack
from airwnd.view.panels import Panel, panels
from airwnd.view.tables import differences, flow_figures, group_figures, total_figures
from airwnd.vocabulary.columns import larger_unit

# Names of the kinds of events, in the order shown; other kinds follow under their own names.
KINDS = {
    "drop": "drops",
    "timeout": "timeouts",
    "recovery": "recoveries",
    "handover_start": "handover starts",
    "handover_end": "handover ends",
    "handover_failure": "handover failures",
    "radio_link_failure": "radio link failures",
    "reestablishment": "re-establishments",
}

_NULL = np.iinfo(np.uint32).max
# Maximum number of values of a quantity, flows times samples: thousands of short flows would fill a page with
# missing values.
_MAX_VALUES = 10_000_000
# Columns that the map uses.
_UE = ("ue", "x_m", "y_m", "cell", "sinr_db")
_CELL = ("cell", "users", "downlink_prb_use", "uplink_prb_use", "spectral_efficiency")
# Maximum number of points of a curve of completion times.
_MAX_POINTS = 200


@dataclass(frozen=True, slots=True)
class Content:
    """Facts, and arrays by name."""

    facts: dict[str, Any]
    arrays: dict[str, Packed]


def content(runs: Mapping[str, RunData]) -> Content:
    """Collect the data of a page about runs, given by name."""
    arrays: dict[str, NDArray[Any]] = {}
    figures = flow_figures({name for run in runs.values() for name in _filled(run.flows)})
    shown = [figure.key for figure in figures]
    facts = [_facts(label, run, arrays, f"{index}", shown) for index, (label, run) in enumerate(runs.items())]
    columns = list(dict.fromkeys(name for run in runs.values() for name in run.series.columns))
    filled = {name for run in runs.values() for name in _filled(run.series)}
    kinds = dict.fromkeys([*KINDS, *(kind for run in facts for kind in run["events"]["kinds"])])
    drawn = [_in_larger_unit(panel, arrays, len(runs)) for panel in panels(columns, filled)]
    with ThreadPoolExecutor() as pool:
        packed = dict(zip(arrays, pool.map(pack, arrays.values()), strict=True))
    return Content(
        facts={
            "runs": facts,
            "panels": [asdict(panel) | {"title": panel.title} for panel in drawn],
            "kinds": {kind: KINDS.get(kind, kind) for kind in kinds},
            "flowFigures": [asdict(figure) for figure in figures],
            "groupFigures": [asdict(figure) for figure in group_figures()],
            "totalFigures": [asdict(figure) for figure in total_figures(facts[0]["totals"])],
            "differences": differences([run.scenario for run in runs.values()]),
            "looks": [
                {
                    "colour": look.colour,
                    "dark": style.DARK[look.colour],
                    "marker": look.marker,
                    "dashes": _dashes(look),
                }
                for look in map(style.line, range(len(style.COLOURS)))
            ],
        },
        arrays=packed,
    )


def _in_larger_unit(panel: Panel, arrays: dict[str, NDArray[Any]], runs: int) -> Panel:
    """Convert the values of a panel to a unit in which they are short, the same for all runs."""
    keys = [f"{run}/{column}" for run in range(runs) for column in (panel.column, panel.beside)]
    present = [key for key in keys if key in arrays]
    largest = (float(arrays[key].max(where=np.isfinite(arrays[key]), initial=0)) for key in present)
    factor, unit = larger_unit(panel.unit, max(largest, default=0))
    for key in present:
        arrays[key] /= np.float32(factor)
    return replace(panel, unit=unit)


def _facts(
    label: str, run: RunData, arrays: dict[str, NDArray[Any]], prefix: str, shown: Sequence[str]
) -> dict[str, Any]:
    flows = _drawn(run)
    ids = flows["id"].to_list()
    columns = _filled(run.series)
    times, grid = _on_a_grid(_of(run.series, ids), ids, columns)
    arrays[f"{prefix}/time"] = times
    arrays.update({f"{prefix}/{name}": values for name, values in grid.items()})
    return {
        "label": label,
        "scenario": run.outcome["scenario"],
        "seed": run.seed,
        "duration": run.duration_s,
        "engine": run.engine,
        "totals": {**run.totals, "drops": sum(run.drops.values())},
        "flows": _flow_rows(flows, shown),
        "leftOut": run.flows.height - flows.height,
        "groups": _groups(run),
        "ues": run.ues.select(name for name in _UE if name in run.ues.columns).to_dicts(),
        "cells": run.cells.select(name for name in _CELL if name in run.cells.columns).to_dicts(),
        "outOfReach": reach_warnings(run.ues.to_dicts(), run.scenario),
        "sites": plan.sites(run.scenario),
        "carrier": _carriers(run) if run.cells.height else None,
        "columns": columns,
        "events": _events(run, ids, arrays, prefix),
    }


def _flow_rows(flows: pl.DataFrame, shown: Sequence[str]) -> list[dict[str, Any]]:
    columns = dict.fromkeys(("id", "ue", *shown))
    return [{name: row[name] for name in columns} for row in flows.iter_rows(named=True)]


def _carriers(run: RunData) -> str:
    """Return a summary of each component carrier, the primary one first."""
    return "; ".join(Grid.of(run.scenario, number).name for number in range(len(components(run.scenario))))


def _filled(frame: pl.DataFrame) -> list[str]:
    return [
        each.name
        for each in frame
        if each.name not in ("time_s", "flow") and each.null_count() < frame.height
    ]


def _drawn(run: RunData) -> pl.DataFrame:
    """Return the flows shown on the page, in order: as many as fit, those with the most samples first."""
    samples = run.series.group_by(pl.col("flow").cast(pl.String).alias("id")).len("samples")
    maximum = max(_MAX_VALUES // max(run.series["time_s"].n_unique(), 1), 1)
    flows = run.flows.with_row_index("place").join(samples, on="id", how="left", maintain_order="left")
    kept = flows.sort(pl.col("samples").fill_null(0), descending=True, maintain_order=True).head(maximum)
    return kept.sort("place").drop("place", "samples")


def _of(frame: pl.DataFrame, ids: list[str]) -> pl.DataFrame:
    return frame.filter(pl.col("flow").cast(pl.String).is_in(ids))


def _groups(run: RunData) -> list[dict[str, Any]]:
    """Return the groups with transfers or pages, each with the CDF of its completion times."""
    if run.completions.is_empty():
        return []
    of_group = dict(run.flows.select("id", "group").iter_rows())
    times = run.completions.select("fct_s", group=pl.col("flow").cast(pl.String).replace_strict(of_group))
    found = []
    for row in run.groups.iter_rows(named=True):
        begun = times.filter(pl.col("group") == row["group"])["fct_s"]
        done = np.sort(begun.drop_nulls().to_numpy())
        ranks = np.unique(np.linspace(0, done.size, min(done.size, _MAX_POINTS) + 1).astype(int)[1:])
        curve = [[float(done[rank - 1]), float(rank / begun.len())] for rank in ranks]
        if begun.len():
            found.append({**row, "curve": curve})
    return found


def _on_a_grid(
    series: pl.DataFrame, ids: list[str], columns: list[str]
) -> tuple[NDArray[np.float64], dict[str, NDArray[np.float32]]]:
    """Return the sampling times, and each column as a matrix with a row for each flow."""
    times, instant = np.unique(series["time_s"].to_numpy(), return_inverse=True)
    flow = _codes(series["flow"], ids)
    grid = {}
    for name in columns:
        values = np.full((len(ids), len(times)), np.nan, np.float32)
        values[flow, instant] = series[name].cast(pl.Float32).fill_null(np.nan).to_numpy()
        grid[name] = values
    return times, grid


def _events(run: RunData, ids: list[str], arrays: dict[str, NDArray[Any]], prefix: str) -> dict[str, Any]:
    events = run.events if run.events.is_empty() else _of(run.events, ids)
    if events.is_empty():
        return {"count": 0, "kinds": [], "causes": []}
    events = events.sort("time_s", maintain_order=True)
    kinds = events["event"].cast(pl.String).unique(maintain_order=True).to_list()
    causes = events["cause"].cast(pl.String).drop_nulls().unique(maintain_order=True).to_list()
    arrays[f"{prefix}/event-time"] = events["time_s"].to_numpy()
    arrays[f"{prefix}/event-flow"] = _codes(events["flow"], ids)
    arrays[f"{prefix}/event-kind"] = _codes(events["event"], kinds)
    arrays[f"{prefix}/event-cause"] = _codes(events["cause"], causes)
    arrays[f"{prefix}/event-bytes"] = events["bytes"].cast(pl.Float32).fill_null(np.nan).to_numpy()
    return {"count": events.height, "kinds": kinds, "causes": causes}


def _codes(words: pl.Series, known: list[str]) -> NDArray[np.uint32]:
    """Return words as indices into a list; null becomes the largest number."""
    codes = words.cast(pl.String).cast(pl.Enum(known)).to_physical()
    return codes.cast(pl.UInt32).fill_null(_NULL).to_numpy()


def _dashes(look: style.Line) -> list[float]:
    """Return the lengths of a line's dashes and gaps, in line widths; empty: a solid line."""
    return [] if look.dashes == "solid" else list(look.dashes[1])
