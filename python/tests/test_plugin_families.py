"""Queue disciplines written in Python: equal to built-in members, and errors of one line."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from airwnd import InputError, Scenario, ScenarioError
from airwnd.plugins.permission import CodePolicy, applied
from airwnd.plugins.registry import find
from airwnd.study.evaluate.candidate import parse

from .conftest import ROOT, Cli, nightly

REBUILT = Path(__file__).parent / "rebuilt.py"

WIRE = """
name = "wire"
duration = "20s"
tcp.mss = 1000
[[link]]
rate = "10Mbps"
delay = "25ms"
aqm = "drop-tail"
[[ue]]
count = 2
[[flow]]
cc = "cubic"
"""
CELL = """
name = "cell"
duration = "3s"
rlc.queue = "drop-tail"
[[site]]
[[ue]]
count = 3
placement = { kind = "ring", radius = "300m" }
[[flow]]
cc = "cubic"
"""
MOVING = """
name = "moving"
duration = "12s"
[handover]
algorithm = { kind = "a3-rsrp", time_to_trigger = "100ms" }
[[site]]
position = ["0m", "0m"]
[[site]]
position = ["600m", "0m"]
[[ue]]
count = 4
placement = { kind = "line", from = ["100m", "30m"], to = ["250m", "30m"] }
mobility = { kind = "constant-velocity", speed = "40m/s", direction = "0deg" }
[[flow]]
cc = "cubic"
"""


def named(name: str, **arguments: object) -> dict[str, object]:
    """Return the value of a key that names a rebuilt member."""
    return {"kind": "python", "class": f"{REBUILT}:{name}", **arguments}


def results(scenario: Scenario, key: str, value: object) -> tuple[str, Any]:
    """Run a scenario with a member, and return its results."""
    run = scenario.with_({key: value}).run(series="100ms")
    return json.dumps(run.outcome), run.series


def assert_same(text: str, key: str, built_in: object, rebuilt: Mapping[str, object]) -> str:
    """Compare the results of a built-in member with those of a class; return them."""
    scenario = Scenario.from_toml(text, allow_code=True)
    ours, ours_series = results(scenario, key, built_in)
    theirs, theirs_series = results(scenario, key, rebuilt)
    assert theirs == ours
    assert theirs_series.equals(ours_series)
    return ours


def complaint(folder: Path, text: str, key: str, body: str, **arguments: object) -> str:
    """Return the error message of a run with a class in a file, without the place of the setting."""
    (folder / "mine.py").write_text(body, encoding="utf-8")
    (folder / "s.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ScenarioError) as caught:
        Scenario.load(folder / "s.toml", allow_code=True).with_(
            {key: {"kind": "python", "class": "mine.py:Mine", **arguments}}
        ).run()
    return str(caught.value).rpartition("}: ")[2]


# Receive-window controls.


@pytest.mark.parametrize("text", [WIRE, CELL, MOVING])
def test_a_receive_window_equals_the_built_in_one(text: str) -> None:
    scenario = Scenario.from_toml(text, allow_code=True)
    ours, ours_series = results(scenario, "flow[0].rwnd", {"kind": "drwa", "lambda": 2.0})
    theirs, theirs_series = results(scenario, "flow[0].rwnd", named("Drwa", target=2.0))
    assert theirs == ours.replace('"drwa"', '"Drwa(target=2.0)"')
    assert theirs_series.equals(ours_series)
    assert "drwa" in ours


WINDOW = """import math
import airwnd


class Mine(airwnd.ReceiveWindowControl):
    may_shrink = {shrink}

    def on_arrival(self, arrival: airwnd.Arrival, state: airwnd.ReceiverState) -> None:
        {arrival}

    def window(self, state: airwnd.ReceiverState) -> int:
        {window}
        return 20_000
