"""Runs of a suite: each scenario with the candidate and each reference in the candidate's place."""

import copy
import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from airwnd._native import ScenarioError
from airwnd.plugins.permission import PLUGIN_TIMEOUT_S, CodePolicy
from airwnd.scenario.scenario import Scenario
from airwnd.study.evaluate.candidate import Subject, parse
from airwnd.study.evaluate.suite import BESIDE, BOTTLENECK, CANDIDATE, ScenarioEntry, Suite
from airwnd.support.errors import InputError

LOWEST, HIGHEST = "lowest", "highest"
"""Levels of `who`: the lowest and the highest value of the standard references, seed by seed."""


@dataclass(frozen=True, slots=True)
class Point:
    """A run apart from its seed.

    Attributes
    ----------
    who
        Algorithm in the candidate's place: `CANDIDATE`, or the name of a reference.
    beside
        Reference of the flows beside it; empty: there are none.
    setting
        Name of the setting; empty: the scenario has none.
    """

    who: str
    beside: str = ""
    setting: str = ""


@dataclass(frozen=True)
class Contest:
    """A candidate, the references, and a suite.

    Attributes
    ----------
    suite, candidate
        The suite and the candidate.
    references
        References by name: the standard ones, and those beside which the candidate runs.
    against
        Names of the references beside which the candidate runs.
    plugin_timeout_s
        Wall-clock limit of each call of a plug-in, in seconds.
    """

    suite: Suite
    candidate: Subject
    references: Mapping[str, Subject]
    against: tuple[str, ...]
    plugin_timeout_s: float = PLUGIN_TIMEOUT_S
    _made: dict[tuple[str, Point], Scenario] = field(default_factory=dict, repr=False)
    _as_written: dict[tuple[str, str], Scenario] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls,
        suite: Suite,
        candidate: Subject,
        against: tuple[str, ...] = (),
        plugin_timeout_s: float = PLUGIN_TIMEOUT_S,
    ) -> "Contest":
        """Create a contest; `against` replaces the suite's references beside which the candidate runs.

        Raises
        ------
        InputError
            If the suite is not for candidates of this kind, or a reference does not exist.
        """
        if candidate.kind not in suite.entry.candidates:
            kinds = " or ".join(suite.entry.candidates)
            raise InputError(
                f"{candidate.name} is a {candidate.kind}, suite {suite.entry.name} evaluates a {kinds}"
            )
        beside = tuple(dict.fromkeys(against or suite.entry.against))
        names = dict.fromkeys((*suite.entry.standard, *beside))
        return cls(suite, candidate, {name: parse(name) for name in names}, beside, plugin_timeout_s)

    def subject(self, who: str) -> Subject:
        """Return an algorithm by its level of `who`."""
        return self.candidate if who == CANDIDATE else self.references[who]

    def levels(self, entry: ScenarioEntry) -> dict[str, tuple[str, ...]]:
        """Return the axes of expressions over a scenario, with their levels."""
        axes = {"who": (CANDIDATE, *self.references, LOWEST, HIGHEST)}
        if entry.has(BESIDE):
            axes["beside"] = self.against
        if entry.setting:
            axes["setting"] = tuple(each.name for each in entry.setting)
        return axes

    def points(self, entry: ScenarioEntry) -> Iterator[Point]:
        """Yield the runs of a scenario."""
        axes = self.levels(entry)
        subjects = (CANDIDATE, *self.references)
        yield from itertools.starmap(
            Point, itertools.product(subjects, axes.get("beside", ("",)), axes.get("setting", ("",)))
        )

    def scenario(self, entry: ScenarioEntry, point: Point) -> Scenario:
        """Return the scenario of a run.

        Raises
        ------
        InputError
            If the scenario of the suite is invalid.
        ScenarioError
            If the candidate's code or parameters are.
        """
        key = (entry.id, point)
        if key not in self._made:
            # First, so that a mistake of the suite is not reported as one of the candidate.
            if not self._made:
                self.check_suite()
            self._made[key] = self._make(entry, point)
        return self._made[key]

    def check_suite(self) -> None:
        """Check every scenario of the suite as it is written, and in every setting."""
        for entry in self.suite.entry.scenario:
            for setting in (each.name for each in entry.setting) if entry.setting else ("",):
                try:
                    self._written(entry, setting)
                except ScenarioError as error:
                    place = f"scenario {entry.id}" + (f", setting {setting}" if setting else "")
                    raise InputError(f"{place}: {error}") from None

    def written(self, entry: ScenarioEntry) -> list[Scenario]:
        """Return a scenario as the suite writes it, in each setting."""
        settings = [each.name for each in entry.setting] or [""]
        return [self._written(entry, setting) for setting in settings]

    def _written(self, entry: ScenarioEntry, setting: str) -> Scenario:
        key = (entry.id, setting)
        if key not in self._as_written:
            self._as_written[key] = self._changed(self._load(entry.run), entry, setting)
        return self._as_written[key]

    def _make(self, entry: ScenarioEntry, point: Point) -> Scenario:
        run: dict[str, Any] = copy.deepcopy(entry.run)
        subject = self.subject(point.who)
        for flow in run.get("flow", ()):
            name = str(flow.get("id", ""))
            if name.startswith(CANDIDATE) and subject.kind != "queue":
                flow[subject.key] = dict(subject.value)
            elif name.startswith(BESIDE) and point.beside:
                beside = self.references[point.beside]
                flow[beside.key] = dict(beside.value)
        for link in run.get("link", ()):
            if str(link.get("name", "")).startswith(BOTTLENECK) and subject.kind == "queue":
                link[subject.key] = dict(subject.value)
        return self._changed(self._load(run), entry, point.setting)

    def _load(self, run: Mapping[str, Any]) -> Scenario:
        # The user has named the candidate's code on the command line, which is the permission to execute it.
        policy = CodePolicy(self.candidate.is_code, self.plugin_timeout_s)
        return Scenario(json.dumps(run), str(self.suite.path), "json", policy=policy)

    def _changed(self, scenario: Scenario, entry: ScenarioEntry, setting: str) -> Scenario:
        changes = next((each.changes for each in entry.setting if each.name == setting), {})
        return scenario.with_(changes) if changes else scenario
