"""Data-set folder of a sweep: two tables, and a manifest that describes them."""

import json
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airwnd import _native
from airwnd.results.sweep import RECORDED
from airwnd.study.batch.store import explained
from airwnd.study.sweeps.design import Design
from airwnd.support.errors import InputError
from airwnd.support.files import write_atomically
from airwnd.support.manifests import FILE, differences, parsed

if TYPE_CHECKING:
    from airwnd.study.sweeps.axes import Axis

_KIND = "sweep"
_WAY_OUT = "choose another --out, or use this one with --force"


class DataSet:
    """Data-set folder of a sweep.

    Parameters
    ----------
    folder
        Existing folder, locked by the caller.
    design
        Design of the sweep.
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
        ours = {axis.key for axis in self._design.axes}
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
            "sample_seed": design.sample_seed if design.random else None,
            "series": design.series,
            "grid": [_axis(axis) for axis in design.grid],
            "random": [_axis(axis) for axis in design.random],
            "scenario": self._scenario,
            **({"stack": {"name": design.stack, "ue": design.ue}} if design.has_stack else {}),
        }
        write_atomically(self._folder / FILE, json.dumps(manifest, indent=1, allow_nan=False) + "\n")


def _keys(keys: Collection[str]) -> str:
    return ", ".join(sorted(keys)) or "seeds alone"


def _stack(name: str | None, ue: str | None) -> str:
    return (name or "none") + (f" on {ue}" if ue else "")


def _axis(axis: "Axis") -> dict[str, Any]:
    drawn = {"drawn_from": axis.drawn_from} if axis.drawn_from else {}
    return {"key": axis.key, **drawn, "values": axis.values}
