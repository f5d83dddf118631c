"""Sweeps: one data set with reproducible bytes."""

import errno
import json
import os
import signal
from pathlib import Path

import polars as pl
import pytest

import airwnd
from airwnd import InputError, Scenario
from airwnd.study.axis import grid, plain
from airwnd.study.batch import Processes
from airwnd.study.draws import _UNITS, draw

from .command_line import run_interrupted
from .conftest import Cli, nightly
from .test_batch import WIRE, workers_of

TABLES = ("flows.parquet", "manifest.json", "runs.parquet")


@pytest.fixture(scope="module")
def wire() -> Scenario:
    return Scenario.from_dict(WIRE)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "wire.json"
    path.write_text(json.dumps(WIRE), encoding="utf-8")
    return path


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in TABLES}


def test_a_row_per_run_and_a_row_per_flow_and_run(wire: Scenario, tmp_path: Path) -> None:
    base = wire.with_({"ue": [{"count": 2}]})
    runs = airwnd.sweep(
        base, grid={"link[0].queue": [10, 50], "flow[0].rwnd": ["drwa", "fixed"]}, seeds=2, out=tmp_path
    )
    assert runs.select("link[0].queue", "flow[0].rwnd", "seed").rows() == [
        (queue, rwnd, seed) for queue in (10, 50) for rwnd in ("drwa", "fixed") for seed in (1, 2)
    ]
    flows = pl.read_parquet(tmp_path / "flows.parquet")
    assert flows.height == 2 * runs.height
    run = base.with_({"link[0].queue": 50, "flow[0].rwnd": "drwa"}).run(seed=2)
    where = (pl.col("link[0].queue") == 50) & (pl.col("flow[0].rwnd") == "drwa") & (pl.col("seed") == 2)
    [row] = runs.filter(where).rows(named=True)
    assert row["delay_ms_mean"] == run.totals["delay_ms_mean"]
    assert run.totals.items() <= row.items()
    assert flows.filter(where).drop("link[0].queue", "flow[0].rwnd", "seed").equals(run.flows)


def test_the_manifest_describes_the_data_set(wire: Scenario, tmp_path: Path) -> None:
    airwnd.sweep(wire, grid={"link[0].queue": [10]}, random={"link[0].rate": "1Mbps..9Mbps:2"}, out=tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["scenario"] == wire.resolved
    assert manifest["grid"] == [{"key": "link[0].queue", "values": ["10"]}]
    assert manifest["random"][0]["drawn_from"] == "1Mbps..9Mbps:2"
    assert (manifest["complete"], manifest["seeds"], manifest["sample_seed"]) == (True, 1, 1)
    assert manifest["airwnd"] == airwnd.__version__


@pytest.mark.parametrize(
    ("values", "columns"),
    [
        ([10, 50], {"k": [10, 50]}),
        ([0.5, 1], {"k": [0.5, 1.0]}),
        ([True, False], {"k": [True, False]}),
        (["10KiB", "50KiB"], {"k": ["10KiB", "50KiB"], "k [KiB]": [10, 50]}),
        (["-0.5dB", "2dB"], {"k": ["-0.5dB", "2dB"], "k [dB]": [-0.5, 2.0]}),
        (["10KiB", "1MiB"], {"k": ["10KiB", "1MiB"]}),
        (["drwa", "arwa"], {"k": ["drwa", "arwa"]}),
        ([{"kind": "drwa"}, "arwa"], {"k": ['{"kind" = "drwa"}', "arwa"]}),
        ([5, "none"], {"k": ["5", "none"]}),
    ],
)
def test_columns_of_settings(values: list[object], columns: dict[str, list[object]]) -> None:
    from airwnd.study.axis import grid_axis
    from airwnd.study.dataset import setting_columns

    axis = grid_axis("k", values)
    found = setting_columns([axis], [(name,) for name in axis.names])
    assert found.to_dict(as_series=False) == columns
    assert [type(value) for value in found["k"]] == [type(value) for value in columns["k"]]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("k=1,2", ("1", "2")),
        ('k=arwa,{kind="drwa",lambda=2}, bic ', ("arwa", '{kind="drwa",lambda=2}', "bic")),
        ("k=[1,2],[3]", ("[1,2]", "[3]")),
        ("k=\"a,b\",'c]'", ('"a,b"', "'c]'")),
        ("k=a=b", ("a=b",)),
    ],
)
def test_commas_within_brackets_and_quotes_do_not_separate(text: str, values: tuple[str, ...]) -> None:
    assert grid(text).names == values


