"""The tables of docs/accuracy-of-link.md are those of the measured data beside it."""

import csv
import re
from pathlib import Path

import pytest

from .conftest import ROOT

PAGE = ROOT / "docs" / "accuracy-of-link.md"
DATA = ROOT / "docs" / "data"
LOADS = {"none": "0 loops", "a busy loop per core": "2 loops"}
SHOWN = ("link", "load", "goodput Mbit/s", "p50 us", "p99 us", "max us", "CPU %")


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("name", ["link-lateness.csv", "link-lateness-user.csv"])
def test_the_page_has_the_measured_lateness(name: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    after = page[page.index(f"(data/{name})") :]
    head = re.search(r"^\| Link \| Load \|.*\n\|[-:|]+\|\n((?:\|.*\n)+)", after, re.MULTILINE)
    assert head
    shown = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in head[1].splitlines()]
    measured = [[row[column] for column in SHOWN] for row in rows(DATA / name)]
    assert [[link, LOADS[load], *figures] for link, load, *figures in shown] == measured
