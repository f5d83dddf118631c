"""The page on the papers' claims has the verdicts of `verdicts.csv`."""

import csv
import re
from collections.abc import Iterator

from .conftest import ROOT

EXPERIMENTS = ROOT / "experiments"
PAGE = (EXPERIMENTS / "README.md").read_text(encoding="utf-8")
COLUMNS = {
    "holds": "Holds",
    "holds in part": "In part",
    "does not hold": "Does not hold",
    "too close to tell": "Too close",
    "not decided": "Not decided",
}
"""The column of the table for each verdict."""
SAID = {
    "hold": "holds",
    "hold in part": "holds in part",
    "in part": "holds in part",
    "do not hold": "does not hold",
    "are too close to tell": "too close to tell",
    "are not decided": "not decided",
    "is not decided": "not decided",
}
"""Other words for verdicts, in sentences and in the table of open choices."""


def verdicts() -> dict[str, str]:
    """Read the verdicts on the claims of papers, not those of our own studies."""
    with (EXPERIMENTS / "verdicts.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {row["claim"]: row["verdict"] for row in rows if f"(`{row['paper']}`)" in PAGE}


def table(head: str) -> Iterator[dict[str, str]]:
    """Yield the rows of the first table whose head begins with this cell."""
    lines = iter(PAGE.splitlines())
    heads = next(line for line in lines if line.startswith(f"| {head} |"))
    next(lines)
    for line in lines:
        if not line.startswith("|"):
            return
        yield dict(zip(_cells(heads), _cells(line), strict=True))


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def test_the_index_lists_each_claim_with_its_verdict() -> None:
    *rows, total = table("Paper")
    listed = {
        claim: verdict
        for row in rows
        for verdict, column in COLUMNS.items()
        for claim in re.findall(r"\b[A-Z]\d\d\b", row[column])
    }
    assert listed == verdicts()
    counts = {verdict: [*listed.values()].count(verdict) for verdict in COLUMNS}
    assert total["Paper"] == f"**of {len(listed)}**"
    assert {verdict: int(total[column]) for verdict, column in COLUMNS.items()} == counts
    stated = re.search(r"of them: (.*?)\. `airwnd", PAGE, re.DOTALL)
    assert stated
    said = re.findall(r"(\d+) ((?:[a-z]+ ?)+)", " ".join(stated[1].split()))
    assert {SAID[words]: int(count) for count, words in said} == {
        verdict: count for verdict, count in counts.items() if count
    }


def test_the_table_of_open_choices_lists_the_claims_that_depend_on_them() -> None:
    listed = {
        claim: SAID.get(row["Verdict"], row["Verdict"])
        for row in table("Claim")
        for claim in row["Claim"].split(", ")
    }
    open_verdicts = ("holds in part", "not decided")
    assert listed == {claim: verdict for claim, verdict in verdicts().items() if verdict in open_verdicts}
