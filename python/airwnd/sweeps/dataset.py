"""The folder that a sweep leaves: two tables, and a manifest that says what they hold."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airwnd import _native
from airwnd.batch.store import explained
from airwnd.errors import InputError
from airwnd.files import write_atomically
from airwnd.sweeps.design import Design

if TYPE_CHECKING:
    from airwnd.sweeps.axes import Axis

_MANIFEST = "manifest.json"
_KIND = "sweep"


class DataSet:
    """A sweep's folder.

    Parameters
    ----------
    folder
        Where; it is made if it is not there.
    design
        What is swept.
    """

    def __init__(self, folder: Path, design: Design) -> None:
        self._folder = folder
        self._design = design
        self._scenario = design.scenario.resolved

    def claim(self) -> None:
        """Make sure that the folder is this sweep's, or make it so.

        A finished data set is left as it is until the new one takes its place.
        """
        folder, path = self._folder, self._folder / _MANIFEST
        if folder.exists() and not folder.is_dir():
            raise InputError(f"{folder}: is a file; --out names a folder")
        if path.exists():
            self._compare(path)
        elif folder.exists() and any(not entry.name.startswith(".") for entry in folder.iterdir()):
            raise InputError(f"{folder}: is no sweep's folder, but not empty either; choose another --out")
        else:
            folder.mkdir(parents=True, exist_ok=True)
            self._write_manifest(complete=False)

    def write(self, tables: Mapping[str, bytes]) -> None:
        """Put the tables in the place of those before; the manifest says so when all are there."""
        try:
            self._write_manifest(complete=False)
            for name, table in tables.items():
                write_atomically(self._folder / name, table)
            self._write_manifest(complete=True)
        except OSError as error:
            raise explained(error, self._folder) from None

    def _compare(self, path: Path) -> None:
        folder = self._folder
        try:
            manifest = json.loads(path.read_bytes())
            is_sweep = manifest["kind"] == _KIND
            engine, version, scenario = manifest["engine"], manifest["airwnd"], manifest["scenario"]
        except (ValueError, KeyError, TypeError):
            is_sweep = False
        if not is_sweep:
            raise InputError(f"{path}: not the manifest of a sweep; choose another --out")
        if engine != _native.ENGINE:
            raise InputError(
                f"{folder}: holds results of airwnd {version}, engine {engine}; this is airwnd "
                f"{_native.VERSION}, engine {_native.ENGINE}, and they are not mixed: choose another --out, "
                "or remove the folder"
            )
        for key, there, here in _differences(scenario, self._scenario, ""):
            raise InputError(
                f"{folder}: holds a sweep of another scenario: {key} is {there} there and {here} here; "
                "choose another --out"
            )

    def _write_manifest(self, *, complete: bool) -> None:
        design = self._design
        manifest = {
            "kind": _KIND,
            "airwnd": _native.VERSION,
            "engine": _native.ENGINE,
            "complete": complete,
            "seeds": design.seeds,
            "sample_seed": design.sample_seed if design.random else None,
            "grid": [_axis(axis) for axis in design.grid],
            "random": [_axis(axis) for axis in design.random],
            "scenario": self._scenario,
        }
        write_atomically(self._folder / _MANIFEST, json.dumps(manifest, indent=1, allow_nan=False) + "\n")


def _axis(axis: "Axis") -> dict[str, Any]:
    drawn = {"drawn_from": axis.drawn_from} if axis.drawn_from else {}
    return {"key": axis.key, **drawn, "values": axis.values}


def _differences(there: Any, here: Any, key: str) -> Iterator[tuple[str, str, str]]:
    if isinstance(there, dict) and isinstance(here, dict):
        for name in {**there, **here}:
            yield from _differences(there.get(name), here.get(name), f"{key}.{name}" if key else name)
    elif isinstance(there, list) and isinstance(here, list) and len(there) == len(here):
        for index, pair in enumerate(zip(there, here, strict=True)):
            yield from _differences(*pair, f"{key}[{index}]")
    elif there != here:
        yield key, _shown(there), _shown(here)


def _shown(value: Any) -> str:
    return "not set" if value is None else json.dumps(value)
