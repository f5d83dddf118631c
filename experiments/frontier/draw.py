"""Draws the scenarios of the study, by one rule and two seeds.

::

    python experiments/frontier/draw.py development

prints the scenarios of ``development`` (seed 1) or ``test`` (seed 2): the keys of ``scenario.toml`` that each
of them sets. The rule and both seeds were committed before the first run. Controls were designed and compared
on development sets only, and the test set was run with rules that were final. `draw` accepts any seed, for
further sets.

Each dimension is drawn by itself, uniformly from a list or logarithmically between two limits. A download
of one device (UE 0, kind ``bulk``) is measured, with all that may share its path: further flows of the
device, other devices, short transfers, an upload.
"""

import argparse
import json
import random
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SETS = {"development": 1, "test": 2}
"""Seed of each set."""
SCENARIOS = 40
RECORDINGS = {
    "nyc-subway": "mahimahi",
    "nyc-times": "mahimahi",
    "norway-bus-1": "rate",
    "norway-train-1": "rate",
    "norway-ferry-3": "rate",
    "norway-metro-2": "rate",
}
SENDERS = ("newreno", "cubic", "bbr", "bbr3", "prague")
MOVEMENTS = ("static", "walking", "driving")
ABSENT = {"traffic": {"kind": "transfer", "size": "1B"}, "start": "19900ms"}
"""Takes the place of flows that a scenario does not have: one byte at the end of the run."""
CONTROLLED = ("main", "late", "short", "peers")
"""Groups of flows with the control that is compared: the first ones of each scenario, so that
they can be named by number. All other flows have autotuning."""


def draw(seed: int, count: int = SCENARIOS) -> list[dict[str, Any]]:
    """Draw scenarios: settings of the base scenario, as for ``airwnd run --set``."""
    generator = random.Random(f"airwnd frontier {seed}")
    return [_scenario(generator) for _ in range(count)]


