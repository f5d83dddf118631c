"""A scenario: what is simulated, checked when it is made."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from airwnd import _native

if TYPE_CHECKING:
    from airwnd.run import Run


class Scenario:
    """A checked scenario; immutable, and equal to another that says the same.

    Made by :meth:`load`, :meth:`from_toml` or :meth:`from_dict`; changed copies by :meth:`with_`. A mistake
    raises :class:`airwnd.ScenarioError` at once, with file, line, key and what is allowed.
    """

    __slots__ = ("_checked", "_format", "_origin", "_overrides", "_resolved", "_text")

    def __init__(
        self,
        text: str,
        origin: str,
        format: Literal["toml", "json"],  # noqa: A002
        overrides: Iterable[tuple[str, str]] = (),
    ) -> None:
        self._text = text
        self._origin = origin
        self._format = format
        self._overrides = tuple(overrides)
        self._checked = _native.Scenario(text, origin, format, list(self._overrides))
        self._resolved = self._checked.to_json()

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a file: JSON if it is named ``*.json``, else TOML."""
        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise _native.ScenarioError(f"{path}: not a text in UTF-8") from None
        return cls(text, str(path), "json" if path.suffix == ".json" else "toml")

    @classmethod
    def from_toml(cls, text: str, origin: str = "scenario") -> Self:
        """Read a TOML text; `origin` stands for the file's name in messages."""
        return cls(text, origin, "toml")

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> Self:
        """Take a dictionary shaped like the file."""
        return cls(json.dumps(settings), "scenario", "json")

    def with_(self, changes: Mapping[str, Any] | None = None, /, **more: Any) -> Self:
        """Copy with some settings changed.

        Parameters
        ----------
        changes, **more
            Values by dotted key, such as ``"rlc.queue.buffer"`` or ``"ue[0].count"``. A quantity is a text
            with its unit: ``"10KiB"``.

        Examples
        --------
        >>> import airwnd
        >>> base = airwnd.Scenario.load("experiments/arwa-2019/table6/scenario.toml")
        >>> small = base.with_({"ue[0].count": 20, "rlc.queue.buffer": "10KiB"}, duration="1s")
        >>> small.resolved["duration"]
        '1s'
        """
        every = {**(changes or {}), **more}
        return self.override((key, _toml(value)) for key, value in every.items())

    def override(self, settings: Iterable[tuple[str, str]]) -> Self:
        """Copy with settings changed as ``airwnd run --set key=value`` does: values are TOML or bare text."""
        return type(self)(self._text, self._origin, self._format, (*self._overrides, *settings))

    @property
    def resolved(self) -> dict[str, Any]:
        """Everything that the scenario says, all defaults written out."""
        found: dict[str, Any] = json.loads(self._resolved)
        return found

    @property
    def name(self) -> str:
        """The scenario's name."""
        return str(self.resolved["name"])

    @property
    def seed(self) -> int:
        """The seed that the scenario runs with unless another is given."""
        return int(self.resolved["seed"])

    def run(
        self,
        seed: int | None = None,
        series: str | None = None,
        progress: Callable[[float], object] | None = None,
    ) -> "Run":
        """Simulate once. Other Python threads go on meanwhile; Ctrl-C ends it.

        Parameters
        ----------
        seed
            Another seed than the scenario's own, 0 to 2**64 - 1.
        series
            Sampling interval of the time series with its unit, as in ``"10ms"``; no series without it.
        progress
            Called now and then with the finished fraction, 0 to 1. What it raises ends the run.
        """
        from airwnd.run import simulate

        return simulate(self._checked, self.seed if seed is None else seed, series, progress)

    def run_many(
        self, seeds: Iterable[int], jobs: int | None = None, series: str | None = None
    ) -> "Sequence[Run]":
        """Simulate once per seed, in parallel; the runs come in the order of the seeds.

        Parameters
        ----------
        seeds
            The seeds.
        jobs
            Runs at the same time; as many as there are cores by default.
        series
            As for :meth:`run`.
        """
        from airwnd.parallel import run_many

        return run_many([(self, seed) for seed in seeds], jobs=jobs, series=series)

    def __eq__(self, other: object) -> bool:
        return self._resolved == other._resolved if isinstance(other, Scenario) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._resolved)

    def __repr__(self) -> str:
        return f"<Scenario {self.name!r} from {self._origin}>"


def _toml(value: object) -> str:
    """Write a value as ``--set`` reads it."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False)
