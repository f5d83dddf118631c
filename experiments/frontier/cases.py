"""Measures the special cases of the study: F07 to F10 of ``paper.toml``.

::

    python experiments/frontier/cases.py standing --seeds 5
    python experiments/frontier/cases.py standing --seeds 4 --routes

Short flows use the scenario of ``receivers/short-against-long``, most others ``receivers/late-comer``. Each
line has the mean over the seeds, and each seed's value.
"""

import argparse
import json
import statistics
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from evaluate import CONTROLS, EMPTY

from airwnd import Scenario

HERE = Path(__file__).parent
RECEIVERS = HERE.parent / "receivers"
AUTOTUNING = CONTROLS["autotuning"]
ABSENT = {"flow[0].traffic": EMPTY["traffic"], "flow[0].rwnd": AUTOTUNING}
"""Settings that leave only a small datagram flow of the long download."""
ALONE = ABSENT | {"flow[1].arrivals": {"kind": "periodic", "period": "2s"}}
"""The same, with short flows that do not overlap."""
REROUTED_S = 20
"""Time at which the route becomes longer."""
SERVERS_MS = (0, 10, 25, 55, 85)
"""Delays of the server's link, for an RTT of the oracle of 32, 58, 96, 166 and 246 ms."""
LONGER_MS = (10, 20, 30, 50, 100, 200)
SETTLED_S = 15.0
"""End of the time in which the late download may reach its share: 10 s after its start."""


def throughputs(rwnds: tuple[Any, Any], seed: int) -> pl.DataFrame:
    """Run two downloads; return their throughput in each second from 10 s after the start of the late one."""
    path = RECEIVERS / "late-comer" / "scenario.toml"
    settings = {f"flow[{number}].rwnd": rwnd for number, rwnd in enumerate(rwnds)}
    series = Scenario.load(path).with_(settings).run(seed=seed, series="1s").series
    after = series.filter(pl.col("time_s") > SETTLED_S)
    return after.select("time_s", pl.col("flow").cast(pl.String), "throughput_kbps")


def jain(rwnd: Any, seed: int) -> float:
    """Return Jain's index of two downloads with the same control, from 10 s after the late start."""
    means = throughputs((rwnd, rwnd), seed).group_by("flow").agg(pl.col("throughput_kbps").mean())
    rates = means["throughput_kbps"].to_list()
    return float(sum(rates) ** 2 / (len(rates) * sum(rate**2 for rate in rates)))


def share_beside_uncontrolled(rwnd: Any, seed: int) -> float:
    """Return the percentage of the throughput that a download has beside one with autotuning."""
    rows = throughputs((rwnd, AUTOTUNING), seed)
    own = rows.filter(pl.col("flow") == "first-0")["throughput_kbps"].to_numpy().sum()
    return float(100 * own / rows["throughput_kbps"].to_numpy().sum())


def min_beside_uncontrolled(rwnd: Any, seed: int) -> float:
    """Return the throughput of that download in its worst second, in kbit/s."""
    rows = throughputs((rwnd, AUTOTUNING), seed).filter(pl.col("flow") == "first-0")
    return float(rows["throughput_kbps"].to_numpy().min())


def completion_s(rwnd: Any, seed: int, others: dict[str, Any]) -> float:
    """Return the mean completion time of short flows in seconds, with these settings of the other flows."""
    settings = {"flow[0].rwnd": rwnd, "flow[1].rwnd": rwnd} | others
    path = RECEIVERS / "short-against-long" / "scenario.toml"
    flows = Scenario.load(path).with_(settings).run(seed=seed).flows
    return float(statistics.fmean(flows.filter(pl.col("group") == "short")["fct_s"].drop_nulls()))


def alone(rwnd: Any, seed: int) -> float:
    """Return the completion time in an empty cell relative to autotuning."""
    return completion_s(rwnd, seed, ALONE) / completion_s(AUTOTUNING, seed, ALONE)


def overlapping(rwnd: Any, seed: int) -> float:
    """Return the same for short flows at random times, some of which overlap."""
    return completion_s(rwnd, seed, ABSENT) / completion_s(AUTOTUNING, seed, ABSENT)


def beside_long(rwnd: Any, seed: int) -> float:
    """Return the completion time beside a long download relative to autotuning."""
    return completion_s(rwnd, seed, {}) / completion_s(AUTOTUNING, seed, {})


def rerouted(rwnd: Any, seed: int, longer_ms: int = 100, others: dict[str, str] | None = None) -> float:
    """Return the throughput relative to the oracle's from 10 s after the route has become longer."""
    path = RECEIVERS / "late-comer" / "scenario.toml"
    wire = {"rate": "1Gbps", "reroute": [{"at": f"{REROUTED_S}s", "delay": f"{longer_ms / 2:g}ms"}]}
    sums = []
    for of in (rwnd, CONTROLS["oracle"]):
        settings: dict[str, Any] = {"link": [wire], "duration": f"{REROUTED_S + 20}s", **(others or {})}
        settings |= {"flow[0].rwnd": of, "flow[1].rwnd": AUTOTUNING, "flow[1].traffic": EMPTY["traffic"]}
        series = Scenario.load(path).with_(settings).run(seed=seed, series="1s").series
        own = series.filter(pl.col("flow").cast(pl.String) == "first-0")
        late = own.filter(pl.col("time_s") > REROUTED_S + 10)
        sums.append(late["throughput_kbps"].to_numpy().sum())
    return float(sums[0] / sums[1])


