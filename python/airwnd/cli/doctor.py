"""``airwnd doctor``: what this machine can do, for bug reports."""

import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from shutil import which

import click

from airwnd import _native

#: Programs, and what needs them.
PROGRAMS = {
    "iperf3": "airwnd link: server of iperf3",
    "ping": "airwnd link: pings, guard demo",
    "nft": "airwnd link --internet as root",
    "pasta": "airwnd link --host and --internet without root",
    "tshark": "captures on the command line",
}
#: Packages of extras, and what needs them.
EXTRAS = {
    "matplotlib": "pictures; airwnd[plots]",
    "pandas": "to_pandas(); airwnd[pandas]",
    "distributed": "--dask; airwnd[dask]",
    "gymnasium": "environments; airwnd[gym]",
    "jupyterlab": "notebooks; airwnd[notebooks]",
}
_TIMEOUT_S = 120.0
_SCENARIO = 'duration = "10ms"\n[[site]]\n[[ue]]\n[[flow]]\n'


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def doctor(as_json: bool) -> None:
    """Print what this machine can do: versions, a run, a session, the guard, programs, extras.

    Add its output to a bug report. It changes nothing on the machine.
    """
    found: dict[str, dict[str, str]] = {}
    for part, name, result in findings():
        found.setdefault(part, {})[name] = result
    if as_json:
        click.echo(json.dumps(found, indent=1))
        return
    width = max(len(name) for names in found.values() for name in names)
    for part, names in found.items():
        click.echo(part)
        for name, result in names.items():
            click.echo(f"  {name:<{width}}  {result}")


def findings() -> Iterator[tuple[str, str, str]]:
    """Yield part, name and result of every check."""
    from importlib.metadata import PackageNotFoundError, version

    yield "versions", "airwnd", f"{_native.VERSION}, engine {_native.ENGINE}"
    yield "versions", "Python", f"{platform.python_version()} in {sys.prefix}"
    yield "versions", "system", f"{platform.system()} {platform.release()}, {platform.machine()}"
    yield from _resources()
    yield "simulation", "airwnd run", _run()
    yield "sessions", "airwnd link", _called("link", "--quiet", "--rate", "1Mbit", "--", "true")
    for which_ in ("available", "allowed"):
        yield "sessions", f"{which_} congestion controls", _sysctl(f"tcp_{which_}_congestion_control")
    yield from _guard()
    for name, use in PROGRAMS.items():
        path = which(name)
        yield "programs", name, path or f"missing; {use}"
    for name, use in EXTRAS.items():
        try:
            yield "extras", name, version(name)
        except PackageNotFoundError:
            yield "extras", name, f"missing; {use}"


def _resources() -> Iterator[tuple[str, str, str]]:
    from airwnd.support import memory, threads

    yield "resources", "processor cores", str(threads.cores())
    yield "resources", "memory for runs", f"{memory.share() / 1e9:.1f} GB"


def _run() -> str:
    from airwnd.scenario.scenario import Scenario

    try:
        Scenario.from_toml(_SCENARIO).run(seed=1)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "ok"


def _guard() -> Iterator[tuple[str, str, str]]:
    lines = _called("guard", "check").splitlines()
    for line in lines:
        name, _, result = line.rpartition(": ")
        yield "guard", name or "airwnd guard check", result


def _called(*words: str) -> str:
    """Return the output of a command of airwnd, ``ok`` if it has none, or the reason why it failed."""
    command = [sys.executable, "-I", "-m", "airwnd", *words]
    try:
        done = subprocess.run(  # noqa: S603 (airwnd itself, no shell)
            command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        return f"no answer in {_TIMEOUT_S:.0f} s"
    if done.returncode and not done.stdout.strip():
        return " ".join(done.stderr.split()) or f"exit code {done.returncode}"
    return done.stdout.strip() or "ok"


def _sysctl(name: str) -> str:
    from airwnd.link.refusals import SYSCTLS

    with suppress(OSError):
        return (SYSCTLS / name).read_text(encoding="ascii").strip()
    return f"unknown on {os.name}"
