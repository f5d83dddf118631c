"""The tables of experiments/link/RESULTS.md are those of the measured data beside it."""

import csv
import re
import struct
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest

from .conftest import ROOT, script

DATA = ROOT / "experiments" / "link"
PAGE = DATA / "RESULTS.md"
LOADS = {"none": "0 loops"}
SHOWN = ("link", "load", "goodput Mbit/s", "p50 us", "p99 us", "max us", "CPU %", "calls per packet", "MB")


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_page_has_the_measured_lateness() -> None:
    page = PAGE.read_text(encoding="utf-8")
    head = re.search(r"^\| Link \| Load \|.*\n\|[-:|]+\|\n((?:\|.*\n)+)", page, re.MULTILINE)
    assert head
    shown = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in head[1].splitlines()]
    measured = [
        [row[column] for column in SHOWN]
        for row in rows(DATA / "lateness.csv")
        if row["load"] in LOADS.values()
    ]
    assert [[link, LOADS[load], *figures] for link, load, *figures in shown] == measured


@pytest.fixture(scope="module")
def coalesce() -> ModuleType:
    """The benchmark of `--coalesce`."""
    return script("coalesce", ROOT / "python" / "benches")


def test_the_page_has_the_measured_effect_of_coalescing(coalesce: ModuleType) -> None:
    data = pl.read_csv(DATA / "coalesce.csv")
    page = PAGE.read_text(encoding="utf-8")
    assert "\n".join(coalesce.table(data)) in page
    # Every cell, sender and option has as many sessions.
    counts = data.group_by("cell", "control", "coalesce").len()
    assert counts.height == len(coalesce.CELLS) * len(coalesce.CONTROLS) * 2
    assert counts["len"].n_unique() == 1


def test_acks_of_a_capture_are_counted(coalesce: ModuleType) -> None:
    def packet(at_ns: int, source: int, destination: int, payload: int, protocol: int = 6) -> bytes:
        ip = struct.pack("!BBHHHBBHII", 0x45, 0, 40 + payload, 0, 0, 64, protocol, 0, 0, 0)
        tcp = struct.pack("!HHIIBBHHH", source, destination, 0, 0, 5 << 4, 0x10, 0, 0, 0)
        # The payload is not kept.
        return struct.pack("=IIII", *divmod(at_ns, 10**9), 40, 40 + payload) + ip + tcp

    packets = [
        packet(1_000_000_000, 4000, 5201, 37),
        packet(1_100_000_000, 5201, 4001, 1448),
        packet(1_200_000_000, 5201, 4001, 1448),
        packet(1_300_000_007, 4001, 5201, 0),
        packet(1_400_000_000, 4000, 5201, 0),
        packet(1_500_000_000, 5201, 4001, 1448, protocol=17),
        packet(2_000_000_008, 4001, 5201, 0),
    ]
    head = struct.pack("=IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 120, 101)
    assert coalesce.acks(head + b"".join(packets)) == (2, [1_300_000_007, 2_000_000_008])
    with pytest.raises(ValueError, match="not a capture"):
        coalesce.acks(bytes(24))
