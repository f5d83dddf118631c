"""Batteries of ``airwnd link``: datagrams, results, pictures, and sessions."""

import io
import json
import math
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from rich.console import Console

from airwnd.link.battery import client
from airwnd.link.battery.datagrams import CALL, PING, REPLY, SIZES, Datagram, exchange, opened, received
from airwnd.link.battery.front import prepared
from airwnd.link.battery.picture import plot_battery, rates_mbps
from airwnd.link.battery.plans import BATTERIES, call_datagrams, idle_pings, pings
from airwnd.link.battery.reflector import Reflector
from airwnd.link.battery.results import QUANTITIES, RANKS, Results, percentile, show
from airwnd.link.requirements import Requirement
from airwnd.plots import save
from airwnd.support.errors import InputError

from .command_line import command_words
from .conftest import ROOT, nightly
from .test_link import Call, Engine, call, engine
from .test_link_session import USERS, Emulator, emulator, refusal
from .waiting import wait_until

WORKFLOW = ROOT / "examples" / "ci"

__all__ = ["call", "emulator", "engine", "refusal"]


def measured(*, plan: str = "voip", lost: int = 0) -> dict[str, Any]:
    """Samples of the UE's end of a battery of one second; the last datagrams of each kind are lost."""
    before, count = idle_pings(), pings(1)
    found: dict[str, Any] = {
        "ping": {
            "sent": count,
            "samples": [
                (number, number * 0.05 - 2, 30.0 if number < before else 60.0 + number - before)
                for number in range(count - lost)
            ],
        }
    }
    ways = ["down"] * BATTERIES[plan].downloads + ["up"] * BATTERIES[plan].uploads
    if ways:
        points = [(0.0, 0), (0.5, 125_000), (1.0, 250_000)]
        found["tcp"] = {
            "congestion_control": "cubic",
            "transfers": [{"direction": way, "points": points} for way in ways],
        }
    if BATTERIES[plan].has_call:
        samples = [(number, number * 0.02, 10.0 + number) for number in range(call_datagrams(1) - lost)]
        found["call"] = {way: {"sent": call_datagrams(1), "samples": samples} for way in ("down", "up")}
    if BATTERIES[plan].has_pages:
        found["pages"] = [{"start_s": 0.0, "load_ms": 800.0}, {"start_s": 1.0, "load_ms": None}]
    return found


def results(plan: str, lost: int = 0) -> Results:
    return Results.of(plan, 1.0, json.loads(json.dumps(measured(plan=plan, lost=lost))))


def test_rows_have_what_was_measured() -> None:
    rows = {row["id"]: row for row in results("voip", lost=5).rows()}
    assert list(rows) == [
        "download", "upload", "downloads", "uploads", "idle ping", "ping", "call down", "call up",
    ]  # fmt: skip
    # 250 kB in one second.
    assert rows["download"]["goodput_kbps"] == rows["uploads"]["goodput_kbps"] == 2000
    assert rows["idle ping"]["rtt_ms_p99"] == 30
    assert rows["idle ping"]["loss_percent"] == 0
    # 20 pings beside the load, of which 15 arrived with 60 to 74 ms: ranks 8, 15 and 15.
    assert [rows["ping"][f"rtt_ms_p{rank}"] for rank in RANKS] == [67, 74, 74]
    assert rows["ping"]["loss_percent"] == 25
    # 50 datagrams, of which 45 arrived with 10 to 54 ms: ranks 23, 43 and 45.
    assert [rows["call up"][f"delay_ms_p{rank}"] for rank in RANKS] == [32, 52, 54]
    assert rows["call up"]["loss_percent"] == pytest.approx(10)
    for row in rows.values():
        assert list(row) == ["id", "kind", *QUANTITIES[row["kind"]]]


