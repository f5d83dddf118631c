"""A qlog of a network and of the transports at its ends, on one clock.

The file is the contained JSON of draft-ietf-quic-qlog-main-schema (as of July 2026), with a trace of the
network and one of each end of a flow that logs. A sequence of JSON texts could be written at once, but has
one vantage point only, by which viewers distinguish client and server. qvis selects its reader by
``qlog_version`` and ``qlog_format`` of earlier drafts, so the file has both headers.
"""

import heapq
import os
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from airwnd.scenario.packet import Packet
from airwnd.support.errors import InputError
from airwnd.support.files import check_file, write_atomically

if TYPE_CHECKING:
    import polars as pl

    from airwnd.results.raw import Columns
    from airwnd.results.run import RunData

SCHEMA = "https://github.com/airwnd/airwnd/112026/qlog"
"""Identifier of the events ``airwnd:``, which ``docs/how-to/test-your-transport.md`` describes."""

ECN = ("Not-ECT", "ECT(1)", "ECT(0)", "CE")
"""ECN field in the words of draft-ietf-quic-qlog-quic-events, by its value."""

_DIRECTIONS = {"down": "downlink", "up": "uplink"}
# Event schemas by namespace: of the present drafts, and of the categories of qlog 0.3.
_SCHEMAS = {
    **{name: name for name in ("quic", "http3", "loglevel", "simulation")},
    **dict.fromkeys(("connectivity", "security", "transport", "recovery"), "quic"),
    **dict.fromkeys(("http", "qpack"), "http3"),
}
# Fields of events that say when; all times of the file have the same meaning.
_TIMES = ("time", "time_format", "reference_time")
_HEAD = {
    "file_schema": "urn:ietf:params:qlog:file:contained",
    "serialization_format": "application/qlog+json",
    "qlog_version": "0.3",
    "qlog_format": "JSON",
}
# Times are relative to the epoch by default. qvis does not know that name of the format, but reads times so
# if it finds a reference time without a format.
_COMMON = {"reference_time": {"clock_type": "monotonic", "epoch": "unknown"}}

RADIO = {
    "radio_grants": "grant_sent",
    "radio_blocks": "block_sent",
    "radio_control": "control_sent",
    "radio_drx": "drx_changed",
    "radio_rrc": None,
}
"""Names of the events of a row, by table of the radio interface; ``None``: the row has it."""

Vantage = Literal["client", "server", "network"]
Event = Mapping[str, Any]


