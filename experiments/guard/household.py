"""Measures over ``airwnd link`` what a guarded download keeps beside the other traffic of a home.

::

    python experiments/guard/household.py --out experiments/guard/household.csv           # as root
    python experiments/guard/household.py --out experiments/guard/household.csv --table

The counterpart with real programs of beside.py. The download is CUBIC's and lasts 30 s; at the same time
begins, on the same machine, or behind the same router, what is beside it:

``upload``
    a CUBIC upload
``cubic``
    a CUBIC download that is not guarded; on the machine only, as a router guards all
``quic``
    a QUIC download by aioquic, on links that are slower than it
``four``
    three more guarded downloads
``rrul``, ``tcp_download``
    instead of the download, flent's test of that name: four downloads and four uploads, or one download. Of
    flent's results come the rates; the ping is ours

Each session is one of its own; those that the file has are not measured again. Ping runs every 50 ms beside
it. The first 3 s do not count, except in the rate of uploads, of which the receiver has the whole only.
"""

import argparse
import gzip
import json
import os
import shlex
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

import shape
from measure import GUARDS, SERVER, cgroup_root, remove_cgroup

from airwnd.support.errors import InputError

HERE = Path(__file__).resolve().parent
LINKS: Mapping[str, Sequence[str]] = {
    "wire-10": ("--rate", "10Mbit", "--delay", "10ms", "--queue", "500kB"),
    "wire-10-deep": ("--rate", "10Mbit", "--delay", "10ms", "--queue", "2MB"),
    "wire-50-5": ("--rate", "50Mbit", "--rate-up", "5Mbit", "--delay", "10ms", "--queue", "300kB"),
    "walking": (str(HERE / "walking" / "scenario.toml"),),
    "driving": (str(HERE / "driving" / "scenario.toml"),),
    "nr-driving": (str(HERE / "household" / "nr-driving.toml"),),
}
FASTER_THAN_QUIC = {"wire-50-5", "nr-driving"}
"""aioquic carries about 20 Mbit/s."""
FLENT = ("rrul", "tcp_download")
_FLENT_DELAY_S = 5
"""Time for which flent pings before and after its transfers."""
BESIDE = ("nothing", "upload", "cubic", "quic", "four", *FLENT)
CONTROLS = ("none", "standing", "drwa", "shape")
"""``shape``: ``standing`` and shapers of both directions."""
PLACES = ("receiver", "router")
SHOWN = ("wire-10", "wire-50-5", "walking")
"""Links of the table."""
KEYS = ("link", "place", "beside", "control", "run")
IPERF_PORT, QUIC_PORT = 5999, 4433
QUIC = shlex.join([sys.executable, str(SERVER / "quic.py")])


class Cell(NamedTuple):
    """One session."""

    link: str
    place: str
    beside: str
    control: str
    run: int


def cells(options: argparse.Namespace) -> Iterator[Cell]:
    """Yield the sessions in the order in which they are measured."""
    for run in range(1, options.runs + 1):
        for place in options.places:
            for link in options.links:
                for beside in options.beside:
                    if (beside == "quic" and link in FASTER_THAN_QUIC) or (
                        beside == "cubic" and place == "router"
                    ):
                        continue
                    for control in options.controls:
                        yield Cell(link, place, beside, control, run)


