"""``airwnd link``: its command line, links without a scenario, and a session with a simulated engine."""

import io
import json
import os
import shlex
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from rich.console import Console

import airwnd
from airwnd import Scenario, _native
from airwnd.link import commands, mahimahi
from airwnd.link.commands import Part
from airwnd.link.session import DEFAULT_END, Session, Stop
from airwnd.link.snapshot import Snapshot, snapshot_of, summary_of
from airwnd.link.summary import Tallies, accounting, show, timing, warnings
from airwnd.link.wire import UNLIMITED_QUEUE, Wire, member, scenario_of
from airwnd.support.errors import InputError

from .conftest import ROOT, Cli

CELL = """\
name = "street"
duration = "2s"
[[site]]
[[ue]]
name = "phone"
count = 2
placement = { kind = "ring", radius = "200m" }
[[ue]]
name = "car"
placement = { kind = "ring", radius = "300m" }
[[flow]]
"""
WIRE = 'name = "wire"\nduration = "2s"\n[[link]]\nrate = "10Mbps"\n[[ue]]\n[[flow]]\n'


def ue(number: int = 0, **values: Any) -> dict[str, Any]:
    """A UE of a snapshot."""
    return {
        "ue": number,
        "name": f"ue-{number}",
        "down_kbps": 8000.0,
        "up_kbps": 100.0,
        "delay_down_ms": 30.0,
        "delay_up_ms": None,
        "queue_bytes": 15_000,
        "queue_packets": 10,
        "mcs": 16.0,
        "sinr_db": 14.2,
        "cell": 0,
        "dropped_down": 3,
        "dropped_up": 0,
        **values,
    }


def flow() -> dict[str, Any]:
    """A flow of a snapshot."""
    return {
        "id": "real-0",
        "ue": 0,
        "what": "tcp 100.64.0.2:40312 - 100.64.0.1:5201",
        "down_kbps": 7900.0,
        "up_kbps": 90.0,
        "rtt_ms": 48.25,
        "cc": "cubic",
        "cwnd_bytes": 43_440,
    }


def packets(dropped: dict[str, int], *, entered: int, left: int, inside: int, **more: int) -> dict[str, Any]:
    """Accounting of packets."""
    found = {"in": entered, "out": left, "dropped": dropped, "inside": inside}
    return {**found, "copied": 0, "marked": 0, "refused": 0, "malformed": 0, "unroutable": 0, **more}


def snapshot(*ues: dict[str, Any], **values: Any) -> str:
    """A snapshot as the engine writes it."""
    found = {
        "t_s": 0.2,
        "ues": list(ues),
        "flows": [flow()],
        "lateness_us": {"count": 90, "p50": 20.0, "p99": 300.0, "max": 900.0},
        "cpu_percent": 12.0,
        "behind_ms": 0.0,
        "packets": packets({"link_queue_full": 3}, entered=100, left=90, inside=7),
    }
    return json.dumps({**found, **values})


def summary(**values: Any) -> str:
    """A summary as the engine writes it."""
    found = {
        "began_ns": 1_795_000_000_000_000_000,
        "duration_s": 2.0,
        "exit_codes": [0],
        "server_exit": None,
        "trace_ended": False,
        "packets": packets({"link_queue_full": 9, "link_error": 0}, entered=1000, left=990, inside=1),
        "unaccounted": 0,
        "lateness_us": {"count": 990, "p50": 20.0, "p90": 90.0, "p99": 300.0, "p999": 800.0, "max": 900.0},
        "late_packets": 0,
        "late": False,
        "behind_ms_max": 0.4,
        "cpu_percent": 12.0,
        "tun_dropped": {"server": 0, "ue-0": 0},
        "pasta": False,
        "realtime": "SCHED_FIFO",
        "memory_locked": True,
    }
    return json.dumps({**found, **values})


CONNECTION = {
    "flow": "real-0",
    "protocol": "tcp",
    "ue_end": "100.64.0.2:40312",
    "server_end": "100.64.0.1:5201",
    "start_s": 0.25,
}


class Engine:
    """Stands in for the engine: sends snapshots, and returns a simulated run."""

    def __init__(self) -> None:
        self.request: dict[str, Any] = {}
        self.links: list[dict[str, Any]] = []
        self.snapshots = [snapshot(ue())]
        self.summary = summary()
        self.kept_running: list[bool] = []

    def link(
        self, scenario: _native.Scenario, request: str, update: Callable[[str], bool]
    ) -> tuple[str, dict[str, Any], str]:
        self.request = json.loads(request)
        self.kept_running = [update(text) for text in self.snapshots]
        resolved = scenario.to_json()
        self.links = json.loads(resolved)["link"]
        if self.links:
            # Links without a scenario last an hour, and may be fast.
            scenario = _native.Scenario(resolved, "link", "json", [("duration", "20ms")], 1.0, lambda _: None)
        outcome, tables = scenario.run(self.request["seed"], self.request["series_interval_ns"], None)
        return json.dumps({**json.loads(outcome), "connections": [CONNECTION]}), tables, self.summary


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    """The engine of the sessions in this process."""
    engine = Engine()
    monkeypatch.setattr(_native, "link", engine.link, raising=False)
    return engine


Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Call:
    """Call ``airwnd link`` in a folder with two scenarios; return code, output and errors."""
    (tmp_path / "cell.toml").write_text(CELL, encoding="utf-8")
    (tmp_path / "wire.toml").write_text(WIRE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, terminal: bool = False) -> tuple[int, str, str]:
        done = cli("link", *arguments, terminal=terminal)
        return done.returncode, done.stdout, done.stderr

    return run


