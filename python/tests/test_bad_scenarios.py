"""Errors in scenarios are reported in one line, for each way of reading a scenario.

The errors and their messages are tested in `crates/lab/tests/it/broken_scenarios.rs`.
"""

import json
import re
from pathlib import Path

import pytest

from airwnd import Scenario, ScenarioError

from .conftest import Cli

GOOD = """\
name = "good"
duration = "1s"
[carrier]
bandwidth = "10MHz"
[[site]]
[[ue]]
placement = { kind = "list", points = [["100m", "0m"]] }
[[flow]]
rwnd = "autotuning"
"""

# One mistake of each part of the reader: what is replaced in GOOD, by what, and the message after the
# file's name.
BROKEN = {
    "not TOML": ("[carrier]", "[carrier", r":3: not valid TOML: .*"),
    "a misspelt key": ("bandwidth =", "bandwith =", r":4: carrier: unknown key `bandwith`; did you mean .*"),
    "a wrong unit": ('"1s"', '"1km"', r":2: duration: `km` is not a unit of a time; allowed units: .*"),
    "an unknown algorithm": (
        '"autotuning"',
        '"autotunning"',
        r":9: flow\[0\]\.rwnd: unknown rwnd `autotunning`; did you mean `autotuning`\?; .*",
    ),
    "what no single value shows": (
        '"100m"',
        '"0m"',
        r":7: ue\[0\]\.placement: UE 0 .* is less than 1m from a mast .*",
    ),
    "a file that is not there": (
        'kind = "list", points = [["100m", "0m"]]',
        'kind = "file", path = "nowhere.csv"',
        r":7: ue\[0\]\.placement\.path: .*nowhere\.csv cannot be read: No such file or directory",
    ),
}


def broken(case: str) -> tuple[str, str]:
    """The scenario with an error, and the message after the file's name."""
    old, new, message = BROKEN[case]
    assert old in GOOD
    return GOOD.replace(old, new), message


def refusal(text: str) -> str:
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_toml(text, "broken.toml")
    return str(caught.value)


def test_the_unbroken_scenario_is_valid() -> None:
    assert Scenario.from_toml(GOOD).run().totals["throughput_kbps"] > 0


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_scenario_gives_one_message(case: str) -> None:
    text, message = broken(case)
    found = refusal(text)
    assert len(found.splitlines()) == 1
    assert re.fullmatch(rf"broken\.toml{message}", found), found


@pytest.mark.parametrize("command", ["run", "check"])
def test_the_command_line_prints_the_same_message(cli: Cli, tmp_path: Path, command: str) -> None:
    text, _ = broken("a misspelt key")
    (tmp_path / "broken.toml").write_text(text, encoding="utf-8")
    done = cli(command, "broken.toml")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"airwnd: {refusal(text)}\n")


def test_a_json_file_has_keys_without_lines(cli: Cli, tmp_path: Path) -> None:
    settings = Scenario.from_toml(GOOD).resolved
    settings["carrier"]["bandwidth"] = "11MHz"
    message = "carrier.bandwidth: unknown word `11MHz`; did you mean `1"
    (tmp_path / "broken.json").write_text(json.dumps(settings), encoding="utf-8")
    done = cli("check", "broken.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith(f"airwnd: broken.json: {message}")
    with pytest.raises(ScenarioError, match=rf"^scenario: {re.escape(message)}[^\n]*$"):
        Scenario.from_dict(settings)


def test_a_changed_setting_names_the_setting(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "good.toml").write_text(GOOD, encoding="utf-8")
    message = "--set ue[0].count=0: ue[0].count: 0 is outside 1..100000"
    done = cli("check", "good.toml", "--set", "ue[0].count=0")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"airwnd: {message}\n")
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_toml(GOOD).with_({"ue[0].count": 0})
    assert str(caught.value) == message
