"""Fragments of scenarios in TOML, for copying."""

import json
import re
from collections.abc import Mapping
from typing import Any

from airwnd.vocabulary.algorithms import Algorithm, Parameter, catalogue
from airwnd.vocabulary.sections import Section, sections

# Maximum number of basic parameters of an algorithm that are written out.
_MAX = 3
# Placeholders for keys where neither default nor schema has a usable value.
_EXAMPLES: dict[str, Any] = {
    "carrier.secondary.downlink_frequency": "1.8GHz",
    "carrier.secondary.power": "43dBm",
    "ue.qci": 9,
    "ue.bearer.qci": 5,
    "carrier.uplink_frequency": "1930MHz",
    "ue.floors": [4, 8],
    "ue.via": ["link"],
    "ue.replay.path": "drive.csv",
    "ue.replay.column": "SNR",
    "ue.replay.time": "Timestamp",
    "ue.replay.rows": [[0, 20], [1, 5.5]],
    "flow.ue": "ue",
    "flow.bearer": "voice",
    "link/trace.down": "nyc-subway",
    "cc/python.class": "gentle.py:Gentle",
    "rwnd/python.class": "level.py:Level",
    "aqm/python.class": "fresh.py:Fresh",
    "sched/python.class": "fair.py:Fair",
    "handover/python.class": "patient.py:Patient",
    "traffic/python.class": "game.py:Game",
    "cc/plugin.name": "registered-name",
    "rwnd/plugin.name": "registered-name",
    "aqm/plugin.name": "registered-name",
    "sched/plugin.name": "registered-name",
    "handover/plugin.name": "registered-name",
    "traffic/plugin.name": "registered-name",
    "arrivals/file.path": "arrivals.csv",
    "size/empirical.path": "sizes.csv",
    "placement/file.path": "places.csv",
    "mobility/path.path": "path.csv",
}
# Lines that a choice or a key requires before or after it.
_BEFORE = {
    "ue.floors": '[radio]\npropagation = { kind = "tr38901", indoor = 0.8 }\n',
    "ue.via": '[[link]]\nrate = "10Mbps"\n',
    "flow.bearer": '[[ue]]\n[[ue.bearer]]\nname = "voice"\n',
}
_BEHIND = {
    "arrivals/periodic": 'traffic = "transfer"',
    "arrivals/poisson": 'traffic = "transfer"',
    "shaper/autorate": '[[flow]]\ntraffic = "ping"\ndirection = "up"',
    "ue.mbr": 'gbr = "10Mbps"',
    "ue.replay.rows": 'quantity = "sinr"',
    "ue.bearer.mbr": 'gbr = "10Mbps"',
}
# Required lines of a section.
_REQUIRED = {
    "carrier.secondary": ['downlink_frequency = "1.8GHz"'],
    "link": ['rate = "10Mbps"'],
    "link.reroute": ['at = "20s"', 'delay = "60ms"'],
    "link.jitter": ['time = "5ms"'],
    "link.jitter_up": ['time = "5ms"'],
    "link.duplicate": ["probability = 0.01"],
    "link.duplicate_up": ["probability = 0.01"],
    "link.police": ['rate = "5Mbps"', 'burst = "30kB"'],
    "link.police_up": ['rate = "5Mbps"', 'burst = "30kB"'],
    "link.tbf": ['rate = "5Mbps"', 'burst = "15kB"'],
    "link.tbf_up": ['rate = "5Mbps"', 'burst = "15kB"'],
    "ue.replay": ['path = "drive.csv"'],
}


def of_key(section: Section, key: Parameter) -> str:
    """Return a fragment that sets a key of a section to its default or an example.

    Examples
    --------
    >>> print(of_key(sections()["rlc"], sections()["rlc"].keys["mode"]))
    [rlc]
    mode = "am"
    """
    name = f"{section.name}.{key.name}".strip(".")
    if name in sections():
        return _lines(_heading(sections()[name]), *_REQUIRED.get(name, []))
    match _EXAMPLES.get(name, key.example):
        case {"kind": kind} if key.family:
            value = toml(kind)
        case example:
            value = toml(example)
    required = (line for line in _REQUIRED.get(section.name, []) if not line.startswith(f"{key.name} = "))
    own = f"{key.name} = {value}"
    return _lines(_BEFORE.get(name, ""), _heading(section), own, *required, _BEHIND.get(name, ""))


def of_algorithm(algorithm: Algorithm, only: Parameter | None = None) -> str:
    """Return a fragment that selects an algorithm, with its first basic parameters or only `only`.

    Examples
    --------
    >>> print(of_algorithm(catalogue()[0].members[1]))
    [[flow]]
    cc = { kind = "cubic", c = 0.4, beta = 0.7 }
    """
    name = f"{algorithm.family}/{algorithm.name}"
    section, key, around = _place(algorithm.family)
    params = [
        each
        for each in algorithm.params
        if each.level == "basic" and (each.required or each.default not in (None, []))
    ]
    chosen = params[:_MAX] if only is None else [only]
    shown = [each for each in algorithm.params if each.required or each in chosen]
    value = {
        "kind": algorithm.name,
        **{each.name: _EXAMPLES.get(f"{name}.{each.name}", each.example) for each in shown},
    }
    if key == "kind":
        return _lines(_heading(section), *(f"{name} = {toml(each)}" for name, each in value.items()))
    for kind, inner in around:
        value = {"kind": kind, inner: value}
    return _lines(_heading(section), f"{key} = {toml(value)}", _BEHIND.get(name, ""))


def toml(value: object) -> str:
    """Format a value of a scenario as one line of TOML.

    Examples
    --------
    >>> toml({"kind": "disc", "centre": ["0m", "0m"], "flat": True})
    '{ kind = "disc", centre = ["0m", "0m"], flat = true }'
    """
    match value:
        case Mapping():
            return f"{{ {', '.join(f'{_bare(key)} = {toml(each)}' for key, each in value.items())} }}"
        case list() | tuple():
            return f"[{', '.join(map(toml, value))}]"
    return json.dumps(value, ensure_ascii=False)


def _bare(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key)


def _heading(section: Section) -> str:
    """Return the heading of a section, behind those of the lists to whose entries it belongs."""
    above = sections().get(section.name.rpartition(".")[0])
    if above is None or not above.heading.startswith("[["):
        return section.heading
    return _lines(_heading(above), *_REQUIRED.get(above.name, []), section.heading)


def _lines(*lines: str) -> str:
    return "\n".join(filter(None, lines))


def _place(family: str) -> tuple[Section, str, list[tuple[str, str]]]:
    """Find a key that selects from a family, directly or through a parameter of another algorithm."""
    keys = [(section, key) for section in sections().values() for key in section.keys.values()]
    places = [(section, key) for section, key in keys if key.family == family]
    if places:
        # Prefer a key with a default: most scenarios select there.
        section, key = max(places, key=lambda place: place[1].default is not None)
        return section, key.name, []
    for outer in catalogue():
        for member in outer.members:
            for param in member.params:
                if param.family == family:
                    section, key_name, around = _place(outer.name)
                    return section, key_name, [(member.name, param.name), *around]
    raise AssertionError(f"no key takes the family {family}")
