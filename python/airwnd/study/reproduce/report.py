"""Output of a reproduction: plots and numbers of each experiment, a page for each paper, and an index.

::

    out/index.html                    all papers, all claims
    out/verdicts.csv                  all claims with their verdicts, to compare two reproductions by `diff`
    out/<paper>/index.html            the paper's experiments
    out/<paper>/<figure>/set-ups.html checks and numbers in set-ups other than the shown one
    out/<paper>/<figure>/             plots, results.csv, results.json, and runs/ with the finished runs

The page of a single experiment, of ``airwnd sweep FOLDER``, is in the folder of its plots.

The pages need only this folder, and no network. They refer to its files by relative paths, so that the folder
can be moved or served as a whole.
"""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airwnd.plots import style
from airwnd.study.reproduce import figures, findings
from airwnd.study.reproduce.findings import ClaimText, Findings, PaperText
from airwnd.study.reproduce.paper import Paper
from airwnd.study.reproduce.runner import Results
from airwnd.study.reproduce.tables import as_csv
from airwnd.study.reproduce.verdict import CLASSES, Verdict, together
from airwnd.study.statistics import MIN_SEEDS
from airwnd.support.files import read_text, write_atomically
from airwnd.text.quantities import csv_cells, seconds_text
from airwnd.view.pages import environment, sealed

if TYPE_CHECKING:
    import jinja2

PAGE = "index.html"
VERDICTS = "verdicts.csv"
LIKELIEST = "likeliest.csv"
"""Claims of several papers at the likeliest set-up of each."""
LIKELIEST_OF_PAPER = "likeliest-claims.csv"
"""Claims at the likeliest set-up of a paper, in its folder."""
SETUPS = "set-ups.html"
TABLES = "tables.html"
#: Cells of all tables of an experiment on the page of its paper.
MAX_CELLS = 1000


def write(results: Results, root: Path) -> Findings:
    """Write the files of an experiment into its folder below `root`."""
    return _write(results, root / results.experiment.name)


def write_alone(results: Results, folder: Path) -> Path:
    """Write the files of an experiment and its page into one folder; return the path of the page."""
    found = _write(results, folder)
    _write_details(found, folder, PAGE)
    page = folder / PAGE
    write_atomically(page, _page("paper.html.j2", report=PaperReport(found["paper"], (found,)), alone=True))
    return page


def _write(results: Results, folder: Path) -> Findings:
    """Write the plots, ``results.csv`` and, as the last file, ``results.json``."""
    folder.mkdir(parents=True, exist_ok=True)
    found = findings.gather(results)
    for chart in found["charts"]:
        with style.styled(salt=chart["name"]):
            figure = figures.draw(chart)
            (folder / f"{chart['name']}.svg").write_text(figures.svg(figure, chart["name"]), encoding="utf-8")
            (folder / f"{chart['name']}.png").write_bytes(figures.png(figure))
    (folder / "results.csv").write_text(as_csv(results), encoding="utf-8")
    findings.write(found, folder)
    return found


def write_pages(root: Path, papers: Sequence[Paper] = (), published: Path | None = None) -> Path:
    """Write the pages of all results below `root`, and the index; return the path of the index.

    Parameters
    ----------
    root
        Output folder of :func:`write`.
    papers
        Papers to list in the index even without results.
    published
        Claims at the likeliest set-up, for papers that have not been searched in `root`; ``None``: unknown.
    """
    every = findings.read_all(root)
    likeliest = verdicts_in(published, "at_the_likeliest") if published else {}
    for path in sorted(root.glob(f"*/{LIKELIEST_OF_PAPER}")):
        likeliest |= verdicts_in(path, "at_the_likeliest")
    cards = {paper.key: findings.paper_text(paper) for paper in papers if paper.claims}
    cards.update({each["paper"]["key"]: each["paper"] for each in every})
    reports = [
        PaperReport(
            card,
            tuple(each for each in every if each["paper"]["key"] == key),
            likeliest,
        )
        for key, card in sorted(cards.items())
    ]
    for report in reports:
        if report.experiments:
            page = _page("paper.html.j2", report=report, alone=False)
            write_atomically(root / report.paper["key"] / PAGE, page)
    for found in every:
        _write_details(found, root / found["name"], f"../{PAGE}")
    write_atomically(root / VERDICTS, verdicts_csv(reports))
    index = root / PAGE
    write_atomically(index, _page("index.html.j2", reports=reports, total=Total(reports)))
    return index


def _write_details(found: Findings, folder: Path, home: str) -> None:
    """Write the pages of other set-ups and of large tables; `home` is the address of the page."""
    if found["shown"]:
        write_atomically(folder / SETUPS, _page("setups.html.j2", found=found, home=home))
    if _is_large(found):
        write_atomically(folder / TABLES, _page("tables.html.j2", found=found, home=home))


def _page(template: str, **values: object) -> str:
    found = _templates().get_template(template)
    return sealed(lambda number: found.render(**values, number=number))


