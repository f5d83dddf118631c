"""Messages about controls that need ECN marks where no queue marks."""

from pathlib import Path

import pytest

from airwnd.results.marking import marking_warnings

from .conftest import Cli

CELL = """\
duration = "100ms"
[[site]]
[[ue]]
[[flow]]
id = "l4s"
cc = "prague"
[[flow]]
id = "classic"
"""
WARNING = "flow l4s: `prague` needs ECN marks, and no queue marks"


@pytest.fixture
def cell(tmp_path: Path) -> str:
    """A cell with a queue that drops, and a Prague and a CUBIC flow."""
    file = tmp_path / "cell.toml"
    file.write_text(CELL)
    return str(file)


@pytest.mark.parametrize("command", ["check", "run"])
def test_a_control_without_marks_is_named(cli: Cli, cell: str, command: str) -> None:
    assert WARNING in " ".join(cli(command, cell).stdout.split())
    assert WARNING not in cli(command, cell, "--set", "rlc.queue=dualpi2").stdout
    assert WARNING not in cli(command, cell, "--set", "flow[l4s].cc=cubic").stdout


def test_controls_of_real_sockets_may_need_marks() -> None:
    flows = [("real", "dctcp"), ("real", "dctcp"), ("real", None), ("other", "cubic")]
    [line] = marking_warnings({"flow": [{"id": "flow", "cc": {"kind": "prague"}}]}, flows)
    assert line.startswith("flow real: `dctcp` needs ECN marks")


def test_a_sweep_names_the_settings_without_marks(cli: Cli, cell: str, tmp_path: Path) -> None:
    def swept(*axes: str, out: str) -> str:
        grid = [word for axis in axes for word in ("--grid", axis)]
        return " ".join(cli("sweep", cell, *grid, "--out", str(tmp_path / out)).stdout.split())

    both = "ue[0].count=1,2"
    found = swept(both, out="all")
    assert WARNING in found
    assert "settings: flow l4s" not in found
    some = swept("flow[l4s].cc=prague,dctcp,cubic", "rlc.queue=drop-tail,dualpi2", out="some")
    assert f"1 of 6 settings: {WARNING}" in some
    assert "1 of 6 settings: flow l4s: `dctcp` needs ECN marks" in some
    assert WARNING not in swept(both, "rlc.queue=dualpi2", out="none")


def test_the_warning_is_no_part_of_json(cli: Cli, cell: str) -> None:
    output = cli("check", cell, "--json")
    assert WARNING in output.stderr
    assert WARNING not in output.stdout


def test_a_link_above_whose_threshold_packets_are_marked_marks(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "link.toml"
    link = '[[link]]\nrate = "10Mbps"\n'
    file.write_text(CELL.replace("[[site]]\n", link))
    assert WARNING in cli("check", str(file)).stdout
    assert WARNING not in cli("check", str(file), "--set", "link[0].mark_above=20").stdout
