"""The board: a static site of many reports, with a table and a Pareto front for each suite."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from airwnd.study.evaluate import page, report, strip
from airwnd.study.evaluate.report import CriterionText, Report, SuiteText
from airwnd.support.errors import InputError
from airwnd.support.files import check_folder, write_atomically
from airwnd.view.pages import sealed

if TYPE_CHECKING:
    from markupsafe import Markup

INDEX = "index.html"


@dataclass(frozen=True)
class Entry:
    """A candidate in a suite.

    Attributes
    ----------
    number
        Its number in the picture.
    link
        Address of its page.
    """

    number: int
    report: Report
    suite: SuiteText
    link: str

    @property
    def name(self) -> str:
        """Name of the candidate with the parameters that were given."""
        candidate = self.report.candidate
        given = ", ".join(f"{key} = {value}" for key, value in candidate.parameters.items())
        return f"{candidate.name} ({given})" if given else candidate.name

    def count(self, answer: str) -> int:
        """Return the number of criteria with an answer."""
        return sum(each.answer == answer for each in self.suite.criteria)

    @property
    def by_id(self) -> dict[str, CriterionText]:
        """The criteria by id."""
        return {each.id: each for each in self.suite.criteria}

    @property
    def median(self) -> tuple[float, float] | None:
        """Medians of delay and goodput relative to the standard references; ``None``: too few scenarios."""
        return strip.medians(self.suite)


@dataclass(frozen=True)
class Group:
    """Reports of the same scenarios beside the same references on the same engine, which can be compared."""

    suite: SuiteText
    engine: str
    entries: tuple[Entry, ...]

    @property
    def criteria(self) -> list[CriterionText]:
        """The criteria that some entry has, beginning with those of the longest report."""
        found: dict[str, CriterionText] = {}
        for entry in sorted(self.entries, key=lambda entry: -len(entry.suite.criteria)):
            for each in entry.suite.criteria:
                found.setdefault(each.id, each)
        return list(found.values())

    def picture(self) -> "Markup | None":
        """Draw goodput against delay of all entries; ``None``: fewer than two have both."""
        points = [(each.number, each.name, each.median) for each in self.entries]
        return strip.board([(number, name, at) for number, name, at in points if at is not None])


def write(folder: Path, out: Path) -> Path:
    """Write the board of all reports in a folder and its subfolders, and return the path of its index.

    Raises
    ------
    InputError
        If there are no reports, or one is damaged.
    """
    paths = sorted(path for path in folder.rglob(report.JSON) if out.resolve() not in path.resolve().parents)
    if not paths:
        raise InputError(f"{folder}: no {report.JSON} of airwnd evaluate")
    found = [(path, report.read(path)) for path in paths]
    check_folder(out)
    links = {}
    for number, (path, each) in enumerate(found, start=1):
        entry = out / "entries" / str(number)
        entry.mkdir(parents=True, exist_ok=True)
        page.write(each, entry)
        shutil.copyfile(path, entry / report.JSON)
        links[number] = f"entries/{number}/{page.HTML}"
    template = page.templates().get_template("board.html.j2")
    grouped = groups([(links[number], each) for number, (_, each) in enumerate(found, start=1)])
    index = out / INDEX
    write_atomically(
        index,
        sealed(lambda number: template.render(groups=grouped, number=number, script=page.static("board.js"))),
    )
    return index


def groups(found: Sequence[tuple[str, Report]]) -> list[Group]:
    """Group reports that differ in nothing but the candidate, each with the address of its page."""
    alike: dict[tuple[str, str, str, tuple[str, ...], str], list[tuple[str, Report, SuiteText]]] = {}
    for link, each in found:
        for suite in each.suites:
            key = (suite.name, suite.sha256, suite.beacon, tuple(suite.against), each.engine)
            alike.setdefault(key, []).append((link, each, suite))
    return [
        Group(
            rows[0][2],
            engine,
            tuple(
                Entry(number, each, suite, link) for number, (link, each, suite) in enumerate(rows, start=1)
            ),
        )
        for (*_, engine), rows in sorted(alike.items())
    ]
