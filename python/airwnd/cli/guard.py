"""``airwnd guard``: the arguments go to the engine, which has the same command without Python."""

import functools
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from airwnd import _native
from airwnd.cli.completion import scenarios
from airwnd.cli.options import PROGRESS, FiniteRange, bar, load

if TYPE_CHECKING:
    from airwnd.guard.session import Measured

_FORWARDED = {"ignore_unknown_options": True, "allow_interspersed_args": False, "help_option_names": []}
_INTERFACES = Path("/sys/class/net")


@functools.cache
def commands() -> dict[str, Any]:
    """Return the engine's description of the command line: ``about``, ``options``, ``commands``."""
    found: dict[str, Any] = json.loads(_native.guard_commands())
    return found


class Guard(click.Command):
    """The engine's command, and `demo`, which is in Python."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Run `demo` if the arguments begin with it."""
        if args[:1] == ["demo"] and not ctx.resilient_parsing:
            with demo.make_context("airwnd guard demo", args[1:]) as below:
                demo.invoke(below)
            ctx.exit()
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the engine's options; those of `demo` are Click's."""
        words = ctx.params.get("arguments") or ()
        if words[:1] == ("demo",):
            if not incomplete.startswith("-"):
                return scenarios(ctx, demo.params[0], incomplete)
            with demo.make_context("demo", list(words[1:]), resilient_parsing=True) as below:
                return demo.shell_complete(below, incomplete)
        return completions(ctx, incomplete)


def completions(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """Complete commands, options, and the value of the option before."""
    words = list(ctx.params.get("arguments") or ())
    level = commands()
    while words and words[0] in level["commands"]:
        level = level["commands"][words.pop(0)]
    by_name = {name: option for option in level["options"] for name in option["names"]}
    before = by_name.get(words[-1]) if words else None
    if before and before["value"]:
        return _values(before, incomplete)
    items = [
        CompletionItem(name, help=option["help"])
        for name, option in by_name.items()
        if name.startswith(incomplete)
    ]
    if incomplete.startswith("-"):
        return items
    offered = [] if words else list(level["commands"].items())
    found = [
        CompletionItem(name, help=each["about"]) for name, each in offered if name.startswith(incomplete)
    ]
    positional = [option for option in level["options"] if not option["names"]]
    return found + [item for option in positional for item in _values(option, incomplete)]


def _values(option: dict[str, Any], incomplete: str) -> list[CompletionItem]:
    if option["value"] == "INTERFACE":
        values = sorted(path.name for path in _INTERFACES.glob("*"))
    elif option["is_path"]:
        return [CompletionItem(incomplete, type="file")]
    else:
        values = option["values"]
    return [CompletionItem(value) for value in values if value.startswith(incomplete)]


def _complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return ctx.command.shell_complete(ctx, incomplete)


@click.command(cls=Guard, context_settings=_FORWARDED, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, shell_complete=_complete)
@click.pass_context
def guard(context: click.Context, arguments: tuple[str, ...]) -> None:
    """Limit the receive windows of downloads on this machine, or on this router.

    \b
    airwnd guard --cgroup PATH               the sockets of a cgroup and of those below
    airwnd guard --all                       all sockets
    airwnd guard --forward INTERFACE         what this router forwards to INTERFACE
    airwnd guard run -- COMMAND              the connections of one command, until it ends
    airwnd guard RULES.toml --all            a controller per port, peer, interface, cgroup
    airwnd guard status                      the flows of the running guards
    airwnd guard status --live               the same, redrawn every second
    airwnd guard install                     run it as a service; `uninstall` undoes it
    airwnd guard check                       what this kernel can do, and what is missing
    airwnd guard demo                        before and after, in a cell of `airwnd link`
    airwnd guard test SERVER                 before and after on your link, with a grade
    airwnd guard serve                       the server for it
    airwnd guard --help                      all options

    Needs Linux 6.1 or later, and root or the capabilities CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON. The windows
    are those of the controllers of `airwnd list rwnd`. When the guard ends, also by SIGKILL, every connection
    has its own window again.
    """  # noqa: D301 (Click requires the backspace)
    words = list(arguments)
    if words[:1] == ["install"] and "--binary" not in words:
        # The engine is no program of its own here.
        words += ["--command", f"{sys.executable} -I -m airwnd guard"]
    context.exit(_native.guard(words))


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument(
    "scenario",
    required=False,
    type=click.Path(path_type=Path),
    shell_complete=scenarios,
    metavar="[SCENARIO]",
)
@click.option(
    "--rwnd",
    metavar="SPEC",
    help="Receive-window control, as for `airwnd guard`; default: `standing`, the guard's own.",
)
@click.option(
    "--seconds",
    type=FiniteRange(5, 3600),
    default=50,
    show_default=True,
    help="Length of each of the two downloads.",
)
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    metavar="PICTURE",
    default="guard-demo.svg",
    show_default=True,
    help="Output file; .svg, .pdf or .png selects the format.",
)
@PROGRESS
def demo(scenario: Path | None, rwnd: str | None, seconds: float, out: Path, progress: bool | None) -> None:
    """Show a download with a ping beside it, without the guard and with it.

    A real download by this machine's kernel (CUBIC) runs in a cell of `airwnd link`, on the first UE of
    SCENARIO; default: a phone alone in a cell with a buffer of 2 MB. Needs root.
    """
    from airwnd.guard.session import CELL, measure
    from airwnd.plots.guard import plot_halves
    from airwnd.plots.save import check, save
    from airwnd.scenario.scenario import Scenario

    check(out)
    cell = load(scenario, ()) if scenario else Scenario.from_dict(CELL)
    with bar("airwnd guard demo", progress) as update:
        measured = measure(cell, rwnd, seconds, progress=update)
    save(plot_halves([measured.without, measured.guarded]), out)
    click.echo(table(measured))
    if measured.late:
        late = f"{measured.lateness_us:.0f} us"
        click.echo(f"airwnd: this machine was busy: 1 % of the packets were more than {late} late", err=True)
    click.echo(f"picture: {out}")


def table(measured: "Measured") -> str:
    """Return the figures of a session as text."""
    import numpy as np

    def row(name: str, *figures: float | None) -> str:
        texts = ["-" if figure is None else f"{figure:.1f}" for figure in figures]
        return f"{name:<14}" + "".join(f"{text:>14}" for text in texts)

    idle = measured.idle_ms
    percentiles = [float(np.percentile(idle, percent)) if idle else None for percent in (50, 95)]
    rows = [row("no download", None, *percentiles)]
    for name, half in (("without guard", measured.without), ("with guard", measured.guarded)):
        rows.append(row(name, half.mbps(), half.ping_ms(50), half.ping_ms(95)))
    heading = f"{'':<14}" + "".join(f"{text:>14}" for text in ("Mbit/s", "ping p50 ms", "ping p95 ms"))
    return "\n".join([heading, *rows])
