"""Batches: no finished run is lost, for all kinds of workers and failures."""

import errno
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from airwnd import EngineError, InputError, Scenario, ScenarioError
from airwnd.study.batch import Finished, Processes, Store, Task, carry_out

from .waiting import running, wait_until

WIRE = {
    "name": "wire",
    "duration": "1s",
    "link": [{"rate": "10Mbps", "delay": "20ms", "queue": 50}],
    "ue": [{}],
    "flow": [{}],
}

# Tasks that end the process they run in, or fail; workers find the module on the path that they are given.
DEADLY = """
import os
from airwnd.study.batch import Task

class Deadly(Task):
    def carry_out(self, progress=None, means=None):
        os.kill(os.getpid(), 9)

class Broken(Task):
    def carry_out(self, progress=None, means=None):
        raise OverflowError("too large")
"""


@pytest.fixture(scope="module")
def wire() -> Scenario:
    """Less than a millisecond of work."""
    return Scenario.from_dict(WIRE)


@pytest.fixture
def deadly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wire: Scenario) -> Task:
    folder = tmp_path / "modules"
    folder.mkdir()
    (folder / "deadly.py").write_text(DEADLY, encoding="utf-8")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "deadly", raising=False)
    task: Task = __import__("deadly").Deadly(wire.with_({"link[0].queue": 7}), 13)
    return task