def test_flows_of_one_direction_are_summed() -> None:
    rows = {row["id"]: row for row in results("rrul").rows()}
    assert [name for name in rows if name.startswith("download")] == [
        *(f"download {number}" for number in range(1, 5)),
        "downloads",
    ]
    assert rows["downloads"]["goodput_kbps"] == 8000


def test_pages_that_fail_are_counted() -> None:
    (row,) = (row for row in results("web").rows() if row["kind"] == "page")
    assert (row["load_ms_p50"], row["loads"], row["failed"]) == (800, 1, 1)


def test_nothing_that_arrives_is_no_number() -> None:
    found = measured(plan="tcp_download", lost=pings(1))
    found["tcp"]["transfers"][0]["points"] = [(0.0, 0), (1.0, 0)]
    nothing = Results.of("tcp_download", 1.0, found)
    assert nothing.rows()[0]["goodput_kbps"] == 0
    pings_of = [row for row in nothing.rows() if row["kind"] in ("idle", "ping")]
    assert [(row["rtt_ms_p50"], row["loss_percent"]) for row in pings_of] == 2 * [(None, 100)]
    plot_battery(nothing)


@pytest.mark.parametrize(("percent", "rank"), [(50, 50), (95, 95), (99, 99), (100, 100), (0, 1)])
def test_a_percentile_is_that_of_the_nearest_rank(percent: float, rank: float) -> None:
    assert percentile([float(value) for value in range(1, 101)], percent) == rank


@pytest.mark.parametrize("plan", BATTERIES)
def test_the_table_has_a_line_for_each_workload(plan: str) -> None:
    stream = io.StringIO()
    show(results(plan), Console(file=stream, width=80))
    text = stream.getvalue()
    assert text.startswith(f"{plan}: {BATTERIES[plan].about}; 1 s")
    assert all(len(line) <= 80 for line in text.splitlines())
    shown = [line.split("  ")[0].strip() for line in text.splitlines() if line.startswith(" ")]
    ids = [row["id"] for row in results(plan).rows()]
    assert shown[-len(set(ids) & set(shown)) :] == [name for name in ids if name in shown]
    # The sum of a single transfer is the transfer.
    assert set(ids) - set(shown) == ({"downloads", "uploads"} & set(ids) if plan != "rrul" else set())


@pytest.mark.parametrize("plan", [plan if plan == "rrul" else nightly(plan) for plan in BATTERIES])
@pytest.mark.parametrize("suffix", [".svg", ".png", ".pdf"])
def test_equal_results_are_equal_pictures(plan: str, suffix: str, tmp_path: Path) -> None:
    for name in "ab":
        save.save(plot_battery(results(plan, lost=3), "US$ 5"), tmp_path / (name + suffix))
    first, second = ((tmp_path / (name + suffix)).read_bytes() for name in "ab")
    assert first == second
    assert len(first) > 5000


def test_a_picture_has_series_and_distributions() -> None:
    load, share, delay, cdf = plot_battery(results("voip", lost=5)).axes
    assert load.get_ylabel() == share.get_xlabel() == "Goodput (Mbit/s)"
    assert (delay.get_ylabel(), cdf.get_xlabel()) == ("Delay (ms)", "Delay (ms)")
    lines = {str(line.get_label()): line for line in cdf.get_lines()}
    assert list(lines) == ["idle ping", "ping", "call down", "call up"]
    # Losses keep a line below 1.
    assert np.max(lines["idle ping"].get_ydata()) == 1
    assert np.max(lines["ping"].get_ydata()) == pytest.approx(0.75)
    assert np.max(lines["call up"].get_ydata()) == pytest.approx(0.9)
    page = plot_battery(results("web")).axes[1].get_lines()[0]
    assert np.max(page.get_ydata()) == pytest.approx(0.5)


def test_goodput_over_time_sums_to_the_payload() -> None:
    points = [(0.0, 0), (0.37, 90_000), (0.9, 91_000), (1.73, 300_000)]
    times, rates = rates_mbps(points)
    assert times[-1] == pytest.approx(1.73)
    assert np.sum(rates) * times[0] / 8e-6 == pytest.approx(300_000)


