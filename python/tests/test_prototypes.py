"""Prototypes that are not part of the package can still be repeated."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_patch_of_the_receiver_study_fits() -> None:
    command = ["git", "apply", "--check", "experiments/frontier/prototypes/standing.patch"]
    subprocess.run(command, cwd=ROOT, check=True)
