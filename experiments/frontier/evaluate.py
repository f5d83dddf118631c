"""Runs a set of scenarios with some controls, and counts the scenarios that fulfil the criterion.

::

    python experiments/frontier/evaluate.py development --seeds 2
    python experiments/frontier/evaluate.py 11 standing '{"kind": "standing", "target": "5ms"}' --scenarios

Without names of controls all of `CONTROLS` run. One run takes 0.1 to 1 s of CPU time. ``--groups`` adds a
table of groups of scenarios, with the controls on the Pareto front of each.
"""

import argparse
import json
import statistics
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

import draw

from airwnd import Scenario

CONTROLS: dict[str, Any] = {
    "autotuning": {"kind": "autotuning", "variant": "linux-6.18", "max": "32MiB"},
    "oracle": "oracle",
    "drwa": "drwa",
    "arwa": {"kind": "arwa", "carriage": "tcp-option", "window": "32MiB"},
    "dfcsd": {"kind": "dfcsd", "update": "step"},
    "rledbat": "rledbat",
    "rtac": "rtac",
    "rtfc": "rtfc",
    "standing": "standing",
}
EMPTY = {
    "id": "empty",
    "ue": "own",
    "traffic": {"kind": "cbr", "rate": "8kbps", "packet": "100B"},
}
MIN_MS = 5.0
"""Queueing delay that is good enough in any scenario."""


class Figures(NamedTuple):
    """Figures of a control in a scenario, means over the seeds."""

    goodput_kbps: float
    delay_ms: float


def run(job: tuple[dict[str, Any], Any, int]) -> Figures:
    """Run a scenario with a control; without one: with an empty path."""
    settings, rwnd, seed = job
    settings = dict(settings)
    if rwnd is None:
        settings["flow"] = [EMPTY]
    else:
        controlled = len(draw.CONTROLLED)
        if rwnd == "standing" or (isinstance(rwnd, dict) and rwnd["kind"] == "standing"):
            # One-way delay is known to a tick of the sender's timestamps.
            given = {"kind": rwnd} if isinstance(rwnd, str) else rwnd
            rwnd = {"tick": settings["tcp.timestamp_tick"], **given}
        settings["flow"] = [
            {**flow, "rwnd": rwnd} if number < controlled else flow
            for number, flow in enumerate(settings["flow"])
        ]
    base = Scenario.load(draw.HERE / "scenario.toml")
    flows = [flow for flow in base.with_(settings).run(seed=seed).flows.to_dicts() if flow["ue"] == 0]
    if rwnd is None:
        return Figures(0.0, flows[0]["delay_ms_p50"] or 0.0)
    downloads = [flow for flow in flows if flow["kind"] == "bulk"]
    delays = [flow["delay_ms_p95"] for flow in downloads if flow["delay_ms_p95"] is not None]
    goodput = sum(flow["goodput_kbps"] for flow in downloads)
    return Figures(goodput, statistics.fmean(delays) if delays else float("inf"))


class Verdict(NamedTuple):
    """How a control fares in a scenario: goodput and delay in units of the criterion, and what it fulfils."""

    goodput: float
    delay: float
    passes: bool
    passes_at_twice: bool
    has_goodput: bool
    has_delay: bool
    is_starved: bool


def judge(own: Figures, empty: Figures, plain: Figures, oracle: Figures) -> Verdict:
    """Compare a control with an empty path, autotuning and the oracle."""
    queue, of_oracle = own.delay_ms - empty.delay_ms, oracle.delay_ms - empty.delay_ms
    goodput = own.goodput_kbps / max(min(plain.goodput_kbps, oracle.goodput_kbps), 1e-9)
    delay = queue / max(of_oracle, MIN_MS / 1.5)
    enough, short = goodput >= 0.9, delay <= 1.5
    twice = queue <= max(2 * of_oracle, MIN_MS)
    starved = own.goodput_kbps < 0.8 * plain.goodput_kbps
    return Verdict(goodput, delay, enough and short, enough and twice, enough, short, starved)


