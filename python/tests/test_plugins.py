"""Congestion controls written in Python: found by name, checked and run; errors are one line."""

import hashlib
import json
import linecache
import math
import os
import pickle
import re
import shutil
import statistics
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import jsonschema
import polars as pl
import pytest

import airwnd
from airwnd import InputError, Scenario, ScenarioError
from airwnd.plugins.permission import CodePolicy, applied
from airwnd.plugins.registry import Plugin, RefusedError, find
from airwnd.results.controls import control_text
from airwnd.study.batch import Processes, Store, Task, carry_out
from airwnd.study.reproduce.design import Experiment
from airwnd.view.content import content

from .cargo import gentle_program
from .command_line import run_interrupted
from .conftest import ROOT, Cli

EXAMPLE = ROOT / "examples" / "python-plugin"

WIRE = """
name = "wire"
duration = "20s"
tcp.mss = 1000
[[link]]
rate = "10Mbps"
delay = "25ms"
queue = 50
[[ue]]
[[flow]]
cc = "newreno"
[[flow]]
id = "up"
direction = "up"
"""

MINE = 'flow[0].cc={kind="python", class="mine.py:Mine"}'
HEAD = "import math\nimport airwnd\n\n\nclass Mine(airwnd.CongestionControl):\n"
ON_ACK = "    def on_ack(self, ack: airwnd.Ack) -> None:\n        {}\n"
ON_CONGESTION = "    def on_congestion(self, event: airwnd.Congestion) -> None:\n        {}\n"


def write(folder: Path, *, ack: str = "pass", congestion: str = "pass", more: str = "") -> Path:
    """Write a class with these method bodies; the body of on_ack is line 7 of the file."""
    path = folder / "mine.py"
    path.write_text(HEAD + ON_ACK.format(ack) + ON_CONGESTION.format(congestion) + more, encoding="utf-8")
    return path


def wire(folder: Path, **cc: object) -> Scenario:
    """Return a scenario of one flow over a wire, with the class in this folder."""
    (folder / "wire.toml").write_text(WIRE, encoding="utf-8")
    return Scenario.load(folder / "wire.toml", allow_code=True).with_(
        {"flow[0].cc": {"kind": "python", "class": "mine.py:Mine", **cc}}
    )


def find_class(folder: Path, name: str = "mine.py:Mine") -> Plugin:
    """Find a class, by default that in this folder."""
    with applied(CodePolicy(allow=True)):
        return find(name, None, "{}", folder)


def complaint(folder: Path, **cc: object) -> str:
    """Return the error message of a run, without the place of the setting."""
    return complaint_of(lambda: wire(folder, **cc))


def complaint_of(make: Callable[[], Scenario]) -> str:
    with pytest.raises(ScenarioError) as caught:
        make().run()
    return str(caught.value).rpartition("}: ")[2].removeprefix("flow[0].cc")


# Behaviour.


@pytest.mark.parametrize(
    "scenario", [WIRE, WIRE.replace('rate = "10Mbps"\nqueue = 50', 'rate = "3Mbps"\nqueue = 9')]
)
@pytest.mark.parametrize("stack", ["ns2-reno", "ns3.26", "ns3.44"])
def test_newreno_in_python_is_newreno(scenario: str, stack: str) -> None:
    base = Scenario.from_toml(scenario, str(EXAMPLE / "wire.toml"), allow_code=True).with_(
        {"tcp.stack": stack}
    )
    ours = base.run(series="100ms")
    theirs = base.with_({"flow[0].cc": {"kind": "python", "class": "newreno.py:NewReno"}}).run(series="100ms")
    assert ours.outcome["flows"][0]["retransmissions"] > 0
    # The first flow and its group.
    for table in ("flows", "groups"):
        renamed = json.dumps(ours.outcome[table][0]).replace("newreno", "NewReno")
        assert json.dumps(theirs.outcome[table][0]) == renamed
    assert theirs.outcome["totals"] == ours.outcome["totals"]
    assert theirs.series.equals(ours.series)


def test_newreno_in_python_is_newreno_in_a_cell(small: Scenario) -> None:
    base = Scenario.from_dict(small.resolved, allow_code=True)
    base = base.with_({"flow[0].rwnd": "arwa", "flow[0].cc": "newreno"}, duration="2s")
    ours = base.run()
    named = {"kind": "python", "class": f"{EXAMPLE}/newreno.py:NewReno"}
    theirs = base.with_({"flow[0].cc": named}).run()
    assert json.dumps(theirs.outcome) == json.dumps(ours.outcome).replace("newreno", "NewReno")


def test_the_example_keeps_the_queue_short(cli: Cli) -> None:
    done = cli("run", EXAMPLE / "scenario.toml", "--json", "--code", EXAMPLE / "gentle.py")
    assert done.returncode == 0, done.stderr
    gentle = json.loads(done.stdout)["totals"]
    done = cli("run", EXAMPLE / "scenario.toml", "--json", "--set", "flow[0].cc=newreno")
    newreno = json.loads(done.stdout)["totals"]
    assert gentle["delay_ms_mean"] < newreno["delay_ms_mean"] / 3
    assert gentle["goodput_kbps"] > 0.9 * newreno["goodput_kbps"]


