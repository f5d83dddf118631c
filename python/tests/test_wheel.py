"""The package as installed by users: with all experiments, and complete without a clone of the project."""

import base64
import csv
import ctypes
import gzip
import hashlib
import os
import platform
import shutil
import struct
import subprocess
import sys
import sysconfig
import venv
import zipfile
import zlib
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

import pytest

import airwnd

from .conftest import ROOT, SMALL


def contents(folder: Traversable, prefix: str = "") -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for entry in folder.iterdir():
        # Compiled programs of experiments.
        if entry.name == "__pycache__":
            continue
        name = f"{prefix}{entry.name}"
        found |= contents(entry, f"{name}/") if entry.is_dir() else {name: entry.read_bytes()}
    return found


def test_the_installed_package_has_all_experiments() -> None:
    installed = contents(resources.files(airwnd) / "experiments")
    shipped = contents(ROOT / "experiments")
    assert sorted(installed) == sorted(shipped)
    assert installed == shipped
    assert {name for name in installed if name.endswith("paper.toml")} >= {"arwa-2019/paper.toml"}


# Any CPython from 3.11 on, on any Linux with glibc 2.28 or later.
TAGS = f"cp311-abi3-manylinux_2_28_{platform.machine()}"


@pytest.mark.nightly
def test_debug_information_of_a_module_is_in_a_file_of_its_own(tmp_path: Path) -> None:
    source, package = tmp_path / "answer.c", tmp_path / "unpacked" / "small"
    package.mkdir(parents=True)
    module, metadata = package / "answer.so", tmp_path / "unpacked" / "small-1.dist-info"
    source.write_text("int answer(void) { return 42; }")
    compiler = shutil.which("cc")
    assert compiler
    subprocess.run([compiler, "-g", "-shared", "-fPIC", "-o", module, source], check=True)
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: small\nVersion: 1\n")
    (metadata / "WHEEL").write_text("Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: py3-none-any\n")
    pack: list[str | Path] = [
        sys.executable,
        "-I",
        "-m",
        "wheel",
        "pack",
        "--dest-dir",
        tmp_path,
        tmp_path / "unpacked",
    ]
    subprocess.run(pack, check=True, stdout=subprocess.DEVNULL)
    wheel = tmp_path / "small-1-py3-none-any.whl"
    before = module.read_bytes()

    tool: list[str | Path] = [sys.executable, "-I", ROOT / "tools" / "split_debug.py", wheel]
    done = subprocess.run(tool, check=True, capture_output=True, text=True)
    packed = tmp_path / "small-1-py3-none-any.answer.so.debug.gz"
    assert done.stdout == f"{packed}\n"

    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    stripped = tmp_path / "installed" / "small" / "answer.so"
    after, debug = stripped.read_bytes(), gzip.decompress(packed.read_bytes())
    assert (b".debug_line" in before, b".debug_line" in after, b".debug_line" in debug) == (True, False, True)
    assert ctypes.CDLL(str(stripped)).answer() == 42
    # A debug link is the name of the file, padded to a multiple of four bytes, and the CRC-32 of its content.
    assert b"answer.so.debug\0" + struct.pack("<I", zlib.crc32(debug)) in after
    record = (tmp_path / "installed" / "small-1.dist-info" / "RECORD").read_text()
    digests = {name: digest for name, digest, _ in csv.reader(record.splitlines())}
    digest = base64.urlsafe_b64encode(hashlib.sha256(after).digest()).decode().rstrip("=")
    assert digests["small/answer.so"] == f"sha256={digest}"

    again = subprocess.run(tool, check=False, capture_output=True, text=True)
    assert again.returncode == 1
    assert again.stderr == f"{wheel}: no module with debug information\n"


@pytest.fixture
def environment() -> dict[str, str]:
    """Environment variables without this environment's Python, but with its build tools."""
    here = Path(sysconfig.get_path("scripts"))
    found = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))
    }
    return found | {"PATH": f"{here}:{found['PATH']}", "PYO3_PYTHON": sys.executable}


# Checks of the installed package: reading all experiments requires each of their files.
READ_ALL = """
from airwnd.study.reproduce.design import Experiment
from airwnd.study.reproduce.search import find_all

names = {Experiment.load(folder).name for folder in find_all()}
print(len(names))
"""


# The first Python example of the README, at a small scale.
FROM_PYTHON = """
import airwnd

run = airwnd.Scenario.load("scenario.toml").run(series="50ms")
run.plot("queue_bytes").figure.savefig("queue.png")
print(run.flows.select("id", "goodput_kbps").height)
"""


@pytest.mark.nightly
def test_the_release_works_in_an_empty_environment_and_folder(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    """``make dist`` builds a wheel from only the source distribution; the wheel is self-contained."""

    def call(*command: str | Path, cwd: Path) -> str:
        done = subprocess.run(
            [*map(str, command)], cwd=cwd, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    dist = tmp_path / "dist"
    call("make", "dist", f"DIST={dist}", cwd=ROOT)
    version = airwnd.__version__
    source, wheel = dist / f"airwnd-{version}.tar.gz", dist / f"airwnd-{version}-{TAGS}.whl"
    debug = dist / f"{wheel.stem}._native.abi3.so.debug.gz"
    assert sorted(dist.iterdir()) == sorted([source, wheel, debug])
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    call(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel, cwd=tmp_path)

    empty = tmp_path / "empty"
    empty.mkdir()
    home = call(python, "-c", "import airwnd; print(airwnd.__file__)", cwd=empty)
    assert Path(home).is_relative_to(tmp_path / "venv")
    shipped = list((ROOT / "experiments").glob("*/*/experiment.toml"))
    assert int(call(python, "-c", READ_ALL, cwd=empty)) == len(shipped)
    (empty / "scenario.toml").write_text(SMALL, encoding="utf-8")
    command = tmp_path / "venv" / "bin" / "airwnd"
    assert call(command, "--version", cwd=empty).split()[-1] == version
    assert "cubic" in call(command, "list", cwd=empty)
    assert "kbit/s" in call(command, "explain", "flows.goodput_kbps", cwd=empty)
    call(command, "check", "scenario.toml", cwd=empty)
    assert int(call(python, "-c", FROM_PYTHON, cwd=empty)) == 3
    assert (tmp_path / "venv" / "share" / "man" / "man1" / "airwnd-run.1").is_file()
    call(command, "run", "scenario.toml", "--series", "50ms", "--out", "run", cwd=empty)
    call(command, "view", "run", "--out", "run.html", "--no-open", cwd=empty)
    call(command, "sweep", "scenario.toml", "--grid", "ue[0].count=2,3", "--out", "swept", cwd=empty)
    said = call(command, "reproduce", "arwa-2019/fig3", "--quick", "--seeds", "1", cwd=empty)
    assert "preview" in said
    assert (empty / "run" / "manifest.json").is_file()
    assert (empty / "run.html").is_file()
    assert (empty / "swept" / "runs.parquet").is_file()
    # The text of a claim comes from the paper's file, next to the experiments.
    assert "A01" in (empty / "out" / "arwa-2019" / "index.html").read_text(encoding="utf-8")
    assert (empty / "out" / "verdicts.csv").is_file()
