"""``airwnd link``."""

import json
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from airwnd.cli.completion import members, scenarios, traces
from airwnd.cli.options import SEED, SET, Commands, FiniteRange, load, overridden, saved
from airwnd.link import mahimahi
from airwnd.link.battery.plans import BATTERIES
from airwnd.link.commands import MARK, Part, named, split
from airwnd.link.mahimahi import QUEUES
from airwnd.link.wire import TABLES, Wire
from airwnd.results.capture import MAX_BYTES, Capture
from airwnd.support.errors import InputError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from airwnd.link.battery.front import Battery
    from airwnd.link.battery.results import Results
    from airwnd.link.session import Finished, Session
    from airwnd.link.snapshot import Snapshot
    from airwnd.link.summary import Tallies
    from airwnd.scenario.scenario import Scenario

_WORDS, _SETTINGS, _CHAIN, _ARGUMENTS = (
    f"{__name__}.{name}" for name in ("words", "settings", "chain", "arguments")
)


def _words(command: click.Command, arguments: Sequence[str]) -> Iterator[int]:
    """Yield the places of the words before ``--`` that are neither options nor their values."""
    with_value = {
        name
        for param in command.params
        if isinstance(param, click.Option) and not param.is_flag
        for name in param.opts
    }
    place = 0
    while place < len(arguments) and arguments[place] != MARK:
        word = arguments[place]
        if word.startswith("-") and word != "-":
            place += 1 + (word in with_value)
        else:
            yield place
            place += 1


class Link(Commands):
    """Group that runs a session itself, unless its first word names a command."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse a command, or the words and COMMANDs of a session."""
        first = next(_words(self, args), None)
        if ctx.resilient_parsing or (first is not None and args[first] in self.commands):
            return super().parse_args(ctx, args)
        _check_shell(args[:1] if first is None else args[first : first + 1])
        own, parts = split(args)
        ctx.allow_interspersed_args = True
        ctx.meta[_WORDS] = click.Command.parse_args(self, ctx, own), parts
        ctx.args = []
        return ctx.args

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Complete scenario files besides commands and options."""
        files = [] if incomplete.startswith("-") else scenarios(ctx, self.params[0], incomplete)
        return [*super().shell_complete(ctx, incomplete), *files]


def _check_shell(words: Sequence[str]) -> None:
    """Raise a usage error if the first word is a shell of Mahimahi that cannot be followed."""
    name = Path(words[0]).name if words else ""
    if name in mahimahi.UNSUPPORTED:
        raise click.UsageError(f"{name}: not supported; mm-link, mm-delay, mm-loss and mm-onoff are.")


class Shell(click.Command):
    """A shell of Mahimahi; the word behind its arguments begins the COMMAND, whose options are its own."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse options before, between and directly behind the arguments."""
        arguments = sum(isinstance(param, click.Argument) for param in self.params) - 1
        places = list(islice(_words(self, args), arguments + 1))
        if len(places) > arguments:
            own, command = args[: places[-1]], args[places[-1] :]
        else:
            own, command = args, []
            if MARK in args:
                own, command = args[: args.index(MARK)], args[args.index(MARK) + 1 :]
        ctx.meta[_ARGUMENTS] = (ctx.info_name or "", *args)
        rest = super().parse_args(ctx, own)
        ctx.params["command"] = tuple(command)
        return rest


