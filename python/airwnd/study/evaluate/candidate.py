"""Candidates and references: what is evaluated, and what it is compared with."""

import difflib
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from airwnd.study import kernel, stacks
from airwnd.study.evaluate.suite import Kind
from airwnd.support.errors import InputError
from airwnd.vocabulary.algorithms import family

_FAMILIES: dict[Kind, str] = {"sender": "cc", "receiver": "rwnd", "queue": "aqm"}
_PREFIXES: dict[str, Kind] = {"rwnd": "receiver", "aqm": "queue"}
_OFFERED = ("quinn", "s2n", "smoltcp", "str0m")
_FORMS = (
    "NAME of a sender, FILE.py:Class, package.module:Class, the same after rwnd: or aqm:, kernel:NAME, "
    "STACK:CC, stack:FILE.py:function, or plugin:NAME of an engine's plug-in"
)
_CODE = re.compile(r"(.+\.py|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_]\w*)")
_PLUGIN = "plugin:"
# These need arguments that no evaluation can choose.
_NO_CANDIDATES = {"plugin", "python"}


@dataclass(frozen=True)
class Subject:
    """A candidate or a reference.

    Attributes
    ----------
    name
        Its name as given, such as ``cubic``, ``my_cc.py:Gentle`` or ``rwnd:standing``.
    kind
        Kind of candidate.
    value
        Value of the scenario key that selects it, with its parameters. Of something outside the engine: its
        name as ``kind``, and its options.
    outside
        What carries its flows outside the engine; ``None``: the engine does.
    """

    name: str
    kind: Kind
    value: Mapping[str, Any]
    outside: Literal["kernel", "stack"] | None = None

    @property
    def key(self) -> str:
        """Key of a flow, or of a link, that selects it."""
        return _FAMILIES[self.kind]

    @property
    def is_code(self) -> bool:
        """Whether runs execute Python code."""
        return self.outside == "stack" or bool(self.value["kind"] == "python")

    @property
    def is_real(self) -> bool:
        """Whether runs are in real time, so that figures differ from one to the next."""
        return self.outside == "kernel"

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters without the names of code, whose place does not matter."""
        names = ("kind", "class", "name") if self.value["kind"] == "plugin" else ("kind", "class")
        return {key: value for key, value in self.value.items() if key not in names}


def parse(text: str, parameters: Mapping[str, Any] | None = None) -> Subject:
    """Read a candidate or a reference.

    Parameters
    ----------
    text
        Its name.
    parameters
        Parameters that differ from their defaults.

    Raises
    ------
    InputError
        If there is no such algorithm, or it cannot be evaluated yet.
    """
    given = dict(parameters or {})
    prefix, colon, rest = text.partition(":")
    if colon and (outside := _outside(text, prefix, rest, given)) is not None:
        return outside
    kind = _PREFIXES.get(prefix, "sender") if colon else "sender"
    name = text if kind == "sender" else rest
    if name.startswith(_PLUGIN):
        # Whether the engine has it is checked with the first scenario.
        return Subject(text, kind, {"kind": "plugin", "name": name.removeprefix(_PLUGIN), **given})
    if ":" in name:
        if not (found := _CODE.fullmatch(name)):
            raise InputError(f"{text}: expected {_FORMS}")
        file = Path(found[1])
        if file.suffix == ".py" and not file.is_file():
            raise InputError(f"{text}: there is no file {file}")
        # Suites have folders of their own, to which the names of files in a scenario are relative.
        place = str(file.resolve()) if file.suffix == ".py" else found[1]
        return Subject(text, kind, {"kind": "python", "class": f"{place}:{found[2]}", **given})
    return _named(text, name, kind, given)


def _outside(text: str, prefix: str, rest: str, given: dict[str, Any]) -> Subject | None:
    """Read a candidate outside the engine; ``None``: it is none."""
    if prefix == "kernel":
        if rest not in kernel.controls():
            have = ", ".join(kernel.controls()) or "none"
            raise InputError(f"{text}: this kernel has no such congestion control loaded; it has {have}")
        if given:
            raise InputError(
                f"{text}: --set {next(iter(given))}: a control of the kernel has no parameters here"
            )
        return Subject(text, "sender", {"kind": rest}, "kernel")
    if prefix == "stack":
        return _stack(text, rest, given)
    if prefix in stacks.installed():
        return _stack(text, *stacks.with_options(text, given))
    if prefix in _OFFERED:
        raise InputError(f"{text}: the stack {prefix} is not installed; the package airwnd-stacks has it")
    return None


def _stack(text: str, name: str, options: dict[str, Any]) -> Subject:
    where, _, function = name.rpartition(":")
    if where.endswith(".py"):
        # Suites have folders of their own.
        name = f"{Path(where).resolve()}:{function}"
    stacks.find(name, options)
    return Subject(text, "sender", {"kind": name, **options}, "stack")


def names_code(text: str) -> bool:
    """Return whether the name of a candidate is that of Python code, which an evaluation executes."""
    prefix, colon, rest = text.partition(":")
    if prefix in _PREFIXES:
        return ":" in rest and not rest.startswith(_PLUGIN)
    return bool(colon) and prefix not in {"kernel", "plugin"} and prefix not in stacks.installed()


def names() -> list[str]:
    """Return the names of all candidates of the engine."""
    prefixes = {kind: f"{prefix}:" for prefix, kind in _PREFIXES.items()}
    return [f"{prefixes.get(kind, '')}{name}" for kind in _FAMILIES for name in _known(kind)]


def _known(kind: Kind) -> list[str]:
    return [each.name for each in family(_FAMILIES[kind]).members if each.name not in _NO_CANDIDATES]


def _named(text: str, name: str, kind: Kind, parameters: dict[str, Any]) -> Subject:
    known = _known(kind)
    if name not in known:
        near = difflib.get_close_matches(name, known, 1)
        hint = f"; did you mean `{near[0]}`?" if near else ""
        raise InputError(f"{text}: unknown {kind}{hint}; known: {', '.join(known)}; or {_FORMS}")
    return Subject(text, kind, {"kind": name, **parameters})


def digest(resolved: Mapping[str, Any]) -> str:
    """Return the SHA-256 digest of a resolved algorithm: all its parameters, and the text of its code."""
    known = {key: value for key, value in resolved.items() if key != "class"}
    return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()
