"""Reading an experiment's TOML files into typed entries, with messages that name file, key and rule.

An entry declares the contents of a table in a file: types, ranges and meanings. The declarations define both
the checks here and the JSON Schemas printed by ``airwnd schema``. Conditions on other parts of an experiment
(such as that the axis of a plot exists) are checked where these are known, and raised as :class:`Mistake`.

Limits apply to every file, so that damaged or hostile files also end in a message.
"""

import math
import re
import tomllib
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator
from contextlib import contextmanager
from datetime import date, time
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, inspect

from airwnd.support.errors import InputError
from airwnd.support.files import read_text

T = TypeVar("T")

LARGEST_FILE_MIB = 1
DEEPEST = 16
"""Maximum nesting depth of tables and arrays."""
LONGEST_TEXT = 10_000
"""Maximum number of characters of a text."""
LONGEST_NAME = 100
"""Maximum number of characters of a name or key."""
LARGEST = 1e100
"""Maximum magnitude of a number; sums and products of a few such numbers are finite."""
MAX_LEVELS = 1000
"""Maximum number of levels of an axis."""
MAX_SEEDS = 10_000

Text = Annotated[str, Meta(min_length=1)]
"""A non-empty text."""

Heading = Annotated[str, Meta(min_length=1, max_length=200)]
"""A title or label, short enough for a plot."""

Name = Annotated[
    str,
    Meta(
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*$",
        max_length=LONGEST_NAME,
        extra={"expected": "a name of letters, digits and _, as in Python"},
    ),
]
"""A name in expressions and tables."""

Word = bool | int | float | str
"""A value of a column, or a level of an axis."""

Words = Annotated[tuple[Word, ...], Meta(min_length=1, max_length=MAX_LEVELS)]

Span = Annotated[
    str,
    Meta(
        pattern=r"^[0-9]+(\.[0-9]+)?\s*(ns|us|µs|ms|s|min|h)$",
        extra={"expected": 'a time with its unit, as in "20s"'},
    ),
]

_ID = r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"
_ID_EXPECTED = "a name of letters, digits, _, - and . that begins with a letter or digit"

Id = Annotated[str, Meta(pattern=_ID, max_length=LONGEST_NAME, extra={"expected": _ID_EXPECTED})]
"""A name of a file, of a folder, or of an anchor on a page."""

Settings = Annotated[
    dict[str, Any], Meta(description="Values of the scenario by dotted key, as in ``airwnd run --set``.")
]

Unit = Annotated[str, Meta(max_length=40)]

Digits = Annotated[int, Meta(description="Number of decimals shown.", ge=0, le=15)]

Seeds = Annotated[int, Meta(description="Number of seeds per setting: 1 to this number.", ge=1, le=MAX_SEEDS)]


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of a file. Subclasses repeat ``frozen=True`` for type checkers."""


class Mistake(ValueError):  # noqa: N818 (the user's, not the program's)
    """Error in an entry: in its key `key`, or in the entry as a whole if `key` is empty."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(f"{key}: {message}" if key else message)
        self.key = key
        self.message = message


def load(path: Path, kind: type[T]) -> T:
    """Read a TOML file.

    Raises
    ------
    InputError
        If the file is not UTF-8, not TOML, or violates the declarations of `kind`; one line with file, key
        and rule.
    """
    text = read_text(path, LARGEST_FILE_MIB)
    if _DEEP_KEY.search(text):  # Python's parser would take hours
        raise InputError(f"{path}: {_TOO_DEEP}")
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: {error}") from None
    except RecursionError:
        raise InputError(f"{path}: {_TOO_DEEP}") from None
    except ValueError:  # raised by Python's `int`
        raise InputError(
            f"{path}: expected an integer of at most 64 bits, found thousands of digits"
        ) from None
    return convert(raw, kind, str(path))


def convert(raw: dict[str, Any], kind: type[T], where: str) -> T:
    """Check a table and convert it to an entry; `where` is the file named in messages."""
    with placed(where):
        _check_value(raw, "")
        try:
            return msgspec.convert(raw, kind)
        except msgspec.ValidationError as error:
            raise _explained(error, raw, kind) from None


