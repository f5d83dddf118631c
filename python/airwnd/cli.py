"""The command line. Heavy libraries are imported by the commands that need them."""

import json
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from airwnd._native import VERSION, ScenarioError
from airwnd.errors import EngineError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from airwnd.algorithms import Algorithm
    from airwnd.reproduce.design import Experiment
    from airwnd.reproduce.runner import Effort
    from airwnd.scenario import Scenario

BAD_INPUT = 2
ENGINE_BROKEN = 70
INTERRUPTED = 130


def main() -> None:
    """Run the command line; a user's mistake is one line on the standard error and exit code 2."""
    try:
        code = cli.main(prog_name="airwnd", standalone_mode=False)
    except click.exceptions.Exit as exit_:
        code = exit_.exit_code
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "airwnd"
        code = _complain(f"{error.format_message()} See `{where} --help`.")
    except click.ClickException as error:
        code = _complain(error.format_message())
    except (ScenarioError, InputError) as error:
        code = _complain(str(error))
    except EngineError as error:
        code = _complain(str(error), ENGINE_BROKEN)
    except BrokenPipeError:
        # The reader, such as `head`, has had enough; Python must not complain about it at its exit.
        sys.stdout = None
        code = 0
    except OSError as error:
        code = _complain(f"{error.filename or 'airwnd'}: {error.strerror or error}")
    except (KeyboardInterrupt, click.Abort):
        click.echo("airwnd: interrupted", err=True)
        code = INTERRUPTED
    sys.exit(code)


def _complain(message: str, code: int = BAD_INPUT) -> int:
    click.echo("airwnd: " + " ".join(message.split()), err=True)
    return code


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(VERSION, prog_name="airwnd")
def cli() -> None:
    """TCP over an LTE cell, simulated.

    \b
    airwnd run scenario.toml                 simulate
    airwnd list                              what there is
    airwnd reproduce arwa-2019/table6        a paper's figure beside ours
    """  # noqa: D301 (click wants the backspace)


_FILE = click.argument("file", type=click.Path(path_type=Path))
_SET = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a setting, as in --set rlc.queue.buffer=10KiB or --set 'ue[0].count=5'.",
)
_PROGRESS = click.option(
    "--progress/--no-progress", default=None, help="Show a progress bar; the default if a person looks on."
)
_JOBS = click.option(
    "--jobs", type=click.IntRange(1), help="Runs at the same time; as many as there are cores by default."
)


