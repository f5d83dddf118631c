"""Damage, faults and kills: stored data is verified when it is read, and no finished run is lost."""

import errno
import itertools
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Event, Thread
from typing import Any

import polars as pl
import pytest

import airwnd
from airwnd import InputError, Run, Scenario
from airwnd.study.batch import Finished, Report, Store, Task, carry_out
from airwnd.study.batch.store import DamageError
from airwnd.support.locks import locked

from .command_line import command_words
from .conftest import Cli
from .test_batch import WIRE
from .test_run import without_digests
from .test_sweep import contents
from .waiting import running, wait_until

# A run that never ends: errors must be found before it starts.
ENDLESS = ("--set", "duration=30000000s")

GRID = {"link[0].queue": [5, 10, 20]}


class Here:
    """Workers that execute runs in this process."""

    jobs = 1

    def carry_out(self, tasks: Sequence[Task], report: Report) -> None:
        for index, task in enumerate(tasks):
            report.finished(index, task.carry_out())


class Nowhere:
    """Workers that execute no runs."""

    jobs = 1

    def carry_out(self, tasks: Sequence[Task], report: Report) -> None:
        raise AssertionError(f"{len(tasks)} runs were to be made: {report}")


@pytest.fixture(scope="module")
def wire() -> Scenario:
    return Scenario.from_dict(WIRE)


@pytest.fixture(scope="module")
def tasks(wire: Scenario) -> list[Task]:
    return [Task(wire.with_({"link[0].queue": queue}), 1, "200ms") for queue in (5, 10)]


@pytest.fixture(scope="module")
def finished(tasks: list[Task]) -> list[Finished]:
    return [task.carry_out() for task in tasks]


@pytest.fixture
def store(tmp_path: Path, tasks: list[Task], finished: list[Finished]) -> Store:
    store = Store(tmp_path / "runs")
    for task, run in zip(tasks, finished, strict=True):
        store.put(task, run)
    return store


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "wire.json"
    path.write_text(json.dumps(WIRE), encoding="utf-8")
    return path