def test_the_examples_in_rust_and_python_agree() -> None:
    command = [str(gentle_program()), "examples/rust-plugin/scenario.toml"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    rust = json.dumps(json.loads(done.stdout)).replace("gentle(target=50ms)", "Gentle(target_s=0.05)")
    assert json.loads(rust) == Scenario.load(EXAMPLE / "scenario.toml", allow_code=True).run().outcome


def test_events_are_in_seconds_and_bytes(tmp_path: Path) -> None:
    record = "    seen: list[object] = []\n"
    write(
        tmp_path,
        ack="self.seen.append(ack); self.cwnd_bytes += ack.acked_bytes",
        congestion="self.seen.append(event); self.cwnd_bytes = event.in_flight_bytes / 2 + 1000",
        more=record,
    )
    wire(tmp_path).run()
    seen = vars(find_class(tmp_path).kind)["seen"]
    acks = [event for event in seen if isinstance(event, airwnd.Ack)]
    losses = [event for event in seen if isinstance(event, airwnd.Congestion)]
    assert 0.5 < acks[0].now_s < 1.0
    assert acks[-1].now_s < 20.5
    assert acks[0].acked_bytes % 1000 == 0
    assert acks[0].rtt_s is not None
    assert acks[0].min_rtt_s is not None
    assert acks[0].srtt_s is not None
    assert 0.05 < acks[0].min_rtt_s <= acks[0].rtt_s < 0.2
    assert 20e6 / 8 < acks[-1].delivered_bytes < 210e6 / 8
    assert acks[-1].in_flight_bytes > 1000
    assert acks[-1].round > 10
    assert losses
    assert {event.signal for event in losses} <= {"loss", "timeout", "repeated-timeout", "ecn"}


def test_windows_are_rounded_down_and_hold_a_segment(tmp_path: Path) -> None:
    write(tmp_path, ack="self.cwnd_bytes = 4567.9; self.ssthresh_bytes = 1234.5; self.pacing_rate_bps = 1e6")
    series = wire(tmp_path).run(series="1s").series.filter(_flow("flow-0"))
    assert series["cwnd_bytes"][-1] == 4567
    assert series["ssthresh_bytes"][-1] == 1234
    write(tmp_path, ack="self.cwnd_bytes = 1; self.ssthresh_bytes = math.inf")
    series = wire(tmp_path).run(series="1s").series.filter(_flow("flow-0"))
    assert series["cwnd_bytes"][-1] == 1000
    assert series["ssthresh_bytes"][-1] is None


def test_a_pacing_rate_is_respected(tmp_path: Path) -> None:
    write(tmp_path, ack="self.cwnd_bytes = 100_000; self.pacing_rate_bps = 2e6")
    paced = wire(tmp_path).with_(preset="airwnd-0.1")
    flow = paced.run().flows.filter(pl.col("group") == "flow")
    assert flow["goodput_kbps"][0] == pytest.approx(2000, rel=0.01)
    hasty = paced.with_({"tcp.pacing": "never"}).run().flows.filter(pl.col("group") == "flow")
    assert hasty["goodput_kbps"][0] > 8000


def test_deliveries_are_reported_during_recovery(tmp_path: Path) -> None:
    record = (
        "    seen: list[object] = []\n"
        "    def on_delivery(self, ack: airwnd.Ack) -> None:\n        self.seen.append(ack)\n"
    )
    halve = "self.cwnd_bytes = event.in_flight_bytes / 2 + 1000"
    grow = "self.cwnd_bytes += ack.acked_bytes / (1 if self.cwnd_bytes < 80_000 else 50)"
    write(tmp_path, ack=grow, congestion=halve, more=record)
    # The upload would delay ACKs, and buffers the segments in flight.
    buffers = {"tcp.send_buffer": "1MiB", "tcp.receive_buffer": "1MiB"}
    wire(tmp_path).with_({"flow[1].start": "19.9s", **buffers}).run()
    seen = vars(find_class(tmp_path).kind)["seen"]
    assert {ack.recovering for ack in seen} == {False, True}
    assert sum(ack.acked_bytes for ack in seen) == seen[-1].delivered_bytes
    assert sum(ack.lost_bytes for ack in seen) > 0
    rates = [
        ack.delivery_rate_bps for ack in seen if not ack.recovering and ack.delivery_rate_bps is not None
    ]
    # payload of 1000 bytes in packets of 1054 on a wire of 10 Mbit/s
    assert statistics.median(rates) == pytest.approx(1e7 * 1000 / 1054, rel=0.001)


def test_a_fault_in_on_delivery_names_it(tmp_path: Path) -> None:
    fault = "    def on_delivery(self, ack: airwnd.Ack) -> None:\n        self.cwnd_bytes = -1\n"
    write(tmp_path, more=fault)
    assert complaint(tmp_path) == (
        "mine.py: Mine.on_delivery: cwnd_bytes is -1; it must be a number of bytes, at least 1"
    )


def _flow(name: str) -> "pl.Expr":
    return pl.col("flow").cast(pl.String) == name


def test_a_window_may_be_infinite(tmp_path: Path) -> None:
    write(tmp_path, ack="self.cwnd_bytes *= 1e6 if self.cwnd_bytes < 1e200 else 1")
    assert wire(tmp_path).run().totals["goodput_kbps"] > 100


def test_events_can_be_created_in_tests() -> None:
    ack = airwnd.Ack(now_s=1.5, acked_bytes=1000, rtt_s=0.1)
    assert (ack.now_s, ack.acked_bytes, ack.rtt_s, ack.srtt_s, ack.round) == (1.5, 1000, 0.1, None, 0)
    event = airwnd.Congestion(signal="timeout", in_flight_bytes=7)
    assert (event.signal, event.in_flight_bytes, event.now_s) == ("timeout", 7, 0.0)
    connection = airwnd.Connection()
    assert connection.initial_ssthresh_bytes == math.inf
    assert [repr(each) for each in (ack, event, connection)] == [
        "<Ack of 1000 bytes at 1.5 s>",
        "<Congestion: timeout at 0 s>",
        "<Connection with segments of 1448 bytes>",
    ]
    with pytest.raises(
        ValueError, match="signal must be one of loss, timeout, repeated-timeout, ecn, not lost"
    ):
        airwnd.Congestion(signal="lost")  # type: ignore[arg-type]  # wrong on purpose


def test_parallel_runs_equal_sequential_runs() -> None:
    scenario = Scenario.load(EXAMPLE / "scenario.toml", allow_code=True).with_(duration="1s")
    alone = [scenario.run(seed=seed).outcome for seed in range(4)]
    assert [run.outcome for run in scenario.run_many(range(4), jobs=2)] == alone


# Lookup.


def test_a_file_is_relative_to_the_scenario(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    shutil.copy(EXAMPLE / "newreno.py", tmp_path / "deep" / "mine.py")
    text = WIRE.replace('"newreno"', '{ kind = "python", class = "deep/mine.py:NewReno" }')
    (tmp_path / "s.toml").write_text(text, encoding="utf-8")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for where in (Path("..") / "s.toml", tmp_path / "s.toml"):
        assert cli("run", where, "--code", "../deep/mine.py", cwd=elsewhere).returncode == 0
    assert cli("check", "s.toml", "--set", "flow[0].cc.class=deep/mine.py:Missing").stderr == (
        "airwnd: --set flow[0].cc.class=deep/mine.py:Missing: flow[0].cc.class: deep/mine.py: "
        "there is no class `Missing`; it has: `NewReno`\n"
    )


def test_a_module_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLE))
    scenario = Scenario.from_toml(WIRE, allow_code=True).with_(
        {"flow[0].cc": {"kind": "python", "class": "newreno:NewReno"}}
    )
    same = Scenario.from_toml(WIRE, str(EXAMPLE / "s"), allow_code=True).with_(
        {"flow[0].cc": {"kind": "python", "class": "newreno.py:NewReno"}}
    )
    assert scenario.run().totals == same.run().totals
    digests = [each.resolved["flow"][0]["cc"]["sha256"] for each in (scenario, same)]
    assert digests[0] == digests[1]


