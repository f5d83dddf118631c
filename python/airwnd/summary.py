"""A run on the terminal."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table

from airwnd.columns import tables
from airwnd.reach import OUT_OF_REACH, complaints
from airwnd.run_data import RunData

if TYPE_CHECKING:
    import polars as pl

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
    drops = ", ".join(f"{cause} {count:,}" for cause, count in run.drops.items() if count)
    console.print(f"drops: {drops or 'none'}")
    for line in complaints(run.outcome["ues"], run.scenario):
        console.print(f"[yellow]{line}[/]", soft_wrap=True)
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


def show_links(budgets: "pl.DataFrame") -> None:
    """Print what the links of a scenario's terminals allow."""
    console = Console(highlight=False)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("\nue")
    for head in (
        "\neast\nm", "\nnorth\nm", "\ncell\n", "\nRSRP\ndBm",
        "down\nSINR\ndB", "\nCQI\n",
        "up, all\nPRBs\ndB", "up,\nnarrow\ndB", "\nPRBs\n", "\nMCS\n",
    ):  # fmt: skip
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("\nout of\nreach", no_wrap=True)
    for ue in budgets.iter_rows(named=True):
        directions = [way for way in ("downlink", "uplink") if ue[f"{way}_reach"] == OUT_OF_REACH]
        table.add_row(
            str(ue["ue"]),
            *(_number(ue[key], 0) for key in ("x_m", "y_m", "cell")),
            *(_number(ue[key], 1) for key in ("rsrp_dbm", "downlink_full_load_sinr_db")),
            str(ue["downlink_cqi"]),
            *(_number(ue[key], 1) for key in ("uplink_sinr_db", "uplink_narrow_sinr_db")),
            str(ue["uplink_narrow_prbs"]),
            str(ue["uplink_mcs"]) if ue["uplink_reach"] != OUT_OF_REACH else "–",
            ", ".join(directions),
        )
    console.print(table)


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
    _heads(
        table,
        "groups",
        {
            "flows": "flows",
            "goodput_kbps": "goodput",
            "delay_ms_mean": "delay",
            "delay_ms_p95": "p95",
            "completed": "done",
            "unfinished": "not\ndone",
            "fct_s_mean": "FCT",
            "fct_s_p50": "p50",
            "fct_s_p95": "p95",
            "fct_s_p99": "p99",
        },
    )
    for group in run.outcome["groups"]:
        table.add_row(
            group["group"],
            f"{group['flows']:,}",
            _number(group["goodput_kbps"], 1),
            _number(group["delay_ms_mean"], 2),
            _number(group["delay_ms_p95"], 2),
            *(f"{group[key]:,}" if _waits(group) else "–" for key in ("completed", "unfinished")),
            *(_number(group[f"fct_s_{key}"], 3) for key in ("mean", "p50", "p95", "p99")),
        )
    return table


def _flows(run: RunData) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for head in ("flow", "ue", "cc", "rwnd"):
        table.add_column(head)
    _heads(
        table,
        "flows",
        {
            "goodput_kbps": "goodput",
            "delay_ms_mean": "delay",
            "delay_ms_p95": "p95",
            "rtt_ms_mean": "RTT",
            "pdf_percent": "PDF",
            "retransmissions": "rtx",
        },
    )
    for flow in run.outcome["flows"][:_MOST_FLOWS]:
        table.add_row(
            *("–" if flow[key] is None else str(flow[key]) for key in ("id", "ue", "cc", "rwnd")),
            _number(flow["goodput_kbps"], 1),
            _number(flow["delay_ms_mean"], 2),
            _number(flow["delay_ms_p95"], 2),
            _number(flow["rtt_ms_mean"], 2),
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
            _number(link["queue_packets_mean"], 1),
            f"{link['queue_packets_max']:,}",
            *(
                f"{link[f'drops_{cause}']:,}"
                for cause in ("link_queue_full", "link_queue_early", "link_error")
            ),
            f"{link['marks']:,}",
        )
    return table


def _heads(table: Table, name: str, heads: Mapping[str, str]) -> None:
    """Add columns of numbers under these headings, with their units below."""
    columns = tables()[name].columns
    for column, head in heads.items():
        unit = columns[column].shown_unit
        table.add_column(f"{head}\n{unit}" if unit else head, justify="right", no_wrap=True)


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"
