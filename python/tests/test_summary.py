"""Summary of a run on the terminal, at any width."""

import re
from dataclasses import replace

import pytest

from airwnd import Scenario
from airwnd.results.headline import headline
from airwnd.results.summary import _effort, show, show_links
from airwnd.results.undelivered import reasons
from airwnd.text.terminal import Column, console, number, sheet

WIDTHS = (60, 80, 120)
SITE = 'duration = "1s"\n[[site]]\n'
SCENARIOS = {
    "cell": SITE
    + '[[ue]]\ncount = 10\nplacement = { kind = "ring", radius = "100m" }\n[[flow]]\nrwnd = "autotuning"\n',
    "groups": SITE
    + """
[[ue]]
count = 30
[[flow]]
id = "page"
cc = "cubic"
traffic = { kind = "transfer", size = "100kB" }
arrivals = { kind = "poisson", rate = 1.0 }
[[flow]]
id = "bulk"
cc = "bbr"
""",
    "links": """
name = "two wires"
duration = "1s"
[[link]]
name = "backhaul-between-the-data-centre-and-the-aggregation-site"
rate = "100Mbps"
delay = "5ms"
per = "group"
[[link]]
name = "access"
rate = "10Mbps"
rate_up = "1Mbps"
aqm = "codel"
[[ue]]
name = "a-group-of-terminals-with-a-long-name"
[[flow]]
id = "download-with-a-very-long-identifier"
[[flow]]
id = "call"
traffic = "cbr"
""",
    "wifi": 'duration = "1s"\n[[link]]\nkind = "wifi"\n[[ue]]\ncount = 4\n[[flow]]\n',
    "handover": """
duration = "2s"
handover.algorithm = "a3-rsrp"
[[site]]
[[site]]
position = ["600m", "0m"]
[[site]]
position = ["400km", "0m"]
[[ue]]
placement = { kind = "list", points = [["250m", "0m"], ["900km", "0m"]] }
count = 2
mobility = { kind = "constant-velocity", speed = "50m/s" }
[[flow]]
""",
}


