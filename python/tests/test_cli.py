"""The command line."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import TABLE6, Cli
from .waiting import wait_until

SMALL = (TABLE6 / "scenario.toml", "--set", "ue[0].count=3", "--set", "duration=200ms")


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


def test_progress_goes_to_the_standard_error(cli: Cli) -> None:
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
    assert "95th percentile" in column
    assert cli("explain", "links").stdout.count("queue_bytes_") == 2


def test_presets_are_listed_and_explained(cli: Cli) -> None:
    assert "ns3.44  ns-3 3.44" in cli("list").stdout
    listed = cli("list", "preset").stdout
    assert "ns3.26" in listed
    assert "drwa" not in listed
    explained = cli("explain", "ns3.44").stdout
    assert explained == cli("explain", "preset/ns3.44").stdout
    assert explained in cli("explain", "preset").stdout
    assert "recount_at_exit = true\n      airwnd's default false; TcpSocketBase::ProcessAck" in explained


def test_check_and_schema(cli: Cli) -> None:
    assert "a valid scenario" in cli("check", *SMALL).stdout
    assert json.loads(cli("check", *SMALL, "--json").stdout)["ue"][0]["count"] == 3
    assert "properties" in json.loads(cli("schema").stdout)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "nowhere.toml"), "nowhere.toml: No such file or directory"),
        (("run", "."), ".: Is a directory"),
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
        (("run", *SMALL, "--series", "0ms"), "series: `0ms` is no interval"),
        (("run", *SMALL, "--out", "/dev/null/run"), "/dev/null/run: Not a directory"),
        (("list", "rwmd"), "unknown family `rwmd`; did you mean `rwnd`?"),
        (("explain", "drwaa"), "unknown algorithm `drwaa`; did you mean `drwa`"),
        (("explain", "flows.delay_ms"), "flows have no column `delay_ms`; did you mean `delay_ms_"),
        (
            ("explain", "flow.delay_ms"),
            "unknown table `flow`; the tables are run, totals, conservation, flows",
        ),
        (("explain", "xyzzy"), "unknown algorithm `xyzzy`; `airwnd list` shows all"),
        (("explain", "rwmd/drwa"), "unknown family `rwmd`; did you mean `rwnd`?"),
        (("check", "nowhere.toml"), "nowhere.toml: No such file or directory"),
        (("reproduce", "nobody/table9"), "no experiment `nobody/table9`; there are"),
        (("reproduce", TABLE6, "--seeds", "0"), "Invalid value for '--seeds'"),
    ],
)
def test_a_mistake_is_one_line(cli: Cli, arguments: tuple[str, ...], message: str) -> None:
    done = cli(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr


def test_a_reader_who_has_enough_is_no_error() -> None:
    command = f"{sys.executable} -m airwnd schema | head -c 10; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)  # noqa: S607
    assert done.stdout.endswith("0\n")
    assert done.stderr == ""


def test_ctrl_c_ends_a_long_run(tmp_path: Path) -> None:
    capture = tmp_path / "capture.pcapng"
    command = [sys.executable, "-m", "airwnd", "run", *map(str, SMALL[:-1]), "duration=300000s"]
    command += ["--pcap", str(capture)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: capture.exists() and capture.stat().st_size > 0, process)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate()
    assert (process.returncode, output, errors.strip()) == (130, "", "airwnd: interrupted")
