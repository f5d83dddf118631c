"""Shared fixtures: a small cell, a small experiment, and the command line."""

import asyncio
import importlib
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TypeVar

import hypothesis
import pytest
from _pytest.mark import ParameterSet
from xdist.scheduler import LoadScopeScheduling

from airwnd import Scenario
from airwnd.support.threads import cores

from .browser import browser, context, open_page, shoot
from .command_line import Cli, call, run_process

__all__ = ["Cli", "browser", "context", "open_page", "shoot"]

# A busy machine must not fail a test.
hypothesis.settings.register_profile(
    "airwnd", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("airwnd")

# A shell without job control starts background processes with SIGINT ignored; tests press Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)

# On a busy machine, a command may take long enough to print its progress.
os.environ["AIRWND_PROGRESS"] = "0"

# Tests that call `main()` share their process with others, which a stuck plug-in must not end.
pytest.MonkeyPatch().setattr("airwnd._native.end_when_stuck", lambda *_, **__: None)

#: Files whose tests share expensive fixtures: a package, a cluster, runs.
TOGETHER = {
    *("test_dask", "test_evaluate_answers", "test_evaluate_bbr_draft"),
    *("test_new_algorithm", "test_plots", "test_view"),
}

ROOT = Path(__file__).parents[2]
TABLE6 = ROOT / "experiments" / "arwa-2019" / "table6"

SMALL = """\
name = "small"
duration = "1s"
rlc.queue = { kind = "drop-tail", buffer = "50KiB" }
[[site]]
[[ue]]
count = 3
placement = { kind = "ring", radius = "200m" }
[[flow]]
rwnd = "autotuning"
"""


Result = TypeVar("Result")


def nightly(*values: object, id: str | None = None) -> ParameterSet:  # noqa: A002 (pytest's name of it)
    """Return the values of a parametrized test that `make test` leaves to `make nightly`."""
    return pytest.param(*values, id=id, marks=pytest.mark.nightly)


def in_thread(function: Callable[[], Result]) -> Result:
    """Run a function that starts an event loop: the browser's one may be running in this thread."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result()


def run_async(coroutine: Coroutine[None, None, None]) -> None:
    """Run a coroutine in an event loop of its own."""
    in_thread(lambda: asyncio.run(coroutine))


def script(name: str, folder: Path = ROOT / "docs" / "_site") -> ModuleType:
    """Import a script of a folder that is not a package, and those of the same folder that it imports."""
    # Scripts of other folders have the same names.
    for path in folder.glob("*.py"):
        sys.modules.pop(path.stem, None)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        return importlib.import_module(name)


class Spread(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Gives each core one test at a time, except for the files above, which go first and stay together."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return file if Path(file).stem in TOGETHER else nodeid


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> Spread:
    return Spread(config, log)


def pytest_xdist_auto_num_workers() -> int:
    """One worker more than there are cores: sessions of `airwnd link` and clusters mostly wait."""
    return cores() + 1


#: Collected tests, those that `-m` or `-k` deselects included.
COLLECTED = pytest.StashKey[list[str]]()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    config.stash[COLLECTED] = [item.nodeid for item in items]


@pytest.fixture
def root() -> Path:
    """Root folder of the project."""
    return ROOT


@pytest.fixture(scope="session")
def small() -> Scenario:
    """Three UEs for 0.2 s."""
    return Scenario.from_toml(SMALL).with_(duration="200ms")


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """Call ``airwnd`` in this process, in an empty folder."""
    return partial(call, cwd=tmp_path)


@pytest.fixture
def cli_process(tmp_path: Path) -> Cli:
    """Run ``airwnd`` as a process, in an empty folder: for what a call in this process cannot show."""
    return partial(run_process, cwd=tmp_path)


EXPERIMENT = """
title = "A small one"
place = "Table 0"
seeds = 3

[quick]
seeds = 1
set = { duration = "100ms" }

[[axis]]
name = "users"
label = "Number of users"
key = "ue[0].count"
values = [2, 3]

[[axis]]
name = "method"
label = "Receive window"
[[axis.level]]
name = "drwa"
label = "DRWA"
set = { "flow[0].rwnd" = "drwa" }
[[axis.level]]
name = "autotuning"
label = "Autotuning"
set = { "flow[0].rwnd" = "autotuning" }

[[measure]]
name = "throughput_kbps"
label = "Throughput"
unit = "kbit/s"
value = "totals.throughput_kbps"
digits = 1

[[plot]]
name = "throughput"
title = "Throughput"
kind = "lines"
measure = "throughput_kbps"
x = "users"
lines = "method"
"""

CLAIMS = """
[[claim]]
id = "T1"
text = "Something arrives"
source = "here"
[[claim.check]]
text = "throughput"
expression = "throughput_kbps()"
above = 0
unit = "kbit/s"

[[claim]]
id = "T2"
text = "Nothing arrives"
source = "here"
note = "It does."
[[claim.check]]
text = "throughput"
expression = "throughput_kbps()"
below = 0.001
unit = "kbit/s"
"""

PAPER = """# Example, Table 0.
users,method,throughput_kbps
2,drwa,900
2,autotuning,1000
3,drwa,1900
"""


def write_experiment(top: Path, name: str, files: Mapping[str, str]) -> Path:
    """Write an experiment of the small cell below a folder, and return its folder."""
    folder = top / "experiments" / "example" / name
    folder.mkdir(parents=True)
    for file, text in {"scenario.toml": SMALL, **files}.items():
        (folder / file).write_text(text, encoding="utf-8")
    return folder


#: An experiment with four settings of one second each.
TABLE0 = {"experiment.toml": EXPERIMENT, "claims.toml": CLAIMS, "paper.csv": PAPER}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Folder of `TABLE0`."""
    return write_experiment(tmp_path, "table0", TABLE0)
