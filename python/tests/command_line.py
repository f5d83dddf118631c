"""The command line: called in the process of the tests, or as a process of its own.

Both ways have the same arguments and results, which `test_cli.py` compares. A call in this process takes
milliseconds. A process takes a second for the interpreter and its imports, and is for what a call cannot
show: signals, pipes, and commands that end or block their process.
"""

import contextlib
import io
import logging
import os
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import pytest

from airwnd.cli import main

from .waiting import running, wait_until

#: Program and first arguments of a process.
AIRWND = (sys.executable, "-P", "-m", "airwnd")

Done = subprocess.CompletedProcess[str]
Cli = Callable[..., Done]


def command_words(*arguments: str | Path) -> list[str]:
    """Return the words of a command for a process."""
    return [*AIRWND, *map(str, arguments)]


def run_process(*arguments: str | Path, cwd: Path, environment: Mapping[str, str] | None = None) -> Done:
    """Run a command as a process; `environment` adds to the variables of this process."""
    return subprocess.run(
        command_words(*arguments),
        cwd=cwd,
        env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def run_interrupted(
    *arguments: str | Path, cwd: Path, when: Callable[[], bool], by: signal.Signals = signal.SIGINT
) -> Done:
    """Run a command as a process that gets a signal as soon as a condition holds."""
    pipe = subprocess.PIPE
    with running(
        command_words(*arguments), cwd, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe
    ) as process:
        wait_until(when, process)
        process.send_signal(by)
        output, errors = process.communicate()
    return Done(process.args, process.returncode, output, errors)


def call(
    *arguments: str | Path, cwd: Path, environment: Mapping[str, str] | None = None, terminal: bool = False
) -> Done:
    """Call a command in this process, and check that it leaves the process as it was.

    Parameters
    ----------
    arguments
        Words after ``airwnd``.
    cwd
        Current folder during the call.
    environment
        Further environment variables.
    terminal
        Whether standard input and output claim to be a terminal.
    """
    given = list(map(str, arguments))
    with contextlib.chdir(cwd), _variables(environment or {}), _printed_warnings():
        before = _state()
        with _streams(terminal=terminal) as read:
            sys.argv = ["airwnd", *given]
            with pytest.raises(SystemExit) as ended:
                main()
            output, errors = read()
        after = _state()
    left = [name for name, value in before.items() if after[name] != value]
    assert not left, f"airwnd {given} has changed {left}"
    code = ended.value.code or 0
    assert isinstance(code, int)
    return Done(given, code, output, errors)


def _state() -> dict[str, object]:
    """Return what a command could leave to later tests."""
    plots = sys.modules.get("matplotlib")
    return {
        **({"settings of Matplotlib": plots.rcParams.copy()} if plots else {}),
        "the current folder": Path.cwd(),
        # Polars sets `_RJEM_MALLOC_CONF` when it is imported.
        "environment variables": {name: os.environ[name] for name in os.environ if name[0] != "_"},
        "the import path": sys.path[:],
        "handlers of signals": {each: signal.getsignal(each) for each in signal.valid_signals()},
        "blocked signals": signal.pthread_sigmask(signal.SIG_BLOCK, ()),
        "hooks": (sys.excepthook, sys.unraisablehook, threading.excepthook, warnings.showwarning),
        "logging": (logging.root.level, logging.root.handlers[:]),
    }


@contextlib.contextmanager
def _variables(variables: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextlib.contextmanager
def _printed_warnings() -> Iterator[None]:
    """Print warnings for users, as a process does; all others remain errors."""

    def show(
        message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: object, **__: object
    ) -> None:
        sys.stderr.write(warnings.formatwarning(message, category, filename, lineno))

    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = show
        yield


class _Terminal(io.TextIOWrapper):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


@contextlib.contextmanager
def _streams(*, terminal: bool) -> Iterator[Callable[[], list[str]]]:
    """Redirect the standard streams, and the descriptors that the engine and child processes write to.

    Yields
    ------
    A function that returns the text of standard output and that of standard error.
    """
    kind = _Terminal if terminal else io.TextIOWrapper
    before = sys.argv, sys.stdin, sys.stdout, sys.stderr
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(TemporaryFile("w+", encoding="utf-8")) for _ in range(2)]
        for descriptor, file in enumerate(files, 1):
            stack.enter_context(_redirected(descriptor, file))
        nothing = stack.enter_context(Path(os.devnull).open("rb"))
        output, errors = (stack.enter_context(os.fdopen(number, "wb", closefd=False)) for number in (1, 2))
        streams = kind(nothing, "utf-8"), kind(output, "utf-8"), io.TextIOWrapper(errors, "utf-8")
        streams[2].reconfigure(line_buffering=True)

        def read() -> list[str]:
            for stream in streams[1:]:
                stream.flush()
            for file in files:
                file.seek(0)
            return [file.read() for file in files]

        sys.stdin, sys.stdout, sys.stderr = streams
        try:
            yield read
        finally:
            sys.argv, sys.stdin, sys.stdout, sys.stderr = before


@contextlib.contextmanager
def _redirected(descriptor: int, file: IO[Any]) -> Iterator[None]:
    before = os.dup(descriptor)
    os.dup2(file.fileno(), descriptor)
    try:
        yield
    finally:
        os.dup2(before, descriptor)
        os.close(before)