def test_a_class_in_a_notebook_is_registered() -> None:
    @airwnd.register
    class Notebook(airwnd.CongestionControl):
        def on_ack(self, ack: airwnd.Ack) -> None:
            if ack.now_s > 10:
                raise RuntimeError("enough")

        def on_congestion(self, event: airwnd.Congestion) -> None: ...

    scenario = Scenario.from_toml(WIRE).with_({"flow[0].cc": {"kind": "python", "class": "Notebook"}})
    assert scenario.with_(duration="5s").run().totals["goodput_kbps"] > 0
    with pytest.raises(ScenarioError, match=r"^notebook:\d+: Notebook.on_ack: RuntimeError: enough$"):
        scenario.run()
    with pytest.raises(
        ScenarioError, match="in this process there is no class `Notebok`; did you mean `Notebook`"
    ):
        scenario.with_({"flow[0].cc.class": "Notebok"})


def test_a_cell_that_is_run_again_replaces_its_class() -> None:
    digests = []
    for number, window in enumerate((5000, 9000)):
        text = HEAD + ON_ACK.format(f"self.cwnd_bytes = {window}") + ON_CONGESTION.format("pass")
        name = f"<cell {number}>"
        # As notebooks register the text of a cell for tracebacks.
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        names: dict[str, type[airwnd.CongestionControl]] = {"__name__": "__main__"}  # type: ignore[dict-item]  # as globals have it
        exec(compile(text, name, "exec"), names)  # noqa: S102
        airwnd.register(names["Mine"])
        scenario = Scenario.from_toml(WIRE).with_({"flow[0].cc": {"kind": "python", "class": "Mine"}})
        series = scenario.run(series="1s").series.filter(_flow("flow-0"))
        assert series["cwnd_bytes"][-1] == window
        digests.append(scenario.resolved["flow"][0]["cc"]["sha256"])
    assert digests[0] != digests[1]


def test_an_unsuitable_class_is_not_registered() -> None:
    with pytest.raises(InputError, match=r"int is not a subclass of airwnd.CongestionControl"):
        airwnd.register(int)
    text = HEAD + ON_ACK.format("pass") + ON_CONGESTION.format("pass")
    names: dict[str, type[airwnd.CongestionControl]] = {}
    exec(compile(text, "<nowhere>", "exec"), names)  # noqa: S102
    with pytest.raises(InputError, match="the text of Mine cannot be found"):
        airwnd.register(names["Mine"])
    names.clear()
    exec(compile(HEAD + ON_ACK.format("pass"), "<nowhere>", "exec"), names)  # noqa: S102
    with pytest.raises(InputError, match=r"airwnd.register: Mine lacks on_congestion"):
        airwnd.register(names["Mine"])


# Identity.


def test_a_changed_class_is_another_scenario(tmp_path: Path) -> None:
    write(tmp_path, ack="self.cwnd_bytes = 5000")
    first = wire(tmp_path)
    again = wire(tmp_path)
    assert first == again
    write(tmp_path, ack="self.cwnd_bytes = 9000")
    changed = wire(tmp_path)
    assert changed != first
    assert Task(changed, 1).key != Task(first, 1).key
    # A scenario keeps the class with which it was created.
    assert first.run(series="1s").series.filter(_flow("flow-0"))["cwnd_bytes"][-1] == 5000
    rates = [scenario.run().outcome["flows"][0]["goodput_kbps"] for scenario in (first, changed)]
    assert rates[1] > 1.5 * rates[0]


