"""What several commands share: options, reading a scenario, the progress bar."""

import functools
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from airwnd.cli.completion import scenarios
from airwnd.code_policy import NO_CODE, PLUGIN_TIMEOUT_S, CodePolicy
from airwnd.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from airwnd.batch import Workers
    from airwnd.scenario import Scenario


class Commands(click.Group):
    """Commands whose help has the whole first sentence of each, wrapped; Click cuts it at the width."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands."""
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, each.get_short_help_str(limit=1000)) for name, each in commands.items() if each]
            )


FILE = click.argument("file", type=click.Path(path_type=Path), shell_complete=scenarios)
SET = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a setting, as in --set rlc.queue.buffer=10KiB or --set 'flow[download].cc=cubic'; entries "
    "of a list have an index, an id or a name.",
)
PROGRESS = click.option(
    "--progress/--no-progress",
    default=None,
    envvar="AIRWND_PROGRESS",
    show_envvar=True,
    help="Show a progress bar; default: a bar on a terminal, elsewhere a line now and then if it takes long.",
)
JOBS = click.option(
    "--jobs", type=click.IntRange(1), help="Runs at the same time; as many as there are cores by default."
)
MAX_MEMORY = click.option(
    "--max-memory",
    metavar="SIZE",
    help="Most memory that a run may take, as in 2GB; by default the runs at the same time share 80 % of "
    "what is free.",
)
DASK = click.option("--dask", metavar="ADDRESS", help="Run on a Dask cluster, as in --dask tcp://head:8786.")


def code_options(command: "Callable[..., None]") -> "Callable[..., None]":
    """Add the options for Python code in scenarios; the command takes them as the argument `policy`."""

    @click.option(
        "--allow-code",
        is_flag=True,
        help="Execute the Python files and modules that a scenario names; they run with your rights.",
    )
    @click.option(
        "--plugin-timeout",
        metavar="TIME",
        default=f"{PLUGIN_TIMEOUT_S:g}s",
        show_default=True,
        help="Wall-clock time that a call of such code may take.",
    )
    @functools.wraps(command)
    def call(*, allow_code: bool, plugin_timeout: str, **rest: object) -> None:
        from airwnd.engine import duration_ns

        timeout_s = duration_ns("plugin timeout", plugin_timeout) / 1e9
        command(policy=CodePolicy(allow_code, timeout_s), **rest)

    return call


def workers(jobs: int | None, dask: str | None, max_memory: str | None) -> "Workers":
    """Give those who run: a cluster's, or this machine's."""
    from airwnd.batch import Dask, Processes

    if dask and jobs:
        raise click.UsageError("--jobs is for this machine, not for --dask.", click.get_current_context())
    if dask and max_memory:
        raise click.UsageError(
            "--max-memory is for this machine, not for --dask.", click.get_current_context()
        )
    return Dask(dask) if dask else Processes(jobs, max_memory)


def workers_text(crew: "Workers") -> str:
    """Write who ran."""
    return f"with {crew.jobs} jobs" if crew.jobs else "on the cluster"


def load(file: Path, settings: tuple[str, ...], policy: CodePolicy = NO_CODE) -> "Scenario":
    """Read a scenario and change the settings that ``--set`` names."""
    from airwnd.scenario import Scenario

    scenario = Scenario.load(file, allow_code=policy.allow, plugin_timeout_s=policy.timeout_s)
    pairs = []
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise InputError(f"--set {setting}: expected KEY=VALUE, as in --set rlc.queue.buffer=10KiB")
        pairs.append((key.strip(), value.strip()))
    return scenario.override(pairs) if pairs else scenario


@contextmanager
def bar(title: str, wanted: bool | None) -> "Iterator[Callable[[float], None] | None]":
    """Show a progress bar on the standard error; lines if it is not a terminal, unless a bar is wanted."""
    if wanted is False:
        yield None
        return
    if wanted is None and not sys.stderr.isatty():
        from airwnd.cli.progress import ProgressLines

        yield ProgressLines(title)
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
    from rich.table import Column

    from airwnd.terminal import plain

    columns = (
        TextColumn("{task.description}", markup=False, table_column=Column(overflow="fold")),
        BarColumn(bar_width=None),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(plain(title), total=1.0)
        yield lambda fraction: bar.update(task, completed=fraction)


@contextmanager
def batch_bar(title: str, runs: Path, wanted: bool | None) -> "Iterator[Callable[[float], None] | None]":
    """Show a progress bar as :func:`bar` does, warnings in one line each, and where runs are after Ctrl-C."""
    try:
        with warnings.catch_warnings(), bar(title, wanted) as tell:
            warnings.showwarning = _show_warning
            yield tell
    except KeyboardInterrupt:
        click.echo(f"finished runs are kept in {runs}; the same command goes on from there", err=True)
        raise


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    click.echo(f"airwnd: {message}", err=True)
