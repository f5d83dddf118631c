"""Candidates and references: what is evaluated, and what it is compared with."""

import difflib
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airwnd.plugins.roles import ROLES
from airwnd.study.evaluate.suite import Kind
from airwnd.support.errors import InputError
from airwnd.vocabulary.algorithms import family

_FAMILIES: dict[Kind, str] = {"sender": "cc", "receiver": "rwnd", "queue": "aqm"}
_PREFIXES: dict[str, Kind] = {"rwnd": "receiver", "aqm": "queue"}
_PLANNED = {
    "kernel": "congestion controls of this machine's kernel",
    "quinn": "stacks outside the engine",
    "quiche": "stacks outside the engine",
}
_FORMS = "NAME of a sender, FILE.py:Class, package.module:Class, or the same after rwnd: or aqm:"
_CODE = re.compile(r"(.+\.py|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_]\w*)")
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
        Value of the scenario key that selects it, with its parameters.
    """

    name: str
    kind: Kind
    value: Mapping[str, Any]

    @property
    def key(self) -> str:
        """Key of a flow, or of a link, that selects it."""
        return _FAMILIES[self.kind]

    @property
    def is_code(self) -> bool:
        """Whether runs execute Python code."""
        return bool(self.value["kind"] == "python")

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters without the names of code, whose place does not matter."""
        return {key: value for key, value in self.value.items() if key not in ("kind", "class")}


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
    if colon and prefix in _PLANNED:
        raise InputError(f"{text}: {_PLANNED[prefix]} cannot be evaluated yet; expected {_FORMS}")
    kind = _PREFIXES.get(prefix, "sender") if colon else "sender"
    name = text if kind == "sender" else rest
    if ":" in name:
        if _FAMILIES[kind] not in ROLES or not (found := _CODE.fullmatch(name)):
            raise InputError(f"{text}: expected {_FORMS}")
        file = Path(found[1])
        if file.suffix == ".py" and not file.is_file():
            raise InputError(f"{text}: there is no file {file}")
        # Suites have folders of their own, to which the names of files in a scenario are relative.
        place = str(file.resolve()) if file.suffix == ".py" else found[1]
        return Subject(text, kind, {"kind": "python", "class": f"{place}:{found[2]}", **given})
    return _named(text, name, kind, given)


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