@contextmanager
def placed(where: str, entry: str = "") -> Iterator[None]:
    """Convert a :class:`Mistake` to an ``InputError`` that names file and entry, such as ``plot[0]``."""
    try:
        yield
    except Mistake as mistake:
        at = ".".join(part for part in (entry, mistake.key) if part)
        raise InputError(": ".join(part for part in (where, at, mistake.message) if part)) from None


def one_of(key: str, word: str, known: Collection[str]) -> str:
    """Check that a word is one of the known words."""
    if word not in known:
        raise Mistake(key, f"`{word}` is not one of {', '.join(known) or 'none'}")
    return word


def duplicate(names: Iterable[Hashable]) -> Hashable | None:
    """Return the first name that stands more than once; ``None``: all differ."""
    return next((name for name, count in Counter(names).items() if count > 1), None)


def distinct(what: str, names: Iterable[str], key: str = "") -> None:
    """Raise an error for a duplicate name."""
    if (name := duplicate(names)) is not None:
        raise Mistake(key, f"two of {what} are called `{name}`")


def check_id(key: str, text: str) -> None:
    """Check a name of a file or folder that no entry declares as an :data:`Id`."""
    if len(text) > LONGEST_NAME or not re.fullmatch(_ID, text):
        raise Mistake(key, f"expected {_ID_EXPECTED}, at most {LONGEST_NAME} characters, found {shown(text)}")


_SHOWN = 80


def shown(value: object) -> str:
    """Format an invalid value for a message; a long one is truncated."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def schema(kind: type) -> dict[str, Any]:
    """Return the JSON Schema of a file, of draft 2020-12."""
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(msgspec.json.schema(kind)))
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **found}


_TOO_DEEP = f"tables and arrays are nested more than {DEEPEST} levels deep"
_KEY = r"""[ \t]*(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')[ \t]*"""
_DEEP_KEY = re.compile(rf"(?:^|[\[{{,]){_KEY}(?:\.{_KEY}){{{DEEPEST}}}", re.MULTILINE)
# Control characters, Unicode line ends, and characters that are not allowed in XML (and SVG).
_NO_TEXT = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ufffe\uffff]")


def check_text(key: str, text: str, longest: int = LONGEST_TEXT) -> None:
    """Raise an error for a text that is too long, or has line ends or control characters."""
    if len(text) > longest:
        raise Mistake(key, f"expected at most {longest} characters, found {len(text)}")
    if found := _NO_TEXT.search(text):
        raise Mistake(
            key, f"a text is one line without control characters, found {found[0]!r} in {shown(text)}"
        )


def _check_value(value: Any, at: str, depth: int = 0) -> None:
    """Raise an error for values that TOML allows but neither entries nor scenarios do."""
    if depth > DEEPEST:
        raise Mistake("", _TOO_DEEP)
    match value:
        case dict():
            for key, inner in value.items():
                check_text(at, key, LONGEST_NAME)
                _check_value(inner, f"{at}.{key}" if at else key, depth + 1)
        case list():
            for index, inner in enumerate(value):
                _check_value(inner, f"{at}[{index}]", depth + 1)
        case str():
            check_text(at, value)
        case int() if not -(2**63) <= value < 2**63:
            raise Mistake(at, "expected an integer of at most 64 bits")
        case float() if not math.isfinite(value):
            raise Mistake(at, f"expected a finite number, found {value}")
        case float() if abs(value) > LARGEST:
            raise Mistake(at, f"expected a number up to {LARGEST:g}, found {value}")
        case date() | time():
            raise Mistake(at, f"expected a string, a number or a boolean, found the date or time {value}")


_MESSAGE = re.compile(r"(?P<what>.*?)(?: - at `\$\.?(?P<at>.*)`)?", re.DOTALL)
_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+|\.\.\.)\]")
# TOML's names for the types of msgspec.
_TYPES = {
    "str": "a string",
    "int": "an integer",
    "float": "a number",
    "bool": "a boolean",
    "array": "an array",
    "object": "a table",
}


