"""Simulations in steps, and the environments that learn on them."""

import json
import math
import re
import subprocess
import sys
import textwrap
import threading
import warnings
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from polars.testing import assert_frame_equal

import airwnd
from airwnd import InputError, Scenario, ScenarioError, Session
from airwnd.study.environment import TASKS, Environment, Step, log_utility

from .conftest import ROOT, SMALL

WIRE = {
    "name": "wire",
    "duration": "2s",
    "link": [{"rate": "10Mbps", "delay": "20ms", "queue": 1000}],
    "ue": [{}],
    "flow": [
        {"id": "tcp", "cc": "fixed", "rwnd": "fixed"},
        {"id": "udp", "traffic": "cbr", "start": "1s"},
    ],
}

CELL = {
    "name": "cell",
    "duration": "1s",
    "mac": {"scheduler": "pf"},
    "site": [{}],
    "ue": [{"count": 2, "placement": {"kind": "ring", "radius": "200m"}}],
    "flow": [{"id": "down"}],
}


def wire() -> Scenario:
    return Scenario.from_dict(WIRE)


def test_steps_have_the_tables_of_a_run(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    scenario = Scenario.load(tmp_path / "small.toml")
    run = scenario.run(3, series="100ms")
    session = Session(scenario, 3, series="100ms")
    assert session.time_s < 0, "the warm-up"
    while session.time_s < 1:
        session.advance(min(0.13, 1 - session.time_s))
        session.read_flows(), session.read_ues()
    steps = session.finish()
    assert steps.outcome == run.outcome
    for table in ("flows", "series", "events"):
        assert_frame_equal(getattr(steps, table), getattr(run, table))


def test_properties_agree_with_the_tables_of_all_flows() -> None:
    session = Session(wire())
    session.advance(2)
    table = session.read_flows()
    for number, flow in enumerate(session.flows):
        for name, values in table.items():
            value = getattr(flow, name)
            assert math.isnan(values[number]) if value is None else values[number] == value, name
    (ue,) = session.ues
    assert (ue.cell, ue.sinr_db, session.read_ues()["queue_packets"][0]) == (None, None, ue.queue_packets)
    assert session.flow("udp-0").cwnd_bytes is None
    assert session.flow("tcp-0").goodput_bytes > 0


def test_a_controller_outside_the_engine_steers() -> None:
    session = Session(wire())
    tcp, udp = session.flows
    session.advance(-session.time_s)
    tcp.set_cwnd(np.float64(50_000))
    tcp.set_pacing_rate(2e6)
    session.advance(1.5)
    assert tcp.cwnd_bytes == 50_000
    assert tcp.pacing_rate_bps == 2_000_000
    assert tcp.goodput_bytes == pytest.approx(2e6 / 8 * 1.5, rel=0.06)
    tcp.set_pacing_rate(None)
    offered = tcp.rwnd_bytes
    tcp.set_rwnd(5_000)
    udp.set_rate(64_000)
    before = udp.packets_sent
    session.advance(0.5)
    assert udp.packets_sent - before == pytest.approx(4, abs=1)
    assert offered is not None
    assert tcp.rwnd_bytes is not None
    assert tcp.rwnd_bytes < offered - 100_000, "what was offered is used up, not taken back"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.advance(-1), "by_s must be a number of seconds, at least 0, not -1"),
        (lambda s: s.advance(math.nan), "by_s must be a number of seconds, at least 0, not NaN"),
        (lambda s: s.advance(math.inf), "by_s must be a number of seconds, at least 0, not inf"),
        (lambda s: s.flow("tcp"), "name: there is no flow tcp; flows are tcp-0, udp-0"),
        (lambda s: s.flows[0].set_cwnd(0), "cwnd_bytes must be a number of bytes, at least 1, not 0"),
        (lambda s: s.flows[0].set_rwnd(1e30), "rwnd_bytes must be a number of bytes"),
        (lambda s: s.flows[1].set_cwnd(1), "flow udp-0 has no TCP connection at this time"),
        (lambda s: s.flows[0].set_rate(1), "flow tcp-0: its source has no rate; set traffic to cbr"),
        (lambda s: s.ues[0].set_weight(0), "weight must be a number from 1e-6 to 1e6, not 0"),
        (lambda s: s.ues[0].set_weight(2), "UEs have no weights: set mac.scheduler to pf"),
        (lambda s: s.ues[0].set_shaper(0, None), "down_bps must be a number of bits per second, at least 1"),
        (lambda s: s.ues[0].set_shaper(None, 1e6), "UE 0 has no shapers that take rates"),
    ],
)
def test_a_wrong_call_has_one_line(call: object, message: str) -> None:
    session = Session(wire())
    session.advance(-session.time_s)
    with pytest.raises((InputError, ScenarioError)) as raised:
        call(session)  # type: ignore[operator]
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
    session.advance(0.1)


