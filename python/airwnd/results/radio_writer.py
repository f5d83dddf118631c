"""Traces of the radio interface: folders of Parquet files, written while a run goes on."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from airwnd.results.frames import parquet, table_of
from airwnd.support.errors import InputError
from airwnd.support.files import check_folder, write_atomically

if TYPE_CHECKING:
    from airwnd.results.radio_trace import RadioTrace
    from airwnd.results.raw import Columns

# Before the names of the tables, as the engine declares them.
_PREFIX = "radio_"
_TABLES = ("grants", "blocks", "control", "drx", "pdus", "sdus", "rrc")


class Writer:
    """Writes the parts of the tables that the engine passes on.

    A part is complete or absent, so a trace is readable whenever and however its run ends.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._parts = dict.fromkeys(_TABLES, 0)
        check_folder(path)
        _clear(path)

    def __call__(self, name: str, columns: "Columns") -> None:
        """Write a part of a table; an empty one only if there is no other."""
        table = name.removeprefix(_PREFIX)
        frame = table_of(columns)
        part = self._parts[table]
        if frame.is_empty() and part > 0:
            return
        folder = self._path / table
        folder.mkdir(exist_ok=True)
        write_atomically(folder / f"{part:05}.parquet", parquet(frame))
        self._parts[table] = part + 1


def writer(trace: "RadioTrace") -> Writer:
    """Return the writer of a trace, after a check of its folder."""
    return Writer(Path(os.fspath(trace.path)))


def _clear(path: Path) -> None:
    """Remove an earlier trace; refuse a folder with anything else."""
    parts = [part for table in _TABLES for part in (path / table).glob("[0-9]*.parquet")]
    ours = {*parts, *(path / table for table in _TABLES)}
    if others := sorted(set(path.rglob("*")) - ours):
        raise InputError(
            f"{path}: has {others[0].relative_to(path)}, which is no part of a trace; name another folder"
        )
    for part in parts:
        part.unlink()
