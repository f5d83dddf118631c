"""The command line: one file for each group of commands.

A command imports what it needs when it runs, so that ``airwnd --help`` answers at once.
"""

import sys

import click

from airwnd._native import VERSION, ScenarioError
from airwnd.cli import algorithms, completion, plot, reproduce, simulate, sweep, view
from airwnd.errors import EngineError, InputError

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
    airwnd view RUN                          look around in a run
    airwnd ues scenario.toml                 which terminals are in reach
    airwnd plot map scenario.toml            what is heard where
    airwnd list                              what there is
    airwnd sweep scenario.toml --out out     many settings and seeds, one data set
    airwnd reproduce arwa-2019/table6        a paper's figure beside ours
    """  # noqa: D301 (click wants the backspace)


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
