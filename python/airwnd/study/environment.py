"""Gymnasium environment: an agent sets the windows of flows, or the weights of UEs in the scheduler."""

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from airwnd import _native
from airwnd.scenario.scenario import Scenario
from airwnd.scenario.session import Session
from airwnd.support.arguments import CALLABLE, NONE, SEVERAL, Kind, checked, instances
from airwnd.support.errors import InputError
from airwnd.vocabulary.transport import is_udp

try:
    import gymnasium
except ImportError:
    raise InputError("gymnasium is not installed: pip install 'airwnd[gym]'") from None

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from airwnd.scenario.run import Run

    Values = NDArray[np.float64]
    Observation = NDArray[np.float32]

TASKS = ("sender", "receiver", "scheduler")
"""Quantity that an action sets: cwnd, the receive window, or the weights of UEs in the downlink scheduler."""

_WINDOWS = (3000.0, float(1 << 26))
"""Minimum and maximum of a window in bytes: two segments; 18 times 300 Mbit/s times 100 ms."""

_WALKING = {
    "name": "walking",
    "duration": "20s",
    "radio": {"fading": "epa"},
    "mac": {"scheduler": "pf"},
    "site": [{}],
    "ue": [{"count": 2, "placement": {"kind": "disc", "radius": "400m"}}],
    "flow": [{"id": "download"}],
}

_MIN_STEP_S = 1e-3
_NANOSECOND = 1e-9


@dataclass(frozen=True, slots=True)
class Step:
    """Outcome of a step, as a reward function receives it.

    Attributes
    ----------
    is_active
        Whether the flow or UE has transferred data in the step, or has had data to transfer.
    goodput_bps
        Goodput of each controlled flow, or of the flows of each UE.
    queueing_delay_s
        Mean one-way delay in the step above the minimum so far, by flow; zero in the task ``"scheduler"``.
    loss
        Share of the packets sent in the step that were dropped, by flow; zero in the task ``"scheduler"``.
    """

    is_active: "NDArray[np.bool_]"
    goodput_bps: "Values"
    queueing_delay_s: "Values"
    loss: "Values"


def log_utility(step: Step) -> float:
    """Return the mean over active flows or UEs of ln(goodput in Mbit/s + 0.01) - queueing delay / 100 ms.

    The logarithm makes it proportionally fair; 100 ms of queueing delay cost as much as a factor e of
    goodput.
    """
    if not step.is_active.any():
        return 0.0
    utility = np.log(step.goodput_bps / 1e6 + 0.01) - step.queueing_delay_s / 0.1
    return float(utility[step.is_active].mean())