def test_a_command_line_is_split_into_commands() -> None:
    own, parts = commands.split(
        shlex.split("cell.toml --seed 2 --ue a -- ping -c 3 server --ue b -- sh -c x")
    )
    assert own == ["cell.toml", "--seed", "2", "--ue", "a"]
    assert parts == [Part(None, ("ping", "-c", "3", "server")), Part("b", ("sh", "-c", "x"))]
    assert commands.named(parts, ["a"])[0] == Part("a", ("ping", "-c", "3", "server"))
    assert commands.split(["cell.toml"]) == (["cell.toml"], [])
    assert commands.split(["a", "--", "ssh", "--", "host"])[1] == [Part(None, ("ssh", "--", "host"))]


def test_the_shell_runs_without_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = Scenario.from_toml(CELL).resolved
    monkeypatch.setenv("SHELL", "/bin/echo")
    (placed,) = commands.place(commands.named([], ["car"]), scenario)
    assert (placed.ue, placed.name) == (2, "car")
    done = subprocess.run(placed.command, capture_output=True, text=True, check=True)
    assert done.stdout == "\n"
    assert done.stderr == "airwnd: a shell on UE car; 'server' is the other end; exit ends the session\n"
    monkeypatch.delenv("SHELL")
    (placed,) = commands.place(commands.named([], []), scenario)
    assert placed.command[-2:] == ("/bin/sh", "phone-0")