def test_texts_are_parsed_as_values() -> None:
    found = [
        plain(text) for text in ("5", "5.0", "true", "10KiB", '"10KiB"', "{a=1}", "1979-05-27", "1\nb=2")
    ]
    assert found == [5, 5.0, True, "10KiB", "10KiB", "{a=1}", "1979-05-27", "1\nb=2"]


def numbers(text: str, unit: str = "", sample_seed: int = 1) -> list[float]:
    return [float(value.removesuffix(unit)) for value in draw(text, sample_seed).values]


def test_draws_are_between_the_bounds_and_reach_them() -> None:
    assert set(numbers("k=1..5:200")) == {1, 2, 3, 4, 5}
    assert set(numbers("k=-1..1:200")) == {-1, 0, 1}
    assert set(numbers("k=log:1..5:400")) == {1, 2, 3, 4, 5}


def test_draws_have_as_many_digits_as_the_bounds() -> None:
    assert all(value.isdigit() for value in draw("k=1..1000:50", 1).values)
    assert all(len(value.partition(".")[2]) == 2 for value in draw("k=0.5..2.25:50", 1).values)


def test_bounds_of_different_units_are_drawn_in_the_smaller_one() -> None:
    found = numbers("k=10KiB..1MiB:100", "KiB")
    assert 10 <= min(found) < max(found) <= 1024
    assert max(found) > 512
    assert max(numbers("k=100ms..1s:100", "ms")) > 500


def test_logarithmic_draws_have_as_many_below_the_geometric_mean() -> None:
    found = numbers("k=log:1000..1000000:400")
    below = sum(value < 31623 for value in found)
    assert 150 < below < 250
    assert sum(value < 31623 for value in numbers("k=1000..1000000:400")) < 50


def test_draws_depend_on_their_key_and_seed_and_grow_at_the_end() -> None:
    assert draw("k=1..1000:5", 1).values == draw("k=1..1000:9", 1).values[:5]
    assert draw("k=1..1000:5", 1).values != draw("k=1..1000:5", 2).values
    assert draw("k=1..1000:5", 1).values != draw("j=1..1000:5", 1).values
    assert draw("a[0].b=1..1000:5", 1).values == draw("a.0.b=1..1000:5", 1).values


@pytest.mark.parametrize(
    ("key", "one"),
    [
        ("duration", "ns"),
        ("rlc.queue.buffer", "B"),
        ("link[0].rate", "bps"),
        ("link[0].rate", "bit/s"),
        ("carrier.downlink_frequency", "Hz"),
        ("ue[0].placement.radius", "m"),
    ],
)
def test_units_have_the_engines_factors(wire: Scenario, key: str, one: str) -> None:
    base = wire.with_({"rlc.queue": {"kind": "drop-tail"}, "ue[0].placement": {"kind": "disc"}})
    [units] = [units for units in _UNITS if one in units]
    for unit, factor in units.items():
        # Within the limits of every key.
        times = 2 * max(units.values()) // factor
        assert base.with_({key: f"{times}{unit}"}) == base.with_({key: f"{times * factor}{one}"}), unit


def test_random_points_are_drawn_jointly_and_combined_with_the_grid(wire: Scenario, tmp_path: Path) -> None:
    random = {"link[0].rate": "1Mbps..20Mbps:3", "link[0].queue": "5..100:3"}
    runs = airwnd.sweep(wire, grid={"flow[0].rwnd": ["drwa", "fixed"]}, random=random, out=tmp_path)
    points = runs.group_by("flow[0].rwnd", maintain_order=True).agg("link[0].rate", "link[0].queue")
    assert points["link[0].rate"][0].equals(points["link[0].rate"][1])
    assert runs.select("link[0].rate", "link[0].queue").unique().height == 3
    assert runs["link[0].rate [Mbps]"].dtype == pl.Int64


def test_a_key_within_a_table_is_set_after_the_table(wire: Scenario, tmp_path: Path) -> None:
    axes: dict[str, list[object]] = {"flow[0].rwnd.lambda": [2.0, 5.0], "flow[0].rwnd": ["drwa"]}
    airwnd.sweep(wire, grid=axes, out=tmp_path)
    flows = pl.read_parquet(tmp_path / "flows.parquet")
    assert flows["flow[0].rwnd.lambda"].to_list() == [2.0, 5.0]
    assert flows["rwnd"].to_list() == ["drwa", "drwa"]


def test_jobs_do_not_change_a_byte(wire: Scenario, tmp_path: Path) -> None:
    for jobs in (1, 3):
        airwnd.sweep(
            wire,
            grid={"link[0].queue": range(5, 40)},
            seeds=2,
            out=tmp_path / str(jobs),
            workers=Processes(jobs),
        )
    assert contents(tmp_path / "1") == contents(tmp_path / "3")


