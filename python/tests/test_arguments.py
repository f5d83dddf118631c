"""Wrong arguments of all public functions give one line that names the argument."""

# Wrong types are the subject.
# mypy: disable-error-code="arg-type,list-item,dict-item"

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import airwnd
from airwnd import InputError, Run, Scenario, ScenarioError, Session, Sweep
from airwnd.plugins.permission import NO_CODE, PLUGIN_TIMEOUT_S
from airwnd.study import batch
from airwnd.study.statistics import interval

from .test_batch import WIRE

SCENARIO = Scenario.from_dict(WIRE)
RUN = SCENARIO.run(series="10ms")
MAP = Scenario.from_dict({"duration": "1s", "site": [{}], "ue": [{}], "flow": [{}]}).radio_map(points=2)
SWEEP = Sweep(RUN.links, RUN.links, (), (), 1)
CODE = {"allow_code": False, "plugin_timeout_s": PLUGIN_TIMEOUT_S}


class Silent(airwnd.Endpoint):
    def transmit(self, now_s: float) -> list[bytes]:  # noqa: ARG002 (the signature is given)
        return []

    def receive(self, now_s: float, data: bytes, ecn: int) -> None:
        """Ignore it."""


#: Calls of every public function and method with valid arguments; each argument in turn gets a wrong value.
CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "Capture": (
        airwnd.Capture,
        {"path": "x.pcapng", "nodes": ["server"], "snaplen": 0, "real_only": False, "layers": []},
    ),
    "RadioTrace": (
        airwnd.RadioTrace,
        {"path": "radio", "layers": ["mac"], "ues": ["ue-0"], "window": ("0s", "1s")},
    ),
    "RadioMap.plot": (MAP.plot, {"quantity": "sinr", "axes": None}),
    "Run.load": (Run.load, {"folder": "nowhere"}),
    "Run.plot": (
        RUN.plot,
        {"quantity": "cwnd_bytes", "axes": None, "flows": (), "mean_s": None, "size": None},
    ),
    "Run.plot_cdf": (RUN.plot_cdf, {"quantity": "goodput_kbps", "axes": None, "groups": ()}),
    "Run.plot_fct": (RUN.plot_fct, {"axes": None}),
    "Run.plot_prbs": (RUN.plot_prbs, {"cell": 0, "window_s": None, "axes": None, "carrier": 0}),
    "Run.plot_timeline": (RUN.plot_timeline, {"flow": None}),
    "Run.save": (RUN.save, {"folder": "nowhere", "force": False}),
    "Run.view": (RUN.view, {"path": None, "browse": False}),
    "Scenario": (
        Scenario,
        {"text": "", "origin": "x", "format": "toml", "overrides": (), "policy": NO_CODE, "piped": {}},
    ),
    "Scenario.check_run": (SCENARIO.check_run, {"max_memory": None}),
    "Scenario.from_dict": (Scenario.from_dict, {"settings": WIRE, **CODE}),
    "Scenario.from_toml": (Scenario.from_toml, {"text": "", "origin": "x", **CODE}),
    "Scenario.link_budgets": (SCENARIO.link_budgets, {"seed": None}),
    "Scenario.load": (Scenario.load, {"path": "nowhere", **CODE}),
    "Scenario.override": (SCENARIO.override, {"settings": ()}),
    "Scenario.radio_map": (
        SCENARIO.radio_map,
        {"points": 2, "extent": None, "height_m": None, "seed": None},
    ),
    "Scenario.run": (
        SCENARIO.run,
        {
            "seed": 1,
            "series": None,
            "progress": None,
            "pcap": None,
            "allocations": None,
            "max_memory": None,
            "threads": None,
            "radio_trace": None,
        },
    ),
    "Scenario.run_many": (
        SCENARIO.run_many,
        {"seeds": (), "jobs": 1, "series": None, "max_memory": None, "threads": None},
    ),
    "Scenario.link": (SCENARIO.link, {"request": {}, "update": lambda _: False, "pcap": None}),
    "Scenario.simulate": (
        SCENARIO.simulate,
        {
            "seed": 1,
            "series": None,
            "progress": None,
            "pcap": None,
            "allocations": None,
            "max_memory": None,
            "threads": None,
            "radio_trace": None,
        },
    ),
    "Scenario.open_path": (
        SCENARIO.open_path,
        {"seed": 1, "series": None, "max_memory": None, "radio": False},
    ),
    "Path": (
        airwnd.Path,
        {"scenario": SCENARIO, "seed": 1, "series": None, "qlog": None, "radio": False, "max_memory": None},
    ),
    "Pair": (
        airwnd.Pair,
        {"client": Silent(), "server": Silent(), "ue": "ue", "start_s": 0.0, "stop_s": 1.0},
    ),
    "Scenario.open_session": (
        SCENARIO.open_session,
        {"seed": 1, "series": None, "max_memory": None, "radio_trace": None},
    ),
    "Session": (
        Session,
        {"scenario": SCENARIO, "seed": 1, "series": None, "max_memory": None, "radio_trace": None},
    ),
    "Session.flow": (Session(SCENARIO).flow, {"name": "flow-0"}),
    "Sweep.load": (Sweep.load, {"folder": "nowhere"}),
    "Sweep.compare": (
        SWEEP.compare,
        {"by": None, "to": None, "columns": ["jain"], "group": None, "where": None},
    ),
    "Sweep.read_series": (SWEEP.read_series, {"columns": ["delay_ms"]}),
    "Sweep.plot_series": (
        SWEEP.plot_series,
        {
            "quantity": "delay_ms",
            "by": None,
            "flows": [],
            "where": None,
            "labels": None,
            "mean_s": None,
            "size": None,
        },
    ),
    "Sweep.plot_cdf": (
        SWEEP.plot_cdf,
        {
            "quantity": "delay_ms",
            "by": None,
            "groups": [],
            "where": None,
            "labels": None,
            "logarithmic": False,
            "size": None,
        },
    ),
    "Sweep.plot_frontier": (
        SWEEP.plot_frontier,
        {
            "by": None,
            "x": "delay_ms_mean",
            "y": "goodput_kbps",
            "group": None,
            "where": None,
            "labels": None,
            "spread": "interval",
            "x_scale": "auto",
            "size": None,
        },
    ),
    "Sweep.plot": (
        SWEEP.plot,
        {
            "y": "delay_ms",
            "x": None,
            "by": None,
            "facet": None,
            "where": None,
            "group": None,
            "labels": None,
            "x_scale": "auto",
            "y_scale": "linear",
            "size": None,
        },
    ),
    "Trial": (airwnd.Trial, {"scenario": SCENARIO, "seeds": 1, "duration_s": None, "ue": None}),
    "Trial.run": (
        airwnd.Trial(SCENARIO).run,
        {"endpoints": lambda _: None, "qlog": None, "progress": None},
    ),
    "city": (
        airwnd.city,
        {
            "rings": 1,
            "area_km2": None,
            "spacing_m": 500.0,
            "sites": None,
            "centre": None,
            "radius_m": None,
            "network": None,
            "radio": None,
            "sectors": 3,
            "ues": 10,
            "hour": 12,
            "movement": None,
            "traffic": None,
            "duration": "1s",
            "seed": 1,
        },
    ),
    "over_seeds": (airwnd.over_seeds, {"runs": [RUN]}),
    "register": (airwnd.register, {"kind": None}),
    "run_many": (
        airwnd.run_many,
        {"tasks": (), "jobs": 1, "series": None, "progress": None, "max_memory": None, "threads": None},
    ),
    "sweep": (
        airwnd.sweep,
        {
            "scenario": SCENARIO,
            "grid": {"duration": ["1s"]},
            "random": None,
            "seeds": 1,
            "out": "nowhere",
            "workers": None,
            "sample_seed": 1,
            "series": None,
            "stack": None,
            "ue": None,
            "progress": None,
            "force": False,
        },
    ),
}
#: Without arguments, with those of `CALLS`, or created only by airwnd.
OTHERS = {
    "Endpoint",
    # Created by airwnd, or constructed in tests of a class, with types checked by PyO3.
    "Ack", "Congestion", "Connection", "CongestionControl", "Queue", "QueueDiscipline", "QueuedPacket",
    "DownlinkScheduler", "SchedulerCarrier", "SchedulerTti", "SchedulerUe", "CellMeasurement",
    "HandoverAlgorithm", "HandoverEvent", "HandoverReport", "HandoverUe", "TrafficFlow", "TrafficSource",
    "Arrival", "Receiver", "ReceiverState", "ReceiveWindowControl",
    "Algorithm", "Family", "Parameter", "Preset", "PresetValue", "RadioMap",
    "Run", "Run.of", "Sweep", "Sweep.number", "Sweep.read_completions",
    "EngineError", "InputError", "ScenarioError",
    "Run.to_json", "Scenario.with_", "Scenario.check_session",
    "Session.advance",  # called too often for a check in Python
    "Session.finish", "Session.read_flows", "Session.read_ues",
    "catalogue", "presets", "schema", "tables",
}  # fmt: skip