def test_datagrams_have_sizes_and_fields() -> None:
    for kind in (PING, REPLY, CALL):
        datagram = Datagram(kind, 7, 50, 2**60, 2**60 + 1, 2**60 + 2)
        assert len(datagram.encoded()) == SIZES[kind]
        assert Datagram.decoded(datagram.encoded()) == datagram
    # A reply 9 ms after its request, of which the reflector took 4.
    assert Datagram(REPLY, 0, 1, 1_000_000, 5_000_000, 9_000_000).rtt_ns(10_000_000) == 5_000_000
    for other in (b"", b"\0", b"\7" * 64, b"\2" * 64, bytes(2000)):
        assert Datagram.decoded(other) is None


def loopback() -> tuple[socket.socket, socket.socket]:
    """Two sockets, the second one connected to the first."""
    there, here = opened(), opened()
    there.bind(("127.0.0.1", 0))
    here.connect(there.getsockname())
    return there, here


def arrived(sock: socket.socket, count: int) -> list[tuple[Datagram, int]]:
    found: list[tuple[Datagram, int]] = []

    def is_complete() -> bool:
        found.extend((datagram, now_ns) for datagram, now_ns, _ in received(sock))
        return len(found) >= count

    wait_until(is_complete)
    return found


def test_the_reflector_answers_pings_and_holds_a_call() -> None:
    records: list[tuple[int, int, int]] = []
    there, here = loopback()
    with there, here:
        reflector = Reflector(there, lambda *fields: records.append(fields))
        here.send(b"no datagram of ours")
        here.send(Datagram(PING, 3, 9, 1000).encoded())
        here.send(Datagram(CALL, 0, 4, 1000).encoded())
        here.send(Datagram(CALL, 2, 4, 3000).encoded())

        def has(count: int) -> bool:
            reflector.answer()
            return len(records) == count

        wait_until(lambda: has(2))
        ((reply, now_ns),) = arrived(here, 1)
        assert (reply.kind, reply.number, reply.count, reply.sent_ns) == (REPLY, 3, 9, 1000)
        # The kernel's time of arrival is on the clock of the replies.
        assert reply.arrived_ns <= reply.replied_ns <= now_ns
        assert [(number, sent) for number, sent, _ in records] == [(0, 1000), (2, 3000)]
        # Four datagrams of one call, however late the reflector is, and none when it has ended.
        assert reflector.send_due(-math.inf) is not None
        assert reflector.send_due(math.inf) is None
        numbers = [(each.kind, each.number, each.count) for each, _ in arrived(here, 4)]
        assert numbers == [(CALL, number, 4) for number in range(4)]
        here.send(Datagram(CALL, 3, 4, 4000).encoded())
        wait_until(lambda: has(3))
        assert reflector.send_due(math.inf) is None


def test_an_exchange_ends_when_all_have_arrived() -> None:
    there, here = loopback()
    sent: list[int] = []
    answers: list[int] = []
    with there, here:
        peer = here.getsockname()

        def send(number: int) -> None:
            sent.append(number)
            there.sendto(Datagram(CALL, number, 5, 1).encoded(), peer)

        # The times have passed: the datagrams are sent at once.
        exchange(
            here,
            [0.0] * 5,
            send,
            lambda datagram, _: answers.append(datagram.number),
            lambda: len(answers) == 5,
        )
    assert sent == answers == list(range(5))


def test_an_error_of_a_workload_is_that_of_the_battery() -> None:
    def fail() -> None:
        raise ConnectionResetError("no more")

    assert client.side_by_side({"a": lambda: 1, "b": lambda: [2]}) == {"a": 1, "b": [2]}
    with pytest.raises(ConnectionResetError, match="no more"):
        client.side_by_side({"a": lambda: 1, "b": fail})


