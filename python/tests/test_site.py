"""The site: no warnings, notebooks up to date, no broken links, no network requests."""

import json
import re
import subprocess
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

import pytest

import airwnd
from airwnd.cli import cli

from .browser import OpenPage
from .conftest import ROOT, script


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, as built by ``make site``."""
    out = tmp_path_factory.mktemp("site")
    options = ["-E", "-W", "--keep-going", "-n", "-q", "-j", "2", "-c", "docs"]
    command = [sys.executable, "-m", "sphinx", *options, ".", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out


@dataclass
class Page(HTMLParser):
    """Anchors, links and loaded resources of a page."""

    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in {"id", "name"} and value:
                self.anchors.add(value)
            elif name == "href" and value and tag == "a":
                self.links.append(value)
            elif (name == "src" or (name == "href" and tag == "link")) and value:
                self.loads.append(value)


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    """Every page of the site, parsed."""
    found = {}
    for path in site.rglob("*.html"):
        page = found[path] = Page()
        page.feed(path.read_text(encoding="utf-8"))
    return found


def test_every_page_is_in_the_side_bar() -> None:
    docs = ROOT / "docs"
    # The index holds the side bar, and the pages of the reference are below its README.
    pages = {*docs.glob("*.md"), *docs.glob("how-to/*.md"), *docs.glob("notebooks/*.ipynb")} - {
        docs / "index.md"
    }
    listed = (docs / "_site/contents.md").read_text(encoding="utf-8").splitlines()
    assert {str(page.relative_to(docs).with_suffix("")) for page in pages} <= set(listed)


@pytest.mark.nightly
def test_no_link_is_broken(pages: dict[Path, Page]) -> None:
    astray = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme:
                if parts.scheme != "https" or "." not in parts.netloc:
                    astray.append(f"{path.name}: {link}")
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchors = pages[target].anchors if target in pages else set()
            if not target.is_file() or (parts.fragment and unquote(parts.fragment) not in anchors):
                astray.append(f"{path.name}: {link}")
    assert not astray


@pytest.mark.nightly
def test_nothing_is_loaded_from_elsewhere(pages: dict[Path, Page]) -> None:
    elsewhere = [
        load for page in pages.values() for load in page.loads if urlsplit(load).scheme not in {"", "data"}
    ]
    assert not elsewhere


@pytest.mark.nightly
def test_a_browser_needs_no_network(site: Path, open_page: OpenPage) -> None:
    open_page(site / "index.html").wait_for_url("**/docs/index.html")
    for name in ("tutorial", "notebooks/bufferbloat", "architecture"):
        open_page(site / "docs" / f"{name}.html")
    search = open_page(site / "search.html")
    search.goto(search.url + "?q=bufferbloat")
    search.wait_for_selector("#search-results li")
    # The theme keeps its settings.
    search.evaluate("localStorage.clear(); sessionStorage.clear()")


def test_pictures_are_dark_on_a_dark_page(tmp_path: Path, open_page: OpenPage) -> None:
    sheet, picture = (ROOT / "docs" / name for name in ("_site/static/site.css", "img/cdf.svg"))
    path = tmp_path / "page.html"
    image = f'<div class="content"><img src="{picture.as_uri()}"></div>'
    path.write_text(f'<link rel="stylesheet" href="{sheet.as_uri()}"><body>{image}</body>')
    page = open_page(path)
    cases: tuple[tuple[Literal["dark", "light"], str, bool], ...] = (
        ("light", "auto", False),
        ("light", "dark", True),
        ("dark", "auto", True),
        ("dark", "light", False),
    )
    for scheme, theme, is_dark in cases:
        page.emulate_media(color_scheme=scheme)
        page.evaluate("theme => (document.body.dataset.theme = theme)", theme)
        found = page.evaluate("getComputedStyle(document.images[0]).filter")
        assert (found != "none") == is_dark, (scheme, theme)


@pytest.mark.nightly
def test_every_public_name_is_in_the_reference(site: Path, pages: dict[Path, Page]) -> None:
    anchors = pages[site / "docs" / "python-api.html"].anchors
    missing = [
        name for name in airwnd.__all__ if not name.startswith("__") and f"airwnd.{name}" not in anchors
    ]
    assert not missing


@pytest.mark.nightly
def test_every_command_is_in_the_reference(site: Path) -> None:
    text = (site / "docs" / "command-line.html").read_text(encoding="utf-8")
    for name, command in cli.commands.items():
        assert f"airwnd {name}" in text
        for param in command.params:
            assert all(option in text for option in param.opts if option.startswith("--"))


def test_each_option_has_a_row_of_two_cells() -> None:
    rows = [line for line in script("parts").commands().splitlines() if line.startswith("| `")]
    assert len(rows) > 100
    assert [
        row for row in rows if len(re.split(r"(?<!\\)\|", row)) != len(("", "option", "meaning", ""))
    ] == []


NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
LARGEST_PICTURE = 200_000


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_kept_with_outputs(path: Path) -> None:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell["outputs"]]
    assert {output["output_type"] for output in outputs} <= {"display_data", "execute_result"}
    shown = [("".join(text), kind) for output in outputs for kind, text in output["data"].items()]
    assert "image/svg+xml" in {kind for _, kind in shown}
    for text, kind in shown:
        assert len(text) < LARGEST_PICTURE, kind
        assert not re.search(r"/(tmp|home|root|work)/", text), kind


@pytest.mark.nightly
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_outputs_are_up_to_date(path: Path) -> None:
    """``make notebooks`` updates them."""
    assert script("notebooks").run(path) == path.read_text(encoding="utf-8")


def test_pictures_of_a_page_need_no_other_commands() -> None:
    text = (ROOT / "docs/how-to/sweep.md").read_text(encoding="utf-8")
    commands = script("pictures").needed(text, ["windows.svg"])
    assert [(words[0], words[-1]) for words in commands] == [("sweep", "windows"), ("plot", "windows.svg")]


@pytest.mark.nightly
@pytest.mark.parametrize("page", script("pictures").PAGES)
def test_the_pictures_of_a_page_are_those_of_its_commands(page: str) -> None:
    """``python docs/_site/pictures.py`` updates them."""
    stored = ROOT / "docs" / "img"
    drawn = script("pictures").drawn(page)
    assert drawn
    assert [name for name, picture in drawn.items() if picture != (stored / name).read_bytes()] == []


@pytest.mark.nightly
def test_the_page_of_limits_can_be_filtered(site: Path, open_page: OpenPage) -> None:
    page = open_page(site / "docs" / "reference" / "limits.html")
    entries = page.locator("section section section, table tbody tr")
    count = entries.count()
    page.get_by_label("Filter entries").fill("HARQ ns-3")
    visible = page.locator("section section section:visible, table tbody tr:visible")
    left = visible.count()
    assert 0 < left < count
    for text in visible.all_inner_texts():
        assert "harq" in text.lower()
        assert "ns-3" in text.lower()
    assert page.locator(".filter output").inner_text() == f"{left} of {count} entries"
    page.evaluate("location.hash = 'no-attach'")
    page.wait_for_function("document.getElementById('no-attach').offsetParent")
    page.get_by_label("Filter entries").fill("no such words")
    assert visible.count() == 0
