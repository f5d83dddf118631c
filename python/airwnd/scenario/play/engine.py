"""Tasks of the page for the native engine, with the messages and results of the worker in ``worker.js``."""

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from airwnd import _native
from airwnd.plugins.permission import PLUGIN_TIMEOUT_S
from airwnd.support import memory
from airwnd.support.errors import InputError

#: Simulated time between two looks at the clock, in nanoseconds.
_SLICE_NS = 5_000_000
#: Differences below are rounding.
_INSTANT_S = 1e-9
#: Simulations that are kept: those of two pages with two configurations.
_KEPT = 4


class Simulation:
    """A scenario that the page advances."""

    def __init__(self, message: Mapping[str, Any]) -> None:
        scenario = _native.PageScenario(_text(message, "toml"))
        seed = message.get("seed")
        interval = _number(message, "interval", 1, 10_000)
        watched = message.get("packetsOf")
        self._session = scenario.begin(
            scenario.seed if seed is None else int(_number(message, "seed", 0, 2**64 - 1)),
            int(interval * 1e6),
            memory.share(_KEPT),
            None if watched is None else int(_number(message, "packetsOf", 0, 2**32 - 1)),
        )
        self._flows: list[str] = []
        self._columns: list[str] = []
        while self._session.now_s < 0:
            self._session.advance(max(1, round(-self._session.now_s * 1e9)))
        self.begun = {
            "resolved": json.loads(scenario.resolved()),
            "cells": plain(scenario.cells()),
            "flows": json.loads(self._session.flows()),
            "tti": self._session.tti_ms,
            **self._state(),
        }

    def watch(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Select the flows whose time series are returned, and the columns of these."""
        self._flows, self._columns = _texts(message, "flows"), _texts(message, "columns")
        return {}

    def set(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Set a value of a flow or a UE."""
        number = int(_number(message, "target", 0, 2**32 - 1))
        self._session.set(_text(message, "what"), number, _number(message, "value", 0, 1e12))
        return {}

    def advance(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Advance to a time, as far as the budget of wall-clock milliseconds permits."""
        session = self._session
        start = time.monotonic()
        budget = _number(message, "budget", 0, 1e9) / 1e3 if "budget" in message else float("inf")
        ended = False
        if message.get("ttis"):
            ended = session.advance(round(session.tti_ms * 1e6 * _number(message, "ttis", 1, 1e6)))
        to = message.get("to")
        # JSON has no infinity: a step of TTIs has no time.
        if to is not None:
            to = _number(message, "to", -1e9, 1e9)
            while not ended and to - session.now_s > _INSTANT_S and time.monotonic() - start < budget:
                ended = session.advance(min(_SLICE_NS, max(1, round((to - session.now_s) * 1e9))))
        series = session.series()
        return {
            "ended": ended,
            "memory": 0,
            "series": {flow: _rows_of(series, flow, self._columns) for flow in self._flows},
            "events": self._events(),
            "allocations": plain(session.allocations()),
            "packets": plain(session.packets()),
            "blocks": plain(session.blocks()),
            **self._state(),
        }

    def _events(self) -> list[dict[str, Any]]:
        events = plain(self._session.events())
        rows = zip(*(events.get(name, []) for name in ("time_s", "flow", "event")), strict=True)
        return [
            {"time": time, "flow": flow, "kind": kind} for time, flow, kind in rows if flow in self._flows
        ]

    def _state(self) -> dict[str, Any]:
        session = self._session
        return {"now": session.now_s, "ues": _numbers(session.ues()), "use": _numbers(session.cells())}


class Engine:
    """Simulations by the name that a page gives them; the ones that were used last are kept."""

    def __init__(self) -> None:
        self._simulations: OrderedDict[str, Simulation] = OrderedDict()
        self._lock = threading.Lock()

    def answer(self, message: Mapping[str, Any]) -> Any:
        """Return the result of a task.

        Raises
        ------
        InputError
            An unknown task or value, or a simulation that is no longer kept.
        ScenarioError
            An invalid scenario.
        """
        task = message.get("task")
        if task == "describe":
            return describe(message.get("families"))
        if task == "run":
            return run(message)
        name = _text(message, "name")
        if task == "begin":
            simulation = Simulation(message)
            with self._lock:
                self._simulations[name] = simulation
                self._simulations.move_to_end(name)
                while len(self._simulations) > _KEPT:
                    self._simulations.popitem(last=False)
            return simulation.begun
        with self._lock:
            kept = self._simulations.get(name)
            if kept is not None:
                self._simulations.move_to_end(name)
        if kept is None:
            raise InputError(
                "this simulation is no longer kept, since other pages have begun theirs; start it again"
            )
        tasks: dict[str, Callable[[Mapping[str, Any]], Any]] = {
            "watch": kept.watch,
            "set": kept.set,
            "advance": kept.advance,
        }
        if task not in tasks:
            raise InputError(
                f"task: unknown value {task!r}; expected begin, describe, run, {', '.join(tasks)}"
            )
        return tasks[task](message)


def describe(families: object) -> dict[str, list[dict[str, Any]]]:
    """Return the members of families of algorithms, with their parameters."""
    known = {family["name"]: family["members"] for family in json.loads(_native.catalogue())}
    if not isinstance(families, list) or not all(family in known for family in families):
        raise InputError(f"families: expected some of {', '.join(known)}")
    return {family: known[family] for family in families}


def run(message: Mapping[str, Any]) -> dict[str, Any]:
    """Run a scenario to its end, and return its results, time series and events."""
    toml, texts = _text(message, "toml"), _texts(message, "overrides")
    overrides = list(zip(texts[::2], texts[1::2], strict=True))
    scenario = _native.Scenario(toml, "scenario", "toml", overrides, PLUGIN_TIMEOUT_S, lambda _: None)
    interval = round(_number(message, "interval", 0, 10_000) * 1e6)
    seed = int(_number(message, "seed", 0, 2**64 - 1))
    outcome, tables = scenario.run(seed, interval or None, None, max_memory=memory.share(_KEPT))
    return {"outcome": outcome, **{name: plain(tables.get(name, {})) for name in ("series", "events")}}


def plain(table: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return a table by column, with words in place of their numbers, and null for missing numbers."""
    return {name: _column(column) for name, column in table.items()}


def _column(column: Any) -> list[Any]:
    if isinstance(column, tuple):
        places, words = column
        return [words[place] if place < len(words) else None for place in places.tolist()]
    return _numbers(column.tolist())


def _numbers(values: Sequence[float]) -> list[float | None]:
    return [None if value != value else value for value in values]  # noqa: PLR0124 (only NaN differs from itself)


def _rows_of(series: Mapping[str, Any], flow: str, columns: Sequence[str]) -> dict[str, list[Any]]:
    if "flow" not in series:
        return {name: [] for name in columns}
    places, words = series["flow"]
    own = places == (words.index(flow) if flow in words else -1)
    for name in columns:
        if name not in series or isinstance(series[name], tuple):
            raise InputError(f"columns: the time series have no numbers `{name}`")
    return {name: _column(series[name][own]) for name in columns}


def _texts(message: Mapping[str, Any], key: str) -> list[str]:
    value = message.get(key)
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise InputError(f"{key}: expected a list of names")
    return value


def _text(message: Mapping[str, Any], key: str) -> str:
    value = message.get(key)
    if not isinstance(value, str):
        raise InputError(f"{key}: expected a text")
    return value


def _number(message: Mapping[str, Any], key: str, low: float, high: float) -> float:
    value = message.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
        raise InputError(f"{key}: expected a number from {low:g} to {high:g}")
    return value
