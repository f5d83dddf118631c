"""Data set of a study: a row per run, a row per flow and run, and a manifest that describes them."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from airwnd import _native
from airwnd.results.frames import frame_of, parquet
from airwnd.results.sweep import RECORDED
from airwnd.study.axis import Axis, Rows, plain
from airwnd.study.batch.store import Stored, explained
from airwnd.study.design import Design
from airwnd.study.space import ABSENT, Setting
from airwnd.support.errors import InputError
from airwnd.support.files import write_atomically
from airwnd.support.manifests import FILE, differences, parsed
from airwnd.text.quantities import number_and_unit

# Maximum number of rows held as Python objects; a sweep may have millions of rows.
_CHUNK = 1000

# Placeholder for the columns of a setting.
_PLACE = "\0setting"
_HEAD = (_PLACE, "seed")

_KIND = "sweep"
_WAY_OUT = "choose another --out, or use this one with --force"


class DataSet:
    """Data-set folder of a study.

    Parameters
    ----------
    folder
        Existing folder, locked by the caller.
    design
        Design of the study.
    """

    def __init__(self, folder: Path, design: Design) -> None:
        self._folder = folder
        self._design = design
        self._scenario = design.scenario.resolved

    def claim(self, *, force: bool = False) -> None:
        """Check that the folder belongs to this sweep, and mark an empty one as such.

        A finished data set remains unchanged until the new one replaces it.

        Parameters
        ----------
        force
            Use the folder even if it holds other data.
        """
        try:
            fresh = self._is_fresh()
        except InputError:
            if not force:
                raise
            fresh = True
        if fresh:
            self._write_manifest(complete=False)

    def write(self, tables: Iterable[tuple[str, bytes]]) -> None:
        """Replace the tables; the manifest is marked complete after the last one."""
        try:
            self._write_manifest(complete=False)
            written = set()
            for name, table in tables:
                path = self._folder / name
                path.parent.mkdir(exist_ok=True)
                write_atomically(path, table)
                written.add(path)
            for folder in (self._folder / name for name in RECORDED):
                for path in set(folder.glob("*.parquet")) - written:
                    path.unlink()
                if folder.is_dir() and not any(folder.iterdir()):
                    folder.rmdir()
            self._write_manifest(complete=True)
        except OSError as error:
            raise explained(error, self._folder) from None

    def _is_fresh(self) -> bool:
        """Return whether the folder is empty; raise :class:`InputError` if it holds other data."""
        folder, path = self._folder, self._folder / FILE
        if not path.exists():
            if any(not entry.name.startswith(".") for entry in folder.iterdir()):
                raise InputError(f"{folder}: is not empty, and not the folder of a sweep; {_WAY_OUT}")
            return True
        try:
            manifest = parsed(path.read_bytes())
            is_sweep = manifest["kind"] == _KIND
            engine, version, scenario = manifest["engine"], manifest["airwnd"], manifest["scenario"]
            keys = {str(axis["key"]) for axis in (*manifest["grid"], *manifest["random"])}
        except (ValueError, KeyError, TypeError):
            is_sweep = False
        if not is_sweep:
            raise InputError(f"{path}: not the manifest of a sweep, or damaged; {_WAY_OUT}")
        if engine != _native.ENGINE:
            raise InputError(
                f"{folder}: holds results of airwnd {version}, engine {engine}; this is airwnd "
                f"{_native.VERSION}, engine {_native.ENGINE}, and they are not mixed: {_WAY_OUT}"
            )
        for key, there, here in differences(scenario, self._scenario):
            raise InputError(
                f"{folder}: holds a sweep of another scenario: {key} is {there} there and {here} here; "
                f"{_WAY_OUT}"
            )
        if manifest.get("series") != self._design.series:
            there, here = (each or "none" for each in (manifest.get("series"), self._design.series))
            raise InputError(f"{folder}: its time series: {there}, those of this sweep: {here}; {_WAY_OUT}")
        stack = manifest.get("stack") or {}
        if (stack.get("name"), stack.get("ue")) != (self._design.stack, self._design.ue):
            there, here = (
                _stack(stack.get("name"), stack.get("ue")),
                _stack(self._design.stack, self._design.ue),
            )
            raise InputError(f"{folder}: its stack: {there}, that of this sweep: {here}; {_WAY_OUT}")
        ours = {key for axis in self._design.axes for key in axis.columns}
        if keys != ours:
            raise InputError(
                f"{folder}: holds a sweep over {_keys(keys)}, not over {_keys(ours)}; {_WAY_OUT}"
            )
        return False

    def _write_manifest(self, *, complete: bool) -> None:
        design = self._design
        manifest = {
            "kind": _KIND,
            "airwnd": _native.VERSION,
            "engine": _native.ENGINE,
            "complete": complete,
            "seeds": design.seeds,
            "sample_seed": design.sample_seed if any(axis.drawn for axis in design.axes) else None,
            "series": design.series,
            "grid": [
                {"key": key, "values": values}
                for axis in design.axes
                if not axis.drawn
                for key, values in axis.columns.items()
            ],
            "random": [
                {"key": each.key, "drawn_from": each.spec, "values": each.values}
                for axis in design.axes
                for each in axis.drawn
            ],
            "scenario": self._scenario,
            **({"stack": {"name": design.stack, "ue": design.ue}} if design.has_stack else {}),
        }
        write_atomically(self._folder / FILE, json.dumps(manifest, indent=1, allow_nan=False) + "\n")


def _keys(keys: Collection[str]) -> str:
    return ", ".join(sorted(keys)) or "seeds alone"


def _stack(name: str | None, ue: str | None) -> str:
    return (name or "none") + (f" on {ue}" if ue else "")


class Tables:
    """Tables of a study, from runs that are added one by one."""

    def __init__(self, design: Design, settings: Sequence[Setting]) -> None:
        self._design = design
        self._settings = settings
        self._flows = [design.rows(setting) for setting in settings]
        self._rows: dict[str, list[dict[str, Any]]] = {"totals": [], "flows": []}
        self._chunks: dict[str, list[pl.DataFrame]] = {"totals": [], "flows": []}
        self._recorded: dict[int, list[tuple[int, Stored]]] = {}

    def add(self, place: int, seed: int, run: Stored) -> None:
        """Add the run of a setting, named by its place."""
        head = {_PLACE: place, "seed": seed}
        self._rows["totals"].append({**head, **run.outcome["totals"]})
        chosen = (flow for flow in run.outcome["flows"] if _is_among(flow, self._flows[place]))
        self._rows["flows"].extend({**head, **flow} for flow in chosen)
        if len(self._rows["totals"]) == _CHUNK:
            self._end_chunk()
        if self._design.series is not None:
            # Its outcome would fill the memory.
            self._recorded.setdefault(place, []).append((seed, replace(run, outcome={})))

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Yield the Parquet files with their names; rows are in the order of settings, then seeds.

        Tables with samples have a file per setting, so that a setting at a time is in memory.
        """
        self._end_chunk()
        frame = setting_columns(self._design.axes, self._settings)
        yield "runs.parquet", _file(frame, self._chunks["totals"])
        yield "flows.parquet", _file(frame, self._chunks["flows"])
        for place, runs in sorted(self._recorded.items()):
            for name in RECORDED:
                found = [(seed, getattr(run, name)) for seed, run in runs]
                # A table without rows has no columns either.
                if rows := [_samples(table, place, seed) for seed, table in found if table.width]:
                    yield f"{name}/{place:05}.parquet", _file(frame, rows)

    def _end_chunk(self) -> None:
        for name, rows in self._rows.items():
            self._chunks[name].append(frame_of(name, rows, _HEAD))
            rows.clear()


