"""Finished runs on disk, each in a file of its own: an interrupted batch goes on where it stopped."""

import errno
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airwnd.batch.task import Finished, Task
from airwnd.files import write_atomically

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


class Store:
    """A folder of finished runs.

    A run is ``KEY.json``, and ``KEY.parquet`` beside it if it has time series, with :attr:`Task.key`. The
    JSON file is written last: a run that has one is finished.

    Parameters
    ----------
    folder
        Where; it is made when the first run is stored.
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        self.folder = Path(folder)

    def get(self, task: Task) -> Stored | None:
        """Find a finished run; one whose files were cut short counts as none."""
        path = self._path(task, "json")
        try:
            found = json.loads(path.read_bytes())
            tables = {name: self._path(task, f"{name}.parquet") for name in found["tables"]}
            if any(tables[name].stat().st_size != length for name, length in found["tables"].items()):
                return None
            return Stored(found["outcome"], float(found["wall_s"]), tables)
        except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def put(self, task: Task, finished: Finished) -> None:
        """Store a finished run at once and as a whole."""
        lengths = json.dumps({name: len(table) for name, table in finished.tables.items()})
        # The outcome is JSON already; reading it only to write it again would cost more than a short run.
        text = f'{{"outcome": {finished.outcome}, "wall_s": {finished.wall_s!r}, "tables": {lengths}}}'
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for name, table in finished.tables.items():
                write_atomically(self._path(task, f"{name}.parquet"), table)
            write_atomically(self._path(task, "json"), text)
        except OSError as error:
            raise explained(error, self.folder) from None

    def _path(self, task: Task, suffix: str) -> Path:
        return self.folder / f"{task.key}.{suffix}"


def explained(error: OSError, folder: Path) -> OSError:
    """Name the folder, not a file in it, and the way on, where a disk is full."""
    if error.errno not in {errno.ENOSPC, errno.EDQUOT}:
        return error
    why = f"{error.strerror}; finished runs are kept, and the same command goes on once there is room"
    return OSError(error.errno, why, str(folder))
