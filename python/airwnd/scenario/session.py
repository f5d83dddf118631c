"""A simulation in steps, which its owner observes and steers."""

import time
from functools import cached_property
from typing import TYPE_CHECKING

from airwnd import _native
from airwnd.results.radio_trace import RadioTrace
from airwnd.scenario.scenario import Scenario
from airwnd.support.arguments import DURATION, MEMORY, NONE, PATH, SEED, TEXT, checked, instances
from airwnd.support.errors import InputError

if TYPE_CHECKING:
    import os

    import numpy as np
    from numpy.typing import NDArray

    from airwnd.scenario.run import Run


class Session:
    """A simulation that advances step by step, for control loops and learning.

    Between two steps the state of flows and UEs can be read, and windows, rates and weights set. A session
    that is advanced over the duration of its scenario and sets nothing has the results of
    :meth:`airwnd.Scenario.run`; the same calls have the same results. Several sessions can be open at the
    same time, also one per thread: the global interpreter lock is released while a session advances. The
    state of a session cannot be copied; to branch, repeat the calls in a second session.

    Parameters
    ----------
    scenario
        The scenario. Senders with ``cc = "fixed"`` and receivers with ``rwnd = "fixed"`` leave their windows
        to the session.
    seed
        Seed from 0 to 2**63 - 1; ``None``: the scenario's seed.
    series
        Sampling interval of the time series with its unit, as in ``"10ms"``; ``None``: no series.
    max_memory
        Limit of the estimated memory, as for :meth:`airwnd.Scenario.run`.
    radio_trace
        Trace of the radio interface, or a folder for one of everything, as for :meth:`airwnd.Scenario.run`.

    Attributes
    ----------
    scenario
        The scenario.
    seed
        The seed.

    Raises
    ------
    InputError
        If `series` is not a time with a unit.
    ScenarioError
        As for :meth:`airwnd.Scenario.run`. Calls of plug-ins are not limited in time.

    Examples
    --------
    A controller outside the engine: a window of one bandwidth-delay product, from what was delivered.

    >>> import airwnd
    >>> scenario = airwnd.Scenario.from_dict(
    ...     {
    ...         "name": "steered",
    ...         "duration": "5s",
    ...         "link": [{"rate": "10Mbps", "delay": "20ms", "queue": 1000}],
    ...         "ue": [{}],
    ...         "flow": [{"cc": "fixed"}],
    ...     }
    ... )
    >>> session = airwnd.Session(scenario)
    >>> (flow,) = session.flows
    >>> delivered = 0
    >>> while session.advance(0.1) < 5:
    ...     rate, delivered = (flow.goodput_bytes - delivered) / 0.1, flow.goodput_bytes
    ...     flow.set_cwnd(max(1.25 * rate * (flow.min_rtt_s or 0.1), 30_000))
    >>> 8500 < session.finish().totals["goodput_kbps"] < 9700
    True
    """

    @checked(
        scenario=instances("a scenario", Scenario),
        seed=SEED | NONE,
        series=DURATION | NONE,
        max_memory=MEMORY | NONE,
        radio_trace=PATH | instances("a RadioTrace", RadioTrace) | NONE,
    )
    def __init__(
        self,
        scenario: Scenario,
        seed: int | None = None,
        *,
        series: str | None = None,
        max_memory: int | str | None = None,
        radio_trace: "RadioTrace | str | os.PathLike[str] | None" = None,
    ) -> None:
        self.scenario = scenario
        self.seed = scenario.seed if seed is None else seed
        self._native = scenario.open_session(self.seed, series, max_memory, radio_trace=radio_trace)
        self._began = time.perf_counter()

    @property
    def time_s(self) -> float:
        """Time from the end of the warm-up in seconds; a session begins with the warm-up, below zero."""
        return self._native.time_s

    def advance(self, by_s: float) -> float:
        """Execute all events of an interval.

        Parameters
        ----------
        by_s
            Length of the interval in seconds, rounded to nanoseconds. Time may pass the scenario's duration,
            which limits only the arrivals of its flows.

        Returns
        -------
        float
            The time in seconds, as :attr:`time_s`.

        Raises
        ------
        InputError
            If `by_s` is negative or not finite, or the session is finished.
        ScenarioError
            If a plug-in fails or the memory limit is reached; the session has ended.
        """
        return self._native.advance(by_s)

    @cached_property
    def flows(self) -> tuple[_native.Flow, ...]:
        """The flows in the order of results, with those that arrive later."""
        return tuple(self._native.flows())

    @cached_property
    def ues(self) -> tuple[_native.Ue, ...]:
        """The UEs."""
        return tuple(self._native.ues())

    @checked(name=TEXT)
    def flow(self, name: str) -> _native.Flow:
        """Return a flow.

        Parameters
        ----------
        name
            Id of the flow, as in results.

        Returns
        -------
        airwnd._native.Flow
            The flow.

        Raises
        ------
        InputError
            If there is no such flow.
        """
        found = [flow for flow in self.flows if flow.id == name]
        if not found:
            known = ", ".join(flow.id for flow in self.flows[:10])
            raise InputError(f"name: there is no flow {name}; flows are {known}")
        return found[0]

    def read_flows(self) -> "dict[str, NDArray[np.float64]]":
        """Read the state of all flows at once.

        Returns
        -------
        dict
            Arrays with a value per flow, by the name of its property; NaN for ``None``.
        """
        return self._native.read_flows()

    def read_ues(self) -> "dict[str, NDArray[np.float64]]":
        """Read the state of all UEs at once.

        Returns
        -------
        dict
            Arrays with a value per UE, by the name of its property; NaN for ``None``.
        """
        return self._native.read_ues()

    def finish(self) -> "Run":
        """End the session and return its results so far, as of a run with this duration.

        Returns
        -------
        Run
            The results.

        Raises
        ------
        InputError
            If it is finished already.
        """
        from airwnd.results.engine import end
        from airwnd.scenario.run import Run

        return Run.of(self.scenario.resolved, end(self._native, self._began))

    def __repr__(self) -> str:
        return f"<Session of {self.scenario}, seed {self.seed}>"
