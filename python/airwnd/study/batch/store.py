"""Finished runs on disk, each in its own file, so that an interrupted batch can be continued."""

import errno
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from airwnd.study.batch.task import Finished, Task
from airwnd.support.arguments import PATH, checked
from airwnd.support.files import check_folder, write_atomically
from airwnd.support.seal import digest, is_sealed, sealed

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Stored:
    """A finished run.

    Attributes
    ----------
    outcome
        Results, as :attr:`airwnd.Run.outcome`.
    wall_s
        Wall-clock time of the simulation, in seconds.
    """

    outcome: dict[str, Any]
    wall_s: float
    _tables: Mapping[str, Path] = field(compare=False, repr=False)

    @property
    def series(self) -> "pl.DataFrame":
        """The time series, as :attr:`airwnd.Run.series`; empty if none were requested."""
        return self._table("series")

    @property
    def events(self) -> "pl.DataFrame":
        """Events of the flows, as :attr:`airwnd.Run.events`; empty if no series were requested."""
        return self._table("events")

    @property
    def completions(self) -> "pl.DataFrame":
        """Transfers and pages, as :attr:`airwnd.Run.completions`; empty if no series were requested."""
        return self._table("completions")

    def _table(self, name: str) -> "pl.DataFrame":
        import polars as pl

        return pl.read_parquet(self._tables[name]) if name in self._tables else pl.DataFrame()


class DamageError(Exception):
    """A stored run differs from what was written; `path` is the damaged file."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path}: differs from what was written")
        self.path = path


class _Contents(msgspec.Struct, frozen=True):
    """The JSON file of a run; the outcome is decoded on demand."""

    key: str
    wall_s: float
    tables: dict[str, str]
    outcome: msgspec.Raw


class Store:
    """A folder of finished runs.

    A run is stored as ``KEY.json``, where KEY is :attr:`Task.key`. A run with time series also has
    ``KEY.series.parquet`` and further tables. The JSON file holds the key, the digests of the tables, and as
    its last value the digest of all preceding bytes, so that changed bytes and files of other runs are found.
    The JSON file is written last: a run that has one is finished.

    Parameters
    ----------
    folder
        The folder; it is created when the first run is stored.
    """

    @checked(folder=PATH)
    def __init__(self, folder: str | PathLike[str]) -> None:
        self.folder = Path(folder)

    def prepare(self) -> None:
        """Check that runs can be stored, before they are executed."""
        try:
            check_folder(self.folder)
        except OSError as error:
            raise explained(error, self.folder) from None

    def has(self, task: Task) -> bool:
        """Return whether a run is finished and matches its digests.

        Raises
        ------
        DamageError
            If the stored run is damaged.
        """
        return self._verified(task) is not None

    def get(self, task: Task) -> Stored | None:
        """Read a finished run; ``None`` if it is missing or damaged."""
        try:
            found = self._verified(task)
        except DamageError:
            return None
        if found is None:
            return None
        tables = {name: self._path(task, f"{name}.parquet") for name in found.tables}
        return Stored(json.loads(bytes(found.outcome)), found.wall_s, tables)

    def put(self, task: Task, finished: Finished) -> None:
        """Store a finished run atomically."""
        digests = json.dumps({name: digest(table) for name, table in finished.tables.items()})
        # The outcome is already JSON. Parsing and serializing it again would cost more than a short run.
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
        # A file of an earlier version has no digest and cannot be verified: it counts as damaged.
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
    """Read a file; ``None`` if it does not exist. A folder, a pipe or a dangling link counts as damage."""
    if path.is_file():
        return path.read_bytes()
    if os.path.lexists(path):
        raise DamageError(path)
    return None


def explained(error: OSError, folder: Path) -> OSError:
    """Add to an error that finished runs are kept; for a full disk, name the folder, not a file in it."""
    full = error.errno in {errno.ENOSPC, errno.EDQUOT}
    on = "once there is room" if full else "from there"
    why = f"{error.strerror or error}; finished runs are kept, and the same command continues {on}"
    return OSError(error.errno, why, str(folder if full else error.filename or folder))
