"""The page: one HTML file with its data, style and modules."""

import os
import sys
import tempfile
import webbrowser
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from airwnd.results.run import RunData
from airwnd.support.errors import InputError
from airwnd.support.files import check_folder, write_atomically
from airwnd.view.content import content
from airwnd.view.pages import data_link, environment, sealed


def write(runs: Mapping[str, RunData], page: Path | None = None, command: str = "") -> Path:
    """Write a page about runs, given by name; without a path, to a temporary folder.

    `command` opens the first of them in the playground; the page shows it.
    """
    if page is None:
        page = Path(tempfile.mkdtemp(prefix="airwnd-")) / "run.html"
    check(page)
    write_atomically(page, html(runs, command=command))
    return page


def check(page: Path) -> None:
    """Create the folder of a page, and check, before long work, that the page can be written."""
    if page.is_dir():
        raise InputError(f"{page}: a folder; expected the name of a page to write, as in {page / 'run.html'}")
    check_folder(page.parent)


def show(page: Path | str) -> bool:
    """Open a file or an address in a graphical browser, if available; return whether it was opened."""
    screens = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    if sys.platform.startswith("linux") and not any(os.environ.get(name) for name in screens):
        # Only a text browser, which takes over the terminal, could be available.
        return False
    return webbrowser.open(page if isinstance(page, str) else page.resolve().as_uri())


def html(runs: Mapping[str, RunData], *, playground: str = "", command: str = "") -> str:
    """Render the page, with a link to the playground from which it comes, or a command that opens one."""
    templates = environment("airwnd.view")
    # The order of keys is the order of display.
    templates.policies["json.dumps_kwargs"] = {"allow_nan": False}
    static = resources.files("airwnd.view") / "static"
    modules = {
        f"airwnd/{file.name}": data_link("text/javascript", file.read_bytes())
        for file in sorted(static.iterdir(), key=lambda file: file.name)
        if file.name.endswith(".js")
    }
    shown = content(runs)
    template = templates.get_template("view.html.j2")
    style = "".join((static / name).read_text(encoding="utf-8") for name in ("theme.css", "view.css"))
    return sealed(
        lambda number: template.render(
            title=", ".join(runs),
            style=style,
            imports={"imports": modules},
            facts=shown.facts,
            arrays=shown.arrays,
            playground=playground,
            command=command,
            number=number,
        )
    )