class Environment(gymnasium.Env["Observation", "Observation"]):
    """A :class:`airwnd.Session` as an environment of Gymnasium, for reinforcement learning.

    An episode begins at the end of the warm-up and is truncated at the end of the scenario. Each step sets
    what the action says and advances the session by `step_s`. Actions and observations are arrays with a row
    per controlled flow or UE:

    ``"sender"``, ``"receiver"``
        An action of -1 to 1 multiplies cwnd, or the receive window, by two to its power, between 3 kB and
        64 MiB. An observation, 0 to 1, has log2(1 + goodput / 100 kbit/s) / 12, RTTmin / SRTT (0: no
        sample), the retransmitted share of the packets sent in the step, half the bytes in flight in
        windows, and log2(window / 1 kB) / 16.
    ``"scheduler"``
        An action of -1 to 1 sets the weight of a UE to ten to its power. An observation, 0 to 1, has log2(1 +
        backlog / 1 kB) / 16, the SINR from -10 to 40 dB, log2(1 + goodput / 100 kbit/s) / 12, and the last
        action from -1 to 1.

    The seed of :meth:`reset` determines those of all episodes from then on. The same seed and actions have
    the same observations and rewards on any machine.

    Importing this module registers ``airwnd/Sender-v0``, ``airwnd/Receiver-v0`` and
    ``airwnd/Scheduler-v0`` with Gymnasium.

    Parameters
    ----------
    scenario
        The scenario, or a dictionary with its content; ``None``: two UEs at walking speed in an LTE cell,
        each with a download. Its controlled flows get ``cc = "fixed"`` or ``rwnd = "fixed"``. The task
        ``"scheduler"`` needs a scheduler with weights, such as ``pf``.
    task
        ``"sender"``, ``"receiver"`` or ``"scheduler"``.
    flows
        Ids of the ``[[flow]]`` sections that the agent controls, in the first two tasks; empty: all with TCP.
    step_s
        Length of a step in seconds, at least 0.001.
    reward
        Reward of a step, from its :class:`Step`.

    Raises
    ------
    InputError
        If gymnasium is not installed, or an argument is not allowed.
    ScenarioError
        If the scenario cannot be run, or its scheduler has no weights.

    Examples
    --------
    >>> from airwnd.study.environment import Environment
    >>> env = Environment(task="receiver", step_s=0.1)
    >>> observation, info = env.reset(seed=1)
    >>> observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
    >>> observation.shape, terminated, truncated, round(info["time_s"], 6)
    ((2, 5), False, False, 0.1)
    """

    @checked(
        scenario=instances("a scenario or its dictionary", Scenario, dict) | NONE,
        task=Kind(f"one of {', '.join(TASKS)}", lambda task: task in TASKS),
        flows=SEVERAL,
        step_s=Kind("a number of seconds, at least 0.001", lambda step_s: _MIN_STEP_S <= step_s < np.inf),
        reward=CALLABLE,
    )
    def __init__(
        self,
        scenario: Scenario | dict[str, Any] | None = None,
        task: str = "sender",
        *,
        flows: Sequence[str] = (),
        step_s: float = 0.1,
        reward: Callable[[Step], float] = log_utility,
    ) -> None:
        if not isinstance(scenario, Scenario):
            scenario = Scenario.from_dict(_WALKING if scenario is None else scenario)
        if task == "scheduler":
            controlled = {}
        else:
            controlled = _controlled(scenario, flows)
            key = "cc" if task == "sender" else "rwnd"
            scenario = scenario.with_({f"flow[{index}].{key}": "fixed" for index in controlled.values()})
        self.scenario, self.task, self.step_s, self.reward = scenario, task, step_s, reward
        self._controlled = frozenset(controlled)
        self._end_s = _native.parse_span(scenario.resolved["duration"]) / 1e9
        self._agent: _Windows | _Weights | None = None
        shape = self._begin(scenario.seed).observation.shape
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, shape[:1], np.float32)
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, shape, np.float32)

    def _begin(self, seed: int) -> "_Windows | _Weights":
        session = Session(self.scenario, seed)
        session.advance(-session.time_s)
        if self.task == "scheduler":
            self._agent = _Weights(session)
        else:
            self._agent = _Windows(session, self._controlled, is_sender=self.task == "sender")
        return self._agent

    def _acting(self) -> "_Windows | _Weights":
        if self._agent is None:
            raise InputError("the episode has ended: call reset()")
        return self._agent

    @property
    def session(self) -> Session:
        """The session of the episode, to read more than the observation."""
        return self._acting().session

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> "tuple[Observation, dict[str, Any]]":
        """Begin an episode.

        Parameters
        ----------
        seed
            Seed of the generator that draws the seeds of episodes; ``None``: it goes on.
        options
            ``{"seed": 7}`` sets the seed of the simulation of this episode.

        Returns
        -------
        tuple
            Observation, and a dictionary with ``time_s`` and the ``seed`` of the simulation.
        """
        super().reset(seed=seed)
        drawn = int(self.np_random.integers(2**31))
        agent = self._begin((options or {}).get("seed", drawn))
        return agent.observation, {"time_s": agent.session.time_s, "seed": agent.session.seed}

    def step(self, action: "Observation") -> "tuple[Observation, float, bool, bool, dict[str, Any]]":
        """Set what the action says, and advance the session by a step.

        Parameters
        ----------
        action
            A number per controlled flow or UE, limited to -1 to 1.

        Returns
        -------
        tuple
            Observation, reward, ``False`` (there is no terminal state), whether the scenario has ended, and a
            dictionary with ``time_s``, ``goodput_bps`` and ``queueing_delay_s``.
        """
        agent = self._acting()
        values = np.asarray(action, np.float64)
        rows = len(agent.observation)
        if values.shape != (rows,) or np.isnan(values).any():
            raise InputError(f"action: expected {rows} numbers, found {action}")
        agent.act(np.clip(values, -1.0, 1.0))
        before_s = agent.session.time_s
        time_s = agent.session.advance(max(min(self.step_s, self._end_s - before_s), 0.0))
        # The last step may be shorter; after the end there is none.
        step = agent.observe(max(time_s - before_s, _NANOSECOND))
        info = {"time_s": time_s, "goodput_bps": step.goodput_bps, "queueing_delay_s": step.queueing_delay_s}
        is_over = time_s >= self._end_s - _NANOSECOND
        return agent.observation, float(self.reward(step)), False, is_over, info

    def results(self) -> "Run":
        """End the episode and return its results.

        Returns
        -------
        Run
            Results up to now, with all tables of a run.
        """
        session, self._agent = self.session, None
        return session.finish()

    def close(self) -> None:
        """Drop the session."""
        self._agent = None


