"""TCP over LTE and NR cells: a deterministic simulator with a Rust core and a Python interface.

A scenario is a TOML file or a dictionary. Running it returns data frames.

>>> import airwnd
>>> scenario = airwnd.Scenario.from_dict(
...     {
...         "name": "hello",
...         "duration": "1s",
...         "link": [{"rate": "10Mbps", "delay": "20ms", "queue": 50}],
...         "ue": [{}],
...         "flow": [{}],
...     }
... )
>>> run = scenario.with_(duration="500ms").run(seed=7)
>>> run.duration_s
0.5
"""

from importlib import import_module
from typing import TYPE_CHECKING

from airwnd.support.engine import select as _select

if TYPE_CHECKING:
    from airwnd._native import VERSION as __version__  # noqa: N811
    from airwnd._native import ScenarioError
    from airwnd.plugins.congestion import Ack, Congestion, CongestionControl, Connection
    from airwnd.plugins.handover import (
        CellMeasurement,
        HandoverAlgorithm,
        HandoverEvent,
        HandoverReport,
        HandoverUe,
    )
    from airwnd.plugins.queue import Queue, QueueDiscipline, QueuedPacket
    from airwnd.plugins.receiver import Arrival, Receiver, ReceiverState, ReceiveWindowControl
    from airwnd.plugins.registry import register
    from airwnd.plugins.scheduler import DownlinkScheduler, SchedulerCarrier, SchedulerTti, SchedulerUe
    from airwnd.plugins.traffic import TrafficFlow, TrafficSource
    from airwnd.results.capture import Capture
    from airwnd.results.radio_trace import RadioTrace
    from airwnd.scenario.cities import city
    from airwnd.scenario.path import Endpoint, Pair, Path
    from airwnd.scenario.radio_map import RadioMap
    from airwnd.scenario.run import Run
    from airwnd.scenario.scenario import Scenario
    from airwnd.scenario.session import Session
    from airwnd.study.parallel import run_many
    from airwnd.study.seeds import over_seeds
    from airwnd.study.sweep import Sweep, sweep
    from airwnd.study.trial import Trial
    from airwnd.support.errors import EngineError, InputError
    from airwnd.vocabulary.algorithms import Algorithm, Family, Parameter, catalogue, schema
    from airwnd.vocabulary.columns import tables
    from airwnd.vocabulary.presets import Preset, PresetValue, presets

__all__ = [
    "Ack",
    "Algorithm",
    "Arrival",
    "Capture",
    "CellMeasurement",
    "Congestion",
    "CongestionControl",
    "Connection",
    "DownlinkScheduler",
    "Endpoint",
    "EngineError",
    "Family",
    "HandoverAlgorithm",
    "HandoverEvent",
    "HandoverReport",
    "HandoverUe",
    "InputError",
    "Pair",
    "Parameter",
    "Path",
    "Preset",
    "PresetValue",
    "Queue",
    "QueueDiscipline",
    "QueuedPacket",
    "RadioMap",
    "RadioTrace",
    "ReceiveWindowControl",
    "Receiver",
    "ReceiverState",
    "Run",
    "Scenario",
    "ScenarioError",
    "SchedulerCarrier",
    "SchedulerTti",
    "SchedulerUe",
    "Session",
    "Sweep",
    "TrafficFlow",
    "TrafficSource",
    "Trial",
    "__version__",
    "catalogue",
    "city",
    "over_seeds",
    "presets",
    "register",
    "run_many",
    "schema",
    "sweep",
    "tables",
]

_HOME = {
    "Ack": "airwnd.plugins.congestion",
    "Algorithm": "airwnd.vocabulary.algorithms",
    "Arrival": "airwnd.plugins.receiver",
    "Capture": "airwnd.results.capture",
    "CellMeasurement": "airwnd.plugins.handover",
    "Congestion": "airwnd.plugins.congestion",
    "CongestionControl": "airwnd.plugins.congestion",
    "Connection": "airwnd.plugins.congestion",
    "DownlinkScheduler": "airwnd.plugins.scheduler",
    "Endpoint": "airwnd.scenario.path",
    "EngineError": "airwnd.support.errors",
    "Family": "airwnd.vocabulary.algorithms",
    "HandoverAlgorithm": "airwnd.plugins.handover",
    "HandoverEvent": "airwnd.plugins.handover",
    "HandoverReport": "airwnd.plugins.handover",
    "HandoverUe": "airwnd.plugins.handover",
    "InputError": "airwnd.support.errors",
    "Parameter": "airwnd.vocabulary.algorithms",
    "Pair": "airwnd.scenario.path",
    "Path": "airwnd.scenario.path",
    "Preset": "airwnd.vocabulary.presets",
    "PresetValue": "airwnd.vocabulary.presets",
    "Queue": "airwnd.plugins.queue",
    "QueueDiscipline": "airwnd.plugins.queue",
    "QueuedPacket": "airwnd.plugins.queue",
    "RadioMap": "airwnd.scenario.radio_map",
    "RadioTrace": "airwnd.results.radio_trace",
    "ReceiveWindowControl": "airwnd.plugins.receiver",
    "Receiver": "airwnd.plugins.receiver",
    "ReceiverState": "airwnd.plugins.receiver",
    "Run": "airwnd.scenario.run",
    "Scenario": "airwnd.scenario.scenario",
    "ScenarioError": "airwnd._native",
    "SchedulerCarrier": "airwnd.plugins.scheduler",
    "SchedulerTti": "airwnd.plugins.scheduler",
    "SchedulerUe": "airwnd.plugins.scheduler",
    "Session": "airwnd.scenario.session",
    "Sweep": "airwnd.study.sweep",
    "TrafficFlow": "airwnd.plugins.traffic",
    "TrafficSource": "airwnd.plugins.traffic",
    "Trial": "airwnd.study.trial",
    "catalogue": "airwnd.vocabulary.algorithms",
    "city": "airwnd.scenario.cities",
    "over_seeds": "airwnd.study.seeds",
    "presets": "airwnd.vocabulary.presets",
    "register": "airwnd.plugins.registry",
    "run_many": "airwnd.study.parallel",
    "schema": "airwnd.vocabulary.algorithms",
    "sweep": "airwnd.study.sweep",
    "tables": "airwnd.vocabulary.columns",
}

# Before anything imports the module.
_select()

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Import on first use: the command line must start fast, and data frames load slowly."""
        if name == "__version__":
            return import_module("airwnd._native").VERSION
        if name in _HOME:
            return getattr(import_module(_HOME[name]), name)
        raise AttributeError(f"module 'airwnd' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
