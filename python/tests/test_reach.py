"""Messages about UEs out of reach, and link budgets before a run."""

import json
from pathlib import Path

import numpy as np
import pytest

from airwnd import InputError, Scenario
from airwnd.results.reach import reach_warnings

from .conftest import Cli

PHONE = """\
name = "phone"
preset = "ns3.44"
duration = "1s"
carrier.bandwidth = "10MHz"
radio.propagation = { kind = "hybrid-buildings", los_to_nlos = "200m" }
[[site]]
power = "43dBm"
[[ue]]
placement = { kind = "ring", radius = "310m" }
[[flow]]
"""
NARROW = {"mac.uplink_adaptation": "headroom"}


@pytest.fixture
def phone(tmp_path: Path) -> Path:
    """A scenario whose only UE is out of reach."""
    file = tmp_path / "phone.toml"
    file.write_text(PHONE)
    return file


def test_a_run_names_the_ue_the_reason_and_the_remedy(cli: Cli, phone: Path) -> None:
    output = " ".join(cli("run", str(phone)).stdout.split())
    assert "ue 0: uplink out of reach: SINR -2.6 dB over the carrier, 9.6 dB at the narrowest grant" in output
    assert "`mac.uplink_adaptation = " in output
    assert "PDF – %" in output
    reached = cli("run", str(phone), "--set", "mac.uplink_adaptation=headroom").stdout
    assert "out of reach" not in reached


def test_results_have_reach_as_columns() -> None:
    run = Scenario.from_toml(PHONE).run()
    assert run.ues["uplink_reach"].to_list() == ["out of reach"]
    assert run.ues["downlink_reach"].to_list() == ["reached"]
    assert run.flows["pdf_percent"].to_list() == [None]


def test_many_are_counted() -> None:
    run = Scenario.from_toml(PHONE).with_({"ue[0].count": 14}).run()
    lines = reach_warnings(run.ues.to_dicts(), run.scenario)
    assert len(lines) == 11
    assert lines[-1] == "and 4 more out of reach; see the table `ues`"


def test_links_are_listed_without_a_run(cli: Cli, phone: Path) -> None:
    output = cli("ues", str(phone)).stdout
    assert "uplink" in output
    assert "-110.7" in output
    (ue,) = json.loads(cli("ues", str(phone), "--json").stdout)
    assert (ue["uplink_reach"], ue["uplink_narrow_prbs"]) == ("out of reach", 3)
    narrow = Scenario.load(phone).with_(NARROW).link_budgets()
    assert narrow["uplink_reach"].to_list() == ["reached"]
    with pytest.raises(InputError, match="no radio links"):
        Scenario.from_toml('duration = "1s"\n[[link]]\nrate = "1Mbps"\n[[ue]]\n[[flow]]\n').link_budgets()


def test_the_map_of_the_uplink_equals_the_link_budgets(phone: Path) -> None:
    for changes in ({}, NARROW):
        scenario = Scenario.load(phone).with_(changes)
        (ue,) = scenario.link_budgets().iter_rows(named=True)
        x, y = ue["x_m"], ue["y_m"]
        map_ = scenario.radio_map(points=2, extent=(x, x + 1, y, y + 1))
        assert np.isclose(map_.uplink_sinr_db[0, 0], ue["uplink_sinr_db"])
        assert np.isclose(map_.uplink_narrow_sinr_db[0, 0], ue["uplink_narrow_sinr_db"])


def test_the_uplink_is_drawn(cli: Cli, phone: Path, tmp_path: Path) -> None:
    for quantity in ("uplink", "uplink-carrier"):
        out = tmp_path / f"{quantity}.png"
        cli("plot", "map", str(phone), "--quantity", quantity, "--points", "20", "-o", str(out))
        assert out.stat().st_size > 0