GROUPS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "all": lambda _: True,
    "cells, one UE": lambda named: named["path"] not in draw.RECORDINGS and named["devices"] == 1,
    "cells, several UEs": lambda named: named["devices"] > 1,
    "recordings": lambda named: named["path"] in draw.RECORDINGS,
    "NewReno, CUBIC": lambda named: named["sender"] in {"newreno", "cubic"},
    "BBR, BBRv3": lambda named: named["sender"] in {"bbr", "bbr3"},
    "Prague": lambda named: named["sender"] == "prague",
    "one download": lambda named: named["flows"] == 1,
    "several downloads": lambda named: named["flows"] > 1,
}


def print_groups(scenarios: list[dict[str, Any]], verdicts: dict[str, list[Verdict]]) -> None:
    """Print pass, median goodput and median delay of each control in each group.

    An asterisk marks the Pareto front: no other control but the oracle has at least the goodput and at most
    the delay.
    """
    for group, belongs in GROUPS.items():
        inside = [number for number, scenario in enumerate(scenarios) if belongs(scenario["named"])]
        medians = {
            name: (
                statistics.median(of[number].goodput for number in inside),
                statistics.median(of[number].delay for number in inside),
            )
            for name, of in verdicts.items()
        }
        print(f"{group}, {len(inside)} scenarios")
        for name, (goodput, delay) in medians.items():
            better = (
                other
                for other, (more, less) in medians.items()
                if other not in {name, "oracle"} and more >= goodput and less <= delay
            )
            front = " " if any(better) else "*"
            passed = sum(verdicts[name][number].passes for number in inside)
            print(f"  {front} {name}: {passed}, {goodput:.2f}, {delay:.2f}")


def over_seeds(runs: Iterable[Figures]) -> Figures:
    """Average the runs of a scenario."""
    return Figures(*map(statistics.fmean, zip(*runs, strict=True)))


def main() -> None:
    """Run and print one line per control."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("set", help="development, test, or the seed of a set of its own")
    parser.add_argument("controls", nargs="*", help="names or JSON objects")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--scenarios", action="store_true", help="one line per scenario as well")
    parser.add_argument("--groups", action="store_true", help="groups of scenarios as well")
    arguments = parser.parse_intermixed_args()
    scenarios = draw.draw(draw.SETS.get(arguments.set) or int(arguments.set))
    chosen = arguments.controls or list(CONTROLS)
    seeds = range(1, arguments.seeds + 1)

    with ProcessPoolExecutor(arguments.jobs) as pool:

        def figures(rwnd: Any) -> list[Figures]:
            jobs = [(scenario["settings"], rwnd, seed) for scenario in scenarios for seed in seeds]
            done = list(pool.map(run, jobs))
            return [over_seeds(done[at : at + len(seeds)]) for at in range(0, len(done), len(seeds))]

        references = [figures(rwnd) for rwnd in (None, CONTROLS["autotuning"], CONTROLS["oracle"])]
        of_controls = {}
        print("control, passed, at twice the delay, goodput, delay, below 80 % of autotuning, medians")
        for name in chosen:
            rwnd = CONTROLS[name] if name in CONTROLS else json.loads(name)
            verdicts = [judge(*of) for of in zip(figures(rwnd), *references, strict=True)]
            of_controls[name] = verdicts
            if arguments.scenarios:
                for number, verdict in enumerate(verdicts):
                    named = draw.label(scenarios[number]["named"])
                    print(f"  {number:02} {verdict.goodput:.2f} {verdict.delay:.2f} {named}")
            columns = list(zip(*verdicts, strict=True))
            medians = [f"{statistics.median(column):.2f}" for column in columns[:2]]
            print(name, *map(sum, columns[2:]), *medians, flush=True)
        if arguments.groups:
            print_groups(scenarios, of_controls)


if __name__ == "__main__":
    main()
