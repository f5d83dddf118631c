"""Claims judged again in the browser, with levels, values and seeds of a reader.

The page has the experiment as data, with each check's expression as a tree, and the rules of this package in
``judge.js``. Its engine is that of the playground: in WebAssembly, or behind the page.
"""

import ast
import math
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Any

import airwnd
from airwnd._native import parse_span
from airwnd.scenario.scenario import as_toml
from airwnd.study.axis import Axis
from airwnd.study.reproduce.claims import Check, Claim
from airwnd.study.reproduce.design import Experiment
from airwnd.study.reproduce.measure import Measure
from airwnd.study.reproduce.verdict import CLASSES
from airwnd.study.statistics import CONFIDENCE, MIN_SEEDS
from airwnd.support.files import read_text
from airwnd.support.student import half_width
from airwnd.view.pages import data_link, environment, sealed
from airwnd.vocabulary.algorithms import catalogue
from airwnd.vocabulary.sections import sections

#: Most seeds that the page offers: a full reproduction has other means.
MAX_SEEDS = 20
#: Functions of the trees, by the operators of Python.
_FUNCTIONS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
}
_OWN = ("again.js", "judge.js")


def obstacle(experiment: Experiment) -> str:
    """Return why the page cannot run an experiment; empty: it can."""
    if not experiment.claims:
        return "it has no claims"
    if experiment.measured is not None:
        return "it is measured on real machines, not simulated"
    for scenario in experiment.scenarios({}).values():
        if file := next(_files(scenario.resolved), None):
            return f"it reads {file}, and a page reads no files"
    return ""


def data(experiment: Experiment) -> dict[str, Any]:
    """Return an experiment for the page; ``null`` stands for infinity."""
    return {
        "name": experiment.name,
        "title": experiment.title,
        "toml": read_text(experiment.folder / "scenario.toml", 1),
        "seeds": experiment.seeds,
        "duration": parse_span(experiment.scenario.resolved["duration"]) / 1e9,
        "quick": {"seeds": experiment.quick.seeds, "set": _changes(experiment.quick.changes)},
        "interval": parse_span(experiment.series) / 1e6 if experiment.series else 0,
        "axes": [_axis(axis) for axis in experiment.axes],
        "measures": [_measure(measure) for measure in experiment.measures],
        "claims": [_claim(claim) for claim in experiment.claims],
        "quantiles": _quantiles(),
        "maxSeeds": MAX_SEEDS,
        "classes": {verdict.value: name for verdict, name in CLASSES.items()},
    }


def html(experiment: Experiment, *, engine: str = "") -> str:
    """Return the page of an experiment.

    Parameters
    ----------
    experiment
        Experiment without an :func:`obstacle`.
    engine
        Address of the script with the engine in WebAssembly, relative to the page. Without it the page sends
        the tasks of the engine to the address ``engine`` beside its own.
    """
    own, play, view = (
        resources.files(f"airwnd.{name}") / "static" for name in ("study.reproduce", "scenario.play", "view")
    )
    files = [*(own / name for name in _OWN), play / "engine.js", view / "data.js", view / "scale.js"]
    modules = {
        f"airwnd/{file.name}": data_link("text/javascript", file.read_bytes())
        for file in sorted(files, key=lambda file: file.name)
    }
    template = environment("airwnd.study.reproduce").get_template("again.html.j2")
    content: dict[str, Any] = {
        "experiment": data(experiment),
        "paper": experiment.paper,
        "place": experiment.place,
        "version": airwnd.__version__,
        "style": "\n".join((own / name).read_text(encoding="utf-8") for name in ("report.css", "again.css")),
        "imports": {"imports": modules},
        "engine": engine,
    }
    return sealed(lambda number: template.render(**content, number=number))


def _files(value: object) -> Iterator[str]:
    """Yield the values of a resolved scenario that name files or code; included link traces are words."""
    match value:
        case Mapping():
            for key, each in value.items():
                if key in _paths() and isinstance(each, str) and re.search(r"[/.]", each):
                    yield each
                yield from _files(each)
        case list():
            for each in value:
                yield from _files(each)


@cache
def _paths() -> frozenset[str]:
    members = [member for family in catalogue() for member in family.members]
    keys = [key for section in sections().values() for key in section.keys.values()]
    params = [param for member in members for param in member.params]
    return frozenset({"class", *(each.name for each in (*params, *keys) if each.unit == "path")})


def _axis(axis: Axis) -> dict[str, Any]:
    # A reader can add a value if the levels are the values of one key.
    keys = {key for level in axis.levels for key in level.changes}
    are_values = all([level.name] == list(map(str, level.changes.values())) for level in axis.levels)
    return {
        "name": axis.name,
        "label": axis.label,
        "open": axis.open is not None,
        "shown": axis.shown,
        "when": axis.when,
        "key": keys.pop() if len(keys) == 1 and are_values else None,
        "levels": [
            {
                "name": level.name,
                "label": level.label,
                "set": _changes(level.changes),
                "rows": {column: list(values) for column, values in level.rows.items()},
            }
            for level in axis.levels
        ],
    }


def _changes(changes: Any) -> dict[str, str]:
    return {key: as_toml(value, key) for key, value in changes.items()}


def _measure(measure: Measure) -> dict[str, Any]:
    selection = measure.selection
    return {
        "name": measure.name,
        "table": selection.table,
        "column": selection.column,
        "where": {column: list(values) for column, values in selection.where.items()},
        "between": selection.between,
        "statistic": measure.statistic,
    }


def _claim(claim: Claim) -> dict[str, Any]:
    return {
        "id": claim.id,
        "text": claim.text,
        "source": claim.source,
        "checks": [_check(check) for check in claim.checks],
    }


def _check(check: Check) -> dict[str, Any]:
    required = check.requirement
    return {
        "text": check.text,
        "tree": tree(check.expression.tree),
        "low": _finite(required.low),
        "high": _finite(required.high),
        "strict": required.strict,
        "required": required.text,
        "margin": check.margin,
        "bounds": [_finite(bound) for bound in check.bounds],
        "only": {axis: list(levels) for axis, levels in check.only.items()},
        "decides": check.decides,
        "unit": check.unit,
        "digits": check.digits,
    }


def tree(node: ast.expr) -> dict[str, Any]:
    """Return a checked expression as objects: a number, a function with arguments, or a measure at levels.

    Examples
    --------
    >>> tree(ast.parse("2 * delay(users=previous)", mode="eval").body)["args"][1]
    {'measure': 'delay', 'at': {'users': None}}
    """
    match node:
        case ast.Constant(value=number):
            return {"number": number}
        case ast.UnaryOp(operand=operand):
            return {"function": "negative", "args": [tree(operand)]}
        case ast.BinOp(left=left, op=op, right=right):
            return {"function": _FUNCTIONS[type(op)], "args": [tree(left), tree(right)]}
        case ast.Call(func=ast.Name(id=name), args=[_, *_] as args):
            return {"function": name, "args": [tree(arg) for arg in args]}
        case ast.Call(func=ast.Name(id=name), keywords=keywords):
            return {"measure": name, "at": {str(each.arg): _level(each.value) for each in keywords}}
    raise AssertionError("expressions have nothing else")


def _level(value: ast.expr) -> str | None:
    """Return a level; ``None``: the previous one."""
    return str(value.value) if isinstance(value, ast.Constant) else None


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


@cache
def _quantiles() -> dict[int, float]:
    return {seeds: half_width(CONFIDENCE, seeds - 1) for seeds in range(MIN_SEEDS, MAX_SEEDS + 1)}
