"""The page: one HTML file with style and modules, and with an engine or an address of one."""

from dataclasses import asdict, dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

import airwnd
from airwnd.plots import style
from airwnd.view.pages import data_link, environment, sealed

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

#: Modules that the explorer's page has, too.
SHARED = ("canvas.js", "data.js", "looks.js", "pen.js", "scale.js")
PICTURES = (
    ("map", "Map: a disc is a queue"),
    ("queue", "RLC queue of the phone"),
    ("prbs", "PRBs by TTI; / is sent again"),
)


@dataclass(frozen=True)
class Look:
    """Colour of a configuration in the light and the dark theme."""

    colour: str
    dark: str


def html(*, module: str = "", engine: str = "", scenario: str | None = None) -> str:
    """Return the page.

    Parameters
    ----------
    module
        JavaScript half of the engine in WebAssembly. Without it the page sends the tasks of the engine to
        the address ``engine`` beside its own.
    engine
        The compressed module, in base64.
    scenario
        Scenario in TOML with which the page begins, instead of that of its controls.
    """
    own, shared = (
        resources.files("airwnd.scenario.play") / "static",
        resources.files("airwnd.view") / "static",
    )
    looks = [Look(colour, style.DARK[colour]) for colour in style.COLOURS[:2]]
    files = [file for file in own.iterdir() if file.name.endswith(".js") and file.name != "worker.js"]
    files += [shared / name for name in SHARED]
    modules = {
        f"airwnd/{file.name}": data_link("text/javascript", file.read_bytes())
        for file in sorted(files, key=lambda file: file.name)
    }
    content: dict[str, Any] = {
        "version": airwnd.__version__,
        "style": _texts(shared / "theme.css", own / "site.css"),
        "imports": {"imports": modules},
        "facts": {"looks": [asdict(look) for look in looks], "remote": not module, "scenario": scenario},
        "pictures": PICTURES,
        "worker": worker(module),
        "engine": engine,
    }
    template = environment("airwnd.scenario.play").get_template("index.html.j2")
    return sealed(lambda number: template.render(**content, number=number))


def worker(module: str) -> str:
    """Return the script of the engine's worker, given the JavaScript half of the engine in WebAssembly."""
    return f"{module}\n{_texts(resources.files('airwnd.scenario.play') / 'static' / 'worker.js')}"


def _texts(*files: "Traversable") -> str:
    return "\n".join(file.read_text(encoding="utf-8") for file in files)