class _Windows:
    """Windows of flows, as actions and observations."""

    def __init__(self, session: Session, groups: Container[str], *, is_sender: bool) -> None:
        self.session = session
        numbers = [n for n, flow in enumerate(session.flows) if flow.id.rpartition("-")[0] in groups]
        self._numbers = np.array(numbers, dtype=np.intp)
        flows = [session.flows[number] for number in numbers]
        self._set = [flow.set_cwnd if is_sender else flow.set_rwnd for flow in flows]
        self._windows = np.full(len(flows), 10 * 1448.0)
        self._min_delay_s = np.full(len(flows), np.inf)
        self._now = self._read()
        self.act(np.zeros(len(flows)))
        self.observe(1.0)

    def _read(self) -> "dict[str, Values]":
        return {name: values[self._numbers] for name, values in self.session.read_flows().items()}

    def act(self, action: "Values") -> None:
        self._windows = np.clip(self._windows * 2.0**action, *_WINDOWS)
        # A flow that has not started, or is over, has no window to set.
        has_connection = ~np.isnan(self._now["cwnd_bytes"])
        for index in np.flatnonzero(has_connection):
            self._set[index](float(self._windows[index]))

    def observe(self, step_s: float) -> Step:
        before, now = self._now, self._read()
        self._now = now
        grown = {name: now[name] - before[name] for name in now}
        goodput_bps = grown["goodput_bytes"] * 8 / step_s
        sent = np.maximum(grown["packets_sent"], 1)
        received = grown["packets_received"]
        none = np.full(len(sent), np.nan)
        delay_s = np.divide(grown["delay_sum_s"], received, where=received > 0, out=none)
        self._min_delay_s = np.fmin(self._min_delay_s, delay_s)
        has_rtt = ~np.isnan(now["srtt_s"])
        self.observation = _observation(
            _rate(goodput_bps),
            np.divide(now["min_rtt_s"], now["srtt_s"], where=has_rtt, out=np.zeros(len(sent))),
            grown["retransmissions"] / sent,
            np.nan_to_num(now["in_flight_bytes"]) / self._windows / 2,
            np.log2(self._windows / 1e3) / 16,
        )
        return Step(
            is_active=(now["is_active"] > 0) | (received > 0),
            goodput_bps=goodput_bps,
            queueing_delay_s=np.nan_to_num(delay_s - self._min_delay_s),
            loss=grown["packets_dropped"] / sent,
        )


class _Weights:
    """Weights of UEs in the downlink scheduler, as actions and observations."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._ue_of = np.array([flow.ue for flow in session.flows], dtype=np.intp)
        self._goodput_bytes = self._read()
        self.act(np.zeros(len(session.ues)))
        self.observe(1.0)

    def _read(self) -> "Values":
        goodput = self.session.read_flows()["goodput_bytes"]
        return np.bincount(self._ue_of, goodput, len(self.session.ues)).astype(np.float64)

    def act(self, action: "Values") -> None:
        self._action = action
        for ue, weight in zip(self.session.ues, 10.0**action, strict=True):
            ue.set_weight(float(weight))

    def observe(self, step_s: float) -> Step:
        before, self._goodput_bytes = self._goodput_bytes, self._read()
        goodput_bps = (self._goodput_bytes - before) * 8 / step_s
        ues = self.session.read_ues()
        self.observation = _observation(
            np.log2(1 + ues["queue_bytes"] / 1e3) / 16,
            (np.nan_to_num(ues["sinr_db"], nan=-10.0) + 10) / 50,
            _rate(goodput_bps),
            (self._action + 1) / 2,
        )
        nothing = np.zeros(len(goodput_bps))
        return Step((goodput_bps > 0) | (ues["queue_bytes"] > 0), goodput_bps, nothing, nothing)


def _rate(bps: "Values") -> "Values":
    return np.log2(1 + bps / 1e5) / 12


def _observation(*columns: "Values") -> "Observation":
    return np.clip(np.stack(columns, axis=1), 0.0, 1.0).astype(np.float32)


def _controlled(scenario: Scenario, flows: Sequence[str]) -> dict[str, int]:
    """Return the places of the ``[[flow]]`` sections with these ids; empty: of all with TCP."""
    places = {
        flow["id"]: place
        for place, flow in enumerate(scenario.resolved["flow"])
        if not is_udp(flow["traffic"])
    }
    unknown = [name for name in flows if name not in places]
    if unknown or not places:
        known = ", ".join(places) or "none"
        raise InputError(f"flows: there is no TCP flow {', '.join(unknown)}; those of the scenario: {known}")
    return {name: place for name, place in places.items() if not flows or name in flows}


for _task in TASKS:
    gymnasium.register(f"airwnd/{_task.capitalize()}-v0", f"{__name__}:Environment", kwargs={"task": _task})
