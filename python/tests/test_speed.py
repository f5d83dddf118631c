"""The figures about speed in the README and on the page of results are those of one file."""

import csv
from typing import Any

import pytest

import airwnd

from .conftest import ROOT

FOLDER = ROOT / "experiments" / "performance"
BENCHES = ROOT / "python" / "benches"
with (FOLDER / "speed.csv").open(encoding="utf-8", newline="") as file:
    ROWS = {row["scenario"]: row for row in csv.DictReader(file)}
SCENARIOS = {"S3 a, 100 UEs": "s3a", "S3 b, 100 UEs": "s3b", "S5": "s5"}


def per_segment(row: dict[str, Any]) -> int:
    """Return the instructions for a delivered segment."""
    instructions = float(row["million_instructions_per_s"]) * 1e6 * float(row["simulated_s"])
    return round(instructions / float(row["delivered_segments"]))


def test_the_readme_and_the_page_have_the_measured_figures() -> None:
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    a, b, wire = (ROWS[name] for name in SCENARIOS)
    wanted = (
        f"costs {per_segment(wire):,} instructions on a wire and {per_segment(b):,} to {per_segment(a):,} in "
        f"saturated cells of 100 UEs, where ns-3 takes {b['ratio']} to {a['ratio']} times the processor time"
    )
    assert wanted in readme
    page = (FOLDER / "RESULTS.md").read_text(encoding="utf-8")
    for name, row in ROWS.items():
        assert (
            f"| {name} | {per_segment(row):,} | {row['airwnd_cpu_s']} | {row['ns3_cpu_s']} | {row['ratio']} "
            f"({row['min_ratio']} to {row['max_ratio']}) |"
        ) in page


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_counts_are_the_stored_ones_and_their_segments_those_of_a_run(name: str) -> None:
    row = ROWS[name]
    file = f"peers/{SCENARIOS[name]}.toml"
    with (BENCHES / "instructions.csv").open(encoding="utf-8", newline="") as stored:
        *_, last = (each for each in csv.DictReader(stored) if each["scenario"] == file)
    assert [row[key] for key in ("simulated_s", "million_instructions_per_s")] == [
        last[key] for key in ("simulated_s", "million_instructions_per_s")
    ]
    run = airwnd.Scenario.load(BENCHES / file).with_(duration=f"{row['simulated_s']}s").run()
    assert run.flows["packets_received"].sum() == int(row["delivered_segments"])