class Log:
    """The qlog of a path. Its events wait in temporary files, so that memory is bounded.

    Parameters
    ----------
    path
        The file; its name ends in ``.qlog`` or ``.json``.
    name
        Name of the scenario.
    details
        Details of the event ``simulation:scenario``.

    Raises
    ------
    InputError
        If the name has another ending, the path is a folder, or its folder is missing.
    OSError
        If the folder cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str], name: str, details: Event) -> None:
        self._path = Path(path)
        if self._path.suffix not in {".qlog", ".json"}:
            raise InputError(f"qlog: {self._path}: expected a name that ends in .qlog or .json, for viewers")
        check_file(self._path)
        self._name = name
        # Ids of the flows, and their UEs.
        self._flows: list[tuple[str, str]] = []
        # Names of the UEs with flows, by number.
        self._ues: dict[int, str] = {}
        self._radio: dict[str, _Trace] = {}
        self._sent = 0
        # Numbers and payloads of the datagrams inside the network, by flow, direction and time of departure.
        self._inside: dict[tuple[int, bool, float], list[tuple[int, bytes]]] = {}
        self._network = _Trace(self._path, f"network: {name}", "network")
        self._marks = _Trace(self._path, "marks", "network")
        self._ends: dict[tuple[int, bool], _Trace] = {}
        self._network.add(0.0, {"name": "simulation:scenario", "data": {"name": name, "details": details}})

    def opened(self, flow: str, ue: str, number: int) -> None:
        """Note the id of the next flow, and its UE with its number."""
        self._flows.append((flow, ue))
        self._ues.setdefault(number, ue)

    def traced(self, tables: "Iterable[tuple[str, Columns]]") -> None:
        """Log rows of the radio interface, which follow those of earlier calls."""
        for name, columns in tables:
            trace = self._radio.get(name)
            if trace is None:
                trace = self._radio[name] = _Trace(self._path, name, "network")
            for row in _of_ues(columns, self._ues):
                kind = RADIO[name] or row.pop("event")
                trace.add(_ms(row.pop("time_s")), _event(kind, row))

    def sent(self, now_s: float, flow: int, data: bytes, ecn: int, *, to_ue: bool) -> None:
        """Log a datagram that enters the network."""
        self._inside.setdefault((flow, to_ue, now_s), []).append((self._sent, data))
        about = self._about(self._sent, flow, data, ecn, to_ue=to_ue)
        self._network.add(_ms(now_s), _event("datagram_sent", about))
        self._sent += 1

    def left(self, packet: Packet) -> None:
        """Log a datagram that leaves the network."""
        number = self._number(packet)
        about = self._about(number, packet.flow, packet.data, packet.ecn, to_ue=packet.to_ue)
        if packet.dropped is None:
            about["delay_ms"] = _ms(packet.time_s - packet.sent_s)
        else:
            about["trigger"] = packet.dropped
        if packet.marked_s is not None:
            mark = self._about(number, packet.flow, packet.data, packet.ecn, to_ue=packet.to_ue)
            self._marks.add(_ms(packet.marked_s), _event("datagram_marked", mark))
        kind = "delivered" if packet.dropped is None else "dropped"
        self._network.add(_ms(packet.time_s), _event(f"datagram_{kind}", about))

    def add(self, now_s: float, flow: int, events: Iterable[Event], *, at_ue: bool, own_times: bool) -> None:
        """Log events of a stack; :meth:`airwnd.Path.log` documents the arguments."""
        for event in events:
            _check(event)
            trace = self._ends.get((flow, at_ue)) or self._open(flow, at_ue=at_ue)
            trace.add(_own_time(event, trace.last_ms, _ms(now_s)) if own_times else _ms(now_s), event)

    def write(self, run: "RunData") -> None:
        """Write the file, with the events and samples of the owner's flows in a run."""
        ids = {flow for flow, _ in self._flows}
        # RRC's events are also those of the flows.
        incidents = () if self._radio else _incidents(run, ids)
        radio = (self._radio[name].lines() for name in RADIO if name in self._radio)
        packets = (self._network.lines(), self._marks.sorted_lines())
        network = heapq.merge(incidents, *radio, *packets, _samples(run, ids), key=_time)
        ends = [self._ends[key] for key in sorted(self._ends, key=lambda key: (key[0], not key[1]))]
        traces = [(self._network, network), *((end, end.lines()) for end in ends)]
        head = msgspec.json.encode({**_HEAD, "title": self._name})
        write_atomically(self._path, _contents(head, traces))
        for trace in (*(trace for trace, _ in traces), self._marks, *self._radio.values()):
            trace.close()

    def _open(self, flow: int, *, at_ue: bool) -> "_Trace":
        name, ue = self._flows[flow]
        vantage: Vantage = "client" if at_ue else "server"
        place = ue if at_ue else "server"
        trace = self._ends[flow, at_ue] = _Trace(self._path, f"{name}: {place}", vantage)
        return trace

    def _about(self, number: int | None, flow: int, data: bytes, ecn: int, *, to_ue: bool) -> dict[str, Any]:
        return {
            **({} if number is None else {"datagram": number}),
            "flow": self._flows[flow][0],
            "direction": "downlink" if to_ue else "uplink",
            "raw": {"payload_length": len(data)},
            "ecn": ECN[ecn],
        }

    def _number(self, packet: Packet) -> int | None:
        """Return the number of a datagram that leaves; ``None``: a link has made a copy of it."""
        key = packet.flow, packet.to_ue, packet.sent_s
        waiting = self._inside.get(key, [])
        # Datagrams of an instant may leave in another order: a drop is known at once.
        for place, (number, data) in enumerate(waiting):
            if data == packet.data:
                del waiting[place]
                if not waiting:
                    del self._inside[key]
                return number
        return None


