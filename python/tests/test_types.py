"""The stubs match the native module."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from airwnd import _native

from .conftest import ROOT


def test_stubs_export_what_the_module_exports() -> None:
    stubs = ast.parse((ROOT / "python" / "airwnd" / "_native.pyi").read_text("utf-8"))
    (exported,) = (
        ast.literal_eval(part.value)
        for part in stubs.body
        if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name)
        if part.targets[0].id == "__all__"
    )
    assert sorted(exported) == sorted(_native.__all__)


@pytest.mark.nightly
def test_stubs_match_the_module(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mypy.stubtest", "airwnd._native", "--concise"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