@dataclass(frozen=True, slots=True, kw_only=True)
class _Settings:
    """Options of a session that do not depend on what is emulated."""

    ues: tuple[str, ...]
    settings: tuple[str, ...]
    seed: int | None
    server: str | None
    host: bool
    internet: bool
    keep_flows: bool
    mtu: int
    sysctls: tuple[tuple[str, str], ...]
    out: Path | None
    force: bool
    series: str | None
    pcap: Path | None
    nodes: tuple[str, ...]
    snaplen: int | None
    real_only: bool
    summary: Path | None
    busy_wait: bool
    coalesce: bool
    lateness_limit: str
    requirements: tuple[str, ...]
    battery: str | None
    battery_time: str | None
    battery_plot: Path | None
    live: bool
    quiet: bool

    def check(self) -> None:
        """Raise a usage error for options that contradict each other."""
        context = click.get_current_context()
        ends = {
            "--server": self.server,
            "--host": self.host,
            "--internet": self.internet,
            "--battery": self.battery,
        }
        if len(given := [option for option, value in ends.items() if value]) > 1:
            raise click.UsageError(f"{given[0]} and {given[1]} exclude each other.", context)
        if self.force and self.out is None:
            raise click.UsageError("--force requires --out.", context)
        if self.pcap is None and (self.nodes or self.snaplen is not None or self.real_only):
            raise click.UsageError(
                "--pcap-node, --pcap-snaplen and --pcap-real-only require --pcap.", context
            )
        if self.battery is None and (self.battery_time or self.battery_plot):
            raise click.UsageError("--battery-time and --battery-plot require --battery.", context)
        if self.live and not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise click.UsageError("--live requires a terminal.", context)

    def end(self, default: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the other end of the link."""
        if self.server is not None:
            try:
                command = shlex.split(self.server)
            except ValueError as error:
                raise InputError(f"--server {self.server}: {error}") from None
            if not command:
                raise InputError("--server: expected a COMMAND, as in --server 'iperf3 -s'")
            return {"kind": "namespace", "command": command}
        if self.host or self.internet:
            return {"kind": "host" if self.host else "internet"}
        return default


def _sysctl(
    _context: click.Context, _param: click.Parameter, texts: tuple[str, ...]
) -> list[tuple[str, str]]:
    """Split NAME=VALUE; the name becomes a path below /proc/sys."""
    found = []
    for text in texts:
        name, mark, value = text.partition("=")
        # Other sysctls are those of the whole machine.
        if not mark or not re.fullmatch(r"net\.[a-z0-9_]+(\.[a-zA-Z0-9_-]+)+", name):
            raise click.BadParameter(
                f"{text}: expected net.NAME=VALUE, as in net.ipv4.tcp_congestion_control=cubic."
            )
        found.append((name.replace(".", "/"), value))
    return found


def _both_ways() -> Iterator[Callable[..., Any]]:
    for name, table in TABLES.items():
        yield click.option(
            f"--{name}",
            metavar="VALUE,...",
            help=f"Without SCENARIO: {table.what}, with the keys of [link.{name}], as in {table.example}.",
        )
        yield click.option(
            f"--{name}-up", metavar="VALUE,...", help=f"The same towards the server; default: --{name}."
        )


_OPTIONS = (
    click.option(
        "--ue",
        "ues",
        multiple=True,
        metavar="NAME",
        help="UE on which COMMAND runs: a group's name (its first UE), GROUP-N (its N-th from 0) or ue-N as "
        "in results; default: the first UE. Several real UEs: --ue a -- COMMAND --ue b -- COMMAND.",
    ),
    SET,
    SEED,
    click.option(
        "--trace",
        metavar="DOWN [UP]",
        shell_complete=traces,
        help="Without SCENARIO: a link with recorded capacity, in Mahimahi's format or as rates; UP defaults "
        "to DOWN.",
    ),
    click.option("--rate", help="Without SCENARIO: a link of this rate, as in 10Mbit."),
    click.option("--rate-up", metavar="RATE", help="Rate towards the server; default: --rate."),
    click.option("--delay", metavar="TIME", help="Without SCENARIO: one-way delay, as in 20ms."),
    click.option(
        "--queue",
        shell_complete=members("aqm"),
        help="Without SCENARIO: queue in each direction, in packets (50), bytes (64KiB) or as a discipline "
        "of `airwnd list aqm` (codel,target=10ms,packets=100); default: 100 packets.",
    ),
    click.option(
        "--loss",
        shell_complete=members("loss"),
        help="Without SCENARIO: losses in each direction, as in 1%, or a model of `airwnd list loss` "
        "(gilbert-elliott,...).",
    ),
    click.option(
        "--loss-up",
        metavar="LOSS",
        shell_complete=members("loss"),
        help="Losses towards the server; default: --loss.",
    ),
    *_both_ways(),
    click.option(
        "--server",
        metavar="COMMAND",
        help="Run COMMAND at the other end, as in --server 'iperf3 -s'; default: HTTP on ports 80 and 8080, "
        "echo on port 7, and iperf3 -s, netserver and irtt server if installed.",
    ),
    click.option(
        "--host",
        is_flag=True,
        help="Let this machine be the other end; in a session within a session: the outer one. Without root "
        "through pasta, which ends TCP connections itself.",
    ),
    click.option("--internet", is_flag=True, help="As --host, with a way to the Internet."),
    click.option("--keep-flows", is_flag=True, help="Also simulate the scenario's flows of the real UEs."),
    click.option(
        "--mtu",
        type=click.IntRange(1280, 9000),
        default=1500,
        show_default=True,
        metavar="BYTES",
        help="MTU of both ends.",
    ),
    click.option(
        "--sysctl",
        "sysctls",
        multiple=True,
        callback=_sysctl,
        metavar="NAME=VALUE",
        help="Set a sysctl of both ends, as in net.ipv4.tcp_congestion_control=cubic. May be repeated.",
    ),
    click.option(
        "--out", type=click.Path(path_type=Path), help="Folder for manifest.json and the Parquet tables."
    ),
    click.option("--force", is_flag=True, help="Replace the run in the --out folder."),
    click.option(
        "--series", metavar="TIME", help="Record time series at this interval; default with --out: 100ms."
    ),
    click.option(
        "--pcap", type=click.Path(path_type=Path), help="Capture file: .pcapng, or .pcap for a single node."
    ),
    click.option(
        "--pcap-node",
        "nodes",
        multiple=True,
        metavar="NODE",
        help="Node to capture at: server (the default), ue-0 and so on; may be repeated.",
    ),
    click.option(
        "--pcap-snaplen",
        "snaplen",
        type=click.IntRange(0, MAX_BYTES),
        metavar="BYTES",
        help="Bytes kept of each packet, 0 for all; default: headers only.",
    ),
    click.option(
        "--pcap-real-only", "real_only", is_flag=True, help="Leave out the packets of simulated flows."
    ),
    click.option(
        "--summary",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Write results, accounting and timing as one JSON object to FILE.",
    ),
    click.option(
        "--busy-wait",
        is_flag=True,
        help="Poll instead of sleeping in the last 0.1 ms before each event: lower lateness, more CPU time.",
    ),
    click.option(
        "--coalesce",
        is_flag=True,
        help="Deliver consecutive TCP segments that leave at the same time at once, as the driver of a "
        "modem does: less CPU time, and fewer ACKs.",
    ),
    click.option(
        "--lateness-limit",
        metavar="TIME",
        default="1ms",
        show_default=True,
        help="Warn if the p99 lateness of departures is above this.",
    ),
    click.option(
        "--require",
        "requirements",
        multiple=True,
        metavar="CONDITION",
        help=(
            "Exit with 3 unless every real flow meets CONDITION, as in 'p95 < 80ms' (RTT), "
            "'icmp.rtt_ms_p99 < 0.1s' or 'tcp.goodput_kbps >= 5Mbit'; quantities are columns of `airwnd "
            "explain flows`. Of a battery: 'ping.p95 < 80ms', 'downloads.goodput_kbps > 5Mbit', "
            "'call.loss_percent < 1', 'page.p50 < 3s'. May be repeated."
        ),
    ),
    click.option(
        "--battery",
        type=click.Choice(list(BATTERIES)),
        help="Run a set of workloads in place of a COMMAND and print throughput, ping, losses and page load "
        "times: "
        + "; ".join(f"{name}: {plan.about}" for name, plan in BATTERIES.items())
        + "; each beside a UDP ping.",
    ),
    click.option(
        "--battery-time", metavar="TIME", help="Length of the load, after 2 s of pings alone; default: 20s."
    ),
    click.option(
        "--battery-plot",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Draw the battery's time series and distributions: .svg, .pdf or .png.",
    ),
    click.option("--live", is_flag=True, help="Show throughput, queue, delay and radio in the terminal."),
    click.option("--quiet", is_flag=True, help="Print no summary at the end; warnings are printed."),
)


def _options(command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.group(
    cls=Link,
    invoke_without_command=True,
    subcommand_metavar="[SCENARIO] [-- COMMAND...]",
    context_settings={"allow_interspersed_args": False},
)
@_options
@click.pass_context
def link(
    context: click.Context,
    /,
    trace: str | None,
    rate: str | None,
    rate_up: str | None,
    delay: str | None,
    queue: str | None,
    loss: str | None,
    loss_up: str | None,
    **rest: Any,
) -> None:
    """Run real programs over a simulated cell or link, in real time.

    COMMAND, or a shell, runs on a UE of the SCENARIO. The scenario's other flows are simulated beside it. In
    COMMAND the name `server` is the other end.

    \b
    airwnd link cell.toml -- ping server
    airwnd link cell.toml --ue car -- iperf3 -c server --ue phone -- ping server
    airwnd link --rate 10Mbit --delay 20ms --queue codel -- curl -O http://server/bytes/10MB
    airwnd link --trace nyc-subway                        a shell
    airwnd link mm-delay 20 mm-link UP DOWN -- COMMAND    Mahimahi's commands
    """  # noqa: D301 (Click requires the backspace)
    tables = {name: rest.pop(name) for key in TABLES for name in (key, f"{key}_up")}
    settings = _Settings(**rest)
    settings.check()
    wire = Wire((trace,) if trace else (), rate, rate_up, delay, queue, loss, loss_up, **tables)
    if context.invoked_subcommand:
        if other := [*wire.given(), *(["--ue"] if settings.ues else [])]:
            raise click.UsageError(f"{other[0]} does not apply to {context.invoked_subcommand}.", context)
        context.meta[_SETTINGS] = settings
        return
    words, parts = context.meta[_WORDS]
    if len(words) > 1:
        raise click.UsageError(f"Unexpected argument {words[1]}; a COMMAND follows `--`.", context)
    found = named(parts, settings.ues)
    if wire.given():
        scenario = _wire_scenario(wire, words, found)
    elif words:
        scenario = load(Path(words[0]), ())
    else:
        raise click.UsageError("Missing SCENARIO, --trace or --rate.", context)
    from airwnd.link.session import DEFAULT_END

    _run(settings, scenario, found, DEFAULT_END)


def _wire_scenario(wire: "Wire", words: Sequence[str], parts: Sequence[Part]) -> "Scenario":
    """Build the scenario of a link with the UEs of the COMMANDs; a word besides ``--trace DOWN`` is UP."""
    from airwnd._native import ScenarioError
    from airwnd.link.wire import scenario_of

    option = wire.given()[0]
    if words and not wire.trace:
        raise InputError(f"{option} is for a link without SCENARIO; the links of {words[0]} are its own")
    # A name that comes twice is refused where the COMMANDs are placed.
    names = list(dict.fromkeys(part.ue for part in parts))
    wire = replace(wire, trace=(*wire.trace, *words))
    try:
        piped: dict[str, str] = {}
        return scenario_of("link", [wire.section(piped)], piped, names)
    except ScenarioError as error:
        raise InputError(wire.blamed(str(error))) from None


_COMMAND = click.argument("command", nargs=-1, type=click.UNPROCESSED)
_DIRECTION = click.argument("direction", metavar="uplink|downlink", type=click.Choice(["uplink", "downlink"]))
_QUEUE = click.Choice(QUEUES)
# Exit code of a session whose commands succeed, but not its requirements.
_UNMET = 3
_METER = "As `airwnd link --live`; without a terminal or a COMMAND: no effect."


def _queue_options(way: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    def add(command: Callable[..., None]) -> Callable[..., None]:
        kind = click.option(
            f"--{way}-queue", type=_QUEUE, default="infinite", show_default=True, help="Type of the queue."
        )
        arguments = click.option(
            f"--{way}-queue-args",
            default="",
            metavar="NAME=NUMBER,...",
            help="packets, bytes, and in milliseconds target, interval, qdelay_ref, max_burst.",
        )
        return kind(arguments(command))

    return add


@link.command("mm-link", cls=Shell)
@click.argument("up")
@click.argument("down")
@_COMMAND
@_queue_options("uplink")
@_queue_options("downlink")
@click.option("--once", is_flag=True, help="End the session with the shorter trace; default: traces repeat.")
@click.option("-u", "--uplink-log", metavar="FILE", help="Log of the uplink, in mm-link's format.")
@click.option("-d", "--downlink-log", metavar="FILE", help="Log of the downlink, in mm-link's format.")
@click.option("--meter-uplink", is_flag=True, help=_METER)
@click.option("--meter-uplink-delay", is_flag=True, help=_METER)
@click.option("--meter-downlink", is_flag=True, help=_METER)
@click.option("--meter-downlink-delay", is_flag=True, help=_METER)
@click.option("--meter-all", is_flag=True, help=_METER)
@click.pass_context
def mm_link(
    context: click.Context,
    /,
    up: str,
    down: str,
    command: tuple[str, ...],
    uplink_queue: str,
    uplink_queue_args: str,
    downlink_queue: str,
    downlink_queue_args: str,
    once: bool,
    uplink_log: str | None,
    downlink_log: str | None,
    **meters: bool,
) -> None:
    """Replay link traces as Mahimahi's mm-link does: UP towards the server, DOWN towards COMMAND.

    The other end is this machine for root, otherwise a server of airwnd's own, as without mm-link. Its
    address is in MAHIMAHI_BASE. Options of `airwnd link` precede mm-link, as in `airwnd link --server COMMAND
    mm-link ...`. A COMMAND that begins with mm-link, mm-delay, mm-loss or mm-onoff adds a link to the same
    session.
    """
    queue_up = mahimahi.Queue(uplink_queue, uplink_queue_args)
    queue_down = mahimahi.Queue(downlink_queue, downlink_queue_args)
    chain = _chain(context)
    section = mahimahi.link(up, down, queue_up, queue_down, chain.piped)
    arguments = context.meta[_ARGUMENTS]
    if uplink_log:
        chain.log(uplink_log, "Uplink", up, queue_up, arguments)
    if downlink_log:
        chain.log(downlink_log, "Downlink", down, queue_down, arguments)
    if once:
        chain.once.append(len(chain.links))
    chain.meters += [f"--{name.replace('_', '-')}" for name, value in meters.items() if value]
    _shell(context, section, "[link] ", command)


@link.command("mm-delay", cls=Shell)
@click.argument("milliseconds", type=click.IntRange(0, 60_000))
@_COMMAND
@click.pass_context
def mm_delay(context: click.Context, milliseconds: int, command: tuple[str, ...]) -> None:
    """Delay packets in each direction, as Mahimahi's mm-delay does."""
    _shell(context, mahimahi.delay(milliseconds), f"[delay {milliseconds} ms] ", command)


@link.command("mm-loss", cls=Shell)
@_DIRECTION
@click.argument("rate", type=FiniteRange(0, 1))
@_COMMAND
@click.pass_context
def mm_loss(context: click.Context, direction: str, rate: float, command: tuple[str, ...]) -> None:
    """Lose packets of one direction with probability RATE, as Mahimahi's mm-loss does."""
    _shell(context, mahimahi.loss(direction, rate), f"[loss {_way(direction)}={rate:g}] ", command)


@link.command("mm-onoff", cls=Shell)
@_DIRECTION
@click.argument("mean_on_time", type=FiniteRange(0, 86_400))
@click.argument("mean_off_time", type=FiniteRange(0, 86_400))
@_COMMAND
@click.pass_context
def mm_onoff(
    context: click.Context,
    direction: str,
    mean_on_time: float,
    mean_off_time: float,
    command: tuple[str, ...],
) -> None:
    """Switch one direction on and off for random times with these means in seconds, as mm-onoff does."""
    section = mahimahi.onoff(direction, mean_on_time, mean_off_time)
    prefix = f"[onoff ({_way(direction)}) on={mean_on_time:g}s off={mean_off_time:g}s] "
    _shell(context, section, prefix, command)


def _way(direction: str) -> str:
    return direction.removesuffix("link")


def _chain(context: click.Context) -> mahimahi.Chain:
    found: mahimahi.Chain = context.meta.setdefault(_CHAIN, mahimahi.Chain())
    return found


def _shell(context: click.Context, section: dict[str, Any], prefix: str, command: tuple[str, ...]) -> None:
    """Add a link; run the session, unless the command is another of Mahimahi's shells."""
    chain = _chain(context)
    chain.add(context.info_name or "", section, prefix)
    words = command[2:] if [Path(word).name for word in command[:2]] == ["airwnd", "link"] else command
    _check_shell(words)
    inner = link.commands.get(Path(words[0]).name) if words else None
    if inner:
        with inner.make_context(inner.name, list(words[1:]), parent=context.parent) as below:
            inner.invoke(below)
        return
    from airwnd._native import ScenarioError
    from airwnd.link.session import mahimahi_end
    from airwnd.link.wire import scenario_of

    try:
        scenario = scenario_of(" ".join(chain.names), chain.links, chain.piped)
    except ScenarioError as error:
        raise InputError(chain.blamed(str(error))) from None
    settings = context.meta[_SETTINGS]
    if chain.meters:
        if command and sys.stdin.isatty() and sys.stdout.isatty():
            settings = replace(settings, live=True)
        else:
            click.echo(
                f"mm-link {chain.meters[0]}: the live view shows it, on a terminal and with a COMMAND; "
                "nothing is shown here",
                err=True,
            )
    _run(settings, scenario, [Part(None, command)], mahimahi_end(), chain)


def _run(
    settings: _Settings,
    scenario: "Scenario",
    parts: Sequence[Part],
    end: Mapping[str, Any],
    chain: mahimahi.Chain | None = None,
) -> None:
    """Run a session of COMMANDs or of a battery, and exit with its code."""
    if settings.battery is None:
        code = _run_session(settings, scenario, parts, settings.end(end), chain, None)
    else:
        from airwnd.link.battery.front import LENGTH, prepared

        if any(part.command for part in parts):
            raise InputError("--battery takes the place of a COMMAND")
        with prepared(settings.battery, settings.battery_time or LENGTH) as battery:
            parts = [replace(part, command=battery.command) for part in parts]
            code = _run_session(settings, scenario, parts, battery.end, chain, battery)
    click.get_current_context().exit(code)


def _run_session(
    settings: _Settings,
    scenario: "Scenario",
    parts: Sequence[Part],
    end: Mapping[str, Any],
    chain: mahimahi.Chain | None,
    battery: "Battery | None",
) -> int:
    """Check what a session needs, run it, save and print its results, and return the exit code."""
    from airwnd.link.commands import place
    from airwnd.link.refusals import refusals
    from airwnd.link.requirements import Requirement
    from airwnd.link.session import SERIES, Session, Stop
    from airwnd.link.summary import Tallies

    if settings.live and not all(part.command for part in parts):
        raise InputError("--live needs a COMMAND: a shell and the view cannot share the terminal")
    requirements = [
        Requirement.parse(text, has_battery=battery is not None) for text in settings.requirements
    ]
    scenario = overridden(scenario, settings.settings)
    seed = scenario.seed if settings.seed is None else settings.seed
    placed = place(parts, scenario.resolved)
    session = Session(
        scenario=scenario,
        seed=seed,
        placed=placed,
        end=end,
        has_battery=battery is not None,
        series=settings.series or (SERIES if settings.out else None),
        pcap=Capture(settings.pcap, settings.nodes or ("server",), settings.snaplen, settings.real_only)
        if settings.pcap
        else None,
        keep_flows=settings.keep_flows,
        mtu=settings.mtu,
        sysctls=settings.sysctls,
        logs=chain.logs if chain else (),
        once=chain.once if chain else (),
        busy_wait=settings.busy_wait,
        coalesce=settings.coalesce,
        lateness_limit=settings.lateness_limit,
        captured=settings.live,
    )
    _check_files(settings, scenario, seed, [log["path"] for log in session.logs])
    tallies = Tallies()
    with Stop() as stop:

        def watch(snapshot: "Snapshot") -> bool:
            tallies.add(snapshot)
            return not stop.asked()

        if settings.live:
            from airwnd.link.live import show

            finished = show(session, watch, stop)
        else:
            finished = session.run(watch)
    failure = saved(finished.run, settings.out, force=settings.force) if settings.out else None
    results = battery.results() if battery else None
    _report(settings, session, finished, tallies, results)
    if failure:
        raise failure
    flows, rows = finished.run.outcome["flows"], results.rows() if results else []
    unmet = [line for requirement in requirements for line in requirement.failures(flows, rows)]
    for line in [*refusals(part.command for part in parts), *unmet]:
        click.echo(f"airwnd: {line}", err=True)
    code = stop.code or finished.summary.exit_code
    return code or (_UNMET if unmet else 0)


def _check_files(settings: _Settings, scenario: "Scenario", seed: int, logs: Sequence[str]) -> None:
    """Check, before a session, that its results can be written."""
    from airwnd.support.files import check_file

    for path in [*([settings.summary] if settings.summary else []), *map(Path, logs)]:
        check_file(path)
    if settings.battery_plot:
        from airwnd.plots import save

        save.check(settings.battery_plot)
    if settings.out:
        from airwnd.results import folder as run_folder
        from airwnd.support import manifests

        run_folder.check(settings.out, scenario.resolved, seed, force=settings.force)
        if (settings.out / manifests.FILE).exists() and not settings.force:
            raise InputError(
                f"{settings.out}: holds a run, which a session cannot repeat; --force replaces it"
            )


def _report(
    settings: _Settings,
    session: "Session",
    finished: "Finished",
    tallies: "Tallies",
    results: "Results | None",
) -> None:
    from rich.console import Console

    from airwnd.link.summary import show, show_warnings

    out = Console(stderr=True, highlight=False, markup=False, emoji=False)
    limit_us = session.limit_ns / 1e3
    if settings.quiet:
        show_warnings(finished, limit_us, out)
    else:
        show(finished, tallies, limit_us, out)
    if settings.summary:
        from airwnd.support.files import write_atomically

        found = {**finished.to_json(), **({"battery": results.to_json()} if results else {})}
        write_atomically(settings.summary, json.dumps(found, allow_nan=False) + "\n")
    if results:
        from airwnd.link.battery import results as tables
        from airwnd.text.terminal import console

        tables.show(results, console())
        if settings.battery_plot:
            _draw(results, settings.battery_plot, finished.run.outcome["scenario"])
    if settings.out and not settings.quiet:
        click.echo(f"written to {settings.out}", err=True)


def _draw(results: "Results", path: Path, scenario: str) -> None:
    from airwnd.link.battery.picture import plot_battery
    from airwnd.plots import save

    title = f"{results.battery}: {BATTERIES[results.battery].about}; {scenario}"
    save.save(plot_battery(results, title), path)
