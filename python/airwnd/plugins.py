"""Where a congestion control written in Python is found, and what identifies its text.

A class is named, not handed over: the name is resolved where the run takes place, so that the same scenario
works from a file, on the command line, in worker processes and on other machines. The digest of its text is
part of the resolved scenario: a changed class is another scenario, and has none of its stored results.
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
from dataclasses import dataclass
from inspect import Parameter
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from airwnd._native import Connection
from airwnd.congestion import CongestionControl
from airwnd.errors import InputError

Class = TypeVar("Class", bound=type[CongestionControl])

_FORMS = '"file.py:Class", "package.module:Class" or the name of a class that airwnd.register was told of'
# Per process, because names have to mean something in texts; guarded, because scenarios are read in threads.
_registered: dict[str, type[CongestionControl]] = {}
_files: dict[tuple[Path, str], ModuleType] = {}
_texts: dict[str, bytes] = {}
_digests: WeakKeyDictionary[type, str] = WeakKeyDictionary()
_lock = threading.RLock()


class RefusedError(Exception):
    """A plug-in is not found or does not fit; `key` is the one in the scenario that is to blame."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


@dataclass(frozen=True, slots=True)
class Plugin:
    """A class that is found, with the arguments of its constructor.

    Attributes
    ----------
    kind
        The class.
    place
        Where it stands, as messages call it.
    sha256
        Digest of the text that defines it and its bases.
    settings
        Arguments of the constructor.
    """

    kind: type[CongestionControl]
    place: str
    sha256: str
    settings: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The class's name."""
        return self.kind.__name__

    @property
    def measures(self) -> bool:
        """Whether the class wants to hear of ACKs during loss recovery."""
        return self.kind.on_delivery is not CongestionControl.on_delivery

    def settings_json(self) -> str:
        """Write the settings, defaults included; one that JSON does not have stays out."""
        arguments = inspect.signature(self.kind).parameters.values()
        defaults = {each.name: each.default for each in arguments if _is_plain(each.default)}
        return json.dumps({**defaults, **self.settings})

    def make(self, connection: Connection) -> CongestionControl:
        """Make the controller of a connection; what it does to its arguments is its own affair."""
        return self.kind(connection, **copy.deepcopy(dict(self.settings)))

    def explain(self, error: BaseException) -> tuple[int | None, str]:
        """Tell what was raised in one line, and the last line of the class's text that it passed through."""
        return _explain(error, {_filename(each) for each in _lineage(self.kind)})


def register(kind: Class) -> Class:
    """Make a class known by its name in this process, for classes that are defined in a notebook.

    Everywhere else, and for worker processes, put the class into a file and name this. Registering another
    class of the same name replaces the first.

    Parameters
    ----------
    kind
        A subclass of :class:`airwnd.CongestionControl`.

    Returns
    -------
    type
        The class itself, so that it can be used as a decorator.

    Raises
    ------
    InputError
        If it is no such class, or if its text cannot be found.

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
    'python'
    """
    try:
        _check("airwnd.register", getattr(kind, "__name__", repr(kind)), kind)
        _digest(kind)
    except RefusedError as refused:
        raise InputError(str(refused)) from refused.__cause__
    with _lock:
        _registered[kind.__name__] = kind
    return kind


def find(name: str, sha256: str | None, settings: str, folder: str | Path) -> Plugin:
    """Find the class that a scenario names, and check the settings against its constructor.

    Parameters
    ----------
    name
        As the scenario has it: ``"file.py:Class"``, ``"package.module:Class"`` or ``"Class"``.
    sha256
        The digest that the class's text must have, if any.
    settings
        Arguments of the constructor, as a JSON object.
    folder
        What a file is relative to.
    """
    where, _, word = name.rpartition(":")
    if not word.isidentifier():
        raise RefusedError("class", f"expected {_FORMS}, found {name!r}")
    with _lock:
        if where.endswith(".py"):
            place, found = where, vars(_load(where, Path(folder, where)))
        elif where:
            place, found = where, vars(_import(where))
        else:
            place, found = "notebook", _registered
        if word not in found:
            raise RefusedError("class", _missing(where, word, found))
        kind = found[word]
        _check(place, word, kind)
        digest = _digest(kind)
    if sha256 not in {None, digest}:
        message = f"{name} has changed since this digest was taken; its digest is {digest}"
        raise RefusedError("sha256", message)
    arguments = json.loads(settings)
    _check_arguments(kind, arguments)
    return Plugin(kind, place, digest, arguments)