def test_a_finished_session_says_so() -> None:
    session = Session(wire())
    session.advance(1)
    flow = session.flows[0]
    session.finish()
    for call in (session.finish, lambda: session.advance(1), lambda: flow.cwnd_bytes):
        with pytest.raises(InputError, match="the session is finished"):
            call()


def test_wrong_arguments_have_one_line() -> None:
    for arguments, message in (
        ({"seed": -1}, "seed: expected"),
        ({"series": "10"}, "series: "),
        ({"max_memory": 0}, "max_memory: expected"),
    ):
        with pytest.raises(InputError, match=message):
            Session(wire(), **arguments)
    with pytest.raises(InputError, match="scenario: expected a scenario"):
        Session("wire.toml")  # type: ignore[arg-type]


def test_sessions_in_threads_are_those_of_one_thread() -> None:
    def figures(seed: int) -> object:
        session = Session(Scenario.from_dict(CELL), seed)
        while session.advance(0.01) < 1:
            session.flows[0].set_cwnd(20_000 + 1_000 * seed)
        return session.finish().outcome["flows"]

    found: dict[int, object] = {}
    threads = [
        threading.Thread(target=lambda seed=seed: found.update({seed: figures(seed)})) for seed in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {seed: figures(seed) for seed in range(4)}


def test_a_failing_plugin_ends_the_session_in_one_line(tmp_path: Path) -> None:
    source = """
        import random
        import airwnd

        class Breaks(airwnd.CongestionControl):
            def on_ack(self, ack):
                raise RuntimeError("no more")

            def on_congestion(self, event):
                pass
    """
    (tmp_path / "cc.py").write_text(textwrap.dedent(source))
    scenario = Scenario.from_dict(
        {**WIRE, "flow": [{"cc": {"kind": "python", "class": f"{tmp_path}/cc.py:Breaks"}}]}, allow_code=True
    )
    session = Session(scenario)
    for _ in range(2):
        with pytest.raises(ScenarioError, match="RuntimeError: no more") as raised:
            session.advance(2)
        assert "\n" not in str(raised.value)


def test_python_controls_know_their_seed_flow_and_ue() -> None:
    connections: list[airwnd.Connection] = []

    class Noting(airwnd.CongestionControl):
        def __init__(self, connection: airwnd.Connection) -> None:
            super().__init__(connection)
            connections.append(connection)

        def on_ack(self, ack: airwnd.Ack) -> None:
            pass

        def on_congestion(self, event: airwnd.Congestion) -> None:
            pass

    airwnd.register(Noting)
    flows = [{"count": 2, "cc": {"kind": "python", "class": "Noting"}}]
    scenario = Scenario.from_dict({**CELL, "duration": "100ms", "flow": flows})
    seeds: dict[int, dict[tuple[int, int], int]] = {}
    for seed in (1, 1, 2):
        connections.clear()
        scenario.run(seed)
        last = {(each.flow, each.ue): each.seed for each in connections}
        assert sorted(last) == [(0, 0), (1, 0), (2, 1), (3, 1)]
        assert len(set(last.values())) == 4
        assert seeds.setdefault(seed, last) == last
    assert not set(seeds[1].values()) & set(seeds[2].values())


@pytest.mark.parametrize("task", TASKS)
def test_gymnasium_accepts_the_environment(task: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(Environment(CELL, task), skip_render_check=True)


@pytest.mark.parametrize("task", TASKS)
def test_the_same_actions_have_the_same_episode(task: str) -> None:
    def episode(seed: int) -> list[object]:
        env = Environment(CELL, task, step_s=0.05)
        seen: list[object] = [env.reset(seed=seed)[0].tolist()]
        rng = np.random.default_rng(1)
        is_over = False
        while not is_over:
            observation, reward, _, is_over, info = env.step(rng.uniform(-1, 1, 2).astype(np.float32))
            assert env.observation_space.contains(observation)
            seen += [observation.tolist(), reward]
        assert info["time_s"] == pytest.approx(1)
        assert len(seen) == 1 + 2 * 20
        return [*seen, env.results().totals["goodput_kbps"]]

    assert episode(1) == episode(1)
    assert episode(1) != episode(2)


def test_the_window_of_the_agent_is_that_of_the_flow() -> None:
    for task, key in (("sender", "cc"), ("receiver", "rwnd")):
        env = Environment(WIRE, task)
        assert env.scenario.resolved["flow"][0][key]["kind"] == "fixed"
        env.reset(seed=1)
        for _ in range(3):
            env.step(np.ones(1, np.float32))
        flow = env.session.flow("tcp-0")
        window = flow.cwnd_bytes if task == "sender" else flow.rwnd_bytes
        assert window == pytest.approx(8 * 14_480, rel=0.02), task


def test_the_rate_of_a_shorter_last_step_is_that_of_its_length() -> None:
    env = Environment(WIRE, flows=["tcp"], step_s=0.75)
    env.reset(seed=1)
    rates = []
    is_over = False
    while not is_over:
        *_, is_over, info = env.step(np.full(1, 0.5, np.float32))
        rates.append(float(info["goodput_bps"][0]))
    goodput = 8 * env.session.flow("tcp-0").goodput_bytes
    # 0.75 s, 0.75 s and 0.5 s.
    assert sum(rate * length for rate, length in zip(rates, (0.75, 0.75, 0.5), strict=True)) == pytest.approx(
        goodput
    )


def test_a_weight_moves_goodput_between_ues() -> None:
    goodput = {}
    for action in ([1, -1], [-1, 1]):
        env = Environment(CELL, "scheduler")
        env.reset(seed=1)
        for _ in range(10):
            *_, info = env.step(np.array(action, np.float32))
        goodput[tuple(action)] = info["goodput_bps"]
    assert goodput[1, -1][0] > 3 * goodput[1, -1][1]
    assert goodput[-1, 1][1] > 3 * goodput[-1, 1][0]


def test_the_reward_is_that_of_its_definition() -> None:
    step = Step(np.array([True, False]), np.array([1e6, 5e6]), np.array([0.1, 0.0]), np.zeros(2))
    assert log_utility(step) == pytest.approx(math.log(1.01) - 1)
    env = Environment(WIRE, reward=lambda step: float(step.loss.sum()))
    env.reset(seed=1)
    assert env.step(np.zeros(1, np.float32))[1] == 0


def test_wrong_arguments_of_an_environment_have_one_line() -> None:
    for call, message in (
        (lambda: Environment(WIRE, "driver"), "task: expected one of sender, receiver, scheduler"),
        (lambda: Environment(WIRE, flows=["udp"]), "there is no TCP flow udp; those of the scenario: tcp"),
        (lambda: Environment(WIRE, step_s=0), "step_s: expected a number of seconds"),
        (lambda: Environment(WIRE, "scheduler"), "UEs have no weights"),
        (lambda: Environment(WIRE).step(np.zeros(3, np.float32)), "action: expected 1 numbers"),
        (lambda: Environment(WIRE).step(np.array([math.nan], np.float32)), "action: expected 1 numbers"),
    ):
        with pytest.raises((InputError, ScenarioError), match=message) as raised:
            call()
        assert "\n" not in str(raised.value)
    env = Environment(WIRE)
    env.close()
    with pytest.raises(InputError, match="call reset"):
        env.step(np.zeros(1, np.float32))


def test_the_environments_are_registered() -> None:
    for task in TASKS:
        env = gymnasium.make(f"airwnd.study.environment:airwnd/{task.capitalize()}-v0", step_s=0.5)
        _, info = env.reset(seed=1, options={"seed": 7})
        assert info["seed"] == 7
        env.close()


def test_without_gymnasium_the_extra_is_named() -> None:
    code = "import sys; sys.modules['gymnasium'] = None; import airwnd.study.environment"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "InputError: gymnasium is not installed: pip install 'airwnd[gym]'" in done.stderr


def _example(name: str) -> Path:
    return ROOT / "examples" / "learned-control" / name


def test_the_learned_control_keeps_what_its_guide_says() -> None:
    scenario = Scenario.load(_example("cell.toml"), allow_code=True).with_(duration="10s")
    runs = {
        cc: scenario.with_({"flow[0].cc": cc} if cc != "learned" else {}).run(1).totals
        for cc in ("learned", "cubic")
    }
    assert runs["learned"]["goodput_kbps"] > 0.85 * runs["cubic"]["goodput_kbps"]
    assert runs["learned"]["delay_ms_mean"] < 0.15 * runs["cubic"]["delay_ms_mean"]


def test_the_training_writes_a_policy(tmp_path: Path) -> None:
    source = _example("train.py").read_text()
    for name, value in (("GENERATIONS", 2), ("CANDIDATES", 4), ("ELITE", 2)):
        source = re.sub(rf"^{name} = \d+$", f"{name} = {value}", source, count=1, flags=re.MULTILINE)
    (tmp_path / "train.py").write_text(source.replace('"10s"', '"1s"'))
    done = subprocess.run([sys.executable, tmp_path / "train.py"], capture_output=True, text=True, check=True)
    assert done.stdout.count("elite's mean") == 2
    policy = json.loads((tmp_path / "policy.json").read_text())
    assert len(policy) == len(json.loads(_example("policy.json").read_text())) == 6
    assert policy != [0] * 6
