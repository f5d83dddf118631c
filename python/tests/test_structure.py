"""The code has no circular dependencies, and the pictures of its structure are up to date."""

import re
from types import ModuleType
from xml.etree import ElementTree as ET

import pytest

import airwnd

from .conftest import ROOT, script

CRATES = sorted(path.parent.name for path in (ROOT / "crates").glob("*/Cargo.toml"))
TOOLS = sorted(path.parent.name for path in (ROOT / "tools").glob("*/Cargo.toml"))


@pytest.fixture(scope="module")
def structure() -> ModuleType:
    return script("structure")


def test_circles_are_found(structure: ModuleType) -> None:
    graph = {
        "a": frozenset("b"),
        "b": frozenset("c"),
        "c": frozenset("bd"),
        "d": frozenset(),
        "e": frozenset("a"),
    }
    assert structure.circles(graph) == [("b", "c")]
    assert structure.circles({**graph, "c": frozenset("d")}) == []
    assert structure.circles({**graph, "d": frozenset("a")}) == [("a", "b", "c", "d")]


@pytest.mark.parametrize("crate", CRATES + TOOLS)
def test_no_files_of_a_crate_depend_on_each_other(structure: ModuleType, crate: str) -> None:
    assert structure.circles(structure.modules(crate)) == []


@pytest.mark.parametrize("crate", CRATES + TOOLS)
def test_no_folders_of_a_crate_depend_on_each_other(structure: ModuleType, crate: str) -> None:
    assert structure.circles(structure.grouped(structure.modules(crate))) == []


@pytest.mark.parametrize(
    ("crate", "order"),
    [
        ("cell", ["mac", "settings", "radio", "ue", "enb", "region", "ran"]),
        ("lab", ["scenario", "results", "simulation", "catalogue"]),
    ],
)
def test_folders_use_those_before_them(structure: ModuleType, crate: str, order: list[str]) -> None:
    graph = structure.grouped(structure.modules(crate))
    assert set(order) <= graph.keys()
    for place, folder in enumerate(order):
        assert graph[folder].isdisjoint(order[place + 1 :]), folder


def test_paths_resolve_to_files(structure: ModuleType) -> None:
    """The graph read from the code contains some known edges."""
    network = structure.modules("network")
    assert {"wires", "legs", "topology"} <= network["air"] | network["network"]
    assert {"mac::drx", "radio", "settings"} <= structure.modules("cell")["ue"]


def test_crates_use_those_above_them_in_the_table(structure: ModuleType) -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    order = re.findall(r"^\| `crates/([\w-]+)` \|", text, re.MULTILINE)
    graph = structure.crates()
    assert sorted(order) == sorted(graph) == CRATES
    for place, crate in enumerate(order):
        assert graph[crate] <= set(order[:place]), f"{crate} is above a crate that it uses"


def test_the_pictures_of_the_structure_are_up_to_date(structure: ModuleType) -> None:
    """``python docs/_site/structure.py`` updates the pictures."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    for name, graph in structure.pictures().items():
        picture = ET.parse(ROOT / "docs" / "img" / f"{name}.svg")  # noqa: S314 (our own file)
        description = picture.find(".//{http://purl.org/dc/elements/1.1/}description")
        assert description is not None
        assert description.text == structure.written(graph), f"{name}.svg is out of date"
        assert f"img/{name}.svg" in page


def test_no_folder_has_the_name_of_a_public_object() -> None:
    """Importing a module of such a folder would replace the object in ``airwnd``."""
    folders = {path.name for path in (ROOT / "python" / "airwnd").iterdir() if path.is_dir()}
    assert folders.isdisjoint(airwnd.__all__)