def public() -> Iterator[str]:
    """Return the names of all functions, classes and methods that airwnd exports."""
    for name in airwnd.__all__:
        thing = getattr(airwnd, name)
        if callable(thing):
            yield name
        if thing in {
            Run,
            Scenario,
            Session,
            Sweep,
            airwnd.RadioMap,
            airwnd.RadioTrace,
            airwnd.Capture,
            airwnd.Trial,
        }:
            members = inspect.getmembers(
                thing, lambda each: inspect.isfunction(each) or inspect.ismethod(each)
            )
            yield from (f"{name}.{member}" for member, _ in members if not member.startswith("_"))


def test_every_public_function_is_covered() -> None:
    assert set(public()) == set(CALLS) | OTHERS
    for name, (function, arguments) in CALLS.items():
        assert list(inspect.signature(function).parameters) == list(arguments), name


@pytest.mark.parametrize(
    ("name", "argument"), [(name, argument) for name, (_, given) in CALLS.items() for argument in given]
)
def test_an_argument_of_a_wrong_type_is_one_line_that_names_it(name: str, argument: str) -> None:
    function, given = CALLS[name]
    with pytest.raises(InputError) as caught:
        function(**{**given, argument: object()})
    message = str(caught.value)
    assert "\n" not in message
    if name != "register":
        assert message.startswith(f"{argument}: expected ")
        assert message.endswith(", found an object of type object")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: SCENARIO.run(seed=-1), "seed: expected a whole number from 0 to 2**63 - 1"),
        (lambda: SCENARIO.run(seed=2**63), "seed: expected a whole number from 0 to 2**63 - 1"),
        (lambda: SCENARIO.run(seed="x"), "to 2**63 - 1 or None, found 'x'"),
        (lambda: SCENARIO.run(seed=True), "seed: "),
        (lambda: SCENARIO.run(seed=1.0), "seed: "),
        (
            lambda: SCENARIO.run(series=5),
            'series: expected a text with a unit, as in "10ms", or None, found 5',
        ),
        (lambda: SCENARIO.run(series="5"), "series: "),
        (lambda: SCENARIO.run(allocations=("1s",)), "allocations: expected a pair of texts"),
        (lambda: SCENARIO.run_many([1], jobs=0), "jobs: expected a whole number above zero or None, found 0"),
        (lambda: SCENARIO.run_many([1, -1]), "seed: "),
        (lambda: SCENARIO.run_many(5), "seeds: expected a list, found 5"),
        (lambda: airwnd.run_many([(SCENARIO, -1)]), "seed: "),
        (lambda: airwnd.run_many([SCENARIO]), "tasks: expected pairs of a Scenario and a seed"),
        (lambda: SCENARIO.with_(nonsense=1), "unknown key `nonsense`"),
        (lambda: SCENARIO.with_(5), "changes: expected a dictionary or None, found 5"),
        (lambda: SCENARIO.with_({1: 2}), "changes: expected a text, found 1"),
        (lambda: SCENARIO.with_(duration=object()), "duration: expected a number, a truth value, a text"),
        (lambda: SCENARIO.with_(duration=None), "duration: "),
        (lambda: SCENARIO.override(["duration"]), "settings: expected a pair of texts, found 'duration'"),
        (lambda: Scenario.from_dict([]), "settings: expected a dictionary"),
        (lambda: Scenario.from_dict({"duration": {1, 2}}), "settings: expected a number"),
        (lambda: Scenario("", "x", "yaml"), "format: expected 'toml' or 'json', found 'yaml'"),
        (lambda: RUN.plot("nope"), "no series `nope`"),
        (lambda: RUN.plot_timeline("nope"), "no flow `nope`"),
        (lambda: MAP.plot("nope"), "no map of `nope`"),
        (lambda: airwnd.Capture("x", nodes=[1]), "nodes: expected a text, found 1"),
        (lambda: airwnd.sweep(SCENARIO, grid={"duration": "1s"}, out="x"), "grid duration: expected a list"),
        (lambda: airwnd.sweep(SCENARIO, grid={5: [1]}, out="x"), "grid: expected a text, found 5"),
        (lambda: airwnd.sweep(SCENARIO, random={"duration": 5}, out="x"), "random duration: expected a text"),
        (lambda: airwnd.sweep(SCENARIO, out="x"), "nothing is varied"),
        (lambda: airwnd.over_seeds([]), "runs: no runs"),
        (lambda: airwnd.over_seeds([RUN, RUN]), "runs: two runs have the same seed"),
        (lambda: airwnd.over_seeds([RUN, SCENARIO.with_(duration="90ms").run()]), "of different scenarios"),
        (lambda: interval([]), "values: expected at least one value"),
        (lambda: airwnd.Trial(SCENARIO, []), "seeds: expected at least one seed, and none twice"),
        (lambda: airwnd.Trial(SCENARIO, [3, 3]), "seeds: expected at least one seed, and none twice"),
        (
            lambda: airwnd.Trial(SCENARIO, ["x"]),
            "seeds: expected a whole number from 0 to 2**63 - 1, found 'x'",
        ),
        (lambda: airwnd.Trial(SCENARIO, duration_s=0), "duration_s: expected a number above zero, found 0"),
        (
            lambda: airwnd.Trial(SCENARIO).run(lambda _: 5),  # type: ignore[return-value]
            "endpoints: expected a function that returns a pair",
        ),
        (lambda: batch.Processes(jobs=0), "jobs: expected a whole number above zero"),
        (lambda: batch.Store(5), "folder: expected a path, found 5"),
        (lambda: batch.Dask(5), "address: expected a text, found 5"),
        (lambda: batch.Task(SCENARIO, -1), "seed: expected a whole number"),
        (lambda: batch.Task("x", 1), "scenario: expected a Scenario, found 'x'"),
    ],
)
def test_a_wrong_value_is_one_line(call: Callable[[], object], message: str) -> None:
    with pytest.raises((InputError, ScenarioError)) as caught:
        call()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_or_unknown_argument_names_the_function() -> None:
    with pytest.raises(TypeError, match=r"run\(\) got an unexpected keyword argument 'sed'"):
        SCENARIO.run(sed=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"run_many\(\) missing 1 required positional argument: 'seeds'"):
        SCENARIO.run_many()  # type: ignore[call-arg]


def test_numpy_numbers_are_accepted(tmp_path: Path) -> None:
    frame = airwnd.sweep(SCENARIO, grid={"link[0].queue": np.arange(5, 7)}, out=tmp_path)
    assert frame["link[0].queue"].to_list() == [5, 6]
    assert SCENARIO.run(seed=np.int64(3)).seed == 3
    assert SCENARIO.with_({"link[0].queue": np.int64(9)}).resolved["link"][0]["queue"] == 9
