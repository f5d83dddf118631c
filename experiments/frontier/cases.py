"""Measures the special cases of the study: F07, F09 and F10 of ``paper.toml``.

::

    python experiments/frontier/cases.py standing --seeds 5

Late downloads and downloads beside one without control use the scenario of ``receivers/late-comer``, short
flows that of ``receivers/short-against-long``. Each line has the mean over the seeds, and each seed's value.
"""

import argparse
import json
import statistics
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
from evaluate import CONTROLS, EMPTY

from airwnd import Scenario

RECEIVERS = Path(__file__).parents[1] / "receivers"
AUTOTUNING = CONTROLS["autotuning"]
ABSENT = {"flow[0].traffic": EMPTY["traffic"], "flow[0].rwnd": AUTOTUNING}
"""Settings that leave only a small datagram flow of the long download."""
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


def least_beside_uncontrolled(rwnd: Any, seed: int) -> float:
    """Return the throughput of that download in its worst second, in kbit/s."""
    rows = throughputs((rwnd, AUTOTUNING), seed).filter(pl.col("flow") == "first-0")
    return float(rows["throughput_kbps"].to_numpy().min())


def completion_s(rwnd: Any, seed: int, *, is_alone: bool) -> float:
    """Return the mean completion time of short flows in seconds, alone or beside a long download."""
    settings = {"flow[0].rwnd": rwnd, "flow[1].rwnd": rwnd} | (ABSENT if is_alone else {})
    path = RECEIVERS / "short-against-long" / "scenario.toml"
    flows = Scenario.load(path).with_(settings).run(seed=seed).flows
    return float(statistics.fmean(flows.filter(pl.col("group") == "short")["fct_s"].drop_nulls()))


def alone(rwnd: Any, seed: int) -> float:
    """Return the completion time in an empty cell relative to autotuning."""
    return completion_s(rwnd, seed, is_alone=True) / completion_s(AUTOTUNING, seed, is_alone=True)


def beside_long(rwnd: Any, seed: int) -> float:
    """Return the completion time beside a long download relative to autotuning."""
    return completion_s(rwnd, seed, is_alone=False) / completion_s(AUTOTUNING, seed, is_alone=False)


MEASURES = {
    "F07: Jain's index": jain,
    "F09: completion time in an empty cell / autotuning's": alone,
    "F09: completion time beside a long download / autotuning's": beside_long,
    "F10: share beside an uncontrolled download (%)": share_beside_uncontrolled,
    "F10: worst second (kbit/s)": least_beside_uncontrolled,
}


def main() -> None:
    """Print one line per measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("control", nargs="?", default="standing", help="name or JSON object")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    name = arguments.control
    rwnd = CONTROLS[name] if name in CONTROLS else json.loads(name)
    seeds = range(1, arguments.seeds + 1)
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for label, measure in MEASURES.items():
            values = list(pool.map(measure, [rwnd] * len(seeds), seeds))
            print(f"{label}: {statistics.fmean(values):.3g}", *(f"{value:.3g}" for value in values))


if __name__ == "__main__":
    main()