@pytest.mark.parametrize(
    ("name", "number"), [("phone", 0), ("phone-0", 0), ("phone-1", 1), ("car", 2), ("car-0", 2), ("ue-2", 2)]
)
def test_ues_have_names(name: str, number: int) -> None:
    assert commands.find(Scenario.from_toml(CELL).resolved["ue"], name) == number


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Missing SCENARIO, --trace or --rate."),
        (("nowhere.toml",), "nowhere.toml: No such file or directory"),
        (("cell.toml", "ping", "server"), "Unexpected argument ping; a COMMAND follows `--`."),
        (
            ("cell.toml", "--ue", "bus", "--", "ls"),
            "--ue bus: no such UE; there are phone-0 to phone-1, car, or",
        ),
        (("cell.toml", "--ue", "phone-2"), "--ue phone-2: no such UE"),
        (("cell.toml", "--ue", "ue-3"), "--ue ue-3: no such UE"),
        (
            ("cell.toml", "--ue", "phone", "--", "ls", "--ue", "ue-0", "--", "ls"),
            "two COMMANDs for one UE: phone is ue-0",
        ),
        (("cell.toml", "--", "ls", "--ue", "phone-0", "--", "ls"), "two COMMANDs for one UE: phone-0"),
        (("cell.toml", "--ue", "phone", "--ue", "car", "--", "ls"), "--ue phone: no COMMAND"),
        (("cell.toml", "--ue", "phone", "--", "--ue", "car", "--", "ls"), "--ue phone: no COMMAND"),
        (("cell.toml", "--", "tool", "--ue", "5"), "--ue 5: write --ue NAME -- COMMAND for each UE"),
        (("cell.toml", "--", "tool", "--ue"), "--ue : write --ue NAME -- COMMAND for each UE"),
        (("wire.toml", "--ue", "bus", "--", "ls"), "--ue bus: no such UE; there are ue, or by number ue-0"),
        (
            ("--rate", "5Mbit", "--ue", "pc", "--", "ls", "--ue", "pc", "--", "ls"),
            "two COMMANDs for one UE: pc",
        ),
        (("cell.toml", "--delay", "5ms"), "--delay is for a link without SCENARIO"),
        (("--rate", "5Mbit", "--trace", "nyc-subway"), "--rate and --trace exclude each other"),
        (("--rate", "five"), "airwnd: --rate five: `five` is not a rate"),
        (("--rate", "1Mbit", "--delay", "-1ms"), "airwnd: --delay -1ms: `-1ms` must not be negative"),
        (("--trace", "zeros"), "zeros:1: all times are 0: a link trace needs a duration"),
        (("--trace", "nowhere"), "airwnd: --trace nowhere: nowhere cannot be read"),
        (("--trace", "zeros", "norway-bus-1"), "norway-bus-1: in the format `rate`, but zeros in `mahimahi`"),
        (("--trace", "nyc-subway", "nyc-times", "more"), "Unexpected argument more"),
        (("--trace", "nyc-subway", "nyc-times", "--rate-up", "1Mbit"), "--rate-up and a trace UP exclude"),
        (("--rate-up", "1Mbit"), "--rate-up requires --rate or --trace"),
        (("--delay", "1ms", "--queue", "50"), "--queue requires --rate, --trace or --tbf"),
        (("--rate", "5Mbit", "--queue", "codl"), "--queue codl: unknown aqm `codl`; did you mean `codel`?"),
        (("--rate", "5Mbit", "--queue", "0"), "airwnd: --queue 0: 0 is outside 1.."),
        (
            ("--rate", "5Mbit", "--queue", "codel,target=0ms"),
            "airwnd: --queue codel,target=0ms: target: 0ns is outside 1ns..10s",
        ),
        (("--rate", "5Mbit", "--queue", "codel,5ms"), "--queue codel,5ms: expected NAME,KEY=VALUE"),
        (("--rate", "5Mbit", "--loss", "1pc"), "--loss 1pc: expected a percentage as in 1%"),
        (("--rate", "5Mbit", "--loss", "200%"), "airwnd: --loss 200%: rate: 2.0 is outside 0.0..1.0"),
        (("--rate", "5Mbit", "--loss", "-1%"), "airwnd: --loss -1%: rate: -0.01 is outside 0.0..1.0"),
        (("--rate", "5Mbit", "--loss", "0", "--loss-up", "2"), "airwnd: --loss-up 2: rate: 2.0 is outside"),
        (("--jitter", "61s"), "airwnd: --jitter 61s: time: 61s is outside 0ns..1min"),
        (
            ("--jitter", "5ms,25%"),
            "--jitter 5ms,25%: expected VALUE,KEY=VALUE, as in 5ms,",
        ),
        (("--jitter", "5ms,distribution=gauss"), "distribution: unknown word `gauss`; allowed: `uniform`,"),
        (
            ("--reorder", "gap=5"),
            "--reorder gap=5: expected VALUE,KEY=VALUE, as in 25%,",
        ),
        (("--reorder-up", "125%"), "airwnd: --reorder-up 125%: probability: 1.25 is outside 0.0..1.0"),
        (("--duplicate", "one"), "airwnd: --duplicate one: probability: expected a finite number"),
        (("--police", "10Mbit"), "airwnd: --police 10Mbit: `burst` is missing"),
        (
            ("--tbf", "10Mbit,burst=1kB"),
            "--tbf 10Mbit,burst=1kB: burst: 1kB is outside 1500B..1000GB",
        ),
        (
            ("--queue", "50", "--tbf", "10Mbit,burst=2kB,limit=9kB"),
            "airwnd: --queue 50: not allowed with `tbf.limit`, the limit of the same queue",
        ),
        (("cell.toml", "--host", "--internet"), "--host and --internet exclude each other."),
        (("cell.toml", "--server", "'"), "--server ': No closing quotation"),
        (("cell.toml", "--server", " "), "--server: expected a COMMAND"),
        (("cell.toml", "--force"), "--force requires --out."),
        (
            ("cell.toml", "--pcap-node", "ue-0"),
            "--pcap-node, --pcap-snaplen and --pcap-real-only require --pcap.",
        ),
        (("cell.toml", "--pcap", "a.pcapng", "--pcap-node", "ue-7"), "pcap: "),
        (("cell.toml", "--series", "5"), "--series: `5` needs a unit"),
        (("cell.toml", "--lateness-limit", "5"), "--lateness-limit: `5` needs a unit"),
        (("cell.toml", "--live", "--", "ls"), "--live requires a terminal."),
        (("cell.toml", "--mtu", "100"), "Invalid value for '--mtu'"),
        (("cell.toml", "--sysctl", "kernel.panic=1"), "kernel.panic=1: expected net.NAME=VALUE"),
        (("cell.toml", "--sysctl", "net.ipv4.tcp_ecn"), "net.ipv4.tcp_ecn: expected net.NAME=VALUE"),
        (("cell.toml", "--set", "flow[0].cx=1"), "unknown key `cx`"),
        (("mm-link", "nyc-subway"), "Missing argument 'DOWN'."),
        (("mm-delay", "5", "mm-link", "nyc-subway", "no", "--", "ls"), "airwnd: mm-link: no cannot be read"),
        (("mm-link", "nyc-subway", "nyc-times", "--graph", "ls"), "No such option '--graph'"),
        (("mm-link", "-u", "no/log", "nyc-subway", "nyc-times"), "no/log: there is no folder no; make it"),
        (("mm-link", "-u", "x", "-d", "x", "nyc-subway", "nyc-times"), "mm-link: two logs in one file, x"),
        (("mm-link", "nyc-subway", "nyc-times", "--uplink-queue=pie"), "--uplink-queue=pie needs qdelay_ref"),
        (("mm-link", "nyc-subway", "nyc-times", "--uplink-queue=red"), "'red' is not one of 'infinite'"),
        (
            ("mm-meter", "--meter-all", "ls"),
            "mm-meter: not supported; mm-link, mm-delay, mm-loss and mm-onoff",
        ),
        (("mm-delay", "5", "mm-webreplay", "site", "ls"), "mm-webreplay: not supported; mm-link"),
        (("mm-delay", "soon", "ls"), "'soon' is not a valid integer"),
        (("mm-loss", "left", "0.1"), "'left' is not one of 'uplink', 'downlink'"),
        (("mm-loss", "uplink", "2"), "2.0 is not in the range"),
        (("mm-loss", "uplink", "nan"), "nan is not in the range 0<=x<=1."),
        (("mm-onoff", "uplink", "0", "0"), "MEAN-ON-TIME and MEAN-OFF-TIME are both 0"),
        (("--rate", "1Mbit", "mm-delay", "5"), "--rate does not apply to mm-delay."),
        (("--ue", "a", "mm-delay", "5"), "--ue does not apply to mm-delay."),
    ],
)
def test_an_error_is_one_line(engine: Engine, call: Call, arguments: tuple[str, ...], message: str) -> None:
    Path("zeros").write_text("0\n0\n", encoding="utf-8")
    code, output, errors = call(*arguments)
    assert message in errors
    assert (code, output, errors.count("\n")) == (2, "", 1)
    assert not engine.request


