"""Trials: a connection of two endpoints over several seeds, with assertions on the results."""

import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from airwnd.results.engine import duration_ns
from airwnd.scenario import path as network
from airwnd.scenario.path import Endpoint
from airwnd.scenario.scenario import Scenario
from airwnd.study.bounds import ANY, Bounds
from airwnd.study.statistics import CONFIDENCE, MIN_SEEDS, Interval, interval
from airwnd.support.arguments import (
    CALLABLE,
    NONE,
    NUMBER,
    PATH,
    POSITIVE,
    SEED,
    SEVERAL,
    TEXT,
    checked,
    instances,
)
from airwnd.support.errors import InputError
from airwnd.text.quantities import counted
from airwnd.vocabulary.columns import Column, find, tables

if TYPE_CHECKING:
    from airwnd.scenario.run import Run

_MEASURE = TEXT | CALLABLE


@dataclass(frozen=True, slots=True)
class _Connection:
    """Results of a seed.

    Attributes
    ----------
    run
        The results.
    flow
        Id of the flow of the connection.
    min_delay_ms
        Minimum one-way delay in the direction with more data; NaN: no packet has arrived.
    """

    run: "Run"
    flow: str
    min_delay_ms: float

    def value(self, column: str) -> float:
        """Return a result of the flow; NaN: it has none."""
        flows = self.run.flows
        found = flows.filter(flows["id"] == self.flow)[column][0]
        return math.nan if found is None else float(found)


