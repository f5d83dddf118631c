"""Results of a battery: rows, table, and JSON object."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from airwnd.link.battery.plans import BATTERIES, idle_pings
from airwnd.text.terminal import Column, number, sheet

if TYPE_CHECKING:
    from rich.console import Console

#: Percentiles of the rows.
RANKS = (50, 95, 99)
_RTT, _DELAY, _LOAD = (tuple(f"{what}_ms_p{rank}" for rank in RANKS) for what in ("rtt", "delay", "load"))
#: Quantities of each kind of row; the first percentiles are those of `p50`, `p95` and `p99`.
QUANTITIES: Mapping[str, tuple[str, ...]] = {
    "download": ("goodput_kbps",),
    "upload": ("goodput_kbps",),
    "downloads": ("goodput_kbps",),
    "uploads": ("goodput_kbps",),
    "idle": (*_RTT, "loss_percent"),
    "ping": (*_RTT, "loss_percent"),
    "call": (*_DELAY, "loss_percent"),
    "page": (*_LOAD, "loads", "failed"),
}


@dataclass(frozen=True, slots=True)
class Transfer:
    """A TCP transfer.

    Attributes
    ----------
    name
        Its name in table and picture.
    kind
        ``"download"`` or ``"upload"``.
    points
        Times since the start of the load in seconds, and payload until then in bytes.
    """

    name: str
    kind: str
    points: Sequence[tuple[float, int]]

    def goodput_kbps(self) -> float:
        """Return the payload per time, from the request to the end of the battery."""
        seconds, payload_bytes = self.points[-1]
        return payload_bytes * 8e-3 / seconds if seconds else 0.0


@dataclass(frozen=True, slots=True)
class Delays:
    """RTTs of pings, or one-way delays of a call's datagrams.

    Attributes
    ----------
    name
        Its name in table and picture.
    kind
        ``"idle"`` and ``"ping"``: pings before the load and beside it; ``"call"``.
    sent
        Number of datagrams sent.
    samples
        Those that arrived: times of sending since the start of the load in seconds, delays in milliseconds.
    """

    name: str
    kind: str
    sent: int
    samples: Sequence[tuple[float, float]]

    def loss_percent(self) -> float | None:
        """Return the share of datagrams that did not arrive."""
        return 100 * (1 - len(self.samples) / self.sent) if self.sent else None


@dataclass(frozen=True, slots=True)
class Page:
    """A page load: begin since that of the load in seconds, and time in ms; ``None``: it failed."""

    start_s: float
    load_ms: float | None


@dataclass(frozen=True, slots=True)
class Results:
    """Results of a battery.

    Attributes
    ----------
    battery
        Its name.
    length_s
        Length of the load in seconds.
    congestion_control
        That of the kernel for its transfers; ``None``: it has none.
    transfers, delays, pages
        Results of its workloads.
    """

    battery: str
    length_s: float
    congestion_control: str | None = None
    transfers: Sequence[Transfer] = ()
    delays: Sequence[Delays] = ()
    pages: Sequence[Page] = field(default=())

    @classmethod
    def of(cls, battery: str, length_s: float, found: Mapping[str, Any]) -> "Results":
        """Read what the UE's end has measured."""
        tcp = found.get("tcp", {"congestion_control": None, "transfers": []})
        return cls(
            battery,
            length_s,
            tcp["congestion_control"],
            _transfers(tcp["transfers"]),
            [*_pings(found["ping"]), *_call(found.get("call", {}))],
            [Page(each["start_s"], each["load_ms"]) for each in found.get("pages", ())],
        )

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each transfer and direction, the pings, the call and the pages.

        Each has ``id``, ``kind`` and the :data:`QUANTITIES` of its kind; ``None``: nothing arrived.
        """
        rows = [_row(each.name, each.kind, [each.goodput_kbps()]) for each in self.transfers]
        rows += [
            _row(f"{kind}s", f"{kind}s", [sum(of_kind)])
            for kind in ("download", "upload")
            if (of_kind := [each.goodput_kbps() for each in self.transfers if each.kind == kind])
        ]
        for delays in self.delays:
            values = [delay for _, delay in delays.samples]
            rows.append(_row(delays.name, delays.kind, [*_percentiles(values), delays.loss_percent()]))
        if self.pages:
            times = [page.load_ms for page in self.pages if page.load_ms is not None]
            values_of_pages = [*_percentiles(times), len(times), len(self.pages) - len(times)]
            rows.append(_row("page", "page", values_of_pages))
        return rows

    def to_json(self) -> dict[str, Any]:
        """Return the object ``battery`` of ``--summary``: rows and what they are computed from."""
        return {
            "name": self.battery,
            "length_s": self.length_s,
            "congestion_control": self.congestion_control,
            "rows": self.rows(),
            "transfers": {each.name: [list(point) for point in each.points] for each in self.transfers},
            "delays": {
                each.name: {"sent": each.sent, "samples": [list(sample) for sample in each.samples]}
                for each in self.delays
            },
            "pages": [{"start_s": page.start_s, "load_ms": page.load_ms} for page in self.pages],
        }


def _row(name: str, kind: str, values: Iterable[float | None]) -> dict[str, Any]:
    return {"id": name, "kind": kind, **dict(zip(QUANTITIES[kind], values, strict=True))}


def _transfers(found: Sequence[Mapping[str, Any]]) -> list[Transfer]:
    kinds = [{"down": "download", "up": "upload"}[each["direction"]] for each in found]
    transfers = []
    for place, (kind, each) in enumerate(zip(kinds, found, strict=True)):
        name = f"{kind} {kinds[: place + 1].count(kind)}" if kinds.count(kind) > 1 else kind
        transfers.append(Transfer(name, kind, [(time_s, size) for time_s, size in each["points"]]))
    return transfers


def _pings(found: Mapping[str, Any]) -> list[Delays]:
    """Divide the pings into those before the load and those beside it."""
    before = min(idle_pings(), found["sent"])
    samples = found["samples"]
    idle = [(time_s, rtt_ms) for place, time_s, rtt_ms in samples if place < before]
    loaded = [(time_s, rtt_ms) for place, time_s, rtt_ms in samples if place >= before]
    return [Delays("idle ping", "idle", before, idle), Delays("ping", "ping", found["sent"] - before, loaded)]


def _call(found: Mapping[str, Any]) -> list[Delays]:
    return [
        Delays(f"call {way}", "call", each["sent"], [(time_s, delay) for _, time_s, delay in each["samples"]])
        for way, each in found.items()
    ]


def _percentiles(values: Sequence[float]) -> list[float | None]:
    ordered = sorted(values)
    return [percentile(ordered, rank) for rank in RANKS]


def percentile(ordered: Sequence[float], percent: float) -> float | None:
    """Return a percentile by the nearest rank; ``None``: there are no values.

    Examples
    --------
    >>> percentile([1.0, 2.0, 3.0, 4.0], 50), percentile([1.0, 2.0, 3.0, 4.0], 95), percentile([], 50)
    (2.0, 4.0, None)
    """
    return ordered[max(math.ceil(len(ordered) * percent / 100), 1) - 1] if ordered else None


def show(results: Results, out: "Console") -> None:
    """Print the table of a battery."""
    transfers = f", {results.congestion_control}" if results.congestion_control else ""
    out.print(f"{results.battery}: {BATTERIES[results.battery].about}; {results.length_s:g} s{transfers}")
    # The sum of a single transfer is its own row.
    names = {each.name for each in results.transfers}
    rows = [row for row in results.rows() if row["id"] in names or row["id"].removesuffix("s") not in names]

    def column(head: str, unit: str, keys: Sequence[str], digits: int, scale: float = 1) -> Column:
        values = (next((row[key] for key in keys if row.get(key) is not None), None) for row in rows)
        cells = [number(None if value is None else value * scale, digits) for value in values]
        return Column(head, cells, unit)

    columns = [
        Column("workload", [row["id"] for row in rows], is_name=True),
        column("goodput", "Mbit/s", ["goodput_kbps"], 2, 1e-3),
        *(column(f"p{rank}", "ms", keys, 1) for rank, *keys in zip(RANKS, _RTT, _DELAY, _LOAD, strict=True)),
        column("lost", "%", ["loss_percent"], 2),
    ]
    if results.pages:
        columns += [column("loads", "", ["loads"], 0), column("failed", "", ["failed"], 0)]
    sheet(columns, out)
    out.print(_LEGEND, soft_wrap=True)


_LEGEND = "ping: RTT; call: one-way delay; page: load time; percentiles by nearest rank"
