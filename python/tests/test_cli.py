"""The command line."""

import json
import os
import re
import shlex
import subprocess
import warnings
from pathlib import Path

import pytest

from airwnd import _native

from .command_line import AIRWND, run_interrupted
from .conftest import TABLE6, Cli

# Wall-clock times differ in each run.
TIMES = re.compile(r"\d+:\d+:\d+| in [\d.]+ m?s.*")

SMALL = (TABLE6 / "scenario.toml", "--set", "ue[0].count=3", "--set", "duration=200ms")


@pytest.mark.parametrize(
    "words",
    [
        ("run", *SMALL, "--progress"),
        ("list", "rwnd"),
        ("plot",),
        ("check", "nowhere.toml"),
        ("guard", "--bogus"),
        ("--version",),
    ],
)
def test_a_call_in_this_process_equals_a_process(
    cli: Cli, cli_process: Cli, words: tuple[str | Path, ...]
) -> None:
    here, process = (
        [done.returncode, TIMES.sub("", done.stdout), TIMES.sub("", done.stderr)]
        for done in (cli(*words), cli_process(*words))
    )
    assert here == process


def test_a_call_prints_the_warnings_of_a_command(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "airwnd.scenario.scenario.source_of", lambda *_, **__: warnings.warn("late", stacklevel=1)
    )
    done = cli("check", "s.toml")
    assert "UserWarning: late" in done.stderr


