"""``airwnd stack``."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from airwnd.cli import completion
from airwnd.cli.options import FILE, PROGRESS, SET, bar, code_options, load, pairs, toml_values
from airwnd.plugins.permission import CodePolicy
from airwnd.support.errors import EngineError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from airwnd.study.stacks import Stack
    from airwnd.study.trial import Report, Trial

#: Exit code if a condition does not hold, as of ``airwnd link``.
NOT_MET = 3
#: Measures that are printed, with the digits of their numbers.
MEASURES = {
    "goodput_kbps": 0,
    "delay_ms_p95": 1,
    "queueing_delay_ms_p95": 1,
    "loss_percent": 2,
    "retransmissions": 0,
}
_CONDITION = re.compile(r"\s*(?P<measure>[a-z]\w*)\s*(?P<operator>>=|<=)\s*(?P<limit>[-+\d.eE]+)\s*")


@click.command()
@click.argument("stack", shell_complete=completion.stacks)
@FILE
@click.option("--cc", metavar="NAME", help="Congestion control of the stack: the same as --option cc=NAME.")
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    help="Set an option of the stack, an argument of its function. May be repeated.",
)
@SET
@click.option(
    "--seeds",
    type=click.IntRange(1),
    default=3,
    show_default=True,
    metavar="N",
    help="Run with seeds 1 to N.",
)
@click.option(
    "--ue", metavar="NAME", help="UE of the connection, as in phone or phone-0; default: the first."
)
@click.option("--duration", metavar="TIME", help="Duration of the connection; default: that of the scenario.")
@click.option(
    "--require",
    "conditions",
    multiple=True,
    metavar="CONDITION",
    help="Require that the whole interval of a measure meets a limit, as in 'goodput_kbps >= 5000'; "
    "otherwise the exit code is 3. May be repeated.",
)
@click.option(
    "--qlog",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Write a qlog of the network and of both ends for each seed.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Folder for the results, with a folder for each seed, which airwnd view opens.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@code_options
@PROGRESS
def stack(
    stack: str,
    file: Path,
    cc: str | None,
    options: tuple[str, ...],
    settings: tuple[str, ...],
    seeds: int,
    ue: str | None,
    duration: str | None,
    conditions: tuple[str, ...],
    qlog: Path | None,
    out: Path | None,
    as_json: bool,
    policy: CodePolicy,
    progress: bool | None,
) -> None:
    """Connect a transport stack through the scenario in FILE, in virtual time.

    \b
    STACK
    quinn, quinn:bbr      a stack of an installed package, such as airwnd-stacks
    my_stack.py:connect   a Python function, which is executed

    The function gets a seed, and returns the endpoint at the UE and that at the server. Flows of the scenario
    are simulated beside the connection.
    """  # noqa: D301 (Click requires the backspace)
    from airwnd.results.engine import duration_ns
    from airwnd.study.stacks import find
    from airwnd.study.trial import Trial

    required = [_condition(text) for text in conditions]
    given = _options(cc, options)
    scenario = load(file, settings, policy)
    duration_s = None if duration is None else duration_ns("duration", duration) / 1e9
    trial = Trial(scenario, seeds, duration_s=duration_s, ue=ue)
    found = find(stack, given)
    for folder in filter(None, (qlog, out)):
        folder.mkdir(parents=True, exist_ok=True)
    with bar(f"{stack} in {scenario.name or file.stem}", progress) as update:
        report = _run(trial, found, qlog, update)
    for seed, run in zip(range(1, seeds + 1), report.runs, strict=True):
        if out is not None:
            run.save(out / f"seed-{seed}", force=True)
    failed = [message for condition in required if (message := condition(report)) is not None]
    if as_json:
        click.echo(json.dumps(_encoded(stack, given, report) | {"failed": failed}, allow_nan=False))
    else:
        _show(report)
    for message in failed:
        click.echo(f"airwnd: required: {message}", err=True)
    if failed:
        raise click.exceptions.Exit(NOT_MET)


def _run(
    trial: "Trial", stack: "Stack", qlog: Path | None, update: "Callable[[float], None] | None"
) -> "Report":
    from airwnd import _native

    try:
        return trial.run(stack, qlog=qlog, progress=update)
    except (InputError, EngineError, OSError, _native.ScenarioError):
        raise
    except Exception as error:
        raise InputError(stack.explain(error)) from error


def _options(cc: str | None, texts: tuple[str, ...]) -> dict[str, object]:
    found = toml_values(pairs("option", texts).items())
    if cc is None:
        return found
    if "cc" in found:
        raise InputError(f"--cc {cc}: --option cc={found['cc']} is given, too")
    return {"cc": cc, **found}


def _condition(text: str) -> "Callable[[Report], str | None]":
    """Read a condition; it returns a message if a report does not meet it."""
    from airwnd.study.trial import measure_names

    match = _CONDITION.fullmatch(text)
    try:
        limit = float(match["limit"]) if match else None
    except ValueError:
        limit = None
    if match is None or limit is None:
        raise InputError(
            f"--require {text}: expected MEASURE, one of >= <=, and a number, as in 'goodput_kbps >= 5000'"
        )
    measure, is_minimum = match["measure"], match["operator"] == ">="
    if measure not in measure_names():
        known = ", ".join(MEASURES)
        raise InputError(
            f"--require {text}: unknown measure `{measure}`; allowed: {known}, and other columns of flows"
        )

    def judged(report: "Report") -> str | None:
        try:
            if is_minimum:
                report.assert_at_least(measure, limit)
            else:
                report.assert_at_most(measure, limit)
        except AssertionError as failure:
            return str(failure)
        return None

    return judged


def _encoded(stack: str, options: dict[str, object], report: "Report") -> dict[str, object]:
    import math

    def number(value: float) -> float | None:
        return value if math.isfinite(value) else None

    measures = {}
    for name in MEASURES:
        values, found = report.values(name), report.interval(name)
        measures[name] = {
            "mean": number(found.mean),
            "low": number(found.low),
            "high": number(found.high),
            "by_seed": {str(seed): number(value) for seed, value in values.items()},
        }
    return {"stack": stack, "options": options, "measures": measures}


def _show(report: "Report") -> None:
    """Print the means of the measures, their intervals and the values of the seeds."""
    import math

    from airwnd.study.trial import label_of
    from airwnd.text.terminal import Column, console, number, sheet

    def text(value: float, digits: int) -> str:
        return number(None if math.isnan(value) else value, digits)

    found = {name: report.interval(name) for name in MEASURES}
    values = {name: report.values(name) for name in MEASURES}
    seeds = list(values["goodput_kbps"])
    intervals = [
        ""
        if math.isinf(each.low) or math.isnan(each.low)
        else f"[{text(each.low, digits)}, {text(each.high, digits)}]"
        for each, digits in zip(found.values(), MEASURES.values(), strict=True)
    ]
    sheet(
        [
            Column("measure", [", ".join(filter(None, label_of(name))) for name in MEASURES], is_name=True),
            Column("mean", [text(found[name].mean, digits) for name, digits in MEASURES.items()]),
            Column("95 % CI", intervals),
            *(
                Column(
                    f"seed {seed}",
                    [text(values[name][seed], digits) for name, digits in MEASURES.items()],
                    rank=2,
                    key=f"seed {seed}",
                )
                for seed in seeds
            ),
        ],
        console(),
    )
