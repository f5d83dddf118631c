"""Records of a run: all packets, samples of both endpoints, the kernel's counters."""

import csv
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from .cases import Case
from .ends import Sample
from .path import Packet


@dataclass(frozen=True)
class Run:
    """A run; the data of an endpoint are its start in ns, its samples and the counters of its namespace."""

    case: Case
    packets: list[Packet]
    sender: tuple[int, list[Sample], dict[str, int]]
    receiver: tuple[int, list[Sample], dict[str, int]]


def write(run: Run, folder: Path) -> None:
    """Write tables named after the case."""
    name = run.case.name
    _table(
        folder / f"{name}.packets.csv",
        [
            {**vars(p), "forward": int(p.forward), "sack": " ".join(f"{a}-{b}" for a, b in p.sack)}
            for p in run.packets
        ],
    )
    begin = run.sender[0]
    for end, (_, samples, _) in (("sender", run.sender), ("receiver", run.receiver)):
        rows = [{**asdict(s), "at_ns": s.at_ns - begin} for s in samples]
        _table(folder / f"{name}.{end}.csv", rows)
    counts = [
        {"end": end, "counter": name, "value": value}
        for end, (_, _, counters) in (("sender", run.sender), ("receiver", run.receiver))
        for name, value in counters.items()
        if value
    ]
    _table(folder / f"{name}.counters.csv", counts)


def _table(path: Path, rows: Sequence[dict[str, object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, fieldnames=list(rows[0]) if rows else [], lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
