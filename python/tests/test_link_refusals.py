"""Congestion controls that a session's user may not choose."""

import os
from pathlib import Path

import pytest

from airwnd.link import refusals as module
from airwnd.link.refusals import refusals

from .test_link import Call, Engine, call, engine

__all__ = ["call", "engine"]

LINE = (
    "cubic: an ordinary user may choose reno, bbr only; allow it with: "
    "sudo sysctl -w net.ipv4.tcp_allowed_congestion_control='reno bbr cubic'"
)


@pytest.fixture
def sysctls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sysctls of a host that does not allow CUBIC, for an ordinary user."""
    folder = tmp_path / "sysctls"
    folder.mkdir()
    for which, text in (("available", "reno bbr cubic"), ("allowed", "reno bbr")):
        (folder / f"tcp_{which}_congestion_control").write_text(f"{text}\n", encoding="ascii")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    return folder


@pytest.mark.parametrize(
    ("command", "lines"),
    [
        (["iperf3", "-R", "-C", "cubic", "-c", "server"], [LINE]),
        (["sh", "-c", "iperf3 -C cubic -c server & wait"], [LINE]),
        (["sh", "lesson.sh"], [LINE]),
        (["iperf3", "-C", "bbr"], []),
        (["tool", "cubically"], []),
        (["sh", "binary"], []),
    ],
)
def test_a_control_that_is_not_allowed_is_named(
    sysctls: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], lines: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("lesson.sh").write_text("iperf3 -R -C ${1:-cubic} -c server | tail -1\n", encoding="utf-8")
    Path("binary").write_bytes(b"\xff\xfecubic")
    assert refusals([["ping", "server"], command], sysctls) == lines


def test_root_may_choose_each(sysctls: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert refusals([["iperf3", "-C", "cubic"]], sysctls) == []


def test_without_sysctls_nothing_is_said(sysctls: Path) -> None:
    assert refusals([["iperf3", "-C", "cubic"]], sysctls / "nowhere") == []


def test_a_session_names_it(
    engine: Engine, call: Call, sysctls: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SYSCTLS", sysctls)
    code, _, errors = call("--quiet", "wire.toml", "--", "iperf3", "-C", "cubic", "-c", "server")
    assert (code, errors) == (0, f"airwnd: {LINE}\n")
    assert engine.request["ues"]
