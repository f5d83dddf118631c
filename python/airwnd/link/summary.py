"""The summary of a session, for the terminal."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from airwnd.results.marking import marking_warnings
from airwnd.results.reach import reach_warnings
from airwnd.text.terminal import Column, number, plain, print_wrapped, sheet

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from airwnd.link.session import Finished
    from airwnd.link.snapshot import Snapshot, Summary, Ue

# Falling behind real time by more than this multiple of the lateness limit is reported: such a pause shifts
# many packets, not only the latest percent.
_BEHIND = 10


@dataclass(slots=True)
class Tally:
    """Means and maxima of a UE's state over the snapshots of a session."""

    name: str
    down_kbps: list[float] = field(default_factory=list)
    up_kbps: list[float] = field(default_factory=list)
    delay_down_ms: list[float] = field(default_factory=list)
    delay_up_ms: list[float] = field(default_factory=list)
    queue_bytes: list[float] = field(default_factory=list)
    dropped_down: int = 0
    dropped_up: int = 0

    def add(self, ue: "Ue") -> None:
        """Add a snapshot."""
        for key in ("down_kbps", "up_kbps", "delay_down_ms", "delay_up_ms", "queue_bytes"):
            value = getattr(ue, key)
            if value is not None:
                getattr(self, key).append(value)
        self.dropped_down, self.dropped_up = ue.dropped_down, ue.dropped_up


class Tallies:
    """The tallies of all real UEs."""

    def __init__(self) -> None:
        self._by_ue: dict[int, Tally] = {}

    def add(self, snapshot: "Snapshot") -> None:
        """Add a snapshot."""
        for ue in snapshot.ues:
            self._by_ue.setdefault(ue.ue, Tally(ue.name)).add(ue)

    def __iter__(self) -> "Iterator[Tally]":
        return iter(self._by_ue.values())


def show(finished: "Finished", tallies: Tallies, limit_us: float, out: "Console") -> None:
    """Print the summary of a session.

    Parameters
    ----------
    finished
        Results of the session.
    tallies
        Tallies of its UEs.
    limit_us
        Limit of the p99 lateness in microseconds.
    out
        Console, on standard error: standard output is that of the commands.
    """
    summary, run = finished.summary, finished.run
    head = f"{plain(run.outcome['scenario'])}, seed {run.seed}: {summary.duration_s:.1f} s in real time"
    print_wrapped(head, out, "bold")
    if rows := list(tallies):
        sheet(_ues(rows), out)
    for line in accounting(summary):
        print_wrapped(line, out)
    print_wrapped(timing(summary), out)
    show_warnings(finished, limit_us, out)


def show_warnings(finished: "Finished", limit_us: float, out: "Console") -> None:
    """Print in red what makes the session's results unreliable."""
    run = finished.run
    # With the controls of real sockets; flows of the scenario that real packets replace are left out.
    controls = ((row["group"], row["cc"]) for row in run.outcome["flows"])
    lines = (
        *reach_warnings(run.outcome["ues"], run.scenario),
        *warnings(finished.summary, limit_us),
        *marking_warnings(run.scenario, controls),
    )
    for line in lines:
        print_wrapped(line, out, "bold red")


def accounting(summary: "Summary") -> list[str]:
    """Return the lines that account for all packets."""
    packets = summary.packets
    dropped = sum(packets.dropped.values())
    causes = ", ".join(f"{cause} {count:,}" for cause, count in packets.dropped.items() if count)
    tun = ", ".join(f"{side} {count:,}" for side, count in summary.tun_dropped.items() if count)
    lines = [
        f"packets: {packets.entered:,} in"
        + (f" + {packets.copied:,} copied" if packets.copied else "")
        + f" = {packets.left:,} out + {dropped:,} dropped + "
        f"{packets.inside:,} inside" + (f" + {packets.refused:,} refused" if packets.refused else ""),
        f"drops: {causes or 'none'}; by the kernel before the link: {tun or 'none'}"
        + (f"; marked (CE): {packets.marked:,}" if packets.marked else ""),
    ]
    unsent = {
        "malformed": packets.malformed,
        "to addresses that no UE has, such as multicast": packets.unroutable,
    }
    if any(unsent.values()):
        lines.append("not sent: " + ", ".join(f"{count:,} {why}" for why, count in unsent.items() if count))
    return lines


def timing(summary: "Summary") -> str:
    """Return the line about lateness, CPU and clock."""
    late = summary.lateness_us
    return (
        f"lateness of {late.count:,} departures: p50 {time_text(late.p50)}, p99 {time_text(late.p99)}, "
        f"max {time_text(late.max)}; {summary.realtime}, "
        f"memory {'locked' if summary.memory_locked else 'not locked'}, {summary.cpu_percent:.0f} % of a core"
    )


def warnings(summary: "Summary", limit_us: float) -> list[str]:
    """Return what makes the session's results unreliable."""
    late, behind_us = summary.lateness_us, 1e3 * summary.behind_ms_max
    lines = []
    if summary.late:
        lines.append(
            f"late: {summary.late_packets:,} of {late.count:,} departures were later than the limit of "
            f"{time_text(limit_us)}, 1 % of all by more than {time_text(late.p99)}; delays are too high by "
            "as much"
        )
    if behind_us > _BEHIND * limit_us:
        lines.append(f"overloaded: the machine fell up to {time_text(behind_us)} behind real time")
    if summary.unaccounted:
        lines.append(f"{summary.unaccounted:,} packets are unaccounted for; please report it")
    if summary.pasta:
        lines.append(
            "through pasta, which ends TCP connections itself: this session measured pasta's TCP, not that "
            "of the other end"
        )
    if summary.server_exit is not None:
        lines.append(f"the server's command ended early, with exit code {summary.server_exit}")
    return lines


def time_text(us: float) -> str:
    """Format a time in microseconds.

    Examples
    --------
    >>> time_text(23.4), time_text(2345), time_text(1.5e6)
    ('23 µs', '2.35 ms', '1.50 s')
    """
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if us >= size:
            return f"{us / size:.2f} {unit}"
    return f"{us:.0f} µs"


def _ues(tallies: "Sequence[Tally]") -> list[Column]:
    def column(head: str, unit: str, cells: "Sequence[float | None]", digits: int = 0) -> Column:
        return Column(head, [number(cell, digits) for cell in cells], unit)

    return [
        Column("UE", [plain(each.name) for each in tallies], is_name=True),
        column("down", "kbit/s", [_mean(each.down_kbps) for each in tallies], 1),
        column("up", "kbit/s", [_mean(each.up_kbps) for each in tallies], 1),
        column("delay\ndown", "ms", [_mean(each.delay_down_ms) for each in tallies], 2),
        column("delay\nup", "ms", [_mean(each.delay_up_ms) for each in tallies], 2),
        column("queue\nmax", "kB", [max(each.queue_bytes, default=0) / 1e3 for each in tallies], 1),
        column("drops\ndown", "", [each.dropped_down for each in tallies]),
        column("drops\nup", "", [each.dropped_up for each in tallies]),
    ]


def _mean(values: "Sequence[float]") -> float | None:
    return sum(values) / len(values) if values else None
