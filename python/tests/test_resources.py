"""Limits on memory and input: violations give one line, not exhausted memory or endless runs."""

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from airwnd import InputError, Scenario, ScenarioError, run_many
from airwnd.study.axis import grid_axis
from airwnd.study.design import Design
from airwnd.support import memory
from airwnd.support.files import read_text
from airwnd.text.quantities import csv_cells, one_line

from .command_line import command_words
from .conftest import Cli, nightly

SHORT = 'duration = "100ms"\n[[link]]\nrate = "10Mbps"\n[[ue]]\n[[flow]]\n'
FLOOD = 'duration = "2s"\n[[site]]\n[[ue]]\n[[flow]]\ntraffic = { kind = "cbr", rate = "1000Gbps" }\n'
TWO_SITES = '[[site]]\n[[site]]\nposition = ["3km", "0m"]\n'
CROWDED = f'duration = "1s"\nmac.srs_period = 2\n{TWO_SITES}[[ue]]\ncount = 4\n[[flow]]\n'


def written(folder: Path, text: str) -> Path:
    path = folder / "s.toml"
    path.write_text(text)
    return path


def test_the_command_line_rejects_runs_that_exceed_the_memory(cli: Cli, tmp_path: Path) -> None:
    done = cli("run", written(tmp_path, SHORT), "--series", "1ns", "--max-memory", "1GB")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "series: 1.0e8 rows (one every 1ns for each of 1 flows) need about 32.8 GB" in done.stderr


FULL = pytest.raises(ScenarioError, match=r"packets in the network, .* limit core\.server_queue")


def test_unlimited_flows_end_before_memory_is_exhausted() -> None:
    scenario = Scenario.from_toml(FLOOD)
    with FULL:
        scenario.run(max_memory="20MB")
    with FULL:
        run_many([(scenario, 1), (scenario, 2)], max_memory=20_000_000)


@pytest.mark.parametrize("maximum", ["2", "2 lots", "0B", -1])
def test_a_limit_is_a_size(maximum: str | int) -> None:
    with pytest.raises(InputError, match=r"^max_memory: "):
        Scenario.from_toml(SHORT).run(max_memory=maximum)


def test_concurrent_runs_share_the_free_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free", lambda: 10_000)
    assert (memory.share(), memory.share(4), memory.share(4, "3kB")) == (8000, 2000, 3000)


def test_limits_of_container_and_process_apply(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    limit, taken = tmp_path / "max", tmp_path / "current"
    monkeypatch.setattr(memory, "_GROUPS", ((str(limit), str(taken)),))
    machine = memory.free()
    limit.write_text("max\n")
    taken.write_text("1000\n")
    assert memory.free() > machine // 2
    limit.write_text("5000\n")
    assert memory.free() == 4000
    monkeypatch.setattr("resource.getrlimit", lambda _: (0, 0))
    assert memory.free() == 0


@pytest.mark.parametrize(
    ("limit", "options"),
    [
        nightly("-v", ""),
        nightly("-v", "--max-memory 2.9GB"),
        nightly("-d", ""),
        ("-d", "--max-memory 2.9GB"),
    ],
)
def test_a_run_within_a_limited_address_space_ends_with_a_message(
    tmp_path: Path, limit: str, options: str
) -> None:
    """Batch systems set such limits; a vector that doubles must fit as well."""
    written(tmp_path, f"{SHORT}[flow.traffic]\nkind = 'cbr'\nrate = '1000Gbps'\n")
    command = shlex.join(command_words("run", "s.toml", "--no-progress"))
    script = f"ulimit {limit} 3000000; exec {command} {options}"
    done = subprocess.run(
        ["/bin/sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert ": the memory limit of " in done.stderr


def test_check_rejects_the_same_scenarios_as_run(cli: Cli, tmp_path: Path) -> None:
    path = written(tmp_path, CROWDED)
    said = [cli(command, path).stderr for command in ("check", "run")]
    assert said[0] == said[1]
    assert "s.toml:2: mac.srs_period: a sounding period of 2 TTI has offsets for 2 UEs" in said[0]


def test_a_sweep_too_large_to_list_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free", lambda: 10**9)
    axes = [grid_axis(key, range(1000)) for key in ("ue[0].count", "flow[0].count")]
    with pytest.raises(InputError, match=r"^1000000 settings with 1 seeds each would take about .* GB"):
        Design.of(Scenario.from_toml(SHORT), grid=axes)


@pytest.mark.parametrize("path", [os.devnull, "/dev/zero"])
def test_devices_are_not_read(cli: Cli, path: str) -> None:
    done = cli("check", path)
    assert (done.returncode, done.stderr) == (2, f"airwnd: {path}: not a regular file or a pipe\n")


def test_a_file_that_is_read_again_later_is_no_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "figure.toml")
    with pytest.raises(InputError, match=r"figure.toml: not a regular file$"):
        read_text(tmp_path / "figure.toml")


def test_a_byte_order_mark_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_bytes(b"\xef\xbb\xbf" + SHORT.encode())
    assert read_text(path) == SHORT
    assert Scenario.load(path) == Scenario.from_toml(SHORT)
    path.write_bytes(b"\n\xff")
    with pytest.raises(InputError, match=r"^[^\n]*s\.toml:2: byte 0xff is not UTF-8$"):
        read_text(path)


def test_texts_are_safe_for_terminals_and_spreadsheets() -> None:
    with pytest.raises(
        ScenarioError, match=r'id: control characters are not allowed in a text, found ".u\{1b\}'
    ):
        Scenario.from_toml(SHORT + 'id = "\\u001b]0;x\\u0007"\n')
    assert one_line("a\x1b[2J\n\tb\x9b\u202e") == "a\\x1b[2J b\\x9b\\u202e"
    assert csv_cells(["@x", "+1e3", "-", "", None, -1]) == ["'@x", "+1e3", "'-", "", None, -1]


def test_a_flow_that_never_begins_has_plain_zeros() -> None:
    late = SHORT + 'traffic = "transfer"\narrivals = {kind = "file", path = "x", rows = [[100.0, -1.0]]}\n'
    run = Scenario.from_toml(late).run()
    assert str(run.totals["throughput_kbps"]) == "0.0"
    assert "-0.0" not in str(run.to_json())
