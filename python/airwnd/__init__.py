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

if TYPE_CHECKING:
    from airwnd._native import VERSION as __version__  # noqa: N811
    from airwnd._native import ScenarioError
    from airwnd.algorithms import Algorithm, Family, Parameter, catalogue, schema
    from airwnd.capture import Capture
    from airwnd.cities import city
    from airwnd.columns import tables
    from airwnd.congestion import Ack, Congestion, CongestionControl, Connection
    from airwnd.errors import EngineError, InputError
    from airwnd.parallel import run_many
    from airwnd.plugins import register
    from airwnd.preset import Preset, PresetValue, presets
    from airwnd.radio_map import RadioMap
    from airwnd.run import Run
    from airwnd.scenario import Scenario
    from airwnd.seeds import over_seeds
    from airwnd.sweeps import sweep
    from airwnd.swept import Sweep

__all__ = [
    "Ack",
    "Algorithm",
    "Capture",
    "Congestion",
    "CongestionControl",
    "Connection",
    "EngineError",
    "Family",
    "InputError",
    "Parameter",
    "Preset",
    "PresetValue",
    "RadioMap",
    "Run",
    "Scenario",
    "ScenarioError",
    "Sweep",
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
    "Ack": "airwnd.congestion",
    "Algorithm": "airwnd.algorithms",
    "Capture": "airwnd.capture",
    "Congestion": "airwnd.congestion",
    "CongestionControl": "airwnd.congestion",
    "Connection": "airwnd.congestion",
    "EngineError": "airwnd.errors",
    "Family": "airwnd.algorithms",
    "InputError": "airwnd.errors",
    "Parameter": "airwnd.algorithms",
    "Preset": "airwnd.preset",
    "PresetValue": "airwnd.preset",
    "RadioMap": "airwnd.radio_map",
    "Run": "airwnd.run",
    "Scenario": "airwnd.scenario",
    "ScenarioError": "airwnd._native",
    "Sweep": "airwnd.swept",
    "catalogue": "airwnd.algorithms",
    "city": "airwnd.cities",
    "over_seeds": "airwnd.seeds",
    "presets": "airwnd.preset",
    "register": "airwnd.plugins",
    "run_many": "airwnd.parallel",
    "schema": "airwnd.algorithms",
    "sweep": "airwnd.sweeps",
    "tables": "airwnd.columns",
}


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
