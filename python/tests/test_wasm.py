"""The crate `airwnd` and stacks as WebAssembly, in node."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .cargo import TARGET, cargo
from .conftest import ROOT

NODE = shutil.which("node")
WASM = "wasm32-wasip1"
RUN = """
import { readFileSync } from "node:fs";
import { WASI } from "node:wasi";
const wasi = new WASI({ version: "preview1", args: process.argv.slice(2), env: {} });
const module = new WebAssembly.Module(readFileSync(process.argv[2]));
wasi.start(new WebAssembly.Instance(module, wasi.getImportObject()));
"""
#: Programs of the package `ziglang` for ring, which quinn's TLS calls and which has C code. zig's clang has
#: another name for the target than Rust.
COMPILE = """#!/bin/sh
for word; do shift; case "$word" in --target=*) ;; *) set -- "$@" "$word" ;; esac; done
exec {python} -P -m ziglang cc -target wasm32-wasi "$@"
"""
ARCHIVE = """#!/bin/sh
exec {python} -P -m ziglang ar "$@"
"""


@pytest.fixture
def c_for_wasm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Name a C compiler for WebAssembly; always the same, so that cargo keeps what it has compiled."""
    folder = TARGET / "zig"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (("CC", COMPILE), ("AR", ARCHIVE)):
        program = folder / name.lower()
        program.write_text(text.format(python=sys.executable), encoding="utf-8")
        program.chmod(0o755)
        monkeypatch.setenv(f"{name}_{WASM.replace('-', '_')}", str(program))
    for cache in ("GLOBAL", "LOCAL"):
        monkeypatch.setenv(f"ZIG_{cache}_CACHE_DIR", str(folder / "cache"))


@pytest.mark.nightly
@pytest.mark.skipif(NODE is None, reason="node is not installed")
@pytest.mark.usefixtures("c_for_wasm")
@pytest.mark.parametrize(
    ("package", "example", "arguments", "results"),
    [
        # The JSON of all results.
        ("airwnd-smoltcp", "results", (), r"\{.{2000,}\}\n"),
        # The digest of the JSON of all results of each seed.
        ("airwnd-quinn", "many", ("4", "10", "1"), r"4 tests of 10 s: [0-9a-f]{16}\n"),
    ],
)
def test_a_stack_in_a_cell_has_the_bytes_of_the_native_one_in_node(
    tmp_path: Path, package: str, example: str, arguments: tuple[str, ...], results: str
) -> None:
    """A stack through a loaded cell, twice and as WebAssembly."""
    words = ("-p", package, "--example", example)
    rustup = shutil.which("rustup")
    assert rustup is not None
    subprocess.run([rustup, "target", "add", WASM], cwd=ROOT, check=True, capture_output=True)
    cargo("build", *words)
    native = TARGET / "debug" / "examples" / example
    cargo("build", *words, "--target", WASM)
    program = tmp_path / "run.mjs"
    program.write_text(RUN, encoding="utf-8")
    module = TARGET / WASM / "debug" / "examples" / f"{example}.wasm"
    commands: tuple[list[str | Path], ...] = (
        [native, *arguments],
        [native, *arguments],
        [NODE or "", "--no-warnings", program, module, *arguments],
    )
    first, second, wasm = (
        subprocess.run(command, check=True, capture_output=True, text=True).stdout for command in commands
    )
    assert re.fullmatch(results, first), first
    assert first == second == wasm
