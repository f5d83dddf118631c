"""Results of a reproduction as plain data, ready to be shown.

They are stored as ``results.json`` next to the plots, so that the page of a paper can show all of its
experiments although they are run one at a time.
"""

import itertools
import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypedDict

from airwnd import _native
from airwnd.study.axis import Axis
from airwnd.study.reproduce.chart import Chart, chart
from airwnd.study.reproduce.claims import CheckResult, ClaimResult, Finding
from airwnd.study.reproduce.measure import Measure
from airwnd.study.reproduce.paper import Paper
from airwnd.study.reproduce.reasons import decisive, reason
from airwnd.study.reproduce.regions import SetUp, levels_text, setup_text
from airwnd.study.reproduce.runner import Results
from airwnd.study.reproduce.tables import Cell, side_by_side
from airwnd.study.reproduce.verdict import together
from airwnd.study.reproduce.words import (
    effort_text,
    finding_text,
    place_text,
    plain_value,
    seeds_text,
    setups_text,
    spread_of_findings,
)
from airwnd.study.space import ABSENT
from airwnd.support.errors import InputError
from airwnd.support.files import write_atomically

FILE = "results.json"
FORMAT = 9
"""Format version of the file; files of other versions are ignored."""


class CellText(TypedDict):
    """The paper's number, ours, half of our interval, and their difference; empty: unknown."""

    paper: str
    ours: str
    spread: str
    difference: str


class TableText(TypedDict):
    """A measure for all settings: a row of heads and cells for each combination of the first axes."""

    measure: str
    heads: list[str]
    columns: list[str]
    rows: list[tuple[list[str], list[CellText]]]
    has_paper: bool


class SettingsText(TypedDict):
    """All measures of the settings in set-ups other than the shown one, a row each."""

    heads: list[str]
    measures: list[str]
    rows: list[tuple[list[str], list[CellText]]]


class FindingText(TypedDict):
    """A check at one point; `shown`: it belongs to the set-up that plots and tables show."""

    place: str
    shown: bool
    paper: str
    ours: str
    verdict: str


class CheckText(TypedDict):
    """A check: its requirement and findings.

    ``elsewhere`` has, for each set-up except the shown one, the verdict and the findings of all points.
    """

    text: str
    required: str
    because: str
    decides: bool
    paper_agrees: bool | None
    verdict: str
    findings: list[FindingText]
    elsewhere: list[tuple[str, str, str]]


class MatrixText(TypedDict):
    """The verdict in each set-up: rows and columns are combinations of levels of the open axes.

    ``across`` has, for each axis of the columns, its label, and its levels with the number of columns that
    each spans. ``None``: the set-up does not exist, or no check covers it.
    """

    heads: list[str]
    across: list[tuple[str, list[tuple[str, int]]]]
    rows: list[tuple[list[str], list[str | None]]]


class DecisiveText(TypedDict):
    """The value that decides a claim: its check, ours with its interval, the paper's, and the requirement."""

    check: str
    place: str
    ours: str
    paper: str
    required: str


class ClaimText(TypedDict):
    """A claim with its verdict, the reason, the number of set-ups in which it holds, and each verdict.

    ``reason`` names the numbers that decide, ``cause`` the mechanism behind them; empty: not stated.
    ``seeds`` is the number of seeds of the values that decide, ``12`` or ``12 to 768``.
    """

    id: str
    text: str
    source: str
    notes: list[str]
    verdict: str
    reason: str
    cause: str
    setups: str
    seeds: str
    decisive: DecisiveText
    matrix: MatrixText | None
    checks: list[CheckText]


class AxisText(TypedDict):
    """An axis: for each level its label and its changes of the scenario.

    For an axis that the paper leaves open, `open` is the reason and `shown` the level of plots and tables.
    For an axis that exists only for some levels of others, `when` names these.
    """

    label: str
    open: str
    shown: str
    when: str
    levels: list[tuple[str, list[tuple[str, str]]]]


class PaperText(TypedDict):
    """A paper with all its claims: id, place and text of each."""

    key: str
    title: str
    citation: str
    doi: str
    claims: list[tuple[str, str, str]]


class Findings(TypedDict):
    """An experiment's results; `measured`: when and where it was measured, ``None`` if it was simulated."""

    format: int
    engine: str
    name: str
    figure: str
    paper: PaperText
    title: str
    place: str
    notes: list[str]
    settings: int
    seeds: int
    effort: str
    preview: bool
    shown: str
    runs: int
    measured: str | None
    quick: list[tuple[str, str]] | None
    changed: list[str]
    duration: str
    simulation_s: float
    elapsed_s: float
    reused: int
    jobs: int | None
    axes: list[AxisText]
    paper_source: str
    charts: list[Chart]
    tables: list[TableText]
    elsewhere: SettingsText | None
    claims: list[ClaimText]
    scenario: str


