"""Shell completion, as requested by the scripts of ``airwnd completion``."""

import json
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from .command_line import AIRWND
from .conftest import Cli

BASH = shutil.which("bash") or "bash"


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["airwnd", "reprod"], ["plain,reproduce"]),
        (["airwnd", "explain", "hysta"], ["plain,hystart", "plain,hystart-plus-plus"]),
        (["airwnd", "explain", "rlc.que"], ["plain,rlc.queue"]),
        (["airwnd", "list", "sch"], ["plain,sched"]),
        (["airwnd", "run", "--set", "mac."], ["plain,mac.scheduler", "plain,mac.uplink_scheduler"]),
        (["airwnd", "run", "--set", "mac.ha"], ["plain,mac.harq_transmissions"]),
        (["airwnd", "run", "--set", "rlc.queue."], ["plain,rlc.queue.buffer", "plain,rlc.queue.packets"]),
        (["airwnd", "run", "busy.toml", "--set", "flow[call].cc"], ["plain,flow[call].cc"]),
        (["airwnd", "run", "busy.toml", "--set", "flow[call].cc.be"], ["plain,flow[call].cc.beta"]),
        (
            ["airwnd", "run", "bus.json", "--set", "link[0].ra"],
            ["plain,link[0].rate", "plain,link[0].rate_up"],
        ),
        (["airwnd", "sweep", "busy.toml", "--grid", "flow[call].rw"], ["plain,flow[call].rwnd"]),
        (["airwnd", "plot", "sweep", "data", "--x", "r"], ["plain,rlc.queue.buffer"]),
        (
            ["airwnd", "plot", "series", "data", "--where", "rlc.queue.buffer=1"],
            ["plain,rlc.queue.buffer=10KiB", "plain,rlc.queue.buffer=1MiB"],
        ),
        (["airwnd", "compare", "data", "--group", "down"], ["plain,download"]),
        (["airwnd", "plot", "cdf", "busy.toml", "--group", "c"], ["plain,call"]),
        (["airwnd", "plot", "frontier", "nosuch", "--by", "r"], []),
        (["airwnd", "plot", "sweep", "data", "--y", "ja"], ["plain,jain"]),
        (["airwnd", "plot", "series", "--quantity", "cw"], ["plain,cwnd_bytes"]),
        (["airwnd", "list", "pres"], ["plain,preset"]),
        (["airwnd", "reproduce", "arwa-2019/table3"], ["plain,arwa-2019/table3"]),
        (["airwnd", "run", "b"], ["plain,bus.json", "plain,busy.toml"]),
        (["airwnd", "run", "below/"], ["file,below/"]),
        (["airwnd", "check", "deep/in"], ["plain,deep/inner.toml"]),
        (["airwnd", "guard", "--fo"], ["plain,--forward"]),
        (["airwnd", "guard", "--all", "--rec"], ["plain,--record"]),
        (["airwnd", "guard", "sta"], ["plain,status"]),
        (["airwnd", "guard", "ru"], ["plain,run"]),
        (["airwnd", "guard", "rules."], ["file,rules."]),
        (["airwnd", "guard", "status", "--li"], ["plain,--live"]),
        (["airwnd", "guard", "--all", "--rwnd", "drw"], ["plain,drwa"]),
        (["airwnd", "guard", "--all", "--rwnd", "o"], []),
        (["airwnd", "link", "mm-l"], ["plain,mm-link", "plain,mm-loss"]),
        (["airwnd", "link", "--trace", "nyc-s"], ["plain,nyc-subway"]),
        (["airwnd", "link", "--trace", "below/"], ["file,below/"]),
        (["airwnd", "link", "--queue", "cod"], ["plain,codel"]),
        (["airwnd", "link", "--loss-up", "pack"], ["plain,packet-error"]),
        (["airwnd", "run", "busy.toml", "--set", "rlc.mode="], ["plain,rlc.mode=am", "plain,rlc.mode=um"]),
        (["airwnd", "run", "busy.toml", "--set", "flow[0].cc.be"], ["plain,flow[0].cc.beta"]),
        (["airwnd", "run", "busy.toml", "--set", "flow[0].cc=cu"], ["plain,flow[0].cc=cubic"]),
        (["airwnd", "run", "busy.toml", "--set", "flow[call].cc=cu"], ["plain,flow[call].cc=cubic"]),
        (["airwnd", "run", "busy.toml", "--set", "flow[call].cc", "=", "cu"], ["plain,cubic"]),
        (["airwnd", "sweep", "busy.toml", "--grid", "mac.scheduler=pf,ps"], ["plain,mac.scheduler=pf,pss"]),
        (["airwnd", "sweep", "busy.toml", "--seeds", "=", "3", "--grid", "rlc.m"], ["plain,rlc.mode"]),
        (["airwnd", "guard", "test", "server", "--req"], ["plain,--require"]),
        (["airwnd", "guard", "--forward", "l"], ["plain,lo"]),
        (["airwnd", "guard", "--cgroup", "/sys"], ["file,/sys"]),
        (["airwnd", "guard", "demo", "--sec"], ["plain,--seconds"]),
        (["airwnd", "guard", "demo", "bu"], ["plain,bus.json", "plain,busy.toml"]),
    ],
)
def test_names_and_files_are_completed(
    cli: Cli, words: list[str], offered: list[str], tmp_path: Path
) -> None:
    """Bash asks for the last word."""
    names = ("busy.toml", "bus.json", "busy.txt", "below/run.csv", "deep/inner.toml", "data/manifest.json")
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "busy.toml").write_text('[[flow]]\nid = "call"\ncc = "cubic"\n', encoding="utf-8")
    axis = {"key": "rlc.queue.buffer", "values": ["10KiB", "1MiB", "2MiB"]}
    manifest = {"grid": [axis], "random": [], "scenario": {"flow": [{"id": "download"}, {"id": "call"}]}}
    (tmp_path / "data" / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    asked = {"COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1)}
    done = cli(environment={**asked, "_AIRWND_COMPLETE": "bash_complete"})
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == offered


def test_bash_accepts_its_script_and_completes(cli: Cli, tmp_path: Path) -> None:
    done = cli("completion", "bash")
    assert done.returncode == 0, done.stderr
    (tmp_path / "airwnd").write_text(f'#!/bin/sh\nexec {shlex.join(AIRWND)} "$@"\n', encoding="utf-8")
    (tmp_path / "airwnd").chmod(0o755)
    ask = """
    ask() {
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
        _airwnd_completion airwnd; echo "${COMPREPLY[@]}"
    }
    ask airwnd explain newren
    ask airwnd guard st
    ask airwnd run --set mac.scheduler = ex
    """
    script = f'PATH="$PWD:$PATH"\n{done.stdout}\n{ask}'
    shell = subprocess.run([BASH, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert shell.stdout.splitlines() == ["newreno", "status", "exp-pf"], shell.stderr


@pytest.mark.parametrize(("shell", "begins"), [("zsh", "#compdef airwnd"), ("fish", "function _airwnd")])
def test_other_shells_have_scripts(shell: str, begins: str, cli: Cli) -> None:
    assert cli("completion", shell).stdout.startswith(begins)


def test_an_unknown_shell_is_an_error(cli: Cli) -> None:
    done = cli("completion", "tcsh")
    assert done.returncode == 2
    assert "'bash', 'zsh', 'fish'" in done.stderr
