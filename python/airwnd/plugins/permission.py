"""Permission to execute Python code that a scenario names."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path

from airwnd.support.errors import InputError

#: Default wall-clock limit of a plug-in call, in seconds.
PLUGIN_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class CodePolicy:
    """Permission and time limit for the Python code that a scenario names.

    Attributes
    ----------
    allow
        Whether all files and modules that define classes may be executed, as a program in Python may permit.
    timeout_s
        Wall-clock limit of each call into such code, in seconds; infinity: no limit.
    named
        Absolute paths of files, and modules, that may be executed since the user has named them.
    """

    allow: bool = False
    timeout_s: float = PLUGIN_TIMEOUT_S
    named: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if not self.timeout_s > 0:
            raise InputError(f"plugin timeout: {self.timeout_s:g} s is not above zero")

    def naming(self, places: Iterable[str], folder: str | Path) -> "CodePolicy":
        """Return a policy that also permits these files, relative to a folder, and modules."""
        return replace(self, named=self.named | {_place(place, folder) for place in places})

    def permits(self, place: str, folder: str | Path) -> bool:
        """Return whether a file, relative to a folder, or a module may be executed."""
        return self.allow or _place(place, folder) in self.named


#: No code is executed: a scenario that names some is refused.
NO_CODE = CodePolicy()

# The engine looks classes up while it reads a scenario, in the thread that creates the scenario.
_applied: ContextVar[CodePolicy] = ContextVar("applied", default=NO_CODE)


@contextmanager
def applied(policy: CodePolicy) -> Iterator[None]:
    """Apply a policy to the scenarios that this thread reads."""
    token = _applied.set(policy)
    try:
        yield
    finally:
        _applied.reset(token)


def is_permitted(place: str, folder: str | Path) -> bool:
    """Return whether the applied policy permits a file, relative to a folder, or a module."""
    return _applied.get().permits(place, folder)


def _place(place: str, folder: str | Path) -> str:
    try:
        return str(Path(folder, place).resolve()) if place.endswith(".py") else place
    except (OSError, ValueError, RuntimeError):  # a name that no file can have, or a circle of links
        return place