def workers_of(pid: int) -> list[int]:
    """Return the worker processes, without others that a test runner may have started."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [
        int(child)
        for child in children
        if b"airwnd.study.batch.worker" in Path(f"/proc/{child}/cmdline").read_bytes()
    ]


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_scenario_is_pickled_as_its_text(wire: Scenario) -> None:
    changed = wire.with_({"link[0].queue": 7, "flow[0].rwnd": "drwa"})
    packed = pickle.dumps(changed)
    unpacked = pickle.loads(packed)  # noqa: S301
    assert unpacked == changed
    assert len(packed) < len(changed.canonical)
    assert str(unpacked) == 'wire with link[0].queue=7, flow[0].rwnd="drwa"'


def test_a_key_covers_all_inputs_of_the_result(wire: Scenario) -> None:
    task = Task(wire, 1)
    assert task.key == Task(Scenario.from_dict(wire.resolved), 1).key
    others = [Task(wire.with_({"link[0].queue": 7}), 1), Task(wire, 2), Task(wire, 1, "100ms")]
    assert len({task.key, *(other.key for other in others)}) == 4


def test_a_key_covers_the_content_of_a_link_trace(wire: Scenario, tmp_path: Path) -> None:
    file = tmp_path / "link.mm"
    settings = {"link": [{"kind": "trace", "down": str(file)}]}
    file.write_text("1\n", encoding="utf-8")
    before = wire.with_(settings)
    file.write_text("1\n2\n", encoding="utf-8")
    after = wire.with_(settings)
    assert Task(before, 1).key != Task(after, 1).key
    assert Task(after, 1).key == Task(Scenario.from_dict(after.resolved), 1).key
    assert pickle.loads(pickle.dumps(after)) == after  # noqa: S301
    with pytest.raises(ScenarioError, match="the link traces have changed"):
        pickle.loads(pickle.dumps(before))  # noqa: S301


def test_results_have_the_order_of_the_tasks_and_equal_those_of_runs(wire: Scenario, tmp_path: Path) -> None:
    tasks = [Task(wire.with_({"link[0].queue": queue}), seed) for seed in (3, 1) for queue in (50, 5)]
    results = carry_out(tasks, Store(tmp_path), Processes(2))
    assert [run.outcome for run in results] == [task.scenario.run(task.seed).outcome for task in tasks]
    assert (len(results), results.fresh, results.reused) == (4, 4, 0)
    assert results[-1].outcome == results[3:][0].outcome


def test_the_same_task_is_run_once(wire: Scenario, tmp_path: Path) -> None:
    results = carry_out([Task(wire, 1), Task(wire, 2), Task(wire, 1)], Store(tmp_path), Processes(2))
    assert (results.fresh, results.reused) == (2, 0)
    assert [run.outcome["seed"] for run in results] == [1, 2, 1]


def test_finished_runs_are_reused(wire: Scenario, tmp_path: Path) -> None:
    carry_out([Task(wire, 1)], Store(tmp_path), Processes(1))
    results = carry_out([Task(wire, 2), Task(wire, 1)], Store(tmp_path), Processes(1))
    assert (results.fresh, results.reused) == (1, 1)
    assert [run.outcome["seed"] for run in results] == [2, 1]


def test_series_are_stored_with_the_run(wire: Scenario, tmp_path: Path) -> None:
    carry_out([Task(wire, 1, "100ms"), Task(wire, 1)], Store(tmp_path), Processes(1))
    results = carry_out([Task(wire, 1, "100ms"), Task(wire, 1)], Store(tmp_path), Processes(1))
    assert results.reused == 2
    run = wire.run(1, series="100ms")
    assert results[0].series.equals(run.series)
    assert results[0].events.equals(run.events)
    assert results[1].series.is_empty()


@pytest.mark.parametrize("ending", [".json", ".series.parquet", ".events.parquet"])
def test_a_truncated_file_counts_as_missing(wire: Scenario, tmp_path: Path, ending: str) -> None:
    store, task = Store(tmp_path), Task(wire, 1, "100ms")
    store.put(task, task.carry_out())
    whole = store.get(task)
    assert whole is not None
    path = tmp_path / f"{task.key}{ending}"
    path.write_bytes(path.read_bytes()[:-10])
    assert store.get(task) is None
    with pytest.warns(UserWarning, match=f"1 stored run failed verification and is run again: {path.name}"):
        again = carry_out([task], store, Processes(1))[0]
    assert again.outcome == whole.outcome


def test_a_removed_run_is_named(wire: Scenario, tmp_path: Path) -> None:
    results = carry_out([Task(wire, 1)], Store(tmp_path), Processes(1))
    next(tmp_path.iterdir()).unlink()
    with pytest.raises(InputError, match="the finished run of wire, seed 1 has since been removed"):
        results[0]


def test_a_full_disk_is_one_error_and_leaves_no_partial_file(
    wire: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = [4]  # a probe, and three runs
    write = Path.write_bytes

    def scarce(path: Path, data: bytes) -> int:
        room[0] -= 1
        if room[0] >= 0:
            return write(path, data)
        write(path, data[:20])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", scarce)
    tasks = [Task(wire, seed) for seed in range(10)]
    with pytest.raises(OSError, match="No space left on device; finished runs are kept") as caught:
        carry_out(tasks, Store(tmp_path / "runs"), Processes(2))
    assert caught.value.filename == str(tmp_path / "runs")
    monkeypatch.undo()
    assert len(names(tmp_path / "runs")) == 3
    assert all(len(name) == 32 + len(".json") for name in names(tmp_path / "runs"))
    assert carry_out(tasks, Store(tmp_path / "runs"), Processes(2)).reused == 3


def test_progress_increases_to_one(wire: Scenario, tmp_path: Path) -> None:
    reported: list[float] = []
    tasks = [Task(wire.with_(duration="1000s"), seed) for seed in range(3)]
    carry_out(tasks, Store(tmp_path), Processes(2), reported.append)
    assert reported == sorted(reported)
    assert reported[-1] == 1.0
    assert any(3 * fraction % 1 > 0.01 for fraction in reported), "running runs count, too"


def test_an_exception_is_raised_unchanged_after_the_other_runs(wire: Scenario, tmp_path: Path) -> None:
    tasks = [Task(wire, 1, "0ms"), *(Task(wire, seed) for seed in range(20))]
    with pytest.raises(InputError, match="series: `0ms` is not a sampling interval"):
        carry_out(tasks, Store(tmp_path), Processes(2))
    assert len(names(tmp_path)) == 20


def test_a_link_trace_that_has_changed_is_an_error_of_its_task(wire: Scenario, tmp_path: Path) -> None:
    file = tmp_path / "link.mm"
    file.write_text("1\n", encoding="utf-8")
    before = wire.with_({"link": [{"kind": "trace", "down": str(file)}]})
    file.write_text("1\n2\n", encoding="utf-8")
    tasks = [Task(before, 1), Task(wire, 1)]
    with pytest.raises(ScenarioError, match="the link traces have changed"):
        carry_out(tasks, Store(tmp_path / "runs"), Processes(1))
    assert len(names(tmp_path / "runs")) == 1


def test_an_internal_error_is_an_engine_error(deadly: Task, tmp_path: Path) -> None:
    broken: Task = sys.modules["deadly"].Broken(deadly.scenario, 5)
    with pytest.raises(EngineError, match=r"wire with link.*, seed 5: OverflowError"):
        carry_out([broken], Store(tmp_path / "runs"), Processes(1))


def test_a_task_that_kills_its_workers_is_named_after_the_other_runs(
    wire: Scenario, tmp_path: Path, deadly: Task
) -> None:
    tasks = [
        *(Task(wire, seed) for seed in range(50)),
        deadly,
        *(Task(wire, seed) for seed in range(50, 100)),
    ]
    with pytest.raises(EngineError) as caught:
        carry_out(tasks, Store(tmp_path / "runs"), Processes(2))
    assert str(caught.value) == (
        "wire with link[0].queue=7, seed 13: 3 processes that ran it ended with SIGKILL; "
        "is there enough memory?"
    )
    assert len(names(tmp_path / "runs")) == 100


def test_a_killed_worker_loses_no_run(wire: Scenario, tmp_path: Path) -> None:
    tasks = [Task(wire.with_(duration="60s"), seed) for seed in range(20)]
    killed: list[int] = []

    # At most two: a task whose process is killed a third time fails.
    def kill(fraction: float) -> None:
        if fraction > 0.2 * (1 + len(killed)) and len(killed) < 2:
            killed.append(workers_of(os.getpid())[0])
            os.kill(killed[-1], signal.SIGKILL)

    results = carry_out(tasks, Store(tmp_path), Processes(2), kill)
    assert len(killed) == 2
    assert [run.outcome["seed"] for run in results] == list(range(20))


def test_workers_that_cannot_start_are_one_error(
    wire: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(EngineError, match="end as soon as they are started, with exit code 1"):
        carry_out([Task(wire, 1)], Store(tmp_path), Processes(1))
    assert "ModuleNotFoundError" in capfd.readouterr().err


def test_no_process_remains(wire: Scenario, tmp_path: Path) -> None:
    before = workers_of(os.getpid())
    carry_out([Task(wire, 1)], Store(tmp_path), Processes(2))
    assert workers_of(os.getpid()) == before


def test_an_exception_from_progress_ends_the_workers_at_once(wire: Scenario, tmp_path: Path) -> None:
    before = workers_of(os.getpid())

    def fail(_: float) -> None:
        raise RuntimeError("enough")

    endless = [Task(wire.with_(duration="30000000s"), seed) for seed in range(3)]
    with pytest.raises(RuntimeError, match="enough"):
        carry_out(endless, Store(tmp_path), Processes(2), fail)
    assert workers_of(os.getpid()) == before


# No `if __name__ == "__main__"`: workers must not run the user's script again.
SCRIPT = """
import sys
from airwnd import Scenario
from airwnd.study.batch import Processes, Store, Task, carry_out
base = Scenario.from_dict({wire})
endless = base.with_(duration="30000000s")
carry_out(
    [Task(endless, seed) for seed in range(2)],
    Store(sys.argv[1]),
    Processes(2),
    lambda fraction: print(fraction, flush=True),
)
"""


class Finalized:
    """Simulates Ctrl-C where Python ignores exceptions."""

    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        sum(range(1000))


def test_an_interrupt_in_a_finalizer_is_neither_lost_nor_printed(wire: Scenario, tmp_path: Path) -> None:
    once = [Finalized()]
    tasks = [Task(wire.with_(duration="600s"), seed) for seed in range(1, 41)]
    with pytest.raises(KeyboardInterrupt):
        carry_out(tasks, Store(tmp_path), Processes(2), lambda _: once.clear())
    assert not once
    assert len(names(tmp_path)) < len(tasks)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_workers_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.replace("{wire}", repr(WIRE)), encoding="utf-8")
    command = [sys.executable, str(script), "runs"]
    with running(command, tmp_path, stdout=subprocess.PIPE) as parent:
        wait_until(lambda: len(workers_of(parent.pid)) == 2, parent)
        workers = workers_of(parent.pid)
        assert parent.stdout
        assert parent.stdout.readline(), "a run is in progress"
        assert not any(map(is_gone, workers))
    wait_until(lambda: all(map(is_gone, workers)))


def test_a_folder_that_cannot_be_created_is_named(wire: Scenario) -> None:
    with pytest.raises(NotADirectoryError) as caught:
        Store("/dev/null/runs").put(Task(wire, 1), Finished("{}", 0.0, {}))
    assert caught.value.filename == "/dev/null/runs"
