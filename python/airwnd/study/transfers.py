"""Transfers of stacks outside the engine: flows of a scenario that a stack carries in virtual time."""

import hashlib
import importlib.util
import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from airwnd import _native
from airwnd.results.engine import duration_ns
from airwnd.results.raw import Raw
from airwnd.scenario import path as network
from airwnd.scenario.scenario import Scenario
from airwnd.study.stacks import Stack, find, installed, with_options
from airwnd.support.errors import EngineError, InputError

#: Id and group of the transfer of a sweep.
SINGLE = "stack"
# Name of the group of an owner's flows in the results of a path.
_OWN = "real"
# Difference of the seeds of two connections in a run, above that of any two runs.
_SEEDS = 1_000_003


@dataclass(frozen=True, slots=True)
class Transfer:
    """A transfer of a stack.

    Attributes
    ----------
    ue
        Name of the UE, as for :meth:`airwnd.Path.open`.
    id, group
        Its id and group in results.
    is_upload
        Whether the UE sends, or the server.
    start_s, stop_s
        When it begins and ends, in seconds from the end of the warm-up; ``None``: at the end of the run.
    """

    ue: str
    id: str
    group: str
    is_upload: bool = False
    start_s: float = 0.0
    stop_s: float | None = None


class Outside(Protocol):
    """Transfers of something outside the engine, as a part of a run."""

    @property
    def key(self) -> str:
        """All that the results depend on besides scenario, seed and series."""

    @property
    def code(self) -> str:
        """Name of the code that runs, for messages."""

    def carry_out(
        self, scenario: Scenario, seed: int, series: str | None, max_memory: int | None, stuck: int | None
    ) -> Raw:
        """Execute a run with the transfers; :class:`airwnd.study.batch.task.Means` has the last two."""


@dataclass(frozen=True)
class StackTransfers:
    """Transfers of a stack without I/O.

    Attributes
    ----------
    name
        Name of the stack, as for :func:`airwnd.study.stacks.find`. For a file the path is absolute.
    options
        Options of the stack.
    transfers
        The transfers.
    digest
        Digest of the stack's code; see :func:`digest_of`.
    """

    name: str
    options: Mapping[str, Any]
    transfers: tuple[Transfer, ...]
    digest: str

    @property
    def key(self) -> str:
        """All that the results depend on besides scenario, seed and series."""
        transfers = [astuple(each) for each in self.transfers]
        return json.dumps([self.digest, dict(self.options), transfers], sort_keys=True)

    @property
    def code(self) -> str:
        """Name of the stack."""
        return self.name

    def carry_out(
        self, scenario: Scenario, seed: int, series: str | None, max_memory: int | None, stuck: int | None
    ) -> Raw:
        """Execute a run with the transfers.

        Raises
        ------
        InputError
            If the stack raises an exception; one line with its place.
        """
        path = _Watched(scenario, seed, series=series, max_memory=max_memory)
        until_s = duration_ns("duration", scenario.resolved["duration"]) / 1e9
        with _limited(path, scenario.plugin_timeout_s, stuck):
            # Each connection has random numbers of its own.
            seeds = range(seed, seed + _SEEDS * len(self.transfers), _SEEDS)
            connections = list(map(self._connection, self.transfers, seeds))
            try:
                flows = path.run_all(connections, until_s)
            except (InputError, EngineError, OSError, _native.ScenarioError):
                raise
            except Exception as error:
                raise InputError(f"{self._stack(is_upload=False).explain(error)} (seed {seed})") from error
        names = {path.id(flow): each for flow, each in zip(flows, self.transfers, strict=True)}
        return renamed(path.finish_raw(), names)

    def _stack(self, *, is_upload: bool) -> Stack:
        return find(self.name, {**self.options, **({"upload": True} if is_upload else {})})

    def _connection(self, transfer: Transfer, seed: int) -> network.Pair:
        client, server = _pair(self._stack(is_upload=transfer.is_upload), seed)
        stop_s = float("inf") if transfer.stop_s is None else transfer.stop_s
        return network.Pair(client, server, transfer.ue, transfer.start_s, stop_s)


class _Watched(network.Path):
    """A path that counts its steps, so that a stack that does not return is noticed."""

    steps = 0

    def advance(self, to_s: float, *, before: bool = False) -> float:
        self.steps += 1
        return super().advance(to_s, before=before)


@contextmanager
def _limited(path: _Watched, limit_s: float, code: int | None) -> Iterator[None]:
    """End this process with an exit code if a stack does not return: code in C cannot be interrupted."""
    over = threading.Event()

    def watch(code: int) -> None:
        steps = -1
        while not over.wait(limit_s):
            if path.steps == steps:
                os._exit(code)
            steps = path.steps

    if code is not None:
        threading.Thread(target=watch, args=(code,), daemon=True).start()
    try:
        yield
    finally:
        over.set()


