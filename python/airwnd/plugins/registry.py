"""Finds, checks and loads classes that implement members of families.

A scenario refers to a class by name, and the name is resolved where the run is executed. The same scenario
works from a file, on the command line, in worker processes and on other machines. Finding a class executes
the file or module that defines it, which requires the user's permission. The digest of the text is part of
the resolved scenario: a changed class makes a different scenario, without stored results.
"""

import copy
import difflib
import hashlib
import importlib
import inspect
import json
import linecache
import math
import sys
import threading
import traceback
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from inspect import Parameter
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, NoReturn, TypeVar
from weakref import WeakKeyDictionary

from airwnd._native import Interrupted
from airwnd.plugins.congestion import CongestionControl
from airwnd.plugins.handover import HandoverAlgorithm
from airwnd.plugins.permission import is_permitted
from airwnd.plugins.queue import QueueDiscipline
from airwnd.plugins.receiver import ReceiveWindowControl
from airwnd.plugins.scheduler import DownlinkScheduler
from airwnd.plugins.traffic import TrafficSource
from airwnd.support.errors import InputError
from airwnd.support.interrupts import on_interrupt

Class = TypeVar("Class", bound=type)

_FORMS = '"file.py:Class", "package.module:Class" or the name of a class registered with airwnd.register'
#: Maximum number of characters of an exception shown in a message.
_LONGEST = 500
_BASES: dict[str, type] = {
    "cc": CongestionControl,
    "rwnd": ReceiveWindowControl,
    "aqm": QueueDiscipline,
    "sched": DownlinkScheduler,
    "handover": HandoverAlgorithm,
    "traffic": TrafficSource,
}
# Global to the process, because texts refer to classes by name; locked, because threads read scenarios.
_registered: dict[str, type] = {}
# Defaults of the parameters of each class that a scenario has named, by digest.
_defaults: dict[str, Mapping[str, Any]] = {}
_files: dict[tuple[Path, bytes], ModuleType] = {}
_texts: dict[str, bytes] = {}
_seen: WeakKeyDictionary[type, bytes] = WeakKeyDictionary()
_lock = threading.RLock()


class RefusedError(Exception):
    """A plug-in was not found, is invalid, or must not be executed.

    Attributes
    ----------
    key
        Key of the scenario that caused the error.
    place
        File and line where the plug-in failed; ``None`` if it was not executed.
    """

    def __init__(self, key: str, message: str, place: str | None = None) -> None:
        super().__init__(message)
        self.key = key
        self.place = place


@dataclass(frozen=True)
class Plugin:
    """A class named by a scenario, with the arguments of its constructor.

    Attributes
    ----------
    name
        Name of the class.
    place
        File or module of the class, for messages.
    family
        Family that it is a member of.
    kind
        The class.
    settings, defaults
        Arguments of the constructor, and those defaults of its parameters that a scenario can hold.
    sha256
        Digest of the texts that define the class and its bases.
    """

    name: str
    place: str
    family: str
    kind: type
    settings: Mapping[str, Any]
    defaults: Mapping[str, Any]
    sha256: str

    def defines(self, method: str) -> bool:
        """Return whether the class defines a method of its base class that does nothing by default."""
        return getattr(self.kind, method) is not getattr(_BASES[self.family], method)

    def settings_json(self) -> str:
        """Return the settings with the defaults as JSON."""
        return json.dumps({**self.defaults, **self.settings})

    def defaults_json(self) -> str:
        """Return the defaults as JSON."""
        return json.dumps(self.defaults)

    def make(self, first: object) -> object:
        """Create an object of the class, with its own copy of the settings."""
        return self.kind(first, **copy.deepcopy(dict(self.settings)))

    def explain(self, error: BaseException) -> tuple[int | None, str]:
        """Describe an exception in one line; return also the last line of the class in its traceback."""
        return explain_error(error, {_filename(each) for each in _lineage(self.kind)})


def marked_interrupts() -> AbstractContextManager[None]:
    """Make Ctrl-C raise ``Interrupted``, to tell it from a ``KeyboardInterrupt`` raised by a plug-in."""
    return on_interrupt(_interrupt)


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    raise Interrupted