def test_the_page_is_that_of_the_study_of_stacks() -> None:
    # 1.66 MB in 50 files; sizes are rounded to bytes within a type.
    assert len(client.PAGE) == 50
    assert sum(client.PAGE) == pytest.approx(18_000 + 73_000 + 111_000 + 558_000 + 900_000, abs=50)


ROWS = results("voip", lost=5).rows()


@pytest.mark.parametrize(
    ("text", "failures"),
    [
        ("ping.p95 < 75ms", []),
        ("ping.p95 < 74ms", ["required ping.p95 < 74ms: ping has 74.0"]),
        ("call.p50 < 33ms", []),
        (
            "call.loss_percent < 5",
            [
                "required call.loss_percent < 5: call down has 10.0",
                "required call.loss_percent < 5: call up has 10.0",
            ],
        ),
        ("downloads.goodput_kbps >= 2Mbit", []),
        ("page.p95 < 1s", ["required page.p95 < 1s: no row of the battery has load_ms_p95"]),
        ("p95 < 1s", ["required p95 < 1s: no flow has rtt_ms_p95"]),
    ],
)
def test_rows_meet_a_condition_or_are_named(text: str, failures: list[str]) -> None:
    assert Requirement.parse(text, has_battery=True).failures([], ROWS) == failures


@pytest.mark.parametrize(
    ("text", "has_battery", "message"),
    [
        ("ping.p95 < 80ms", False, "--require ping.p95 < 80ms: `ping` requires --battery"),
        ("sctp.p95 < 80ms", True, "unknown protocol `sctp`; allowed: tcp, udp, icmp, other, download,"),
        ("call.rtt_ms_p95 < 1s", True, "`rtt_ms_p95`; allowed: p50, p95, p99, delay_ms_p50,"),
        ("download.p95 < 1s", True, "unknown quantity `p95`; allowed: goodput_kbps"),
    ],
)
def test_what_is_no_condition_of_a_battery_is_named(text: str, has_battery: bool, message: str) -> None:
    with pytest.raises(InputError) as caught:
        Requirement.parse(text, has_battery=has_battery)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--battery", "flood"), "'flood' is not one of 'rrul', 'tcp_download', 'voip', 'web'"),
        (("--battery", "web", "--", "ls"), "--battery takes the place of a COMMAND"),
        (("--battery", "web", "--host"), "--host and --battery exclude each other."),
        (("--battery-time", "5s"), "--battery-time and --battery-plot require --battery."),
        (("--battery", "web", "--battery-time", "5"), "--battery-time: `5` needs a unit"),
        (("--battery", "web", "--battery-time", "1ms"), "--battery-time 1ms: outside 1s..3600s"),
        (("--battery", "web", "--battery-plot", "a.gif"), "a.gif: the name of a picture must end in .svg"),
        (("--require", "ping.p95 < 1s", "--", "ls"), "`ping` requires --battery"),
    ],
)
def test_an_error_is_one_line(engine: Engine, call: Call, arguments: tuple[str, ...], message: str) -> None:
    code, output, errors = call("--rate", "1Mbit", *arguments)
    assert message in errors
    assert (code, output, errors.count("\n")) == (2, "", 1)
    assert not engine.request


def test_a_battery_is_a_command_and_an_end_of_the_session(engine: Engine, call: Call) -> None:
    # The engine of this test starts no programs: nothing is measured, as if the session had been interrupted.
    code, output, errors = call(
        "--quiet",
        "--ue",
        "car",
        "cell.toml",
        "--battery",
        "voip",
        "--battery-time",
        "3s",
        "--summary",
        "s.json",
    )
    assert (code, output) == (0, ""), errors
    (ue,) = engine.request["ues"]
    *_, module, name, seconds, folder = ue["command"]
    assert (ue["ue"], module, name, seconds) == (2, "airwnd.link.battery.client", "voip", "3")
    *_, module, record = engine.request["end"]["command"]
    assert (module, Path(record).parent) == ("airwnd.link.battery.reflector", Path(folder))
    assert not Path(folder).exists()
    assert "battery" not in json.loads(Path("s.json").read_text(encoding="utf-8"))


