"""Shared code of the commands: options, reading a scenario, the progress bar."""

import functools
import math
import re
import sys
import warnings
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from airwnd.cli import completion
from airwnd.plugins.permission import NO_CODE, PLUGIN_TIMEOUT_S, CodePolicy
from airwnd.support.errors import InputError
from airwnd.text.quantities import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from airwnd.results.run import RunData
    from airwnd.scenario.scenario import Scenario
    from airwnd.study.batch import Workers


class Commands(click.Group):
    """Group whose help wraps the first sentence of each command; Click truncates it at the line width."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands."""
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, each.get_short_help_str(limit=1000)) for name, each in commands.items() if each]
            )


class FiniteRange(click.FloatRange):
    """Range of floats without NaN, which Click's accepts since it is not outside."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Convert a value, and refuse NaN."""
        number: float = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value} is not in the range {self._describe_range()}.", param, ctx)
        return number


FILE = click.argument("file", type=click.Path(path_type=Path), shell_complete=completion.scenarios)
#: Form of the values of options that are pairs, for messages.
_PAIRS = {
    "set": "KEY=VALUE, as in --set rlc.queue.buffer=10KiB",
    "where": "KEY=VALUE, as in --where rlc.queue.buffer=10KiB",
    "label": "VALUE=NAME, as in --label cubic=CUBIC",
    "option": "NAME=VALUE, as in --option cc=bbr",
}
SET = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    shell_complete=completion.settings,
    help="Override a key, as in --set rlc.queue.buffer=10KiB or --set 'flow[download].cc=cubic'; an entry of "
    "a list is selected by index, id or name. May be repeated.",
)
SEED = click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Override the scenario's seed.")
PROGRESS = click.option(
    "--progress/--no-progress",
    default=None,
    envvar="AIRWND_PROGRESS",
    show_envvar=True,
    help="Show a progress bar; default: a bar if attached to a terminal, otherwise occasional lines during "
    "long work.",
)
JOBS = click.option(
    "--jobs",
    type=click.IntRange(1),
    help="Number of concurrent runs; default: as many as there are cores for the threads of each.",
)
THREADS = click.option(
    "--threads",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Threads of each run, for many cells: at most one per three cells. Results do not depend on them.",
)
MAX_MEMORY = click.option(
    "--max-memory",
    metavar="SIZE",
    help="Memory limit of each run, as in 2GB; default: concurrent runs share 80 % of the free memory.",
)
DASK = click.option("--dask", metavar="ADDRESS", help="Run on a Dask cluster, as in --dask tcp://head:8786.")


def code_options(command: "Callable[..., None]") -> "Callable[..., None]":
    """Add the options for Python code in scenarios; the command receives them as the argument `policy`."""

    @click.option(
        "--code",
        "named",
        multiple=True,
        metavar="FILE|MODULE",
        help="Execute this Python code, with your user's permissions, if a scenario names it; may be "
        "repeated. Code that --set or --grid names needs no --code.",
    )
    @click.option("--allow-code", is_flag=True, hidden=True)
    @click.option(
        "--plugin-timeout",
        metavar="TIME",
        default=f"{PLUGIN_TIMEOUT_S:g}s",
        show_default=True,
        help="Wall-clock limit for each call into such code.",
    )
    @functools.wraps(command)
    def call(*, named: tuple[str, ...], allow_code: bool, plugin_timeout: str, **rest: object) -> None:
        from airwnd.results.engine import duration_ns

        if allow_code:
            raise InputError("--allow-code: name the code instead, as in --code mine.py")
        policy = CodePolicy(timeout_s=duration_ns("plugin timeout", plugin_timeout) / 1e9)
        for name in named:
            if name.endswith(".py") and not Path(name).is_file():
                raise InputError(f"--code {name}: no such file")
        command(policy=policy.naming(named, ""), **rest)

    return call


