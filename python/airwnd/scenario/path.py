"""Transports without I/O at the ends of a simulated network, in virtual time."""

import math
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from airwnd import _native
from airwnd.scenario.packet import Packet
from airwnd.scenario.qlog import RADIO, Log
from airwnd.scenario.scenario import Scenario
from airwnd.support.arguments import (
    DURATION,
    FLAG,
    MEMORY,
    NONE,
    NUMBER,
    PATH,
    REAL,
    SEED,
    SEVERAL,
    TEXT,
    Kind,
    checked,
    instances,
    tuples_of,
    whole,
)
from airwnd.support.errors import InputError

if TYPE_CHECKING:
    from airwnd.results.raw import Raw
    from airwnd.scenario.run import Run

MAX_CALLS = 100_000
"""Calls of an endpoint at one instant after which it is considered stuck."""

_STUCK = "sends without end, or its timer stays in the past"

_FLOW = whole(0, 2**32 - 1, "the number of a flow")
_PORTS = tuples_of(whole(0, 65535), 2, "a pair of ports from 0 to 65535")
# As `Path::MAX_TIME` in Rust.
_MAX_S = 31_536_000
_END = Kind(
    f"a number of seconds of at most {_MAX_S}, a year,",
    lambda value: NUMBER.fits(value) and value <= _MAX_S,
)
_DSCP = whole(0, 63, "a number from 0 to 63")
# Of arguments that are only checked if the engine refuses them, since the calls are frequent.
_SENT = {"flow": _FLOW, "data": instances("bytes", bytes), "ecn": whole(0, 3, "a number from 0 to 3")}
_REPORTED = whole(0, 2**64 - 1, "a whole number from 0")


class Endpoint(ABC):
    """One end of a connection without I/O and without a clock, with its application.

    :meth:`Path.run` calls :meth:`transmit` at the start, and after each call of :meth:`receive` or
    :meth:`on_timeout`; then it asks for :meth:`timeout`. Times are seconds since the beginning of the path.

    Attributes
    ----------
    received_bytes
        Application data received so far, each byte once: goodput in results.
    retransmissions
        Packets sent so far that repeat lost data.
    protocol
        ``None``: the datagrams are payloads of UDP packets. ``"tcp"`` or ``"udp"``: they are whole IP packets
        of this protocol, to which the path adds no headers. Both ends of a connection have the same.
    """

    received_bytes: int = 0
    retransmissions: int = 0
    protocol: Literal["tcp", "udp"] | None = None

    @abstractmethod
    def transmit(self, now_s: float) -> Iterable[bytes | tuple[bytes, int]]:
        """Return the datagrams to send now.

        Parameters
        ----------
        now_s
            Present in seconds.

        Returns
        -------
        Iterable
            Payloads of UDP packets, or pairs of payload and ECN field: 0 (not ECT), 1 (ECT(1)), 2 (ECT(0)).
        """

    @abstractmethod
    def receive(self, now_s: float, data: bytes, ecn: int) -> None:
        """Receive a datagram.

        Parameters
        ----------
        now_s
            Present in seconds.
        data
            Payload.
        ecn
            ECN field; 3: a queue has marked the packet.
        """

    def timeout(self) -> float | None:
        """Return when :meth:`on_timeout` is to be called.

        Returns
        -------
        float | None
            Time in seconds; a time in the past counts as the present. ``None``: no timer is set.
        """
        return None

    def on_timeout(self, now_s: float) -> None:  # noqa: B027 (a timer may only ask for a transmission)
        """Handle the timers that have expired.

        Parameters
        ----------
        now_s
            Present in seconds, not before :meth:`timeout`.
        """

    def start_qlog(self) -> None:  # noqa: B027 (most stacks have nothing to set up)
        """Begin to log: the path has a qlog. It is called before the first :meth:`transmit`."""

    def qlog(self) -> Iterable[Mapping[str, Any]]:
        """Return what the stack has logged since the last call; a path without a qlog does not ask.

        Returns
        -------
        Iterable
            Events as for :meth:`Path.log`.
        """
        return ()


_ENDPOINT = instances("an Endpoint", Endpoint)


