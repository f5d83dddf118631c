"""The page: one HTML file that holds its data, its style and its modules."""

import os
import sys
import tempfile
import webbrowser
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from airwnd.errors import InputError
from airwnd.files import check_folder, write_atomically
from airwnd.pages import data_link, environment
from airwnd.run_data import RunData
from airwnd.view.content import content


def write(runs: Mapping[str, RunData], page: Path | None = None) -> Path:
    """Write a page about runs, given by name; without a path into a folder for temporary files."""
    if page is None:
        page = Path(tempfile.mkdtemp(prefix="airwnd-")) / "run.html"
    check(page)
    write_atomically(page, html(runs))
    return page


def check(page: Path) -> None:
    """Make the folder of a page, and check that the page can be written, before work is done for it."""
    if page.is_dir():
        raise InputError(f"{page}: a folder; expected the name of a page to write, as in {page / 'run.html'}")
    check_folder(page.parent)


def show(page: Path) -> bool:
    """Open a page in the browser, if there is one that has a screen; tell whether there was."""
    screens = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    if sys.platform.startswith("linux") and not any(os.environ.get(name) for name in screens):
        # What is left would be a text browser that takes over the terminal.
        return False
    return webbrowser.open(page.resolve().as_uri())


def html(runs: Mapping[str, RunData]) -> str:
    """Render the page."""
    templates = environment("airwnd.view")
    # The order of keys is the order in which things are shown.
    templates.policies["json.dumps_kwargs"] = {"allow_nan": False}
    static = resources.files("airwnd.view") / "static"
    modules = {
        f"airwnd/{file.name}": data_link("text/javascript", file.read_bytes())
        for file in sorted(static.iterdir(), key=lambda file: file.name)
        if file.name.endswith(".js")
    }
    shown = content(runs)
    return templates.get_template("view.html.j2").render(
        title=", ".join(runs),
        style=(static / "view.css").read_text(encoding="utf-8"),
        imports={"imports": modules},
        facts=shown.facts,
        arrays=shown.arrays,
    )
