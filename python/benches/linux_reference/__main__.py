"""Measures the running kernel's TCP: `cd python && python -m benches.linux_reference FOLDER [CASE...]`.

Requires Linux and root: each endpoint is in its own network namespace. The measurements are in
`FOLDER/records`, and the reference data of the tests in Rust (`crates/tcp/tests/it/linux_reference/data`) in
`FOLDER`.
"""

import argparse
import multiprocessing
import os
import platform
import socket
import sys
from pathlib import Path

from . import figures
from .cases import CASES, Case
from .ends import Sample, live
from .path import carry
from .record import Run, write

LATE_NS = 1_000_000
LATE_PART = 0.002
"""A run in which a larger part of the packets was handed over later than that is measured again."""
ATTEMPTS = 10


def measure(case: Case) -> tuple[Run, list[int]]:
    """Measure one run; return it with the lateness of each packet, in ns."""
    context = multiprocessing.get_context("fork")
    ends, pipes, tuns = [], [], []
    for place in (0, 1):
        ours, theirs = context.Pipe()
        channel, far_channel = socket.socketpair()
        end = context.Process(target=live, args=(case, place, theirs, far_channel), daemon=True)
        end.start()
        ends.append(end)
        pipes.append(ours)
        tuns.append(socket.recv_fds(channel, 3, 1)[1][0])
    try:
        pipes[1].recv()
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
        pipes[0].send("go")
        packets, lateness = carry(case, tuns[0], tuns[1])
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        seen: list[tuple[int, list[Sample], dict[str, int]]] = [pipe.recv() for pipe in pipes]
    finally:
        for tun in tuns:
            os.close(tun)
        for end in ends:
            end.kill()
            end.join()
    return Run(case, packets, seen[0], seen[1]), lateness


def main() -> int:
    """Measure the named cases, or all, and write their records."""
    parser = argparse.ArgumentParser(prog="linux_reference", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the records go")
    parser.add_argument("cases", nargs="*", metavar="case", help=f"all if none is named: {' '.join(CASES)}")
    options = parser.parse_args()
    unknown = [name for name in options.cases if name not in CASES]
    if unknown:
        parser.error(f"case {unknown[0]!r} is not one of: {', '.join(CASES)}")
    if platform.system() != "Linux" or os.geteuid() != 0 or not Path("/dev/net/tun").exists():
        parser.error("it measures the kernel it runs on: Linux, root and /dev/net/tun are needed")
    records = options.folder / "records"
    records.mkdir(parents=True, exist_ok=True)
    for name in options.cases or CASES:
        for _ in range(ATTEMPTS):
            run, lateness = measure(CASES[name])
            late = sum(ns > LATE_NS for ns in lateness)
            sys.stderr.write(
                f"{name}: {late} of {len(lateness)} packets late, by {max(lateness) / 1e6:.3f} ms\n"
            )
            if late <= LATE_PART * len(lateness):
                write(run, records)
                break
        else:
            sys.stderr.write(f"{name}: not measured, this machine is too busy\n")
            return 1
    figures.write(records, options.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
