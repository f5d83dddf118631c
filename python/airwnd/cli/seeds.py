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
from airwnd.study.seeds import estimates, is_random, nested
from airwnd.study.statistics import MIN_SEEDS
from airwnd.text.quantities import counted, seconds_text
from airwnd.text.terminal import Column, console, number, plain, print_wrapped, sheet, stacked
from airwnd.vocabulary.columns import tables

if TYPE_CHECKING:
    from rich.console import Console

    from airwnd.scenario.scenario import Scenario
    from airwnd.vocabulary.columns import Column as Declared

_MAX_FLOWS = 20
_TOTALS = ("throughput_kbps", "goodput_kbps", "delay_ms_mean", "delay_ms_p95", "pdf_percent", "jain")
_COUNTS = ("retransmissions", "timeouts")
_ROWS = ("goodput_kbps", "delay_ms_mean", "delay_ms_p95", "fct_s_mean", "pdf_percent")
# Decimals of the mean of a count.
_OF_COUNTS = 1

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
    series: str | None = None,
    *,
    force: bool,
    as_json: bool,
) -> None:
    """Run a scenario with seeds 1 to `seeds`, print means with intervals, and write a data set to `out`.

    `series` is the interval of its time series.
    """
    outcomes: Sequence[Mapping[str, Any]]
    start = time.perf_counter()
    if out:
        from airwnd.study.batch import Processes
        from airwnd.study.design import Design
        from airwnd.study.runner import sweep

        design = Design(scenario=scenario, seeds=seeds, series=series)
        with batch_bar(scenario.name, out / "runs", progress) as update:
            swept = sweep(
                design, out, Processes(pool.jobs, pool.max_memory, pool.threads), update, force=force
            )
        outcomes = [run.outcome for run in swept.runs()]
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
        recorded = "series, " if series else ""
        click.echo(f"data set: {out} (runs.parquet, flows.parquet, {recorded}manifest.json)")


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
    counts = [name for name in totals if name in _COUNTS or name.startswith("drops_")]
    digits = {name: _digits(columns[name]) for name in (*_TOTALS, *counts)}
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
    declared = tables()[f"{key}s"].columns
    columns = [Column(key, [plain(row[name]) for row in rows], is_name=True)]
    for column in (declared[each] for each in _ROWS if each in declared):
        figures = [row[column.name] for row in rows]
        if all(each["mean"] is None for each in figures):
            continue
        columns += [
            Column(
                stacked(column.short),
                [number(each["mean"], column.digits) for each in figures],
                column.shown_unit,
                rank=column.rank,
                key=column.name,
            ),
            Column(
                "±",
                [_half(each, column.digits) for each in figures],
                rank=column.rank,
                key=f"{column.name} ±",
            ),
        ]
    sheet(columns, out)


def _digits(column: "Declared") -> int:
    return _OF_COUNTS if column.type == "integer" else column.digits


def _half(figures: Figures, digits: int) -> str:
    low, high = figures["low"], figures["high"]
    return number(None if low is None else (high - low) / 2, digits)