def gather(results: Results) -> Findings:
    """Convert the results of a reproduction to the form in which they are shown."""
    experiment, effort, space = results.experiment, results.effort, results.experiment.space
    return Findings(
        format=FORMAT,
        engine=_native.ENGINE,
        name=experiment.name,
        figure=experiment.folder.name,
        paper=paper_text(experiment.paper),
        title=experiment.title,
        place=experiment.place,
        notes=[*experiment.notes, *(experiment.notes_full if effort.full else ())],
        settings=len(list(experiment.settings())),
        seeds=effort.seeds,
        effort=effort_text(effort),
        preview=effort.preview,
        shown=setup_text(space.shown_setup, space.open),
        runs=results.runs,
        measured=None if experiment.measured is None else experiment.measured.source,
        quick=_changes(effort.changes) if effort.quick else None,
        changed=list(effort.overrides),
        duration=str(experiment.base(effort.changes).resolved["duration"]),
        simulation_s=results.simulation_s,
        elapsed_s=results.elapsed_s,
        reused=results.reused,
        jobs=results.jobs,
        axes=[
            AxisText(
                label=axis.label,
                open=axis.open or "",
                shown=levels_text(axis, [axis.shown]) if axis.open else "",
                when=", ".join(levels_text(space.by_name[on], names) for on, names in axis.when.items()),
                levels=[(level.label, _changes(level.changes)) for level in axis.levels],
            )
            for axis in experiment.axes
        ],
        paper_source=experiment.paper_source,
        charts=[chart(results, plot) for plot in experiment.plots],
        tables=_tables(results, space.shown),
        elsewhere=_settings_elsewhere(results),
        claims=[_claim(result, full=effort.full) for result in results.claims()],
        scenario=(experiment.folder / "scenario.toml").read_text(encoding="utf-8"),
    )


def paper_text(paper: Paper) -> PaperText:
    """Convert a paper to the form in which it is shown."""
    return PaperText(
        key=paper.key,
        title=paper.title,
        citation=paper.citation,
        doi=paper.doi,
        claims=[(claim.id, claim.where, claim.text) for claim in paper.claims],
    )


def write(findings: Findings, folder: Path) -> None:
    """Write ``results.json``."""
    write_atomically(folder / FILE, json.dumps(findings, indent=1, allow_nan=False) + "\n")


def read_all(root: Path) -> list[Findings]:
    """Read all results in ``root/PAPER/FIGURE``, in the order of the folders' names.

    Raises
    ------
    InputError
        If a file was not written by :func:`write`.
    """
    found = []
    for path in sorted(root.glob(f"*/*/{FILE}")):
        try:
            findings: Findings = json.loads(path.read_text(encoding="utf-8"))
            known = findings["format"] == FORMAT
        except (ValueError, KeyError, TypeError):
            raise InputError(f"{path}: not the results of a reproduction; remove the file") from None
        if known:
            found.append(findings)
    return found


def _changes(changes: Any) -> list[tuple[str, str]]:
    return [(key, plain_value(value)) for key, value in changes.items()]


def _tables(results: Results, setup: SetUp) -> list[TableText]:
    tables = (_table(results, measure, setup) for measure in results.experiment.measures)
    return [table for table in tables if table["rows"]]


def _table(results: Results, measure: Measure, setup: SetUp) -> TableText:
    layout = side_by_side(results, measure, setup)
    cells = [cell for _, row in layout.rows for cell in row]
    return TableText(
        measure=measure.axis_label,
        heads=list(layout.heads),
        columns=list(layout.columns),
        rows=[(list(heads), [_cell(cell) for cell in row]) for heads, row in layout.rows],
        has_paper=any(cell.paper is not None for cell in cells),
    )


def _settings_elsewhere(results: Results) -> SettingsText | None:
    """Return the settings outside the shown set-up; ``None``: the paper leaves nothing open."""
    experiment, space = results.experiment, results.experiment.space
    if not space.open:
        return None
    axes = [*space.open, *(axis for axis in space.axes if axis.open is None)]
    rows = []
    for setting in sorted(experiment.settings(), key=space.order(axes)):
        levels = dict(zip((axis.name for axis in space.axes), setting, strict=True))
        if all(levels[axis.name] in (axis.shown, ABSENT) for axis in space.open):
            continue
        cells = [
            Cell(measure, results.paper(setting, measure), results.estimate(setting, measure))
            for measure in experiment.measures
        ]
        rows.append(([_label(axis, levels[axis.name]) for axis in axes], [_cell(cell) for cell in cells]))
    return SettingsText(
        heads=[axis.label for axis in axes],
        measures=[measure.axis_label for measure in experiment.measures],
        rows=rows,
    )