"""


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({"window": "1 / 0"}, "mine.py:12: Mine.window: ZeroDivisionError: division by zero"),
        ({"arrival": "1 / 0"}, "mine.py:9: Mine.on_arrival: ZeroDivisionError: division by zero"),
        ({"arrival": "return 7"}, "mine.py: Mine.on_arrival: returns 7; it must return None"),
        ({"shrink": "2"}, "mine.py: Mine.__init__: may_shrink is 2; it must be True or False"),
        *(
            (
                {"window": f"return {answer}"},
                f"mine.py: Mine.window: returns {shown}; it must return a number of bytes, 0 to 1073741824",
            )
            for answer, shown in {
                "None": "None",
                "True": "True",
                "-1": "-1",
                "1.5": "1.5",
                "math.nan": "nan",
                "2**30 + 1": "1073741825",
                "2**70": "1180591620717411303424",
                "'all'": "'all'",
            }.items()
        ),
    ],
)
def test_a_wrong_receive_window_ends_the_run_with_one_line(
    tmp_path: Path, parts: Mapping[str, str], expected: str
) -> None:
    body = WINDOW.format(**{"shrink": "False", "arrival": "pass", "window": "pass", **parts})
    assert complaint(tmp_path, WIRE, "flow[0].rwnd", body) == expected


def test_a_receive_window_shrinks_only_if_the_class_may(tmp_path: Path) -> None:
    closing = "return 60_000 if state.now_s < 10 else 0"
    goodputs = {}
    for shrink in ("False", "True"):
        (tmp_path / f"{shrink.lower()}.py").write_text(
            WINDOW.format(shrink=shrink, arrival="pass", window=closing), encoding="utf-8"
        )
        mine = {"kind": "python", "class": f"{shrink.lower()}.py:Mine"}
        scenario = Scenario.from_toml(WIRE, str(tmp_path / "s"), allow_code=True)
        run = scenario.with_({"flow[0].rwnd": mine, "warmup": "0s"}).run()
        goodputs[shrink] = sum(flow["goodput_kbps"] for flow in run.outcome["flows"])
    # The window that has been offered is used up, or taken back: at most a window of each of two flows.
    assert 0 <= goodputs["False"] - goodputs["True"] <= 2 * 60_000 * 8 / 20 / 1000
    assert 4000 < goodputs["True"] < 5100


def test_a_receiver_state_is_that_of_the_connection(tmp_path: Path) -> None:
    """The bytes received and read grow together, and the RTT is that of the path."""
    (tmp_path / "mine.py").write_text(
        """import airwnd


class Mine(airwnd.ReceiveWindowControl):
    def __init__(self, receiver: airwnd.Receiver) -> None:
        super().__init__(receiver)
        assert (receiver.mss_bytes, receiver.buffer_bytes) == (1000, 300_000), receiver
        self.read = self.new = 0

    def on_arrival(self, arrival: airwnd.Arrival, state: airwnd.ReceiverState) -> None:
        self.new += arrival.new_bytes
        assert arrival.now_s == state.now_s
        assert arrival.one_way_delay_s is None or arrival.one_way_delay_s >= 0.025
        assert state.received_bytes + state.early_bytes >= self.new

    def on_read(self, read_bytes: int, state: airwnd.ReceiverState) -> None:
        self.read += read_bytes
        assert self.read + state.unread_bytes == state.received_bytes
        assert state.min_rtt_s is None or 0.05 <= state.min_rtt_s <= state.rtt_s

    def window(self, state: airwnd.ReceiverState) -> int:
        assert state.free_bytes + state.unread_bytes <= 300_000
        return state.free_bytes
""",
        encoding="utf-8",
    )
    text = WIRE.replace("tcp.mss = 1000", 'tcp.mss = 1000\ntcp.receive_buffer = "300kB"')
    scenario = Scenario.from_toml(text, str(tmp_path / "s"), allow_code=True)
    mine = scenario.with_({"flow[0].rwnd": {"kind": "python", "class": "mine.py:Mine"}}).run()
    plain = scenario.with_({"flow[0].rwnd": "fixed"}).run()
    assert mine.totals["goodput_kbps"] == pytest.approx(plain.totals["goodput_kbps"], rel=0.02)


# Queue disciplines.


@pytest.mark.parametrize(
    ("changes", "built_in", "rebuilt"),
    [
        ("", {"kind": "drop-tail", "buffer": "50kB"}, named("DropTail", buffer_bytes=50_000)),
        ("", {"kind": "codel", "packets": "none", "buffer": "300kB"}, named("CoDel", buffer_bytes=300_000)),
        (
            "tcp.ecn = 'classic'\n",
            {"kind": "codel", "packets": "none", "buffer": "300kB"},
            named("CoDel", buffer_bytes=300_000),
        ),
    ],
)
def test_a_queue_of_a_link_equals_the_built_in_one(
    changes: str, built_in: object, rebuilt: Mapping[str, object]
) -> None:
    ours = json.loads(assert_same(changes + WIRE, "link[0].aqm", built_in, rebuilt))
    down = next(link for link in ours["links"] if link["link"] == "link" and link["direction"] == "down")
    assert down["drops_link_queue_full"] + down["drops_link_queue_early"] + down["marks"] > 0


def test_a_queue_of_a_bearer_equals_the_built_in_one() -> None:
    for built_in, rebuilt in (
        ({"kind": "drop-tail", "buffer": "60kB"}, named("DropTail", buffer_bytes=60_000)),
        ({"kind": "codel", "packets": "none", "buffer": "300kB"}, named("CoDel", buffer_bytes=300_000)),
    ):
        assert_same(CELL, "rlc.queue", built_in, rebuilt)
    # Packets are discarded while the class has them.
    timer = "rlc.discard_timer = '50ms'\n" + CELL
    assert_same(
        timer, "rlc.queue", {"kind": "drop-tail", "buffer": "600kB"}, named("DropTail", buffer_bytes=600_000)
    )


QUEUE = """import math
import airwnd


