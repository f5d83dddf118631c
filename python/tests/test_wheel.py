"""The package as users get it: with all experiments inside, and complete without a clone of the project."""

import os
import subprocess
import sys
import sysconfig
import venv
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

import pytest

import airwnd

from .conftest import ROOT, SMALL


def contents(folder: Traversable, prefix: str = "") -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for entry in folder.iterdir():
        name = f"{prefix}{entry.name}"
        found |= contents(entry, f"{name}/") if entry.is_dir() else {name: entry.read_bytes()}
    return found


def test_the_installed_package_has_all_experiments() -> None:
    installed = contents(resources.files(airwnd) / "experiments")
    shipped = contents(ROOT / "experiments")
    assert sorted(installed) == sorted(shipped)
    assert installed == shipped
    assert {name for name in installed if name.endswith("paper.toml")} >= {"arwa-2019/paper.toml"}


@pytest.mark.nightly
def test_the_wheel_works_in_an_empty_folder(tmp_path: Path) -> None:
    here = Path(sysconfig.get_path("scripts"))
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))
    }
    environment |= {"PATH": f"{here}:{environment['PATH']}", "PYO3_PYTHON": sys.executable}

    def call(*command: str | Path, cwd: Path) -> str:
        done = subprocess.run(
            [*map(str, command)], cwd=cwd, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    wheels = tmp_path / "wheels"
    build = ("pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", wheels, ROOT)
    call(sys.executable, "-m", *build, cwd=tmp_path)
    (wheel,) = wheels.iterdir()
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    call(python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel, cwd=tmp_path)
    # What airwnd needs is borrowed from this environment; the new one's own packages come first.
    packages = call(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=tmp_path)
    (Path(packages.strip()) / "borrowed.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")

    empty = tmp_path / "empty"
    empty.mkdir()
    home = call(python, "-c", "import airwnd; print(airwnd.__file__)", cwd=empty)
    assert Path(home).is_relative_to(tmp_path / "venv")
    (empty / "scenario.toml").write_text(SMALL, encoding="utf-8")
    command = tmp_path / "venv" / "bin" / "airwnd"
    call(command, "run", "scenario.toml", "--series", "50ms", "--out", "run", cwd=empty)
    call(command, "view", "run", "--out", "run.html", "--no-open", cwd=empty)
    call(command, "sweep", "scenario.toml", "--grid", "ue[0].count=2,3", "--out", "swept", cwd=empty)
    call(command, "reproduce", "arwa-2019/fig3", "--quick", "--seeds", "1", cwd=empty)
    assert (empty / "run" / "manifest.json").is_file()
    assert (empty / "run.html").is_file()
    assert (empty / "swept" / "runs.parquet").is_file()
    assert "A01" in (empty / "out" / "arwa-2019" / "index.html").read_text(encoding="utf-8")