@pytest.fixture
def show(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    """Print the extent of a nightly test."""

    def show(text: str) -> None:
        with capsys.disabled():
            sys.stdout.write(f"\n{text}\n")

    return show


def flipped(data: bytes, draws: random.Random) -> bytes:
    place = draws.randrange(len(data))
    return data[:place] + bytes([data[place] ^ 1 << draws.randrange(8)]) + data[place + 1 :]


def flips(folder: Path, each: int) -> Iterator[Path]:
    """Flip a bit of each file, `each` times, and restore the file after each flip."""
    draws = random.Random(14)  # noqa: S311
    for path in sorted(folder.iterdir()):
        whole = path.read_bytes()
        for _ in range(each):
            path.write_bytes(flipped(whole, draws))
            yield path
        path.write_bytes(whole)


def found_in_store(store: Store, tasks: list[Task], each: int) -> tuple[int, int]:
    """Count the flips, and those that were detected."""
    tried = found = 0
    for path in flips(store.folder, each):
        tried += 1
        try:
            assert all(store.has(task) for task in tasks)
        except DamageError as error:
            found += error.path == path
    return tried, found


def found_in_folder(folder: Path, each: int) -> tuple[int, int]:
    tried = found = 0
    for _ in flips(folder, each):
        tried += 1
        try:
            Run.load(folder)
        except InputError:
            found += 1
    return tried, found


def test_a_flipped_bit_of_a_stored_run_is_detected(store: Store, tasks: list[Task]) -> None:
    tried, found = found_in_store(store, tasks, each=12)
    assert tried == found == 6 * 12  # two runs of three files
    assert all(store.has(task) for task in tasks)


def test_a_flipped_bit_of_a_run_folder_is_detected(small: Scenario, tmp_path: Path) -> None:
    folder = small.run(series="50ms", allocations=("0ms", "20ms")).save(tmp_path / "run")
    tried, found = found_in_folder(folder, each=5)
    assert tried == found == 10 * 5
    Run.load(folder)


@pytest.mark.nightly
def test_a_thousand_flipped_bits_are_detected(
    store: Store, tasks: list[Task], small: Scenario, tmp_path: Path, show: Callable[[str], None]
) -> None:
    tried, found = found_in_store(store, tasks, each=170)
    show(f"store: {tried} bits flipped, {found} found")
    folder = small.run(series="50ms", allocations=("0ms", "20ms")).save(tmp_path / "run")
    tried_of_run, found_of_run = found_in_folder(folder, each=115)
    show(f"run folder: {tried_of_run} bits flipped, {found_of_run} found")
    assert tried == found > 1000
    assert tried_of_run == found_of_run > 1000


def swap(first: Path, second: Path) -> None:
    shutil.copy(second, first)


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def remade(path: Path, make: Callable[[Path], object]) -> None:
    path.unlink()
    make(path)


WAYS: dict[str, Callable[[Path, Path], object]] = {
    "a digit": lambda path, _: replace(path, '"goodput_kbps":', '"goodput_kbps":9'),
    "the file of another run": swap,
    "the table of another run": lambda path, other: swap(
        path.with_suffix(".series.parquet"), other.with_suffix(".series.parquet")
    ),
    "a missing table": lambda path, _: path.with_suffix(".events.parquet").unlink(),
    "nothing": lambda path, _: path.write_bytes(b""),
    "half": lambda path, _: path.write_bytes(path.read_bytes()[:999]),
    "another JSON": lambda path, _: path.write_text('{"outcome": {}, "wall_s": 1, "tables": {}}'),
    "deep JSON": lambda path, _: path.write_text("[" * 100_000),
    "a folder": lambda path, _: remade(path, Path.mkdir),
    "a dangling link": lambda path, _: remade(path, lambda path: path.symlink_to("/nowhere/at/all")),
    "a pipe": lambda path, _: remade(path, os.mkfifo),
}


@pytest.mark.parametrize("way", WAYS)
def test_damaged_stored_runs_give_one_warning_and_are_run_again(
    store: Store, tasks: list[Task], way: str
) -> None:
    whole = [(run.outcome, run.series) for run in carry_out(tasks, store, Nowhere())]
    paths = [store.folder / f"{task.key}.json" for task in tasks]
    WAYS[way](*paths)
    assert store.get(tasks[0]) is None
    with pytest.warns(
        UserWarning, match=f"1 stored run failed verification and is run again: {paths[0].stem}"
    ):
        results = carry_out(tasks, store, Here())
    assert (results.fresh, results.reused) == (1, 1)
    again = [(run.outcome, run.series) for run in carry_out(tasks, store, Nowhere())]
    assert [outcome for outcome, _ in again] == [outcome for outcome, _ in whole]
    assert all(one.equals(other) for (_, one), (_, other) in zip(again, whole, strict=True))


def test_a_folder_with_files_in_place_of_a_run_is_not_removed(store: Store, tasks: list[Task]) -> None:
    path = store.folder / f"{tasks[0].key}.json"
    path.unlink()
    path.mkdir()
    (path / "mine").touch()
    with pytest.raises(OSError, match="Directory not empty"):
        carry_out(tasks, store, Nowhere())
    assert (path / "mine").exists()


def test_a_file_in_place_of_the_runs_is_named(tmp_path: Path, tasks: list[Task]) -> None:
    (tmp_path / "runs").touch()
    with pytest.raises(InputError, match=r"/runs: is a file; expected a folder"):
        carry_out(tasks, Store(tmp_path / "runs"), Nowhere())


def test_the_command_names_in_one_line_the_runs_to_repeat(cli: Cli, file: Path, tmp_path: Path) -> None:
    command = ("sweep", file, "--grid", "link[0].queue=5,10", "--seeds", "2", "--jobs", "1", "--out", "out")
    assert cli(*command).returncode == 0
    whole = contents(tmp_path / "out")
    paths = sorted((tmp_path / "out" / "runs").iterdir())
    for path in paths[:3]:
        path.write_bytes(path.read_bytes()[:-3])
    done = cli(*command)
    assert (done.returncode, done.stderr.count("\n")) == (0, 1)
    pattern = (
        r"airwnd: out/runs: 3 stored runs failed verification and are run again; the first is (\w+\.json)\n"
    )
    found = re.fullmatch(pattern, done.stderr)
    assert found
    assert found[1] in [path.name for path in paths[:3]]
    assert "1 of them finished earlier" in done.stdout
    assert contents(tmp_path / "out") == whole


class Fault:
    """Makes the `at`-th file operation fail, and counts file operations."""

    def __init__(self, at: int, number: int) -> None:
        self.count = 0
        self._at = at
        self._number = number

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("write_bytes", "replace", "rename", "mkdir"):
            monkeypatch.setattr(Path, name, self._failing(name, getattr(Path, name)))

    def _failing(self, name: str, operation: Callable[..., object]) -> Callable[..., object]:
        def failing(path: Path, *arguments: object, **keywords: object) -> object:
            self.count += 1
            if self.count != self._at:
                return operation(path, *arguments, **keywords)
            if name != "write_bytes":
                raise OSError(self._number, os.strerror(self._number), str(path))
            operation(path, b"half")
            raise OSError(self._number, os.strerror(self._number))

        return failing


def faulty_sweeps(wire: Scenario, folder: Path, numbers: Sequence[int], step: int) -> int:
    """Make each `step`-th operation of a sweep fail; return the number of failed sweeps."""
    airwnd.sweep(wire, grid=GRID, out=folder / "whole", workers=Here())
    whole = contents(folder / "whole")
    for failed, at in enumerate(itertools.count(1, step)):
        number = numbers[failed % len(numbers)]
        out, fault = folder / f"{at}", Fault(at, number)
        with pytest.MonkeyPatch.context() as patch:
            fault.install(patch)
            try:
                airwnd.sweep(wire, grid=GRID, out=out, workers=Here())
            except OSError as error:
                caught = error
            else:
                assert contents(out) == whole
                return failed
        assert (caught.errno, bool(caught.filename)) == (number, True)
        kept = {path.stem for path in out.glob("runs/*.json")}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            airwnd.sweep(wire, grid=GRID, out=out, workers=Here())
        assert contents(out) == whole
        assert kept <= {path.stem for path in out.glob("runs/*.json")}
        assert not list(out.rglob(".*"))
    raise AssertionError


def test_a_sweep_continues_to_the_same_bytes_after_a_write_error(wire: Scenario, tmp_path: Path) -> None:
    assert faulty_sweeps(wire, tmp_path, (errno.ENOSPC, errno.EIO, errno.EACCES), step=3) >= 5


@pytest.mark.nightly
def test_a_sweep_continues_after_an_error_in_any_operation(
    wire: Scenario, tmp_path: Path, show: Callable[[str], None]
) -> None:
    failed = sum(
        faulty_sweeps(wire, tmp_path / f"{number}", (number,), step=1)
        for number in (errno.ENOSPC, errno.EIO, errno.EACCES, errno.EDQUOT, errno.EROFS)
    )
    show(f"sweeps: {failed} operations failed, {failed} sweeps went on to the same bytes")
    assert failed > 50


# Kills itself at a file operation, like a power failure.
KILLED = """
import os, signal, sys
from pathlib import Path
import airwnd

scenario, out, at = airwnd.Scenario.load(sys.argv[1]), sys.argv[2], int(sys.argv[3])
count = 0

class Here:
    jobs = 1

    def carry_out(self, tasks, report):
        for index, task in enumerate(tasks):
            report.finished(index, task.carry_out())

def deadly(operation):
    def call(*arguments):
        global count
        count += 1
        if count == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return operation(*arguments)
    return call

Path.write_bytes, Path.replace = deadly(Path.write_bytes), deadly(Path.replace)
airwnd.sweep(scenario, grid={"link[0].queue": [5, 10, 20]}, out=out, workers=Here())
"""


def killed_sweeps(wire: Scenario, file: Path, folder: Path, places: Sequence[int]) -> int:
    """Kill a sweep at some of its file operations, one after the other, and let it finish."""
    airwnd.sweep(wire, grid=GRID, out=folder / "whole", workers=Here())
    whole, killed = contents(folder / "whole"), 0
    for at in places:
        out = folder / f"{at}"
        command = [sys.executable, "-c", KILLED, str(file), str(out), str(at)]
        killed += subprocess.run(command, check=False).returncode == -signal.SIGKILL
        kept = len(list(out.glob("runs/*.json")))
        reported: list[float] = []
        airwnd.sweep(wire, grid=GRID, out=out, workers=Here(), progress=reported.append)
        assert contents(out) == whole
        assert not list(out.rglob(".*")), "neither lock nor partial file remains"
        assert kept == len(list(out.glob("runs/*.json"))) or reported
    return killed


def test_a_killed_sweep_continues_to_the_same_bytes(wire: Scenario, file: Path, tmp_path: Path) -> None:
    # In the file of the second run, between the two tables, before the manifest that marks them complete.
    assert killed_sweeps(wire, file, tmp_path, (8, 14, 18)) == 3


@pytest.mark.nightly
def test_a_sweep_continues_after_a_kill_at_any_operation(
    wire: Scenario, file: Path, tmp_path: Path, show: Callable[[str], None]
) -> None:
    places = range(1, 19)
    killed = killed_sweeps(wire, file, tmp_path, places)
    show(f"sweeps: killed at {killed} of {len(places)} operations, all went on to the same bytes")
    assert killed == len(places)


@pytest.mark.nightly
def test_a_sweep_continues_after_kills_at_random_times(
    cli: Cli, file: Path, tmp_path: Path, show: Callable[[str], None]
) -> None:
    varied = ("--grid", "link[0].queue=10,20,30,40,50,60", "--seeds", "20", "--set", "duration=30s")
    command = ("sweep", str(file), *varied, "--jobs", "2", "--out")
    cli(*command, "whole")
    draws, kills = random.Random(14), 0  # noqa: S311
    out = tmp_path / "out"

    def finished() -> int:
        return len(list(out.glob("runs/*.json")))

    while not (out / "runs.parquet").exists():
        enough = finished() + draws.randint(1, 12)
        with running(command_words(*command, "out"), tmp_path, stdout=subprocess.DEVNULL) as process:
            wait_until(lambda: process.poll() is not None or finished() >= enough)  # noqa: B023
            kills += process.poll() is None
    assert cli(*command, "out").stderr == ""
    show(f"sweep: killed {kills} times at random moments, ended with the same bytes")
    assert kills > 5
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


def test_a_failed_save_leaves_the_old_run_intact(wire: Scenario, tmp_path: Path) -> None:
    run, other = wire.run(series="100ms"), wire.run(seed=2, series="100ms")
    folder = run.save(tmp_path / "run")
    for at in itertools.count(1):
        fault = Fault(at, errno.ENOSPC)
        with pytest.MonkeyPatch.context() as patch:
            fault.install(patch)
            try:
                other.save(folder, force=True)
                break
            except OSError as error:
                named = error.filename
        assert named
        assert Run.load(folder).outcome == run.outcome
        assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert at > 10
    assert Run.load(folder).outcome == other.outcome
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def stored(folder: Path, table: str) -> Path:
    return folder / f"{table}.parquet"


def rewritten(folder: Path, change: Callable[[dict[str, Any]], object] = id) -> Path:
    """Convert the manifest to that of an earlier version, without digests, and change it."""
    path = folder / "manifest.json"
    manifest = without_digests(path)
    change(manifest)
    path.write_text(json.dumps(manifest), encoding="utf-8")
    return folder


RUN_FOLDERS: dict[str, tuple[Callable[[Path], object], str]] = {
    "no manifest": (
        lambda run: (run / "manifest.json").unlink(),
        "run: not a run's folder, it has no manifest",
    ),
    "garbage": (
        lambda run: (run / "manifest.json").write_bytes(b"\xff\0garbage"),
        "run/manifest.json: damaged, or not the manifest of a run",
    ),
    "a list": (lambda run: (run / "manifest.json").write_text("[]"), "run/manifest.json: damaged, or not"),
    "deep": (
        lambda run: (run / "manifest.json").write_text("[" * 100_000),
        "manifest.json: damaged, or not the manifest of a run: nested too deeply",
    ),
    "half": (
        lambda run: (run / "manifest.json").write_bytes((run / "manifest.json").read_bytes()[:700]),
        "run/manifest.json: damaged, or not the manifest of a run",
    ),
    "edited": (
        lambda run: replace(run / "manifest.json", '"goodput_kbps": ', '"goodput_kbps": 9'),
        "run/manifest.json: does not match its digest: it is damaged, or was edited; run the scenario again",
    ),
    "a sweep's": (
        lambda run: rewritten(run, lambda manifest: manifest.update(kind="sweep")),
        "run: the folder of a sweep, not of a run",
    ),
    "no figures": (
        lambda run: rewritten(run, lambda manifest: manifest.pop("outcome")),
        "manifest of a run: Object missing required field `outcome`",
    ),
    "figures of another kind": (
        lambda run: rewritten(run, lambda manifest: manifest["outcome"]["flows"][0].update(goodput_kbps=[])),
        "run: the manifest's flows are not a table",
    ),
    "a seed that is a text": (
        lambda run: rewritten(run, lambda manifest: manifest.update(seed="one")),
        "Expected `int`, got `str` - at `$.seed`",
    ),
    "a table of elsewhere": (
        lambda run: rewritten(run, lambda manifest: manifest["tables"].append("../../series")),
        "run/manifest.json: the table `../../series` is unknown to this version of airwnd",
    ),
    "a missing table": (
        lambda run: stored(run, "series").unlink(),
        "run/series.parquet: the table is missing; run the scenario again",
    ),
    "a missing table of figures": (
        lambda run: stored(run, "flows").unlink(),
        "run/flows.parquet: the table is",
    ),
    "half a table": (
        lambda run: stored(run, "series").write_bytes(stored(run, "series").read_bytes()[:999]),
        "run/series.parquet: does not match its digest in manifest.json: it is damaged, or of another run",
    ),
    "another table": (
        lambda run: swap(stored(run, "series"), stored(run, "events")),
        "run/series.parquet: does not match its digest",
    ),
    "an earlier version's garbage": (
        lambda run: stored(rewritten(run), "series").write_bytes(b"PAR1 garbage PAR1"),
        "run/series.parquet: damaged, or not a Parquet file",
    ),
    "an earlier version's other table": (
        lambda run: swap(stored(rewritten(run), "series"), stored(run, "flows")),
        "run/series.parquet: not the table of series: it has no column `time_s`",
    ),
    "an earlier version's column of texts": (
        lambda run: (
            pl.read_parquet(stored(rewritten(run), "series"))
            .with_columns(pl.col("rtt_ms").cast(pl.String))
            .write_parquet(stored(run, "series"))
        ),
        "run/series.parquet: the column `rtt_ms` holds String; expected a number",
    ),
}


@pytest.mark.parametrize("way", RUN_FOLDERS)
def test_a_damaged_run_folder_is_one_line(wire: Scenario, tmp_path: Path, way: str) -> None:
    run = wire.run(series="200ms").save(tmp_path / "run")
    damage, message = RUN_FOLDERS[way]
    damage(run)
    with pytest.raises(InputError) as caught:
        Run.load(run)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_commands_name_the_damage_in_one_line(cli: Cli, wire: Scenario, tmp_path: Path) -> None:
    run = wire.run(series="200ms").save(tmp_path / "run")
    stored(run, "events").write_bytes(b"")
    for command in (("view",), ("plot", "timeline"), ("plot", "fct")):
        done = cli(*command, "run")
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert done.stderr.startswith(
            "airwnd: run/events.parquet: does not match its digest in manifest.json"
        )


def test_two_processes_do_not_share_a_folder(cli: Cli, file: Path, tmp_path: Path) -> None:
    first = ("sweep", file, "--grid", "link[0].queue=5,10", "--jobs", "1", "--out", "out")
    with running(command_words(*first, *ENDLESS), tmp_path, stderr=subprocess.PIPE) as process:
        wait_until((tmp_path / "out" / "manifest.json").exists, process)
        done = cli(*first, "--force")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == (
            f"airwnd: out: in use by process {process.pid} on {socket.gethostname()}; "
            "wait until it ends, or choose another folder\n"
        )
    done = cli(*first)
    assert done.returncode == 2
    assert 'duration is "500000min" there and "1s" here' in done.stderr
    assert cli(*first, "--force").returncode == 0
    assert not (tmp_path / "out" / ".lock").exists()


def test_a_lock_has_one_holder_at_a_time(tmp_path: Path) -> None:
    with locked(tmp_path):
        with pytest.raises(InputError, match=f"in use by process {os.getpid()} on "), locked(tmp_path):
            raise AssertionError
        entered = Event()

        def enter() -> None:
            with locked(tmp_path, wait=True):
                entered.set()

        waiting = Thread(target=enter)
        waiting.start()
        assert not entered.is_set()
    waiting.join()
    assert entered.is_set()
    assert list(tmp_path.iterdir()) == []


def test_a_file_system_without_locks_gives_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", unsupported)
    with pytest.warns(UserWarning, match="its file system has no locks"), locked(tmp_path):
        pass


def test_only_the_reproduction_in_use_is_refused(cli: Cli, folder: Path, tmp_path: Path) -> None:
    command = ("reproduce", folder, "--quick", "--out", "out")
    table, other = (tmp_path / "out" / "example" / name for name in ("table0", "table1"))
    for used in (table, other):
        used.mkdir(parents=True)
    with locked(table):
        done = cli(*command)
    assert done.returncode == 2
    assert f"out/example/table0: in use by process {os.getpid()} on " in done.stderr
    with locked(other):
        assert cli(*command).returncode == 0


@pytest.fixture
def here(file: Path, wire: Scenario) -> Path:
    """A folder with entries that `--out` may name by mistake."""
    wire.run(seed=2).save(file.with_name("run"))
    wire.run(seed=2).save(file.with_name("damaged"))
    replace(file.with_name("damaged") / "manifest.json", '"seed": 2', '"seed": 3')
    airwnd.sweep(wire, grid=GRID, out=file.with_name("swept"), workers=Here())
    file.with_name("notes").mkdir()
    (file.with_name("notes") / "notes.txt").touch()
    file.with_name("empty").mkdir()
    return file.parent


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--out", "wire.json"), "wire.json: is a file; expected a folder for the run"),
        (("--out", "wire.json/run"), "wire.json: is a file; expected a folder"),
        (("--out", "/proc/run"), "/proc: cannot be written: its file system takes no new files"),
        (
            ("--out", "run"),
            'run: holds another run: duration is "1s" there and "500000min" here; choose another folder, or',
        ),
        (("--out", "damaged"), "damaged/manifest.json: does not match its digest"),
        (("--out", "swept"), "swept: the folder of a sweep; choose another"),
        (("--out", "swept", "--force"), "swept: the folder of a sweep; choose another"),
        (
            ("--out", "notes", "--force"),
            "notes: holds notes.txt, not a file of a run; choose another folder",
        ),
        (("--out", "."), ".: holds damaged, not a file of a run"),
        (("--force",), "--force requires --out"),
        (("--pcap", "nowhere/run.pcapng"), "nowhere/run.pcapng: there is no folder nowhere; make it first"),
        (("--pcap", "notes"), "notes: is a folder; expected the name of a file"),
        (("--pcap", "/proc/x.pcapng"), "/proc: cannot be written: its file system takes no new files"),
    ],
)
def test_the_output_path_is_checked_before_the_run(
    cli: Cli, here: Path, arguments: tuple[str, ...], message: str
) -> None:
    before = sorted(here.rglob("*"))
    done = cli("run", "wire.json", *ENDLESS, *arguments)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert message in done.stderr
    assert sorted(here.rglob("*")) == before


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("plot", "timeline", "wire.json", *ENDLESS, "--out", "nowhere/x.svg"),
            "nowhere/x.svg: there is no folder nowhere; make it first",
        ),
        (
            ("plot", "map", "wire.json", "--out", "notes/notes.txt/x.svg"),
            "there is no folder notes/notes.txt",
        ),
        (("view", "nowhere", "--out", "notes/notes.txt/x"), "notes/notes.txt: is a file; expected a folder"),
        (("view", "nowhere", "--out", "notes"), "notes: a folder; expected the name of a page"),
        (
            ("sweep", "wire.json", *ENDLESS, "--grid", "link[0].queue=1,2", "--out", "/proc/x"),
            "/proc/x: cannot be written: its file system takes no new files",
        ),
        (("reproduce", "arwa-2019/table6", "--out", "wire.json"), "wire.json: is a file; expected a folder"),
    ],
)
def test_output_paths_of_pictures_and_data_sets_are_checked_first(
    cli: Cli, arguments: tuple[str, ...], message: str
) -> None:
    done = cli(*arguments)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert message in done.stderr


