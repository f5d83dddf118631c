"""Transport stacks by name: functions that make the two endpoints of a connection."""

import difflib
import importlib
import inspect
import re
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from importlib.util import module_from_spec, spec_from_file_location
from inspect import Parameter
from pathlib import Path
from types import ModuleType
from typing import Any

from airwnd.scenario.path import Endpoint
from airwnd.support.errors import EngineError, InputError
from airwnd.text.quantities import one_line

GROUP = "airwnd.stacks"
"""Group of entry points under which installed packages offer stacks."""

FORMS = '"file.py:function", "package.module:function", or the name of an installed stack'

_NAMED = re.compile(r"(?P<where>.+):(?P<function>[^\W\d]\w*)")


@dataclass(frozen=True, slots=True)
class Stack:
    """A function that makes the endpoints of a connection.

    Attributes
    ----------
    name
        Name, as it was given.
    make
        The function. Its first argument is the seed; others are options of the stack.
    options
        Options for each call.
    """

    name: str
    make: Callable[..., tuple[Endpoint, Endpoint]]
    options: Mapping[str, Any]

    def __call__(self, seed: int) -> tuple[Endpoint, Endpoint]:
        """Make the endpoint at the UE and that at the server."""
        return self.make(seed, **self.options)

    def explain(self, error: BaseException) -> str:
        """Describe an exception of the stack in one line, with the last line of its file in the traceback."""
        code = inspect.unwrap(self.make)
        file = getattr(getattr(code, "__code__", None), "co_filename", "")
        lines = [each.lineno for each in traceback.extract_tb(error.__traceback__) if each.filename == file]
        place = f"{Path(file).name}:{lines[-1]}: " if lines else f"{self.name}: "
        said = ": ".join(filter(None, [type(error).__name__, str(error)]))
        return one_line(f"{place}{said}{''.join(f' ({note})' for note in getattr(error, '__notes__', ()))}")


def find(name: str, options: Mapping[str, Any]) -> Stack:
    """Find a stack. Naming a file or a module executes it.

    Parameters
    ----------
    name
        ``"file.py:function"``, ``"package.module:function"``, or the name under which an installed package
        offers a stack in the group of entry points ``airwnd.stacks``.
    options
        Options of the stack: keyword arguments of the function.

    Returns
    -------
    Stack
        The stack.

    Raises
    ------
    InputError
        If there is no such function, or it takes other options.
    """
    match = _NAMED.fullmatch(name)
    make = _of_code(name, match["where"], match["function"]) if match else _installed(name)
    if not callable(make):
        raise InputError(f"{name}: expected a function that returns two endpoints, found {make!r:.60}")
    _check_options(name, make, options)
    return Stack(name, make, options)


def installed() -> dict[str, EntryPoint]:
    """Return the stacks of installed packages by name."""
    return {each.name: each for each in sorted(entry_points(group=GROUP), key=lambda each: each.name)}


def _installed(name: str) -> Any:
    known = installed()
    if name not in known:
        near = difflib.get_close_matches(name, known, 1)
        hint = f"; did you mean `{near[0]}`?" if near else ""
        have = ", ".join(f"`{each}`" for each in known) or "none; the package airwnd-stacks has some"
        raise InputError(f"{name}: no such stack{hint}; expected {FORMS}; installed: {have}")
    return _loaded(name, known[name].load)


def _of_code(name: str, where: str, function: str) -> Any:
    if where.endswith(".py"):
        if not Path(where).is_file():
            raise InputError(f"{name}: there is no file {where}")
        module = _loaded(where, lambda: _execute(Path(where)))
    else:
        module = _loaded(where, lambda: importlib.import_module(where))
    if not hasattr(module, function):
        known = [each for each, value in vars(module).items() if inspect.isfunction(value)]
        near = difflib.get_close_matches(function, known, 1)
        hint = f"; did you mean `{near[0]}`?" if near else ""
        raise InputError(f"{where}: there is no function `{function}`{hint}")
    return getattr(module, function)


def _execute(path: Path) -> ModuleType:
    """Execute a file as a module; meanwhile its folder is where imports look first, as for a script."""
    spec = spec_from_file_location(f"airwnd_stack_{path.stem}", path.resolve())
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    before = sys.path[:]
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path[:] = before
    return module


def _loaded(place: str, load: Callable[[], Any]) -> Any:
    try:
        return load()
    except (InputError, EngineError):
        raise
    except Exception as error:
        lines = [
            each.lineno for each in traceback.extract_tb(error.__traceback__) if each.filename.endswith(place)
        ]
        if isinstance(error, SyntaxError) and error.lineno:
            lines = [error.lineno]
        at = f"{place}:{lines[-1]}" if lines else place
        said = ": ".join(filter(None, [type(error).__name__, str(error)]))
        raise InputError(one_line(f"{at}: {said}")) from error


def _check_options(name: str, make: Callable[..., object], options: Mapping[str, Any]) -> None:
    try:
        parameters = list(inspect.signature(make).parameters.values())
    except ValueError:  # a function without a signature, which checks its arguments itself
        return
    by_name = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    known = {each.name: each for each in parameters[1:] if each.kind in by_name}
    takes_any = any(each.kind is Parameter.VAR_KEYWORD for each in parameters)
    for key in options:
        if key not in known and not takes_any:
            have = ", ".join(f"`{each}`" for each in known) or "none"
            raise InputError(f"{name}: unknown option `{key}`; allowed: {have}")
    for each in known.values():
        if each.default is each.empty and each.name not in options:
            raise InputError(f"{name}: the option `{each.name}` is missing")
