"""Summary of a run for the terminal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airwnd.results.headline import algorithms, headline, overall
from airwnd.results.marking import marking_warnings
from airwnd.results.reach import OUT_OF_REACH, reach_warnings, unreached_ways
from airwnd.results.run import RunData
from airwnd.results.undelivered import reasons
from airwnd.text.terminal import Column, console, number, plain, print_wrapped, sheet, stacked
from airwnd.vocabulary.columns import tables

if TYPE_CHECKING:
    import polars as pl

_MAX_FLOWS = 20
_MAX_LINKS = 20
# Speed in times real time from which it is a whole number; below, 0 and 1 would say little.
_FAST = 10
# Links that exist without being declared in the scenario.
_CORE = ("server", "s1u", "x2")
_LEGEND = (
    "delay: one-way, from the sender's IP layer to the receiver's. PDF: packet delivery fraction, packets "
    "received of those sent; packets still in flight at the end count as not received."
)

_Row = Mapping[str, Any]


def show(run: RunData) -> None:
    """Print configuration, totals, groups of flows if they add information, and the first flows and links."""
    out = console()
    totals, outcome = run.totals, run.outcome
    flows, groups = outcome["flows"], outcome["groups"]
    print_wrapped(f"{plain(outcome['scenario'])}, seed {run.seed}", out, "bold")
    for line in headline(run.scenario, groups):
        print_wrapped(line, out)
    print_wrapped(_effort(run), out)
    shown = ("throughput_kbps", "delay_ms_mean", "pdf_percent", "jain")
    print_wrapped(overall(run.scenario, totals, groups, *shown), out)
    drops = ", ".join(f"{cause} {count:,}" for cause, count in run.drops.items() if count)
    print_wrapped(f"drops: {drops or 'none'}", out)
    handovers, failures = (
        sum(ue[column] or 0 for ue in outcome["ues"]) for column in ("handovers", "link_failures")
    )
    if handovers or failures:
        print_wrapped(f"handovers: {handovers:,}, radio link failures: {failures:,}", out)
    warnings = (*reach_warnings(outcome["ues"], run.scenario), *marking_warnings(run.scenario))
    for line in (*warnings, *reasons(outcome, run.scenario)):
        print_wrapped(line, out, "yellow")
    if len(flows) > _MAX_FLOWS or any(_completes(group) for group in groups):
        sheet(_groups(groups), out)
    if flows:
        sheet(_flows(flows[:_MAX_FLOWS], groups), out)
    else:
        print_wrapped("no flow began before the end of the run", out, "yellow")
    if len(flows) > _MAX_FLOWS:
        print_wrapped(f"and {len(flows) - _MAX_FLOWS:,} more flows; --json or --out have all\n", out)
    links = [row for row in outcome["links"] if row["link"] not in _CORE]
    if links:
        sheet(_links(links[:_MAX_LINKS]), out)
    if len(links) > _MAX_LINKS:
        print_wrapped(f"and {len(links) - _MAX_LINKS:,} more rows of links; --json or --out have all\n", out)
    print_wrapped(_LEGEND, out, "dim")


def show_links(budgets: "pl.DataFrame") -> None:
    """Print the link budgets of a scenario's UEs."""
    sheet(_budgets(budgets.to_dicts()), console())


def _effort(run: RunData) -> str:
    head = f"{run.duration_s:g} s simulated, {run.outcome['events']:,} events"
    if not run.wall_s:
        return head
    speed = run.duration_s / run.wall_s
    times = f"{speed:,.0f}" if speed >= _FAST else f"{speed:.2g}"
    return f"{head}, in {run.wall_s:.2f} s: {times} times real time"


def _completes(group: _Row) -> bool:
    """Return whether a group has transfers or pages, which have completion times."""
    return bool(group["completed"] or group["unfinished"])


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows of a table of a run, and the columns made of them."""

    table: str
    rows: Sequence[_Row]

    def words(self, *keys: str) -> list[Column]:
        """Build columns of words."""
        columns = tables()[self.table].columns
        return [
            Column(
                columns[key].short,
                ["–" if row[key] is None else plain(str(row[key])) for row in self.rows],
                is_name=True,
            )
            for key in keys
        ]

    def numbers(self, *keys: str) -> list[Column]:
        """Build columns of numbers, with the heading, unit, decimals and rank of each."""
        columns = tables()[self.table].columns
        return [
            Column(
                stacked(columns[key].short),
                [number(row[key], columns[key].digits) for row in self.rows],
                columns[key].shown_unit,
                rank=columns[key].rank,
                key=key,
            )
            for key in keys
        ]

    def differing(self, groups: Sequence[_Row]) -> list[Column]:
        """Build columns of the algorithms that differ between groups; the headline names the others."""
        return self.words(*(key for key in ("cc", "rwnd") if len(algorithms(groups, key)) > 1))


def _groups(groups: Sequence[_Row]) -> list[Column]:
    every = _Rows("groups", groups)
    columns = [
        *every.words("group"),
        *every.differing(groups),
        *every.numbers("flows", "goodput_kbps", "delay_ms_mean", "delay_ms_p95"),
    ]
    if any(_completes(group) for group in groups):
        without = {"completed": None, "unfinished": None}
        completing = _Rows(
            "groups", [group if _completes(group) else {**group, **without} for group in groups]
        )
        columns += [
            *completing.numbers("completed", "unfinished"),
            *every.numbers("fct_s_mean", "fct_s_p50", "fct_s_p95", "fct_s_p99"),
        ]
    return columns


def _flows(flows: Sequence[_Row], groups: Sequence[_Row]) -> list[Column]:
    every = _Rows("flows", flows)
    return [
        *every.words("id"),
        *every.numbers("ue"),
        *every.differing(groups),
        *every.numbers("goodput_kbps", "delay_ms_mean", "delay_ms_p95"),
        *every.numbers("rtt_ms_mean", "pdf_percent", "retransmissions"),
    ]


def _links(links: Sequence[_Row]) -> list[Column]:
    every = _Rows("links", links)
    owners = [row["of"] for row in links]
    optional = ("drops_link_policed", "drops_retry_limit", "copies", "marks")
    return [
        *every.words("link"),
        *([Column("of", [plain(owner or "all") for owner in owners], is_name=True)] if any(owners) else []),
        *every.words("direction"),
        *every.numbers("packets", "utilisation", "queue_packets_mean", "queue_packets_max"),
        *every.numbers("drops_link_queue_full", "drops_link_queue_early", "drops_link_error"),
        *every.numbers(*(key for key in optional if any(row[key] for row in links))),
    ]


def _budgets(ues: Sequence[_Row]) -> list[Column]:
    every = _Rows("ues", ues)
    full_load = [number(ue["downlink_full_load_sinr_db"], 1) for ue in ues]
    cqi = [number(ue["downlink_cqi"]) for ue in ues]
    reached = [{**ue, "uplink_mcs": None} if ue["uplink_reach"] == OUT_OF_REACH else ue for ue in ues]
    unreached = [", ".join(unreached_ways(ue)) for ue in ues]
    return [
        *every.numbers("ue", "x_m", "y_m", "cell", "rsrp_dbm"),
        Column("down\nSINR", full_load, "dB"),
        Column("down\nCQI", cqi, rank=1, key="downlink_cqi"),
        *every.numbers("uplink_sinr_db", "uplink_narrow_sinr_db", "uplink_narrow_prbs"),
        *_Rows("ues", reached).numbers("uplink_mcs"),
        *([Column("out of\nreach", unreached, is_name=True)] if any(unreached) else []),
    ]