def test_a_changed_base_is_another_scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "package").mkdir()
    base = tmp_path / "package" / "plugin_base.py"
    monkeypatch.syspath_prepend(str(base.parent))
    digests = []
    for body in ("pass", "self.cwnd_bytes = 5000"):
        base.write_text(HEAD + ON_ACK.format(body) + ON_CONGESTION.format("pass"), encoding="utf-8")
        (tmp_path / "mine.py").write_text(
            "import plugin_base\nclass Mine(plugin_base.Mine): ...\n", encoding="utf-8"
        )
        command = (
            "import airwnd; print(airwnd.Scenario.load('s.toml', allow_code=True).resolved['flow'][0]['cc'])"
        )
        text = WIRE.replace('"newreno"', '{ kind = "python", class = "mine.py:Mine" }')
        (tmp_path / "s.toml").write_text(text, encoding="utf-8")
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(base.parent), *sys.path])}
        digests.append(
            subprocess.run(
                [sys.executable, "-B", "-c", command],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        )
    assert digests[0] != digests[1]


def test_a_resolved_scenario_refuses_a_changed_class(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path)
    resolved = wire(tmp_path).resolved
    assert Scenario.from_dict(resolved, allow_code=True).resolved == resolved
    write(tmp_path, ack="self.cwnd_bytes = 9000")
    with pytest.raises(ScenarioError, match=r"sha256: mine.py:Mine has changed since this digest was taken"):
        Scenario.from_dict(resolved, allow_code=True)


def test_a_scenario_is_pickled_with_the_digest_of_its_class(tmp_path: Path) -> None:
    write(tmp_path)
    scenario = wire(tmp_path)
    parcel = pickle.dumps(scenario)
    assert pickle.loads(parcel) == scenario  # noqa: S301
    write(tmp_path, ack="self.cwnd_bytes = 9000")
    with pytest.raises(ScenarioError, match=r"mine.py:Mine has changed since this digest was taken"):
        pickle.loads(parcel)  # noqa: S301


def test_worker_processes_find_the_class(tmp_path: Path) -> None:
    write(tmp_path, ack="self.cwnd_bytes += 10")
    scenario = wire(tmp_path)
    (found,) = carry_out([Task(scenario, scenario.seed)], Store(tmp_path / "runs"), Processes(1))
    assert found.outcome["totals"] == scenario.run().totals


def test_defaults_are_written_out(tmp_path: Path) -> None:
    init = INIT.format("gain=0.5, *, half=math.sqrt(0.25), word='x', a=None, b=math.inf, c=2**64, d='\\n'")
    write(tmp_path, more=init)
    cc = wire(tmp_path, gain=2).resolved["flow"][0]["cc"]
    assert list(cc) == ["kind", "class", "sha256", "gain", "half", "word"]
    assert (cc["gain"], cc["half"], cc["word"]) == (2, 0.5, "x")


def test_results_name_the_class_and_what_differs_from_its_defaults(cli: Cli, tmp_path: Path) -> None:
    init = "    def __init__(self, connection, gain=0.5, beta=0.7):\n        super().__init__(connection)\n"
    write(tmp_path, more=init)
    (tmp_path / "other.py").write_text((tmp_path / "mine.py").read_text(encoding="utf-8"), encoding="utf-8")
    flows = [
        ("a", {"class": "mine.py:Mine", "gain": 0.5}),
        ("b", {"class": "mine.py:Mine", "gain": 2, "beta": 0.7}),
    ]
    base = Scenario.from_toml(WIRE)
    run = wire(tmp_path).with_(
        flow=[{"id": name, "cc": {"kind": "python", **control}} for name, control in flows], duration="200ms"
    )
    result = run.run(series="50ms")
    assert result.flows["cc"].to_list() == result.groups["cc"].to_list() == ["Mine", "Mine(gain=2)"]
    assert "Mine(gain=2)" in result._repr_html_()
    assert "Mine(gain=2)" in run._repr_html_()
    facts = content({"one": result, "two": base.with_(duration="200ms").run(series="50ms")}).facts
    assert [row["cc"] for row in facts["runs"][0]["flows"]] == ["Mine", "Mine(gain=2)"]
    assert ("flow[0].cc.kind", ["Mine", "newreno"]) in facts["differences"]
    result.save(tmp_path / "run")
    # Another process has not seen the class, and therefore not its defaults.
    shown = cli("view", tmp_path / "run", "--out", tmp_path / "page.html")
    assert shown.returncode == 0, shown.stderr
    control = {"kind": "python", "class": "mine.py:Mine", "sha256": "unknown", "gain": 2, "beta": 0.7}
    assert control_text(control) == "Mine(gain=2, beta=0.7)"
    assert control_text({"kind": "plugin", "name": "gentle", "gain": 2}) == "gentle(gain=2)"


def test_two_classes_of_one_name_are_named_with_their_files(tmp_path: Path) -> None:
    for file in ("one.py", "two.py"):
        write(tmp_path)
        (tmp_path / "mine.py").rename(tmp_path / file)
    controls = [{"kind": "python", "class": f"{name}.py:Mine"} for name in ("one", "two")]
    flows = [{"id": name, "cc": cc} for name, cc in zip("abc", [*controls, "cubic"], strict=True)]
    scenario = Scenario.from_toml(WIRE, str(tmp_path / "wire.toml"), allow_code=True)
    result = scenario.with_(flow=flows, duration="100ms").run()
    assert result.flows["cc"].to_list() == ["one.py:Mine", "two.py:Mine", "cubic"]


def test_a_class_cannot_change_the_settings_of_others(tmp_path: Path) -> None:
    init = (
        "    def __init__(self, connection, steps):\n"
        "        super().__init__(connection)\n"
        "        self.cwnd_bytes = steps.pop()\n"
    )
    write(tmp_path, more=init)
    scenario = wire(tmp_path, steps=[5000, 9000]).with_({"ue[0].count": 2})
    for _ in range(2):
        series = scenario.run(series="1s").series.filter(_flow("flow-0") | _flow("flow-1"))
        assert series["cwnd_bytes"].unique().to_list() == [9000]


# Errors.


INIT = "    def __init__(self, connection, {}):\n        super().__init__(connection)\n"


@pytest.mark.parametrize(
    ("more", "settings", "expected"),
    [
        (
            "",
            {"class": "mine.py:Nine"},
            ".class: mine.py: there is no class `Nine`; did you mean `Mine`?; it has: `Mine`",
        ),
        (
            "",
            {"class": "mine.py:math"},
            ".class: mine.py: math is not a subclass of airwnd.CongestionControl",
        ),
        ("", {"class": "mime.py:Mine"}, ".class: FOLDER/mime.py cannot be read: No such file or directory"),
        ("", {"class": "no.such:Mine"}, ".class: there is no Python module `no`"),
        ("", {"class": "math:Mine"}, ".class: math: there is no class `Mine`; it has: none"),
        (
            "",
            {"class": "mine.py:"},
            '.class: expected "file.py:Class", "package.module:Class" or the name of a class '
            "registered with airwnd.register, found 'mine.py:'",
        ),
        ("", {"gain": 1}, ": unknown key `gain`; allowed: none (Mine.__init__)"),
        (
            INIT.format("gain=1"),
            {"gian": 1},
            ": unknown key `gian`; did you mean `gain`?; allowed: `gain` (Mine.__init__)",
        ),
        (INIT.format("gain"), {}, ": `gain` is missing (Mine.__init__)"),
        (
            INIT.format("gain"),
            {"connection": 1},
            ": unknown key `connection`; allowed: `gain` (Mine.__init__)",
        ),
        (
            "    def __init__(self): ...\n",
            {},
            ".class: Mine.__init__ must take the connection as its first argument",
        ),
        (
            "    def __init__(self, connection): ...\n",
            {},
            "mine.py: Mine.__init__: cwnd_bytes is not set; does __init__ call super().__init__(connection)?",
        ),
        (
            INIT.format("gain=1") + "        raise ValueError('no good')\n",
            {},
            "mine.py:12: Mine.__init__: ValueError: no good",
        ),
        ("\nraise RuntimeError('no\\ngood')\n", {}, ".class: mine.py:11: RuntimeError: no\\ngood"),
        ("\nimport sys\nsys.exit(3)\n", {}, ".class: mine.py:12: SystemExit: 3"),
        ("\nclass class\n", {}, ".class: mine.py:11: SyntaxError: invalid syntax"),
        (
            "\nimport no_such_module\n",
            {},
            ".class: mine.py:11: ModuleNotFoundError: No module named 'no_such_module'",
        ),
    ],
)
def test_an_unsuitable_class_is_rejected(
    tmp_path: Path, more: str, settings: dict[str, object], expected: str
) -> None:
    write(tmp_path, more=more)
    assert complaint(tmp_path, **settings).replace(str(tmp_path), "FOLDER") == expected


def test_a_class_without_a_method_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(HEAD + "    pass\n", encoding="utf-8")
    assert complaint(tmp_path) == ".class: mine.py: Mine lacks on_ack and on_congestion"


NUMBER = "it must be a number of bytes, at least"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("1 / 0", ":7: Mine.{}: ZeroDivisionError: division by zero"),
        ("assert False", ":7: Mine.{}: AssertionError"),
        ("raise KeyError('a\\nb')", ":7: Mine.{}: KeyError: 'a\\nb'"),
        ("return 5000", ": Mine.{}: returns 5000; it must return None and set the window as self.cwnd_bytes"),
        ("self.cwnd_bytes = math.nan", f": Mine.{{}}: cwnd_bytes is nan; {NUMBER} 1"),
        ("self.cwnd_bytes = math.inf", f": Mine.{{}}: cwnd_bytes is inf; {NUMBER} 1"),
        ("self.cwnd_bytes = -5.5", f": Mine.{{}}: cwnd_bytes is -5.5; {NUMBER} 1"),
        ("self.cwnd_bytes = 0", f": Mine.{{}}: cwnd_bytes is 0; {NUMBER} 1"),
        ("self.cwnd_bytes = '10kB'", f": Mine.{{}}: cwnd_bytes is '10kB'; {NUMBER} 1"),
        ("self.cwnd_bytes = None", f": Mine.{{}}: cwnd_bytes is None; {NUMBER} 1"),
        ("self.cwnd_bytes = [1] * 99", f": Mine.{{}}: cwnd_bytes is [{'1, ' * 13}...; {NUMBER} 1"),
        ("self.cwnd_bytes = 10**400", f": Mine.{{}}: cwnd_bytes is 1{'0' * 39}...; {NUMBER} 1"),
        ("self.ssthresh_bytes = math.nan", f": Mine.{{}}: ssthresh_bytes is nan; {NUMBER} 0"),
        ("self.ssthresh_bytes = -1", f": Mine.{{}}: ssthresh_bytes is -1; {NUMBER} 0"),
        (
            "self.pacing_rate_bps = -1",
            ": Mine.{}: pacing_rate_bps is -1; it must be a number of bits per second, at least 1",
        ),
        (
            "del self.cwnd_bytes",
            ": Mine.{}: cwnd_bytes is not set; does __init__ call super().__init__(connection)?",
        ),
    ],
)
def test_a_method_that_fails_ends_the_run(tmp_path: Path, body: str, expected: str) -> None:
    write(tmp_path, ack=body)
    assert complaint(tmp_path) == "mine.py" + expected.format("on_ack")
    write(tmp_path, ack="self.cwnd_bytes += ack.acked_bytes", congestion=body)
    assert complaint(tmp_path) == "mine.py" + expected.format("on_congestion").replace(":7:", ":9:")


