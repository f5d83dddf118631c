"""Builds by cargo, with the artefacts of `make test`."""

import json
import os
import subprocess
from pathlib import Path

from .conftest import ROOT

#: Variables of the Makefile, without which cargo would compile everything again.
MAKE = {"PYO3_PYTHON": str(ROOT / ".venv/bin/python3"), "PYO3_BUILD_EXTENSION_MODULE": "1"}
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))


def cargo(*words: str, folder: Path = ROOT) -> str:
    """Run cargo for the workspace of a folder, and return its output."""
    command = ["cargo", *words, "--locked", "--quiet"]
    environment = {**MAKE, **os.environ, "CARGO_TARGET_DIR": str(TARGET)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def unit_tests(package: str) -> Path:
    """Return the executable of the unit tests of a package's library."""
    lines = cargo("test", "--package", package, "--lib", "--no-run", "--message-format", "json").splitlines()
    built = (message["executable"] for message in map(json.loads, lines) if message.get("executable"))
    return Path(next(built))


def gentle_program() -> Path:
    """Return the program of `examples/rust-plugin`, which set-up has usually built."""
    # `cargo run -p` would build every crate once more, with fewer features of their dependencies.
    cargo("test", "--test", "program", "--no-run")
    return TARGET / "debug" / "gentle"
