"""Suites of criteria as TOML files.

A suite lists the scenarios that it runs, the figures that it measures in each, and the criteria of its source
with their checks. A check is an expression over the measures of a scenario, with a requirement and the reason
for its threshold. ``docs/suites.md`` describes all keys.
"""

import hashlib
import shutil
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from msgspec import Meta, field

from airwnd.study.reader import (
    Entry,
    Heading,
    Id,
    Mistake,
    Seeds,
    Settings,
    Span,
    Text,
    distinct,
    load,
    one_of,
    placed,
)
from airwnd.study.reader import schema as schema_of
from airwnd.study.reproduce.claims import CheckEntry
from airwnd.study.reproduce.measure import Measure
from airwnd.support.errors import InputError

FOLDER = Path(__file__).parent / "suites"
"""Folder of the included suites."""

Kind = Literal["sender", "receiver", "queue"]
"""Kind of a candidate: a congestion control, a receive-window control, or a queue discipline."""

Level = Literal["must", "should", "may", "special"]

LEVELS: dict[Level, str] = {
    "must": "MUST",
    "should": "SHOULD",
    "may": "MAY",
    "special": "special case",
}
"""Levels of criteria, in the order of the report."""

CANDIDATE = "candidate"
BESIDE = "beside"
BOTTLENECK = "bottleneck"

_PER_FLOW = ("min", "max", "mean", "jain")


class FigureEntry(Measure, frozen=True):
    """A ``[[scenario.measure]]``: a figure read from each run, as a measure of an experiment."""

    each: Annotated[
        Literal["row", "flow"],
        Meta(description="Values of the statistic: the selected rows, or the mean of each flow over them."),
    ] = "row"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.each == "flow":
            one_of("statistic", self.statistic, _PER_FLOW)


class SettingEntry(Entry, frozen=True):
    """A ``[[scenario.setting]]``: a variant of a scenario."""

    name: Id
    text: Heading
    changes: Settings = field(default_factory=dict)


class ScenarioEntry(Entry, frozen=True):
    """A ``[[scenario]]``: a scenario, and the figures that are measured in it."""

    id: Id
    text: Annotated[Text, Meta(description="What it represents, with the source of its values.")]
    run: Annotated[dict[str, Any], Meta(description="The scenario, with the keys of a scenario file.")]
    measure: Annotated[tuple[FigureEntry, ...], Meta(min_length=1)]
    setting: tuple[SettingEntry, ...] = ()
    series: Annotated[Span | None, Meta(description="Sampling interval of the time series.")] = "100ms"

    def __post_init__(self) -> None:
        distinct("the measures", (each.name for each in self.measure), "measure")
        distinct("the settings", (each.name for each in self.setting), "setting")

    def has(self, role: str) -> bool:
        """Return whether a group of flows, or a link, has a role."""
        groups = self.run.get("flow", ())
        links = self.run.get("link", ())
        return any(str(each.get("id", "")).startswith(role) for each in groups) or any(
            each.get("name") == role for each in links
        )


class CriterionCheck(CheckEntry, frozen=True, kw_only=True):
    """A ``[[criterion.check]]``: an expression over the figures of a scenario, with a requirement."""

    scenario: Id

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.because:
            raise Mistake("because", "the reason for the threshold is missing")


class CriterionEntry(Entry, frozen=True):
    """A ``[[criterion]]``: a criterion of the source, and the checks that answer it."""

    id: Id
    section: Text
    title: Heading
    level: Level
    text: Annotated[Text, Meta(description="What the source asks, in short.")]
    check: tuple[CriterionCheck, ...] = ()
    not_evaluated: Annotated[str, Meta(description="What is not evaluated, and why.")] = ""

    def __post_init__(self) -> None:
        if not (self.check or self.not_evaluated):
            raise Mistake("", f"criterion {self.id} needs a [[criterion.check]] or `not_evaluated`")
        distinct(f"the checks of criterion {self.id}", (each.text for each in self.check), "check")


class SuiteFile(Entry, frozen=True, kw_only=True):
    """A suite of criteria."""

    name: Id
    title: Heading
    source: Annotated[Text, Meta(description="The document that states the criteria.")]
    candidates: Annotated[tuple[Kind, ...], Meta(min_length=1, description="Kinds of candidates.")]
    standard: Annotated[
        tuple[Text, ...],
        Meta(min_length=1, description="References whose figures are the levels `lowest` and `highest`."),
    ]
    against: Annotated[
        tuple[Text, ...], Meta(min_length=1, description="References beside which the candidate runs.")
    ]
    seeds: Seeds = 3
    scenario: Annotated[tuple[ScenarioEntry, ...], Meta(min_length=1)]
    criterion: Annotated[tuple[CriterionEntry, ...], Meta(min_length=1)]

    def __post_init__(self) -> None:
        distinct("[[scenario]]", [each.id for each in self.scenario])
        distinct("[[criterion]]", [each.id for each in self.criterion])


@dataclass(frozen=True)
class Suite:
    """A suite and its file."""

    path: Path
    entry: SuiteFile
    beacon: str = ""
    """Value from which scenarios and seeds are drawn; empty: they are those of the file."""
    first_seed: int = 1

    @classmethod
    def load(cls, name: str) -> Self:
        """Read a suite by the name of an included one, or by its path.

        Raises
        ------
        InputError
            If there is none, or if the file is invalid; one line with file, key and rule.
        """
        path = Path(name)
        if "/" not in name and path.suffix != ".toml":
            path = FOLDER / f"{name}.toml"
            if not path.is_file():
                raise InputError(
                    f"--suite {name}: unknown suite; included: {', '.join(included())}; or a file"
                )
        suite = cls(path, load(path, SuiteFile))
        suite._check()
        return suite

    @cached_property
    def digest(self) -> str:
        """SHA-256 digest of the file."""
        return hashlib.sha256(self.path.read_bytes()).hexdigest()

    @cached_property
    def scenarios(self) -> dict[str, ScenarioEntry]:
        """The scenarios by id."""
        return {each.id: each for each in self.entry.scenario}

    @cached_property
    def criteria(self) -> dict[str, CriterionEntry]:
        """The criteria by id."""
        return {each.id: each for each in self.entry.criterion}

    def _check(self) -> None:
        role = BOTTLENECK if self.entry.candidates == ("queue",) else CANDIDATE
        for index, scenario in enumerate(self.entry.scenario):
            with placed(str(self.path), f"scenario[{index}].run"):
                if not scenario.has(role):
                    what = "link named" if role == BOTTLENECK else "[[flow]] whose id begins with"
                    raise Mistake("", f"scenario {scenario.id} has no {what} `{role}`")
        for index, criterion in enumerate(self.entry.criterion):
            for number, check in enumerate(criterion.check):
                with placed(str(self.path), f"criterion[{index}].check[{number}]"):
                    one_of("scenario", check.scenario, self.scenarios)


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a suite."""
    return schema_of(SuiteFile)


def included() -> list[str]:
    """Return the names of the included suites."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def copy(name: str, folder: Path) -> list[Path]:
    """Copy a suite and the files that its scenarios name into a folder, and return their paths.

    Raises
    ------
    InputError
        If there is no such suite, or the folder has one of the files.
    """
    suite = Suite.load(name)
    texts = suite.path.read_text(encoding="utf-8")
    files = [
        suite.path,
        *(each for each in sorted(suite.path.parent.glob("*.rate")) if f'"{each.name}"' in texts),
    ]
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        if (folder / file.name).exists():
            raise InputError(f"{folder / file.name}: already there")
    return [Path(shutil.copyfile(file, folder / file.name)) for file in files]