def test_threads_of_runs_leave_cores_for_fewer_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("airwnd.support.threads.cores", lambda: 8)
    assert [Processes(threads=threads).jobs for threads in (1, 2, 3, 16)] == [8, 4, 2, 1]
    assert Processes(5, threads=4).jobs == 5


def test_a_killed_worker_process_changes_no_byte(wire: Scenario, tmp_path: Path) -> None:
    base, queues = wire.with_(duration="30s"), {"link[0].queue": range(5, 35)}
    killed: list[int] = []

    def kill(fraction: float) -> None:
        if fraction > 0.3 and not killed:
            killed.append(workers_of(os.getpid())[0])
            os.kill(killed[0], signal.SIGKILL)

    airwnd.sweep(base, grid=queues, out=tmp_path / "killed", workers=Processes(2), progress=kill)
    assert killed
    airwnd.sweep(base, grid=queues, out=tmp_path / "whole")
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")


def test_more_values_reuse_finished_runs(cli: Cli, file: Path, tmp_path: Path) -> None:
    cli("sweep", file, "--grid", "link[0].queue=10,50", "--seeds", "2", "--out", "out")
    more = cli("sweep", file, "--grid", "link[0].queue=10,30,50", "--seeds", "3", "--out", "out")
    assert "9 runs of 3 settings in" in more.stdout
    assert "4 of them finished earlier" in more.stdout
    assert "data set: out (runs.parquet, flows.parquet, manifest.json)" in more.stdout
    cli("sweep", file, "--grid", "link[0].queue=10,30,50", "--seeds", "3", "--out", "new")
    assert contents(tmp_path / "out") == contents(tmp_path / "new")


LONG = ("--grid", "link[0].queue=10,20,30,40,50,60", "--seeds", "5", "--set", "duration=60s", "--jobs", "2")


def test_a_deterministic_sweep_reports_that_seeds_change_nothing(
    cli: Cli, file: Path, tmp_path: Path
) -> None:
    for place, (loss, seeds, said) in enumerate(
        (("none", 3, True), ("none", 1, False), ("packet-error", 3, False))
    ):
        design = ("--set", f"link[0].loss={loss}", "--grid", "link[0].queue=5,50", "--seeds", str(seeds))
        done = cli("sweep", file, *design, "--out", tmp_path / str(place), "--jobs", "1")
        assert done.returncode == 0, done.stderr
        assert ("every seed gave the same run: nothing in the scenario is random" in done.stdout) == said