def test_the_command_line_prints_one_line(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path, ack="1 / 0")
    wire(tmp_path)
    done = cli("run", "wire.toml", "--set", MINE, "--out", "out")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "airwnd: mine.py:7: Mine.on_ack: ZeroDivisionError: division by zero\n"
    assert not (tmp_path / "out").exists()


def test_the_cause_is_attached(tmp_path: Path) -> None:
    write(tmp_path, ack="1 / 0")
    with pytest.raises(ScenarioError) as caught:
        wire(tmp_path).run()
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    # A later error is independent of it.
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_toml("")
    assert caught.value.__cause__ is None


def test_a_failure_leaves_other_runs_alone(tmp_path: Path) -> None:
    write(tmp_path, ack="self.cwnd_bytes /= 0 if ack.now_s > 5 else 1")
    broken, sound = wire(tmp_path), Scenario.from_toml(WIRE).with_(duration="60s")
    expected = sound.run().outcome
    found: list[object] = []

    def work(scenario: Scenario) -> None:
        try:
            found.append(scenario.run().outcome)
        except ScenarioError as error:
            found.append(str(error))

    threads = [threading.Thread(target=work, args=(each,)) for each in (broken, sound)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    message = "mine.py:7: Mine.on_ack: ZeroDivisionError: float division by zero"
    assert message in found
    assert expected in found


@pytest.mark.parametrize(
    ("raised", "shown"),
    [
        ("SystemExit(0)", "SystemExit: 0"),
        ("KeyboardInterrupt", "KeyboardInterrupt"),
        ("GeneratorExit", "GeneratorExit"),
        ("BaseException('no')", "BaseException: no"),
        ("RecursionError('deep')", "RecursionError: deep"),
        ("MemoryError", "MemoryError"),
    ],
)
def test_any_exception_of_a_class_gives_one_line(tmp_path: Path, raised: str, shown: str) -> None:
    write(tmp_path, ack=f"raise {raised}")
    assert complaint(tmp_path) == f"mine.py:7: Mine.on_ack: {shown}"
    write(tmp_path, more=f"\nraise {raised}\n")
    assert complaint(tmp_path) == f".class: mine.py:11: {shown}"


def test_an_endless_recursion_gives_one_line(tmp_path: Path) -> None:
    write(tmp_path, ack="self.on_ack(ack)")
    assert complaint(tmp_path).startswith("mine.py:7: Mine.on_ack: RecursionError: maximum recursion depth")


def test_a_class_that_exits_ends_only_the_run(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path, ack="raise SystemExit(0)")
    wire(tmp_path)
    done = cli("run", "wire.toml", "--set", MINE)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "airwnd: mine.py:7: Mine.on_ack: SystemExit: 0\n"


@pytest.mark.parametrize("mask", ["", "\n        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])"])
def test_ctrl_c_is_not_an_error_of_the_class(tmp_path: Path, mask: str) -> None:
    # With the mask, another thread of the process handles the signal.
    begun = "\n        open('begun', 'w').close()\n        while True: pass"
    write(tmp_path, ack=f"\n        import signal{mask}{begun}")
    wire(tmp_path)
    done = run_interrupted(
        *("run", "wire.toml", "--set", MINE, "--plugin-timeout", "10000s"),
        cwd=tmp_path,
        when=(tmp_path / "begun").exists,
    )
    assert (done.returncode, done.stdout, done.stderr.strip()) == (130, "", "airwnd: interrupted")


# Time limits.

LATE = "did not return within 0.5 s; --plugin-timeout (in Python: plugin_timeout_s) sets the limit"
ENDLESS = "\n        while True: pass"


def late(folder: Path, **cc: object) -> Scenario:
    """The wire scenario, with a limit of 0.5 s for each call of the class."""
    (folder / "wire.toml").write_text(WIRE, encoding="utf-8")
    return Scenario.load(folder / "wire.toml", allow_code=True, plugin_timeout_s=0.5).with_(
        {"flow[0].cc": {"kind": "python", "class": "mine.py:Mine", **cc}}
    )


@pytest.mark.parametrize(
    ("parts", "place"),
    [
        ({"ack": ENDLESS}, "mine.py:8: Mine.on_ack: "),
        (
            {"ack": "self.cwnd_bytes += ack.acked_bytes", "congestion": ENDLESS},
            "mine.py:10: Mine.on_congestion: ",
        ),
        (
            {"more": "    def __init__(self, connection):\n        while True: pass\n"},
            "mine.py:11: Mine.__init__: ",
        ),
        (
            {
                "more": "    @property\n    def pacing_rate_bps(self):\n        while True: pass\n"
                "    @pacing_rate_bps.setter\n    def pacing_rate_bps(self, rate): ...\n"
            },
            "mine.py:12: Mine.__init__: ",
        ),
        ({"more": "\nwhile True: pass\n"}, ".class: mine.py:11: "),
        (
            {"ack": "\n        try:\n            while True: pass\n        except Exception: pass"},
            "mine.py:9: Mine.on_ack: ",
        ),
        (
            {
                "ack": "\n        try:\n            self.spin()\n        except BaseException: pass",
                "more": "    def spin(self):\n        while True: pass\n",
            },
            "mine.py: Mine.on_ack: ",
        ),
    ],
)
def test_a_call_that_never_returns_gives_one_line(tmp_path: Path, parts: dict[str, str], place: str) -> None:
    write(tmp_path, **parts)
    assert complaint_of(lambda: late(tmp_path)) == place + LATE


def test_an_endless_import_gives_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "endless.py").write_text("while True: pass\n", encoding="utf-8")
    named = {"class": "endless:Mine"}
    assert complaint_of(lambda: late(tmp_path, **named)) == ".class: endless: " + LATE


