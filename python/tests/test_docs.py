"""The examples in the documentation run."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import airwnd
from airwnd import Scenario

MODULES = sorted(module.name for module in pkgutil.walk_packages(airwnd.__path__, "airwnd."))


@pytest.mark.parametrize("name", ["airwnd", *(name for name in MODULES if not name.endswith("__main__"))])
def test_docstrings(name: str, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_scenarios_in_the_readme(root: Path) -> None:
    scenarios = re.findall(r"```toml\n(.*?)```", (root / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert scenarios
    for text in scenarios:
        assert (
            Scenario.from_toml(text, "README.md").with_(duration="200ms").run().totals["throughput_kbps"] > 0
        )


def test_python_in_the_readme(root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = (root / "README.md").read_text(encoding="utf-8")
    (tmp_path / "scenario.toml").write_text(re.findall(r"```toml\n(.*?)```", text, re.DOTALL)[0])
    monkeypatch.chdir(tmp_path)
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(block, "README.md", "exec"), {})  # noqa: S102
