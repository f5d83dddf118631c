"""Finds, checks and loads classes that implement members of families.

A scenario refers to a class by name, and the name is resolved where the run is executed. The same scenario
works from a file, on the command line, in worker processes and on other machines. Finding a class reads its
text without executing it. Loading executes the text, and requires the user's permission. The digest of the
text is part of the resolved scenario: a changed class makes a different scenario, without stored results.
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
from inspect import Parameter, Signature
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
from airwnd.plugins.roles import ROLES, Role
from airwnd.plugins.scheduler import DownlinkScheduler
from airwnd.plugins.source import Inspected, RefusedError, Source, class_names, inspect_class, is_outside
from airwnd.plugins.traffic import TrafficSource
from airwnd.support.errors import InputError
from airwnd.support.interrupts import on_interrupt

Class = TypeVar("Class", bound=type)

_FORMS = '"file.py:Class", "package.module:Class" or the name of a class registered with airwnd.register'
#: Maximum number of characters of an exception shown in a message.
_LONGEST = 500
# Global to the process, because texts refer to classes by name; locked, because threads read scenarios.
_registered: dict[str, type] = {}
_bases: dict[str, type] = {
    "cc": CongestionControl,
    "rwnd": ReceiveWindowControl,
    "aqm": QueueDiscipline,
    "sched": DownlinkScheduler,
    "handover": HandoverAlgorithm,
    "traffic": TrafficSource,
}
# Defaults of the parameters of each class that a scenario has named, by digest.
_defaults: dict[str, dict[str, Any]] = {}
_files: dict[Source, ModuleType] = {}
_texts: dict[str, bytes] = {}
_seen: WeakKeyDictionary[type, bytes] = WeakKeyDictionary()
_lock = threading.RLock()


class Plugin:
    """A class named by a scenario, with the arguments of its constructor.

    Parameters
    ----------
    name
        Name of the class in the scenario.
    place
        File or module of the class, for messages.
    settings
        Arguments of the constructor.

    Attributes
    ----------
    role
        What the class is.
    sha256
        Digest of the texts that define the class and its bases.
    """

    def __init__(
        self, name: str, place: str, settings: Mapping[str, Any], found: "_Found", *, permitted: bool = False
    ) -> None:
        self.name = name.rpartition(":")[2]
        self.place = place
        self.settings = settings
        self.role = found.role
        self.sha256 = found.sha256
        self._found = found
        self._kind = found.registered
        self._permitted = permitted

    @property
    def kind(self) -> type:
        """The loaded class."""
        if self._kind is None:
            raise RefusedError("class", str(self.refusal()))
        return self._kind

    def refusal(self) -> str | None:
        """Explain why loading the class requires permission; ``None``: it is permitted, or loaded."""
        if self._found.source is None or self._permitted:
            return None
        path = self._found.source.path
        return (
            f"{path} is Python code, which a run executes with your permissions; to allow that, name it: "
            f"--code {path if self.place.endswith('.py') else self.place} (in Python: allow_code=True)"
        )

    def load(self) -> None:
        """Execute the file, or import the module, that defines the class."""
        source, inspected = self._found.source, self._found.inspected
        if source is None or inspected is None or self._kind is not None:
            return
        with _lock, marked_interrupts():
            in_file = self.place.endswith(".py")
            module = _execute(self.place, source) if in_file else _import(self.place)
            kind = _check(self.place, self.name, getattr(module, self.name, None), self.role)
            _check_texts(self.place, kind, inspected)
        _check_arguments(self.name, inspect.signature(kind), self.settings, self.role)
        self._kind = kind

    def defines(self, method: str) -> bool:
        """Return whether the class defines a method of its base class that does nothing by default."""
        return getattr(self.kind, method) is not getattr(_bases[self.role.family], method)

    def settings_json(self) -> str:
        """Return the settings as JSON, with those defaults that are literals and representable in JSON."""
        return json.dumps({**_defaults[self.sha256], **self.settings})

    def defaults_json(self) -> str:
        """Return the defaults that are literals and representable in JSON, as JSON."""
        return json.dumps(_defaults[self.sha256])

    def make(self, first: object) -> object:
        """Create an object of the class, with its own copy of the settings."""
        return self.kind(first, **copy.deepcopy(dict(self.settings)))

    def explain(self, error: BaseException) -> tuple[int | None, str]:
        """Describe an exception in one line; return also the last line of the class in its traceback."""
        return explain_error(error, {_filename(each) for each in _lineage(self.kind)})


@dataclass(frozen=True)
class _Found:
    """A class before it is loaded.

    Attributes
    ----------
    role
        What the class is.
    sha256
        Digest of the texts that define the class and its bases.
    signature
        Signature of the constructor; ``None`` if it is known only after execution.
    registered
        The class itself, if this process has defined it.
    source, inspected
        Text of the named file or module, and the class found in it.
    """

    role: Role
    sha256: str
    signature: Signature | None
    registered: type | None = None
    source: Source | None = None
    inspected: Inspected | None = None


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
        _check("airwnd.register", getattr(kind, "__name__", repr(kind)), kind, _role_of(kind))
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
    role = ROLES[family]
    where, _, word = name.rpartition(":")
    if not word.isidentifier():
        raise RefusedError("class", f"expected {_FORMS}, found {name!r}")
    with _lock:
        found = _find_text(where, word, folder, role) if where else _find_registered(word, role)
    if sha256 not in {None, found.sha256}:
        message = f"{name} has changed since this digest was taken; its digest is {found.sha256}"
        raise RefusedError("sha256", message)
    arguments = json.loads(settings)
    if found.signature:
        _check_arguments(word, found.signature, arguments, role)
    parameters = found.signature.parameters.values() if found.signature else ()
    _defaults[found.sha256] = {each.name: each.default for each in parameters if _is_plain(each.default)}
    return Plugin(name, where or "notebook", arguments, found, permitted=is_permitted(where, folder))


def defaults_of(sha256: str) -> Mapping[str, Any]:
    """Return the defaults of a class's parameters; empty if no scenario of this process names the class."""
    return _defaults.get(sha256, {})


