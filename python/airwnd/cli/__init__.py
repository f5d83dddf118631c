"""The command line: one file for each group of commands.

Each command imports its dependencies when it runs, so that ``airwnd --help`` starts fast.
"""

import re
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path

import click

from airwnd import _native
from airwnd.cli import (
    algorithms,
    board,
    city,
    compare,
    completion,
    doctor,
    evaluate,
    export,
    guard,
    link,
    play,
    plot,
    reproduce,
    simulate,
    stack,
    sweep,
    view,
)
from airwnd.cli.options import Commands
from airwnd.support.engine import restart
from airwnd.support.errors import EngineError, InputError
from airwnd.text.quantities import one_line

BAD_INPUT = 2
ENGINE_BROKEN = 70
INTERRUPTED = 130


@dataclass
class Options:
    """Global options, given before the command.

    Attributes
    ----------
    debug
        Print tracebacks.
    """

    debug: bool = False


def main() -> None:
    """Run the command line; report any error as one line on standard error and an exit code."""
    options = Options()
    _native.end_when_stuck(BAD_INPUT, message=True)
    try:
        code = cli.main(prog_name="airwnd", standalone_mode=False, obj=options)
    except BaseException as error:
        if options.debug:
            traceback.print_exception(error)
        code = _end(error)
    sys.exit(code)


def _end(error: BaseException) -> int:  # noqa: PLR0911
    """Report an exception in one line and return the exit code."""
    match error:
        case click.exceptions.Exit():
            return error.exit_code
        case click.exceptions.NoArgsIsHelpError():
            click.echo(error.format_message(), err=True)
            return BAD_INPUT
        case click.UsageError():
            where = error.ctx.command_path if error.ctx else "airwnd"
            return _report(f"{error.format_message()} See `{where} --help`.")
        case click.ClickException():
            return _report(error.format_message())
        case _native.ScenarioError() | InputError():
            return _report(str(error))
        case EngineError():
            return _report(str(error), ENGINE_BROKEN)
        case BrokenPipeError() | SystemExit():
            # The reader of a pipe, such as `head`, has exited: this suppresses Python's own message at exit.
            sys.stdout = None
            return 0
        case OSError():
            file = f"{error.filename}: " if error.filename else ""
            return _report(f"{file}{error.strerror or error}")
        case UnicodeEncodeError() if "surrogates" in error.reason:
            # Bytes of a name that are no UTF-8 stand as lone surrogates in the text.
            is_name = re.compile("[\ud800-\udfff]").search
            name = next(filter(is_name, sys.argv), error.object)
            shown = name.encode("utf-8", "backslashreplace").decode("utf-8")
            return _report(f"{shown}: names of files must be UTF-8")
        case KeyboardInterrupt() | click.Abort():
            return _report("interrupted", INTERRUPTED)
        case MemoryError():
            return _report("out of memory", ENGINE_BROKEN)
    place = _native.panic_place() if isinstance(error, _native.PanicException) else None
    what = ": ".join(filter(None, [type(error).__name__, str(error)]))
    known = ", ".join(filter(None, [place, f"airwnd {_native.VERSION}", f"engine {_native.ENGINE}"]))
    return _report(f"{what} ({known}); please report it with the output of --debug", ENGINE_BROKEN)


def _report(message: str, code: int = BAD_INPUT) -> int:
    click.echo(f"airwnd: {one_line(message)}", err=True)
    return code


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(_native.VERSION, prog_name="airwnd")
@click.option("--debug", is_flag=True, help="Print the traceback of an error; goes before the command.")
@click.option(
    "--engine",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Library of an engine with plug-ins in Rust; goes before the command.",
)
@click.make_pass_decorator(Options, ensure=True)
def cli(options: Options, debug: bool, engine: Path | None) -> None:
    """Simulate TCP over LTE and NR cells.

    \b
    airwnd run scenario.toml                 simulate a scenario
    airwnd view RUN                          explore a run in the browser
    airwnd play                              show a cell live in the browser
    airwnd ues scenario.toml                 list UEs and their link budgets
    airwnd plot map scenario.toml            draw a radio map
    airwnd city --out city.toml              make the scenario of a city
    airwnd list                              list algorithms, TCP stacks, presets
    airwnd sweep scenario.toml --out out     run many settings and seeds
    airwnd compare out                       compare their results, with intervals
    airwnd link scenario.toml -- COMMAND     run real programs over a scenario, in real time
    airwnd guard --all                       keep the queue of this machine's access link short
    airwnd reproduce arwa-2019/table6        reproduce a table of a paper
    airwnd evaluate cubic                    evaluate a congestion control against RFC 9743
    airwnd stack quinn scenario.toml         connect a QUIC, TCP or WebRTC stack through a scenario
    """  # noqa: D301 (Click requires the backspace)
    if engine is not None:
        restart(engine)
    options.debug = debug
    if debug:
        _native.show_panics()


for _command in (
    simulate.run,
    simulate.check,
    simulate.ues,
    simulate.schema,
    city.city,
    plot.plot,
    compare.compare,
    export.export,
    algorithms.list_,
    algorithms.explain,
    reproduce.reproduce,
    evaluate.evaluate,
    board.board,
    sweep.sweep,
    stack.stack,
    view.view,
    play.play,
    link.link,
    guard.guard,
    completion.completion,
    doctor.doctor,
):
    cli.add_command(_command)
