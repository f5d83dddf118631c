"""A Dask cluster as workers: losses are repaired, or reported in one line."""

import gc
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

import airwnd
from airwnd import EngineError, InputError, Scenario, _native
from airwnd.study.batch import Dask, Processes, Store, Task, carry_out

from .command_line import run_interrupted
from .conftest import ROOT, Cli
from .test_batch import WIRE, Finalized, deadly, names
from .test_sweep import contents
from .waiting import wait_until

__all__ = ["deadly"]

# Dask leaves sockets of closed connections to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")

#: Timeout, sufficient on the slowest machine.
HANG_S = 600


@pytest.fixture(scope="module")
def wire() -> Scenario:
    return Scenario.from_dict(WIRE)


@contextmanager
def local_cluster(allowed_failures: int) -> Iterator[Any]:
    import dask
    import distributed

    make: Any = distributed.LocalCluster
    settings = {
        "distributed.scheduler.allowed-failures": allowed_failures,
        # Dask does not start a worker again that has been absent for a quarter of a minute.
        "distributed.deploy.lost-worker-timeout": HANG_S,
    }
    with (
        dask.config.set(settings),
        make(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
    ):
        yield cluster
    # Here, rather than during a test of another module.
    gc.collect()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    # A task that kills its worker fails at once: waiting for more deaths would take long.
    with local_cluster(allowed_failures=0) as cluster:
        yield cluster


def _client(address: str) -> Any:
    import distributed

    make: Any = distributed.Client
    return make(address, timeout=HANG_S, set_as_default=False)


def on_all_workers(cluster: Any, function: Callable[[str], object], argument: str) -> None:
    with _client(cluster.scheduler_address) as client:
        client.run(function, argument)


GRID: dict[str, list[object]] = {"link[0].queue": [5, 10, 20, 30, 40, 50, 60, 70, 80, 90]}


def worker_pids(cluster: Any) -> list[int]:
    return [nanny.pid for nanny in cluster.workers.values() if nanny.pid is not None]


def long_tasks(wire: Scenario, number: int = 40) -> list[Task]:
    return [Task(wire.with_(duration="30s"), seed) for seed in range(number)]


def test_a_cluster_gives_the_same_bytes(wire: Scenario, tmp_path: Path, cluster: Any) -> None:
    workers = Dask(cluster.scheduler_address, HANG_S, HANG_S)
    airwnd.sweep(wire, grid=GRID, seeds=30, out=tmp_path / "dask", workers=workers)
    airwnd.sweep(wire, grid=GRID, seeds=30, out=tmp_path / "here")
    assert contents(tmp_path / "dask") == contents(tmp_path / "here")


def test_the_command_line_uses_a_cluster(cli_process: Cli, tmp_path: Path, cluster: Any) -> None:
    (tmp_path / "wire.json").write_text(json.dumps(WIRE), encoding="utf-8")
    arguments = ("--grid", "link[0].queue=5,50", "--dask", cluster.scheduler_address, "--out", "out")
    done = cli_process("sweep", "wire.json", *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert "2 runs of 2 settings in" in done.stdout
    assert "on the cluster" in done.stdout


def test_series_are_returned_from_the_cluster(wire: Scenario, tmp_path: Path, cluster: Any) -> None:
    [run] = carry_out(
        [Task(wire, 1, "100ms")], Store(tmp_path), Dask(cluster.scheduler_address, HANG_S, HANG_S)
    )
    assert run.series.equals(wire.run(1, series="100ms").series)


def test_the_permission_to_execute_code_is_passed_on(tmp_path: Path, cluster: Any) -> None:
    example = ROOT / "examples" / "python-plugin" / "scenario.toml"
    workers = Dask(cluster.scheduler_address, HANG_S, HANG_S)
    allowed = Scenario.load(example, allow_code=True).with_(duration="100ms")
    [run] = carry_out([Task(allowed, 1)], Store(tmp_path), workers)
    assert run.outcome["flows"] == allowed.run(1).outcome["flows"]


def test_an_exception_is_raised_unchanged(wire: Scenario, tmp_path: Path, cluster: Any) -> None:
    tasks = [Task(wire, 1, "0ms"), *(Task(wire, seed) for seed in range(20))]
    with pytest.raises(InputError, match="`0ms` is not a sampling interval"):
        carry_out(tasks, Store(tmp_path), Dask(cluster.scheduler_address, HANG_S, HANG_S))
    assert len(names(tmp_path)) == 20


def test_a_worker_with_another_engine_is_one_error(wire: Scenario, tmp_path: Path, cluster: Any) -> None:
    def become(engine: str) -> None:
        from airwnd import _native

        vars(_native)["ENGINE"] = engine

    on_all_workers(cluster, become, "9.9.9+fade")
    try:
        with pytest.raises(InputError) as caught:
            carry_out([Task(wire, 1)], Store(tmp_path), Dask(cluster.scheduler_address, HANG_S, HANG_S))
    finally:
        on_all_workers(cluster, become, _native.ENGINE)
    assert str(caught.value) == (
        f"a Dask worker has engine 9.9.9+fade, this process has {_native.ENGINE}: "
        "install the same airwnd on both"
    )


@pytest.mark.nightly
def test_a_killed_worker_changes_no_byte(wire: Scenario, tmp_path: Path) -> None:
    base = wire.with_(duration="30s")
    killed: list[int] = []
    with local_cluster(allowed_failures=3) as cluster:

        def kill(fraction: float) -> None:
            if fraction > 0.1 and not killed:
                killed.append(worker_pids(cluster)[0])
                os.kill(killed[0], signal.SIGKILL)

        workers = Dask(cluster.scheduler_address, HANG_S, HANG_S)
        airwnd.sweep(base, grid=GRID, seeds=4, out=tmp_path / "dask", workers=workers, progress=kill)
    assert killed
    airwnd.sweep(base, grid=GRID, seeds=4, out=tmp_path / "here")
    assert contents(tmp_path / "dask") == contents(tmp_path / "here")


@pytest.mark.nightly
def test_a_task_that_kills_its_workers_is_one_error_after_the_other_runs(
    wire: Scenario, tmp_path: Path, cluster: Any, deadly: Task
) -> None:
    def reach(folder: str) -> None:
        sys.path.append(folder)

    on_all_workers(cluster, reach, sys.path[0])
    tasks = [*(Task(wire, seed) for seed in range(20)), deadly]
    with pytest.raises(EngineError, match=r"wire.*: 1 Dask workers that ran it died"):
        carry_out(tasks, Store(tmp_path / "runs"), Dask(cluster.scheduler_address, HANG_S, HANG_S))
    # This cluster allows no failure: a task that reaches a worker just before it ends counts as the cause.
    assert len(names(tmp_path / "runs")) >= 19


def test_without_dask_there_is_a_hint(
    wire: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"Dask is not installed: pip install 'airwnd\[dask\]'"):
        carry_out([Task(wire, 1)], Store(tmp_path), Dask("tcp://127.0.0.1:1"))


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("tcp://127.0.0.1:1", "tcp://127.0.0.1:1: no Dask scheduler answers within 0.5 s"),
        ("tcp://no.such.host.invalid:8786", "no Dask scheduler answers within 0.5 s"),
        ("nonsense", "nonsense: missing port number"),
        ("ftp://a:1", "ftp://a:1: unknown address scheme"),
    ],
)
def test_no_scheduler_is_one_error(wire: Scenario, tmp_path: Path, address: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        carry_out([Task(wire, 1)], Store(tmp_path), Dask(address, timeout_s=0.5))
    assert message in str(caught.value)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def scheduler(
    port: int, workers: int = 1, environment: Mapping[str, str] = os.environ
) -> Iterator["subprocess.Popen[bytes]"]:
    """A scheduler with workers that end with it."""
    commands = [["dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]]
    commands += [
        ["dask_worker", f"tcp://127.0.0.1:{port}", "--nthreads", "1", "--no-nanny", "--no-dashboard"]
    ] * workers
    with ExitStack() as stack:
        processes = []
        for module, *arguments in commands:
            command = [sys.executable, "-m", f"distributed.cli.{module}", *arguments]
            process = subprocess.Popen(
                command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
            )
            stack.callback(process.wait)
            stack.callback(process.kill)
            processes.append(process)
        with _client(f"tcp://127.0.0.1:{port}") as client:
            wait_until(lambda: len(client.nthreads()) >= workers, processes[-1])
        yield processes[0]


def once(fraction: float, act: Callable[[], object]) -> Callable[[float], None]:
    done: list[float] = []

    def progress(reported: float) -> None:
        if reported > fraction and not done:
            done.append(reported)
            act()

    return progress


@pytest.mark.nightly
def test_a_restarted_scheduler_gets_the_missing_runs(wire: Scenario, tmp_path: Path) -> None:
    port = free_port()
    with ExitStack() as stack:
        first = stack.enter_context(scheduler(port))
        finished_before: list[int] = []

        def restart() -> None:
            finished_before.append(len(names(tmp_path)))
            first.kill()
            first.wait()
            second.start()

        # Some time passes without a scheduler.
        second = threading.Timer(0.5, lambda: stack.enter_context(scheduler(port)))
        workers = Dask(f"tcp://127.0.0.1:{port}", HANG_S, HANG_S)
        results = carry_out(long_tasks(wire), Store(tmp_path), workers, once(0.3, restart))
        second.join()
    assert finished_before[0] > 10
    assert [run.outcome["seed"] for run in results] == list(range(40))


@pytest.mark.nightly
def test_a_lost_scheduler_is_one_error_and_keeps_finished_runs(
    wire: Scenario, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    with scheduler(port) as process, pytest.raises(InputError) as caught:
        carry_out(long_tasks(wire), Store(tmp_path), Dask(address, HANG_S, 1), once(0.3, process.kill))
    assert capfd.readouterr().err == "", "the exception has the complete message"
    kept = len(names(tmp_path))
    assert kept > 10
    assert str(caught.value) == (
        f"{address}: no Dask scheduler answers within 1 s; {kept} runs are finished and kept, "
        "and the same command continues from there"
    )
    assert carry_out(long_tasks(wire), Store(tmp_path), Processes(2)).reused == kept


@pytest.mark.nightly
def test_a_scheduler_lost_during_a_question_is_noticed(
    wire: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from distributed import Client

    ask: Any = Client.nthreads
    port = free_port()
    with scheduler(port) as process:

        def late(client: Any, **options: object) -> object:
            process.kill()
            wait_until(lambda: client.status == "connecting")
            return ask(client, **options)

        monkeypatch.setattr(Client, "nthreads", late)
        # Dask itself would wait for the answer as long as for the first one: longer than a test may take.
        with pytest.raises(InputError, match="no Dask scheduler answers within 1 s"):
            carry_out([Task(wire, 1)], Store(tmp_path), Dask(f"tcp://127.0.0.1:{port}", 10 * HANG_S, 1))


@pytest.mark.nightly
def test_a_cluster_without_workers_is_one_error(wire: Scenario, tmp_path: Path) -> None:
    port = free_port()
    with (
        scheduler(port, workers=0),
        pytest.raises(InputError, match="the Dask scheduler has no workers for 1 s"),
    ):
        carry_out([Task(wire, 1)], Store(tmp_path), Dask(f"tcp://127.0.0.1:{port}", HANG_S, 1))


@pytest.mark.nightly
def test_a_worker_without_airwnd_is_one_error(wire: Scenario, tmp_path: Path) -> None:
    (tmp_path / "airwnd.py").write_text("", encoding="utf-8")
    port = free_port()
    with (
        scheduler(port, environment={**os.environ, "PYTHONPATH": str(tmp_path)}),
        pytest.raises(
            InputError, match=r"a Dask worker cannot run airwnd's tasks \(No module named 'airwnd\.study'"
        ),
    ):
        carry_out([Task(wire, 1)], Store(tmp_path), Dask(f"tcp://127.0.0.1:{port}", HANG_S, HANG_S))


def test_an_interrupt_in_a_finalizer_is_neither_lost_nor_printed(
    wire: Scenario, tmp_path: Path, cluster: Any
) -> None:
    pressed = [Finalized()]
    workers = Dask(cluster.scheduler_address, HANG_S, HANG_S)
    with pytest.raises(KeyboardInterrupt):
        carry_out(long_tasks(wire, 400), Store(tmp_path), workers, lambda _: pressed.clear())
    assert not pressed
    assert len(names(tmp_path)) < 400


@pytest.mark.nightly
def test_ctrl_c_ends_the_command_at_once(tmp_path: Path, cluster: Any) -> None:
    (tmp_path / "wire.json").write_text(json.dumps(WIRE), encoding="utf-8")
    arguments = ["--grid", "link[0].queue=5,50", "--seeds", "250", "--set", "duration=120s"]
    arguments += ["--dask", cluster.scheduler_address, "--out", "out"]

    def finished() -> list[Path]:
        return list(tmp_path.glob("out/runs/*.json"))

    done = run_interrupted("sweep", "wire.json", *arguments, cwd=tmp_path, when=lambda: len(finished()) >= 3)
    assert done.returncode == 130
    assert len(finished()) < 500, "it does not wait for a run"
    assert [line for line in done.stderr.splitlines() if line] == [
        "finished runs are kept in out/runs; the same command continues from there",
        "airwnd: interrupted",
    ]
