"""The keys that a scenario sets, with their declarations."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from airwnd.vocabulary.algorithms import Algorithm, Parameter, catalogue
from airwnd.vocabulary.sections import sections


@dataclass(frozen=True, slots=True)
class Written:
    """A key that a scenario sets.

    Attributes
    ----------
    key
        Key with its path, as in ``flow[0].cc.beta``.
    line
        Line in the file; ``None``: set by ``--set`` or from Python.
    value
        Value as written.
    parameter
        Its declaration; ``None`` for a parameter of a plug-in.
    """

    key: str
    line: int | None
    value: Any
    parameter: Parameter | None


def written(values: Iterable[Mapping[str, Any]]) -> Iterator[Written]:
    """Yield the keys of :attr:`airwnd.Scenario.written`; the `kind` of an algorithm is its choice."""
    rows = list(values)
    kinds = {row["key"].removesuffix(".kind"): row["value"] for row in rows if row["key"].endswith(".kind")}
    for row in rows:
        parameter = _declared(row["key"], kinds)
        if parameter is None and row["key"].endswith(".kind"):
            chosen = row["key"].removesuffix(".kind")
            yield Written(chosen, row["line"], row["value"], _declared(chosen, kinds))
        elif not row["key"].endswith("]"):
            yield Written(row["key"], row["line"], row["value"], parameter)


def _declared(key: str, kinds: Mapping[str, Any]) -> Parameter | None:
    """Find the declaration of a key; `kinds` are the algorithms that the scenario selects, by key."""
    found: Parameter | None = None
    params: Mapping[str, Parameter] = sections()[""].keys
    section, path = "", ""
    for step in re.findall(r"[^.[\]]+|\[[^]]*\]", key):
        if step.startswith("["):
            path += step
            if section == "link":
                params = {**params, **_params("link", kinds.get(path, "wire"))}
            continue
        path = f"{path}.{step}".strip(".")
        found = params.get(step)
        inner = f"{section}.{step}".strip(".")
        if inner in sections():
            section, params = inner, sections()[inner].keys
        else:
            section = "-"
            params = {} if found is None or found.family is None else _params(found.family, kinds.get(path))
    return found


def _params(family: str, kind: object) -> Mapping[str, Parameter]:
    """Return the parameters of a member of a family; those of all members if the kind is not written."""
    members: list[Algorithm] = [
        member for each in catalogue() if each.name == family for member in each.members
    ]
    chosen = [member for member in members if member.name == kind] or members
    return {param.name: param for member in chosen for param in member.params}
