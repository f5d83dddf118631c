"""``airwnd stack``: transport stacks by name through a scenario, in virtual time."""

import csv
import json
import os
import re
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import airwnd
from airwnd.study import stacks

from .conftest import ROOT, Cli

CELL = """
name = "loaded cell"
duration = "2s"
[[site]]
[[ue]]
name = "phone"
placement = { kind = "ring", radius = "300m" }
[[ue]]
name = "others"
placement = { kind = "ring", radius = "400m" }
[[flow]]
ue = "others"
"""
MINE = '''"""A sender of a constant rate, and its receiver."""

import airwnd


class Sender(airwnd.Endpoint):
    next_s = 0.0

    def __init__(self, wait_s):
        self.wait_s = wait_s

    def transmit(self, now_s):
        if now_s < self.next_s:
            return []
        self.next_s += self.wait_s
        return [bytes(1200)]

    def receive(self, now_s, data, ecn):
        pass

    def timeout(self):
        return self.next_s


class Receiver(airwnd.Endpoint):
    def transmit(self, now_s):
        return []

    def receive(self, now_s, data, ecn):
        self.received_bytes += len(data)


def connect(seed, *, rate_bps=960_000, cc="none"):
    assert cc in ("none", "some"), cc
    return Receiver(), Sender(9600 / rate_bps)
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a scenario and a stack, which is the current one."""
    (tmp_path / "cell.toml").write_text(CELL, encoding="utf-8")
    (tmp_path / "mine.py").write_text(MINE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_command_has_the_results_of_a_trial(folder: Path, cli: Cli) -> None:
    done = cli("stack", "mine.py:connect", "cell.toml", "--option", "rate_bps=1.92e6", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    printed = json.loads(done.stdout)
    assert printed["options"] == {"rate_bps": 1.92e6}
    scenario = airwnd.Scenario.load(folder / "cell.toml")
    report = airwnd.Trial(scenario, 3).run(stacks.find("mine.py:connect", {"rate_bps": 1.92e6}))
    for measure, found in printed["measures"].items():
        assert {int(seed): value for seed, value in found["by_seed"].items()} == report.values(measure)
        assert found["mean"] == report.interval(measure).mean
    # A packet of 1200 B every 5 ms.
    assert printed["measures"]["goodput_kbps"]["mean"] == pytest.approx(1920, rel=0.01)


@pytest.mark.usefixtures("folder")
def test_the_table_has_the_mean_the_interval_and_the_seeds(cli: Cli) -> None:
    done = cli("stack", "mine.py:connect", "cell.toml", "--cc", "some", "--duration", "1s", "--ue", "phone")
    assert (done.returncode, done.stderr) == (0, "")
    assert "seed 3" in done.stdout
    assert re.search(r"goodput, kbit/s +9\d\d +\[9\d\d, 9\d\d\] +9\d\d +9\d\d +9\d\d", done.stdout)


@pytest.mark.usefixtures("folder")
def test_a_condition_decides_the_exit_code(cli: Cli) -> None:
    words = ("stack", "mine.py:connect", "cell.toml", "--require")
    met = cli(*words, "goodput_kbps >= 900", "--require", "queueing_delay_ms_p95<=50")
    assert (met.returncode, met.stderr) == (0, "")
    missed = cli(*words, "goodput_kbps >= 2000")
    assert missed.returncode == 3
    assert missed.stderr.startswith("airwnd: required: goodput should be at least 2000 kbit/s, but is 9")
    assert "the mean misses it by" in missed.stderr


def test_results_and_qlogs_of_each_seed_are_kept(folder: Path, cli: Cli) -> None:
    done = cli(
        "stack", "mine.py:connect", "cell.toml", "--seeds", "2", "--out", "runs", "--qlog", "logs", "--json"
    )
    assert (done.returncode, done.stderr) == (0, "")
    printed = json.loads(done.stdout)["measures"]["goodput_kbps"]["by_seed"]
    for seed in ("1", "2"):
        run = airwnd.Run.load(folder / "runs" / f"seed-{seed}")
        assert printed[seed] in run.flows["goodput_kbps"].to_list()
        log = json.loads((folder / "logs" / f"seed-{seed}.qlog").read_text(encoding="utf-8"))
        names = {event["name"] for event in log["traces"][0]["events"]}
        assert {"airwnd:datagram_sent", "airwnd:datagram_delivered", "airwnd:sampled"} <= names


def test_a_sweep_varies_options_of_a_stack_and_keys_of_the_scenario(folder: Path, cli: Cli) -> None:
    words = ["sweep", "cell.toml", "--stack", "mine.py:connect", "--out", "swept"]
    words += ("--grid", "stack.rate_bps=960000,1.92e6", "--grid", "rlc.queue=codel,drop-tail")
    done = cli(*words, "--seeds", "2", "--series", "100ms")
    assert (done.returncode, done.stderr) == (0, "")
    swept = airwnd.Sweep.load(folder / "swept")
    assert swept.keys == ("stack.rate_bps", "rlc.queue")
    rows = swept.flows.filter(swept.flows["id"] == "stack")
    assert rows.height == swept.runs.height == 8
    assert set(swept.flows["id"]) > {"stack"}
    for row in rows.iter_rows(named=True):
        assert row["goodput_kbps"] == pytest.approx(row["stack.rate_bps"] / 1e3, rel=0.05)
    alone = airwnd.Trial(
        airwnd.Scenario.load("cell.toml").with_({"rlc.queue": "codel"}), seeds=[2], ue="phone"
    )
    expected = alone.run(stacks.find("mine.py:connect", {"rate_bps": 1.92e6})).values("delay_ms_p95")[2]
    same = rows.filter(
        (rows["stack.rate_bps"] == 1.92e6) & (rows["rlc.queue"] == "codel") & (rows["seed"] == 2)
    )
    assert same["delay_ms_p95"].to_list() == [expected]
    series = swept.read_series(["rate_kbps"])
    rates = series.filter(series["flow"] == "stack")["rate_kbps"].to_list()
    assert max(rates) > 900
    assert cli("plot", "sweep", "swept", "--y", "flows.goodput_kbps", "--out", "x.svg").returncode == 0
    again = cli(*words, "--seeds", "2", "--series", "100ms")
    assert "8 runs of 4 settings in 0 s, 8 of them finished earlier" in again.stdout


def test_a_sweep_over_stacks_compares_them_by_seed(
    folder: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    faster = MINE.replace("rate_bps=960_000", "rate_bps=1_920_000")
    (folder / "test_stacks_fast.py").write_text(faster, encoding="utf-8")
    # The processes of the sweep find the package, too.
    package = folder / "fast-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Name: fast\nVersion: 1.0\n", encoding="utf-8")
    offer = f"[{stacks.GROUP}]\nfast = test_stacks_fast:connect\n"
    (package / "entry_points.txt").write_text(offer, encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    half = "\n\ndef half(seed):\n    return connect(seed, rate_bps=480_000)\n"
    (folder / "mine.py").write_text(MINE + half, encoding="utf-8")
    grid = "stack=mine.py:connect,mine.py:half,fast:some"
    words = ("--grid", grid, "--seeds", "3", "--jobs", "1", "--ue", "phone")
    done = cli("sweep", "cell.toml", *words, "--out", "swept")
    assert (done.returncode, done.stderr) == (0, "")
    done = cli("compare", "swept", "--group", "stack", "--column", "goodput_kbps", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = {each["value"]: each["difference"] for each in json.loads(done.stdout)["differences"]}
    assert list(found) == ["mine.py:connect", "mine.py:half", "fast:some"]
    assert found["mine.py:half"]["mean"] == pytest.approx(-480, rel=0.02)
    assert found["fast:some"]["mean"] == pytest.approx(960, rel=0.02)
    again = cli("sweep", "cell.toml", *words, "--out", "swept")
    assert "9 runs of 3 settings in 0 s, 9 of them finished earlier" in again.stdout
    done = cli("stack", "fast:some", "cell.toml", "--cc", "some")
    assert done.stderr == "airwnd: fast:some: the option cc=some is given, too\n"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--grid", "stack.cc=a,b"), "grid stack.cc: name the stack with --stack"),
        (
            ("--stack", "mine.py:connect", "--grid", "stack=a,b"),
            "grid stack: --stack mine.py:connect is given, too",
        ),
        (("--grid", "stack=mine.py:connect,mime"), "mime: no such stack"),
        (("--seeds", "2", "--ue", "phone"), "ue phone: is that of a stack; name the stack with --stack"),
        (
            ("--stack", "mine.py:connect", "--grid", "stack.speed=1,2"),
            "mine.py:connect: unknown option `speed`",
        ),
        (("--stack", "mine.py:conect", "--seeds", "2"), "mine.py: there is no function `conect`"),
        (
            ("--stack", "mine.py:connect", "--grid", "stack.rate_bps=0,1"),
            "ZeroDivisionError: division by zero",
        ),
        (("--stack", "mine.py:connect", "--ue", "car", "--seeds", "2"), "there is no UE `car`"),
    ],
)
def test_a_mistake_in_a_sweep_of_a_stack_is_one_line(cli: Cli, words: tuple[str, ...], message: str) -> None:
    done = cli("sweep", "cell.toml", "--out", "swept", *words)
    assert done.returncode == 2, done.stdout
    assert message in done.stderr
    assert done.stderr.count("\n") == 1, done.stderr


def test_an_installed_package_offers_stacks(folder: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("mine", "test_stacks_mine:connect", stacks.GROUP)
    (folder / "test_stacks_mine.py").write_text(MINE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(stacks, "entry_points", lambda group: [point] if group == stacks.GROUP else [])
    done = cli("stack", "mine", "cell.toml", "--seeds", "1", "--json")
    assert json.loads(done.stdout)["stack"] == "mine", done.stderr
    done = cli("stack", "mime", "cell.toml")
    assert done.returncode == 2
    assert done.stderr == (
        f"airwnd: mime: no such stack; did you mean `mine`?; expected {stacks.FORMS}; installed: `mine`\n"
    )


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("quic.py:connect",), "quic.py:connect: there is no file quic.py"),
        (("mine.py:conect",), "mine.py: there is no function `conect`; did you mean `connect`?"),
        (("no.such:thing",), "no.such: ModuleNotFoundError: No module named 'no'"),
        (
            ("mine.py:airwnd",),
            "mine.py:airwnd: expected a function that returns two endpoints, found <module",
        ),
        (
            ("mine.py:connect", "--option", "rate=3"),
            "mine.py:connect: unknown option `rate`; allowed: `rate_bps`",
        ),
        (("mine.py:connect", "--option", "rate"), "--option rate: expected NAME=VALUE"),
        (
            ("mine.py:connect", "--option", "rate_bps=0"),
            "mine.py:35: ZeroDivisionError: division by zero (seed 1)",
        ),
        (("mine.py:connect", "--cc", "fast"), "mine.py:34: AssertionError: fast (seed 1)"),
        (("mine.py:connect", "--cc", "a", "--option", "cc=b"), "--cc a: --option cc=b is given, too"),
        (("mine.py:Sender",), "endpoints: expected a function that returns a pair of endpoints"),
        (("mine.py:connect", "--ue", "car"), "there is no UE `car`; UEs: phone-0, others-0"),
        (("mine.py:connect", "--duration", "0s"), "duration"),
        (("mine.py:connect", "--require", "speed >= 1"), "--require speed >= 1: unknown measure `speed`"),
        (
            ("mine.py:connect", "--require", "goodput_kbps > 1"),
            "--require goodput_kbps > 1: expected MEASURE",
        ),
        (
            ("mine.py:connect", "--require", "goodput_kbps >= -"),
            "--require goodput_kbps >= -: expected MEASURE",
        ),
    ],
)
def test_a_mistake_is_one_line(cli: Cli, words: tuple[str, ...], expected: str) -> None:
    done = cli("stack", words[0], "cell.toml", *words[1:])
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith(f"airwnd: {expected}"), done.stderr


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("def connect(seed)\n    pass", "mine.py:1: SyntaxError: "),
        ("import airwnd\n1 / 0", "mine.py:2: ZeroDivisionError: division by zero"),
        (
            "def connect(seed):\n    return 7",
            "endpoints: expected a function that returns a pair of endpoints",
        ),
    ],
)
def test_a_broken_file_is_one_line(folder: Path, cli: Cli, body: str, expected: str) -> None:
    (folder / "mine.py").write_text(body, encoding="utf-8")
    done = cli("stack", "mine.py:connect", "cell.toml")
    assert done.returncode == 2
    assert done.stderr.startswith(f"airwnd: {expected}"), done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_whole_packets_get_no_headers(folder: Path) -> None:
    scenario = airwnd.Scenario.load(folder / "cell.toml")
    sizes = {}
    for protocol in (None, "udp", "tcp"):
        path = airwnd.Path(scenario, 1)
        flow = path.open("phone", protocol=protocol)
        path.send(flow, bytes(1200), from_ue=False)
        path.advance(1.0)
        name = path.id(flow)
        row = path.finish().flows.filter(id=name).row(0, named=True)
        sizes[protocol] = (row["kind"], row["throughput_kbps"])
    assert sizes["tcp"][0] == "tcp"
    assert sizes[None][0] == sizes["udp"][0] == "udp"
    assert sizes[None][1] / sizes["udp"][1] == pytest.approx(1228 / 1200, rel=1e-6)
    with pytest.raises(airwnd.InputError, match="protocol: expected 'tcp', 'udp' or None, found \"ip\""):
        airwnd.Path(scenario, 1).open("phone", protocol="ip")  # type: ignore[arg-type]  # a mistake


def test_the_example_of_quic_is_a_stack() -> None:
    assert stacks.find(f"{ROOT}/examples/aioquic-in-cell/download.py:connect", {"cc": "reno"}).options


@pytest.mark.nightly
def test_the_example_of_webrtc_runs(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--target", tmp_path, "aiortc==1.16.0"],
        check=True,
    )
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "aiortc-in-cell" / "video.py", "1", "1"],
        env=os.environ | {"PYTHONPATH": f"{tmp_path}:{ROOT / 'python'}"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    first, second = (re.sub(r" \(.*", "", line) for line in done.stdout.splitlines())
    assert first == second
    found = re.fullmatch(r"seed 1: (\d+) kbit/s, p95 delay (\d+) ms, (\d+) of (\d+) frames", first)
    assert found is not None
    goodput, delay_ms, received, sent = map(int, found.groups())
    assert goodput > 300
    assert delay_ms < 100
    assert received >= sent - 5


@pytest.mark.nightly
def test_the_stacks_in_rust_have_the_results_of_their_crates(tmp_path: Path) -> None:
    """The package of adapters/python, and the figures that adapters/compare has measured in Rust."""
    site = tmp_path / "site"
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation",
         "--config-settings", "build-args=--profile dev", "--target", site, ROOT / "adapters" / "python"],
        env=os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        check=True,
    )  # fmt: skip
    study = ROOT / "experiments" / "stacks-in-cell"
    environment = os.environ | {"PYTHONPATH": f"{site}:{ROOT / 'python'}"}
    with (study / "results.csv").open(encoding="utf-8") as file:
        rows = {(row["scenario"], row["stack"], row["seed"]): row for row in csv.DictReader(file)}
    for stack, cc in (("quinn", "cubic"), ("quinn", "bbr"), ("smoltcp", "reno")):
        done = subprocess.run(
            [sys.executable, "-m", "airwnd", "stack", stack, study / "scenarios" / "loaded.toml",
             "--cc", cc, "--seeds", "2", "--json"],
            env=environment, capture_output=True, check=True,
        )  # fmt: skip
        measures = json.loads(done.stdout)["measures"]
        for seed in ("1", "2"):
            expected = rows["loaded cell", f"{stack} {cc}", seed]
            for measure, digits in (("goodput_kbps", 0), ("loss_percent", 2), ("retransmissions", 0)):
                found = measures[measure]["by_seed"][seed]
                assert f"{found:.{digits}f}" == expected[measure], (
                    stack,
                    cc,
                    seed,
                )
    texts = []
    for name in ("first", "second"):
        subprocess.run(
            [sys.executable, "-m", "airwnd", "stack", "quinn", study / "scenarios" / "loaded.toml", "--json",
             "--seeds", "1", "--duration", "5s", "--qlog", tmp_path / name],
            env=environment, capture_output=True, check=True,
        )  # fmt: skip
        texts.append((tmp_path / name / "seed-1.qlog").read_text(encoding="utf-8"))
    assert texts[0] == texts[1]
    log = json.loads(texts[0])
    traces = {trace["vantage_point"]["type"]: trace["events"] for trace in log["traces"]}
    # The server's packets enter the network when the stack has sent them; several may share a datagram.
    sent = {event["time"] for event in traces["server"] if event["name"].endswith(":packet_sent")}
    entered = {
        event["time"]
        for event in traces["network"]
        if event["name"] == "airwnd:datagram_sent" and event["data"]["direction"] == "downlink"
    }
    assert len(sent) > 100
    assert sent == entered
    assert any(event["name"].endswith(":packet_lost") for event in traces["server"])
