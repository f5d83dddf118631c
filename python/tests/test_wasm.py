"""The crate `airwnd` and a stack as WebAssembly, in node."""

import shutil
import subprocess
from pathlib import Path

import pytest

from .cargo import TARGET, cargo
from .conftest import ROOT

NODE = shutil.which("node")
WASM = "wasm32-wasip1"
RUN = """
import { readFileSync } from "node:fs";
import { WASI } from "node:wasi";
const wasi = new WASI({ version: "preview1", args: [], env: {} });
const module = new WebAssembly.Module(readFileSync(process.argv[2]));
wasi.start(new WebAssembly.Instance(module, wasi.getImportObject()));
"""


@pytest.mark.nightly
@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_a_stack_in_a_cell_has_the_bytes_of_the_native_one_in_node(tmp_path: Path) -> None:
    """smoltcp through a loaded cell: the JSON of all results, twice and as WebAssembly."""
    example = ("-p", "airwnd-smoltcp", "--example", "results")
    rustup = shutil.which("rustup")
    assert rustup is not None
    subprocess.run([rustup, "target", "add", WASM], cwd=ROOT, check=True, capture_output=True)
    cargo("build", *example)
    native = TARGET / "debug" / "examples" / "results"
    cargo("build", *example, "--target", WASM)
    program = tmp_path / "run.mjs"
    program.write_text(RUN, encoding="utf-8")
    module = TARGET / WASM / "debug" / "examples" / "results.wasm"
    commands: tuple[list[str | Path], ...] = (
        [native],
        [native],
        [NODE or "", "--no-warnings", program, module],
    )
    first, second, wasm = (
        subprocess.run(command, check=True, capture_output=True).stdout for command in commands
    )
    assert len(first) > 2000
    assert first == second == wasm
