"""Reading an experiment's TOML files strictly: an unknown key or a wrong type is an error with its place."""

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self, TypeVar

from airwnd.errors import InputError

T = TypeVar("T")


class Table:
    """A TOML table whose keys must all be taken."""

    def __init__(self, raw: Mapping[str, Any], where: str) -> None:
        self._raw = dict(raw)
        self._where = where

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a file."""
        try:
            return cls(tomllib.loads(path.read_text(encoding="utf-8")), str(path))
        except ValueError as error:  # not UTF-8, or not TOML
            raise InputError(f"{path}: {error}") from None

    def __contains__(self, key: str) -> bool:
        return key in self._raw

    def take(self, key: str, kind: type[T] | tuple[type[T], ...], default: T | None = None) -> T:
        """Remove and return a value of a type; without a default it must be there."""
        value = self._raw.pop(key, default)
        if value is None:
            raise self.error(f"`{key}` is missing")
        kinds = kind if isinstance(kind, tuple) else (kind,)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise self.error(f"{key}: expected {' or '.join(k.__name__ for k in kinds)}, found {value!r}")
        return value

    def number(self, key: str, default: float | None = None) -> float:
        """Remove and return a number."""
        return float(self.take(key, (int, float), default))

    def choose(self, key: str, allowed: Iterable[str], default: str | None = None) -> str:
        """Remove and return one of the allowed words."""
        word = self.take(key, str, default)
        words = list(allowed)
        if word not in words:
            raise self.error(f"{key}: `{word}` is none of {', '.join(words) or 'none'}")
        return word

    def table(self, key: str) -> dict[str, Any]:
        """Remove and return a table as a dictionary, empty if it is missing."""
        return dict(self.take(key, dict, {}))

    def tables(self, key: str) -> "Iterator[Table]":
        """Remove a list of tables and go through it, checking each to its end."""
        for index, raw in enumerate(self.take(key, list, [])):
            if not isinstance(raw, dict):
                raise self.error(f"{key}[{index}]: expected a table, found {raw!r}")
            table = Table(raw, f"{self._where}: {key}[{index}]")
            yield table
            table.finish()

    def finish(self) -> None:
        """Complain of the first key that nobody took."""
        for key in self._raw:
            raise self.error(f"unknown key `{key}`")

    def error(self, message: str) -> InputError:
        """Make an error that names this table."""
        return InputError(f"{self._where}: {message}")
