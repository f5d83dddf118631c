"""Progress without a terminal: a few lines with the time left, only for long work."""

import re

import pytest

from airwnd.cli.options import bar
from airwnd.cli.progress import ProgressLines


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def lines_of(duration_s: float, *, reports: int = 10_000) -> list[str]:
    """Return the lines printed during work that advances evenly for `seconds`."""
    clock, lines = Clock(), list[str]()
    progress = ProgressLines("sweep", clock, lines.append)
    for number in range(reports + 1):
        clock.now = 100 + duration_s * number / reports
        progress(number / reports)
    return lines


def test_short_work_prints_nothing() -> None:
    assert lines_of(9.9) == []


def test_each_step_of_10_percent_has_a_line_with_the_time_left() -> None:
    found = lines_of(100)
    assert found[0] == "sweep: 10 % done in 10 s, about 1 min 30 s left"
    assert [int(re.findall(r"(\d+) %", line)[0]) for line in found] == [10, 20, 30, 40, 50, 60, 70, 80, 90]
    assert found[-1] == "sweep: 90 % done in 1 min 30 s, about 10.0 s left"


def test_slow_work_has_a_line_every_30_s_at_first() -> None:
    assert lines_of(3600)[0] == "sweep: 1 % done in 30 s, about 59 min 30 s left"


def test_a_week_has_some_tens_of_lines() -> None:
    assert 10 < len(lines_of(7 * 86_400, reports=1_000_000)) < 50


def test_no_progress_yet_has_no_estimate() -> None:
    clock, lines = Clock(), list[str]()
    progress = ProgressLines("run\x1b[31m", clock, lines.append)
    clock.now += 31
    progress(0.0)
    assert lines == ["run\\x1b[31m: 0 % done in 31 s, about an unknown time left"]


def test_the_end_has_no_line() -> None:
    clock, lines = Clock(), list[str]()
    progress = ProgressLines("run", clock, lines.append)
    clock.now += 100
    progress(1.0)
    assert lines == []


def test_without_a_terminal_there_are_lines_unless_silenced(capsys: pytest.CaptureFixture[str]) -> None:
    with bar("run", None) as tell:
        assert isinstance(tell, ProgressLines)
    with bar("run", False) as tell:
        assert tell is None
    assert capsys.readouterr().err == ""