def test_threads_are_interrupted_separately(tmp_path: Path) -> None:
    write(tmp_path, ack=ENDLESS)
    hanging = late(tmp_path)
    sound = Scenario.from_toml(WIRE).with_(duration="1s")
    found: list[str] = []

    def work(scenario: Scenario) -> None:
        try:
            scenario.run()
            found.append("finished")
        except ScenarioError as error:
            found.append(str(error))

    threads = [threading.Thread(target=work, args=(each,)) for each in (hanging, sound, hanging)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == ["finished", *[f"mine.py:8: Mine.on_ack: {LATE}"] * 2]


def test_the_limit_applies_to_worker_processes(tmp_path: Path) -> None:
    write(tmp_path, ack=ENDLESS)
    scenario = late(tmp_path)
    with pytest.raises(ScenarioError, match=re.escape(f"mine.py:8: Mine.on_ack: {LATE}")):
        carry_out([Task(scenario, 1)], Store(tmp_path / "runs"), Processes(1))


STUCK = ["\n        import time; time.sleep(10**6)", "\n        import re; re.match('(a+)+b', 'a' * 60)"]


@pytest.mark.parametrize("body", STUCK)
def test_a_call_that_cannot_be_interrupted_ends_the_command(
    cli_process: Cli, tmp_path: Path, body: str
) -> None:
    write(tmp_path, ack=body)
    wire(tmp_path)
    done = cli_process("run", "wire.toml", "--plugin-timeout", "300ms", "--set", MINE)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "airwnd: mine.py: Mine: a call did not return within 0.3 s and cannot be interrupted\n"
    )


def test_a_call_that_cannot_be_interrupted_ends_its_worker(tmp_path: Path) -> None:
    write(tmp_path, ack=STUCK[0])
    with pytest.raises(InputError) as caught:
        carry_out([Task(late(tmp_path), 1)], Store(tmp_path / "runs"), Processes(1))
    assert str(caught.value).endswith(
        "seed 1: a call of mine.py:Mine did not return within 0.5 s and cannot be interrupted"
    )


def test_a_class_that_ends_its_process_is_named(tmp_path: Path) -> None:
    write(tmp_path, ack="\n        import os; os._exit(7)")
    with pytest.raises(InputError) as caught:
        carry_out([Task(wire(tmp_path), 1)], Store(tmp_path / "runs"), Processes(1))
    assert str(caught.value).endswith("seed 1: mine.py:Mine ended the process that ran it, with exit code 7")


@pytest.mark.parametrize("limit", [0.0, -1.0, math.nan])
def test_the_limit_must_be_positive(limit: float) -> None:
    with pytest.raises(InputError, match=r"plugin timeout: .* s is not above zero"):
        Scenario.from_toml(WIRE, plugin_timeout_s=limit)


def test_the_limit_may_be_infinite(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "wire.toml").write_text(WIRE, encoding="utf-8")
    scenario = Scenario.load(tmp_path / "wire.toml", allow_code=True, plugin_timeout_s=math.inf)
    named = scenario.with_({"flow[0].cc": {"kind": "python", "class": "mine.py:Mine"}}, duration="1s")
    assert named.run().totals["goodput_kbps"] > 0


# Permission to execute code.