def _cell(cell: Cell) -> CellText:
    return CellText(
        paper=cell.paper_text, ours=cell.ours_text, spread=cell.spread_text, difference=cell.difference_text
    )


def _claim(result: ClaimResult, *, full: bool) -> ClaimText:
    claim = result.claim
    return ClaimText(
        id=claim.id,
        text=claim.text,
        source=claim.source,
        notes=[note for note in (claim.note, claim.note_full if full else "") if note],
        verdict=result.verdict.value,
        reason=reason(result),
        cause=claim.cause if full else "",
        setups=setups_text(result),
        seeds=seeds_text(result),
        decisive=_decisive(result),
        matrix=_matrix(result),
        checks=[_check(check) for check in result.checks],
    )


def _decisive(result: ClaimResult) -> DecisiveText:
    of, finding = decisive(result)
    return DecisiveText(
        check=of.check.text,
        place=place_text(finding.place) if finding.place else "",
        ours=finding_text(of.check, finding),
        paper=_paper_text(of, finding),
        required=of.check.requirement.text,
    )


_COLUMNS = 12
"""Maximum number of columns of verdicts, as signs."""


def _matrix(result: ClaimResult) -> MatrixText | None:
    """Lay out the verdicts in all set-ups; ``None``: the paper leaves nothing open."""
    setups, space = result.setups, result.checks[0].check.space
    axes = [axis for axis in space.open if any(axis.name in setup for setup, _ in setups)]
    if not axes:
        return None
    first = len(axes) - 1
    while first > 1 and math.prod(len(axis.names) for axis in axes[first - 1 :]) <= _COLUMNS:
        first -= 1
    down, across = axes[:first], axes[first:]
    cells: dict[tuple[str, ...], dict[tuple[str, ...], str]] = {}
    columns: dict[tuple[str, ...], None] = {}
    for setup, verdict in setups:
        row, column = (tuple(setup.get(axis.name, ABSENT) for axis in part) for part in (down, across))
        cells.setdefault(row, {})[column] = verdict.value
        columns[column] = None
    return MatrixText(
        heads=[axis.label for axis in down],
        across=[(axis.label, _spans(axis, index, list(columns))) for index, axis in enumerate(across)],
        rows=[
            ([_label(axis, name) for axis, name in zip(down, row, strict=True)], [*map(of.get, columns)])
            for row, of in cells.items()
        ],
    )


def _spans(axis: Axis, index: int, columns: list[tuple[str, ...]]) -> list[tuple[str, int]]:
    """Return the levels of an axis above the columns, each with the number of columns that it spans."""
    groups = itertools.groupby(columns, key=lambda column: column[: index + 1])
    return [(_label(axis, key[index]), len(list(group))) for key, group in groups]


def _label(axis: Axis, name: str) -> str:
    return axis.level(name).label if name != ABSENT else "–"


def _check(result: CheckResult) -> CheckText:
    check = result.check
    return CheckText(
        text=check.text,
        required=check.requirement.text,
        because=check.because,
        decides=check.decides,
        paper_agrees=result.paper_agrees,
        verdict=result.verdict.value,
        findings=_findings(result),
        elsewhere=_elsewhere(result),
    )


def _findings(result: CheckResult) -> list[FindingText]:
    """Return the findings; if none belongs to the shown set-up, all are marked as shown."""
    shown = result.at(result.check.space.shown) or result.findings
    return [_finding(result, finding, shown=finding in shown) for finding in result.findings]


def _elsewhere(result: CheckResult) -> list[tuple[str, str, str]]:
    """Summarise the check in each set-up except the shown one."""
    space = result.check.space
    shown = result.at(space.shown) or result.findings
    return [
        (
            setup_text(dict(setup), space.open),
            together(finding.verdict for finding in found).value,
            spread_of_findings(CheckResult(result.check, tuple(found))),
        )
        for setup, found in result.by_setup.items()
        if found[0] not in shown
    ]


def _finding(result: CheckResult, finding: Finding, *, shown: bool) -> FindingText:
    return FindingText(
        place=place_text(finding.place),
        shown=shown,
        paper=_paper_text(result, finding),
        ours=finding_text(result.check, finding),
        verdict=finding.verdict.value,
    )


def _paper_text(result: CheckResult, finding: Finding) -> str:
    paper = finding.paper
    return "–" if paper is None or math.isnan(paper) else f"{paper:z.{result.check.digits}f}"


def verdicts(findings: Iterable[Findings]) -> dict[str, list[tuple[Findings, ClaimText]]]:
    """Group claims by id: several experiments may judge the same claim."""
    sorted_: dict[str, list[tuple[Findings, ClaimText]]] = {}
    for each in findings:
        for claim in each["claims"]:
            sorted_.setdefault(claim["id"], []).append((each, claim))
    return sorted_
