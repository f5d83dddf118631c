"""The report of an evaluation as JSON, whose bytes depend on nothing but its inputs.

It has no times and no paths of this machine: the same evaluation gives the same file anywhere. The
digests name all that a figure depends on: the engine, the candidate, each criterion with its thresholds,
and each scenario. ``airwnd schema report`` prints its schema.
"""

import hashlib
import json
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from airwnd import _native
from airwnd.study.evaluate.candidate import digest
from airwnd.study.evaluate.contest import Contest
from airwnd.study.evaluate.evaluation import Counts
from airwnd.study.evaluate.judge import Answer, CheckResult, CriterionResult, Finding
from airwnd.study.evaluate.suite import CANDIDATE, CriterionEntry, Level, ScenarioEntry
from airwnd.study.reader import duplicate
from airwnd.study.statistics import Interval
from airwnd.support.errors import InputError
from airwnd.support.files import write_atomically
from airwnd.support.seal import is_sealed, sealed

FORMAT = "airwnd-evaluation-1"
JSON = "report.json"

AnswerText = Literal["meets", "does not", "not evaluated"]


def _distinct(what: str, names: Iterable[Hashable]) -> None:
    """Raise an error for a duplicate: rows are compared by name."""
    if (name := duplicate(names)) is not None:
        raise ValueError(f"two {what} are called `{name}`")


class Figure(msgspec.Struct, frozen=True):
    """A mean over the seeds with its interval; null: undefined, or too few seeds for an interval."""

    mean: float | None
    low: float | None
    high: float | None


class Result(msgspec.Struct, frozen=True):
    """A check at one point: the reference beside the candidate and the setting, where there are any."""

    beside: str | None
    setting: str | None
    values: list[float | None]
    """The value of each seed, from 1 on; null: undefined."""
    figure: Figure
    references: dict[str, Figure]
    """The same figure with each reference in the candidate's place."""
    answer: AnswerText
    reason: str


class CheckText(msgspec.Struct, frozen=True):
    """A check with its results."""

    text: str
    scenario: str
    expression: str
    required: str
    above: float | None
    """The value must be above; null: no limit."""
    below: float | None
    because: str
    unit: str
    digits: int
    decides: bool
    answer: AnswerText
    results: Annotated[list[Result], Meta(min_length=1)]

    def __post_init__(self) -> None:
        _distinct("results", (", ".join(filter(None, (each.beside, each.setting))) for each in self.results))


class CriterionText(msgspec.Struct, frozen=True):
    """A criterion with its answer."""

    id: str
    section: str
    title: str
    level: Level
    text: str
    answer: AnswerText
    reason: str
    """Reason why it is not evaluated."""
    not_evaluated: str
    """Criteria that the suite leaves out, and why."""
    seeds: Annotated[int, Meta(ge=0)]
    """Number of seeds of each run; 0: not run."""
    confidence: float
    sha256: str
    """Digest of the criterion with its checks and thresholds."""
    scenarios: dict[str, str]
    """Digests of its scenarios by id, with settings and figures."""
    checks: list[CheckText]

    def __post_init__(self) -> None:
        _distinct("checks", (each.text for each in self.checks))


class SuiteText(msgspec.Struct, frozen=True):
    """A suite with its answers."""

    name: str
    title: str
    source: str
    sha256: str
    beacon: str
    """Value of the beacon from which scenarios and seeds are drawn; empty: they are those of the suite."""
    standard: list[str]
    against: list[str]
    settings: dict[str, dict[str, str]]
    """Description of each setting, by scenario and name."""
    criteria: Annotated[list[CriterionText], Meta(min_length=1)]

    def __post_init__(self) -> None:
        _distinct("criteria", (each.id for each in self.criteria))


class CandidateText(msgspec.Struct, frozen=True):
    """The candidate."""

    name: str
    kind: str
    parameters: dict[str, Any]
    """Parameters that were given."""
    sha256: str
    """Digest of all its parameters, and of its code."""


class Report(msgspec.Struct, frozen=True):
    """An evaluation."""

    format: str
    airwnd: str
    engine: str
    """Digest of the engine; results of different engines may differ."""
    candidate: CandidateText
    suites: Annotated[list[SuiteText], Meta(min_length=1)]

    def __post_init__(self) -> None:
        _distinct("suites", (each.name for each in self.suites))

    def criteria(self) -> list[tuple[SuiteText, CriterionText]]:
        """List the criteria of all suites."""
        return [(suite, criterion) for suite in self.suites for criterion in suite.criteria]


class _Format(msgspec.Struct, frozen=True):
    """The part of a report that every version has."""

    format: str


class _File(Report, frozen=True):
    """The report as a file: `digest` is that of all preceding bytes."""

    digest: str