def workers(jobs: int | None, dask: str | None, max_memory: str | None, threads: int = 1) -> "Workers":
    """Return the workers that execute the runs: those of a Dask cluster or local processes."""
    from airwnd.study.batch import Dask, Processes

    if dask and jobs:
        raise click.UsageError("--jobs applies to local runs, not to --dask.", click.get_current_context())
    if dask and max_memory:
        raise click.UsageError(
            "--max-memory applies to local runs, not to --dask.", click.get_current_context()
        )
    if dask and threads > 1:
        raise click.UsageError("--threads applies to local runs, not to --dask.", click.get_current_context())
    return Dask(dask) if dask else Processes(jobs, max_memory, threads)


def workers_text(pool: "Workers") -> str:
    """Describe the workers that executed the runs."""
    return f"with {counted(pool.jobs, 'job')}" if pool.jobs else "on the cluster"


def earlier_text(reused: int) -> str:
    """State how many runs an earlier command has finished; empty: none."""
    return f", {reused} of them finished earlier" if reused else ""


_CLASS = re.compile(r"""\bclass["']?\s*=\s*["']?([^"':=]+):""")


def naming(policy: CodePolicy, texts: "Iterable[str]", folder: Path) -> CodePolicy:
    """Permit the code of classes that ``--set`` and ``--grid`` name, whose files are relative to a folder."""
    return policy.naming((place for text in texts for place in _CLASS.findall(text)), folder)


def load(file: Path, settings: tuple[str, ...], policy: CodePolicy | None = None) -> "Scenario":
    """Read a scenario with the ``--set`` options; without a policy, code that it names is refused."""
    from airwnd.scenario.scenario import Scenario, source_of

    policy = NO_CODE if policy is None else naming(policy, settings, file.parent)
    # All at once: code that a setting replaces needs no permission.
    return Scenario(*source_of(file), setting_pairs(settings), policy)


def overridden(scenario: "Scenario", settings: tuple[str, ...]) -> "Scenario":
    """Apply the ``--set`` options."""
    pairs = setting_pairs(settings)
    return scenario.override(pairs) if pairs else scenario


def setting_pairs(settings: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Split the ``--set`` options into keys and values."""
    return tuple(_split("set", text) for text in settings)


def pairs(option: str, texts: tuple[str, ...]) -> dict[str, str]:
    """Split the values ``KEY=VALUE`` of an option that may be repeated."""
    return dict(_split(option, text) for text in texts)


def toml_values(pairs: "Iterable[tuple[str, str]]") -> dict[str, object]:
    """Read values of keys; one that is not TOML is a text."""
    import tomllib

    found: dict[str, object] = {}
    for key, value in pairs:
        try:
            found[key] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            found[key] = value
    return found


def _split(option: str, text: str) -> tuple[str, str]:
    # The value that a label names may be a table of TOML, which has equals signs itself.
    depths = accumulate((char in "([{") - (char in ")]}") for char in text)
    ends = (
        place
        for place, (char, depth) in enumerate(zip(text, depths, strict=True))
        if char == "=" and depth == 0
    )
    end = next(ends, None)
    if end is None:
        raise InputError(f"--{option} {text}: expected {_PAIRS[option]}")
    key, value = text[:end], text[end + 1 :]
    return key.strip(), value.strip()


def saved(result: "RunData", out: Path, *, force: bool) -> Exception | None:
    """Save a run; return the error instead of raising it, so that the summary is printed first."""
    try:
        result.save(out, force=force)
    except OSError as error:
        why = f"{error.strerror or error}; the tables were not saved, the results are printed above"
        return OSError(error.errno, why, str(out))
    except InputError as error:
        return InputError(f"{error}; the tables were not saved, the results are printed above")
    return None


@contextmanager
def bar(title: str, wanted: bool | None) -> "Iterator[Callable[[float], None] | None]":
    """Show a progress bar on standard error, or lines if that is not a terminal and no bar is requested."""
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

    from airwnd.text.terminal import plain

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
    """Show progress like :func:`bar`, one line per warning, and on Ctrl-C the folder of finished runs."""
    try:
        with warnings.catch_warnings(), bar(title, wanted) as update:
            warnings.showwarning = _show_warning
            yield update
    except KeyboardInterrupt:
        click.echo(f"finished runs are kept in {runs}; the same command continues from there", err=True)
        raise


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    click.echo(f"airwnd: {message}", err=True)
