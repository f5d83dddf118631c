"""The experiment of docs/how-to/reproduce-a-paper.md gives the results shown there."""

import re
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from airwnd.study.batch import Processes
from airwnd.study.reproduce import terminal
from airwnd.study.reproduce.design import Experiment
from airwnd.study.reproduce.plot import KINDS
from airwnd.study.reproduce.runner import Effort, reproduce
from airwnd.study.reproduce.search import find


@pytest.fixture(scope="module")
def page() -> str:
    root = Path(__file__).parent.parent.parent
    return (root / "docs" / "how-to" / "reproduce-a-paper.md").read_text(encoding="utf-8")


@pytest.mark.nightly
def test_the_example_gives_the_verdicts_that_the_page_shows(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "experiments" / "mine" / "call"
    folder.mkdir(parents=True)
    for name, text in re.findall(
        r"^`(\w+\.toml)`:[^\n]*\n\n```toml\n(.*?)```", page, re.DOTALL | re.MULTILINE
    ):
        (folder / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert find("mine/call") == [folder]
    experiment = Experiment.load(folder)
    effort = Effort.of(experiment, None, quick=False)
    shown = re.findall(r"```text\n(.*?)```", page, re.DOTALL)[-1]
    said = StringIO()
    results = reproduce(experiment, effort, tmp_path / "out", Processes(2))
    terminal.show(results, Console(file=said, width=80))
    assert _plain(shown) in _plain(said.getvalue())


def test_all_kinds_of_plots_are_in_the_page(page: str) -> None:
    assert re.findall(r"^\| `(\w+)`.* \| .* \| `(?:measure|value)", page, re.MULTILINE) == list(KINDS)


def _plain(text: str) -> str:
    return " ".join(text.split())
