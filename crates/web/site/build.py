"""Build the cell in the browser: one HTML file with engine, style and modules, which opens from disk."""

import base64
import sys
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jinja2

import airwnd
from airwnd.plots import style
from airwnd.view.pages import data_link, sealed

HERE = Path(__file__).parent
VIEW = HERE.parents[2] / "python" / "airwnd" / "view" / "static"
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


def modules() -> dict[str, str]:
    """Return the import map of the page's modules."""
    own = [file for file in sorted((HERE / "static").glob("*.js")) if file.name != "worker.js"]
    files = [*own, *(VIEW / name for name in SHARED)]
    return {f"airwnd/{file.name}": data_link("text/javascript", file.read_bytes()) for file in files}


def _texts(*files: Path) -> str:
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


def html(generated: Path) -> str:
    """Return the page, given the folder of the generated module and its JavaScript half."""
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    looks = [Look(line.colour, style.DARK[line.colour]) for line in style.LINES[:2]]
    engine = zlib.compress((generated / "airwnd_web_bg.wasm").read_bytes(), 9)
    content: dict[str, Any] = {
        "version": airwnd.__version__,
        "style": _texts(VIEW / "theme.css", HERE / "static" / "site.css"),
        "imports": {"imports": modules()},
        "facts": {"looks": [asdict(look) for look in looks]},
        "pictures": PICTURES,
        "worker": _texts(generated / "airwnd_web.js", HERE / "static" / "worker.js"),
        "engine": base64.b64encode(engine).decode("ascii"),
    }
    template = templates.get_template("index.html.j2")
    return sealed(lambda number: template.render(**content, number=number))


def main(arguments: list[str]) -> None:
    """Write the page."""
    generated, page = map(Path, arguments)
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(html(generated), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
