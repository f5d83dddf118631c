"""``airwnd run``, ``check`` and ``schema``."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from airwnd.cli.options import (
    FILE,
    JOBS,
    MAX_MEMORY,
    PROGRESS,
    SEED,
    SET,
    THREADS,
    bar,
    code_options,
    load,
    saved,
)
from airwnd.results.capture import MAX_BYTES, Capture
from airwnd.results.marking import marking_warnings
from airwnd.results.radio_trace import RadioTrace
from airwnd.support.errors import InputError
from airwnd.support.files import source_name

if TYPE_CHECKING:
    from airwnd.plugins.permission import CodePolicy


@click.command()
@FILE
@SET
@SEED
@click.option(
    "--seeds",
    type=click.IntRange(1),
    metavar="N",
    help="Run with seeds 1 to N in parallel; print means and 95 % confidence intervals.",
)
@click.option(
    "--out", type=click.Path(path_type=Path), help="Folder for manifest.json and the Parquet tables."
)
@click.option("--force", is_flag=True, help="Replace a different run in the --out folder.")
@click.option("--series", metavar="TIME", help="Record time series at this interval, as in 10ms.")
@click.option(
    "--pcap", type=click.Path(path_type=Path), help="Capture file: .pcapng, or .pcap for a single node."
)
@click.option(
    "--pcap-node",
    "nodes",
    multiple=True,
    metavar="NODE",
    help="Node to capture at: server (the default), gateway, enb-0, ue-0 and so on, or all; may be repeated.",
)
@click.option(
    "--pcap-snaplen",
    "snaplen",
    type=click.IntRange(0, MAX_BYTES),
    metavar="BYTES",
    help="Bytes kept of each packet, 0 for all; default: headers only.",
)
@click.option(
    "--pcap-layers",
    metavar="LAYER,...",
    help="Also capture the PDUs of these layers: mac, rlc; without --pcap-node no packets are captured.",
)
@click.option(
    "--allocations",
    metavar="FROM..TO",
    help="Record PRB allocations in this time window, as in 1s..1.1s.",
)
@click.option(
    "--radio-trace",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Folder for a trace of MAC, RLC, PDCP and RRC: a folder of Parquet files for each table.",
)
@click.option(
    "--radio-layers",
    metavar="LAYER,...",
    help="Layers of the trace: mac, rlc, pdcp, rrc; default: all.",
)
@click.option(
    "--radio-ue",
    "radio_ues",
    multiple=True,
    metavar="UE",
    help="UE of the trace: ue-0 and so on; default: all. May be repeated.",
)
@click.option(
    "--radio-window",
    metavar="FROM..TO",
    help="Time window of the trace, as in 2s..5s; default: the whole run.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@JOBS
@THREADS
@MAX_MEMORY
@code_options
@PROGRESS
def run(
    file: Path,
    settings: tuple[str, ...],
    seed: int | None,
    seeds: int | None,
    out: Path | None,
    force: bool,
    series: str | None,
    pcap: Path | None,
    nodes: tuple[str, ...],
    snaplen: int | None,
    pcap_layers: str | None,
    allocations: str | None,
    radio_trace: Path | None,
    radio_layers: str | None,
    radio_ues: tuple[str, ...],
    radio_window: str | None,
    as_json: bool,
    jobs: int | None,
    threads: int,
    max_memory: str | None,
    policy: "CodePolicy",
    progress: bool | None,
) -> None:
    """Simulate the scenario in FILE and print a summary; `-` is standard input."""
    if seeds is not None:
        single = {
            "--seed": seed,
            "--pcap": pcap,
            "--allocations": allocations,
            "--radio-trace": radio_trace,
        }
        if given := [option for option, value in single.items() if value is not None]:
            raise click.UsageError(
                f"{given[0]} applies to a single run, not to --seeds.", click.get_current_context()
            )
        if series is not None and out is None:
            raise click.UsageError("--series with --seeds requires --out.", click.get_current_context())
    elif jobs is not None:
        raise click.UsageError("--jobs requires --seeds.", click.get_current_context())
    if force and out is None:
        raise click.UsageError("--force requires --out.", click.get_current_context())
    window = None if allocations is None else _window("--allocations", allocations)
    capture = _capture(pcap, nodes, snaplen, pcap_layers)
    trace = _trace(radio_trace, radio_layers, radio_ues, radio_window)
    scenario = load(file, settings, policy)
    if seeds is not None:
        from airwnd.cli.seeds import Pool, run_seeds

        pool = Pool(jobs, threads, max_memory)
        run_seeds(scenario, seeds, pool, progress, out, series, force=force, as_json=as_json)
        return
    if out and out.suffix in {".csv", ".json", ".parquet"} and not out.exists():
        advice = f"`airwnd export FOLDER --format {out.suffix[1:]}` writes them"
        raise InputError(f"--out {out}: a run is a folder of tables; {advice}")
    if out:
        from airwnd.results import folder as run_folder

        run_folder.check(out, scenario.resolved, scenario.seed if seed is None else seed, force=force)
    with bar(f"{scenario.name}", progress) as update:
        result = scenario.run(
            seed,
            series,
            update,
            capture,
            window,
            max_memory=max_memory,
            threads=threads,
            radio_trace=trace,
        )
    failure = saved(result, out, force=force) if out else None
    if as_json:
        click.echo(json.dumps(result.to_json(), allow_nan=False))
    else:
        from airwnd.results.summary import show

        show(result)
    if failure:
        raise failure
    if out and not as_json:
        click.echo(f"written to {out}")


def _capture(
    path: Path | None, nodes: tuple[str, ...], snaplen: int | None, layers: str | None
) -> Capture | None:
    if path is None:
        if nodes or snaplen is not None or layers is not None:
            raise click.UsageError(
                "--pcap-node, --pcap-snaplen and --pcap-layers require --pcap.", click.get_current_context()
            )
        return None
    words = layers.split(",") if layers is not None else []
    return Capture(path, nodes or (() if words else ("server",)), snaplen, layers=words)


def _trace(
    folder: Path | None, layers: str | None, ues: tuple[str, ...], window: str | None
) -> RadioTrace | None:
    if folder is None:
        if layers is not None or ues or window is not None:
            raise click.UsageError(
                "--radio-layers, --radio-ue and --radio-window require --radio-trace.",
                click.get_current_context(),
            )
        return None
    words = layers.split(",") if layers is not None else []
    return RadioTrace(folder, words, ues, None if window is None else _window("--radio-window", window))


def _window(option: str, text: str) -> tuple[str, str]:
    begin, dots, end = text.partition("..")
    if not dots:
        raise InputError(f"{option} {text}: expected FROM..TO, as in {option} 1s..1.1s")
    return begin, end


@click.command()
@FILE
@SET
@SEED
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array with an object per UE.")
@code_options
def ues(file: Path, settings: tuple[str, ...], seed: int | None, as_json: bool, policy: "CodePolicy") -> None:
    """List the UEs of the scenario in FILE with their link budgets, without running it."""
    budgets = load(file, settings, policy).link_budgets(seed)
    if as_json:
        click.echo(json.dumps(budgets.to_dicts()))
        return
    from airwnd.results.summary import show_links

    show_links(budgets)


@click.command()
@FILE
@SET
@click.option("--explain", is_flag=True, help="Print each key that the scenario sets, with its meaning.")
@click.option("--json", "as_json", is_flag=True, help="Print the scenario with all defaults written out.")
@code_options
def check(file: Path, settings: tuple[str, ...], explain: bool, as_json: bool, policy: "CodePolicy") -> None:
    """Validate the scenario in FILE without running it; `-` is standard input.

    A scenario without flows is one for airwnd link.
    """
    if explain and as_json:
        raise click.UsageError("--explain prints text; choose it or --json.", click.get_current_context())
    scenario = load(file, settings, policy)
    valid = f"{source_name(file)}: a valid scenario"
    if scenario.resolved["flow"]:
        scenario.check_run()
    else:
        scenario.check_session()
        valid += " for airwnd link; airwnd run needs flows: add [[flow]]"
    click.echo(json.dumps(scenario.resolved, indent=2) if as_json else valid)
    if explain:
        from airwnd.cli.algorithms import show_written
        from airwnd.vocabulary.written import written

        show_written(written(scenario.written))
    for line in marking_warnings(scenario.resolved):
        click.echo(line, err=as_json)


@click.command()
@click.argument(
    "file",
    type=click.Choice(["scenario", "experiment", "claims", "paper", "suite", "report"]),
    default="scenario",
)
def schema(file: str) -> None:
    """Print the JSON Schema of a kind of FILE, for editor support.

    The kinds are scenario (the default), the files of a reproduction (experiment, claims, paper), and those
    of an evaluation (suite, report).
    """
    if file == "scenario":
        from airwnd.vocabulary import algorithms

        found = algorithms.schema()
    elif file == "suite":
        from airwnd.study.evaluate import suite

        found = suite.schema()
    elif file == "report":
        from airwnd.study.evaluate import report

        found = report.schema()
    else:
        from airwnd.study.reproduce import schemas

        found = schemas.schema(file)
    click.echo(json.dumps(found, indent=2))