def register(kind: Class) -> Class:
    """Register a class under its name in this process, for classes defined in a notebook.

    Elsewhere, and for worker processes, put the class into a file and name the file in the scenario.
    Registering another class of the same name replaces the first.

    Parameters
    ----------
    kind
        A subclass of a base class of airwnd, such as :class:`airwnd.CongestionControl`.

    Returns
    -------
    type
        The class itself, so that it can be used as a decorator.

    Raises
    ------
    InputError
        If `kind` is not such a subclass, or if its text cannot be found.

    Examples
    --------
    >>> import airwnd
    >>> @airwnd.register
    ... class Steady(airwnd.CongestionControl):
    ...     def on_ack(self, ack: airwnd.Ack) -> None:
    ...         pass
    ...
    ...     def on_congestion(self, event: airwnd.Congestion) -> None:
    ...         pass
    >>> base = airwnd.Scenario.load("experiments/arwa-2019/table6/scenario.toml").with_(duration="100ms")
    >>> steady = base.with_({"flow[0].cc": {"kind": "python", "class": "Steady"}})
    >>> steady.run().flows["cc"][0]
    'Steady'
    """
    try:
        _check("airwnd.register", getattr(kind, "__name__", repr(kind)), kind, *_BASES.values())
        _digest(kind)
    except RefusedError as refused:
        raise InputError(str(refused)) from refused.__cause__
    with _lock:
        _registered[kind.__name__] = kind
    return kind


def find(name: str, sha256: str | None, settings: str, folder: str | Path, family: str = "cc") -> Plugin:
    """Find a class named by a scenario, and check the settings against its constructor.

    Parameters
    ----------
    name
        Name in the scenario: ``"file.py:Class"``, ``"package.module:Class"`` or ``"Class"``.
    sha256
        Required digest of the class's texts; ``None``: any.
    settings
        Arguments of the constructor, as a JSON object.
    folder
        Folder that file names are relative to.
    family
        Family of the key that names the class.
    """
    base = _BASES[family]
    where, _, word = name.rpartition(":")
    if not word.isidentifier():
        raise RefusedError("class", f"expected {_FORMS}, found {name!r}")
    place = where or "notebook"
    with _lock:
        names = _names(where, folder) if where else _registered
        if word not in names:
            unknown = _unknown(word, _members(names, base), "it has" if where else "registered")
            message = f"in this process there is no class {unknown}; expected {_FORMS}"
            raise RefusedError("class", f"{where}: there is no class {unknown}" if where else message)
        kind = _check(place, word, names[word], base)
        if where:
            _check_texts(place, kind)
        digest = _digest(kind)
    if sha256 not in {None, digest}:
        raise RefusedError(
            "sha256", f"{name} has changed since this digest was taken; its digest is {digest}"
        )
    arguments = json.loads(settings)
    parameters = list(inspect.signature(kind).parameters.values())
    _check_arguments(f"{word}.__init__", parameters, arguments, base)
    defaults = {each.name: each.default for each in parameters[1:] if _is_plain(each.default)}
    _defaults[digest] = defaults
    return Plugin(word, place, family, kind, arguments, defaults, digest)


def defaults_of(sha256: str) -> Mapping[str, Any]:
    """Return the defaults of a class's parameters; empty if no scenario of this process names the class."""
    return _defaults.get(sha256, {})


def _names(where: str, folder: str | Path) -> Mapping[str, object]:
    """Return the names that a file or module defines; it is executed once for each version of its text."""
    in_file = where.endswith(".py")
    path = Path(folder, where).absolute()
    if not is_permitted(where, folder):
        code = path if in_file else where
        raise RefusedError(
            "class",
            f"{code} is Python code, which is executed with your permissions; commands that simulate do so "
            f"if you name it: --code {code} (in Python: allow_code=True)",
        )
    with marked_interrupts():
        return vars(_execute(where, path) if in_file else _import(where))


def _execute(shown: str, path: Path) -> ModuleType:
    """Execute a file as a separate module."""
    try:
        if path.exists() and not path.is_file():
            raise RefusedError("class", f"{path} cannot be read: it is not a regular file")
        text = path.read_bytes()
    except OSError as error:
        raise RefusedError("class", f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:  # a name that no file can have
        raise RefusedError("class", f"{shown!r} cannot be read: {error}") from None
    if (path, text) not in _files:
        module = ModuleType(f"airwnd_plugin_{path.stem}_{len(_files)}")
        module.__file__ = str(path)
        sys.modules[module.__name__] = module
        _texts[module.__name__] = text
        linecache.checkcache(str(path))
        try:
            # Not with the import system: its cache of compiled files compares times in whole seconds.
            exec(compile(text, str(path), "exec", dont_inherit=True), vars(module))  # noqa: S102 (permitted)
        except BaseException as error:
            del sys.modules[module.__name__]
            if isinstance(error, Interrupted):
                raise
            line, what = explain_error(error, {str(path)})
            at = shown if line is None else f"{shown}:{line}"
            raise RefusedError("class", f"{at}: {what}", at) from error
        _files[path, text] = module
    return _files[path, text]


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except Interrupted:
        raise
    except BaseException as error:
        if isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}."):
            raise RefusedError("class", f"there is no Python module `{error.name}`") from error
        raise RefusedError("class", f"{name}: {explain_error(error, set())[1]}", name) from error


