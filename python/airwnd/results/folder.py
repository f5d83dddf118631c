"""Run folders: ``manifest.json`` with the results, and a Parquet file for each table.

The manifest holds a digest of each table and ends with a digest of itself, so that reading detects damage. A
folder is written under a temporary name and renamed, so that it is complete at any time.
"""

import json
import shutil
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from airwnd import _native
from airwnd.results.frames import parquet
from airwnd.support.errors import InputError
from airwnd.support.files import check_folder, partial_path
from airwnd.support.manifests import FILE, differences, parsed
from airwnd.support.seal import digest, is_sealed, sealed
from airwnd.vocabulary import columns

#: Tables stored only in Parquet files; the other tables are also in the manifest.
RECORDED = ("series", "events", "allocations", "completions", "sockets")

_RUN = "run"
_HOW = "`airwnd run FILE --series 10ms --out FOLDER` writes one"
_SWEEP = "sweep"
_HOW_SWEEPS = "`airwnd plot sweep`, `frontier`, `series` and `cdf` draw it, `airwnd compare` compares"
_REMEDY = "run the scenario again"
_WAY_OUT = "choose another folder, or replace the run with --force"

# Required columns. Earlier versions had fewer of the other columns.
_NEEDED = {
    "series": ("time_s", "flow"),
    "events": ("time_s", "flow", "event"),
    "allocations": ("time_s", "cell"),
    "completions": ("flow", "fct_s"),
    "sockets": ("time_s", "flow"),
}


class _Outcome(msgspec.Struct):
    """Keys that the results of every version have."""

    scenario: str
    seed: int
    duration_s: float
    totals: dict[str, Any]
    flows: list[dict[str, Any]]
    cells: list[dict[str, Any]]
    links: list[dict[str, Any]]
    ues: list[dict[str, Any]]


class _Manifest(msgspec.Struct):
    """Keys that the manifest of every version has; earlier ones list the tables without digests."""

    engine: str
    seed: int
    scenario: dict[str, Any]
    outcome: _Outcome
    tables: dict[str, str] | list[str]


def check(folder: Path, scenario: Mapping[str, Any], seed: int, *, force: bool) -> None:
    """Check, before a run is executed, that :func:`write` will be able to write it.

    Parameters
    ----------
    folder
        Output folder of the run.
    scenario, seed
        Resolved scenario and seed of the run.
    force
        Allow replacing a different run.

    Raises
    ------
    InputError
        If the folder holds a different run or other files, or cannot be replaced.
    OSError
        If the parent folder cannot be written.
    """
    if folder.exists():
        if not folder.is_dir():
            raise InputError(f"{folder}: is a file; expected a folder for the run")
        if (folder / FILE).exists():
            _compare(folder, scenario, seed, force=force)
        # Replacing the folder would remove other files.
        ours = {FILE, *(_file(folder, name).name for name in columns.tables())}
        others = sorted(entry.name for entry in folder.iterdir() if entry.name not in ours)
        if others:
            raise InputError(f"{folder}: holds {others[0]}, not a file of a run; choose another folder")
        if folder.is_mount() or Path.cwd().is_relative_to(folder.resolve()):
            raise InputError(
                f"{folder}: is in use and cannot be replaced as a whole; choose a folder within it"
            )
    check_folder(folder.resolve().parent)


def write(
    folder: Path, manifest: Mapping[str, Any], tables: Mapping[str, pl.DataFrame], *, force: bool
) -> None:
    """Write a run under a temporary name and rename it, so that the folder is complete at any time.

    Parameters
    ----------
    folder
        Output folder.
    manifest
        Content of the manifest without the tables.
    tables
        Tables by name.
    force
        Allow replacing a different run.
    """
    check(folder, manifest["scenario"], manifest["seed"], force=force)
    target = folder.resolve()
    partial = partial_path(target)
    try:
        partial.mkdir()
        digests = {}
        for name, table in tables.items():
            data = parquet(table)
            digests[name] = digest(data)
            _file(partial, name).write_bytes(data)
        text = json.dumps({**manifest, "tables": digests}, indent=1, allow_nan=False)
        (partial / FILE).write_bytes(sealed(text))
        _move(partial, target)
    except BaseException as error:
        shutil.rmtree(partial, ignore_errors=True)
        if isinstance(error, OSError):
            error.filename = str(folder)
        raise