def _find_text(where: str, word: str, folder: str | Path, role: Role) -> _Found:
    in_file = where.endswith(".py")
    source = Source.read(Path(folder, where), where) if in_file else Source.of_module(where)
    if word not in source.bindings:
        choices = _unknown(word, class_names(source, role), "it has")
        raise RefusedError("class", f"{where}: there is no class {choices}")
    inspected = inspect_class(source, word, where, role)
    signature = inspected.signature(role)
    return _Found(role, inspected.sha256, signature, source=source, inspected=inspected)


def _find_registered(word: str, role: Role) -> _Found:
    if word not in _registered:
        choices = _unknown(word, sorted(_registered), "registered")
        raise RefusedError("class", f"in this process there is no class {choices}; expected {_FORMS}")
    kind = _check("notebook", word, _registered[word], role)
    return _Found(role, _digest(kind), inspect.signature(kind), registered=kind)


def _execute(shown: str, source: Source) -> ModuleType:
    """Execute a file as a separate module, once for each version of its text."""
    if source not in _files:
        path = source.path
        module = ModuleType(f"airwnd_plugin_{path.stem}_{len(_files)}")
        module.__file__ = str(path)
        sys.modules[module.__name__] = module
        _texts[module.__name__] = source.text
        linecache.checkcache(str(path))
        try:
            # Not with the import system: its cache of compiled files compares times in whole seconds.
            exec(source.code, vars(module))  # noqa: S102
        except Interrupted:
            del sys.modules[module.__name__]
            raise
        except BaseException as error:
            del sys.modules[module.__name__]
            line, what = explain_error(error, {str(path)})
            at = shown if line is None else f"{shown}:{line}"
            raise RefusedError("class", f"{at}: {what}", at) from error
        _files[source] = module
    return _files[source]


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except Interrupted:
        raise
    except BaseException as error:
        raise RefusedError("class", f"{name}: {explain_error(error, set())[1]}", name) from error


def _role_of(kind: object) -> Role | None:
    """Return the role of a class; ``None``: it has none."""
    families = (
        family for family, base in _bases.items() if isinstance(kind, type) and issubclass(kind, base)
    )
    return next((ROLES[family] for family in families), None)


def _check(place: str, word: str, kind: object, role: Role | None) -> type:
    if not isinstance(kind, type) or role is None or not issubclass(kind, _bases[role.family]):
        bases = [role] if role else ROLES.values()
        allowed = " or ".join(f"airwnd.{each.base}" for each in bases)
        raise RefusedError("class", f"{place}: {word} is not a subclass of {allowed}")
    lacking = sorted(getattr(kind, "__abstractmethods__", ()))
    if lacking:
        raise RefusedError("class", f"{place}: {word} lacks {' and '.join(lacking)}")
    return kind


def _check_texts(place: str, kind: type, inspected: Inspected) -> None:
    """Raise an error for a class whose texts differ from those of the digest."""
    known = {source.text for source in inspected.sources}
    paths = {str(source.path) for source in inspected.sources}
    for each in _lineage(kind):
        if _text(each) not in known:
            file = _filename(each)
            if file in paths:
                message = f"{file} has changed since this process imported it; start again"
            else:
                message = (
                    f"{kind.__name__} has a base in {file} that only executing the code reveals; "
                    "import it at the top level of the file"
                )
            raise RefusedError("class", f"{place}: {message}")


def _unknown(word: str, known: Iterable[str], which: str) -> str:
    """Return an unknown word with the closest known word and the list of known words."""
    known = list(known)
    near = difflib.get_close_matches(word, known, n=1)
    hint = f"; did you mean `{near[0]}`?" if near else ""
    return f"`{word}`{hint}; {which}: {', '.join(f'`{each}`' for each in known) or 'none'}"


def _lineage(kind: type) -> list[type]:
    """List a class and its bases, except those of airwnd and the standard library."""
    return [kind, *(base for base in kind.__mro__[1:] if not is_outside(base.__module__))]


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


def _check_arguments(word: str, signature: Signature, settings: Mapping[str, Any], role: Role) -> None:
    arguments = list(signature.parameters.values())
    name = f"{word}.__init__"
    if not arguments or arguments[0].kind not in {Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD}:
        raise RefusedError("class", f"{name} must take the {role.first} as its first argument")
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
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, list | tuple):
        return all(_is_plain(item) for item in value)
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(item) for key, item in value.items())
    return isinstance(value, bool | int | str)


def explain_error(error: BaseException, filenames: set[str]) -> tuple[int | None, str]:
    """Describe an exception in one line; return also the last line of these files in its traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename in filenames]
    if isinstance(error, SyntaxError) and error.filename in filenames:
        return error.lineno, f"{type(error).__name__}: {error.msg}"
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return (lines[-1] if lines else None), text[:_LONGEST]