class Mine(airwnd.QueueDiscipline):
    def __init__(self, queue: airwnd.Queue, limit: int = 50) -> None:
        super().__init__(queue)
        self.limit = limit
        self.packets: list[airwnd.QueuedPacket] = []

    def enqueue(self, packet: airwnd.QueuedPacket) -> None:
        {enqueue}
        self.packets.append(packet)
        if len(self.packets) > self.limit:
            self.packets.pop(0).drop()

    def dequeue(self) -> airwnd.QueuedPacket | None:
        {dequeue}
        return self.packets.pop(0) if self.packets else None
"""


@pytest.mark.parametrize(
    ("bodies", "expected"),
    [
        ({"enqueue": "1 / 0"}, "mine.py:12: Mine.enqueue: ZeroDivisionError: division by zero"),
        ({"dequeue": "raise KeyError('x')"}, "mine.py:18: Mine.dequeue: KeyError: 'x'"),
        ({"dequeue": "raise SystemExit(0)"}, "mine.py:18: Mine.dequeue: SystemExit: 0"),
        (
            {"enqueue": "return 7"},
            "mine.py: Mine.enqueue: returns 7; it must return None, and drop a packet with packet.drop()",
        ),
        (
            {"dequeue": "return None"},
            "mine.py: Mine.dequeue: returns None, and 1 packets are in the queue; it must return one of them",
        ),
        (
            {"dequeue": "return math.nan"},
            "mine.py: Mine.dequeue: returns nan; it must return a packet of the queue, or None if it is "
            "empty",
        ),
        (
            {"dequeue": "return airwnd.QueuedPacket(airwnd.Queue())"},
            "mine.py: Mine.dequeue: returns <QueuedPacket of 1500 bytes>; it must return a packet of the "
            "queue, or None if it is empty",
        ),
        (
            {"dequeue": "return self.packets[0] if self.packets else None"},
            "mine.py: Mine.dequeue: returns a packet that has left the queue; it must return one that is "
            "inside",
        ),
        (
            {"enqueue": "packet.drop(); packet.drop()"},
            "mine.py:12: Mine.enqueue: ValueError: a packet that has left the queue cannot be dropped",
        ),
        (
            {"enqueue": "packet.drop(); packet.mark()"},
            "mine.py:12: Mine.enqueue: ValueError: a packet that has left the queue cannot be marked",
        ),
    ],
)
@pytest.mark.parametrize(("text", "key"), [(WIRE, "link[0].aqm"), (CELL, "rlc.queue")])
def test_a_wrong_queue_ends_the_run_with_one_line(
    tmp_path: Path, text: str, key: str, bodies: dict[str, str], expected: str
) -> None:
    body = QUEUE.format(**{"enqueue": "pass", "dequeue": "pass", **bodies})
    assert complaint(tmp_path, text, key, body) == expected


def test_a_fault_in_a_constructor_and_an_unknown_key_are_one_line(tmp_path: Path) -> None:
    body = QUEUE.format(enqueue="pass", dequeue="pass")
    wrong = body.replace("self.limit = limit", "raise ValueError(f'limit is {limit}')")
    expected = "mine.py:8: Mine.__init__: ValueError: limit is 3"
    assert complaint(tmp_path, WIRE, "link[0].aqm", wrong, limit=3) == expected
    assert complaint(tmp_path, CELL, "rlc.queue", wrong, limit=3) == expected
    assert complaint(tmp_path, WIRE, "link[0].aqm", body, limits=3) == (
        "link[0].aqm: unknown key `limits`; did you mean `limit`?; allowed: `limit` (Mine.__init__)"
    )
    assert complaint(tmp_path, WIRE, "flow[0].cc", body) == (
        "flow[0].cc.class: mine.py: Mine is not a subclass of airwnd.CongestionControl"
    )
    without = body.replace("def dequeue", "def dequeues")
    assert (
        complaint(tmp_path, WIRE, "link[0].aqm", without) == "link[0].aqm.class: mine.py: Mine lacks dequeue"
    )


def test_a_call_that_never_returns_gives_one_line(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        QUEUE.format(enqueue="pass", dequeue="while True: pass"), encoding="utf-8"
    )
    scenario = Scenario.from_toml(WIRE, str(tmp_path / "s"), allow_code=True, plugin_timeout_s=0.2)
    with pytest.raises(ScenarioError, match=r"^mine.py:18: Mine.dequeue: did not return within 0.2 s"):
        scenario.with_({"link[0].aqm": {"kind": "python", "class": "mine.py:Mine"}}).run()


def test_queues_know_their_place_and_draw_from_their_seed(tmp_path: Path) -> None:
    body = QUEUE.format(enqueue="pass", dequeue="pass").replace(
        "self.limit = limit",
        "self.limit = limit\n        place = (queue.direction, queue.link, queue.ue, queue.bearer)\n"
        "        Mine.seen.append((*place, queue.seed))",
    )
    body = body.replace("    def __init__", "    seen: list[tuple[object, ...]] = []\n\n    def __init__")
    for text, key in ((WIRE, "link[0].aqm"), (CELL, "rlc.queue")):
        (tmp_path / "mine.py").write_text(body + f"\n# {key}\n", encoding="utf-8")
        scenario = Scenario.from_toml(text, str(tmp_path / "s"), allow_code=True)
        scenario = scenario.with_({key: {"kind": "python", "class": "mine.py:Mine"}}, duration="100ms")
        assert scenario.run().outcome == scenario.run().outcome
        with applied(CodePolicy(allow=True)):
            plugin = find("mine.py:Mine", None, "{}", tmp_path, "aqm")
        seen = vars(plugin.kind)["seen"]
        half = len(seen) // 2
        assert seen[:half] == seen[half:]  # two runs with the same seed
        assert len({seed for *_, seed in seen[:half]}) == half
        places = [place[:4] for place in seen[:half]]
        if key == "rlc.queue":
            assert places == [(way, None, ue, 0) for ue in range(3) for way in ("down", "up")]
        else:
            assert places == [("down", 0, None, None), ("up", 0, None, None)]


def test_parallel_runs_equal_sequential_runs() -> None:
    scenario = Scenario.from_toml(CELL, allow_code=True).with_(
        {"rlc.queue": named("CoDel")}, duration="500ms"
    )
    alone = [scenario.run(seed=seed).outcome for seed in range(3)]
    assert [run.outcome for run in scenario.run_many(range(3), jobs=2)] == alone


def test_a_class_is_swept_by_its_parameters_in_two_processes(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "fresh.py").write_bytes((ROOT / "examples" / "python-plugin" / "fresh.py").read_bytes())
    queue = '{ kind = "python", class = "fresh.py:Fresh", limit_s = 0.1 }'
    (tmp_path / "s.toml").write_text(WIRE.replace('"drop-tail"', queue), encoding="utf-8")
    grid = "link[0].aqm.limit_s=0.02,0.1"
    done = cli(
        "sweep", "s.toml", "--grid", grid, "--seeds", "1", "--code", "fresh.py", "--jobs", "2", "--out", "out"
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("prefix", "name", "kind", "arguments"),
    [
        ("aqm", "fresh.py:Fresh", "queue", {"limit_s": 0.05}),
        ("rwnd", "level.py:Level", "receiver", {"target_s": 0.1}),
    ],
)
def test_a_class_is_a_candidate_of_an_evaluation(
    prefix: str, name: str, kind: str, arguments: Mapping[str, object]
) -> None:
    file = ROOT / "examples" / "python-plugin" / name
    found = parse(f"{prefix}:{file}", arguments)
    assert (found.kind, found.is_code) == (kind, True)
    assert found.value == {"kind": "python", "class": str(file), **arguments}
    with pytest.raises(InputError, match=rf"^{prefix}:mine.py:Mine: there is no file mine.py$"):
        parse(f"{prefix}:mine.py:Mine")


# Downlink schedulers.

FADING = "radio.fading = { kind = 'epa', speed = '1m/s' }\n"
PDCCH = "mac.pdcch = {}\n"


@pytest.mark.parametrize("changes", ["", FADING, PDCCH])
@pytest.mark.parametrize(("built_in", "rebuilt"), [("rr", "RoundRobin"), ("pf", "ProportionalFair")])
def test_a_scheduler_equals_the_built_in_one(changes: str, built_in: str, rebuilt: str) -> None:
    text = changes + CELL.replace("count = 3", "count = 12")
    if changes == PDCCH and built_in == "rr":
        return  # it takes back what it has decided, which the rebuilt one does not
    ours = json.loads(assert_same(text, "mac.scheduler", built_in, named(rebuilt)))
    assert ours["totals"]["goodput_kbps"] > 1000


def test_a_scheduler_knows_ues_that_change_cells() -> None:
    assert_same(MOVING, "mac.scheduler", "pf", named("ProportionalFair"))


SCHEDULER = """import math
import airwnd