def test_a_session_is_requested(engine: Engine, call: Call) -> None:
    code, output, errors = call(
        "--ue", "car", "cell.toml", "--seed", "7", "--mtu", "1400", "--", "ping", "server",
        "--ue", "phone", "--", "sh", "-c", "tool --ue 5",
    )  # fmt: skip
    assert (code, output) == (0, "")
    assert "street, seed 7: 2.0 s in real time" in errors
    assert engine.request["ues"] == [
        {"ue": 2, "name": "car", "command": ["ping", "server"]},
        {"ue": 0, "name": "phone", "command": ["sh", "-c", "tool --ue 5"]},
    ]
    assert engine.request["end"] == DEFAULT_END
    assert (engine.request["seed"], engine.request["mtu"]) == (7, 1400)
    assert engine.request["series_interval_ns"] is None
    assert engine.request["clock"]["lateness_limit_ns"] == 10**6
    assert engine.request["default_server"]
    assert not engine.request["captures_output"]
    assert engine.request["sysctls"] == []
    assert engine.request["pcap"] is None
    assert engine.kept_running == [True]


@pytest.mark.parametrize(
    ("options", "end"),
    [
        (("--host",), {"kind": "host"}),
        (("--server", "iperf3 -s -p '5 5'"), {"kind": "namespace", "command": ["iperf3", "-s", "-p", "5 5"]}),
        (("--internet",), {"kind": "internet"}),
    ],
)
def test_the_other_end_is_a_choice(
    engine: Engine, call: Call, options: tuple[str, ...], end: dict[str, Any]
) -> None:
    code, _, _ = call("cell.toml", *options, "--", "true")
    assert code == 0
    assert engine.request["end"] == end


def test_sysctls_are_paths(engine: Engine, call: Call) -> None:
    assert call("cell.toml", "--sysctl", "net.ipv4.tcp_ecn=1", "--", "true")[0] == 0
    assert engine.request["sysctls"] == [["net/ipv4/tcp_ecn", "1"]]


def test_the_exit_code_is_that_of_the_first_command_that_failed(engine: Engine, call: Call) -> None:
    engine.summary = summary(exit_codes=[0, 3, 4])
    assert call("cell.toml", "--", "x", "--ue", "car", "--", "y")[0] == 3


def test_results_are_kept(engine: Engine, call: Call) -> None:
    arguments = ("cell.toml", "--out", "run", "--summary", "sum.json", "--pcap", "a.pcapng", "--", "true")
    code, _, errors = call(*arguments)
    assert code == 0
    assert "written to run" in errors
    assert engine.request["series_interval_ns"] == engine.request["sockets_interval_ns"] == 100_000_000
    assert engine.request["pcap"]["nodes"] == ["server"]
    assert engine.request["pcap"]["path"] == str(Path("a.pcapng").absolute())
    run = airwnd.Run.load("run")
    assert run.outcome["link"]["lateness_us_p99"] == 300.0
    assert run.series["time_s"].len() > 0
    assert run.connections.to_dicts() == [CONNECTION]
    assert Path("run/connections.parquet").is_file()
    found = json.loads(Path("sum.json").read_text(encoding="utf-8"))
    assert found["link"] == json.loads(engine.summary)
    assert found["totals"] == run.totals
    code, _, errors = call(*arguments)
    assert (code, errors) == (
        2,
        "airwnd: run: holds a run, which a session cannot repeat; --force replaces it\n",
    )
    assert call(*arguments, "--force")[0] != 0, "behind `--`: an argument of the command"
    assert call("--force", *arguments)[0] == 0


def test_other_runs_have_no_connections(tmp_path: Path) -> None:
    run = Scenario.from_toml(WIRE).with_(duration="20ms").run()
    assert run.connections.is_empty()
    run.save(tmp_path / "run")
    assert not (tmp_path / "run" / "connections.parquet").exists()
    assert airwnd.Run.load(tmp_path / "run").connections.equals(run.connections)


