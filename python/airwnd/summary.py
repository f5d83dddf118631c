"""A run on the terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from airwnd.run_data import RunData

_MOST_FLOWS = 20
_MOST_LINKS = 20


def show(run: RunData) -> None:
    """Print the totals, the groups of flows if they say more, the first flows and links of the scenario."""
    console = Console(highlight=False)
    totals = run.totals
    console.print(f"[bold]{run.outcome['scenario']}[/], seed {run.seed}")
    console.print(_effort(run))
    console.print(
        f"throughput {_number(totals['throughput_kbps'], 1)} kbit/s, "
        f"delay {_number(totals['delay_ms'], 2)} ms, "
        f"PDF {_number(totals['pdf_percent'], 2)} %, "
        f"Jain {_number(totals['jain'], 4)}"
    )
    drops = ", ".join(f"{cause} {count:,}" for cause, count in totals["drops"].items() if count)
    console.print(f"drops: {drops or 'none'}")
    if len(run.outcome["flows"]) > _MOST_FLOWS or any(_waits(group) for group in run.outcome["groups"]):
        console.print(_groups(run))
    console.print(_flows(run))
    hidden = len(run.outcome["flows"]) - _MOST_FLOWS
    if hidden > 0:
        console.print(f"and {hidden} more flows; --json or --out have all")
    links = [row for row in run.outcome["links"] if row["link"] not in ("server", "s1u")]
    if links:
        console.print(_links(links[:_MOST_LINKS]))
    if len(links) > _MOST_LINKS:
        console.print(f"and {len(links) - _MOST_LINKS} more rows of links; --json or --out have all")


def _effort(run: RunData) -> str:
    head = f"{run.duration_s:g} s simulated, {run.outcome['events']:,} events"
    return (
        f"{head}, in {run.wall_s:.2f} s: {run.duration_s / run.wall_s:,.0f} times real time"
        if run.wall_s
        else head
    )


def _waits(group: Mapping[str, Any]) -> bool:
    """Tell whether somebody waited for anything of a group."""
    return bool(group["completed"] or group["unfinished"])


def _groups(run: RunData) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("group")
    heads = ("flows", "goodput\nkbit/s", "delay\nms", "p95\nms", "done", "not\ndone")
    for head in (*heads, "FCT\ns", "p50\ns", "p95\ns", "p99\ns"):
        table.add_column(head, justify="right", no_wrap=True)
    for group in run.outcome["groups"]:
        times = group["fct_s"]
        table.add_row(
            group["group"],
            f"{group['flows']:,}",
            _number(group["goodput_kbps"], 1),
            _number(group["delay_ms"]["mean"], 2),
            _number(group["delay_ms"]["p95"], 2),
            *(f"{group[key]:,}" if _waits(group) else "–" for key in ("completed", "unfinished")),
            *(_number(times[key], 3) for key in ("mean", "p50", "p95", "p99")),
        )
    return table


def _flows(run: RunData) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for head in ("flow", "ue", "cc", "rwnd"):
        table.add_column(head)
    for head in ("goodput\nkbit/s", "delay\nms", "p95\nms", "RTT\nms", "PDF\n%", "rtx"):
        table.add_column(head, justify="right", no_wrap=True)
    for flow in run.outcome["flows"][:_MOST_FLOWS]:
        table.add_row(
            *("–" if flow[key] is None else str(flow[key]) for key in ("id", "ue", "cc", "rwnd")),
            _number(flow["goodput_kbps"], 1),
            _number(flow["delay_ms"]["mean"], 2),
            _number(flow["delay_ms"]["p95"], 2),
            _number(flow["rtt_ms"]["mean"], 2),
            _number(flow["pdf_percent"], 2),
            str(flow["retransmissions"]),
        )
    return table


def _links(links: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for head in ("link", "of", "direction"):
        table.add_column(head)
    for head in ("packets", "use\n%", "queue\nmean", "queue\nmax", "full", "early", "lost", "marks"):
        table.add_column(head, justify="right", no_wrap=True)
    for link in links:
        use = link["utilisation"]
        table.add_row(
            link["link"],
            link["of"] or "all",
            link["direction"],
            f"{link['packets']:,}",
            _number(None if use is None else 100 * use, 1),
            _number(link["queue_packets"]["mean"], 1),
            f"{link['queue_packets']['max']:,}",
            *(f"{link['drops'][cause]:,}" for cause in ("link_queue_full", "link_queue_early", "link_error")),
            f"{link['marks']:,}",
        )
    return table


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"