class Mine(airwnd.DownlinkScheduler):
    def __init__(self, carrier: airwnd.SchedulerCarrier) -> None:
        super().__init__(carrier)
        self.before = None

    def allocate(self, tti: airwnd.SchedulerTti) -> list[airwnd.SchedulerUe | None]:
        {allocate}
        return [tti.ues[0]] * len(tti.rbgs)

    def on_served(self, served: dict[int, int]) -> None:
        {served}
"""
ALLOWED = "it must return a list with a UE of tti.ues, or None, for each of the 16 RBGs of tti.rbgs"


@pytest.mark.parametrize(
    ("bodies", "expected"),
    [
        ({"allocate": "1 / 0"}, "mine.py:11: Mine.allocate: ZeroDivisionError: division by zero"),
        ({"served": "assert not served"}, "mine.py:15: Mine.on_served: AssertionError"),
        ({"served": "return 1"}, "mine.py: Mine.on_served: returns 1; it must return None"),
        ({"allocate": "return None"}, f"mine.py: Mine.allocate: returns None; {ALLOWED}"),
        ({"allocate": "return -1"}, f"mine.py: Mine.allocate: returns -1; {ALLOWED}"),
        ({"allocate": "return []"}, f"mine.py: Mine.allocate: returns a list of 0; {ALLOWED}"),
        ({"allocate": "return tti.ues * 99"}, f"mine.py: Mine.allocate: returns a list of {{}}; {ALLOWED}"),
        (
            {"allocate": "return [math.nan] * len(tti.rbgs)"},
            f"mine.py: Mine.allocate: returns nan for RBG 0; {ALLOWED}",
        ),
        (
            {"allocate": "return [None] * (len(tti.rbgs) - 1) + [7]"},
            f"mine.py: Mine.allocate: returns 7 for RBG 15; {ALLOWED}",
        ),
        (
            {"allocate": "self.before = self.before or tti.ues[0]; return [self.before] * len(tti.rbgs)"},
            f"mine.py: Mine.allocate: returns <SchedulerUe 0> for RBG 0; {ALLOWED}",
        ),
        (
            {"allocate": "return [airwnd.SchedulerUe()] * len(tti.rbgs)"},
            f"mine.py: Mine.allocate: returns <SchedulerUe 0> for RBG 0; {ALLOWED}",
        ),
    ],
)
def test_a_wrong_scheduler_ends_the_run_with_one_line(
    tmp_path: Path, bodies: dict[str, str], expected: str
) -> None:
    body = SCHEDULER.format(**{"allocate": "pass", "served": "pass", **bodies})
    said = complaint(tmp_path, CELL, "mac.scheduler", body)
    assert re.sub("list of [1-9][0-9]*", "list of {}", said) == expected


def test_the_attributes_of_a_scheduler_are_checked(tmp_path: Path) -> None:
    body = SCHEDULER.format(allocate="pass", served="pass").replace(
        "self.before = None", "self.link_adaptation = 3"
    )
    assert complaint(tmp_path, CELL, "mac.scheduler", body) == (
        "mine.py: Mine.__init__: link_adaptation is 3; it must be 'wideband' or 'subband'"
    )


def test_threads_do_not_change_the_results_of_cells_with_classes() -> None:
    text = CELL.replace("[[site]]", "[[site]]\nsectors = 3\nrings = 1").replace("count = 3", "count = 30")
    scenario = Scenario.from_toml(text, allow_code=True).with_(
        {"mac.scheduler": named("ProportionalFair"), "rlc.queue": named("DropTail")}, duration="300ms"
    )
    assert scenario.run(threads=2).outcome == scenario.run().outcome
    wrong = scenario.with_({"mac.scheduler": named("ProportionalFair", window=0.0)})
    with pytest.raises(ScenarioError, match=r"rebuilt.py:\d+: ProportionalFair.__init__: ZeroDivisionError"):
        wrong.run(threads=2)


# Handover algorithms.


@pytest.mark.parametrize(
    ("built_in", "rebuilt"),
    [
        ("a3-rsrp", named("A3Rsrp")),
        (
            {"kind": "a3-rsrp", "hysteresis": "1dB", "time_to_trigger": "100ms"},
            named("A3Rsrp", hysteresis_db=1.0, time_to_trigger_s=0.1),
        ),
        ("a2-a4-rsrq", named("A2A4Rsrq")),
    ],
)
def test_a_handover_algorithm_equals_the_built_in_one(
    built_in: object, rebuilt: Mapping[str, object]
) -> None:
    ours = json.loads(assert_same(MOVING, "handover.algorithm", built_in, rebuilt))
    assert sum(ue["handovers"] for ue in ours["ues"]) > 0


HANDOVER = """import math
import airwnd