def _pair(stack: Stack, seed: int) -> tuple[network.Endpoint, network.Endpoint]:
    try:
        ends = stack(seed)
    except (InputError, EngineError):
        raise
    except Exception as error:
        raise InputError(f"{stack.explain(error)} (seed {seed})") from error
    match ends:
        case (network.Endpoint(), network.Endpoint()):
            return ends
    raise InputError(f"{stack.name}: expected a function that returns a pair of endpoints")


def renamed(raw: Raw, names: Mapping[str, Transfer]) -> Raw:
    """Give an owner's flows the ids and groups of their transfers.

    The row of their group has the name of the group if there is only one.
    """
    outcome = json.loads(raw.outcome)
    for row in outcome["flows"]:
        if (transfer := names.get(row["id"])) is not None:
            row["id"], row["group"] = transfer.id, transfer.group
    groups = {each.group for each in names.values()}
    for row in outcome["groups"]:
        if row["group"] == _OWN and len(groups) == 1:
            (row["group"],) = groups
    for row in outcome.get("connections", ()):
        row["flow"] = names[row["flow"]].id if row["flow"] in names else row["flow"]
    tables = {name: _with_ids(columns, names) for name, columns in raw.tables.items()}
    return replace(raw, outcome=json.dumps(outcome, ensure_ascii=False), tables=tables)


def _with_ids(columns: Mapping[str, Any], names: Mapping[str, Transfer]) -> Mapping[str, Any]:
    if not isinstance(flow := columns.get("flow"), tuple):
        return columns
    places, ids = flow
    return {**columns, "flow": (places, [names[each].id if each in names else each for each in ids])}


def digest_of(name: str) -> str:
    """Return the digest of a stack's code: function, file or module, and the package that offers it."""
    found = hashlib.sha256()
    for part in _parts(name):
        found.update(part)
    return found.hexdigest()


def _parts(name: str) -> Iterator[bytes]:
    name, _ = with_options(name, {})
    where, _, function = name.rpartition(":")
    point = installed().get(name)
    yield (function if point is None else point.attr).encode()
    if where.endswith(".py"):
        yield Path(where).read_bytes()
        return
    module = where if point is None else point.module
    spec = importlib.util.find_spec(module)
    if spec is not None and spec.origin is not None:
        yield Path(spec.origin).read_bytes()
    if point is not None and point.dist is not None:
        yield f"{point.dist.name} {point.dist.version}".encode()
        files = sorted(str(point.dist.locate_file(each)) for each in point.dist.files or ())
        yield from (Path(each).read_bytes() for each in files if each.endswith((".py", ".so", ".pyd")))


def single_transfer(
    name: str, options: Mapping[str, Any], resolved: Mapping[str, Any], ue: str | None, *, is_upload: bool
) -> StackTransfers:
    """Return a transfer of a stack that lasts as long as the run, with the id and group ``stack``.

    Parameters
    ----------
    name, options
        The stack; see :func:`airwnd.study.stacks.find`.
    resolved
        Resolved scenario.
    ue
        UE; ``None``: the first.
    is_upload
        Whether the UE sends, or the server.

    Raises
    ------
    InputError
        If there is no such stack, or it has no such options, or a flow of the scenario has that id.
    """
    if any(flow["id"] == SINGLE for flow in resolved["flow"]):
        raise InputError(f"flow {SINGLE}: this id is that of the stack's transfer; name the flow otherwise")
    find(name, {**options, **({"upload": True} if is_upload else {})})
    transfer = Transfer(ue or resolved["ue"][0]["name"], SINGLE, SINGLE, is_upload)
    return StackTransfers(name, options, (transfer,), digest_of(name))


def transfers_of(resolved: Mapping[str, Any], prefix: str) -> tuple[Transfer, ...]:
    """Return the flows of a resolved scenario whose ids begin with a prefix, as transfers.

    Raises
    ------
    InputError
        If one has other traffic than data without end, which is what stacks send.
    """
    names = [f"{group['name']}-{number}" for group in resolved["ue"] for number in range(group["count"])]
    found = []
    for flow in resolved["flow"]:
        if not flow["id"].startswith(prefix):
            continue
        if flow["traffic"]["kind"] != "bulk":
            kind = flow["traffic"]["kind"]
            raise InputError(f"flow {flow['id']} has {kind} traffic; a stack sends without end")
        ues = [name for name in names if flow.get("ue") in (None, name, name.rpartition("-")[0])]
        start_s, stagger_s = (duration_ns(key, flow[key]) / 1e9 for key in ("start", "stagger"))
        stop_s = duration_ns("stop", flow["stop"]) / 1e9 if "stop" in flow else None
        found += [
            Transfer(
                ue,
                f"{flow['id']}-{number}",
                flow["id"],
                flow["direction"] == "up",
                start_s + number * stagger_s,
                stop_s,
            )
            for number, ue in enumerate(ue for ue in ues for _ in range(flow["count"]))
        ]
    return tuple(found)
