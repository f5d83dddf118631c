"""Pages that simulate if ``make web`` has built the engine: scenarios, playground, claims judged again."""

import base64
import json
import re
import zlib
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sphinx.util import logging

from airwnd.cli.algorithms import live
from airwnd.scenario.play.page import worker
from airwnd.study.reproduce import again
from airwnd.study.reproduce.design import Experiment
from airwnd.vocabulary.algorithms import catalogue
from airwnd.vocabulary.topics import find

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "out" / "web-build"
MODULE = BUILD / "airwnd_web_bg.wasm"
PLAYGROUND = ROOT / "out" / "web" / "index.html"
ENGINE = "_static/live-engine.js"
SCENARIO = re.compile(r"^\[\[flow\]\]", re.MULTILINE)
_EXPERIMENT = re.compile(r"(experiments/([\w-]+)/([\w-]+))/README")
_FAMILY = re.compile(r"docs/reference/([\w-]+)")
_MEMBER = re.compile(r'(<section id="[^"]*">\s*<h2>)([\w.+-]+)(<a .*?</h2>)', re.DOTALL)


def _enliven(app: "Sphinx", page: str, _template: str, context: dict[str, Any], _tree: object) -> None:
    if not MODULE.is_file():
        return
    source = Path(app.srcdir, f"{page}.md")
    if source.is_file() and SCENARIO.search(source.read_text(encoding="utf-8")):
        app.add_js_file("live.js", loading_method="defer")
    if found := _EXPERIMENT.fullmatch(page):
        context["body"] += _judging(found[1], context["pathto"])
    elif found := _FAMILY.fullmatch(page):
        context["body"] = _members(
            found[1], context["body"], context["pathto"]("playground.html", resource=True)
        )


def _judging(folder: str, pathto: Any) -> str:
    """Return the paragraph of an experiment's page that leads to the one that judges its claims again."""
    experiment, reason = _experiments()[folder]
    if not experiment.claims:
        return ""
    if reason:
        return (
            f"<p>The claims cannot be judged again in the browser: {escape(reason)}. "
            f"<code>airwnd reproduce {escape(experiment.name)}</code> judges them.</p>"
        )
    links = ", ".join(
        f'<a href="{pathto(_page(folder), resource=True)}#{claim.id}">{claim.id}</a>'
        for claim in experiment.claims
    )
    return f'<p class="again">Judge again in the browser, with other levels, values and seeds: {links}.</p>'


def _members(family: str, body: str, playground: str) -> str:
    """Add a link to the playground below the heading of each member of a family."""

    def linked(match: re.Match[str]) -> str:
        topics = [topic for topic in find(match[2]) if topic.name == f"{family}/{match[2]}"]
        fragment = live(topics[0]) if topics else None
        link = (
            f'\n<p class="again"><a href="{playground}{fragment}">Live in a cell</a></p>' if fragment else ""
        )
        return f"{match[0]}{link}"

    return _MEMBER.sub(linked, body) if family in {each.name for each in catalogue()} else body


@cache
def _experiments() -> dict[str, tuple[Experiment, str]]:
    """Return all experiments by folder, each with the obstacle to a page of its claims; empty: none."""
    folders = sorted(path.parent for path in (ROOT / "experiments").glob("*/*/experiment.toml"))
    experiments = {folder.relative_to(ROOT).as_posix(): Experiment.load(folder) for folder in folders}
    return {folder: (experiment, again.obstacle(experiment)) for folder, experiment in experiments.items()}


def _page(folder: str) -> str:
    return f"{folder}/again.html"


def engine() -> str:
    """Return the script with the engine, which pages load on the first run."""
    module = base64.b64encode(zlib.compress(MODULE.read_bytes(), 9)).decode("ascii")
    generated = (BUILD / "airwnd_web.js").read_text(encoding="utf-8")
    content = json.dumps({"module": module, "worker": worker(generated)})
    return f"globalThis.airwndEngine = {content};\n"


def _write(app: "Sphinx", failure: Exception | None) -> None:
    if failure is not None or app.builder.name != "html":
        return
    if not MODULE.is_file():
        message = "pages do not simulate: run `make web` before `make site`"
        logging.getLogger(__name__).info(message)
        return
    out = Path(app.outdir)
    (out / ENGINE).write_text(engine(), encoding="utf-8")
    (out / "playground.html").write_text(PLAYGROUND.read_text(encoding="utf-8"), encoding="utf-8")
    for folder, (experiment, reason) in _experiments().items():
        if not reason:
            page = again.html(experiment, engine=f"../../../{ENGINE}")
            (out / folder).mkdir(parents=True, exist_ok=True)
            (out / _page(folder)).write_text(page, encoding="utf-8")


def setup(app: "Sphinx") -> dict[str, bool]:
    """Register the callbacks for pages and for the end of the build."""
    app.connect("html-page-context", _enliven)
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True}