def test_the_same_run_and_an_empty_folder_need_no_force(cli: Cli, here: Path) -> None:
    done = cli("run", "wire.json", "--out", "run")
    assert done.returncode == 2
    said = "run: holds another run: seed is 2 there and 1 here; choose another folder, or replace"
    assert said in done.stderr
    for arguments in (
        ("--out", "empty"),
        ("--out", "run", "--seed", "2"),
        ("--out", "run", "--force"),
        ("--out", "damaged", "--force"),
    ):
        assert cli("run", "wire.json", *arguments).returncode == 0
    assert Run.load(here / "empty").outcome == Run.load(here / "run").outcome
    assert Run.load(here / "damaged").seed == 1


# The limit is on the file size: the probe is smaller, the series are larger.
SHORT_OF_SPACE = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000))
from airwnd.cli import main
main()
"""


@pytest.mark.parametrize("as_json", [False, True])
def test_results_that_cannot_be_written_are_printed(here: Path, as_json: bool) -> None:
    command = [sys.executable, "-c", SHORT_OF_SPACE, "run", "wire.json", "--series", "1ms", "--out", "new"]
    command += ["--json"] if as_json else []
    done = subprocess.run(command, cwd=here, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == (
        "airwnd: new: File too large; the tables were not saved, the results are printed above\n"
    )
    if as_json:
        assert json.loads(done.stdout)["seed"] == 1
    else:
        assert "throughput" in done.stdout
    assert not list(here.glob("*new*"))