class Mine(airwnd.HandoverAlgorithm):
    def events(self) -> list[airwnd.HandoverEvent]:
        {events}
        return [airwnd.HandoverEvent("a3", 1.0)]

    def target(self, report: airwnd.HandoverReport) -> int | None:
        {target}
        return report.neighbours[0].cell
"""
CELLS = "it must return the number of a cell, 0 to 1, or None"


@pytest.mark.parametrize(
    ("bodies", "expected"),
    [
        ({"target": "1 / 0"}, "mine.py:11: Mine.target: ZeroDivisionError: division by zero"),
        ({"target": "return 2"}, f"mine.py: Mine.target: returns 2; {CELLS}"),
        ({"target": "return -1"}, f"mine.py: Mine.target: returns -1; {CELLS}"),
        ({"target": "return 10**30"}, f"mine.py: Mine.target: returns 1{'0' * 30}; {CELLS}"),
        ({"target": "return math.nan"}, f"mine.py: Mine.target: returns nan; {CELLS}"),
        ({"target": "return True"}, f"mine.py: Mine.target: returns True; {CELLS}"),
        (
            {"target": "return report.serving"},
            f"mine.py: Mine.target: returns <CellMeasurement of cell 0: {{}}; {CELLS}",
        ),
        (
            {"events": "return 3"},
            "mine.py: Mine.events: returns 3; it must return a list of at most 32 airwnd.HandoverEvent",
        ),
        (
            {"events": "return [airwnd.HandoverEvent('a5', 0.0)]"},
            'mine.py:7: Mine.events: ValueError: event is "a5"; allowed: a2, a3, a4',
        ),
        (
            {"events": "return [airwnd.HandoverEvent('a3', math.nan)]"},
            "mine.py:7: Mine.events: ValueError: threshold is NaN; allowed: -200 to 100",
        ),
        (
            {"events": "return [airwnd.HandoverEvent('a3', 1.0, interval_s=0.0)]"},
            "mine.py:7: Mine.events: ValueError: interval_s is 0; allowed: 0.12 to 3600",
        ),
    ],
)
def test_a_wrong_handover_algorithm_ends_the_run_with_one_line(
    tmp_path: Path, bodies: dict[str, str], expected: str
) -> None:
    body = HANDOVER.format(**{"events": "pass", "target": "pass", **bodies})
    said = complaint(tmp_path, MOVING, "handover.algorithm", body)
    assert re.sub(r"cell \d: [^>]*>", "cell 0: {}", said) == expected


# Traffic sources.


@pytest.mark.parametrize(
    ("changes", "built_in", "rebuilt"),
    [
        ({}, {"kind": "cbr", "rate": "3Mbps"}, named("Cbr", transport="udp", rate_bps=3_000_000)),
        (
            {"flow[0].arrivals": {"kind": "poisson", "rate": 2.0}},
            {"kind": "transfer", "size": "200kB"},
            named("Transfer", ends=True, size_bytes=200_000),
        ),
    ],
)
def test_a_source_equals_the_built_in_one(
    changes: dict[str, object], built_in: dict[str, object], rebuilt: Mapping[str, object]
) -> None:
    for text in (WIRE, CELL):
        base = Scenario.from_toml(text, allow_code=True)
        ours, ours_series = results(base.with_({"flow[0].traffic": built_in, **changes}), "seed", 1)
        theirs, theirs_series = results(base.with_({"flow[0].traffic": rebuilt, **changes}), "seed", 1)
        assert theirs == ours.replace(f'"{built_in["kind"]}"', '"python"')
        assert theirs_series.equals(ours_series)
        assert json.loads(ours)["totals"]["goodput_kbps"] > 100


SOURCE = """import math
import airwnd