def _scenario(generator: random.Random) -> dict[str, Any]:
    """Draw every dimension, whether this scenario uses it or not, so that the draws stay aligned."""

    def between(low: float, high: float) -> float:
        return float(low * (high / low) ** generator.random())

    chance = generator.random
    in_cell = chance() < 0.7
    recording = generator.choice(list(RECORDINGS))
    start_s = generator.randrange(60)
    devices = 1 if chance() < 0.4 else round(between(2, 60))
    others_controlled = chance() < 0.5
    movement = generator.choice(MOVEMENTS)
    handovers = chance() < 0.5
    fading = generator.choice(("epa", "eva", "etu"))
    scheduler = generator.choice(("pf", "rr", "pss"))
    bandwidth = generator.choice(("1.4MHz", "3MHz", "5MHz", "10MHz", "15MHz", "20MHz"))
    radius_m = round(between(60, 700))
    wire_ms = round(between(5, 125))
    buffer_kib = round(between(50, 8192))
    sender = generator.choice(SENDERS)
    flows = 1 if chance() < 0.5 else generator.randint(2, 8)
    late = chance() < 0.2
    short = chance() < 0.2
    upload = chance() < 0.15
    loss = 0.0 if chance() < 0.6 else between(1e-4, 1e-2)
    delayed_acks = generator.choice((1, 2, 2, 2, 4))
    ack_timeout_ms = generator.choice((40, 40, 200))
    tick_ms = generator.choice((1, 1, 1, 4, 10))

    flow = {"ue": "own", "cc": sender}
    transfers = {"traffic": {"kind": "transfer", "size": "100kB"}, "start": "3s"}
    transfers["arrivals"] = {"kind": "periodic", "period": "2s"}
    entries = [
        {"id": "main", **flow, "count": flows, "stagger": "100ms"},
        {"id": "late", **flow, **({"start": "8s"} if late else ABSENT)},
        {"id": "short", **flow, **(transfers if short else ABSENT)},
        {"id": "peers", **flow, **ABSENT},
    ]
    if upload:
        big = {"kind": "transfer", "size": "1GiB"}
        entries.append({"id": "upload", **flow, "direction": "up", "traffic": big, "start": "2s"})
    ues: list[dict[str, Any]] = [{"name": "own"}]
    if in_cell and devices > 1:
        ues.append({"name": "others", "count": devices - 1})
        of_others = {"id": "peers", "ue": "others", "cc": sender}
        if others_controlled:
            entries[CONTROLLED.index("peers")] = of_others
        else:
            entries.append({**of_others, "id": "others"})
    settings: dict[str, Any] = {
        "core.server_delay": f"{wire_ms}ms",
        "tcp.delayed_ack_count": delayed_acks,
        "tcp.delayed_ack_timeout": f"{ack_timeout_ms}ms",
        "tcp.timestamp_tick": f"{tick_ms}ms",
    }
    if loss:
        settings["core.server_loss"] = {"kind": "packet-error", "rate": round(loss, 6)}
    if sender == "prague":
        settings["tcp.ecn"] = "accurate"
    buffer = {"kind": "drop-tail", "buffer": f"{buffer_kib}KiB"}
    if in_cell:
        driving, walking = movement == "driving", movement == "walking"
        far = 2 * radius_m
        settings["site"] = [
            {"position": [f"{x}m", "0m"]} for x in ((0, far) if driving and handovers else (0,))
        ]
        for ue in ues:
            ue["placement"] = {"kind": "disc", "min_radius": f"{radius_m // 2}m", "radius": f"{radius_m}m"}
            if walking:
                edges = [f"{-2 * radius_m}m", f"{2 * radius_m}m"]
                speed = {"min_speed": "1m/s", "max_speed": "1.8m/s", "distance": "20m"}
                ue["mobility"] = {"kind": "random-walk-2d", **speed, "x": edges, "y": edges}
        if driving:
            ues[0]["mobility"] = {"kind": "constant-velocity", "speed": "20m/s"}
            if handovers:
                ues[0]["placement"] = {"kind": "list", "points": [[f"{radius_m - 150}m", "30m"]]}
                settings["handover"] = {
                    "algorithm": "a3-rsrp",
                    "preparation": "30ms",
                    "random_access": "20ms",
                    "path_switch": "20ms",
                }
                settings["core.x2_delay"] = "5ms"
        settings |= {
            "carrier.bandwidth": bandwidth,
            "radio.fading": {"kind": fading, "interference": False},
            # As measured; later versions change it along the way.
            "radio.shadowing.correlation_distance": "none",
            "mac.scheduler": scheduler,
            "rlc.queue": buffer,
        }
    else:
        settings["link"] = [
            {
                "kind": "trace",
                "down": recording,
                "format": RECORDINGS[recording],
                "start": f"{start_s}s",
                "rate_up": "5Mbps",
                "delay": "10ms",
                "aqm": buffer,
                "loss_up": {"kind": "packet-error", "rate": 0.001},
            }
        ]
    settings["ue"] = ues
    settings["flow"] = entries
    named = {
        "path": f"{bandwidth} {fading} {movement}" if in_cell else recording,
        "devices": devices if in_cell else 1,
        "sender": sender,
        "flows": flows + late,
    }
    return {"settings": settings, "named": named}


def label(named: dict[str, Any]) -> str:
    """Describe a scenario in a few words."""
    return "{path}, {devices} UEs, {sender} x {flows}".format(**named)


def toml(value: Any) -> str:
    """Write a value as inline TOML."""
    match value:
        case dict():
            return "{ " + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items()) + " }"
        case list() | tuple():
            return "[" + ", ".join(map(toml, value)) + "]"
        case _:
            return json.dumps(value)


def main() -> None:
    """Print the scenarios of a set."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("set", choices=SETS)
    for number, scenario in enumerate(draw(SETS[parser.parse_args().set])):
        print(f"# {number:02}: {label(scenario['named'])}")
        for key, value in scenario["settings"].items():
            print(f"{json.dumps(key)} = {toml(value)}")
        print()


if __name__ == "__main__":
    main()