@dataclass(frozen=True)
class Done:
    """The results of a contest."""

    contest: Contest
    results: Sequence[CriterionResult]
    counts: Counts


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a report."""
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(msgspec.json.schema(_File)))
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **found}


def gather(done: Sequence[Done]) -> Report:
    """Create the report of an evaluation."""
    candidate = done[0].contest.candidate
    return Report(
        format=FORMAT,
        airwnd=_native.VERSION,
        engine=_native.ENGINE,
        candidate=CandidateText(
            candidate.name, candidate.kind, candidate.parameters, candidate_digest(done[0].contest)
        ),
        suites=[_suite(each) for each in done],
    )


def written(report: Report) -> bytes:
    """Return the bytes of a report."""
    return sealed(json.dumps(msgspec.to_builtins(report), ensure_ascii=False, indent=1, allow_nan=False))


def write(report: Report, folder: Path) -> Path:
    """Write a report into a folder, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / JSON
    write_atomically(path, written(report))
    return path


def read(path: Path) -> Report:
    """Read a report.

    Raises
    ------
    InputError
        If the file is no report, has been changed, or is of another version.
    """
    data = path.read_bytes()
    if not is_sealed(data):
        raise InputError(f"{path}: not a report of airwnd evaluate, or changed since it was written")
    try:
        # First, since the keys of another version are others.
        if (name := msgspec.json.decode(data, type=_Format).format) != FORMAT:
            raise InputError(f"{path}: format {name}; this version reads {FORMAT}")
        return msgspec.json.decode(data, type=Report)
    except msgspec.DecodeError as error:
        raise InputError(f"{path}: not a report that this version can read: {error}") from None


def candidate_digest(contest: Contest) -> str:
    """Return the digest of a candidate, with all its parameters and its code."""
    subject = contest.candidate
    if subject.outside is not None:
        return digest({**subject.parameters, "code": contest.code_digest})
    for entry in contest.suite.entry.scenario:
        point = next(point for point in contest.points(entry) if point.who == CANDIDATE)
        resolved = contest.scenario(entry, point).resolved
        rows = resolved["link"] if subject.kind == "queue" else resolved["flow"]
        for row in rows:
            value = row.get(subject.key)
            if isinstance(value, dict) and value["kind"] == subject.value["kind"]:
                return digest(value)
    raise AssertionError("every scenario of a suite has a place for the candidate")


def criterion_digest(entry: CriterionEntry) -> str:
    """Return the digest of a criterion with its checks."""
    return _digest(msgspec.to_builtins(entry))


def scenario_digest(contest: Contest, entry: ScenarioEntry) -> str:
    """Return the digest of a scenario: as the suite writes it, resolved in each setting, with its figures."""
    scenarios = [json.loads(each.canonical) for each in contest.written(entry)]
    return _digest([scenarios, msgspec.to_builtins(entry.measure), entry.series])


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _suite(done: Done) -> SuiteText:
    contest, entry = done.contest, done.contest.suite.entry
    names = {check.check.entry.scenario for result in done.results for check in result.checks}
    used = [each for each in entry.scenario if each.id in names]
    digests = {each.id: scenario_digest(contest, each) for each in used}
    return SuiteText(
        name=entry.name,
        title=entry.title,
        source=entry.source,
        sha256=contest.suite.digest,
        beacon=contest.suite.beacon,
        standard=list(entry.standard),
        against=list(contest.against),
        settings={
            each.id: {setting.name: setting.text for setting in each.setting} for each in used if each.setting
        },
        criteria=[_criterion(result, digests) for result in done.results],
    )


def _criterion(result: CriterionResult, digests: Mapping[str, str]) -> CriterionText:
    entry = result.entry
    names = dict.fromkeys(check.check.entry.scenario for check in result.checks)
    return CriterionText(
        id=entry.id,
        section=entry.section,
        title=entry.title,
        level=entry.level,
        text=entry.text,
        answer=_text(result.answer),
        reason=result.why,
        not_evaluated=entry.not_evaluated,
        seeds=result.seeds,
        confidence=round(result.confidence, 6),
        sha256=criterion_digest(entry),
        scenarios={name: digests[name] for name in names},
        checks=[_check(each) for each in result.checks],
    )


def _check(result: CheckResult) -> CheckText:
    entry, requirement = result.check.entry, result.check.requirement
    return CheckText(
        text=entry.text,
        scenario=entry.scenario,
        expression=entry.expression,
        required=requirement.text,
        above=_finite(requirement.low),
        below=_finite(requirement.high),
        because=entry.because,
        unit=entry.unit,
        digits=entry.digits,
        decides=entry.decides,
        answer=_text(result.answer),
        results=[_result(each) for each in result.findings],
    )


def _result(finding: Finding) -> Result:
    return Result(
        beside=finding.place.get("beside"),
        setting=finding.place.get("setting"),
        values=[_finite(value) for value in finding.values],
        figure=_figure(finding.found),
        references={name: _figure(found) for name, found in finding.references.items()},
        answer=_text(finding.answer),
        reason=finding.reason,
    )


def _figure(found: Interval) -> Figure:
    return Figure(_finite(found.mean), _finite(found.low), _finite(found.high))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _text(answer: Answer) -> AnswerText:
    return answer.value