def test_quiet_prints_warnings_only(engine: Engine, call: Call) -> None:
    assert call("cell.toml", "--quiet", "--", "true") == (0, "", "")
    engine.summary = summary(late=True, late_packets=12)
    _, _, errors = call("cell.toml", "--quiet", "--", "true")
    assert errors.startswith("late: 12 of 990 departures were later than the limit of 1.00 ms")


def test_flows_without_marks_are_named(call: Call) -> None:
    def warned(*options: str) -> str:
        return " ".join(call("cell.toml", "--set", "flow[0].cc=prague", *options, "--", "true")[2].split())

    warning = "`prague` needs ECN marks, and no queue marks"
    assert warning in warned()
    assert warning in warned("--quiet")
    assert warning not in warned("--set", "rlc.queue=dualpi2")
    assert "needs ECN marks" not in call("cell.toml", "--", "true")[2]


def test_several_ues_share_a_link(engine: Engine, call: Call) -> None:
    code, _, _ = call("--rate", "10Mbit", "--ue", "phone", "--", "true", "--ue", "pc", "--", "ls", "-l")
    assert code == 0
    assert engine.request["ues"] == [
        {"ue": 0, "name": "phone", "command": ["true"]},
        {"ue": 1, "name": "pc", "command": ["ls", "-l"]},
    ]


def test_a_link_needs_no_scenario(engine: Engine, call: Call) -> None:
    code, _, errors = call("--rate", "10Mbit", "--delay", "5ms", "--set", "link[0].queue=7", "--", "true")
    assert code == 0
    assert engine.request["ues"] == [{"ue": 0, "name": "ue", "command": ["true"]}]
    assert errors.startswith("link, seed 1")


def links(**options: Any) -> list[dict[str, Any]]:
    """The links of the scenario that options describe."""
    found: list[dict[str, Any]] = scenario_of("link", [Wire(**options).section({})], {}).resolved["link"]
    return found


def test_options_describe_a_link() -> None:
    (wire,) = links(
        rate="10Mbit", rate_up="1Mbit", delay="20ms", queue="codel,packets=100,ecn=false", loss="1%"
    )
    assert (wire["kind"], wire["rate"], wire["rate_up"], wire["delay"]) == ("wire", "10Mbps", "1Mbps", "20ms")
    assert wire["framing"] == "0B"
    assert (wire["aqm"]["kind"], wire["aqm"]["packets"], wire["aqm"]["ecn"]) == ("codel", 100, False)
    assert wire["loss"] == wire["loss_up"] == {"kind": "packet-error", "rate": 0.01}
    assert links(rate="1Mbit", queue="50")[0]["queue"] == 50
    assert links(rate="1Mbit", queue="64KiB")[0]["queue_bytes"] == "64KiB"
    assert links(rate="1Mbit", loss_up="0.1%")[0]["loss"]["kind"] == "none"
    assert links(rate="1Mbit", loss="gilbert-elliott,loss_in_bad=0.5")[0]["loss"]["loss_in_bad"] == 0.5
    assert links(delay="20ms")[0]["queue"] == UNLIMITED_QUEUE
    (wire,) = links(
        delay="20ms",
        jitter="5ms,distribution=normal,correlation=25%",
        reorder="1%,gap=5",
        duplicate_up="0.1%",
        police="10Mbit,burst=100kB",
        police_up="1Mbit,burst=10kB",
        tbf="5Mbit,burst=15kB,limit=100kB",
    )
    jitter = {"time": "5ms", "distribution": "normal", "correlation": 0.25, "in_order": False}
    assert wire["jitter"] == wire["jitter_up"] == jitter
    assert (wire["reorder"]["probability"], wire["reorder_up"]["gap"]) == (0.01, 5)
    assert "duplicate" not in wire
    assert wire["duplicate_up"]["probability"] == 0.001
    assert (wire["police"]["rate"], wire["police_up"]["rate"]) == ("10Mbps", "1Mbps")
    assert wire["tbf"] == wire["tbf_up"]
    assert "queue" not in wire
    assert wire["tbf"] == {"rate": "5Mbps", "burst": "15kB", "limit": "100kB"}


def test_a_link_adds_no_delay_of_its_own() -> None:
    """A packet of 1500 bytes takes 12 ms at 1 Mbit/s and 5 ms on the way, each way."""
    scenario = scenario_of("link", [Wire(rate="1Mbit", delay="5ms").section({})], {})
    run = scenario.with_(
        {"duration": "2s", "warmup": "0s", "flow[0].cc": {"kind": "fixed", "segments": 1}}
    ).run()
    assert run.flows["delay_ms_p95"][0] == pytest.approx(12 + 5, abs=0.1)


