"""``airwnd evaluate --beacon``: a second set of scenarios, from a value that was unknown before."""

import re
from pathlib import Path

import pytest

from airwnd.study.evaluate import report
from airwnd.study.evaluate.beacon import drawn
from airwnd.study.evaluate.candidate import parse
from airwnd.study.evaluate.contest import Contest
from airwnd.study.evaluate.suite import Suite, included

from .conftest import Cli
from .test_evaluate import SMALL, inline  # noqa: F401 (a fixture)

# A round of drand has so many digits.
VALUE = "2f3a9c04d1b7e8650f1c2d3e4a5b69788796a5b4c3d2e1f00f1e2d3c4b5a6978"
RELATIVE = SMALL.replace('expression = "rate()"', "expression = \"rate() / rate(who='lowest')\"")


@pytest.mark.parametrize("name", included())
def test_a_drawn_suite_is_valid(name: str) -> None:
    loaded = Suite.load(name)
    found = drawn(loaded, VALUE)
    candidate = "aqm:codel" if loaded.entry.candidates == ("queue",) else "cubic"
    Contest.of(found, parse(candidate)).check_suite()
    absolute = {
        check.scenario
        for criterion in loaded.entry.criterion
        for check in criterion.check
        if "who=" not in check.expression
    }
    for before, now in zip(loaded.entry.scenario, found.entry.scenario, strict=True):
        if before.id in absolute:
            assert now == before
    assert found.first_seed > 1


def test_queues_keep_their_size_in_bandwidth_delay_products(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(RELATIVE, encoding="utf-8")
    entry = Suite.load(str(tmp_path / "small.toml"))
    (scenario,) = drawn(entry, VALUE).entry.scenario
    link = scenario.run["link"][0]
    rate, delay_ms, queue = int(link["rate"][:-3]), float(link["delay"][:-2]), link["queue"]
    assert 2e6 <= rate <= 8e6
    assert 10 <= delay_ms <= 40
    assert rate != 4e6
    assert queue == pytest.approx(20 * (rate / 4e6) * (delay_ms / 20), abs=0.5)
    # The other setting is as many times longer.
    far = scenario.setting[1].changes["link[0].delay"]
    assert float(far[:-2]) == pytest.approx(2 * delay_ms, rel=1e-3)
    assert link["jitter"] == {"time": "1ms"}
    assert drawn(entry, VALUE).entry == drawn(entry, VALUE.upper()).entry
    assert drawn(entry, VALUE[::-1]).entry != drawn(entry, VALUE).entry


@pytest.mark.usefixtures("inline")
def test_a_report_of_a_drawn_suite_is_verified(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "small.toml").write_text(RELATIVE, encoding="utf-8")
    assert cli("evaluate", "cubic", "--suite", "small.toml", "--beacon", VALUE).returncode == 0
    path = tmp_path / "out" / "evaluate" / f"cubic,beacon={VALUE[:8]}" / report.JSON
    found = report.read(path)
    assert found.suites[0].beacon == VALUE
    again = cli("evaluate", "--verify", path, "--suite", "small.toml")
    assert (again.returncode, again.stdout) == (0, f"{path}: 3 rows again, the same bytes\n")
    assert cli("evaluate", "cubic", "--suite", "small.toml").returncode == 0
    usual = report.read(tmp_path / "out" / "evaluate" / "cubic" / report.JSON)
    figures = [each.suites[0].criteria[0].checks[0].results[0].values for each in (found, usual)]
    assert figures[0] != figures[1]


@pytest.mark.parametrize("value", ["round 5", "abc", "g" * 64, "a" * 31])
def test_a_value_that_is_none_is_one_line(value: str, cli: Cli) -> None:
    found = cli("evaluate", "cubic", "--beacon", value)
    assert found.returncode == 2
    assert re.search(r"--beacon .*: expected 32 to 256 hexadecimal digits", found.stderr)
    assert found.stderr.count("\n") == 1
