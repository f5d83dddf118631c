"""Rows of CSV files that others have made, one at a time: the files of a country have millions.

`crates/catalog/src/csv.rs` reads the CSV files that a scenario names, with the same rules.
"""

import csv
import gzip
import io
import zlib
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import BinaryIO, cast

from airwnd.support.errors import InputError
from airwnd.support.files import opened, source_name
from airwnd.text.quantities import counted

# Separators of fields, the usual one first.
_SEPARATORS = (",", ";", "\t")
_GZIP = b"\x1f\x8b"
# A line longer than this, in characters, is none: its text would fill the memory.
_LONGEST_LINE = 1 << 20


class Rows:
    """Rows of a CSV file; iteration yields the number of the line and its fields, once.

    The file may be compressed with gzip, and be a pipe. Fields are separated by commas, semicolons or tabs,
    whichever the first line has most of; they may be quoted (RFC 4180). Lines end with a line feed, a
    carriage return or both. Empty lines are skipped, and lines before the header that begin with ``#``.

    Parameters
    ----------
    path
        The file.
    known
        Names of columns, in lower case, with the name that they get here: several may mean the same.
    positional
        Names of the columns of a file without a header line; empty: it needs one.
    first_fields
        What the first field of such a file may be, in upper case.

    Attributes
    ----------
    name
        Name of the file in messages.
    columns
        Names of the columns, in their order; there are none if the file is empty.

    Raises
    ------
    InputError
        If a column is unknown or appears twice, or there is no header line; while iterating: if a line has
        another number of fields, is too long, or is not UTF-8, or the compressed data are damaged.
    OSError
        If the file cannot be read.
    """

    def __init__(
        self,
        path: Path,
        known: Mapping[str, str],
        positional: Sequence[str] = (),
        first_fields: Sequence[str] = (),
    ) -> None:
        self.name = source_name(path)
        self._known = known
        self._lines = self._read(path)
        self._number = 0
        first = self._first()
        counts = {each: sum(part.count(each) for part in first.split('"')[::2]) for each in _SEPARATORS}
        separator = max(_SEPARATORS, key=lambda each: counts[each])
        self._reader = csv.reader(self._with(first), delimiter=separator, skipinitialspace=True)
        fields = self._next()
        self._header = self._number
        self._kept: list[str] | None = None
        self.columns: tuple[str, ...] = ()
        self._is_headless = bool(fields) and fields[0].upper() in first_fields
        if self._is_headless:
            self.columns = tuple(positional)
            self._kept = fields
            self._check_length(fields)
        elif fields:
            self.columns = self._named(fields)

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        with closing(self._lines):
            if self._kept is not None:
                yield self._number, self._kept
                self._kept = None
            while fields := self._next():
                self._check_length(fields)
                yield self._number, fields

    def blamed(self, line: int, message: str) -> InputError:
        """Return the error of a line."""
        return InputError(f"{self.name}:{line}: {message}")

    def _named(self, fields: Sequence[str]) -> tuple[str, ...]:
        names = [field.lower() for field in fields]
        listed = ", ".join(self._known)
        if all(field.replace(".", "").removeprefix("-").isdigit() for field in fields):
            raise self.blamed(self._header, f"there is no header line before the numbers; columns: {listed}")
        if unknown := next((field for field in fields if field.lower() not in self._known), None):
            raise self.blamed(self._header, f"unknown column {unknown!r}; known: {listed}")
        found = [self._known[name] for name in names]
        for place, name in enumerate(found):
            if name in found[:place]:
                raise self.blamed(self._header, f"the column {names[place]} appears twice")
        return tuple(found)

    def _check_length(self, fields: Sequence[str]) -> None:
        if len(fields) != len(self.columns):
            expected = counted(len(self.columns), "field")
            like = "as without a header line" if self._is_headless else f"as in line {self._header}"
            raise self.blamed(self._number, f"expected {expected}, {like}")

    def _next(self) -> list[str]:
        """Return the fields of the next line that is not empty; empty: there is none."""
        try:
            for fields in self._reader:
                # A quoted field may span lines: the number is that of the last one.
                self._number = self._skipped + self._reader.line_num
                if len(fields) > 1 or (fields and fields[0].strip()):
                    return [field.strip() for field in fields]
        except csv.Error as error:
            raise self.blamed(self._skipped + self._reader.line_num, str(error)) from None
        return []

    def _first(self) -> str:
        """Return the first line that is neither empty nor a comment."""
        self._skipped = 0
        for line in self._lines:
            if line.strip() and not line.startswith("#"):
                return line
            self._skipped += 1
        return ""

    def _with(self, first: str) -> Iterator[str]:
        yield first
        yield from self._lines

    def _read(self, path: Path) -> Generator[str]:
        """Yield the lines with their ends."""
        number = 0
        with opened(path, pipes=True) as file:
            packed = file.peek(len(_GZIP))[: len(_GZIP)] == _GZIP
            data = cast("BinaryIO", gzip.GzipFile(fileobj=file) if packed else file)
            try:
                with io.TextIOWrapper(data, encoding="utf-8-sig", newline="") as text:
                    while line := text.readline(_LONGEST_LINE + 1):
                        number += 1
                        if len(line) > _LONGEST_LINE:
                            raise self.blamed(number, f"longer than {_LONGEST_LINE:,} characters")
                        yield line
            except UnicodeDecodeError:
                raise InputError(f"{self.name}: not UTF-8 after line {number}") from None
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                raise InputError(f"{self.name}: damaged after line {number}: {error}") from None
