"""Parts of pages that are generated while the site is built; they are not in the repository."""

import re
from functools import cached_property
from inspect import cleandoc, getdoc
from pathlib import Path
from types import FunctionType, GetSetDescriptorType
from typing import TYPE_CHECKING

import click
from docutils import nodes
from sphinx.domains.python import PyObject

import airwnd
from airwnd import _native
from airwnd.cli import cli
from airwnd.plots import style
from airwnd.plots.cdf import plot_cdf
from airwnd.plots.compare import plot_compare
from airwnd.results.radio import RadioData
from airwnd.results.run import RunData
from airwnd.results.sweep import SweepData
from airwnd.scenario.packet import Packet
from airwnd.study import batch
from airwnd.study.comparison import Difference
from airwnd.study.environment import Environment, Step, log_utility
from airwnd.study.evaluate.suite import LEVELS, CriterionEntry, Suite, included
from airwnd.study.statistics import Interval, interval
from airwnd.study.trial import Report

if TYPE_CHECKING:
    from sphinx.application import Sphinx

HERE = Path(__file__).parent
BEHIND_NAPOLEON = 900


def contents() -> str:
    """Return the tree of pages: the side bar."""
    return (HERE / "contents.md").read_text(encoding="utf-8")


def families() -> str:
    """Place the pages of the folder below its README, except the limits, which are in the side bar."""
    found = {path.stem for path in (HERE.parent / "reference").glob("*.md")} - {"README", "limits"}
    first = ["scenario", "tcp", "presets", "results"]
    pages = "\n".join([*first, *sorted(found - set(first))])
    return f"```{{toctree}}\n:hidden:\n\n{pages}\n```\n"


def coverage() -> str:
    """Return a table of the criteria of the included suites."""
    rows = [
        f"| `{name}` | {each.id} | {LEVELS[each.level]} | {each.title} | {_run_in(each)} |"
        for name in included()
        for each in Suite.load(name).entry.criterion
    ]
    return "\n".join(["| Suite | Criterion | Level | Title | Run in |", "|---|---|---|---|---|", *rows, ""])


def _run_in(criterion: CriterionEntry) -> str:
    """Name the scenarios of a criterion, and what of it is not evaluated."""
    run = ", ".join(dict.fromkeys(f"`{check.scenario}`" for check in criterion.check))
    return " ".join(filter(None, [run, criterion.not_evaluated and f"Not: {criterion.not_evaluated}"]))


def commands() -> str:
    """Return usage, help, arguments and options of each command."""
    with click.Context(cli, info_name="airwnd") as context:
        return "\n".join(_command(cli.commands[name], context) for name in sorted(cli.commands))


def _command(command: click.Command, parent: click.Context) -> str:
    with click.Context(command, info_name=command.name, parent=parent) as context:
        below: list[str] = []
        if isinstance(command, click.Group):
            below = [_command(command.commands[name], context) for name in sorted(command.commands)]
            if not command.invoke_without_command:
                return "\n".join(below)
        usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
        text = _prose(cleandoc(command.help or ""))
        lines = [f"## {context.command_path}", "", "```text", usage, "```", "", text]
        records = [param.get_help_record(context) for param in command.params]
        options = [record for record in records if record and record[1]]
        if options:
            lines += ["", "| Option | Meaning |", "|---|---|"]
            lines += [f"| {_option(name)} | {_cell(meaning)} |" for name, meaning in options]
        return "\n".join([*lines, "", *below])


def _prose(text: str) -> str:
    """Format Click's paragraphs; those after a backspace keep their lines."""
    paragraphs = text.split("\n\n")
    return "\n\n".join(
        "```text\n" + part.removeprefix("\b\n") + "\n```" if part.startswith("\b") else part
        for part in paragraphs
    )


def _option(name: str) -> str:
    """Format an option with its value as code. A bar would end the cell even there."""
    return "`" + name.replace(" RANGE", "").replace("|", r"\|") + "`"


def _cell(text: str) -> str:
    """Format a help text, with the options that it names as code."""
    escaped = re.sub(r"([|*<])", r"\\\1", text)
    return re.sub(r"--[a-z-]+( \S+=\S*[^\s.,;])?", r"`\g<0>`", escaped)


