"""Presets in Python and on the command line."""

from pathlib import Path

import pytest

import airwnd

SETTINGS = {
    "preset": "ns3.44",
    "duration": "1s",
    "link": [{"rate": "10Mbps", "aqm": "codel"}],
    "ue": [{}],
    "flow": [{"cc": "cubic"}],
}


def test_values_of_a_preset_are_in_the_resolved_scenario() -> None:
    resolved = airwnd.Scenario.from_dict(SETTINGS).resolved
    assert resolved["preset"] == "ns3.44"
    assert resolved["link"][0]["aqm"]["root"] == "newton"
    assert resolved["flow"][0]["cc"]["slow_start"]["train"] == 1.0
    assert airwnd.Scenario.from_dict(resolved).resolved == resolved


def test_a_preset_is_an_ordinary_key() -> None:
    scenario = airwnd.Scenario.from_dict(SETTINGS)
    own = scenario.with_(preset="none")
    assert own.resolved["link"][0]["aqm"]["root"] == "exact"
    assert own.override([("preset", "ns3.44")]) == scenario
    assert own != scenario


def test_an_unknown_preset_is_named_with_those_that_exist() -> None:
    scenario = airwnd.Scenario.from_dict(SETTINGS)
    with pytest.raises(airwnd.ScenarioError, match=r"allowed: `none`, `airwnd-0\.1`, `ns3\.26`, `ns3\.44`"):
        scenario.with_(preset="ns3")


def test_every_value_has_a_source() -> None:
    for preset in airwnd.presets():
        assert preset.values
        assert all(value.source for value in preset.values)


def test_the_default_congestion_control_is_that_of_the_preset(tmp_path: Path) -> None:
    design = tmp_path / "scenario.toml"
    design.write_text('duration = "1s"\n[[link]]\nrate = "10Mbps"\n[[ue]]\n[[flow]]\n')
    scenario = airwnd.Scenario.load(design)
    for name, expected in (
        ("none", "cubic"),
        ("airwnd-0.1", "newreno"),
        ("ns3.26", "newreno"),
        ("ns3.44", "cubic"),
    ):
        assert scenario.with_(preset=name).resolved["flow"][0]["cc"]["kind"] == expected


def test_a_quirk_is_no_key_but_compat_is() -> None:
    scenario = airwnd.Scenario.from_dict(SETTINGS)
    assert scenario.resolved["compat"] == "ns3.44"
    with pytest.raises(airwnd.ScenarioError, match=r"`conduct` is a quirk of another simulator .* `compat`"):
        scenario.with_({"rlc.am.conduct": "standard"})
    fewer = scenario.with_(compat_without=["conduct", "protocol"])
    assert fewer.resolved["compat_without"] == ["conduct", "protocol"]
    assert airwnd.Scenario.from_dict(fewer.resolved).resolved == fewer.resolved
    with pytest.raises(airwnd.ScenarioError, match=r"unknown quirk `conducts`; did you mean `conduct`"):
        scenario.with_(compat_without=["conducts"])
