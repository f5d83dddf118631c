"""Prototypes that are not part of the package can still be repeated."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["standing", "predictor"])
def test_the_patches_of_the_receiver_study_fit(name: str) -> None:
    command = ["git", "apply", "--check", f"experiments/frontier/prototypes/{name}.patch"]
    subprocess.run(command, cwd=ROOT, check=True)
