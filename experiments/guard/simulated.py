"""Compares shapers and the guard in simulation, over ten links with five workloads.

::

    python experiments/guard/simulated.py --jobs 2 > experiments/guard/simulated.csv
    python experiments/guard/simulated.py --table < experiments/guard/simulated.csv
    python experiments/guard/simulated.py --picture docs/img/shapers.svg < experiments/guard/simulated.csv

The controls:

``none``
    nothing
``guard``
    the receive window of the downloads over TCP by ``standing``, as ``airwnd guard`` on the receiver
``guard-up``
    the same, and the shaper of the uplink as of ``airwnd guard shape --only up``
``cake-95``
    CAKE's shaper and queues in both directions, at 95 % of the mean goodput of a download and of an upload
    over the same link without a control, which a user of a real link does not know
``autorate``
    the rule of cake-autorate, with 25, 50 and 200 % of these means as minimum, base and maximum
``shape``
    ``airwnd guard shape``: shapers as before, at rates that follow the measured capacity

The workloads, for 60 s, with a ping every 50 ms from the UE:

``download``, ``upload``, ``both``
    bulk transfers by CUBIC
``quic``
    a download by CUBIC whose segments have no timestamps, so that nothing of it is visible, beside web pages
    over TCP
``household``
    a video and web pages, an upload from 10 s on, a download from 25 s on

Each case is run three times, with other seeds, and transfers that begin 0.37 s later.
"""

import argparse
import csv
import statistics
import sys
import tomllib
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from airwnd import Scenario
from airwnd.plots import style

HERE = Path(__file__).resolve().parent
SECONDS, RUNS = 60, 3
CONTROLS = ("none", "guard", "guard-up", "cake-95", "autorate", "shape")
WORKLOADS = ("download", "upload", "both", "quic", "household")
SHOWN = ("download", "upload", "both")
"""Workloads of the table and the picture."""
IN_TABLE = ("10/10 Mbit/s, 20 ms", "50/10 Mbit/s, 20 ms", "LTE cell, walking", "recording, subway")
"""Links of the table."""
COLUMNS = ("link", "workload", "control", "down_mbps", "up_mbps", "p50_ms", "p95_ms", "p99_ms")
SHARE, MIN, BASE, MAX = 0.95, 0.25, 0.5, 2.0
"""Of the mean rates: CAKE's, and those of cake-autorate's rule."""
PINGS_MS, GOODPUTS = (20, 100, 500, 2000, 10_000), (0.3, 0.5, 1, 2, 4)
"""Ticks of the picture."""
AUTOTUNING = {"kind": "autotuning", "variant": "linux-6.18", "max": "32MiB"}
Table = dict[str, Any]


def wire(down: str, up: str, delay_ms: int, buffer: str, **more: Any) -> Table:
    """Return a link of constant rates with a drop-tail buffer in each direction."""
    link = {"rate": down, "rate_up": up, "delay": f"{delay_ms}ms", "aqm": drop_tail(buffer), **more}
    return {"core": {"server_delay": "0ms"}, "link": [link], "ue": [{"name": "phone"}]}


def drop_tail(buffer: str) -> Table:
    """Return a drop-tail queue of so many bytes."""
    return {"kind": "drop-tail", "buffer": buffer}


def of_study(name: str) -> Table:
    """Return a link that ``measure.py`` uses, without the flows of the phone."""
    with (HERE / name / "scenario.toml").open("rb") as file:
        table = tomllib.load(file)
    table["flow"] = [flow for flow in table["flow"] if flow["ue"] != "phone"]
    return table


def driving_nr() -> Table:
    """Return a car that drives past sites of NR, with 20 MHz in TDD at 3.5 GHz."""
    table = of_study("driving")
    table["carrier"] = {"bandwidth": "20MHz", "downlink_frequency": "3.5GHz"}
    table["radio"]["access"] = {"kind": "nr", "numerology": 1, "pattern": "DDDSU"}
    return table


def links() -> dict[str, Table]:
    """Return the ten links by their names."""
    leo = {
        "loss": {"kind": "gilbert-elliott-time", "bad": "50ms", "good": "15s", "loss_in_bad": 0.3},
        "reroute": [
            {"at": f"{at}s", "delay": f"{delay}ms"} for at, delay in ((7, 35), (22, 15), (37, 25), (52, 20))
        ],
    }
    return {
        "10/10 Mbit/s, 20 ms": wire("10Mbps", "10Mbps", 10, "2MB"),
        "50/10 Mbit/s, 20 ms": wire("50Mbps", "10Mbps", 10, "2MB"),
        "0.5/0.5 Mbit/s, 40 ms": wire("500kbps", "500kbps", 20, "100kB"),
        "LTE cell, walking": of_study("walking"),
        "LTE cell, driving": of_study("driving"),
        "LTE cell, loaded": of_study("loaded"),
        "NR cells, driving": driving_nr(),
        "recording, bus": of_study("bus"),
        "recording, subway": of_study("subway"),
        "like a LEO, 50/10 Mbit/s": wire("50Mbps", "10Mbps", 20, "500kB", **leo),
    }