@dataclass(frozen=True, eq=False)
class Pair:
    """Two endpoints of a flow, for :meth:`Path.run_all`.

    Attributes
    ----------
    client
        Endpoint at the UE.
    server
        Endpoint at the server.
    ue
        Name of the UE, as for :meth:`Path.open`.
    start_s
        When it begins, in seconds of the path; times of the endpoints are seconds since then.
    stop_s
        When the endpoints stop, in seconds of the path.
    """

    client: Endpoint
    server: Endpoint
    ue: str = "ue"
    start_s: float = 0.0
    stop_s: float = math.inf

    def __post_init__(self) -> None:
        for name in ("client", "server"):
            _ENDPOINT.check(name, getattr(self, name))
        TEXT.check("ue", self.ue)
        for name in ("start_s", "stop_s"):
            REAL.check(name, getattr(self, name))

    def end(self, *, at_ue: bool) -> Endpoint:
        """Return an endpoint.

        Parameters
        ----------
        at_ue
            That at the UE, or that at the server.

        Returns
        -------
        Endpoint
            The endpoint.
        """
        return self.client if at_ue else self.server


class Path:
    """A simulated network whose owner sends packets, receives them, and advances the time.

    A path begins at the end of the warm-up. It has no clock: the same scenario, seed and calls give the same
    packets and results on any machine, faster than real time. Flows of the scenario are simulated beside the
    owner's, without limit of time.

    Parameters
    ----------
    scenario
        The scenario; it needs no flows.
    seed
        Seed from 0 to 2**63 - 1; ``None``: the scenario's seed.
    series
        Sampling interval of the time series with its unit, as in ``"10ms"``; ``None``: no series.
    qlog
        File for the packets of the owner and the events of the stacks at their ends, which :meth:`finish`
        writes; its name ends in ``.qlog`` or ``.json``. With `series` it also has the samples and handovers.
        ``None``: no file.
    radio
        Whether the qlog also has the grants, transport blocks, reports and RRC events of the UEs with flows.
        The scenario has cells.
    max_memory
        Limit of the estimated memory, as for :meth:`airwnd.Scenario.run`.

    Attributes
    ----------
    scenario
        The scenario.
    seed
        The seed.

    Raises
    ------
    InputError
        If `series` is not a time with a unit, `qlog` is no such name or its folder is missing, or there is
        `radio` without `qlog`.
    ScenarioError
        If the network cannot be built.
    OSError
        If the folder of `qlog` cannot be written.

    Examples
    --------
    A server that sends a packet every 10 ms, and a UE that counts them.

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
    >>> scenario = airwnd.Scenario.from_dict({"name": "cell", "duration": "2s", "site": [{}], "ue": [{}]})
    >>> path = airwnd.Path(scenario, seed=1)
    >>> flow = path.run(Receiver(), Sender(), until_s=2)
    >>> path.finish().flows["goodput_kbps"].to_list()
    [792.0]
    """

    @checked(
        scenario=instances("a scenario", Scenario),
        seed=SEED | NONE,
        series=DURATION | NONE,
        qlog=PATH | NONE,
        radio=FLAG,
        max_memory=MEMORY | NONE,
    )
    def __init__(  # noqa: PLR0913 (keywords of a public class)
        self,
        scenario: Scenario,
        seed: int | None = None,
        *,
        series: str | None = None,
        qlog: str | os.PathLike[str] | None = None,
        radio: bool = False,
        max_memory: int | str | None = None,
    ) -> None:
        if radio and qlog is None:
            raise InputError("radio: the records are written to a qlog; give `qlog`, too")
        self.scenario = scenario
        self.seed = scenario.seed if seed is None else seed
        about = {"seed": self.seed, "engine": _native.ENGINE}
        self._log = None if qlog is None else Log(qlog, scenario.name, about)
        self._native = scenario.open_path(self.seed, series, max_memory, radio=radio)
        self._began = time.perf_counter()
        # Bytes that the endpoints have reported, by flow and whether at the UE.
        self._received: dict[tuple[int, bool], int] = {}

    @property
    def time_s(self) -> float:
        """Present in seconds from the end of the warm-up."""
        return self._native.time_s

    @checked(ue=TEXT, ports=_PORTS | NONE, dscp=_DSCP)
    def open(
        self,
        ue: str = "ue",
        *,
        ports: Sequence[int] | None = None,
        dscp: int = 0,
        protocol: Literal["tcp", "udp"] | None = None,
    ) -> int:
        """Open a flow of packets between a UE and the server.

        Parameters
        ----------
        ue
            Name of the UE: that of its group and a number, as in ``"phone-0"``; the number may be omitted.
        ports
            Ports of the UE and of the server, for packet filters and queues by flow; ``None``: none.
        dscp
            Differentiated services code point, 0 to 63.
        protocol
            As of an :class:`airwnd.Endpoint`.

        Returns
        -------
        int
            Number of the flow.

        Raises
        ------
        InputError
            If there is no such UE or protocol, or the ports or the code point are out of range.
        """
        flow = self._native.open(ue, ports, dscp, protocol)
        if self._log is not None:
            self._log.opened(self.id(flow), ue, self._native.ue(ue))
        return flow

    @checked(flow=_FLOW)
    def id(self, flow: int) -> str:
        """Return the id of a flow in results.

        Parameters
        ----------
        flow
            Number of the flow.

        Returns
        -------
        str
            The id.

        Raises
        ------
        InputError
            If the flow is unknown.
        """
        return self._native.id(flow)

    def send(self, flow: int, data: bytes, *, from_ue: bool, ecn: int = 0) -> None:
        """Send a datagram at the present.

        Parameters
        ----------
        flow
            Number of the flow.
        data
            Payload, at least a byte.
        from_ue
            Whether the UE sends it, or the server.
        ecn
            ECN field: 0, 1, 2 or 3.

        Raises
        ------
        InputError
            If the flow is unknown, the datagram is too large, or something is no such value.
        """
        try:
            self._native.send(flow, from_ue, data, ecn)
        except (TypeError, OverflowError):
            _explain(_SENT, flow=flow, data=data, ecn=ecn)
            raise
        if self._log is not None:
            self._log.sent(self.time_s, flow, data, ecn, to_ue=not from_ue)

    def log(
        self, flow: int, events: Iterable[Mapping[str, Any]], *, from_ue: bool, own_times: bool = False
    ) -> None:
        """Add events of the stack at an end of a flow to the qlog; without one nothing happens.

        Parameters
        ----------
        flow
            Number of the flow.
        events
            Events of qlog: dictionaries with a ``name`` and ``data``.
        from_ue
            Whether the stack of the UE, the client in the file, has logged them, or that of the server.
        own_times
            Keep the ``time`` of each event, in milliseconds on the clock of the path and in order. By
            default events have the time of the call: stacks often take it from the clock of the machine.

        Raises
        ------
        InputError
            If the flow is unknown, something is no such event, or a time is before that of the last event of
            the end or after the present.
        """
        if self._log is not None:
            self.id(flow)
            self._log.add(self.time_s, flow, events, at_ue=from_ue, own_times=own_times)

    def advance(self, to_s: float, *, before: bool = False) -> float:
        """Advance to a time, or to the first instant at which packets leave the network.

        Until :meth:`poll` has returned them, time stands still.

        Parameters
        ----------
        to_s
            Time in seconds, rounded up to nanoseconds.
        before
            Execute only the events before `to_s`: what the owner does at `to_s` precedes them.

        Returns
        -------
        float
            The time in seconds.

        Raises
        ------
        InputError
            If the time is before the present, or no number.
        ScenarioError
            If the simulation fails.
        """
        try:
            reached_s = self._native.advance(to_s, before)
        except TypeError:
            _explain({"to_s": REAL}, to_s=to_s)
            raise
        if self._log is not None:
            self._log.traced(self._native.radio())
        return reached_s

    def poll(self) -> Packet | None:
        """Return the next packet that has left the network.

        Returns
        -------
        Packet | None
            A packet that was delivered or dropped; ``None``: there is none, and time may advance.
        """
        found = self._native.poll()
        if found is None:
            return None
        packet = Packet(*found)
        if self._log is not None:
            self._log.left(packet)
        return packet

    @checked(flow=_FLOW)
    def min_delay_s(self, flow: int, *, to_ue: bool) -> float | None:
        """Return the minimum one-way delay of the packets that have been delivered.

        Parameters
        ----------
        flow
            Number of the flow.
        to_ue
            Packets to the UE, or those to the server.

        Returns
        -------
        float | None
            The delay in seconds; ``None``: no packet was delivered.

        Raises
        ------
        InputError
            If the flow is unknown.
        """
        return self._native.min_delay_s(flow, to_ue)

    @checked(ue=TEXT)
    def run(self, client: Endpoint, server: Endpoint, until_s: float, *, ue: str = "ue") -> int:
        """Connect two endpoints through a flow until a time.

        Timers precede events of the network at equal times; drops are not reported to the endpoints. What
        these have received and sent again goes into the results.

        Parameters
        ----------
        client
            Endpoint at the UE.
        server
            Endpoint at the server.
        until_s
            Time in seconds.
        ue
            Name of the UE, as for :meth:`open`.

        Returns
        -------
        int
            Number of the flow.

        Raises
        ------
        InputError
            If an endpoint sends without end at one instant, its timer never leaves the past, it returns what
            is no datagram, time or number, the protocols of the ends differ, or the time is beyond a year.
        ScenarioError
            If the simulation fails.
        """
        return self.run_all([Pair(client, server, ue, self.time_s)], until_s)[0]

    @checked(pairs=SEVERAL, until_s=_END)
    def run_all(self, pairs: Sequence[Pair], until_s: float) -> list[int]:
        """Connect several pairs of endpoints until a time, as :meth:`run` connects one.

        Parameters
        ----------
        pairs
            Endpoints with their UEs and times.
        until_s
            Time in seconds.

        Returns
        -------
        list[int]
            Numbers of the flows, in the order of `pairs`.

        Raises
        ------
        InputError
            As for :meth:`run`, or if a pair starts before the present or after the end.
        ScenarioError
            If the simulation fails.
        """
        for each in pairs:
            if not self.time_s <= each.start_s <= until_s:
                raise InputError(
                    f"start_s: expected {self.time_s:g} s, the present, to {until_s:g} s, the end; "
                    f"found {each.start_s:g} s"
                )
        waiting = sorted(pairs, key=lambda each: -each.start_s)
        flows: dict[Pair, int] = {}
        running: dict[int, Pair] = {}
        now_s = self.time_s
        calls = 0
        while True:
            for flow in [flow for flow, started in running.items() if started.stop_s <= now_s]:
                self._report(flow, running.pop(flow))
            while waiting and waiting[-1].start_s <= now_s:
                started = waiting.pop()
                flow = flows[started] = self._begin(started)
                running[flow] = started
                for at_ue in (True, False):
                    self._transmit(flow, started, now_s - started.start_s, at_ue=at_ue)
            timers = [
                (started.start_s + due_s, due_s, flow, at_ue)
                for flow, started in running.items()
                for at_ue in (True, False)
                if (due_s := _due_s(started.end(at_ue=at_ue))) is not None
            ]
            first_s = max(_first_s(timers, running, waiting), now_s)
            is_timer = first_s <= until_s
            before_s = now_s
            now_s = self.advance(min(first_s, until_s), before=is_timer)
            calls = calls + 1 if now_s == before_s else 0
            if calls > MAX_CALLS:
                raise InputError(f"at {now_s:g} s an endpoint {_STUCK}")
            if self._deliver(running, now_s):
                continue
            if not is_timer:
                break
            # A whole nanosecond as a float may be just before the time that the endpoint has stated.
            now_s = max(now_s, first_s)
            for at_s, due_s, flow, at_ue in timers:
                if at_s <= now_s:
                    started = running[flow]
                    own_s = max(now_s - started.start_s, due_s)
                    started.end(at_ue=at_ue).on_timeout(own_s)
                    self._transmit(flow, started, own_s, at_ue=at_ue)
        for flow, started in running.items():
            self._report(flow, started)
        return [flows[each] for each in pairs]

    def _begin(self, pair: Pair) -> int:
        client, server = pair.client, pair.server
        if client.protocol != server.protocol:
            raise InputError(f"protocol: one end has {client.protocol!r}, the other {server.protocol!r}")
        if self._log is not None:
            client.start_qlog()
            server.start_qlog()
        return self.open(pair.ue, protocol=client.protocol)

    def _deliver(self, running: Mapping[int, Pair], now_s: float) -> bool:
        """Pass the packets that have left the network to the endpoints; return whether there were any."""
        is_any = False
        while (packet := self.poll()) is not None:
            is_any = True
            started = running.get(packet.flow)
            if packet.dropped is None and started is not None:
                endpoint = started.end(at_ue=packet.to_ue)
                endpoint.receive(now_s - started.start_s, packet.data, packet.ecn)
                self._transmit(packet.flow, started, now_s - started.start_s, at_ue=packet.to_ue)
                # Time series have the goodput of each interval.
                received = endpoint.received_bytes
                if received != self._received.get((packet.flow, packet.to_ue), 0):
                    self._received[packet.flow, packet.to_ue] = received
                    self._report_end(packet.flow, endpoint, at_ue=packet.to_ue)
        return is_any

    def _report(self, flow: int, pair: Pair) -> None:
        for at_ue in (True, False):
            self._report_end(flow, pair.end(at_ue=at_ue), at_ue=at_ue)

    def _report_end(self, flow: int, endpoint: Endpoint, *, at_ue: bool) -> None:
        received, repeated = endpoint.received_bytes, endpoint.retransmissions
        try:
            self._native.report(flow, at_ue, received, repeated)
        except (TypeError, OverflowError):
            name = type(endpoint).__name__
            _REPORTED.check(f"{name}.received_bytes", received)
            _REPORTED.check(f"{name}.retransmissions", repeated)
            raise

    def _transmit(self, flow: int, pair: Pair, own_s: float, *, at_ue: bool) -> None:
        """Send what an endpoint has at a time of its own clock."""
        endpoint = pair.end(at_ue=at_ue)
        name = type(endpoint).__name__
        sent = endpoint.transmit(own_s)
        if not isinstance(sent, Iterable):
            raise InputError(f"{name}.transmit returned {type(sent).__name__} instead of a list of datagrams")
        for count, datagram in enumerate(sent):
            if count == MAX_CALLS:
                raise InputError(f"at {self.time_s:g} s {name}.transmit {_STUCK}")
            try:
                data, ecn = datagram if isinstance(datagram, tuple) else (datagram, 0)
                self.send(flow, data, from_ue=at_ue, ecn=ecn)
            except InputError as error:
                raise InputError(f"{name}.transmit: {error}") from None
            except ValueError:
                raise InputError(
                    f"{name}.transmit: expected bytes and an ECN field, found {datagram!r}"
                ) from None
        if self._log is not None:
            self.log(flow, endpoint.qlog(), from_ue=at_ue)

    def finish(self) -> "Run":
        """End the path at its present and return its results.

        Returns
        -------
        Run
            Results from the beginning to the present, as of a run.

        Raises
        ------
        InputError
            If it is finished already.
        OSError
            If the qlog cannot be written.
        """
        from airwnd.scenario.run import Run

        if self._log is not None:
            self._poll_the_last()
        raw = self.finish_raw()
        tables = dict(raw.tables)
        radio = [(name, tables.pop(name)) for name in RADIO if name in tables]
        run = Run.of(self.scenario.resolved, replace(raw, tables=tables))
        if self._log is not None:
            self._log.traced(radio)
            self._log.write(run)
        return run

    def finish_raw(self) -> "Raw":
        """End the path as :meth:`finish` does, but build no frames and write no qlog.

        Returns
        -------
        airwnd.results.raw.Raw
            The results.

        Raises
        ------
        InputError
            If it is finished already.
        """
        from airwnd.results.engine import end

        return end(self._native, self._began)

    def _poll_the_last(self) -> None:
        """Log the packets that leave the network at the present, the last instant of the results."""
        # Rounding up to nanoseconds must not lead past the present.
        now_s = math.nextafter(self.time_s, 0)
        self.advance(now_s)
        while self.poll() is not None:
            self.advance(now_s)

    def __repr__(self) -> str:
        return f"<Path of {self.scenario}, seed {self.seed}>"


def _explain(kinds: Mapping[str, Kind], **arguments: object) -> None:
    """Raise an ``InputError`` for the first argument that is not of its kind."""
    for name, value in arguments.items():
        kinds[name].check(name, value)


def _due_s(endpoint: Endpoint) -> float | None:
    """Return the time of an endpoint's timer."""
    due_s: object = endpoint.timeout()
    if due_s is None or (isinstance(due_s, int | float) and not math.isnan(due_s)):
        return due_s
    raise InputError(f"{type(endpoint).__name__}.timeout returned {due_s!r} instead of seconds or None")


def _first_s(
    timers: Sequence[tuple[float, float, int, bool]],
    running: Mapping[int, Pair],
    waiting: Sequence[Pair],
) -> float:
    """Return the time of the first timer, end or begin of a pair; the last one waiting is the next."""
    stops_s = (started.stop_s for started in running.values())
    first_s = min(stops_s, default=math.inf)
    if timers:
        first_s = min(first_s, min(timers)[0])
    return min(first_s, waiting[-1].start_s) if waiting else first_s