def test_traces_have_two_formats(tmp_path: Path) -> None:
    (tmp_path / "rates").write_text("1.0 5\n2.0 7\n", encoding="utf-8")
    (tmp_path / "times").write_text("1\n2\n5\n", encoding="utf-8")
    (rates,) = links(trace=(str(tmp_path / "rates"),))
    assert (rates["kind"], rates["format"]) == ("trace", "rate")
    (times,) = links(trace=(str(tmp_path / "times"), "nyc-subway"), delay="1ms")
    assert (times["format"], times["up"]) == ("mahimahi", "nyc-subway")
    (fixed,) = links(trace=("norway-bus-1",), rate_up="1Mbit")
    assert (fixed["format"], fixed["rate_up"]) == ("rate", "1Mbps")


def test_values_of_a_member_are_toml_or_bare_text() -> None:
    assert member("--queue", "red, min_th=5.5, buffer=10KiB") == {
        "kind": "red",
        "min_th": 5.5,
        "buffer": "10KiB",
    }


def test_shells_of_mahimahi_are_links_in_series(engine: Engine, call: Call) -> None:
    words = (
        "--seed 4 mm-delay 20 airwnd link mm-loss uplink 0.1 mm-onoff downlink 2 0.5 "
        "mm-link --uplink-queue droptail nyc-subway --uplink-queue-args=packets=50 nyc-times "
        "--downlink-queue=droptail --downlink-queue-args packets=50 -- iperf3 -c server --once"
    )
    assert call(*words.split())[0] == 0
    delay, loss, onoff, link = engine.links
    assert (delay["delay"], delay["queue"]) == ("20ms", UNLIMITED_QUEUE)
    assert loss["loss_up"] == {"kind": "packet-error", "rate": 0.1}
    assert loss["loss"]["kind"] == onoff["loss_up"]["kind"] == "none"
    assert (onoff["loss"]["good"], onoff["loss"]["bad"]) == ("2s", "500ms")
    assert (link["down"], link["up"], link["queue"]) == ("nyc-times", "nyc-subway", 50)
    assert (link["opportunity"], link["framing"]) == ("1504B", "4B")
    assert "queue_up" not in link
    (placed,) = engine.request["ues"]
    assert placed["command"] == ["iperf3", "-c", "server", "--once"]
    assert engine.request["seed"] == 4


