"""Finished runs on disk, each in a file of its own: an interrupted batch goes on where it stopped."""

import errno
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from airwnd.arguments import PATH, checked
from airwnd.batch.task import Finished, Task
from airwnd.files import check_folder, write_atomically
from airwnd.seal import digest, is_sealed, sealed

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Stored:
    """A finished run.

    Attributes
    ----------
    outcome
        The figures, as of :attr:`airwnd.Run.outcome`.
    wall_s
        How long the simulation took, in seconds, whenever it was made.
    """

    outcome: dict[str, Any]
    wall_s: float
    _tables: Mapping[str, Path] = field(compare=False, repr=False)

    @property
    def series(self) -> "pl.DataFrame":
        """The time series, as of :attr:`airwnd.Run.series`; empty if none were asked for."""
        return self._table("series")

    @property
    def events(self) -> "pl.DataFrame":
        """What befell the flows, as of :attr:`airwnd.Run.events`; empty if no series were asked for."""
        return self._table("events")

    def _table(self, name: str) -> "pl.DataFrame":
        import polars as pl

        return pl.read_parquet(self._tables[name]) if name in self._tables else pl.DataFrame()


class DamageError(Exception):
    """A stored run is not what was written; `path` is the file in which that shows."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path}: not what was written")
        self.path = path


class _Contents(msgspec.Struct, frozen=True):
    """The JSON file of a run; the outcome is decoded where it is needed."""

    key: str
    wall_s: float
    tables: dict[str, str]
    outcome: msgspec.Raw


class Store:
    """A folder of finished runs.

    A run is ``KEY.json``, with :attr:`Task.key`, and ``KEY.series.parquet`` and the like beside it if it has
    time series. The JSON file holds its key, the digests of the tables, and as its last value the digest of
    everything before, so a changed byte and a file of another run are found. It is written last: a run that
    has one is finished.

    Parameters
    ----------
    folder
        Where; it is made when the first run is stored.
    """

    @checked(folder=PATH)
    def __init__(self, folder: str | PathLike[str]) -> None:
        self.folder = Path(folder)

    def prepare(self) -> None:
        """Check that runs can be stored, before they are made."""
        try:
            check_folder(self.folder)
        except OSError as error:
            raise explained(error, self.folder) from None

    def has(self, task: Task) -> bool:
        """Whether a run is finished, and proven to be as it was written.

        Raises
        ------
        DamageError
            If there is something in its place that is not.
        """
        return self._verified(task) is not None

    def get(self, task: Task) -> Stored | None:
        """Find a finished run; one that is damaged counts as none."""
        try:
            found = self._verified(task)
        except DamageError:
            return None
        if found is None:
            return None
        tables = {name: self._path(task, f"{name}.parquet") for name in found.tables}
        return Stored(json.loads(bytes(found.outcome)), found.wall_s, tables)

    def put(self, task: Task, finished: Finished) -> None:
        """Store a finished run at once and as a whole."""
        digests = json.dumps({name: digest(table) for name, table in finished.tables.items()})
        # The outcome is JSON already; reading it only to write it again would cost more than a short run.
        text = (
            f'{{"key": "{task.key}", "wall_s": {finished.wall_s!r}, "tables": {digests},\n'
            f'"outcome": {finished.outcome}}}'
        )
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for name, table in finished.tables.items():
                write_atomically(self._path(task, f"{name}.parquet"), table)
            write_atomically(self._path(task, "json"), sealed(text))
        except OSError as error:
            raise explained(error, self.folder) from None

    def _verified(self, task: Task) -> _Contents | None:
        path = self._path(task, "json")
        data = _bytes_of(path)
        if data is None:
            return None
        # A file of an earlier version has no digest: what it holds cannot be proven, so it counts as damaged.
        if not is_sealed(data):
            raise DamageError(path)
        try:
            contents = msgspec.json.decode(data, type=_Contents)
        except msgspec.DecodeError:
            raise DamageError(path) from None
        if contents.key != task.key:
            raise DamageError(path)
        for name, expected in contents.tables.items():
            path = self._path(task, f"{name}.parquet")
            table = _bytes_of(path)
            if table is None or digest(table) != expected:
                raise DamageError(path)
        return contents

    def _path(self, task: Task, suffix: str) -> Path:
        return self.folder / f"{task.key}.{suffix}"


def _bytes_of(path: Path) -> bytes | None:
    """Read a file; ``None`` if there is nothing. A folder, a pipe or a dangling link is damage."""
    if path.is_file():
        return path.read_bytes()
    if os.path.lexists(path):
        raise DamageError(path)
    return None


def explained(error: OSError, folder: Path) -> OSError:
    """Say that finished runs are kept; where a disk is full, name the folder, not a file in it."""
    full = error.errno in {errno.ENOSPC, errno.EDQUOT}
    on = "once there is room" if full else "from there"
    why = f"{error.strerror or error}; finished runs are kept, and the same command goes on {on}"
    return OSError(error.errno, why, str(folder if full else error.filename or folder))