# Bases of public classes are documented next to them.
DATA = (RunData, RadioData, SweepData)


def names() -> str:
    """Return directives that document every public name from its docstring."""
    public = [name for name in airwnd.__all__ if not name.startswith("__")]
    directives = [_directive(name, getattr(airwnd, name)) for name in public]
    helpers = (*DATA, batch.Processes, batch.Dask, interval, Interval, plot_cdf, plot_compare)
    helpers += (_native.Flow, _native.Ue, Packet, Report, Difference, Environment, Step, log_utility)
    helpers += (style.styled, style.line, style.Line)
    directives += [_directive(f"{_module(each)}.{each.__name__}", each) for each in helpers]
    return "\n".join(["```{eval-rst}", *directives, "```"])


def _module(of: type | FunctionType) -> str:
    """Return the module below `airwnd` that is the public module of a helper."""
    module = of.__module__.removeprefix("airwnd.")
    return "batch" if module.startswith("batch.") else module


def _directive(name: str, what: object) -> str:
    if isinstance(what, type) and issubclass(what, BaseException):
        return f".. autoexception:: airwnd.{name}\n   :show-inheritance:\n"
    if isinstance(what, type):
        base = "   :show-inheritance:\n" if what.__base__ in DATA else ""
        return f".. autoclass:: airwnd.{name}\n   :members:\n{base}"
    return f".. autofunction:: airwnd.{name}\n"


PARTS = {
    "docs/index": contents,
    "docs/reference/README": families,
    "docs/command-line": commands,
    "docs/python-api": names,
    "docs/suites": coverage,
}


def _insert(_app: "Sphinx", page: str, source: list[str]) -> None:
    if page in PARTS:
        source[0] += "\n" + PARTS[page]()


def _mend(_app: "Sphinx", _what: str, _name: str, of: object, _options: object, lines: list[str]) -> None:
    """Correct two misinterpretations by napoleon.

    It takes what is before a colon in a property's first line for a type, and the first of several attributes
    under one head as well.
    """
    if isinstance(of, property | cached_property | GetSetDescriptorType):
        lines[:] = (getdoc(of) or "").splitlines()
    several = re.compile(r"^:ivar (\w+(?:, \w+)+):(.*(?:\n .*)*)", re.MULTILINE)
    lines[:] = several.sub(
        lambda found: "\n".join(f":ivar {name}:{found[2]}" for name in found[1].split(", ")), "\n".join(lines)
    ).split("\n")


def _readable(
    _app: "Sphinx", _what: str, _name: str, _of: object, _options: object, signature: str | None, returns: str
) -> tuple[str, str] | None:
    """Shorten a signature that parsers cannot read: that of a data class with a default factory."""
    if signature is None or "<factory>" not in signature:
        return None
    return re.sub(r"~(\w+\.)+", "", signature).replace("<factory>", "..."), returns


def _scripts(app: "Sphinx", page: str, _template: str, _context: object, _tree: object) -> None:
    """Add the filter to the page of limits."""
    if page == "docs/reference/limits":
        app.add_js_file("filter.js", loading_method="defer")


def _anchors(app: "Sphinx", doctree: "nodes.document") -> None:
    """Make the anchors in the table of limits targets of links."""
    if app.env.docname == "docs/reference/limits":
        slugs = app.env.metadata[app.env.docname]["myst_slugs"]
        texts = " ".join(raw.astext() for raw in doctree.findall(nodes.raw))
        slugs |= {name: (0, name, name) for name in re.findall(r'<a id="([\w-]+)">', texts)}


def setup(app: "Sphinx") -> dict[str, bool]:
    """Register the callback for every page that Sphinx reads."""
    app.connect("source-read", _insert)
    app.connect("doctree-read", _anchors)
    app.connect("html-page-context", _scripts)
    app.connect("autodoc-process-signature", _readable)
    app.connect("autodoc-process-docstring", _mend, priority=BEHIND_NAPOLEON)
    for kind in PyObject.doc_field_types:
        if kind.name == "variable":
            kind.label = "Attributes"
    return {"parallel_read_safe": True}
