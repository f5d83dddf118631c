"""``airwnd doctor``."""

import json
import subprocess

import pytest

from airwnd import __version__
from airwnd.cli import doctor

from .conftest import Cli


def test_the_report_covers_versions_simulation_sessions_and_the_guard(cli: Cli) -> None:
    done = cli("doctor", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert [*found] == ["versions", "resources", "simulation", "sessions", "guard", "programs", "extras"]
    assert found["versions"]["airwnd"].startswith(f"{__version__}, engine ")
    assert found["simulation"] == {"airwnd run": "ok"}
    assert found["sessions"]["airwnd link"] == "ok"
    assert found["extras"]["pandas"][0].isdigit()
    assert len(found["guard"]) >= 3


def test_what_fails_is_reported_in_its_line(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(command: list[str], **_: object) -> "subprocess.CompletedProcess[str]":
        if "guard" in command:
            raise subprocess.TimeoutExpired(command, 1.0)
        return subprocess.CompletedProcess(command, 2, "", "airwnd: no\nnamespaces here")

    monkeypatch.setattr(subprocess, "run", failing)
    monkeypatch.setattr(doctor, "which", lambda _: None)
    monkeypatch.setattr(doctor, "EXTRAS", {"no-such-package": "nothing"})
    monkeypatch.setattr(doctor, "_SCENARIO", "duration = 3")
    done = cli("doctor")
    assert done.returncode == 0
    lines = {
        name.strip(): rest.strip()
        for name, _, rest in (
            line.partition("  ") if not line.startswith("  ") else line.strip().partition("  ")
            for line in done.stdout.splitlines()
        )
    }
    assert lines["airwnd run"].startswith("ScenarioError: ")
    assert "duration" in lines["airwnd run"]
    assert lines["airwnd link"] == "airwnd: no namespaces here"
    assert lines["airwnd guard check"] == "no answer in 120 s"
    assert lines["iperf3"] == "missing; airwnd link: server of iperf3"
    assert lines["no-such-package"] == "missing; nothing"