def _members(names: Mapping[str, object], base: type) -> list[str]:
    """List the names of the subclasses of a base class."""
    classes = ((name, value) for name, value in names.items() if isinstance(value, type))
    return sorted(name for name, kind in classes if issubclass(kind, base) and kind is not base)


def _check(place: str, word: str, kind: object, *bases: type) -> type:
    if not isinstance(kind, type) or not issubclass(kind, bases):
        allowed = " or ".join(f"airwnd.{each.__name__}" for each in bases)
        raise RefusedError("class", f"{place}: {word} is not a subclass of {allowed}")
    lacking = sorted(getattr(kind, "__abstractmethods__", ()))
    if lacking:
        raise RefusedError("class", f"{place}: {word} lacks {' and '.join(lacking)}")
    return kind


def _check_texts(place: str, kind: type) -> None:
    """Raise an error for a class whose text, or that of a base, has changed since it was imported."""
    for each in _lineage(kind):
        if _text(each) != _read_text(each):
            message = f"{_filename(each)} has changed since this process imported it; start again"
            raise RefusedError("class", f"{place}: {message}")


def _unknown(word: str, known: Iterable[str], which: str) -> str:
    """Return an unknown word with the closest known word and the list of known words."""
    known = list(known)
    near = difflib.get_close_matches(word, known, n=1)
    hint = f"; did you mean `{near[0]}`?" if near else ""
    return f"`{word}`{hint}; {which}: {', '.join(f'`{each}`' for each in known) or 'none'}"


def _lineage(kind: type) -> list[type]:
    """List a class and its bases, except those of airwnd and the standard library."""
    outside = {"airwnd", *sys.stdlib_module_names}
    return [kind, *(base for base in kind.__mro__[1:] if base.__module__.partition(".")[0] not in outside)]


def _filename(kind: type) -> str:
    """Return the file that a class was compiled from, or a notebook's name of the cell."""
    for value in vars(kind).values():
        function = inspect.unwrap(getattr(value, "__func__", getattr(value, "fget", value)))
        if inspect.isfunction(function) and function.__module__ == kind.__module__:
            filename = function.__code__.co_filename
            if filename != "<string>":  # generated, for example by dataclasses
                return filename
    return str(getattr(sys.modules.get(kind.__module__), "__file__", ""))


def _text(kind: type) -> bytes:
    """Return the file or cell that defines a class, read when the class is first seen: files may change."""
    if kind not in _seen:
        _seen[kind] = _read_text(kind)
    return _seen[kind]


def _read_text(kind: type) -> bytes:
    if kind.__module__ in _texts:
        return _texts[kind.__module__]
    filename = _filename(kind)
    if Path(filename).is_file():
        return Path(filename).read_bytes()
    lines = linecache.getlines(filename)
    if not lines:
        message = f"the text of {kind.__name__} cannot be found; put it into a file, whose text identifies it"
        raise RefusedError("class", message)
    return "".join(lines).encode()


def _digest(kind: type) -> str:
    """Return the digest of the texts that define a class."""
    texts = dict.fromkeys(_text(each) for each in _lineage(kind))
    return hashlib.sha256(b"".join(texts)).hexdigest()


def _check_arguments(name: str, arguments: list[Parameter], settings: Mapping[str, Any], base: type) -> None:
    if not arguments or arguments[0].kind not in {Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD}:
        (given,) = inspect.signature(base).parameters
        raise RefusedError("class", f"{name} must take the {given} as its first argument")
    first, *others = arguments
    named = {
        each.name: each for each in others if each.kind in {each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY}
    }
    anything = any(each.kind is each.VAR_KEYWORD for each in others)
    for key in settings:
        if key == first.name or (key not in named and not anything):
            raise RefusedError(key, f"unknown key {_unknown(key, named, 'allowed')} ({name})")
    for each in named.values():
        if each.default is each.empty and each.name not in settings:
            raise RefusedError("", f"`{each.name}` is missing ({name})")


def _is_plain(value: object) -> bool:
    """Return whether a scenario can hold a value."""
    match value:
        case float():
            return math.isfinite(value)
        case int():
            return -(2**63) <= value < 2**63
        case str():
            return value.isprintable()
        case list() | tuple():
            return all(map(_is_plain, value))
        case dict():
            return all(isinstance(key, str) and _is_plain([key, item]) for key, item in value.items())
    return False


def explain_error(error: BaseException, filenames: set[str]) -> tuple[int | None, str]:
    """Describe an exception in one line; return also the last line of these files in its traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename in filenames]
    if isinstance(error, SyntaxError) and error.filename in filenames:
        return error.lineno, f"{type(error).__name__}: {error.msg}"
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return (lines[-1] if lines else None), text[:_LONGEST]