class Case(NamedTuple):
    """A run: link, workload, control, number, and mean rates in kbit/s, for controls that need them."""

    link: str
    workload: str
    control: str
    run: int
    mean_kbps: tuple[float, float]


def flow(name: str, **keys: Any) -> Table:
    """Return a flow of the phone."""
    return {"id": name, "ue": "phone", **keys}


def flows(case: Case) -> list[Table]:
    """Return the flows of the phone."""
    start = 0.37 * case.run
    rwnd = "standing" if case.control.startswith("guard") else AUTOTUNING

    def download(name: str, at: float = 0.0, **keys: Any) -> Table:
        return flow(name, **{"cc": "cubic", "rwnd": rwnd, "start": f"{at + start:.2f}s", **keys})

    def upload(at: float = 0.0) -> Table:
        return flow("upload", cc="cubic", rwnd=AUTOTUNING, direction="up", start=f"{at + start:.2f}s")

    pages = flow("reading", traffic={"kind": "web", "reading": "5s"}, cc="cubic", rwnd=AUTOTUNING)
    video = flow("video", traffic={"kind": "video", "rate": f"{max(case.mean_kbps[0] / 5, 100.0):.0f}kbps"})
    hidden = download("quic", rwnd=AUTOTUNING, tcp={"timestamps": False})
    workloads = {
        "download": [download("download")],
        "upload": [upload()],
        "both": [download("download"), upload()],
        "quic": [hidden, pages],
        "household": [video, pages, upload(10.0), download("download", 25.0)],
    }
    ping = flow("ping", traffic="ping", direction="up")
    return [*workloads[case.workload], ping]


def shaper(case: Case) -> Any:
    """Return the shaper of the phone."""
    down, up = case.mean_kbps

    def rate(kbps: float) -> str:
        return f"{kbps:.0f}kbps"

    rates = {
        "guard-up": {"kind": "capacity", "ways": "up"},
        "cake-95": {"kind": "fixed", "rate": rate(SHARE * down), "rate_up": rate(SHARE * up)},
        "autorate": {
            "kind": "autorate",
            "min": rate(MIN * down),
            "base": rate(BASE * down),
            "max": rate(MAX * down),
            "min_up": rate(MIN * up),
            "base_up": rate(BASE * up),
            "max_up": rate(MAX * up),
        },
        "shape": "capacity",
    }
    return {"rates": rates[case.control]} if case.control in rates else "none"


def run(case: Case) -> tuple[float, float, float, float, float]:
    """Return goodput down and up in Mbit/s, and the 50th, 95th and 99th percentile of the ping in ms."""
    table = links()[case.link]
    phone = next(ue for ue in table["ue"] if ue["name"] == "phone")
    phone["shaper"] = shaper(case)
    table.update(name="shapers", duration=f"{SECONDS}s", tcp={"stack": "linux"})
    own = flows(case)
    table["flow"] = [*table.get("flow", []), *own]
    rows = Scenario.from_dict(table).run(seed=1 + case.run).flows.to_dicts()
    names = {one["id"] for one in own}
    of_phone = {row["group"]: row for row in rows if row["group"] in names}
    ping = of_phone.pop("ping")
    up = of_phone.pop("upload", {"goodput_kbps": 0.0})["goodput_kbps"]
    down = sum(row["goodput_kbps"] for row in of_phone.values())
    return down / 1e3, up / 1e3, ping["rtt_ms_p50"], ping["rtt_ms_p95"], ping["rtt_ms_p99"]


