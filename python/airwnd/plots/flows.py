"""Selection of flows by id or group."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from airwnd.support.errors import InputError

if TYPE_CHECKING:
    from airwnd.results.run import RunData
    from airwnd.results.sweep import SweepData

_MAX_NAMED = 5


def named(run: "RunData", wanted: Sequence[str], *, groups: bool = True) -> list[str]:
    """Return the ids of the flows named by id or, if `groups`, by group; of all flows if none is named.

    Raises
    ------
    InputError
        If there is no such flow or group.
    """
    members: dict[str, list[str]] = {}
    for flow, group in run.flows.select("id", "group").iter_rows() if groups else ():
        members.setdefault(group, []).append(flow)
    ids = run.flows["id"].to_list()
    if isinstance(wanted, str):
        raise InputError(f"flows: expected a list of ids, found the text {wanted!r}")
    known = set(ids)
    for name in wanted:
        if name not in known and name not in members:
            shown = ", ".join(ids[:_MAX_NAMED]) + (", ..." if len(ids) > _MAX_NAMED else "")
            raise InputError(f"no flow `{name}`; there are {shown}")
    found = [flow for name in wanted for flow in ([name] if name in known else members[name])]
    return list(dict.fromkeys(found)) if wanted else ids


def members(sweep: "SweepData", wanted: Sequence[str]) -> dict[str, list[str]]:
    """Return the ids of the flows of each line: those of each flow or group that is named; of all if none is.

    Raises
    ------
    InputError
        If there is no such flow or group.
    """
    found: dict[str, list[str]] = {}
    known = sweep.flows.select("id", "group").unique(maintain_order=True)
    for flow, group in known.iter_rows():
        found.setdefault(group, []).append(flow)
        found.setdefault(flow, [flow])
    for name in wanted:
        if name not in found:
            groups = ", ".join(known["group"].unique(maintain_order=True))
            raise InputError(f"no flow or group `{name}`; groups are {groups}")
    return {name: found[name] for name in wanted} or {"": known["id"].to_list()}
