"""Claims at the likeliest set-up, next to the verdicts over all set-ups."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from airwnd.study.reproduce.claims import Claim, judge
from airwnd.study.reproduce.design import Experiment
from airwnd.study.reproduce.expression import Values
from airwnd.study.reproduce.likeliest.choices import Member, Point
from airwnd.study.reproduce.likeliest.race import OutOfTimeError
from airwnd.study.reproduce.likeliest.study import Found, Runs
from airwnd.study.reproduce.regions import SetUp
from airwnd.study.reproduce.report import VERDICTS, PerClaim, verdicts_in
from airwnd.study.reproduce.verdict import Verdict, over_setups
from airwnd.study.space import ABSENT, Setting
from airwnd.study.statistics import MIN_SEEDS

MISSING = "missing"


@dataclass(frozen=True)
class Judgement:
    """A claim in one experiment.

    Attributes
    ----------
    likeliest
        The verdict at the likeliest set-up, over the choices on which no number depends.
    setups
        Number of such set-ups.
    over_all
        The verdict over all set-ups in ``verdicts.csv`` next to the papers; empty: it has none.
    seeds, specified
        Number of seeds, and that of the experiment: with fewer a verdict may stay open.
    reason
        Why there is no verdict.
    """

    claim: str
    text: str
    experiment: str
    likeliest: str
    setups: int
    over_all: str
    seeds: int
    specified: int
    reason: str = ""

    @property
    def is_open(self) -> bool:
        """Whether more seeds, up to the number of the experiment, could decide."""
        return self.likeliest == Verdict.OPEN and self.seeds < self.specified


def judgements(found: Found, runs: Runs) -> list[Judgement]:
    """Judge all claims of a paper's experiments at the likeliest set-up."""
    over_all = verdicts_in(found.choices.members[0].experiment.folder.parents[1] / VERDICTS, "there")
    judged = [
        judgement
        for member in found.choices.members
        if member.experiment.claims
        for judgement in _of(member, found, runs, over_all)
    ]
    return sorted(judged, key=lambda each: each.claim)


def _of(member: Member, found: Found, runs: Runs, over_all: PerClaim) -> list[Judgement]:
    experiment, quick = member.experiment, found.effort.quick
    # As many as the likeliest set-up has: its runs are there. Fewer than the experiment asks for do decide.
    seeds = min(experiment.quick.seeds if quick else experiment.seeds, found.effort.plan.last_seeds)
    setup = {name: level for name, level in found.best.items() if name in member.choices}
    if not setup and all(_known(over_all, experiment, claim) for claim in experiment.claims):
        return [_same(claim, experiment, over_all) for claim in experiment.claims]
    lacking = next((name for name, level in setup.items() if not member.can(name, level)), None)
    reason = ""
    points = {} if lacking else _points(member, setup)
    if lacking:
        reason = f"the experiment has no {lacking} = {setup[lacking]}"
    else:
        try:
            runs.ensure("claims", [(member, point) for point in points.values()], seeds)
        except OutOfTimeError:
            reason = "the budget was used up"
    if reason:
        return [_missing(claim, experiment, over_all, reason) for claim in experiment.claims]
    undefined = np.full(seeds, np.nan)

    def ours(levels: Mapping[str, str], measure: str) -> Values:
        point = points.get(experiment.setting(levels))
        return undefined if point is None else runs.values(member, point, measure, seeds)

    def paper(_: Mapping[str, str], measure: str) -> Values:
        raise KeyError(measure)

    judged = []
    own = member.own_levels(setup)
    for claim in experiment.claims:
        result = judge(claim, ours, paper, preview=quick or seeds < MIN_SEEDS)
        there = [
            verdict
            for each, verdict in result.setups
            if all(own.get(axis, level) == level for axis, level in each.items())
        ]
        if there:
            verdict = str(over_setups(there))
            known = _known(over_all, experiment, claim)
            judged.append(
                Judgement(
                    claim.id,
                    claim.text,
                    experiment.name,
                    verdict,
                    len(there),
                    known,
                    seeds,
                    experiment.seeds,
                )
            )
        else:
            judged.append(_missing(claim, experiment, over_all, "no check covers this set-up"))
    return judged


def _known(over_all: PerClaim, experiment: Experiment, claim: Claim) -> str:
    return over_all.get((experiment.name, claim.id), "")


def _missing(claim: Claim, experiment: Experiment, over_all: PerClaim, reason: str) -> Judgement:
    known = _known(over_all, experiment, claim)
    return Judgement(claim.id, claim.text, experiment.name, MISSING, 0, known, 0, experiment.seeds, reason)


def _same(claim: Claim, experiment: Experiment, over_all: PerClaim) -> Judgement:
    """Return the verdict over all set-ups, of an experiment without any of the choices that were searched."""
    known = _known(over_all, experiment, claim)
    return Judgement(
        claim.id, claim.text, experiment.name, known, 1, known, experiment.seeds, experiment.seeds
    )


def _points(member: Member, setup: SetUp) -> dict[Setting, Point]:
    """Return the points of all settings of an experiment that belong to the set-up."""
    names = [axis.name for axis in member.experiment.axes]
    found = {}
    for setting in member.experiment.settings():
        levels = {name: level for name, level in zip(names, setting, strict=True) if level != ABSENT}
        point = member.point(levels, setup)
        if point.setting == setting:
            found[setting] = point
    return found


def counts(judged: Sequence[Judgement]) -> dict[str, int]:
    """Count the verdicts at the likeliest set-up; claims of several experiments count once for each."""
    names = [*map(str, Verdict), MISSING]
    return {name: count for name in names if (count := sum(each.likeliest == name for each in judged))}