def test_results_are_read_while_the_battery_is_prepared() -> None:
    with prepared("tcp_download", "1s") as battery:
        assert battery.results() is None
        text = json.dumps(measured(plan="tcp_download"))
        (battery.folder / "client.json").write_text(text, encoding="utf-8")
        found = battery.results()
    assert found == results("tcp_download")


# The other batteries have its workload, too.
@pytest.mark.parametrize("plan", [nightly(plan) if plan == "tcp_download" else plan for plan in BATTERIES])
def test_a_session_runs_a_battery(emulator: Emulator, plan: str) -> None:
    words = ["--rate", "20Mbit", "--rate-up", "10Mbit", "--delay", "10ms", "--battery", plan]
    words += ["--require", "idle.p50 >= 15ms"]
    output, summary = emulator.session(*words, "--battery-time", "1s", "--battery-plot", "battery.svg")
    assert output.startswith(f"{plan}: {BATTERIES[plan].about}; 1 s")
    assert (emulator.folder / "battery.svg").read_bytes().startswith(b"<?xml")
    battery = summary["battery"]
    rows = {row["id"]: row for row in battery["rows"]}
    delays = battery["delays"]
    assert delays["idle ping"]["sent"] + delays["ping"]["sent"] == pings(1)
    ways = [each for name, each in delays.items() if name.startswith("call")]
    assert [each["sent"] for each in ways] == 2 * BATTERIES[plan].has_call * [call_datagrams(1)]
    for name, each in delays.items():
        assert each["samples"], name
        assert len(each["samples"]) <= each["sent"]
        # A ping passes the link twice. A packet enters at most 50 us before it is read (the relay's `GRAIN`).
        passes = 1 if name.startswith("call") else 2
        assert min(delay for _, delay in each["samples"]) >= passes * (10 - 0.05)
    count = BATTERIES[plan].downloads + BATTERIES[plan].uploads
    assert len(battery["transfers"]) == count
    for name, points in battery["transfers"].items():
        payloads = [size for _, size in points]
        assert payloads == sorted(payloads), name
        assert payloads[-1] > 0, name
    assert bool(battery["pages"]) == BATTERIES[plan].has_pages
    if plan == "web":
        assert rows["page"]["failed"] == 0
        # 1.66 MB at 20 Mbit/s take 0.66 s.
        assert rows["page"]["load_ms_p50"] > 660


def test_a_condition_of_a_battery_decides_the_exit_code(emulator: Emulator) -> None:
    words = ["--quiet", "--rate", "20Mbit", "--delay", "10ms", "--battery", "tcp_download"]
    words += ["--battery-time", "1s", "--lateness-limit", "10s", "--require", "idle.p50 >= 15ms"]
    command = emulator.command(*words, "--require", "ping.p50 < 10ms")
    # A battery needs no programs but the interpreter.
    place = command.index(sys.executable)
    command[place:place] = ["env", "PATH=/nonexistent"]
    failed = subprocess.run(command, cwd=emulator.folder, capture_output=True, text=True, check=False)
    assert failed.returncode == 3
    assert failed.stderr.startswith("airwnd: required ping.p50 < 10ms: ping has ")
    assert failed.stderr.count("\n") == 1
    assert failed.stdout.startswith("tcp_download: one download; 1 s")


@pytest.mark.parametrize("emulator", USERS[-1:], indirect=True)
def test_a_server_that_cannot_be_reached_is_one_line(emulator: Emulator) -> None:
    failed = emulator.run("--quiet", "--delay", "1ms", "--loss", "100%", "--battery", "web")
    assert failed.returncode == 1
    assert failed.stdout == ""
    assert failed.stderr.count("airwnd: --battery web: server: timed out\n") == 1


