"""``airwnd run --seeds``: summary of a scenario over several seeds."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from airwnd.cli.options import bar, batch_bar
from airwnd.results.headline import headline
from airwnd.study.reproduce.statistics import MIN_SEEDS
from airwnd.study.seeds import estimates, is_random, nested
from airwnd.text.quantities import counted, seconds_text
from airwnd.text.terminal import Column, console, number, plain, print_wrapped, sheet
from airwnd.vocabulary.columns import tables

if TYPE_CHECKING:
    from rich.console import Console

    from airwnd.scenario.scenario import Scenario

_MAX_FLOWS = 20
_TOTALS = {
    "throughput_kbps": 1,
    "goodput_kbps": 1,
    "delay_ms": 2,
    "delay_ms_p95": 2,
    "pdf_percent": 2,
    "jain": 4,
}
_COUNTS = ("retransmissions", "timeouts")
# Columns of groups and flows: heading, digits, and rank (a narrow terminal drops the highest rank first).
_ROWS = (
    ("goodput_kbps", "goodput", 1, 0),
    ("delay_ms_mean", "delay", 2, 1),
    ("delay_ms_p95", "delay\np95", 2, 3),
    ("fct_s_mean", "FCT", 3, 2),
    ("pdf_percent", "PDF", 2, 4),
)

Figures = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Pool:
    """The means of several runs, as for :func:`airwnd.run_many`."""

    jobs: int | None
    threads: int
    max_memory: str | None


def run_seeds(
    scenario: "Scenario",
    seeds: int,
    pool: Pool,
    progress: bool | None,
    out: Path | None,
    *,
    force: bool,
    as_json: bool,
) -> None:
    """Run a scenario with seeds 1 to `seeds`, print means with intervals, and write a data set to `out`."""
    outcomes: Sequence[Mapping[str, Any]]
    start = time.perf_counter()
    if out:
        from airwnd.study.batch import Processes
        from airwnd.study.sweeps import Design, carry_out

        design = Design(scenario, grid=(), random=(), seeds=seeds, sample_seed=1)
        with batch_bar(scenario.name, out / "runs", progress) as update:
            swept = carry_out(
                design, out, Processes(pool.jobs, pool.max_memory, pool.threads), update, force=force
            )
        outcomes = [stored.outcome for stored in swept.results]
    else:
        from airwnd.study.parallel import run_many

        with bar(scenario.name, progress) as update:
            runs = run_many(
                [(scenario, seed) for seed in range(1, seeds + 1)],
                pool.jobs,
                progress=update,
                max_memory=pool.max_memory,
                threads=pool.threads,
            )
        outcomes = [run.outcome for run in runs]
    elapsed_s = time.perf_counter() - start
    found = nested(estimates(outcomes))
    if as_json:
        each = [{"seed": outcome["seed"], "totals": outcome["totals"]} for outcome in outcomes]
        head = {"scenario": scenario.name, "seeds": seeds, "confidence": 0.95}
        click.echo(json.dumps({**head, **found, "runs": each}, allow_nan=False))
        return
    _show(scenario, outcomes, found, f"{outcomes[0]['duration_s']:g} s each, in {seconds_text(elapsed_s)}")
    if out:
        click.echo(f"data set: {out} (runs.parquet, flows.parquet, manifest.json)")


def _show(
    scenario: "Scenario", outcomes: Sequence[Mapping[str, Any]], found: Mapping[str, Any], effort: str
) -> None:
    out, seeds = console(), len(outcomes)
    print_wrapped(f"{plain(scenario.name)}, {f'seeds 1 to {seeds}' if seeds > 1 else 'seed 1'}", out, "bold")
    for line in headline(scenario.resolved, outcomes[0]["groups"]):
        print_wrapped(line, out)
    print_wrapped(f"{counted(seeds, 'run')} of {effort}", out)
    if seeds < MIN_SEEDS:
        print_wrapped(f"no confidence intervals: they need at least {MIN_SEEDS} seeds", out, "yellow")
    elif not is_random(outcomes):
        print_wrapped("every seed gave the same run: nothing in the scenario is random", out, "yellow")
    _show_totals(found["totals"], out)
    groups, flows = found["groups"], found["flows"]
    if groups:
        _show_rows("group", groups, out)
    if len(groups) < len(flows) <= _MAX_FLOWS:
        _show_rows("flow", flows, out)
    elif len(flows) > _MAX_FLOWS:
        print_wrapped(f"{len(flows):,} flows; --json has all\n", out)
    print_wrapped(
        "±: half of the 95 % confidence interval of the mean over the seeds (Student's t). delay: one-way. "
        "PDF: packet delivery fraction.",
        out,
        "dim",
    )


def _show_totals(totals: Mapping[str, Figures], out: "Console") -> None:
    columns = tables()["totals"].columns
    digits = {**_TOTALS, **{name: 1 for name in totals if name in _COUNTS or name.startswith("drops_")}}
    shown = {
        name: figures
        for name in digits
        if (figures := totals[name])["mean"] is not None and (name in _TOTALS or figures["mean"])
    }
    sheet(
        [
            Column("total", list(shown), is_name=True),
            Column("mean", [number(each["mean"], digits[name]) for name, each in shown.items()]),
            Column("±", [_half(each, digits[name]) for name, each in shown.items()]),
            Column("unit", [columns[name].shown_unit or "–" for name in shown], is_name=True),
        ],
        out,
    )


def _show_rows(key: str, rows: Sequence[Figures], out: "Console") -> None:
    name = "id" if key == "flow" else key
    units = tables()[f"{key}s"].columns
    columns = [Column(key, [plain(row[name]) for row in rows], is_name=True)]
    for column, head, digits, rank in _ROWS:
        if column not in units or all(row[column]["mean"] is None for row in rows):
            continue
        figures = [row[column] for row in rows]
        columns += [
            Column(
                head,
                [number(each["mean"], digits) for each in figures],
                units[column].shown_unit,
                rank=rank,
                key=column,
            ),
            Column("±", [_half(each, digits) for each in figures], rank=rank, key=f"{column} ±"),
        ]
    sheet(columns, out)


def _half(figures: Figures, digits: int) -> str:
    low, high = figures["low"], figures["high"]
    return number(None if low is None else (high - low) / 2, digits)
