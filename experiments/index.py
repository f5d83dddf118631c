"""Writes the table of the papers' claims in README.md: verdicts, numbers and causes.

::

    python experiments/index.py

Verdicts and numbers are those of ``verdicts.csv`` and ``likeliest.csv``, statements those of each
``paper.toml``, and causes those of each ``claims.toml``. Of several experiments that judge a claim, the first
one with its verdict is shown.
"""

import csv
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = HERE / "README.md"
BEGIN, END = "<!-- index.py begins -->\n", "<!-- index.py ends -->\n"
HEADS = ("Claim", "Over all set-ups", "At the likeliest", "Number that decides", "Ours", "Paper", "Why")
VERDICTS = {
    "holds": "hold",
    "holds in part": "hold in part",
    "does not hold": "do not hold",
    "too close to tell": "are too close to tell",
    "not decided": "are not decided",
}
"""The verb of several claims for each verdict."""
PAPERS = ("arwa-2019", "constant-cwnd", "dfcsd-2019", "e2e-tcp-over-lte", "smred-2017")


def rows(name: str) -> list[dict[str, str]]:
    """Read a CSV file next to this program."""
    with (HERE / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def judged() -> dict[str, dict[str, str]]:
    """Return the row of each claim of the papers that has its verdict."""
    found: dict[str, dict[str, str]] = {}
    for row in rows("verdicts.csv"):
        known = found.get(row["claim"])
        if row["paper"] in PAPERS and (known is None or known["there"] != known["verdict"]):
            found[row["claim"]] = row
    return found


def entry(path: Path, claim: str) -> dict[str, str]:
    """Return the entry of a claim in a file."""
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["claim"]
    found: dict[str, str] = next(each for each in entries if each["id"] == claim)
    return found


def table() -> Iterator[str]:
    """Yield the lines of the table."""
    likeliest = {(row["experiment"], row["claim"]): row["at_the_likeliest"] for row in rows("likeliest.csv")}
    yield f"| {' | '.join(HEADS)} |\n"
    yield f"|{'---|' * len(HEADS)}\n"
    for claim, row in judged().items():
        folder = HERE / row["experiment"]
        statement, judgement = (
            entry(folder.parent / "paper.toml", claim),
            entry(folder / "claims.toml", claim),
        )
        page = f"{row['experiment']}/README.md"
        has_section = f"## Cause of {claim}\n" in (HERE / page).read_text(encoding="utf-8")
        anchor = f"#cause-of-{claim.lower()}" if has_section else ""
        cells = (
            f"[{claim}]({page}{anchor}) {statement['text']}",
            row["verdict"] + _share(row["set-ups"]),
            likeliest.get((row["experiment"], claim), "–"),
            row["check"] + (f" ({row['place']})" if row["place"] else ""),
            row["ours"].removeprefix("'"),
            row["printed"] or row["required"],
            judgement.get("cause", "–"),
        )
        yield f"| {' | '.join(cells)} |\n"


def _share(setups: str) -> str:
    """Return ``, 18 of 72``, the number of set-ups in which a claim holds; empty: none is left open."""
    counts = re.match(r"holds in (\d+ of \d+) set-ups?", setups)
    return f", {counts[1]}" if counts else ""


def total() -> str:
    """Return the numbers of claims by verdict in a sentence."""
    counts = Counter(row["verdict"] for row in judged().values())
    *most, last = [f"{counts[each]} {said}" for each, said in VERDICTS.items() if counts[each]]
    return f"Of {counts.total()} claims, {', '.join(most)} and {last}.\n\n"


def page() -> str:
    """Return the page with its table and numbers."""
    text = PAGE.read_text(encoding="utf-8")
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    return f"{before}{BEGIN}\n{total()}{''.join(table())}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