def _load(shown: str, file: Path) -> ModuleType:
    """Run a file as a module of its own, once for each text that it has had."""
    try:
        text = file.read_bytes()
    except OSError as error:
        raise RefusedError("class", f"{file} cannot be read: {error.strerror}") from None
    path = file.absolute()
    key = (path, hashlib.sha256(text).hexdigest())
    if key not in _files:
        module = ModuleType(f"airwnd_plugin_{path.stem}_{len(_files)}")
        module.__file__ = str(path)
        sys.modules[module.__name__] = module
        _texts[module.__name__] = text
        linecache.checkcache(str(path))
        try:
            # Not through the import system: its cache of compiled files goes by seconds.
            exec(compile(text, path, "exec"), vars(module))  # noqa: S102
        except (Exception, SystemExit) as error:
            del sys.modules[module.__name__]
            line, what = _explain(error, {str(path)})
            at = shown if line is None else f"{shown}:{line}"
            raise RefusedError("class", f"{at}: {what}") from _cause(error)
        _files[key] = module
    return _files[key]


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        raise RefusedError("class", f"{name}: {_explain(error, set())[1]}") from _cause(error)


def _check(place: str, word: str, kind: object) -> None:
    if not (isinstance(kind, type) and issubclass(kind, CongestionControl)):
        raise RefusedError("class", f"{place}: {word} is not a subclass of airwnd.CongestionControl")
    lacking = sorted(getattr(kind, "__abstractmethods__", ()))
    if lacking:
        raise RefusedError("class", f"{place}: {word} lacks {' and '.join(lacking)}")


def _missing(where: str, word: str, found: Mapping[str, Any]) -> str:
    classes = sorted(
        name
        for name, value in found.items()
        if isinstance(value, type) and issubclass(value, CongestionControl) and value is not CongestionControl
    )
    if not where:
        return f"in this process there is no class {_unknown(word, classes, 'registered')}; expected {_FORMS}"
    return f"{where}: there is no class {_unknown(word, classes, 'it has')}"


def _unknown(word: str, known: Iterable[str], which: str) -> str:
    """Name what is not there, the nearest that is, and all that are."""
    known = list(known)
    near = difflib.get_close_matches(word, known, n=1)
    hint = f"; did you mean `{near[0]}`?" if near else ""
    return f"`{word}`{hint}; {which}: {', '.join(f'`{each}`' for each in known) or 'none'}"


def _lineage(kind: type[CongestionControl]) -> list[type]:
    """List the class and those of its bases that somebody wrote for it."""
    return [each for each in kind.__mro__ if each not in CongestionControl.__mro__]


def _filename(kind: type) -> str:
    """Where a class was compiled: a file, or the name that a notebook gives to a cell."""
    for value in vars(kind).values():
        function = inspect.unwrap(getattr(value, "__func__", getattr(value, "fget", value)))
        if inspect.isfunction(function) and function.__module__ == kind.__module__:
            filename = function.__code__.co_filename
            if filename != "<string>":  # what dataclasses and the like add
                return filename
    return str(getattr(sys.modules.get(kind.__module__), "__file__", ""))


def _text(kind: type) -> bytes:
    """Read the file or cell that defines a class: the class, and what stands around it."""
    if kind.__module__ in _texts:
        return _texts[kind.__module__]
    filename = _filename(kind)
    if Path(filename).is_file():
        return Path(filename).read_bytes()
    lines = linecache.getlines(filename)
    if not lines:
        what = f"the text of {kind.__name__} cannot be found, and so not told from a changed one"
        raise RefusedError("class", f"{what}; put it into a file")
    return "".join(lines).encode()


def _digest(kind: type[CongestionControl]) -> str:
    """Digest of the texts that define a class, taken when it is first seen: files may change later."""
    if kind not in _digests:
        texts = dict.fromkeys(_text(each) for each in _lineage(kind))
        _digests[kind] = hashlib.sha256(b"".join(texts)).hexdigest()
    return _digests[kind]


def _check_arguments(kind: type[CongestionControl], settings: Mapping[str, Any]) -> None:
    arguments = list(inspect.signature(kind).parameters.values())
    name = f"{kind.__name__}.__init__"
    if not arguments or arguments[0].kind not in {Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD}:
        raise RefusedError("class", f"{name} must take the connection as its first argument")
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
    """Whether a scenario can hold a value."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, list | tuple):
        return all(_is_plain(item) for item in value)
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(item) for key, item in value.items())
    return isinstance(value, bool | int | str)


def _cause(error: BaseException) -> BaseException | None:
    """Trace a mistake to what was raised; a module that wants to leave must not take us along."""
    return error if isinstance(error, Exception) else None


def _explain(error: BaseException, filenames: set[str]) -> tuple[int | None, str]:
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename in filenames]
    if isinstance(error, SyntaxError) and error.filename in filenames:
        return error.lineno, f"{type(error).__name__}: {error.msg}"
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return (lines[-1] if lines else None), text