class _Trace:
    """A trace, whose events wait in a file without a name."""

    def __init__(self, beside: Path, title: str, vantage: Vantage) -> None:
        self._title = title
        self._vantage = vantage
        self._schemas: set[str] = set()
        self._events = tempfile.TemporaryFile(dir=beside.parent)  # noqa: SIM115 (closed below)
        self.close = weakref.finalize(self, self._events.close)
        self.last_ms = 0.0

    def add(self, time_ms: float, event: Event) -> None:
        namespace = event["name"].partition(":")[0]
        if namespace in _SCHEMAS:
            self._schemas.add(f"urn:ietf:params:qlog:events:{_SCHEMAS[namespace]}")
        self._events.write(_line(time_ms, event) + b"\n")
        self.last_ms = time_ms

    def lines(self) -> Iterator[bytes]:
        self._events.seek(0)
        return (line.rstrip(b"\n") for line in self._events)

    def sorted_lines(self) -> Iterator[bytes]:
        """Return the events in chronological order; memory holds only their times and places."""
        self._events.seek(0)
        found, place = [], 0
        for line in self._events:
            found.append((_time(line), place))
            place += len(line)
        for _, place in sorted(found):
            self._events.seek(place)
            yield self._events.readline().rstrip(b"\n")

    def head(self) -> bytes:
        """Return the trace without its events, as JSON."""
        return msgspec.json.encode(
            {
                "title": self._title,
                "vantage_point": {"type": self._vantage}
                | ({"flow": "client"} if self._vantage == "network" else {}),
                "common_fields": _COMMON,
                "event_schemas": [SCHEMA, *sorted(self._schemas)],
            }
        )


def _event(kind: str, data: Event) -> Event:
    return {"name": f"airwnd:{kind}", "data": data}


def _line(time_ms: float, event: Event) -> bytes:
    fields = {key: value for key, value in event.items() if key not in _TIMES}
    try:
        return msgspec.json.encode({"time": time_ms, **fields})
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InputError(f"qlog: event {event['name']}: {error}") from None


def _time(line: bytes) -> float:
    """Return the time of an event, which `_line` has put first."""
    return float(line[line.index(b":") + 1 : line.index(b",")])


def _ms(time_s: float) -> float:
    """Convert seconds to milliseconds, exact to the nanosecond."""
    return round(time_s * 1e3, 6)


def _check(event: Event) -> None:
    match event:
        case {"name": str(), "data": Mapping()}:
            return
    raise InputError("qlog: expected an event, a dictionary with a text `name` and a dictionary `data`")


def _own_time(event: Event, last_ms: float, now_ms: float) -> float:
    time_ms = event.get("time")
    if not isinstance(time_ms, int | float) or not last_ms <= time_ms <= now_ms:
        raise InputError(
            f"qlog: event {event['name']}: expected a time from {last_ms} ms, that of the event before, "
            f"to {now_ms} ms, the present; found {time_ms!r}"
        )
    return float(time_ms)


def _incidents(run: "RunData", flows: set[str]) -> Iterator[bytes]:
    """Return the handovers and failures of radio links of flows."""
    for row in _rows(run.events, flows):
        # Drops are events of their datagrams.
        if row["event"] != "drop":
            cell = {} if row["cell"] is None else {"cell": row["cell"]}
            yield _line(_ms(row["time_s"]), _event(row["event"], {"flow": row["flow"], **cell}))


def _of_ues(columns: "Columns", names: Mapping[int, str]) -> Iterator[dict[str, Any]]:
    """Return the rows of some UEs, which have their names, without columns that have no value."""
    from airwnd.results.frames import table_of

    table = table_of(columns)
    for row in table.filter(table["ue"].is_in(list(names))).iter_rows(named=True):
        found = {key: value for key, value in row.items() if value is not None}
        found["ue"] = names[row["ue"]]
        if "direction" in found:
            found["direction"] = _DIRECTIONS[found["direction"]]
        if "on_air_s" in found:
            found["on_air_ms"] = _ms(found.pop("on_air_s"))
        yield found


def _samples(run: "RunData", flows: set[str]) -> Iterator[bytes]:
    """Return the samples of the time series of flows."""
    for row in _rows(run.series, flows):
        time_s = row.pop("time_s")
        data = {key: value for key, value in row.items() if value is not None}
        yield _line(_ms(time_s), _event("sampled", data))


def _rows(table: "pl.DataFrame", flows: set[str]) -> Iterator[dict[str, Any]]:
    return (row for row in table.iter_rows(named=True) if row["flow"] in flows)


def _contents(head: bytes, traces: Iterable[tuple[_Trace, Iterable[bytes]]]) -> Iterator[bytes]:
    yield head.removesuffix(b"}") + b',"traces":['
    for number, (trace, lines) in enumerate(traces):
        yield (b",\n" if number else b"\n") + trace.head().removesuffix(b"}") + b',"events":['
        for place, line in enumerate(lines):
            yield (b",\n" if place else b"\n") + line
        yield b"]}"
    yield b"]}\n"