@pytest.fixture
def columns(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Width of the terminal."""
    monkeypatch.setenv("COLUMNS", str(request.param))
    return int(request.param)


def words_of(text: str) -> str:
    """Undo line breaks, including those within names."""
    return "".join(text.split())


@pytest.mark.parametrize("columns", WIDTHS, indirect=True)
@pytest.mark.parametrize("name", SCENARIOS)
def test_nothing_is_truncated_at_any_width(
    name: str, columns: int, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Scenario.from_toml(SCENARIOS[name]).run()
    show(run)
    out = capsys.readouterr().out
    assert "…" not in out
    assert max(map(len, out.splitlines())) <= columns
    assert not any(line.endswith(" ") for line in out.splitlines())
    for flow in run.flows.head(20).iter_rows(named=True):
        assert number(flow["goodput_kbps"], 1) in out
    assert re.search(r"PDF: packet\s+delivery\s+fraction", out)


@pytest.mark.parametrize("columns", WIDTHS, indirect=True)
def test_link_budgets_are_not_truncated(columns: int, capsys: pytest.CaptureFixture[str]) -> None:
    show_links(Scenario.from_toml(SCENARIOS["handover"]).link_budgets())
    out = capsys.readouterr().out
    assert "…" not in out
    assert max(map(len, out.splitlines())) <= columns
    for text in ("UE", "RSRP", "dBm", "out of"):
        assert text in out


def test_columns_are_omitted_by_rank_and_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wide = [
        Column("name", ["a long name with spaces"], is_name=True),
        Column("one", ["1,000,000.00"], "ms", rank=1, key="one_ms"),
        Column("two", ["2,000,000.00"], "ms", rank=2, key="two_ms"),
        Column("kept", ["3,000,000.00"], "ms"),
    ]
    for columns, hidden in ((80, set()), (45, {"two_ms"}), (30, {"one_ms", "two_ms"})):
        monkeypatch.setenv("COLUMNS", str(columns))
        sheet(wide, console())
        out = capsys.readouterr().out
        assert {key for key in ("one_ms", "two_ms") if key in out} == hidden
        assert "3,000,000.00" in out


def test_names_wrap_without_losing_characters(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "a-name-with-hyphens-and_without_any_in_this_part"
    monkeypatch.setenv("COLUMNS", "24")
    sheet([Column("name", [name], is_name=True), Column("n", ["1,000"])], console())
    cells = re.findall(r"^ (\S+)", capsys.readouterr().out, re.MULTILINE)
    assert "".join(cells).endswith(name)


def test_zero_has_no_sign() -> None:
    assert [number(value, 1) for value in (-0.0, -0.04, 0.0)] == ["0.0"] * 3
    assert number(-0.06, 1) == "-0.1"


def test_an_empty_run_is_reported_without_negative_zeros(capsys: pytest.CaptureFixture[str]) -> None:
    run = Scenario.from_toml(
        SITE + '[[ue]]\n[[flow]]\ntraffic = "transfer"\narrivals = { kind = "poisson", rate = 1e-6 }\n'
    ).run()
    show(run)
    out = capsys.readouterr().out
    assert "no flow began" in out
    assert "throughput 0.0 kbit/s" in out
    assert "-0.0" not in str(run.to_json())


def test_the_head_names_stack_mss_scheduler_carrier_and_queue() -> None:
    def head(text: str) -> str:
        run = Scenario.from_toml(text).run()
        return "\n".join(headline(run.scenario, run.outcome["groups"]))

    cell = SCENARIOS["cell"].replace('duration = "1s"', 'duration = "1ms"', 1)
    plain_cell = head(cell)
    for text in (
        "stack linux, MSS 1448 B",
        "cc cubic",
        "rwnd autotuning",
        "scheduler pf",
        "carrier 10 MHz",
        "path loss urban-macro, fading epa",
        "RLC AM, queue drop-tail 1 MB",
    ):
        assert text in plain_cell
    assert "preset" not in plain_cell
    old = head('preset = "airwnd-0.1"\ntcp.stack = "linux"\n' + cell)
    for text in (
        "preset airwnd-0.1; stack linux, MSS 1448 B",
        "cc newreno",
        "rwnd autotuning",
        "scheduler pf",
        "carrier 10 MHz",
        "path loss friis, fading none",
        "RLC UM, queue drop-tail 10 KiB",
    ):
        assert text in old
    assert "with sack false, MSS 1000 B" in head("tcp.mss = 1000\ntcp.sack = false\n" + cell)
    assert "cc cubic, bbr" in head(SCENARIOS["groups"])
    assert "link access: wire, 10 Mbps (down), 1 Mbps (up), queue codel" in head(SCENARIOS["links"])
    assert "link link: wifi, dsss" in head(SCENARIOS["wifi"])


def test_control_characters_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    # The scenario reader refuses control characters, but not format characters and line separators.
    run = Scenario.from_dict(
        {
            "name": "a\u202e[red]\u2028",
            "duration": "1ms",
            "link": [{"name": "l\u2066", "rate": "1Mbps", "per": "group"}],
            "ue": [{"name": "u\u2029"}],
            "flow": [{"id": "\u202ex"}],
        }
    ).run()
    show(run)
    out = capsys.readouterr().out
    assert not set("\u202e\u2028\u2029\u2066") & set(out)
    for text in ("a\\u202e[red]\\u2028", "l\\u2066", "u\\u2029", "\\u202ex"):
        assert text in out
    # Results read from a file may have any text.
    flows = [{**row, "id": "\x1b]0;x\x07"} for row in run.outcome["flows"]]
    show(replace(run, outcome={**run.outcome, "scenario": "a\x1b[31m[red]", "flows": flows}))
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\x07" not in out
    assert "a\\x1b[31m[red]" in out
    assert "\\x1b]0;x\\x07" in out


WIRE = 'duration = "1s"\n[[link]]\nrate = "1Mbps"\n[[ue]]\n[[flow]]\n'
# The first RTO is after the end of the run, so that a connection sends one SYN.
ONE_SYN = f'tcp.initial_rto = "3s"\n{WIRE}'


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            SITE + '[[ue]]\nplacement = { kind = "list", points = [["400km", "0m"]] }\n[[flow]]\n',
            "UE out of reach (downlink)",
        ),
        (
            WIRE + 'count = 2\nstagger = "2s"\n',
            "flow-1: not begun when the run ended; see `start` and `stagger`",
        ),
        (
            ONE_SYN.replace("1Mbps", "1bps"),
            "connection not established: link link (down) delivered nothing (packets, with handshakes: 1",
        ),
        (WIRE.replace("1Mbps", "1bps") + 'traffic = "cbr"\n', "none of the data arrived: link link (down)"),
        (
            ONE_SYN.replace('rate = "1Mbps"', 'rate = "1Mbps"\nloss = { kind = "packet-error", rate = 1.0 }'),
            "link link (down) delivered nothing (packets, with handshakes: 1 sent, 0 arrived, 1 dropped)",
        ),
        (
            'duration = "1s"\nmac.scheduler = "mt"\nradio.propagation = "friis"\nradio.fading = "none"\n'
            "[[site]]\n[[ue]]\n"
            'placement = { kind = "list", points = [["50m", "0m"], ["3000m", "0m"]] }\ncount = 2\n'
            '[[flow]]\ntraffic = { kind = "cbr", rate = "80Mbps" }\n',
            "flow-1: none of the data arrived: no downlink grant by scheduler mt",
        ),
    ],
)
def test_a_flow_that_delivered_nothing_has_a_reason(text: str, reason: str) -> None:
    run = Scenario.from_toml(text).run()
    (line,) = reasons(run.outcome, run.scenario)
    assert reason in line


def test_a_flow_that_delivered_data_has_no_reason(small: Scenario) -> None:
    run = small.run()
    assert reasons(run.outcome, run.scenario) == []


def test_many_flows_without_deliveries_are_summarised() -> None:
    run = Scenario.from_toml(WIRE + 'count = 1000\nstagger = "2ms"\n').run()
    lines = reasons(run.outcome, run.scenario)
    assert len(lines) <= 4
    assert any("and 494 more: not begun" in line or "more: not begun" in line for line in lines)


DRIVE = """
name = "drive"
duration = "8s"
handover.algorithm = "a3-rsrp"
[[site]]
[[site]]
position = ["200m", "0m"]
[[ue]]
placement = { kind = "list", points = [["20m", "30m"]] }
mobility = { kind = "constant-velocity", speed = "20m/s" }
[[flow]]
"""


@pytest.mark.parametrize(
    ("wall_s", "speed"),
    [(0.0001, "2,000"), (0.02, "10"), (0.0201, "10"), (0.08, "2.5"), (0.55, "0.36"), (400.0, "0.0005")],
)
def test_a_run_slower_than_real_time_has_a_fraction(small: Scenario, wall_s: float, speed: str) -> None:
    run = replace(small.run(), wall_s=wall_s)
    assert _effort(run).endswith(f" s: {speed} times real time")


def test_handovers_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    run = Scenario.from_toml(DRIVE).run()
    show(run)
    (count,) = run.ues["handovers"]
    (failures,) = run.ues["link_failures"]
    assert count > 0
    assert f"\nhandovers: {count}, radio link failures: {failures}\n" in capsys.readouterr().out
    show(Scenario.from_toml(SCENARIOS["cell"]).run())
    assert "handovers" not in capsys.readouterr().out


def test_totals_of_unlike_groups_have_a_note_and_no_index_of_fairness(
    capsys: pytest.CaptureFixture[str],
) -> None:
    call = '[[flow]]\nid = "call"\ntraffic = { kind = "cbr", rate = "64kbps" }\n'
    other = '[[flow]]\nid = "other"\ncc = "bbr3"\n'
    for more, is_unlike in ((call, True), (other, False)):
        run = Scenario.from_toml(f'{SITE}[[ue]]\n[[flow]]\nid = "download"\n{more}').run()
        show(run)
        (line,) = [
            line for line in capsys.readouterr().out.splitlines() if "PDF" in line and "throughput" in line
        ]
        assert line.startswith("2 groups together: throughput") == is_unlike
        assert ("Jain" in line) != is_unlike
        assert ("2 groups together: throughput" in run._repr_html_()) == is_unlike