MARK = "open({!r}, 'w').close()\n"


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A scenario whose class leaves a mark when its file is executed."""
    text = MARK.format(str(tmp_path / "mark")) + HEAD + ON_ACK.format("pass") + ON_CONGESTION.format("pass")
    (tmp_path / "mine.py").write_text(text, encoding="utf-8")
    radio = "[[site]]\n[[ue]]\n[[flow]]\n"
    (tmp_path / "s.toml").write_text(
        f'name = "s"\nduration = "100ms"\n{radio}cc = {{ kind = "python", class = "mine.py:Mine" }}\n',
        encoding="utf-8",
    )
    return tmp_path


RUNS = [
    ("run", "s.toml"),
    ("sweep", "s.toml", "--grid", "tcp.mss=1000,1448", "--out", "out"),
    ("plot", "prbs", "s.toml", "--from", "0ms", "--to", "10ms"),
    ("plot", "timeline", "s.toml"),
    ("plot", "fct", "s.toml"),
    ("plot", "map", "s.toml", "--points", "5"),
    ("check", "s.toml"),
    ("ues", "s.toml"),
]


@pytest.mark.parametrize("words", RUNS)
def test_nothing_is_executed_without_permission(cli: Cli, hostile: Path, words: tuple[str, ...]) -> None:
    done = cli(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"airwnd: s.toml:6: flow[0].cc.class: {hostile}/mine.py is Python code, which is executed with your "
        "permissions; commands that simulate do so if you name it: "
        f"--code {hostile}/mine.py (in Python: allow_code=True)\n"
    )
    assert not (hostile / "mark").exists()


@pytest.mark.parametrize("words", [*RUNS[:2], RUNS[3], *RUNS[5:]])
def test_the_class_is_executed_with_permission(cli: Cli, hostile: Path, words: tuple[str, ...]) -> None:
    done = cli(*words, "--code", "mine.py")
    assert done.returncode == 0, done.stderr
    assert (hostile / "mark").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--code", "other.py"), "mine.py is Python code"),
        (("--code", "mine"), "mine.py is Python code"),
        (("--set", "flow[0].rwnd={kind='python', class='other.py:Other'}"), "mine.py is Python code"),
        (("--code", "missing.py"), "--code missing.py: no such file"),
        (("--allow-code",), "--allow-code: name the code instead, as in --code mine.py"),
    ],
)
def test_only_code_that_is_named_is_executed(
    cli: Cli, hostile: Path, words: tuple[str, ...], message: str
) -> None:
    other = (
        "import airwnd\nclass Other(airwnd.ReceiveWindowControl):\n    def window(self, state): return 1\n"
    )
    (hostile / "other.py").write_text(other, encoding="utf-8")
    done = cli("run", "s.toml", *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (hostile / "mark").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("run", "s.toml", "--set", "flow[0].cc.class=mine.py:Mine"),
        ("run", "s.toml", "--set", "flow[0].cc={ kind = 'python', 'class' = 'mine.py:Mine' }"),
        (
            "sweep",
            "s.toml",
            "--grid",
            'flow[0].cc=cubic,{kind="python",class="mine.py:Mine"}',
            "--out",
            "out",
        ),
        ("run", "s.toml", "--code", "./../{name}/mine.py"),
        ("check", "s.toml", "--set", "flow[0].cc.class=mine.py:Mine"),
    ],
)
def test_naming_code_permits_it(cli: Cli, hostile: Path, words: tuple[str, ...]) -> None:
    done = cli(*(word.replace("{name}", hostile.name) for word in words))
    assert done.returncode == 0, done.stderr
    assert (hostile / "mark").exists()


def test_code_that_a_setting_replaces_needs_no_permission(cli: Cli, hostile: Path) -> None:
    done = cli("run", "s.toml", "--set", "flow[0].cc=cubic")
    assert done.returncode == 0, done.stderr
    assert not (hostile / "mark").exists()


def test_a_reproduction_needs_permission(cli: Cli, folder: Path, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    text = MARK.format(str(mark)) + HEAD + ON_ACK.format("pass") + ON_CONGESTION.format("pass")
    (folder / "mine.py").write_text(text, encoding="utf-8")
    scenario = (folder / "scenario.toml").read_text(encoding="utf-8")
    named = scenario + 'cc = { kind = "python", class = "mine.py:Mine" }\n'
    (folder / "scenario.toml").write_text(named, encoding="utf-8")
    done = cli("reproduce", folder, "--quick")
    assert done.returncode == 2
    assert f"{folder}/mine.py is Python code" in done.stderr
    assert not mark.exists()
    Experiment.load(folder, CodePolicy(allow=True))
    assert mark.exists()


@pytest.mark.parametrize("module", ["trap:Mine", "trapped.inner:Mine"])
def test_a_module_is_not_imported_without_permission(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "trapped").mkdir()
    text = MARK.format(str(tmp_path / "mark")) + HEAD + ON_ACK.format("pass") + ON_CONGESTION.format("pass")
    for path in ("trap.py", "trapped/__init__.py", "trapped/inner.py"):
        (tmp_path / path).write_text(text, encoding="utf-8")
    place = module.partition(":")[0]
    with pytest.raises(ScenarioError, match=rf"{place} is Python code, .* name it: --code {place} \(in"):
        Scenario.from_toml(WIRE).with_({"flow[0].cc": {"kind": "python", "class": module}})
    assert not (tmp_path / "mark").exists()
    assert place not in sys.modules
    scenario = Scenario.from_toml(WIRE, allow_code=True)
    assert scenario.with_({"flow[0].cc": {"kind": "python", "class": module}}).code == (module,)
    assert (tmp_path / "mark").exists()


def test_permission_does_not_change_a_scenario(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path, more=INIT.format("gain=0.5, *, odd=None, ratio=math.inf"))
    allowed = wire(tmp_path)
    done = cli("check", "wire.toml", "--json", "--set", MINE)
    assert json.loads(done.stdout) == allowed.resolved
    assert pickle.loads(pickle.dumps(allowed)).run().totals == allowed.run().totals  # noqa: S301


def test_finished_runs_are_found_by_the_digest_of_the_class(tmp_path: Path) -> None:
    write(tmp_path)
    store = Store(tmp_path / "runs")
    carry_out([Task(wire(tmp_path).with_(duration="1s"), 1)], store, Processes(1))
    again = Task(wire(tmp_path).with_(duration="1s"), 1)
    assert carry_out([again], store, Processes(1)).reused == 1
    write(tmp_path, ack="self.cwnd_bytes = 9000")
    changed = Task(wire(tmp_path).with_(duration="1s"), 1)
    assert carry_out([changed], store, Processes(1)).reused == 0


# Finding the class.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("class Mine: ...\n", "mine.py: Mine is not a subclass of airwnd.CongestionControl"),
        (
            "import base\nclass Mine(base.Plain): ...\n",
            "mine.py: Mine is not a subclass of airwnd.CongestionControl",
        ),
        ("import base\nclass Mine(base.Half): ...\n", "mine.py: Mine lacks on_congestion"),
        ("from base import Half as Mine\n", "mine.py: Mine lacks on_congestion"),
        ("from airwnd import CongestionControl as Mine\n", "mine.py: Mine lacks on_ack and on_congestion"),
        ("Mine = 5\n", "mine.py: Mine is not a subclass of airwnd.CongestionControl"),
        ("def Mine(): ...\n", "mine.py: Mine is not a subclass of airwnd.CongestionControl"),
        ("x = 1\0\n", "mine.py: SyntaxError: source code string cannot contain null bytes"),
        (f"x = {'-' * 20_000}1\n", "mine.py: "),
        (f"x = 1{'+1' * 20_000}\n", "mine.py: RecursionError: maximum recursion depth exceeded"),
    ],
)
def test_an_unsuitable_text_gives_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, expected: str
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "base", raising=False)
    base = "import airwnd\nclass Plain: ...\nclass Half(airwnd.CongestionControl):\n" + ON_ACK.format("pass")
    (tmp_path / "base.py").write_text(base, encoding="utf-8")
    (tmp_path / "mine.py").write_text(text, encoding="utf-8")
    with pytest.raises(RefusedError) as caught:
        find_class(tmp_path)
    assert str(caught.value).startswith(expected)
    assert "\n" not in str(caught.value)


def test_only_regular_files_are_read_as_classes(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "mine.py")
    with pytest.raises(RefusedError, match=r"mine.py cannot be read: it is not a regular file"):
        find_class(tmp_path)


PACKAGE = {
    "nest/__init__.py": "from .deep.base import Base as Named\n",
    "nest/deep/__init__.py": "",
    "nest/deep/base.py": HEAD.replace("Mine", "Base") + ON_ACK.format("pass") + ON_CONGESTION.format("pass"),
    "nest/mine.py": "from nest import Named\nfrom typing import Generic, TypeVar\nT = TypeVar('T')\n"
    "class Mine(Named, Generic[T]): ...\n",
}


def test_bases_are_found_through_imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    for path, text in PACKAGE.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    plugin = find_class(tmp_path, "nest.mine:Mine")
    assert plugin.kind.__mro__[1].__module__ == "nest.deep.base"
    texts = [PACKAGE[path].encode() for path in ("nest/mine.py", "nest/deep/base.py")]
    assert plugin.sha256 == hashlib.sha256(b"".join(texts)).hexdigest()
    # Imported once: the executed text differs from the current one.
    (tmp_path / "nest/deep/base.py").write_text(PACKAGE["nest/deep/base.py"] + "    gain = 1\n")
    with pytest.raises(
        RefusedError, match=r"base.py has changed since this process imported it; start again"
    ):
        find_class(tmp_path, "nest.mine:Mine")


def test_a_class_may_be_made_by_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    whole = HEAD.replace("Mine", "Base") + ON_ACK.format("pass") + ON_CONGESTION.format("pass")
    (tmp_path / "hidden.py").write_text(whole + INIT.format("gain=1"), encoding="utf-8")
    text = "import hidden\ndef keep(kind): return kind\n@keep\nclass Mine(vars(hidden)['Base']): ...\n"
    (tmp_path / "mine.py").write_text(text, encoding="utf-8")
    texts = [(tmp_path / name).read_bytes() for name in ("mine.py", "hidden.py")]
    assert find_class(tmp_path).sha256 == hashlib.sha256(b"".join(texts)).hexdigest()
    assert wire(tmp_path, gain=2).run().totals["goodput_kbps"] > 0
    assert complaint(tmp_path, gian=2) == (
        ": unknown key `gian`; did you mean `gain`?; allowed: `gain` (Mine.__init__)"
    )


# Display.


def test_it_is_listed_and_explained(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "1000")  # nothing wraps
    assert re.search(
        r"^  python +Python: a congestion control written as a class", cli("list", "cc").stdout, re.MULTILINE
    )
    explained = cli("explain", "python", "--all").stdout
    assert 'cc = {kind = "python", class = "gentle.py:Gentle", gain = 0.5}' in explained
    assert "write-a-plugin" in explained
    assert re.search(r"^  class  The class: .*\n +required;", explained, re.MULTILINE)
    assert re.search(r"^  sha256  Digest of .*\n +default none;", explained, re.MULTILINE)


def test_the_schema_contains_it() -> None:
    validator = jsonschema.Draft202012Validator(airwnd.schema())
    resolved = Scenario.load(EXAMPLE / "scenario.toml", allow_code=True).resolved
    validator.validate(resolved)
    for cc in ({"kind": "python"}, {"kind": "python", "class": 1}, {"kind": "plugin", "gain": 1.0}):
        assert not validator.is_valid({**resolved, "flow": [{"cc": cc}]})
    assert validator.is_valid({**resolved, "flow": [{"cc": {"kind": "plugin", "name": "x", "gain": 1.0}}]})


# Documentation.


def test_the_guide_shows_the_examples() -> None:
    guide = (ROOT / "docs" / "how-to" / "write-a-plugin.md").read_text(encoding="utf-8")
    for name in ("gentle.py", "scenario.toml"):
        assert (EXAMPLE / name).read_text(encoding="utf-8") in guide, name
    rust = ROOT / "examples" / "rust-plugin"
    sources = [rust / "Cargo.toml", *(rust / "src" / name for name in ("gentle.rs", "engine.rs", "main.rs"))]
    for path in (*EXAMPLE.glob("*.py"), *sources):
        assert f"](../../{path.relative_to(ROOT).as_posix()})" in guide, path
    text = "".join(path.read_text(encoding="utf-8") for path in sources)
    shown = re.findall(r"^```rust\n(.*?)^```$", guide, re.DOTALL | re.MULTILINE)
    assert shown
    assert all(block in text for block in shown)


def test_the_guide_is_correct(tmp_path: Path) -> None:
    guide = (ROOT / "docs" / "how-to" / "write-a-plugin.md").read_text(encoding="utf-8")
    for name in ("gentle.py", "scenario.toml"):
        shutil.copy(EXAMPLE / name, tmp_path)
    scenario = Scenario.load(tmp_path / "scenario.toml", allow_code=True)
    for label, changes in (
        ("CUBIC", {"flow[0].cc": "cubic"}),
        ("Gentle, 50 ms", {}),
        ("Gentle, 20 ms", {"flow[0].cc.target_s": 0.02}),
    ):
        totals = scenario.with_(changes).run().totals
        row = f"| {label} | {totals['throughput_kbps']:,.0f} kbit/s | {totals['delay_ms_mean']:.1f} ms |"
        assert row in guide
    text = (tmp_path / "scenario.toml").read_text(encoding="utf-8")
    for before, after in (
        (":Gentle", ":Gentel"),
        ("target_s = 0.05", "target = 0.02"),
        ("target_s = 0.05", "target_s = -1"),
    ):
        (tmp_path / "scenario.toml").write_text(text.replace(before, after), encoding="utf-8")
        with pytest.raises(ScenarioError) as caught:
            Scenario.load(tmp_path / "scenario.toml", allow_code=True).run()
        assert f"airwnd: {caught.value}\n".replace(f"{tmp_path}/", "") in guide