def test_a_call_that_changes_the_process_fails(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("airwnd.scenario.scenario.source_of", lambda *_, **__: monkeypatch.setenv("NEW", "1"))
    with pytest.raises(AssertionError, match=r"has changed \['environment variables'\]"):
        cli("check", "s.toml")


def test_run_prints_a_summary(cli: Cli) -> None:
    done = cli("run", *SMALL)
    assert done.returncode == 0
    assert "throughput" in done.stdout
    assert done.stderr == ""


def test_json_is_one_object(cli: Cli, tmp_path: Path) -> None:
    done = cli("run", *SMALL, "--json", "--seed", "9", "--out", tmp_path / "run", "--series", "50ms")
    found = json.loads(done.stdout)
    assert found["seed"] == 9
    assert (
        json.loads((tmp_path / "run" / "manifest.json").read_text())["outcome"]["totals"] == found["totals"]
    )
    assert (tmp_path / "run" / "series.parquet").exists()


def test_progress_goes_to_standard_error(cli: Cli) -> None:
    done = cli("run", *SMALL, "--json", "--progress")
    json.loads(done.stdout)
    assert "100%" in done.stderr


def test_list_and_explain(cli: Cli) -> None:
    every, one = cli("list"), cli("list", "rwnd")
    assert "drwa" in every.stdout
    assert "cc  " in every.stdout
    assert "cc  " not in one.stdout
    assert "IMC" in one.stdout, "a family's list names the sources"
    explained = cli("explain", "drwa")
    assert "lambda" in explained.stdout
    assert "Source:" in explained.stdout
    assert explained.stdout == cli("explain", "rwnd/drwa").stdout
    column = cli("explain", "flows.delay_ms_p95").stdout
    assert "delay_ms_p95 [ms]  (number)" in column
    assert "95th percentile" in " ".join(column.split())
    assert cli("explain", "links").stdout.count("queue_bytes_") == 2
    marked = cli("explain", "marks").stdout
    assert "flows.packets_marked" in marked, "by its heading"
    assert "links.marks" in marked
    assert "QCI" in cli("explain", "5QI").stdout


def test_presets_are_listed_and_explained(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "1000")  # nothing wraps
    assert re.search(r"^  ns3\.44 +ns-3 3\.44 ", cli("list").stdout, re.MULTILINE)
    assert "linux " in cli("list", "stack").stdout
    listed = cli("list", "preset").stdout
    assert "ns3.26" in listed
    assert "drwa" not in listed
    explained = cli("explain", "ns3.44").stdout
    assert explained.startswith(preset := cli("explain", "preset/ns3.44").stdout)
    assert preset in cli("explain", "preset").stdout
    assert cli("explain", "stack/ns3.44").stdout in explained, "a stack has the same name"
    assert "recount_at_exit = true  " in explained, "a quirk of the stack"
    assert cli("explain", "compat/ns3.44").stdout in explained, "and of the simulator"


def test_check_accepts_a_scenario_of_real_programs(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "bare.toml").write_text('duration = "1s"\n[[site]]\n[[ue]]\n', encoding="utf-8")
    done = cli("check", "bare.toml")
    assert (done.returncode, done.stderr) == (0, "")
    assert (
        done.stdout == "bare.toml: a valid scenario for airwnd link; airwnd run needs flows: add [[flow]]\n"
    )
    assert cli("run", "bare.toml").returncode == 2


def test_check_and_schema(cli: Cli) -> None:
    assert "a valid scenario" in cli("check", *SMALL).stdout
    assert json.loads(cli("check", *SMALL, "--json").stdout)["ue"][0]["count"] == 3
    assert "properties" in json.loads(cli("schema").stdout)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "nowhere.toml"), "nowhere.toml: No such file or directory"),
        (("run", "."), ".: is a folder; expected a file"),
        (("run",), "Missing argument 'FILE'. See `airwnd run --help`."),
        (("rum",), "No such command 'rum'"),
        (("run", *SMALL, "--sed", "1"), "No such option"),
        (("run", *SMALL, "--seed", "one"), "Invalid value for '--seed': 'one' is not a valid integer"),
        (("run", *SMALL, "--seed", "-1"), "Invalid value for '--seed': -1 is not in the range"),
        (("run", *SMALL, "--set", "rlc.queue"), "--set rlc.queue: expected KEY=VALUE"),
        (("run", *SMALL, "--set", "=5"), "the key is empty"),
        (("run", *SMALL, "--set", "rlc.queue.bufer=10KiB"), "unknown key `bufer`; did you mean `buffer`?"),
        (("run", *SMALL, "--set", "ue[7].count=1"), "`7` is not an index below 1"),
        (("run", *SMALL, "--series", "10"), 'series: `10` needs a unit, as in "20ms"'),
        (("run", *SMALL, "--plugin-timeout", "10"), 'plugin timeout: `10` needs a unit, as in "20ms"'),
        (("run", *SMALL, "--plugin-timeout", "0s"), "plugin timeout: 0 s is not above zero"),
        (("run", *SMALL, "--series", "0ms"), "series: `0ms` is not a sampling interval"),
        (("run", *SMALL, "--out", "/dev/null/run"), "/dev/null: is a file; expected a folder"),
        (("list", "rwmd"), "unknown family `rwmd`; did you mean `rwnd`?"),
        (("explain", "drwaa"), "unknown name `drwaa`; did you mean `drwa`"),
        (("explain", "flow.delay_ms"), "unknown name `flow.delay_ms`; did you mean `flows.delay_ms`"),
        (("explain", "xyzzy"), "unknown name `xyzzy`; `airwnd list` shows algorithms, stacks and presets"),
        (("explain", "rwmd/drwa"), "unknown name `rwmd/drwa`; did you mean `rwnd/drwa`"),
        (("check", "nowhere.toml"), "nowhere.toml: No such file or directory"),
        (
            ("reproduce", "example/table9"),
            "no experiment, paper or claim `example/table9`; `airwnd",
        ),
        (("reproduce", TABLE6, "--seeds", "0"), "Invalid value for '--seeds'"),
    ],
)
def test_an_error_is_one_line(cli: Cli, arguments: tuple[str, ...], message: str) -> None:
    done = cli(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr


@pytest.mark.parametrize("group", [(), ("plot",)])
def test_a_group_without_a_command_prints_its_help(cli: Cli, group: tuple[str, ...]) -> None:
    done = cli(*group)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == cli(*group, "--help").stdout


@pytest.mark.parametrize(
    ("raised", "shown"),
    [
        (RuntimeError("all\nwrong"), "RuntimeError: all wrong (airwnd "),
        (RecursionError(), "RecursionError (airwnd "),
        (_native.PanicException("a window of -1"), "PanicException: a window of -1 (airwnd "),
        (MemoryError(), "out of memory"),
    ],
)
def test_an_unexpected_exception_is_one_line(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, raised: BaseException, shown: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise raised

    monkeypatch.setattr("airwnd.scenario.scenario.source_of", fail)
    for debug in ([], ["--debug"]):
        done = cli(*debug, "check", "s.toml")
        assert (done.returncode, done.stdout) == (70, "")
        *traceback, line = done.stderr.splitlines()
        assert line.startswith(f"airwnd: {shown}")
        assert bool(traceback) == bool(debug)
        if "airwnd " in shown:
            assert line.endswith(f"engine {_native.ENGINE}); please report it with the output of --debug")


@pytest.mark.parametrize("debug", [(), ("--debug",)])
def test_a_panic_is_one_line_with_its_place(cli_process: Cli, tmp_path: Path, debug: tuple[str, ...]) -> None:
    # airwnd passes invalid JSON to the engine.
    (tmp_path / "mine.py").write_text(
        "import airwnd\nfrom airwnd.plugins.registry import Plugin\n"
        "Plugin.settings_json = lambda self: 'no JSON'\n"
        "class Mine(airwnd.CongestionControl):\n"
        "    def on_ack(self, ack): ...\n    def on_congestion(self, event): ...\n",
        encoding="utf-8",
    )
    cc = 'flow[0].cc={kind="python", class="mine.py:Mine"}'
    (tmp_path / "s.toml").write_text('duration = "1s"\n[[link]]\nrate = "1Mbps"\n[[ue]]\n[[flow]]\n')
    done = cli_process(*debug, "run", "s.toml", "--set", cc)
    assert (done.returncode, done.stdout) == (70, "")
    *more, line = done.stderr.splitlines()
    assert re.match(
        r"airwnd: PanicException: written as a JSON object.* \(crates/py/src/plugin/mod.rs:\d+, ", line
    )
    assert any("panicked at crates/py/src/plugin/mod.rs" in each for each in more) == bool(debug)
    assert any("Traceback" in each for each in more) == bool(debug)
    assert bool(more) == bool(debug)


def test_debug_adds_the_traceback(cli: Cli) -> None:
    done = cli("--debug", "check", "nowhere.toml")
    assert done.returncode == 2
    assert "FileNotFoundError" in done.stderr
    assert done.stderr.splitlines()[-1] == "airwnd: nowhere.toml: No such file or directory"


def test_a_closed_pipe_is_no_error() -> None:
    command = f"{shlex.join(AIRWND)} schema | head -c 10; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)  # noqa: S607
    assert done.stdout.endswith("0\n")
    assert done.stderr == ""


def test_ctrl_c_ends_a_long_run(tmp_path: Path) -> None:
    capture = tmp_path / "capture.pcapng"
    done = run_interrupted(
        *("run", *SMALL[:-1], "duration=300000s", "--pcap", capture),
        cwd=tmp_path,
        when=lambda: capture.exists() and capture.stat().st_size > 0,
    )
    assert (done.returncode, done.stdout, done.stderr.strip()) == (130, "", "airwnd: interrupted")


@pytest.mark.parametrize("group", [[], ["plot"]])
def test_help_shows_the_whole_summary_of_each_command(cli: Cli, group: list[str]) -> None:
    commands = cli(*group, "--help").stdout.partition("Commands:")[2]
    assert "map" in commands or "sweep" in commands
    assert "..." not in commands


@pytest.mark.parametrize(
    "command",
    [
        ("check",), ("run",), ("ues",), ("sweep", "--grid", "seed=1,2"), ("link", "--quiet"),
        ("link", "--rate", "1Mbit", "--trace"),
    ],
)  # fmt: skip
def test_a_name_that_is_not_utf_8_is_named(
    cli_process: Cli, tmp_path: Path, command: tuple[str, ...]
) -> None:
    name = os.fsdecode(b"sz\xe9n.toml")
    (tmp_path / name).write_text("duration = '1s'\n[[link]]\nrate = '1Mbps'\n[[ue]]\n[[flow]]\n")
    done = cli_process(*command, name)
    assert done.returncode in (0, 2)
    assert "please report it" not in done.stderr
    if done.returncode:
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("command", [("list",), ("guard", "--help"), ("guard", "check"), ("guard", "status")])
def test_output_that_cannot_be_written_is_one_line_at_most(command: tuple[str, ...]) -> None:
    ours = shlex.join([*AIRWND, *command])
    for script in (f"{ours} > /dev/full", f"{ours} | true; exit ${{PIPESTATUS[0]}}"):
        done = subprocess.run(["/bin/bash", "-c", script], capture_output=True, text=True, check=False)
        assert done.returncode in (0, 2), done.stderr
        assert done.stderr.count("\n") <= 1
        assert "report" not in done.stderr