@cli.command()
@_FILE
@_SET
@click.option("--seed", type=click.IntRange(0, 2**64 - 1), help="Another seed than the scenario's.")
@click.option("--out", type=click.Path(path_type=Path), help="Write manifest.json and Parquet tables there.")
@click.option("--series", metavar="TIME", help="Keep time series sampled this often, as in 10ms.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@_PROGRESS
def run(
    file: Path,
    settings: tuple[str, ...],
    seed: int | None,
    out: Path | None,
    series: str | None,
    as_json: bool,
    progress: bool | None,
) -> None:
    """Simulate the scenario in FILE."""
    scenario = _load(file, settings)
    with _bar(f"{scenario.name}", progress) as tell:
        result = scenario.run(seed, series, tell)
    if out:
        result.save(out)
    if as_json:
        click.echo(json.dumps(result.to_json(), allow_nan=False))
        return
    from airwnd.summary import show

    show(result)
    if out:
        click.echo(f"written to {out}")


@cli.command(name="list")
@click.argument("family", required=False)
def list_(family: str | None) -> None:
    """List the algorithms, or those of one FAMILY with their sources."""
    from airwnd import algorithms

    families = [algorithms.family(family)] if family else algorithms.catalogue()
    for index, each in enumerate(families):
        click.echo(("\n" if index else "") + click.style(each.name, bold=True) + f"  {each.summary}")
        width = max(len(member.name) for member in each.members)
        for member in each.members:
            source = f" [{member.source}]" if family else ""
            click.echo(f"  {member.name:<{width}}  {member.summary}{source}")


@cli.command()
@click.argument("name")
def explain(name: str) -> None:
    """Explain the algorithm NAME, or FAMILY/NAME: how it works, its parameters, its sources."""
    from airwnd import algorithms

    for index, algorithm in enumerate(algorithms.find(name)):
        if index:
            click.echo()
        _explain(algorithm)


@cli.command()
@_FILE
@_SET
@click.option("--json", "as_json", is_flag=True, help="Print the scenario with all defaults written out.")
def check(file: Path, settings: tuple[str, ...], as_json: bool) -> None:
    """Check the scenario in FILE without running it."""
    scenario = _load(file, settings)
    click.echo(json.dumps(scenario.resolved, indent=2) if as_json else f"{file}: a valid scenario")


@cli.command()
def schema() -> None:
    """Print the JSON Schema of a scenario, for editors."""
    from airwnd import algorithms

    click.echo(json.dumps(algorithms.schema(), indent=2))


@cli.command()
@click.argument("name", metavar="PAPER[/FIGURE]")
@click.option(
    "--seeds", type=click.IntRange(1), help="Seeds 1 to this; the experiment says how many by default."
)
@_JOBS
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Where plots, page and finished runs go; out/PAPER/FIGURE by default.",
)
@click.option("--quick", is_flag=True, help="Shorter runs and fewer seeds, for a first look.")
@_PROGRESS
def reproduce(
    name: str, seeds: int | None, jobs: int | None, out: Path | None, quick: bool, progress: bool | None
) -> None:
    """Run a paper's experiment and show it beside the paper.

    An interrupted reproduction goes on where it stopped when it is started again.
    """
    from airwnd.reproduce.design import Experiment
    from airwnd.reproduce.runner import Effort, find

    experiments = [Experiment.load(folder) for folder in find(name)]
    for experiment in experiments:
        folder = Path("out") / experiment.name
        if out:
            folder = out / experiment.folder.name if len(experiments) > 1 else out
        effort = Effort.of(experiment, seeds, jobs, quick=quick)
        _reproduce(experiment, effort, folder, progress)


def _reproduce(experiment: "Experiment", effort: "Effort", out: Path, progress: bool | None) -> None:
    from rich.console import Console

    from airwnd.reproduce import report, runner, terminal, words

    try:
        with _bar(experiment.name, progress) as tell:
            results = runner.reproduce(experiment, effort, out, tell)
    except KeyboardInterrupt:
        click.echo(f"finished runs are kept in {out / 'runs'}; the same command goes on from there", err=True)
        raise
    terminal.show(results, Console())
    page = report.write(results, out)
    took = f"{words.seconds_text(results.elapsed_s)} with {effort.jobs} jobs"
    kept = f", {results.reused} of them finished earlier" if results.reused else ""
    click.echo(f"{results.runs} runs in {took}{kept}\nplots and page: {page}")


def _load(file: Path, settings: tuple[str, ...]) -> "Scenario":
    from airwnd.scenario import Scenario

    scenario = Scenario.load(file)
    pairs = []
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise InputError(f"--set {setting}: expected KEY=VALUE, as in --set rlc.queue.buffer=10KiB")
        pairs.append((key.strip(), value.strip()))
    return scenario.override(pairs) if pairs else scenario


def _explain(algorithm: "Algorithm") -> None:
    click.echo(click.style(algorithm.name, bold=True) + f"  ({algorithm.family})")
    click.echo(f"{algorithm.summary}\n\nSource: {algorithm.source}")
    if algorithm.details.strip():
        click.echo(f"\n{algorithm.details.strip()}")
    click.echo("\nParameters" if algorithm.params else "\nNo parameters.")
    for param in algorithm.params:
        unit = "" if param.unit == "1" else f" [{param.unit}]"
        click.echo(f"  {click.style(param.name, bold=True)}{unit}  {param.meaning}")
        facts = ["required" if param.default is None else f"default {json.dumps(param.default)}"]
        if param.range:
            facts.append(f"{param.range[0]} to {param.range[1]}")
        click.echo(f"      {'; '.join(facts)}; source: {param.source}")


@contextmanager
def _bar(title: str, wanted: bool | None) -> "Iterator[Callable[[float], None] | None]":
    """Show a progress bar on the standard error, if wanted, or if a person looks on."""
    if wanted is False or (wanted is None and not sys.stderr.isatty()):
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=1.0)
        yield lambda fraction: bar.update(task, completed=fraction)
