"""Transport stacks by name: functions that make the two endpoints of a connection."""

import difflib
import importlib
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from importlib.util import module_from_spec, spec_from_file_location
from inspect import Parameter
from pathlib import Path
from types import ModuleType
from typing import Any

from airwnd.plugins.registry import explain_error
from airwnd.scenario.path import Endpoint
from airwnd.support.errors import EngineError, InputError
from airwnd.text.quantities import one_line

GROUP = "airwnd.stacks"
"""Group of entry points under which installed packages offer stacks."""

FORMS = (
    '"file.py:function", "package.module:function", or the name of an installed stack, also with its '
    'congestion control as in "quinn:bbr"'
)

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
        line, said = explain_error(error, {file})
        place = self.name if line is None else f"{Path(file).name}:{line}"
        return one_line(f"{place}: {said}{''.join(f' ({note})' for note in getattr(error, '__notes__', ()))}")


def find(name: str, options: Mapping[str, Any]) -> Stack:
    """Find a stack. Naming a file or a module executes it.

    Parameters
    ----------
    name
        ``"file.py:function"``, ``"package.module:function"``, or the name under which an installed package
        offers a stack in the group of entry points ``airwnd.stacks``, with its option `cc` after a colon, as
        in ``"quinn:bbr"``, or without.
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
    name, options = with_options(name, options)
    match = _NAMED.fullmatch(name)
    make = _of_code(name, match["where"], match["function"]) if match else _installed(name)
    if not callable(make):
        raise InputError(f"{name}: expected a function that returns two endpoints, found {make!r:.60}")
    _check_options(name, make, options)
    return Stack(name, make, options)


def with_options(name: str, options: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the name of a stack without its congestion control, and all options.

    Raises
    ------
    InputError
        If the options name a congestion control, too.
    """
    offered, colon, cc = name.partition(":")
    if not colon or offered not in installed():
        return name, dict(options)
    if "cc" in options:
        raise InputError(f"{name}: the option cc={options['cc']} is given, too")
    return offered, {"cc": cc, **options}


def installed() -> dict[str, EntryPoint]:
    """Return the stacks of installed packages by name."""
    return {each.name: each for each in sorted(entry_points(group=GROUP), key=lambda each: each.name)}


def _installed(name: str) -> Any:
    known = installed()
    if name not in known:
        have = ", ".join(f"`{each}`" for each in known) or "none; the package airwnd-stacks has some"
        raise InputError(f"{name}: no such stack{_hint(name, known)}; expected {FORMS}; installed: {have}")
    return _loaded(name, None, known[name].load)


def _of_code(name: str, where: str, function: str) -> Any:
    if where.endswith(".py"):
        if not Path(where).is_file():
            raise InputError(f"{name}: there is no file {where}")
        path = Path(where).resolve()
        module = _loaded(where, path, lambda: _execute(path))
    else:
        module = _loaded(where, None, lambda: importlib.import_module(where))
    if not hasattr(module, function):
        known = [each for each, value in vars(module).items() if inspect.isfunction(value)]
        raise InputError(f"{where}: there is no function `{function}`{_hint(function, known)}")
    return getattr(module, function)


def _hint(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, list(known), 1)
    return f"; did you mean `{near[0]}`?" if near else ""


def _execute(path: Path) -> ModuleType:
    """Execute a file as a module; meanwhile its folder is where imports look first, as for a script."""
    spec = spec_from_file_location(f"airwnd_stack_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    before = sys.path[:]
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path[:] = before
    return module


def _loaded(place: str, file: Path | None, load: Callable[[], Any]) -> Any:
    try:
        return load()
    except (InputError, EngineError):
        raise
    except Exception as error:
        line, said = explain_error(error, {str(file)})
        at = place if line is None else f"{place}:{line}"
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