def _explained(error: msgspec.ValidationError, raw: dict[str, Any], kind: type) -> Mistake:
    """Describe a validation error in terms of TOML, with the key and the allowed values."""
    found = _MESSAGE.fullmatch(str(error))
    what, at = (found["what"], found["at"] or "") if found else (str(error), "")
    key = at.replace("[...]", "")
    if isinstance(error.__cause__, Mistake):
        own = error.__cause__
        return Mistake(".".join(part for part in (key, own.key) if part), own.message)
    value, declared, expected = _walk(raw, inspect.type_info(kind), at)
    if missing := re.fullmatch(r"Object missing required field (`.*`)", what):
        # In a union of tables only the tag that selects the kind can be missing here.
        kinds = f"; one of {', '.join(_choices(declared))}" if isinstance(declared, inspect.UnionType) else ""
        return Mistake(key, f"{missing[1]} is missing{kinds}")
    if unknown := re.fullmatch(r"Object contains unknown field (`.*`)", what):
        return Mistake(key, f"unknown key {unknown[1]}; allowed: {', '.join(_keys(declared))}")
    if what.startswith("Invalid"):
        return Mistake(key, f"`{str(value)[:_SHOWN]}` is not one of {', '.join(_choices(declared))}")
    if " matching regex " in what and expected:
        what = f"Expected {expected}"
    what = re.sub(r", got [^,]*$", "", what)
    what = re.sub(r"`([\w |]+)`", lambda types: _type_names(types[1]), what)
    suffix = "" if "[...]" in at else f", found {shown(value)}"
    return Mistake(key, what[:1].lower() + what[1:] + suffix)


def _type_names(types: str) -> str:
    names = [_TYPES.get(each, each) for each in types.split(" | ") if each != "null"]
    return " or ".join(dict.fromkeys(names))


def _walk(value: Any, kind: inspect.Type, at: str) -> tuple[Any, inspect.Type, str]:
    """Follow a path; return the value there, its declaration, and a description of the expected value."""
    kind, expected = _bare(kind, value)
    for key, index in _STEP.findall(at):
        if isinstance(kind, inspect.StructType) and key == kind.tag_field:
            return value[key], kind, ""
        match kind:
            case inspect.StructType():
                inner = next(field.type for field in kind.fields if field.encode_name == key)
            case inspect.DictType():
                return value, kind.value_type, ""
            case inspect.TupleType():
                inner = kind.item_types[int(index)]
            case inspect.VarTupleType():
                inner = kind.item_type
            case inspect.UnionType():
                return value.get(key), kind, ""
            case _:
                break
        value = value[int(index) if index else key]
        kind, expected = _bare(inner, value)
    return value, kind, expected


def _bare(kind: inspect.Type, value: Any) -> tuple[inspect.Type, str]:
    """Unwrap a declaration and select the intended alternative of a union; return it with its description."""
    expected = ""
    while isinstance(kind, inspect.Metadata | inspect.UnionType):
        if isinstance(kind, inspect.Metadata):
            expected = (kind.extra or {}).get("expected", expected)
            kind = kind.type
            continue
        others = [each for each in kind.types if not isinstance(each, inspect.NoneType)]
        meant = [each for each in others if _is_tagged(each, value)] or others
        if len(meant) > 1:
            break
        kind = meant[0]
    return kind, expected


def _is_tagged(kind: inspect.Type, value: Any) -> bool:
    """Return whether a table's tag, such as its ``kind``, selects this alternative."""
    match kind:
        case inspect.StructType(tag_field=str() as field, tag=tag):
            return isinstance(value, dict) and value.get(field) == tag
    return False


def _keys(kind: inspect.Type) -> list[str]:
    match kind:
        case inspect.StructType(fields=fields, tag_field=tag_field):
            return [*([tag_field] if tag_field else []), *(field.encode_name for field in fields)]
    raise AssertionError("only tables have keys")


def _choices(kind: inspect.Type) -> list[str]:
    match kind:
        case inspect.LiteralType(values=values):
            return [str(value) for value in values]
        case inspect.UnionType(types=types):
            return [str(each.tag) for each in types if isinstance(each, inspect.StructType)]
    raise AssertionError("only words are chosen")