@pytest.mark.parametrize("way", [signal.SIGINT, nightly(signal.SIGKILL)])
def test_an_interrupted_sweep_continues_to_the_same_bytes(
    cli: Cli, file: Path, tmp_path: Path, way: signal.Signals
) -> None:
    done = run_interrupted(
        *("sweep", file, *LONG, "--out", "out"),
        cwd=tmp_path,
        when=lambda: len(list(tmp_path.glob("out/runs/*.json"))) >= 5,
        by=way,
    )
    if way == signal.SIGINT:
        assert done.returncode == 130
        assert "finished runs are kept in" in done.stderr
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["complete"] is False
    assert not (tmp_path / "out" / "runs.parquet").exists()
    again = cli("sweep", file, *LONG, "--out", tmp_path / "out")
    assert "finished earlier" in again.stdout
    cli("sweep", file, *LONG, "--out", tmp_path / "whole")
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "nothing is varied: give seeds, a grid, KEY=VALUE,VALUE, or a random draw"),
        (("--grid", "link[0].queue"), "grid link[0].queue: expected KEY=VALUE,VALUE"),
        (("--grid", "link[0].queue="), "grid link[0].queue=: no values"),
        (("--grid", "link[0].queue=1,,2"), "grid link[0].queue=1,,2: an empty value between commas"),
        (("--grid", "link[0].queue=10,10"), "the value 10 is listed twice"),
        (("--grid", "flow[0].rwnd={kind=1"), "a bracket or quote is not closed"),
        (
            ("--grid", "link[0].qeue=1"),
            "grid link[0].qeue=1: link[0]: unknown key `qeue`; did you mean `queue`?",
        ),
        (
            ("--grid", "link[0].queue=1,x"),
            'grid link[0].queue=x: link[0].queue: expected a whole number, found "x"',
        ),
        (("--grid", "link[0].queue=1", "--grid", "link[0].queue=2"), "link[0].queue is varied twice"),
        (("--grid", "ue[0].count=1", "--random", "ue.0.count=1..2:1"), "ue[0].count is varied twice"),
        (("--grid", "seed=1,2"), "grid seed: cannot be varied; --seeds sets the number of seeds"),
        (("--random", "link[0].queue=5"), "random link[0].queue=5: expected KEY=LOW..HIGH:N"),
        (("--random", "link[0].queue=9..5:3"), "the lower bound must be below the upper one"),
        (("--random", "link[0].queue=1..5:0"), "random link[0].queue=1..5:0: no points"),
        (("--random", "link[0].queue=log:0..5:3"), "the bounds of a logarithmic draw must be above zero"),
        (("--random", "link[0].rate=1Mbps..5:3"), "the bounds need the same unit, found `Mbps` and ``"),
        (("--random", "link[0].rate=1Mbps..5ms:3"), "the bounds need the same unit, found `Mbps` and `ms`"),
        (
            ("--random", "link[0].rate=1Mbps..5Mbps:3", "--random", "link[0].queue=1..5:4"),
            "need equally many points; link[0].rate has 3, link[0].queue has 4",
        ),
        (("--random", "link[0].qeue=1..5:3"), "unknown key `qeue`"),
        (("--grid", "link[0].queue=1", "--seeds", "0"), "Invalid value for '--seeds'"),
        (("--grid", "link[0].queue=1", "--jobs", "2", "--dask", "tcp://x:1"), "--jobs applies to local runs"),
        (
            ("--grid", "link[0].queue=1", "--threads", "2", "--dask", "tcp://x:1"),
            "--threads applies to local runs",
        ),
    ],
)
def test_an_error_is_one_line_and_nothing_is_run(
    cli: Cli, file: Path, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = cli("sweep", file, *arguments, "--out", "out")
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_text_instead_of_a_list_of_values_is_rejected(wire: Scenario, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"grid link\[0\]\.queue: expected a list, found '10,20'"):
        airwnd.sweep(wire, grid={"link[0].queue": "10,20"}, out=tmp_path)
    with pytest.raises(InputError, match=r"grid link\[0\]\.queue: no values"):
        airwnd.sweep(wire, grid={"link[0].queue": []}, out=tmp_path)
    with pytest.raises(InputError, match="seeds: expected a whole number above zero, found 0"):
        airwnd.sweep(wire, grid={"link[0].queue": [1]}, seeds=0, out=tmp_path)


def change(folder: Path, **settings: object) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **settings}), encoding="utf-8")


def test_folders_with_other_data_are_rejected(wire: Scenario, tmp_path: Path) -> None:
    def message(folder: Path, scenario: Scenario = wire) -> str:
        with pytest.raises(InputError) as caught:
            airwnd.sweep(scenario, grid={"link[0].queue": [1]}, out=folder)
        return str(caught.value)

    out = tmp_path / "out"
    airwnd.sweep(wire, grid={"link[0].queue": [1]}, out=out)
    other = wire.with_({"ue[0].height": "2m"})
    assert message(out, other) == (
        f'{out}: holds a sweep of another scenario: ue[0].height is "1.5m" there and "2m" here; '
        "choose another --out, or use this one with --force"
    )
    change(out, airwnd="9.9.9", engine="9.9.9+fade")
    assert "airwnd 9.9.9, engine 9.9.9+fade; this is airwnd" in message(out)
    assert f"engine {airwnd._native.ENGINE}" in message(out)
    change(out, kind="run")
    assert "manifest.json: not the manifest of a sweep" in message(out)
    (out / "manifest.json").write_text("{", encoding="utf-8")
    assert "manifest.json: not the manifest of a sweep" in message(out)
    (out / "manifest.json").unlink()
    assert "is not empty, and not the folder of a sweep" in message(out)
    assert "is a file; expected a folder" in message(out / "runs.parquet")


def test_a_full_disk_during_writing_keeps_the_runs(
    wire: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Path.write_bytes

    def full(path: Path, data: bytes) -> int:
        if "flows.parquet" in path.name:
            write(path, data[:9])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(path, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left on device; finished runs are kept") as caught:
        airwnd.sweep(wire, grid={"link[0].queue": [1, 2]}, out=tmp_path)
    assert caught.value.filename == str(tmp_path)
    monkeypatch.undo()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["manifest.json", "runs", "runs.parquet"]
    assert json.loads((tmp_path / "manifest.json").read_text())["complete"] is False
    assert airwnd.sweep(wire, grid={"link[0].queue": [1, 2]}, out=tmp_path).height == 2
    assert json.loads((tmp_path / "manifest.json").read_text())["complete"] is True