@dataclass(frozen=True)
class Judged:
    """A claim of a paper, with the results of the experiments that judge it."""

    id: str
    where: str
    text: str
    by: tuple[tuple[Findings, ClaimText], ...]

    @property
    def verdict(self) -> Verdict | None:
        """Verdict of all experiments together; ``None``: no experiment judges the claim."""
        return together(Verdict(claim["verdict"]) for _, claim in self.by) if self.by else None


@dataclass(frozen=True)
class PaperReport:
    """A paper with its experiments, and the verdicts at its likeliest set-up."""

    paper: PaperText
    experiments: tuple[Findings, ...]
    likeliest: "PerClaim" = field(default_factory=dict)

    @cached_property
    def claims(self) -> list[Judged]:
        """The paper's claims, in the order of the paper."""
        by_id = findings.verdicts(self.experiments)
        listed = {name: (where, text) for name, where, text in self.paper["claims"]}
        for name, by in by_id.items():
            listed.setdefault(name, (by[0][1]["source"], by[0][1]["text"]))
        return [Judged(name, *about, tuple(by_id.get(name, ()))) for name, about in listed.items()]

    @property
    def judged(self) -> list[Judged]:
        """Claims with a verdict."""
        return [claim for claim in self.claims if claim.by]

    @property
    def rest(self) -> list[Judged]:
        """Claims without a verdict."""
        return [claim for claim in self.claims if not claim.by]

    @property
    def counts(self) -> dict[str, int]:
        """Number of claims by verdict; claims without an experiment count as ``not judged``."""
        return _counts(self.claims)


class Total:
    """Totals over all papers."""

    def __init__(self, reports: Iterable[PaperReport]) -> None:
        reports = list(reports)
        every = [each for report in reports for each in report.experiments]
        self.counts = _counts([claim for report in reports for claim in report.claims])
        self.experiments = len(every)
        self.runs = sum(each["runs"] for each in every)
        self.simulation_s = sum(each["simulation_s"] for each in every)
        self.previews = sum(each["preview"] for each in every)
        self.changed = sorted({text for each in every for text in each["changed"]})
        self.engines = sorted({each["engine"] for each in every})


NO_RESULT = "not judged"


def _counts(claims: Sequence[Judged]) -> dict[str, int]:
    names = [claim.verdict.value if claim.verdict else NO_RESULT for claim in claims]
    return {name: names.count(name) for name in (*(verdict.value for verdict in Verdict), NO_RESULT)}


def verdicts_csv(reports: Iterable[PaperReport]) -> str:
    """Return a CSV row for each claim and experiment that judges it, and for each claim not judged.

    The rows do not depend on time or speed of the reproduction.
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    about_experiment = ["experiment", "there", "set-ups", "effort", "seeds"]
    about_value = ["check", "place", "ours", "printed", "required"]
    writer.writerow(["paper", "claim", "where", "verdict", *about_experiment, *about_value])
    for report in reports:
        for claim in report.claims:
            about = [report.paper["key"], claim.id, claim.where, claim.verdict or NO_RESULT]
            for found, judged in claim.by:
                there = [found["name"], judged["verdict"], judged["setups"], found["effort"], judged["seeds"]]
                value = judged["decisive"]
                paper = value["paper"].replace("–", "")
                number = [value["check"], value["place"], value["ours"], paper, value["required"]]
                writer.writerow(csv_cells([*about, *there, *number]))
            if not claim.by:
                writer.writerow(csv_cells([*about, *[""] * len([*about_experiment, *about_value])]))
    return stream.getvalue()


PerClaim = Mapping[tuple[str, str], str]
"""Verdicts by experiment and claim."""


def verdicts_in(path: Path, column: str) -> dict[tuple[str, str], str]:
    """Read a column of verdicts by experiment and claim; empty without the file."""
    if not path.exists():
        return {}
    rows = csv.DictReader(read_text(path).splitlines())
    return {(row["experiment"], row["claim"]): row[column] for row in rows}


def _is_large(found: Findings) -> bool:
    """Whether the tables of an experiment have a page of their own, beside that of its paper."""
    return sum(len(table["rows"]) * len(table["columns"]) for table in found["tables"]) > MAX_CELLS


@cache
def _templates() -> "jinja2.Environment":
    templates = environment("airwnd.study.reproduce")
    templates.filters["seconds"] = seconds_text
    templates.filters["prose"] = _prose
    templates.globals["static"] = _static
    templates.globals["signs"] = {
        Verdict.HOLDS: "✓",
        Verdict.FAILS: "✗",
        Verdict.CLOSE: "=",
        Verdict.OPEN: "?",
        Verdict.AGREES: "≈",
        Verdict.UNSETTLED: "·",
    }
    templates.globals["setups"] = SETUPS
    templates.globals["tables"] = TABLES
    templates.tests["large"] = _is_large
    templates.globals["min_seeds"] = MIN_SEEDS
    classes: dict[Any, str] = {**CLASSES, None: "none", NO_RESULT: "none"}
    templates.globals["classes"] = classes
    return templates


def _prose(text: str) -> Any:
    """Convert a note to HTML: text in backquotes becomes code."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704 (it is escaped)


def _static(name: str) -> str:
    return resources.files("airwnd.study.reproduce").joinpath("static", name).read_text(encoding="utf-8")