def main() -> None:
    """Measure what is missing, or print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--links", nargs="+", choices=LINKS, default=list(LINKS))
    parser.add_argument("--places", nargs="+", choices=PLACES, default=list(PLACES))
    parser.add_argument("--beside", nargs="+", choices=BESIDE, default=list(BESIDE))
    parser.add_argument("--controls", nargs="+", choices=CONTROLS, default=list(CONTROLS[:3]))
    parser.add_argument("--runs", type=int, default=1, help="repetitions; in cells each has a seed")
    parser.add_argument("--seconds", type=int, default=30, help="length of the transfers")
    parser.add_argument("--parallel", type=int, default=1, help="sessions at the same time")
    parser.add_argument("--airwnd", default=f"{sys.executable} -I -m airwnd", help="the command airwnd")
    parser.add_argument("--out", type=Path, required=True, help="CSV file")
    parser.add_argument("--table", action="store_true", help="only print the file as a table")
    options = parser.parse_args()
    failures = 0 if options.table else measure(options)
    sys.stdout.writelines(table(shape.read(options.out)))
    sys.exit(1 if failures else 0)


def measure(options: argparse.Namespace) -> int:
    """Measure what is missing, and return the number of sessions that failed."""
    done = {tuple(row[key] for key in KEYS) for row in shape.read(options.out)}
    missing = [cell for cell in cells(options) if tuple(map(str, cell)) not in done]
    failures = 0
    with ThreadPoolExecutor(options.parallel) as pool:
        for future in as_completed([pool.submit(session, options, cell) for cell in missing]):
            try:
                row = future.result()
            except InputError as error:
                sys.stderr.write(f"household.py: {error}\n")
                failures += 1
                continue
            shape.append(options.out, row)
    return failures


def session(options: argparse.Namespace, cell: Cell) -> dict[str, str | float | None]:
    """Measure one cell."""
    group = cgroup_root() / f"airwnd-household-{os.getpid()}-{'-'.join(map(str, cell))}"
    group.mkdir()
    try:
        with tempfile.TemporaryDirectory(prefix="airwnd-household-") as name:
            return _session(options, cell, Path(name), group)
    finally:
        remove_cgroup(group)


def _session(
    options: argparse.Namespace, cell: Cell, folder: Path, group: Path
) -> dict[str, str | float | None]:
    script = folder / "session.sh"
    script.write_text("\n".join(client(options, cell, folder, group)) + "\n", encoding="utf-8")
    quic_server = f"{QUIC} server :: {QUIC_PORT} cubic {folder}/certificate"
    others = "netserver -D & irtt server > /dev/null &" if cell.beside in FLENT else f"{quic_server} &"
    servers = shlex.join(["sh", "-c", f"iperf3 -s -p {IPERF_PORT} & {others} exec iperf3 -s"])
    try:
        measured = shape.run(options, LINKS[cell.link], servers, script, folder)
    except InputError as error:
        raise InputError(f"{' '.join(map(str, cell))}: {error}") from error
    if cell.beside in FLENT:
        rates = flent_mbps(folder, options.seconds)
    else:
        rates = shape.received(folder / "own.json"), beside_mbps(folder)
    columns = dict(zip(("mbps", "beside_mbps"), rates, strict=True))
    return {**dict(zip(KEYS, cell, strict=True)), **columns, **measured}


def flent_mbps(folder: Path, seconds: int) -> tuple[float | None, float | None]:
    """Return the rates of all downloads and of all uploads in flent's file."""
    (path,) = folder.glob("*.flent.gz")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        data = json.load(file)

    def mean(names: Iterable[str]) -> float | None:
        values: list[float | None] = next(
            (data["results"][name] for name in names if name in data["results"]), []
        )
        begin, end = _FLENT_DELAY_S + shape.SKIPPED_S, _FLENT_DELAY_S + seconds
        counted = [
            value
            for at, value in zip(data["x_values"], values, strict=False)
            if value is not None and begin <= at < end
        ]
        return round(sum(counted) / len(counted), 3) if counted else None

    return mean(("TCP download sum", "TCP download")), mean(("TCP upload sum",))


def beside_mbps(folder: Path) -> float | None:
    """Return what the transfer beside received; ``None``: there was none."""
    quic = folder / "quic"
    if quic.exists():
        return round(float(json.loads(quic.read_text(encoding="utf-8"))["goodput_kbps"]) / 1e3, 3)
    return shape.received(folder / "other.json")