def read(folder: Path) -> tuple[dict[str, Any], dict[str, pl.DataFrame]]:
    """Read the manifest and the recorded tables of a run, and verify all of its files.

    Raises
    ------
    InputError
        If a file is missing, damaged, or not a file of a run.
    OSError
        If a file cannot be read.
    """
    manifest = _manifest(folder)
    digests = manifest["tables"] if isinstance(manifest["tables"], dict) else {}
    tables = {}
    for name in manifest["tables"]:
        path = _file(folder, name)
        if not path.is_file():
            raise InputError(f"{path}: the table is missing; {_REMEDY}")
        data = path.read_bytes()
        if digests and digest(data) != digests[name]:
            raise InputError(
                f"{path}: does not match its digest in {FILE}: it is damaged, or of another run; {_REMEDY}"
            )
        if name in RECORDED:
            tables[name] = _table(path, name, data)
    return manifest, tables


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / FILE
    if not path.is_file():
        raise InputError(f"{folder}: not a run's folder, it has no {FILE}; {_HOW}")
    data = path.read_bytes()
    try:
        manifest = parsed(data)
        kind = manifest.get("kind", _RUN)
        if kind == _RUN:
            msgspec.convert(manifest, _Manifest)
    except ValueError as error:
        raise InputError(f"{path}: damaged, or not the manifest of a run: {_one_line(error)}") from None
    if kind != _RUN:
        how = _HOW_SWEEPS if kind == _SWEEP else _HOW
        raise InputError(f"{folder}: the folder of a {kind}, not of a run; {how}")
    # Manifests of earlier versions have a list of tables, without digests.
    if not is_sealed(data) and not isinstance(manifest["tables"], list):
        raise InputError(f"{path}: does not match its digest: it is damaged, or was edited; {_REMEDY}")
    unknown = [name for name in manifest["tables"] if name not in columns.tables()]
    if unknown:
        raise InputError(f"{path}: the table `{unknown[0]}` is unknown to this version of airwnd")
    return manifest


def _table(path: Path, name: str, data: bytes) -> pl.DataFrame:
    try:
        frame = pl.read_parquet(BytesIO(data))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise InputError(f"{path}: damaged, or not a Parquet file: {_one_line(error)}") from None
    for needed in _NEEDED[name]:
        if needed not in frame.columns:
            raise InputError(f"{path}: not the table of {name}: it has no column `{needed}`")
    declared = columns.tables()[name].columns
    for column, dtype in frame.schema.items():
        known = declared.get(column)
        if known and dtype.is_numeric() == (known.type == "text"):
            raise InputError(f"{path}: the column `{column}` holds {dtype}; expected a {known.type}")
    return frame


def _compare(folder: Path, scenario: Mapping[str, Any], seed: int, *, force: bool) -> None:
    """Raise :class:`InputError` if a run must not replace a folder with a manifest."""
    kind = _kind((folder / FILE).read_bytes())
    if kind != _RUN:
        raise InputError(f"{folder}: the folder of a {kind}; choose another")
    if force:
        return
    try:
        manifest = _manifest(folder)
    except InputError as error:
        raise InputError(f"{error}; {_WAY_OUT}") from None
    if manifest["engine"] != _native.ENGINE:
        raise InputError(
            f"{folder}: holds a run of engine {manifest['engine']}, and this is {_native.ENGINE}; {_WAY_OUT}"
        )
    stored = {**manifest["scenario"], "seed": manifest["seed"]}
    for key, there, here in differences(stored, {**scenario, "seed": seed}):
        raise InputError(f"{folder}: holds another run: {key} is {there} there and {here} here; {_WAY_OUT}")


def _kind(manifest: bytes) -> str:
    """Return the kind of folder that a manifest states; a damaged one is taken for that of a run."""
    try:
        return str(parsed(manifest).get("kind", _RUN))
    except ValueError:
        return _RUN


def _move(partial: Path, folder: Path) -> None:
    """Replace a folder by a new one."""
    if not folder.exists():
        partial.rename(folder)
        return
    old = partial_path(folder)
    folder.rename(old)
    try:
        partial.rename(folder)
    except BaseException:
        old.rename(folder)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _file(folder: Path, table: str) -> Path:
    return folder / f"{table}.parquet"


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())
