"""Runs of a suite: each scenario with the candidate and each reference in the candidate's place."""

import copy
import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from airwnd._native import ScenarioError
from airwnd.plugins.permission import PLUGIN_TIMEOUT_S, CodePolicy
from airwnd.scenario.scenario import Scenario
from airwnd.study.batch.task import Task
from airwnd.study.evaluate.candidate import Subject, parse
from airwnd.study.evaluate.suite import BESIDE, BOTTLENECK, CANDIDATE, CriterionEntry, ScenarioEntry, Suite
from airwnd.study.kernel import KernelTransfers, release
from airwnd.study.stacks import find
from airwnd.study.transfers import Outside, StackTransfers, digest_of, transfers_of
from airwnd.support.errors import InputError

# Columns that a run does not record of flows outside the engine.
_OF_NEITHER = {"flows.timeouts", "flows.fast_retransmits"}
_OF_SENDERS = ("cwnd_bytes", "ssthresh_bytes", "rwnd_bytes", "in_flight_bytes", "rtt_ms")
_UNKNOWN = {"kernel": _OF_NEITHER, "stack": _OF_NEITHER | {f"series.{column}" for column in _OF_SENDERS}}

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
    _outside: dict[tuple[str, Point], tuple[Scenario, Outside]] = field(default_factory=dict, repr=False)
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

    def task(self, entry: ScenarioEntry, point: Point, seed: int) -> Task:
        """Return the run of a scenario at a point; exceptions as of :meth:`scenario`. Seeds begin with 1."""
        scenario = self.scenario(entry, point)
        seed += self.suite.first_seed - 1
        outside = self.subject(point.who).outside
        if outside is None:
            return Task(scenario, seed, entry.series)
        key = (entry.id, point)
        if key not in self._outside:
            self._outside[key] = self._without_candidate(scenario)
        return Task(self._outside[key][0], seed, entry.series, self._outside[key][1])

    def _without_candidate(self, scenario: Scenario) -> tuple[Scenario, Outside]:
        """Return a scenario without the candidate's flows, and what carries these outside the engine."""
        resolved = dict(scenario.resolved)
        transfers = transfers_of(resolved, CANDIDATE)
        resolved["flow"] = [flow for flow in resolved["flow"] if not flow["id"].startswith(CANDIDATE)]
        left = self._load({key: value for key, value in resolved.items() if key != "flow" or value})
        name, options = self.candidate.value["kind"], self.candidate.parameters
        if self.candidate.is_real:
            return left, KernelTransfers(name, transfers)
        return left, StackTransfers(name, options, transfers, self.code_digest)

    @cached_property
    def code_digest(self) -> str:
        """Digest of a candidate outside the engine: of its code, or of the kernel's release."""
        return release() if self.candidate.is_real else digest_of(self.candidate.value["kind"])

    def unsupported(self, criterion: CriterionEntry) -> str:
        """Return why a candidate outside the engine cannot be evaluated; empty: it can."""
        if self.candidate.outside is None:
            return ""
        for name in dict.fromkeys(check.scenario for check in criterion.check):
            entry = self.suite.scenarios[name]
            missing = _UNKNOWN[self.candidate.outside]
            if column := next((each.value for each in entry.measure if each.value in missing), None):
                return f"{self.candidate.name} does not report {column}"
            for scenario in self.written(entry):
                if reason := self._refuses(scenario):
                    return reason
            ids = [flow["id"] for flow in entry.run["flow"] if str(flow.get("id")).startswith(CANDIDATE)]
            if len(ids) > 1 and any(each.value.startswith("groups.") for each in entry.measure):
                return "flows outside the engine are one group of the table groups"
        return ""

    def _refuses(self, scenario: Scenario) -> str:
        flows = [flow for flow in scenario.resolved["flow"] if flow["id"].startswith(CANDIDATE)]
        if kind := next((f["traffic"]["kind"] for f in flows if f["traffic"]["kind"] != "bulk"), None):
            return f"{self.candidate.name} sends without end, and not {kind} traffic"
        # Whether ECN is used is up to the stack.
        if key := next((key for flow in flows for key in flow["tcp"] if key != "ecn"), None):
            return f"tcp.{key} of {self.candidate.name} cannot be set"
        if self.candidate.outside == "stack" and any(flow["direction"] == "up" for flow in flows):
            try:
                find(self.candidate.value["kind"], {**self.candidate.parameters, "upload": True})
            except InputError as error:
                return str(error)
        return ""

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
            if name.startswith(CANDIDATE) and subject.kind != "queue" and subject.outside is None:
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
        if not changes:
            return scenario
        try:
            return scenario.with_(changes)
        except ScenarioError:
            # A sender that responds to the number of marks has its own feedback, and refuses the classic one.
            others = {key: value for key, value in changes.items() if not key.endswith(".tcp.ecn")}
            if others == changes:
                raise
            return scenario.with_(others)
