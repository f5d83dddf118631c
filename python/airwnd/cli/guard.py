"""``airwnd guard``: the arguments go to the engine, which has the same command without Python."""

import click

from airwnd import _native

_FORWARDED = {"ignore_unknown_options": True, "allow_interspersed_args": False, "help_option_names": []}


@click.command(context_settings=_FORWARDED, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def guard(context: click.Context, arguments: tuple[str, ...]) -> None:
    """Limit the receive windows of downloads on this machine, or on this router.

    \b
    airwnd guard --cgroup PATH               the sockets of a cgroup and of those below
    airwnd guard --all                       all sockets
    airwnd guard --forward INTERFACE         what this router forwards to INTERFACE
    airwnd guard RULES.toml --all            a controller per port, peer, interface, cgroup
    airwnd guard status                      the flows of the running guards
    airwnd guard check                       what this kernel can do, and what is missing
    airwnd guard --help                      all options

    Needs Linux 6.1 or later, and root or the capabilities CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON. The windows
    are those of the controllers of `airwnd list rwnd`. When the guard ends, also by SIGKILL, every connection
    has its own window again.
    """  # noqa: D301 (Click requires the backspace)
    context.exit(_native.guard(list(arguments)))
