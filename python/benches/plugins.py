"""Cost of a call of plug-ins, in Python and in Rust, of each family.

For each family, runs with a built-in member, with the same as a plug-in in Rust (``tools/plugin-costs``) and
with the same as a class in Python (``python/tests/rebuilt.py``): their results are equal, so that the
difference in processor time is that of the calls. Each time is the minimum of nine, taken in turn. The table
is written to ``experiments/performance/plugins.csv``:

    make engine PLUGIN=plugin-costs
    AIRWND_ENGINE=target/release/libplugin_costs.so .venv/bin/python python/benches/plugins.py MACHINE
"""

import csv
import datetime as dt
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import airwnd
from airwnd.plugins.permission import CodePolicy, applied
from airwnd.plugins.registry import find

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "python-plugin"
REBUILT = ROOT / "python" / "tests" / "rebuilt.py"
TABLE = ROOT / "experiments" / "performance" / "plugins.csv"
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


class Family(NamedTuple):
    """A family's members to compare."""

    #: Name in the registry of classes.
    role: str
    text: str
    key: str
    #: Built-in member; the plug-in in Rust takes the same parameters.
    kind: str
    params: dict[str, object]
    #: Class in Python, and its arguments.
    python: str
    arguments: dict[str, object]
    #: Methods whose calls are counted.
    methods: tuple[str, ...]


FAMILIES = {
    "congestion control": Family(
        "cc",
        WIRE,
        "flow[0].cc",
        "newreno",
        {},
        f"{EXAMPLES / 'newreno.py'}:NewReno",
        {},
        ("on_ack", "on_congestion"),
    ),
    "receive-window control": Family(
        "rwnd", WIRE, "flow[0].rwnd", "drwa", {}, f"{REBUILT}:Drwa", {}, ("on_read", "window")
    ),
    "queue discipline": Family(
        "aqm",
        WIRE.replace("queue = 100\n", ""),
        "link[0].aqm",
        "drop-tail",
        {"buffer": "100kB"},
        f"{REBUILT}:DropTail",
        {"buffer_bytes": 100_000},
        ("enqueue", "dequeue"),
    ),
    "downlink scheduler": Family(
        "sched",
        CELL,
        "mac.scheduler",
        "pf",
        {},
        f"{REBUILT}:ProportionalFair",
        {},
        ("allocate", "on_served", "on_idle"),
    ),
    "handover algorithm": Family(
        "handover",
        ROAMING,
        "handover.algorithm",
        "a2-a4-rsrq",
        {},
        f"{REBUILT}:A2A4Rsrq",
        {},
        ("target", "on_handover"),
    ),
    "traffic source": Family(
        "traffic",
        WIRE,
        "flow[0].traffic",
        "cbr",
        {"rate": "8Mbps"},
        f"{REBUILT}:Cbr",
        {"transport": "udp", "rate_bps": 8_000_000},
        ("write",),
    ),
}


@contextmanager
def counted(kind: type[Any], methods: tuple[str, ...]) -> Iterator[list[int]]:
    """Count the calls of methods of a class."""
    calls = [0]

    def counting(method: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object) -> object:
            calls[0] += 1
            return method(*arguments)

        return call

    own = {name: getattr(kind, name) for name in methods}
    for name, method in own.items():
        setattr(kind, name, counting(method))
    try:
        yield calls
    finally:
        for name, method in own.items():
            setattr(kind, name, method)


def measure(family: Family) -> dict[str, int | float]:
    """Measure the calls of a family, and what a run with each member takes."""
    scenario = airwnd.Scenario.from_toml(family.text, "bench.toml", allow_code=True)
    rust = {"kind": "plugin", "name": "mine", **family.params}
    python = {"kind": "python", "class": family.python, **family.arguments}
    built_in = {"kind": family.kind, **family.params}
    runs = [scenario.with_({family.key: member}) for member in (built_in, rust, python)]
    with applied(CodePolicy(allow=True)):
        plugin = find(family.python, None, "{}", EXAMPLES, family.role)
    with counted(plugin.kind, family.methods) as calls:
        results = [run.run().totals for run in runs]
    if not all(dict(result) == dict(results[0]) for result in results):
        raise SystemExit(f"{family.key}: the members differ")
    best = [float("inf")] * 3
    for _ in range(9):
        for place, run in enumerate(runs):
            start = time.process_time()
            run.run()
            best[place] = min(best[place], time.process_time() - start)
    own, *others = best
    rust_ns, python_ns = (round((each - own) / calls[0] * 1e9) for each in others)
    in_ms = [round(each * 1e3, 1) for each in best]
    return {
        "calls": calls[0],
        **dict(zip(("built_in_ms", "rust_ms", "python_ms"), in_ms, strict=True)),
        "rust_ns": rust_ns,
        "python_ns": python_ns,
    }


def main(machine: str) -> None:
    """Measure all families, print their table, and write it with date and machine."""
    rows = []
    for name, family in FAMILIES.items():
        row = {"family": name, **measure(family)}
        sys.stdout.write("  ".join(f"{key} {value}" for key, value in row.items()) + "\n")
        rows.append({**row, "measured": dt.datetime.now(dt.UTC).date(), "machine": machine})
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


main(*sys.argv[1:])
