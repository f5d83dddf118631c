"""Reports of a session: snapshots while it runs, and a summary at its end."""

import msgspec


class Packets(msgspec.Struct, frozen=True):
    """Packets since the start: ``in`` + ``copied`` = ``out`` + ``dropped`` + ``refused`` + ``inside``.

    Attributes
    ----------
    entered, left
        ``in`` and ``out``: packets that entered the network, and those written to the device at its other
        end.
    copied
        Copies that links with ``duplicate`` have made.
    dropped
        Packets dropped in the network, by cause.
    marked
        Packets out with a mark of congestion (CE) with which they did not enter.
    inside
        Packets inside the network.
    refused
        Packets that the device at the other end did not accept.
    malformed, unroutable
        Packets that did not enter: no IP packets, and packets to addresses of no UE.
    """

    entered: int = msgspec.field(name="in")
    left: int = msgspec.field(name="out")
    copied: int
    dropped: dict[str, int]
    marked: int
    inside: int
    refused: int
    malformed: int
    unroutable: int


class Ue(msgspec.Struct, frozen=True):
    """State of a real UE; rates and delays are means over the time since the previous snapshot."""

    ue: int
    name: str
    down_kbps: float
    up_kbps: float
    delay_down_ms: float | None
    delay_up_ms: float | None
    queue_bytes: int
    queue_packets: int
    mcs: float | None
    sinr_db: float | None
    cell: int | None
    dropped_down: int
    dropped_up: int


class Flow(msgspec.Struct, frozen=True):
    """A connection of a real UE."""

    id: str
    ue: int
    what: str
    down_kbps: float
    up_kbps: float
    rtt_ms: float | None
    cc: str | None = None
    cwnd_bytes: int | None = None


class Lateness(msgspec.Struct, frozen=True):
    """Lateness of departures since the start, in microseconds; all 0 without departures."""

    count: int
    p50: float
    p99: float
    max: float


class Snapshot(msgspec.Struct, frozen=True):
    """State of a session; `output` is what its commands have written, if it is captured."""

    t_s: float
    ues: list[Ue]
    flows: list[Flow]
    lateness_us: Lateness
    cpu_percent: float
    behind_ms: float
    packets: Packets
    output: str = ""


class Summary(msgspec.Struct, frozen=True):
    """Result of a session: exit codes in the order of the commands, accounting, timing.

    Attributes
    ----------
    began_ns
        Start of the session and its link traces, in nanoseconds of the host's clock since 1970.
    trace_ended
        Whether the session ended with a link trace that is not repeated.
    """

    began_ns: int
    duration_s: float
    exit_codes: list[int]
    server_exit: int | None
    trace_ended: bool
    packets: Packets
    unaccounted: int
    lateness_us: Lateness
    late_packets: int
    late: bool
    behind_ms_max: float
    cpu_percent: float
    tun_dropped: dict[str, int]
    pasta: bool
    realtime: str
    memory_locked: bool

    @property
    def exit_code(self) -> int:
        """The first exit code that is not 0; 0 if the session has ended the commands, with a link trace."""
        return 0 if self.trace_ended else next(filter(None, self.exit_codes), 0)


def snapshot_of(text: str) -> Snapshot:
    """Decode a snapshot."""
    return msgspec.json.decode(text, type=Snapshot)


def summary_of(text: str) -> Summary:
    """Decode a summary."""
    return msgspec.json.decode(text, type=Summary)