def client(options: argparse.Namespace, cell: Cell, folder: Path, group: Path) -> Iterator[str]:
    """Yield the lines of the session's script."""
    is_router = cell.place == "router"
    inside = "inside" if is_router else ""
    yield shape.START
    if is_router:
        yield shape.ROUTER
        scope = "--forward lan"
    else:
        yield f'guarded() {{ (echo $BASHPID > {shlex.quote(str(group / "cgroup.procs"))}; exec "$@"); }}'
        scope = f"--cgroup {shlex.quote(str(group))}"
    own = inside or "guarded"
    if cell.control != "none":
        rwnd = shlex.quote(GUARDS["standing" if cell.control == "shape" else cell.control])
        command = f"{options.airwnd} guard {scope} --rwnd {rwnd}"
        yield from shape.started(command, "guarding", folder / "guard")
    if cell.control == "shape":
        yield from shape.started(f"{options.airwnd} guard shape link", "shaping", folder / "shape")
    ping = f"ping -4 -D -n -i 0.05 server > {folder}/ping"
    yield f"{'nsenter --net --target $client' if is_router else ''} {ping} & ping=$!"
    yield from shape.begin()
    if cell.beside in FLENT:
        yield f"date -d '{_FLENT_DELAY_S} seconds' +%s.%N > {folder}/begin"
        yield (
            f"{own} flent {cell.beside} -H server -l {options.seconds} -D {folder} "
            "--test-parameter tcp_cong_control=cubic"
        )
        yield f"date -d '{_FLENT_DELAY_S} seconds ago' +%s.%N > {folder}/end"
        yield "kill -INT $ping; wait $ping; exit 0"
        return
    yield f"date +%s.%N > {folder}/begin"
    iperf = f"iperf3 -4 -c server -t {options.seconds} -i 0.5 -J -C cubic"
    parallel = "-P 4" if cell.beside == "four" else ""
    other = {
        "upload": f"{own} {iperf} -p {IPERF_PORT} > {folder}/other.json & other=$!",
        "cubic": f"{iperf} -R -p {IPERF_PORT} > {folder}/other.json & other=$!",
        "quic": f"{inside} {QUIC} client server {QUIC_PORT} cubic {folder}/certificate down "
        f"--seconds {options.seconds} --result {folder}/quic & other=$!",
    }
    if cell.beside in other:
        yield other[cell.beside]
    yield f"{own} {iperf} -R {parallel} > {folder}/own.json"
    yield f"date +%s.%N > {folder}/end"
    yield "kill -INT $ping; wait $ping ${other-}; exit 0"


def table(rows: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """Yield a table in Markdown: own and other throughput, and ping p50/p95, means over the runs.

    It has the links in `SHOWN`; the file has all.
    """
    rows = [row for row in rows if row["link"] in SHOWN]
    controls = [control for control in CONTROLS if any(row["control"] == control for row in rows)]
    yield f"| Link | Place | Beside it | {' | '.join(controls)} |\n|---|---|---|{'---|' * len(controls)}\n"
    found: dict[tuple[str, ...], list[Mapping[str, str]]] = {}
    for row in rows:
        found.setdefault((row["link"], row["place"], row["beside"], row["control"]), []).append(row)
    for key in dict.fromkeys(key[:3] for key in found):
        texts = [text_of(found.get((*key, control), [])) for control in controls]
        yield f"| {' | '.join((*key, *texts))} |\n"


def text_of(rows: Sequence[Mapping[str, str]]) -> str:
    """Return the text of a cell of the table."""
    if not rows:
        return "-"

    def mean(key: str) -> float:
        return sum(float(row[key]) for row in rows) / len(rows)

    rates = " + ".join(f"{mean(key):.2f}" for key in ("mbps", "beside_mbps") if rows[0][key])
    return f"{rates}, {mean('p50_ms'):.0f}/{mean('p95_ms'):.0f}"


if __name__ == "__main__":
    main()
