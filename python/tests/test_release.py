"""Parts of a release: version, citation, manual pages."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from .conftest import ROOT, script

CITATION = (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_one_version_everywhere() -> None:
    version = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"][
        "version"
    ]
    assert f"\nversion: {version}\n" in CITATION
    found = re.search(r'^date-released: "([\d-]+)"$', CITATION, re.MULTILINE)
    assert found
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## {version} ({found[1]})\n" in changes
    assert f"airwnd-{version}-cp311-abi3-" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_citation_is_valid() -> None:
    schema = ("--builtin-schema", "vendor.citation-file-format")
    command = [sys.executable, "-m", "check_jsonschema", *schema, str(ROOT / "CITATION.cff")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.fixture(scope="module")
def manual() -> ModuleType:
    return script("manual")


def test_manual_pages_are_up_to_date(manual: ModuleType, tmp_path: Path) -> None:
    """``make man`` updates them, in a fresh process."""
    subprocess.run([sys.executable, str(manual.__file__), str(tmp_path)], check=True)
    kept = {path.name: path.read_text(encoding="utf-8") for path in manual.FOLDER.iterdir()}
    made = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    assert set(kept) == set(made)
    for name, text in kept.items():
        assert text == made[name]
    assert {"airwnd.1", "airwnd-run.1", "airwnd-plot-map.1"} <= set(kept)
    assert "airwnd\\-plot\\-map" not in kept["airwnd-plot-map.1"].partition(".SH SYNOPSIS")[2]


def test_manual_pages_have_no_control_characters(manual: ModuleType) -> None:
    for name, text in manual.pages().items():
        assert not re.search(r"[^\n -~–×−…]", text), name


def test_the_published_crates_are_those_that_airwnd_needs() -> None:
    """crates.io takes none whose dependencies have no version, or are not there."""
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["dependencies"]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (names,) = re.findall(r"^PUBLISHED := (.*)$", makefile, re.MULTILINE)
    order = [f"airwnd-{name}" for name in str(names).split()] + ["airwnd"]
    for place, name in enumerate(order):
        folder = ROOT / "crates" / name.removeprefix("airwnd-")
        manifest = tomllib.loads((folder / "Cargo.toml").read_text(encoding="utf-8"))
        assert manifest["package"].get("publish", True), name
        needed = [each for each in manifest.get("dependencies", {}) if each.startswith("airwnd")]
        for each in needed:
            assert "version" in workspace[each], f"{name} needs {each}, which has no version"
            assert each in order[:place], f"{each}, which {name} needs, is not published before it"