def _is_among(flow: Mapping[str, Any], rows: Rows) -> bool:
    return all(str(flow[column]) in map(str, allowed) for column, allowed in rows.items())


def _samples(table: pl.DataFrame, place: int, seed: int) -> pl.DataFrame:
    """Return a table of a run in that of a study; flows are text, since runs may have different ones."""
    head = pl.lit(place).alias(_PLACE), pl.lit(seed).alias("seed")
    return table.select(*head, pl.all()).with_columns(pl.col("flow").cast(pl.String))


def setting_columns(axes: Sequence[Axis], settings: Sequence[Setting]) -> pl.DataFrame:
    """Return a row per setting with the columns of the axes: numbers, truth values, or texts as given.

    If all values of a column have the same unit, there is also a column of numbers, named ``KEY [UNIT]``.
    Where an axis does not exist, its columns have no value.
    """
    columns: dict[str, pl.Series] = {}
    for axis, names in zip(axes, zip(*settings, strict=True), strict=True):
        ranks = {name: rank for rank, name in enumerate(axis.names)}
        for key, values in axis.columns.items():
            texts = [None if name == ABSENT else values[ranks[name]] for name in names]
            columns |= _columns(key, texts)
    return pl.DataFrame(columns)


def _columns(key: str, texts: Sequence[str | None]) -> dict[str, pl.Series]:
    values = list(dict.fromkeys(text for text in texts if text is not None))
    meant = {text: plain(text) for text in values}
    columns = {key: _series(texts, meant)}
    words = {text: value for text, value in meant.items() if isinstance(value, str)}
    parts = {text: found for text, value in words.items() if (found := number_and_unit(value)) and found[1]}
    units = {unit for _, unit in parts.values()}
    if len(parts) == len(values) and len(units) == 1:
        numbers = {text: plain(number.removeprefix("+")) for text, (number, _) in parts.items()}
        columns[f"{key} [{units.pop()}]"] = _series(texts, numbers)
    return columns


def _series(texts: Sequence[str | None], meant: Mapping[str, object]) -> pl.Series:
    types = {type(value) for value in meant.values()}
    found = [None if text is None else meant[text] for text in texts]
    if types in ({bool}, {int}):
        return pl.Series(found)
    if types <= {int, float}:
        return pl.Series(found, dtype=pl.Float64, strict=False)
    shown = [value if isinstance(value, str) else text for value, text in zip(found, texts, strict=True)]
    return pl.Series(shown, dtype=pl.String)


def _file(settings: pl.DataFrame, chunks: Sequence[pl.DataFrame]) -> bytes:
    rows = pl.concat(chunks).sort(_HEAD, maintain_order=True)
    columns = [column.gather(rows[_PLACE]) for column in settings]
    return parquet(pl.DataFrame([*columns, *rows.drop(_PLACE)]))
