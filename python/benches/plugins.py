"""Cost of classes in Python: ``python python/benches/plugins.py``.

One flow over a wire of 10 Mbit/s for 60 s (S5 of the engine's bench), with built-in NewReno and NewReno in
Python, and the share of the class's code in the difference. For each other family, a run with a built-in
member and with the same in Python (``python/tests/rebuilt.py``). Each value is the minimum of nine.
"""

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import airwnd
from airwnd.plugins.permission import CodePolicy, applied
from airwnd.plugins.registry import find

EXAMPLE = Path(__file__).parents[2] / "examples" / "python-plugin"
REBUILT = Path(__file__).parents[1] / "tests" / "rebuilt.py"
WIRE = """
duration = "60s"
warmup = "0s"
tcp = { mss = 1000, send_buffer = "4MiB", receive_buffer = "4MiB" }
core = { server_rate = "1Gbps", server_delay = "1us" }
[[link]]
rate = "10Mbps"
delay = "25ms"
queue = 100
[[ue]]
[[flow]]
"""


CELL = """
duration = "10s"
warmup = "0s"
mac.scheduler = "pf"
rlc.queue = { kind = "drop-tail", buffer = "1MB" }
[[site]]
[[ue]]
count = 5
placement = { kind = "ring", radius = "300m" }
[[flow]]
cc = "cubic"
"""
ROAMING = """
duration = "20s"
warmup = "0s"
handover.algorithm = "a2-a4-rsrq"
[[site]]
position = ["0m", "0m"]
sectors = 3
[[site]]
position = ["600m", "0m"]
sectors = 3
[[ue]]
count = 50
placement = { kind = "disc", radius = "500m" }
mobility = { kind = "random-waypoint" }
[[flow]]
traffic = { kind = "cbr", rate = "8kbps" }
"""
#: Scenario, key, built-in member, class with its arguments, counted methods.
FAMILIES: dict[str, tuple[str, str, dict[str, object], dict[str, object], tuple[str, ...]]] = {
    "rwnd": (
        WIRE,
        "flow[0].rwnd",
        {"kind": "drwa"},
        {"kind": "python", "class": f"{REBUILT}:Drwa"},
        ("on_read", "window"),
    ),
    "aqm": (
        WIRE,
        "link[0].aqm",
        {"kind": "drop-tail", "buffer": "100kB"},
        {"kind": "python", "class": f"{REBUILT}:DropTail", "buffer_bytes": 100_000},
        ("enqueue", "dequeue"),
    ),
    "sched": (
        CELL,
        "mac.scheduler",
        {"kind": "pf"},
        {"kind": "python", "class": f"{REBUILT}:ProportionalFair"},
        ("allocate", "on_served", "on_idle"),
    ),
    "handover": (
        ROAMING,
        "handover.algorithm",
        {"kind": "a2-a4-rsrq"},
        {"kind": "python", "class": f"{REBUILT}:A2A4Rsrq"},
        ("target", "on_handover"),
    ),
    "traffic": (
        WIRE,
        "flow[0].traffic",
        {"kind": "cbr", "rate": "8Mbps"},
        {"kind": "python", "class": f"{REBUILT}:Cbr", "transport": "udp", "rate_bps": 8_000_000},
        ("write",),
    ),
}


def minimum(call: Callable[[], object], clock: Callable[[], float] = time.process_time) -> float:
    """Measure the time of a call in seconds, as the minimum of nine."""
    times = []
    for _ in range(9):
        start = clock()
        call()
        times.append(clock() - start)
    return min(times)


def cost(family: str) -> str:
    """Measure the cost of a call of a family."""
    text, key, built_in, python, methods = FAMILIES[family]
    text = text.replace("queue = 100\n", "") if family == "aqm" else text
    scenario = airwnd.Scenario.from_toml(text, str(EXAMPLE / "s.toml"), allow_code=True)
    ours, theirs = scenario.with_({key: built_in}), scenario.with_({key: python})
    with applied(CodePolicy(allow=True)):
        plugin = find(str(python["class"]), None, "{}", EXAMPLE, family)
    calls = 0

    def counted(method: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object) -> object:
            nonlocal calls
            calls += 1
            return method(*arguments)

        return call

    own = {name: getattr(plugin.kind, name) for name in methods}
    for name, method in own.items():
        setattr(plugin.kind, name, counted(method))
    theirs.run()
    for name, method in own.items():
        setattr(plugin.kind, name, method)
    before, after = minimum(ours.run), minimum(theirs.run)
    return (
        f"{family:<9} {calls:>7} calls, {before * 1e3:6.1f} ms built in, {after * 1e3:6.1f} ms in Python, "
        f"more for each call {(after - before) / calls * 1e9:6.0f} ns"
    )


def main() -> None:
    """Measure and print the costs."""
    built_in = airwnd.Scenario.from_toml(WIRE, str(EXAMPLE / "wire.toml"), allow_code=True)
    python = built_in.with_({"flow[0].cc": {"kind": "python", "class": "newreno.py:NewReno"}})
    with applied(CodePolicy(allow=True)):
        plugin = find("newreno.py:NewReno", None, "{}", EXAMPLE)
    kind: Any = plugin.kind
    acks: list[airwnd.Ack] = []
    own = kind.on_ack

    def listen(self: airwnd.CongestionControl, ack: airwnd.Ack) -> None:
        acks.append(ack)
        own(self, ack)

    kind.on_ack = listen
    python.run()
    kind.on_ack = own
    controller = kind(airwnd.Connection(mss_bytes=1000, initial_window_bytes=10_000))
    alone = minimum(lambda: [controller.on_ack(ack) for ack in acks])
    ours, theirs = minimum(built_in.run), minimum(python.run)
    lines = [
        f"{len(acks)} ACKs in 60 s",
        f"built in          {ours * 1e3:6.1f} ms",
        f"in Python         {theirs * 1e3:6.1f} ms, {theirs / ours:.1f} times",
        f"more for each ACK {(theirs - ours) / len(acks) * 1e9:6.0f} ns",
        f"of it on_ack      {alone / len(acks) * 1e9:6.0f} ns",
    ]
    for name, scenario in (("built in", built_in), ("in Python", python)):
        one, two = (minimum(partial(scenario.run_many, range(8), jobs), time.perf_counter) for jobs in (1, 2))
        lines.append(f"8 runs {name:<10} {one * 1e3:6.0f} ms in 1 thread, {two * 1e3:.0f} ms in 2")
    lines += [cost(family) for family in FAMILIES]
    sys.stdout.write("\n".join(lines) + "\n")


main()