class Trial:
    """A connection between a UE and the server in a scenario, repeated over seeds.

    Each seed has other placements, channels and losses, which are the same for all endpoints.

    Parameters
    ----------
    scenario
        The scenario; it needs no flows.
    seeds
        Number of seeds, which are those from 1, or the seeds.
    duration_s
        Duration of the connection in seconds; ``None``: that of the scenario.
    ue
        Name of the UE, as for :meth:`Path.open`; ``None``: the first.

    Raises
    ------
    InputError
        If there are no seeds, or a seed twice, or the duration is not above zero.

    Examples
    --------
    >>> import airwnd
    >>> class Sender(airwnd.Endpoint):
    ...     next_s = 0.0
    ...
    ...     def transmit(self, now_s):
    ...         if now_s < self.next_s:
    ...             return []
    ...         self.next_s += 0.01
    ...         return [bytes(1000)]
    ...
    ...     def receive(self, now_s, data, ecn):
    ...         pass
    ...
    ...     def timeout(self):
    ...         return self.next_s
    >>> class Receiver(airwnd.Endpoint):
    ...     def transmit(self, now_s):
    ...         return []
    ...
    ...     def receive(self, now_s, data, ecn):
    ...         self.received_bytes += len(data)
    >>> scenario = airwnd.Scenario.from_dict({"name": "cell", "duration": "1s", "site": [{}], "ue": [{}]})
    >>> report = airwnd.Trial(scenario, seeds=3).run(lambda seed: (Receiver(), Sender()))
    >>> report.assert_at_least("goodput_kbps", 700)
    >>> report.assert_at_most("delay_ms_p95", 50)
    """

    @checked(
        scenario=instances("a scenario", Scenario),
        seeds=POSITIVE | SEVERAL,
        duration_s=NUMBER | NONE,
        ue=TEXT | NONE,
    )
    def __init__(
        self,
        scenario: Scenario,
        seeds: int | Iterable[int] = 5,
        *,
        duration_s: float | None = None,
        ue: str | None = None,
    ) -> None:
        self._scenario = scenario
        self._seeds = list(seeds) if isinstance(seeds, Iterable) else list(range(1, seeds + 1))
        for seed in self._seeds:
            SEED.check("seeds", seed)
        if len(set(self._seeds)) < max(len(self._seeds), 1):
            raise InputError("seeds: expected at least one seed, and none twice")
        if duration_s is None:
            duration_s = duration_ns("duration", scenario.resolved["duration"]) / 1e9
        if duration_s <= 0:
            raise InputError(f"duration_s: expected a number above zero, found {duration_s!r}")
        self._duration_s = duration_s
        self._ue = scenario.resolved["ue"][0]["name"] if ue is None else ue

    @checked(endpoints=CALLABLE, qlog=PATH | NONE, progress=CALLABLE | NONE)
    def run(
        self,
        endpoints: Callable[[int], tuple[Endpoint, Endpoint]],
        *,
        qlog: str | os.PathLike[str] | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> "Report":
        """Run the connection with each seed.

        Parameters
        ----------
        endpoints
            Returns the endpoint at the UE and that at the server for a seed.
        qlog
            Existing folder for a qlog of each seed, as in ``seed-1.qlog``, with samples every 10 ms and, of
            cells, MAC and RRC; ``None``: none is written.
        progress
            Called after each seed with the fraction of the seeds, 0 to 1.

        Returns
        -------
        Report
            The results. Errors of a seed have a note that names it.

        Raises
        ------
        InputError
            As for :meth:`Path.run`, or if `endpoints` returns something else.
        ScenarioError
            If the network cannot be built, or the simulation fails.
        """
        found = {}
        for seed in self._seeds:
            log = None if qlog is None else Path(qlog, f"seed-{seed}.qlog")
            try:
                found[seed] = self._connect(seed, endpoints(seed), log)
            except Exception as error:
                error.add_note(f"seed {seed}")
                raise
            if progress is not None:
                progress(len(found) / len(self._seeds))
        return Report(found)

    def _connect(self, seed: int, ends: tuple[Endpoint, Endpoint], qlog: Path | None) -> _Connection:
        match ends:
            case (Endpoint() as client, Endpoint() as server):
                pass
            case _:
                raise InputError("endpoints: expected a function that returns a pair of endpoints")
        is_logged = qlog is not None
        has_radio = is_logged and bool(self._scenario.resolved["site"])
        series = "10ms" if is_logged else None
        path = network.Path(self._scenario, seed, series=series, qlog=qlog, radio=has_radio)
        flow = path.run(client, server, self._duration_s, ue=self._ue)
        is_download = client.received_bytes >= server.received_bytes
        min_delay_s = path.min_delay_s(flow, to_ue=is_download)
        name = path.id(flow)
        return _Connection(path.finish(), name, math.nan if min_delay_s is None else 1e3 * min_delay_s)


class Report:
    """Results of a trial, returned by :meth:`airwnd.Trial.run`.

    A measure is one of

    - a column of `flows` in the results, such as ``"goodput_kbps"``, in the row of the connection,
    - ``"loss_percent"``: packets dropped in percent of those sent,
    - ``"delay_ms_min"``: minimum one-way delay,
    - ``"queueing_delay_ms_p95"``: 95th percentile of the one-way delay less its minimum,
    - a function that returns a number for a :class:`airwnd.Run`, for example of a flow beside the connection.

    All but the last concern the direction with more data.
    """

    def __init__(self, found: Mapping[int, _Connection]) -> None:
        self._found = found

    @property
    def runs(self) -> "list[Run]":
        """Results of each seed, in the order of the seeds."""
        return [each.run for each in self._found.values()]

    @checked(measure=_MEASURE)
    def values(self, measure: "str | Callable[[Run], float]") -> dict[int, float]:
        """Return a measure by seed.

        Parameters
        ----------
        measure
            The measure.

        Returns
        -------
        dict[int, float]
            Values by seed; NaN: the seed has no value.

        Raises
        ------
        InputError
            If there is no such measure.
        """
        value = _measure(measure).value
        return {seed: value(each) for seed, each in self._found.items()}

    @checked(measure=_MEASURE)
    def interval(self, measure: "str | Callable[[Run], float]") -> Interval:
        """Return the mean of a measure over the seeds with its 95 % confidence interval.

        Parameters
        ----------
        measure
            The measure.

        Returns
        -------
        airwnd.study.statistics.Interval
            The mean and its interval (Student's t), infinite with fewer than three seeds.

        Raises
        ------
        InputError
            If there is no such measure.
        """
        return interval(list(self.values(measure).values()), _measure(measure).bounds)

    @checked(measure=_MEASURE, limit=NUMBER)
    def assert_at_least(self, measure: "str | Callable[[Run], float]", limit: float) -> None:
        """Assert that the mean of a measure over all seeds is at least a limit: that its whole interval is.

        Parameters
        ----------
        measure
            The measure.
        limit
            The limit in the unit of the measure.

        Raises
        ------
        AssertionError
            If it is not; the message states the mean, its interval, by how much the limit is missed, and the
            value of each seed.
        InputError
            If there is no such measure.
        """
        found = self.interval(measure)
        if not found.low >= limit:
            raise AssertionError(self._message(measure, found, "at least", limit, found.mean < limit))

    @checked(measure=_MEASURE, limit=NUMBER)
    def assert_at_most(self, measure: "str | Callable[[Run], float]", limit: float) -> None:
        """Assert that the mean of a measure over all seeds is at most a limit: that its whole interval is.

        Parameters
        ----------
        measure
            The measure.
        limit
            The limit in the unit of the measure.

        Raises
        ------
        AssertionError
            As for :meth:`assert_at_least`.
        InputError
            If there is no such measure.
        """
        found = self.interval(measure)
        if not found.high <= limit:
            raise AssertionError(self._message(measure, found, "at most", limit, found.mean > limit))

    def _message(
        self, measure: "str | Callable[[Run], float]", found: Interval, bound: str, limit: float, misses: bool
    ) -> str:
        label, unit = _measure(measure).label, _measure(measure).unit
        by = f"by {_number(abs(found.mean - limit), unit)}"
        if limit:
            by += f" ({_number(abs(100 * (found.mean / limit - 1)), '%')})"
        spread = ""
        if math.isnan(found.mean):
            why = "a seed has no value"
        elif found.n < MIN_SEEDS:
            why = f"an interval needs {MIN_SEEDS} seeds"
        else:
            ends = f"{_number(found.low)} to {_number(found.high)}"
            spread = f" ({100 * CONFIDENCE:.0f} % interval {ends}, {counted(found.n, 'seed')})"
            why = (
                f"the mean misses it {by}"
                if misses
                else f"the mean keeps it {by}, the interval does not: more seeds decide"
            )
        values = ", ".join(f"{seed}: {_number(value)}" for seed, value in self.values(measure).items())
        return (
            f"{label} should be {bound} {_number(limit, unit)}, but is {_number(found.mean, unit)}{spread}: "
            f"{why}; by seed: {values}"
        )

    def __repr__(self) -> str:
        return f"<Report of {counted(len(self._found), 'seed')}>"


@dataclass(frozen=True, slots=True)
class _Measure:
    """A quantity with its name, unit and range."""

    label: str
    unit: str
    bounds: Bounds
    value: Callable[[_Connection], float]


def measure_names() -> list[str]:
    """Return the names of all measures of a report."""
    columns = tables()["flows"].columns.values()
    return [*_DERIVED, *(column.name for column in columns if column.type != "text")]


def label_of(measure: str) -> tuple[str, str]:
    """Return the words and the unit of a measure."""
    found = _measure(measure)
    return found.label, found.unit


def _measure(what: "str | Callable[[Run], float]") -> _Measure:
    if not isinstance(what, str):
        return _Measure(getattr(what, "__name__", "the value"), "", ANY, lambda found: float(what(found.run)))
    if what in _DERIVED:
        return _DERIVED[what]
    column = find(f"flows.{what}")
    if column.type == "text":
        raise InputError(f"measure: flows.{what} is a text, not a number")
    return _of(column, lambda found: found.value(what))


def _of(column: Column, value: Callable[[_Connection], float]) -> _Measure:
    return _Measure(column.label, column.shown_unit, column.range, value)


def _loss(found: _Connection) -> float:
    return 100 * found.value("packets_dropped") / max(found.value("packets_sent"), 1)


def _queueing_delay(found: _Connection) -> float:
    return max(found.value("delay_ms_p95") - found.min_delay_ms, 0.0)


_DERIVED = {
    "loss_percent": _of(find("totals.loss_percent"), _loss),
    "delay_ms_min": _Measure("minimum delay", "ms", (0.0, math.inf), lambda found: found.min_delay_ms),
    "queueing_delay_ms_p95": _Measure(
        "queueing delay, 95th percentile", "ms", (0.0, math.inf), _queueing_delay
    ),
}


def _number(value: float, unit: str = "") -> str:
    """Format a number with four significant digits or more."""
    digits = next((digits for digits, limit in enumerate((1000, 100, 10)) if abs(value) >= limit), 3)
    return f"{value:.{digits}f} {unit}".rstrip()