def measure(jobs: int, names: list[str], controls: list[str]) -> None:
    """Print a row for each link, workload and control."""
    rows = csv.writer(sys.stdout, lineterminator="\n")
    rows.writerow(COLUMNS)
    with ProcessPoolExecutor(jobs) as pool:
        # The means of the links come first.
        alone = [
            Case(link, way, "none", number, (0.0, 0.0))
            for link in names
            for way in WORKLOADS[:2]
            for number in range(RUNS)
        ]
        found = dict(zip(alone, pool.map(run, alone), strict=True))

        def mean_kbps(link: str, way: int) -> float:
            of_way = [
                found[case][way] for case in alone if case.link == link and case.workload == WORKLOADS[way]
            ]
            return 1e3 * statistics.fmean(of_way)

        means = {link: (mean_kbps(link, 0), mean_kbps(link, 1)) for link in names}
        cases = [
            Case(link, workload, control, number, means[link])
            for link in names
            for workload in WORKLOADS
            for control in controls
            for number in range(RUNS)
        ]
        results = pool.map(run, cases)
        for at in range(0, len(cases), RUNS):
            figures = zip(*[next(results) for _ in range(RUNS)], strict=True)
            rows.writerow([*cases[at][:3], *(f"{statistics.fmean(each):.3f}" for each in figures)])
            sys.stdout.flush()


def table(rows: list[Mapping[str, str]]) -> Iterator[str]:
    """Yield a table in Markdown: goodput down + up in Mbit/s, and ping p50/p95 in ms, of each control.

    It has the links in `IN_TABLE`; the file has all.
    """
    cells = {(row["link"], row["workload"], row["control"]): row for row in rows}
    controls = [control for control in CONTROLS if any(row["control"] == control for row in rows)]
    yield f"| Link | Workload | {' | '.join(f'`{control}`' for control in controls)} |\n"
    yield f"|---|---|{'---|' * len(controls)}\n"
    for link, workload in dict.fromkeys((row["link"], row["workload"]) for row in rows):
        if link not in IN_TABLE or workload not in SHOWN:
            continue
        texts = []
        for control in controls:
            row = cells[link, workload, control]
            rates = " + ".join(
                f"{float(row[key]):.2f}" for key in ("down_mbps", "up_mbps") if float(row[key])
            )
            pings = "/".join(f"{float(row[f'p{percent}_ms']):.0f}" for percent in (50, 95))
            texts.append(f"{rates}, {pings}")
        yield f"| {link} | {workload} | {' | '.join(texts)} |\n"


def picture(rows: list[Mapping[str, str]], path: Path) -> None:
    """Draw goodput over the 95th percentile of the ping: a panel for each workload, a point for each link."""
    cells = {(row["link"], row["workload"], row["control"]): row for row in rows}
    with style.styled():
        figure = style.new_figure((7.16, 2.9))
        panels = figure.subplots(1, len(SHOWN), sharex=True, sharey=True)
        for panel, workload in zip(panels, SHOWN, strict=True):
            for number, control in enumerate(CONTROLS):
                points = [
                    (float(row["p95_ms"]), goodput(row) / goodput(cells[link, workload, "none"]))
                    for (link, each, what), row in cells.items()
                    if (each, what) == (workload, control)
                ]
                look = style.point(number)
                panel.plot(
                    *zip(*points, strict=True),
                    look.marker,
                    color=look.colour,
                    linestyle="none",
                    markersize=4,
                    markerfacecolor="none",
                    label=control,
                )
            panel.set_xscale("log")
            panel.set_xticks(PINGS_MS, [f"{each:,}" for each in PINGS_MS])
            panel.minorticks_off()
            panel.set_title(workload)
            panel.set_xlabel("Ping, 95th percentile (ms)")
        panels[0].set_ylabel("Goodput relative to none")
        panels[0].set_yscale("log")
        panels[0].set_yticks(GOODPUTS, [str(each) for each in GOODPUTS])
        panels[0].minorticks_off()
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(CONTROLS))
        figure.savefig(path, metadata={"Date": None})


def goodput(row: Mapping[str, str]) -> float:
    """Return the goodput of both directions in Mbit/s."""
    return float(row["down_mbps"]) + float(row["up_mbps"])


def main() -> None:
    """Measure, or print the table of what was measured."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=1, help="runs at the same time")
    parser.add_argument("--links", nargs="+", choices=list(links()), default=list(links()))
    parser.add_argument("--controls", nargs="+", choices=CONTROLS, default=list(CONTROLS))
    parser.add_argument(
        "--table", action="store_true", help="print the table of the rows that standard input has"
    )
    parser.add_argument("--picture", type=Path, help="draw these rows to this file")
    arguments = parser.parse_args()
    if arguments.table:
        sys.stdout.writelines(table(list(csv.DictReader(sys.stdin))))
    elif arguments.picture:
        picture(list(csv.DictReader(sys.stdin)), arguments.picture)
    else:
        measure(arguments.jobs, arguments.links, arguments.controls)


if __name__ == "__main__":
    main()
