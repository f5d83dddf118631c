"""One call of the engine, without data frames: what a worker process loads must be little."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airwnd import _native
from airwnd.capture import wanted
from airwnd.errors import EngineError, InputError

if TYPE_CHECKING:
    from os import PathLike
    from typing import Any

    from numpy.typing import NDArray

    from airwnd.capture import Capture

    # Numbers, or words by their place in a list.
    Column = NDArray[Any] | tuple[NDArray[Any], list[str]]
    Columns = Mapping[str, Column]


@dataclass(frozen=True, slots=True)
class Raw:
    """What the engine gave.

    Attributes
    ----------
    outcome
        The figures as one JSON object.
    series, events
        Time series and what befell the flows, by column; empty if they were not asked for.
    wall_s
        How long the simulation took, in seconds.
    """

    outcome: str
    series: "Columns"
    events: "Columns"
    wall_s: float


def simulate(
    scenario: _native.Scenario,
    seed: int,
    series: str | None,
    progress: Callable[[float], object] | None,
    pcap: "Capture | str | PathLike[str] | None" = None,
) -> Raw:
    """Run a checked scenario; :meth:`airwnd.Scenario.run` says what the arguments are."""
    interval = None if series is None else sampling_interval(series)
    captured = None if pcap is None else wanted(scenario, pcap)
    start = time.perf_counter()
    try:
        outcome, series_columns, event_columns = scenario.run(seed, interval, progress, captured)
    except _native.PanicException as panic:
        raise EngineError(f"{panic} (engine {_native.ENGINE}, seed {seed}); please report it") from panic
    return Raw(outcome, series_columns, event_columns, time.perf_counter() - start)


def sampling_interval(series: str) -> int:
    """Read the sampling interval of time series; in nanoseconds."""
    try:
        interval = _native.parse_span(series)
    except _native.ScenarioError as error:
        raise InputError(f"series: {error}") from None
    if interval == 0:
        raise InputError(f"series: `{series}` is no interval to sample at")
    return interval