class Mine(airwnd.TrafficSource):
    def write(self, now_s: float) -> tuple[int, float | None]:
        {write}
        return 1000, 0.1
"""


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("1 / 0", "mine.py:7: Mine.write: ZeroDivisionError: division by zero"),
        *(
            (
                f"return {answer}",
                f"mine.py: Mine.write: returns {shown or answer}; it must return a number of bytes, ",
            )
            for answer, shown in {
                "None": "",
                "7": "",
                "(-1, 0.1)": "",
                "(1.5, 0.1)": "",
                "(True, 0.1)": "",
                "(70000, 0.1)": "",
                "(2**70, 0.1)": "(1180591620717411303424, 0.1)",
                "(1000, 0.0)": "",
                "(1000, -1.0)": "",
                "(1000, math.nan)": "(1000, nan)",
                "(1000, math.inf)": "(1000, inf)",
                "(1000, 'soon')": "",
                "(1, 2, 3)": "",
            }.items()
        ),
    ],
)
def test_a_wrong_source_ends_the_run_with_one_line(tmp_path: Path, answer: str, expected: str) -> None:
    body = SOURCE.format(write=answer)
    said = complaint(tmp_path, WIRE, "flow[0].traffic", body, transport="udp")
    assert said.startswith(expected)
    if "must return" in expected:
        assert said.endswith("0 to 65507, and the seconds to the next write, 1e-6 to 1e9, or None")


def test_a_source_ends_its_flow(tmp_path: Path) -> None:
    body = SOURCE.format(write="return (2000, None) if now_s > 1 else (0, 0.3)")
    (tmp_path / "mine.py").write_text(body, encoding="utf-8")
    for transport in ("tcp", "udp"):
        traffic = {"kind": "python", "class": "mine.py:Mine", "transport": transport}
        scenario = Scenario.from_toml(WIRE, str(tmp_path / "s"), allow_code=True)
        run = scenario.with_({"flow[0].traffic": traffic, "warmup": "0s"}).run()
        rates = [flow["goodput_kbps"] for flow in run.outcome["flows"]]
        assert rates == pytest.approx([0.8, 0.8])  # 2000 B in 20 s


def test_the_scenario_says_whether_flows_end(tmp_path: Path) -> None:
    body = SOURCE.format(write="pass")
    (tmp_path / "mine.py").write_text(body, encoding="utf-8")
    scenario = Scenario.from_toml(WIRE, str(tmp_path / "s"), allow_code=True)
    mine = {"kind": "python", "class": "mine.py:Mine"}
    with pytest.raises(ScenarioError, match="flows of `python` never complete"):
        scenario.with_({"flow[0].traffic": mine, "flow[0].arrivals": {"kind": "poisson", "rate": 1.0}})


# Documentation.


@pytest.mark.parametrize(
    ("label", "key", "value"),
    [
        ("`drwa`", "flow[0].rwnd", "drwa"),
        ("Level, 100 ms", "flow[0].rwnd", {"kind": "python", "class": "level.py:Level", "target_s": 0.1}),
        ("Level, 50 ms", "flow[0].rwnd", {"kind": "python", "class": "level.py:Level"}),
        ("drop-tail, 1 MB", "rlc.queue", {"kind": "drop-tail", "buffer": "1MB"}),
        ("CoDel", "rlc.queue", "codel"),
        ("Fresh, 100 ms", "rlc.queue", {"kind": "python", "class": "fresh.py:Fresh"}),
        ("Fresh, 50 ms", "rlc.queue", {"kind": "python", "class": "fresh.py:Fresh", "limit_s": 0.05}),
    ],
)
def test_the_guide_has_the_results_of_its_classes(label: str, key: str, value: object) -> None:
    guide = (ROOT / "docs" / "how-to" / "write-a-plugin.md").read_text(encoding="utf-8")
    scenario = Scenario.load(ROOT / "examples" / "python-plugin" / "scenario.toml", allow_code=True)
    totals = scenario.with_({"flow[0].cc": "cubic", key: value}).run().totals
    assert (
        f"| {label} | {totals['throughput_kbps']:,.0f} kbit/s | {totals['delay_ms_mean']:.1f} ms |" in guide
    )


@pytest.mark.parametrize(
    ("label", "target_s"),
    [("CUBIC", None), ("Gentle, 100 ms", 0.1), ("Gentle, 50 ms", 0.05), ("Gentle, 20 ms", 0.02)],
)
def test_the_guide_has_the_noise_of_the_rtt(label: str, target_s: float | None) -> None:
    guide = (ROOT / "docs" / "how-to" / "write-a-plugin.md").read_text(encoding="utf-8")
    text = guide.split("`idle.toml`, one UE:", 1)[1].split("```toml", 1)[1].split("```", 1)[0]
    folder = ROOT / "examples" / "python-plugin"
    gentle = {"kind": "python", "class": "gentle.py:Gentle", "target_s": target_s}
    scenario = Scenario.from_toml(text, str(folder / "idle.toml"), allow_code=True)
    run = scenario.with_({"flow[0].cc": gentle if target_s else "cubic"}).run(seed=1)
    flow = run.flows.row(0, named=True)
    delays = [f"{flow[column]:.0f} ms" for column in ("delay_ms_mean", "rtt_ms_mean", "rtt_ms_p95")]
    assert " | ".join([f"| {label}", f"{flow['goodput_kbps'] / 1e3:.1f} Mbit/s", *delays]) in guide


@pytest.mark.parametrize(
    ("label", "value"),
    [
        ("maximum throughput (`mt`)", "mt"),
        ("proportional fair (`pf`)", "pf"),
        ("Fair, exponent 1", {"kind": "python", "class": "fair.py:Fair", "exponent": 1.0}),
        *(
            nightly(f"Fair, exponent {each:g}", {"kind": "python", "class": "fair.py:Fair", "exponent": each})
            for each in (0.5, 2.0)
        ),
    ],
)
def test_the_guide_has_the_results_of_its_scheduler(label: str, value: object) -> None:
    guide = (ROOT / "docs" / "how-to" / "write-a-plugin.md").read_text(encoding="utf-8")
    scenario = Scenario.load(ROOT / "examples" / "python-plugin" / "scenario.toml", allow_code=True)
    far = {"flow[0].cc": "cubic", "ue[0].placement": {"kind": "disc", "radius": "900m"}}
    run = scenario.with_({**far, "mac.scheduler": value}).run()
    rates = [flow["goodput_kbps"] for flow in run.outcome["flows"]]
    jain = sum(rates) ** 2 / len(rates) / sum(rate**2 for rate in rates)
    assert f"| {label} | {run.totals['throughput_kbps']:,.0f} kbit/s | {jain:.2f} |" in guide


def test_the_other_examples_run() -> None:
    patient = {"kind": "python", "class": f"{ROOT}/examples/python-plugin/patient.py:Patient", "wait_s": 3.0}
    run = Scenario.from_toml(MOVING, allow_code=True).with_({"handover.algorithm": patient}).run()
    assert sum(ue["handovers"] for ue in run.outcome["ues"]) > 0
    game = {"kind": "python", "class": f"{ROOT}/examples/python-plugin/game.py:Game", "transport": "udp"}
    scenario = Scenario.from_toml(CELL, allow_code=True).with_({"flow[0].traffic": game})
    totals = [scenario.run(seed=seed).totals["goodput_kbps"] for seed in (1, 1, 2)]
    assert totals[0] == totals[1] != totals[2]
