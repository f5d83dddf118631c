"""The command line's part of a battery: what the session runs, and what becomes of its results."""

import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airwnd.link.battery.results import Results
from airwnd.results.engine import duration_ns
from airwnd.support.errors import InputError

#: Default length of the load.
LENGTH = "20s"
#: Shortest and longest load, in seconds.
LENGTHS_S = (1.0, 3600.0)


@dataclass(frozen=True, slots=True)
class Battery:
    """A battery that a session can run.

    Attributes
    ----------
    name
        Its name.
    length_s
        Length of the load in seconds.
    folder
        Folder in which both ends write what they have measured.
    """

    name: str
    length_s: float
    folder: Path

    @property
    def command(self) -> tuple[str, ...]:
        """Words of the command on the UE."""
        module = "airwnd.link.battery.client"
        return (sys.executable, "-I", "-m", module, self.name, f"{self.length_s:g}", str(self.folder))

    @property
    def end(self) -> Mapping[str, Any]:
        """The other end of the session."""
        module = "airwnd.link.battery.reflector"
        return {
            "kind": "namespace",
            "command": [sys.executable, "-I", "-m", module, str(self.folder / "call")],
        }

    def results(self) -> Results | None:
        """Return what was measured; ``None``: the battery was ended early."""
        path = self.folder / "client.json"
        if not path.exists():
            return None
        return Results.of(self.name, self.length_s, json.loads(path.read_text(encoding="utf-8")))


@contextmanager
def prepared(name: str, length: str) -> Iterator[Battery]:
    """Prepare a battery; its folder exists until the end of the block.

    Parameters
    ----------
    name
        Name of the battery.
    length
        Length of the load, as in ``20s``.

    Raises
    ------
    InputError
        If the length is no time, or outside :data:`LENGTHS_S`.
    """
    length_s = duration_ns("--battery-time", length) / 1e9
    minimum, maximum = LENGTHS_S
    if not minimum <= length_s <= maximum:
        raise InputError(f"--battery-time {length}: outside {minimum:g}s..{maximum:g}s")
    with tempfile.TemporaryDirectory(prefix="airwnd-battery-") as folder:
        yield Battery(name, length_s, Path(folder))
