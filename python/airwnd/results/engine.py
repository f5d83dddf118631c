"""A call of the engine, without data frames: worker processes must load few modules."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from airwnd import _native
from airwnd.results.capture import capture_of, wanted
from airwnd.results.radio_trace import trace_of, words
from airwnd.results.raw import Raw
from airwnd.support.errors import EngineError, InputError
from airwnd.support.memory import share

if TYPE_CHECKING:
    from os import PathLike
    from typing import Any

    from airwnd.results.capture import Capture
    from airwnd.results.radio_trace import RadioTrace
    from airwnd.results.radio_writer import Writer


T = TypeVar("T", _native.Session, _native.Path)


@dataclass(frozen=True, slots=True)
class Records:
    """Optional records of a run, and its means; documented at :meth:`airwnd.Scenario.run`."""

    series: str | None = None
    pcap: "Capture | str | PathLike[str] | None" = None
    allocations: tuple[str, str] | None = None
    max_memory: int | str | None = None
    threads: int | None = None
    radio_trace: "RadioTrace | str | PathLike[str] | None" = None


def simulate(
    scenario: _native.Scenario, seed: int, progress: Callable[[float], object] | None, records: Records
) -> Raw:
    """Run a checked scenario; the arguments are documented at :meth:`airwnd.Scenario.run`."""
    interval = None if records.series is None else sampling_interval(records.series)
    watched = None if records.allocations is None else window("allocations", *records.allocations)
    captured = None
    if records.pcap is not None:
        capture = capture_of(records.pcap)
        if capture.real_only:
            raise InputError("pcap: real_only is for airwnd link; all packets of a run are simulated")
        captured = wanted(scenario, capture)
    radio = None if records.radio_trace is None else _radio(records.radio_trace)
    maximum = share(1, records.max_memory)
    start = time.perf_counter()
    with _panics(seed):
        outcome, tables = scenario.run(
            seed, interval, progress, captured, watched, maximum, records.threads, radio
        )
    return Raw(outcome, tables, time.perf_counter() - start)


def _radio(
    radio_trace: "RadioTrace | str | PathLike[str]",
) -> "tuple[tuple[list[str], list[str], tuple[int, int] | None], Writer]":
    """Convert a trace of the radio interface to the engine's argument."""
    # Data frames are loaded for a trace only.
    from airwnd.results.radio_writer import writer

    trace = trace_of(radio_trace)
    window_ns = None if trace.window is None else window("radio_trace", *trace.window)
    return (words(trace.layers), words(trace.ues), window_ns), writer(trace)


def begin_session(
    scenario: _native.Scenario,
    seed: int,
    series: str | None,
    max_memory: int | str | None,
    radio_trace: "RadioTrace | str | PathLike[str] | None",
) -> _native.Session:
    """Begin a simulation in steps; the arguments are documented at :class:`airwnd.Session`."""
    radio = None if radio_trace is None else _radio(radio_trace)
    return begin(_native.Session, scenario, seed, series, max_memory, radio=radio)


def begin(
    kind: Callable[..., T],
    scenario: _native.Scenario,
    seed: int,
    series: str | None,
    max_memory: int | str | None,
    **more: object,
) -> T:
    """Begin a simulation that its owner advances; :class:`airwnd.Session` documents the other arguments."""
    interval = None if series is None else sampling_interval(series)
    with _panics(seed):
        return kind(scenario, seed, interval, share(1, max_memory), **more)


def end(owned: "_native.Session | _native.Path", began_s: float) -> Raw:
    """End a simulation that its owner advances; `began_s` is a time of `time.perf_counter`."""
    outcome, tables = owned.finish()
    return Raw(outcome, tables, time.perf_counter() - began_s)


def link(
    scenario: _native.Scenario,
    request: "Mapping[str, Any]",
    update: Callable[[str], bool],
    pcap: "Capture | str | PathLike[str] | None",
) -> tuple[Raw, str]:
    """Run a session in real time; the arguments are documented at :meth:`airwnd.Scenario.link`."""
    captured = None
    if pcap is not None:
        capture = capture_of(pcap)
        if capture.layers:
            raise InputError("pcap: layers are for airwnd run; airwnd link captures packets only")
        path, nodes, snaplen, _ = wanted(scenario, capture)
        captured = {
            "path": str(path.absolute()),
            "nodes": nodes,
            "snaplen": snaplen,
            "real_only": capture.real_only,
        }
    # Not ASCII only: a name that is no UTF-8 is refused here, not by the engine.
    text = json.dumps({**request, "pcap": captured}, ensure_ascii=False)
    start = time.perf_counter()
    with _panics(request["seed"]):
        outcome, tables, summary = _native.link(scenario, text, update)
    return Raw(outcome, tables, time.perf_counter() - start), summary


@contextmanager
def _panics(seed: int) -> Iterator[None]:
    """Raise a panic of the engine as :class:`EngineError`."""
    try:
        yield
    except _native.PanicException as panic:
        where = f"{_native.panic_place()}, engine {_native.ENGINE}, seed {seed}"
        raise EngineError(f"{panic} ({where}); please report it") from panic


def sampling_interval(series: str) -> int:
    """Parse the sampling interval of time series; in nanoseconds."""
    interval = duration_ns("series", series)
    if interval == 0:
        raise InputError(f"series: `{series}` is not a sampling interval")
    return interval


def window(what: str, begin: str, end: str) -> tuple[int, int]:
    """Parse a time window; in nanoseconds. `what` names it in messages."""
    return duration_ns(what, begin), duration_ns(what, end)


def duration_ns(what: str, text: str) -> int:
    """Parse a duration with a unit; in nanoseconds. `what` names it in messages."""
    try:
        return _native.parse_span(text)
    except _native.ScenarioError as error:
        raise InputError(f"{what}: {error}") from None
