"""Scenarios of pages run in place if ``make web`` has built the engine."""

import base64
import json
import re
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from sphinx.util import logging

from airwnd.play.page import worker

if TYPE_CHECKING:
    from sphinx.application import Sphinx

BUILD = Path(__file__).parents[2] / "out" / "web-build"
MODULE = BUILD / "airwnd_web_bg.wasm"
SCENARIO = re.compile(r"^\[\[flow\]\]", re.MULTILINE)


def _scripts(app: "Sphinx", page: str, _template: str, _context: object, _tree: object) -> None:
    source = Path(app.srcdir, f"{page}.md")
    if MODULE.is_file() and source.is_file() and SCENARIO.search(source.read_text(encoding="utf-8")):
        app.add_js_file("live.js", loading_method="defer")


def engine() -> str:
    """Return the script with the engine, which ``live.js`` loads on the first run."""
    module = base64.b64encode(zlib.compress(MODULE.read_bytes(), 9)).decode("ascii")
    generated = (BUILD / "airwnd_web.js").read_text(encoding="utf-8")
    content = json.dumps({"module": module, "worker": worker(generated)})
    return f"globalThis.airwndEngine = {content};\n"


def _write(app: "Sphinx", failure: Exception | None) -> None:
    if failure is not None or app.builder.name != "html":
        return
    if MODULE.is_file():
        Path(app.outdir, "_static", "live-engine.js").write_text(engine(), encoding="utf-8")
    else:
        message = "scenarios do not run in the pages: run `make web` before `make site`"
        logging.getLogger(__name__).info(message)


def setup(app: "Sphinx") -> dict[str, bool]:
    """Register the callbacks for pages and for the end of the build."""
    app.connect("html-page-context", _scripts)
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True}
