"""The stubs match the native module."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.nightly
def test_stubs_match_the_module(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mypy.stubtest", "airwnd._native", "--concise"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