def median_rtt(rwnd: Any, seed: int) -> float:
    """Return the median RTT in ms of a download of 45 s over 10 Mbit/s and 20 ms, after 20 s."""
    wire = {"rate": "10Mbps", "delay": "10ms"}
    settings: dict[str, Any] = {"link": [wire], "site": [], "duration": "45s", "core.server_delay": "0ms"}
    settings["flow"] = [{"cc": "newreno", "rwnd": rwnd}]
    series = Scenario.load(HERE / "scenario.toml").with_(settings).run(seed=seed, series="100ms").series
    return float(np.median(series.filter(pl.col("time_s") > 20)["rtt_ms"].drop_nulls().to_numpy()))


def beside_devices(rwnd: Any, seed: int, *, on_link: bool) -> pl.DataFrame:
    """Run a download beside one of another device with CUBIC; return throughputs from 10 s on.

    Both share the cell, or in front of it a link of 5 Mbit/s with one queue.
    """
    path = RECEIVERS / "late-comer" / "scenario.toml"
    settings: dict[str, Any] = {"duration": "40s"}
    ring = {"kind": "disc", "min_radius": "490m", "radius": "510m"}
    settings["ue"] = [{"name": name, "placement": ring} for name in ("own", "other")]
    settings["flow"] = [
        {"id": "first", "ue": "own", "cc": "cubic", "rwnd": rwnd},
        {"id": "other", "ue": "other", "cc": "cubic", "rwnd": AUTOTUNING},
    ]
    if on_link:
        settings["link"] = [{"rate": "5Mbps", "aqm": {"kind": "drop-tail", "buffer": "100kB"}}]
    series = Scenario.load(path).with_(settings).run(seed=seed, series="1s").series
    after = series.filter(pl.col("time_s") > 10)
    return after.select("time_s", pl.col("flow").cast(pl.String), "throughput_kbps")


def share_beside_device(rwnd: Any, seed: int, *, on_link: bool) -> float:
    """Return the percentage of the throughput that a download has beside another device."""
    rows = beside_devices(rwnd, seed, on_link=on_link)
    own = rows.filter(pl.col("flow") == "first-0")["throughput_kbps"].to_numpy().sum()
    return float(100 * own / rows["throughput_kbps"].to_numpy().sum())


def min_beside_device(rwnd: Any, seed: int, *, on_link: bool) -> float:
    """Return the throughput of that download in its worst second, in kbit/s."""
    rows = beside_devices(rwnd, seed, on_link=on_link).filter(pl.col("flow") == "first-0")
    return float(rows["throughput_kbps"].to_numpy().min())


MEASURES: dict[str, Callable[[Any, int], float]] = {
    "F07: Jain's index": jain,
    "F08: throughput after a longer route / the oracle's": rerouted,
    "F08: median RTT on 10 Mbit/s and 20 ms (ms)": median_rtt,
    "F09: completion time in an empty cell / autotuning's": alone,
    "F09: the same, some downloads at the same time": overlapping,
    "F09: completion time beside a long download / autotuning's": beside_long,
    "F10: share beside an uncontrolled download (%)": share_beside_uncontrolled,
    "F10: worst second (kbit/s)": min_beside_uncontrolled,
    "beside another device in the cell: share (%)": partial(share_beside_device, on_link=False),
    "beside another device in the cell: worst second (kbit/s)": partial(min_beside_device, on_link=False),
    "beside another device in one queue: share (%)": partial(share_beside_device, on_link=True),
    "beside another device in one queue: worst second (kbit/s)": partial(min_beside_device, on_link=True),
}


def print_routes(pool: ProcessPoolExecutor, rwnd: Any, seeds: range) -> None:
    """Print the throughput after longer routes, one line for each delay of the server's link."""
    for server_ms in SERVERS_MS:
        means = []
        for longer_ms in LONGER_MS:
            measure = partial(rerouted, longer_ms=longer_ms, others={"core.server_delay": f"{server_ms}ms"})
            means.append(statistics.fmean(pool.map(measure, [rwnd] * len(seeds), seeds)))
        print(f"{server_ms} ms:", *(f"{mean:.2f}" for mean in means), flush=True)


def main() -> None:
    """Print one line per measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("control", nargs="?", default="standing", help="name or JSON object")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--routes", action="store_true", help="longer routes instead")
    arguments = parser.parse_args()
    name = arguments.control
    rwnd = CONTROLS[name] if name in CONTROLS else json.loads(name)
    seeds = range(1, arguments.seeds + 1)
    with ProcessPoolExecutor(arguments.jobs) as pool:
        if arguments.routes:
            print_routes(pool, rwnd, seeds)
            return
        for label, measure in MEASURES.items():
            values = list(pool.map(measure, [rwnd] * len(seeds), seeds))
            print(f"{label}: {statistics.fmean(values):.3g}", *(f"{value:.3g}" for value in values))


if __name__ == "__main__":
    main()