def steps_of_the_workflow() -> list[tuple[str, str]]:
    """Return name and script of the example workflow's steps that need neither the network nor root."""
    workflow = yaml.safe_load((WORKFLOW / "cell.yml").read_text(encoding="utf-8"))
    steps = [(step["name"], step["run"]) for step in workflow["jobs"]["cell"]["steps"] if "run" in step]
    return [(name, script) for name, script in steps if not re.search(r"\bsudo\b|\bpip\b", script)]


@pytest.mark.nightly
@pytest.mark.parametrize("emulator", USERS[:1], indirect=True)
def test_the_steps_of_the_example_workflow_pass(emulator: Emulator) -> None:
    for path in WORKFLOW.iterdir():
        shutil.copy(path, emulator.folder)
    program = emulator.folder / "bin" / "airwnd"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.join(command_words())} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    steps = steps_of_the_workflow()
    assert [name for name, _ in steps] == [
        "A download ends in time",
        "The machine was fast enough",
        "Calls remain usable beside transfers",
        "The threshold finds a long queue",
    ]
    for name, script in steps:
        done = subprocess.run(
            emulator.prepared(["bash", "-ec", script]),
            cwd=emulator.folder,
            env={
                **os.environ,
                "HOME": str(emulator.folder),
                "PATH": f"{program.parent}:{os.environ['PATH']}",
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if name == "The machine was fast enough":
            # The verdict is the machine's; what it is based on is the session's.
            late = json.loads((emulator.folder / "link.json").read_text(encoding="utf-8"))["link"]
            expected = bool(late["late"] or any(late["tun_dropped"].values()))
            assert (done.returncode, late["unaccounted"]) == (expected, 0), done.stderr
        else:
            assert done.returncode == 0, (name, done.stdout, done.stderr)
    assert "airwnd: required call.p95 < 400ms: call " in done.stderr
    assert {path.name for path in emulator.folder.glob("*.svg")} == {"codel.svg", "drop-tail.svg"}


def test_the_page_has_the_files_of_the_example_workflow() -> None:
    page = (ROOT / "docs" / "how-to" / "test-in-ci.md").read_text(encoding="utf-8")
    for name in ("edge.toml", "test_client.py", "check.py"):
        assert f"\n{(WORKFLOW / name).read_text(encoding='utf-8')}```\n" in page, name
    version = re.search(
        r'^version = "([\d.]+)"', (ROOT / "Cargo.toml").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert version
    assert f"airwnd-{version[1]}-cp311-abi3" in (WORKFLOW / "cell.yml").read_text(encoding="utf-8")


@pytest.mark.parametrize("emulator", USERS[:1], indirect=True)
def test_an_interrupt_ends_a_battery_without_a_word(emulator: Emulator) -> None:
    words = ["--quiet", "--rate", "1Mbit", "--battery", "rrul", "--battery-time", "3600s"]
    command = emulator.command(*words, "--lateness-limit", "10s")
    with subprocess.Popen(
        command, cwd=emulator.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as session:
        try:
            # The UE's end, its pings and its transfers.
            wait_until(lambda: workloads(emulator.folder) >= 3, session)
            session.send_signal(signal.SIGINT)
            output, errors = session.communicate()
        finally:
            session.kill()
    assert (session.returncode, output, errors) == (130, "", "")
    assert workloads(emulator.folder) == 0


def workloads(folder: Path) -> int:
    """Return the number of processes of a battery in a folder."""
    count = 0
    for process in Path("/proc").iterdir():
        with suppress(OSError):
            if (
                process.name.isdecimal()
                and b"airwnd.link.battery.client" in (process / "cmdline").read_bytes()
                and (process / "cwd").readlink() == folder
            ):
                count += 1
    return count
