"""Representation of objects in notebooks and interactive sessions: a line, and a small card."""

from html.parser import HTMLParser
from pathlib import Path

import pytest

import airwnd
from airwnd import Run, Scenario, Sweep
from airwnd.study.batch import Processes, Store, Task, carry_out
from airwnd.study.design import Design
from airwnd.study.runner import sweep as carry_out_sweep

from .test_batch import WIRE

EVIL = "<script>alert('x')</script>&"


@pytest.fixture(scope="module")
def cell() -> Scenario:
    return Scenario.from_dict(
        {"name": EVIL, "duration": "100ms", "site": [{}], "ue": [{"count": 2}], "flow": [{"id": "down"}]}
    )


@pytest.fixture(scope="module")
def run(cell: Scenario) -> Run:
    return cell.run(seed=3)


class Balance(HTMLParser):
    """Counts open elements; collects tags and text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, _: object) -> None:
        self.open.append(tag)
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data + "\n"


def parsed(html: str) -> Balance:
    found = Balance()
    found.feed(html)
    assert found.open == []
    return found


def test_every_object_is_one_short_line(cell: Scenario, run: Run, tmp_path: Path) -> None:
    wire = Scenario.from_dict(WIRE)
    results = carry_out([Task(wire, seed) for seed in (1, 2)], Store(tmp_path / "store"), Processes(1))
    design = Design(scenario=wire, seeds=2)
    swept = carry_out_sweep(design, tmp_path / "sweep", Processes(1))
    shown = [repr(each) for each in (cell, run, cell.radio_map(points=5), results, design, swept)]
    shown.append(repr(Sweep.load(tmp_path / "sweep")))
    shown.append(repr(airwnd.Capture("download.pcapng")))
    for line in shown:
        assert "\n" not in line
        assert len(line) - len(str(tmp_path)) * line.count(str(tmp_path)) < 160, line
    assert shown[0] == f"<Scenario {EVIL!r} from scenario: 100ms, 2 UEs, flows down>"
    assert shown[1].startswith(f"<Run {EVIL!r}, seed 3: 0.1 s, 2 flows, ")
    assert shown[2].startswith("<RadioMap of 4 x 5 points: 1 cell, 2 UEs, SINR ")
    assert "2 runs" in shown[3]
    assert shown[6] == "<Sweep over seeds alone: 2 runs, 2 seeds>"
    assert shown[4] == "<Design of 'wire': nothing varied, 2 seeds>"


def test_cards_are_escaped_and_self_contained(cell: Scenario, run: Run) -> None:
    for html in (cell._repr_html_(), run._repr_html_()):
        found = parsed(html)
        assert found.tags <= {"div", "strong", "table", "thead", "tbody", "tr", "th", "td"}
        assert EVIL in found.text
        assert "down" in found.text
        assert "http" not in html
        assert len(html) < 5000


def test_the_card_of_a_sweep_has_its_settings_and_totals(tmp_path: Path) -> None:
    airwnd.sweep(Scenario.from_dict(WIRE), grid={"link[0].queue": [5, 6]}, out=tmp_path)
    found = parsed(Sweep.load(tmp_path)._repr_html_())
    assert "Sweep over link[0].queue: 2 runs, 1 seed\n" in found.text
    assert "link[0].queue\nseed\nthroughput_kbps\n" in found.text
    assert "5\n1\n" in found.text


def test_a_card_shows_only_the_first_rows() -> None:
    scenario = Scenario.from_dict({**WIRE, "flow": [{"id": f"flow {index}"} for index in range(12)]})
    found = parsed(scenario._repr_html_())
    assert "flow 9\n" in found.text
    assert "flow 10\n" not in found.text
    assert "and 2 more" in found.text


@pytest.mark.parametrize(
    "kind",
    [
        member.name
        for family in airwnd.catalogue()
        if family.name == "traffic"
        for member in family.members
        if member.name not in {"plugin", "python"}
    ],
)
def test_flows_without_windows_have_no_controller(kind: str) -> None:
    flow = {"traffic": kind, "cc": "cubic"}
    run = Scenario.from_dict({**WIRE, "warmup": "0s", "duration": "10ms", "flow": [flow]}).run()
    assert (run.groups["cc"][0] is None) == ("cubic" not in Scenario.from_dict(run.scenario)._repr_html_())


def test_frames_convert_to_pandas() -> None:
    run = Scenario.from_dict(WIRE).run(series="100ms")
    for frame in (run.flows, run.series, run.links, run.completions):
        assert list(frame.to_pandas().columns) == frame.columns
    assert run.series.to_pandas()["flow"].dtype == "category"
