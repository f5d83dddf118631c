"""The report as one self-contained HTML page: answers first, each with its figures and a small picture."""

from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from airwnd.study.evaluate import strip
from airwnd.study.evaluate.report import CriterionText, Report, SuiteText
from airwnd.study.evaluate.suite import LEVELS, Suite, included
from airwnd.study.evaluate.worst import number, place_text, value_text, worst
from airwnd.support.files import write_atomically
from airwnd.view.pages import environment, sealed

if TYPE_CHECKING:
    import jinja2

HTML = "report.html"

_ANSWERS = {"meets": "meets", "does not": "fails", "not evaluated": "none"}
_SIGNS = {"meets": "✓", "does not": "✗", "not evaluated": "–"}


def write(report: Report, folder: Path) -> Path:
    """Write the page into a folder, and return its path."""
    template = templates().get_template("report.html.j2")
    path = folder / HTML
    write_atomically(path, sealed(lambda number: template.render(report=report, number=number)))
    return path


def ordered(suite: SuiteText) -> list[tuple[str, list[CriterionText]]]:
    """Return the criteria by level, those of the highest level first, each in the order of the source."""
    found = [
        (text, [each for each in suite.criteria if each.level == level]) for level, text in LEVELS.items()
    ]
    return [(text, criteria) for text, criteria in found if criteria]


def command(report: Report, suite: SuiteText, criterion: CriterionText) -> str:
    """Return the command that evaluates a criterion again."""
    words = ["airwnd evaluate", report.candidate.name]
    words += [f"--set {key}={value}" for key, value in report.candidate.parameters.items()]
    known = suite.name in included()
    words += [f"--suite {suite.name if known else f'{suite.name}.toml'}", f"--only {criterion.id}"]
    against, seeds = _usual(suite.name) if known else (suite.against, criterion.seeds)
    if suite.against != against:
        words.append(f"--against {','.join(suite.against)}")
    if criterion.seeds not in {0, seeds}:
        words.append(f"--seeds {criterion.seeds}")
    if suite.beacon:
        words.append(f"--beacon {suite.beacon}")
    return " ".join(words)


@cache
def _usual(name: str) -> tuple[list[str], int]:
    """Return the references beside candidates, and the number of seeds, of an included suite."""
    entry = Suite.load(name).entry
    return list(entry.against), entry.seeds


def templates() -> "jinja2.Environment":
    """Return the templates of the pages, with what they use."""
    found = environment("airwnd.study.evaluate")
    found.globals.update(
        answers=_ANSWERS,
        levels=LEVELS,
        signs=_SIGNS,
        command=command,
        ordered=ordered,
        place_text=place_text,
        strip=strip.draw,
        fronts=strip.fronts,
        style=static("report.css"),
        value_text=value_text,
        worst=worst,
        figure_text=number,
        markers=strip.marker,
    )
    return found


def static(name: str) -> str:
    """Return a style sheet or a script of the pages."""
    return resources.files("airwnd.study.evaluate").joinpath("static", name).read_text(encoding="utf-8")