@pytest.mark.parametrize(
    ("user", "base", "options", "kind"),
    [
        (0, None, (), "host"),
        (1000, "100.64.0.1", (), "host"),
        (1000, None, (), "namespace"),
        (0, None, ("--server", "iperf3 -s"), "namespace"),
        (1000, None, ("--internet",), "internet"),
    ],
)
def test_the_other_end_of_mahimahi_is_this_machine_if_possible(
    engine: Engine,
    call: Call,
    monkeypatch: pytest.MonkeyPatch,
    user: int,
    base: str | None,
    options: tuple[str, ...],
    kind: str,
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.delenv("MAHIMAHI_BASE", raising=False)
    if base:
        monkeypatch.setenv("MAHIMAHI_BASE", base)
    assert call(*options, "mm-delay", "5", "true")[0] == 0
    assert engine.request["end"]["kind"] == kind


@pytest.mark.parametrize("user", [0, 1000])
def test_the_command_of_the_guide_has_a_server_for_every_user(
    engine: Engine, call: Call, monkeypatch: pytest.MonkeyPatch, user: int
) -> None:
    """The name `server`, to which its command connects, is that of a namespace with a server."""
    guide = (ROOT / "docs" / "how-to" / "replace-mahimahi.md").read_text(encoding="utf-8")
    (line,) = (each for each in guide.replace("\\\n", "").splitlines() if "mm-delay 20 mm-link nyc" in each)
    words = shlex.split(line)
    assert words[:2] == ["airwnd", "link"]
    assert words[-1].startswith("http://server/")
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.delenv("MAHIMAHI_BASE", raising=False)
    assert call(*words[2:])[0] == 0
    end = engine.request["end"]
    assert (end["kind"], end["command"][-1]) == ("namespace", "80")


def test_mm_link_writes_logs_and_may_replay_once(
    engine: Engine, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MAHIMAHI_SHELL_PREFIX", raising=False)
    engine.summary = summary(trace_ended=True, exit_codes=[130])
    words = "mm-delay 20 mm-link nyc-subway nyc-times --once -u up.log --downlink-log=down.log"
    queue = ("--downlink-queue=droptail", "--downlink-queue-args=packets=5, bytes=9000")
    code, output, errors = call(*words.split(), *queue, "--", "echo", "it's")
    assert (code, output) == (0, "")
    assert "mm-delay mm-link" in errors
    assert engine.request["once"] == [1]
    up, down = engine.request["logs"]
    assert (up["path"], up["link"], up["is_up"]) == ("up.log", 1, True)
    assert (down["path"], down["link"], down["is_up"]) == ("down.log", 1, False)
    assert up["head"][0] == "# mahimahi mm-link (Uplink) [nyc-subway] > up.log"
    assert down["head"][0] == "# mahimahi mm-link (Downlink) [nyc-times] > down.log"
    assert down["head"][1].startswith("# command line: 'mm-link' 'nyc-subway' 'nyc-times' '--once'")
    assert down["head"][1].endswith(r"""'echo' 'it'\''s'""")
    assert [log["head"][2] for log in (up, down)] == [
        "# queue: infinite",
        "# queue: droptail [bytes=9000, packets=5]",
    ]
    assert up["tail"] == ["# mahimahi config: [delay 20 ms] "]


def test_the_queues_of_mm_link_may_differ(engine: Engine, call: Call) -> None:
    words = "mm-link nyc-subway nyc-times --uplink-queue=droptail --uplink-queue-args=packets=9"
    codel = ("--downlink-queue=codel", "--downlink-queue-args=packets=50, target=5, interval=100")
    assert call(*words.split(), *codel, "true")[0] == 0
    (link,) = engine.links
    assert ("queue" in link, link["queue_up"], "aqm_up" in link) == (False, 9, False)
    assert (link["aqm"]["kind"], link["aqm"]["packets"]) == ("codel", 50)
    assert call(*words.replace("uplink", "downlink").split(), "true")[0] == 0
    (link,) = engine.links
    assert (link["queue"], link["queue_up"]) == (9, UNLIMITED_QUEUE)


def test_meters_of_mm_link_are_the_live_view(
    engine: Engine, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ("--quiet", "mm-link", "--meter-uplink", "nyc-subway", "nyc-times")
    code, output, errors = call(*options, "true")
    assert (code, output) == (0, "")
    assert errors.startswith(
        "mm-link --meter-uplink: the live view shows it, on a terminal and with a COMMAND"
    )
    assert errors.count("\n") == 1
    assert not engine.request["captures_output"]
    monkeypatch.setattr("airwnd.link.live.show", lambda session, watch, _stop: session.run(watch))
    assert call(*options, "true", terminal=True)[0] == 0
    assert engine.request["captures_output"]


def test_a_command_of_mahimahi_needs_no_mark(engine: Engine, call: Call) -> None:
    assert call("mm-delay", "5", "ls", "-l")[0] == 0
    assert engine.request["ues"][0]["command"] == ["ls", "-l"]


@pytest.mark.parametrize(
    ("queue", "arguments", "keys"),
    [
        ("infinite", "", {"queue": UNLIMITED_QUEUE}),
        ("droptail", "packets=100, bytes=3000", {"queue": 100, "queue_bytes": "3kB"}),
        ("drophead", "packets=100", {"aqm.kind": "drop-head", "aqm.packets": 100}),
        ("drophead", "bytes=3000", {"aqm.buffer": "3kB"}),
        ("codel", "packets=100,target=5,interval=50", {"aqm.target": "5ms", "aqm.interval": "50ms"}),
        ("pie", "packets=100,qdelay_ref=20,max_burst=10", {"aqm.qdelay_ref": "20ms", "aqm.ecn": False}),
        # Mahimahi ignores the arguments of other queues.
        ("droptail", "packets=100, target=5", {"queue": 100}),
    ],
)
def test_queues_of_mahimahi(queue: str, arguments: str, keys: dict[str, Any]) -> None:
    both = (mahimahi.Queue(queue, arguments),) * 2
    made = mahimahi.link("nyc-subway", "nyc-subway", *both, {})
    (found,) = scenario_of("link", [made], {}).resolved["link"]
    for key, value in keys.items():
        section, _, inner = key.rpartition(".")
        assert (found[section] if section else found)[inner] == value


@pytest.mark.parametrize(
    ("queue", "arguments", "message"),
    [
        ("droptail", "", "--up=droptail needs a limit"),
        ("droptail", "target=5", "--up=droptail needs a limit"),
        ("droptail", "package=5", "`package=5` is no argument of a queue; allowed: packets, bytes, target"),
        ("infinite", "packets=5", "--up-args: an infinite queue takes no arguments"),
        ("codel", "packets=5,target=5", "--up=codel needs interval, in milliseconds"),
        ("droptail", "packets=many", "`packets=many`: expected a whole number"),
    ],
)
def test_a_wrong_queue_of_mahimahi_is_an_error(queue: str, arguments: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        mahimahi.Queue(queue, arguments).keys("--up")
    assert message in str(caught.value)


def test_help_names_options_and_commands(cli: Cli) -> None:
    text = cli("link", "--help").stdout
    assert "--lateness-limit" in text
    assert "mm-delay" in text
    assert "in mm-link's format" in " ".join(cli("link", "mm-link", "--help").stdout.split())


def lines(text: str, **values: Any) -> tuple[str, list[str]]:
    """The printed summary of a session with one UE, and its warnings."""
    out = Console(width=100, record=True, file=io.StringIO())
    session = Session(scenario=Scenario.from_toml(WIRE), seed=1, placed=[], end={})
    tallies = Tallies()
    for each in values.pop("snapshots", [snapshot(ue())]):
        tallies.add(snapshot_of(each))
    engine = Engine()
    engine.summary = text
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(_native, "link", engine.link, raising=False)
        finished = session.run(lambda _: True)
    show(finished, tallies, 1000.0, out)
    out.file.close()
    return out.export_text(), warnings(finished.summary, 1000.0)


def test_the_summary_shows_ues_accounting_and_timing() -> None:
    text, found = lines(
        summary(tun_dropped={"server": 0, "ue-0": 4}),
        snapshots=[
            snapshot(ue(queue_bytes=1000)),
            snapshot(ue(down_kbps=4000.0, delay_down_ms=None, queue_bytes=9000)),
        ],
    )
    (row,) = (line.split() for line in text.splitlines() if line.lstrip().startswith("ue-0"))
    assert row == ["ue-0", "6,000.0", "100.0", "30.00", "–", "9.0", "3", "0"]
    assert "packets: 1,000 in = 990 out + 9 dropped + 1 inside" in text
    assert "drops: link_queue_full 9; by the kernel before the link: ue-0 4" in text
    assert "p50 20 µs, p99 300 µs, max 900 µs; SCHED_FIFO, memory locked" in " ".join(text.split())
    assert not found


def test_the_summary_warns() -> None:
    late = {"count": 990, "p50": 20.0, "p90": 90.0, "p99": 3000.0, "p999": 8000.0, "max": 9000.0}
    found = summary_of(summary(late=True, late_packets=31, lateness_us=late, behind_ms_max=120.0))
    text = warnings(found, 1000.0)
    assert text[0].startswith(
        "late: 31 of 990 departures were later than the limit of 1.00 ms, 1 % of all by more than 3.00 ms"
    )
    assert text[1:] == ["overloaded: the machine fell up to 120.00 ms behind real time"]
    found = summary_of(
        summary(
            packets=packets({}, entered=10, left=1, inside=2, malformed=5, refused=3, copied=1),
            unaccounted=4,
            server_exit=1,
            pasta=True,
        )
    )
    assert warnings(found, 1000.0) == [
        "4 packets are unaccounted for; please report it",
        "through pasta, which ends TCP connections itself: this session measured pasta's TCP, not that of "
        "the other end",
        "the server's command ended early, with exit code 1",
    ]
    assert accounting(found)[0] == "packets: 10 in + 1 copied = 1 out + 0 dropped + 2 inside + 3 refused"
    marked = packets({}, entered=10, left=10, inside=0, marked=7)
    assert accounting(summary_of(summary(packets=marked)))[1].endswith("; marked (CE): 7")
    assert accounting(found)[-1] == "not sent: 5 malformed"
    assert "memory not locked" in timing(summary_of(summary(memory_locked=False)))


class Clock:
    """Time as a test sets it."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def stop() -> Iterator[tuple[Stop, Clock]]:
    """Signals of this process, and the time between them."""
    clock = Clock()
    with Stop(clock) as stop:
        yield stop, clock


def test_commands_may_handle_ctrl_c_themselves(stop: tuple[Stop, Clock]) -> None:
    stopping, clock = stop
    assert not stopping.asked()
    signal.raise_signal(signal.SIGINT)
    assert not stopping.asked()
    assert stopping.code is None, "the command ends by itself: its exit code counts"
    clock.now = 2.1
    assert stopping.asked()
    assert stopping.code == 130


@pytest.mark.parametrize(
    ("signals", "code"),
    [([signal.SIGINT, signal.SIGINT], 130), ([signal.SIGTERM], 143), ([signal.SIGHUP], 129)],
)
def test_signals_end_a_session(stop: tuple[Stop, Clock], signals: list[signal.Signals], code: int) -> None:
    for each in signals:
        signal.raise_signal(each)
    assert stop[0].asked()
    assert stop[0].code == code


def test_a_session_ended_by_ctrl_c_keeps_its_results(engine: Engine, call: Call) -> None:
    update = engine.link

    def interrupted(*arguments: Any) -> Any:
        for _ in range(2):
            signal.raise_signal(signal.SIGINT)
        return update(*arguments)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(_native, "link", interrupted)
        code, _, errors = call("cell.toml", "--out", "run", "--", "sleep", "100")
    assert code == 130
    assert engine.kept_running == [False]
    assert "written to run" in errors


def test_a_live_view_needs_a_command(call: Call) -> None:
    code, _, errors = call("cell.toml", "--live", terminal=True)
    assert code == 2
    assert errors == "airwnd: --live needs a COMMAND: a shell and the view cannot share the terminal\n"


def test_scenarios_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from airwnd.cli.link import link

    (tmp_path / "mmx.toml").touch()
    monkeypatch.chdir(tmp_path)
    with click.Context(link, info_name="link") as context:
        offered = [item.value for item in link.shell_complete(context, "mm")]
    assert offered == ["mm-delay", "mm-link", "mm-loss", "mm-onoff", "mmx.toml"]


def test_a_snapshot_without_captured_output_is_complete() -> None:
    assert snapshot_of(snapshot(ue())).output == ""
    assert isinstance(snapshot_of(snapshot()), Snapshot)
