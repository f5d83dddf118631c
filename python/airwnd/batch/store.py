"""Finished runs on disk, each in a file of its own: an interrupted batch goes on where it stopped."""

import errno
import json
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
    _series: Path = field(compare=False, repr=False)

    @property
    def series(self) -> "pl.DataFrame":
        """The time series, as of :attr:`airwnd.Run.series`; empty if none were asked for."""
        import polars as pl

        return pl.read_parquet(self._series) if self._series.exists() else pl.DataFrame()


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
        path = self._path(task)
        series = path.with_suffix(".parquet")
        try:
            found = json.loads(path.read_bytes())
            if found["series_bytes"] is not None and found["series_bytes"] != series.stat().st_size:
                return None
            return Stored(found["outcome"], float(found["wall_s"]), series)
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None

    def put(self, task: Task, finished: Finished) -> None:
        """Store a finished run at once and as a whole."""
        path = self._path(task)
        length = None if finished.series is None else len(finished.series)
        # The outcome is JSON already; reading it only to write it again would cost more than a short run.
        text = (
            f'{{"outcome": {finished.outcome}, "wall_s": {finished.wall_s!r}, '
            f'"series_bytes": {json.dumps(length)}}}'
        )
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if finished.series is not None:
                write_atomically(path.with_suffix(".parquet"), finished.series)
            write_atomically(path, text)
        except OSError as error:
            raise explained(error, self.folder) from None

    def _path(self, task: Task) -> Path:
        return self.folder / f"{task.key}.json"


def explained(error: OSError, folder: Path) -> OSError:
    """Name the folder, not a file in it, and the way on, where a disk is full."""
    if error.errno not in {errno.ENOSPC, errno.EDQUOT}:
        return error
    why = f"{error.strerror}; finished runs are kept, and the same command goes on once there is room"
    return OSError(error.errno, why, str(folder))
