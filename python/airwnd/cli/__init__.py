"""The command line: one file for each group of commands.

A command imports what it needs when it runs, so that ``airwnd --help`` answers at once.
"""

import sys
import traceback
from dataclasses import dataclass

import click

from airwnd import _native
from airwnd.cli import algorithms, completion, plot, reproduce, simulate, sweep, view
from airwnd.cli.options import Commands
from airwnd.errors import EngineError, InputError
from airwnd.text import one_line

BAD_INPUT = 2
ENGINE_BROKEN = 70
INTERRUPTED = 130


@dataclass
class Options:
    """What the options before the command say.

    Attributes
    ----------
    debug
        Whether to print tracebacks.
    """

    debug: bool = False


def main() -> None:
    """Run the command line; whatever goes wrong is one line on the standard error and an exit code."""
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
    """Report an exception in one line, and choose the exit code."""
    match error:
        case click.exceptions.Exit():
            return error.exit_code
        case click.UsageError():
            where = error.ctx.command_path if error.ctx else "airwnd"
            return _complain(f"{error.format_message()} See `{where} --help`.")
        case click.ClickException():
            return _complain(error.format_message())
        case _native.ScenarioError() | InputError():
            return _complain(str(error))
        case EngineError():
            return _complain(str(error), ENGINE_BROKEN)
        case BrokenPipeError() | SystemExit():
            # The reader, such as `head`, has ended: Python's own message at exit is suppressed.
            sys.stdout = None
            return 0
        case OSError():
            return _complain(f"{error.filename or 'airwnd'}: {error.strerror or error}")
        case KeyboardInterrupt() | click.Abort():
            return _complain("interrupted", INTERRUPTED)
        case MemoryError():
            return _complain("out of memory", ENGINE_BROKEN)
    place = _native.panic_place() if isinstance(error, _native.PanicException) else None
    what = ": ".join(filter(None, [type(error).__name__, str(error)]))
    known = ", ".join(filter(None, [place, f"airwnd {_native.VERSION}", f"engine {_native.ENGINE}"]))
    return _complain(f"{what} ({known}); please report it, with what --debug adds", ENGINE_BROKEN)


def _complain(message: str, code: int = BAD_INPUT) -> int:
    click.echo(f"airwnd: {one_line(message)}", err=True)
    return code


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(_native.VERSION, prog_name="airwnd")
@click.option("--debug", is_flag=True, help="Print the traceback of an error; stands before the command.")
@click.make_pass_decorator(Options, ensure=True)
def cli(options: Options, debug: bool) -> None:
    """TCP over an LTE cell, simulated.

    \b
    airwnd run scenario.toml                 simulate
    airwnd view RUN                          look around in a run
    airwnd ues scenario.toml                 which UEs are in reach
    airwnd plot map scenario.toml            what is heard where
    airwnd list                              algorithms, TCP stacks, presets
    airwnd sweep scenario.toml --out out     many settings and seeds, one data set
    airwnd reproduce arwa-2019/table6        a paper's figure beside ours
    """  # noqa: D301 (click wants the backspace)
    options.debug = debug
    if debug:
        _native.show_panics()


for _command in (
    simulate.run,
    simulate.check,
    simulate.ues,
    simulate.schema,
    plot.plot,
    algorithms.list_,
    algorithms.explain,
    reproduce.reproduce,
    sweep.sweep,
    view.view,
    completion.completion,
):
    cli.add_command(_command)
