"""``airwnd guard`` from Python; `crates/guard/tests` covers the guard itself."""

import re
import sys
from pathlib import Path

import pytest

from .conftest import Cli
from .linux import run_in_linux

PLACES = ("windows of this host", "windows on a router")


def test_the_help_is_that_of_the_engine(cli: Cli) -> None:
    done = cli("guard", "--help")
    assert (done.returncode, done.stderr) == (0, "")
    for word in ("--cgroup", "--all", "--forward", "--rwnd", "status", "check"):
        assert word in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing to guard; name a cgroup: --cgroup PATH, or --all for all sockets; on a router: "),
        (["--bogus"], "unexpected argument '--bogus' found"),
        (["--cgroup", "/nonexistent"], "cgroup /nonexistent: No such file or directory"),
        (["--forward", "nonexistent0"], "interface nonexistent0: does not exist"),
        (["--forward", "lo", "--rwnd", "oracle"], "--rwnd: needs the rate of the link, which is known in a "),
        (["--forward", "lo", "--rwnd", "drw"], "--rwnd: unknown rwnd `drw`; did you mean `drwa`?; allowed: "),
        (["--forward", "lo", "--rwnd", '{kind = "drwa", lambda = 0.0}'], "--rwnd: lambda: 0.0 is outside "),
        (["rules.toml", "--forward", "lo"], "rules.toml: No such file or directory"),
        (
            ["rules.toml", "--rwnd", "drwa", "--forward", "lo"],
            "the argument '[RULES.toml]' cannot be used with ",
        ),
    ],
)
def test_a_mistake_is_one_line(cli: Cli, arguments: list[str], message: str) -> None:
    done = cli("guard", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"airwnd guard: {message}")
    assert done.stderr.count("\n") == 1


def test_check_reports_every_requirement(cli: Cli) -> None:
    done = cli("guard", "check")
    lines = done.stdout.splitlines()
    assert [line.split(":")[0] for line in lines] == [PLACES[0]] * 3 + [PLACES[1]]
    complete = all(re.fullmatch(r"[^:]+: [^:]+: ok", line) for line in lines)
    assert done.returncode == (0 if complete else 2)
    assert bool(done.stderr) != complete


@pytest.mark.nightly
def test_a_window_is_limited_and_released_in_debians_kernel(tmp_path: Path) -> None:
    program = Path(__file__).with_name("guarded_download.py")
    done = run_in_linux([sys.executable, "-I", program], tmp_path)
    assert (done.returncode, done.stdout) == (0, "limited\nreleased\n"), done.stderr


@pytest.mark.nightly
def test_the_programs_load_in_debians_kernel(tmp_path: Path) -> None:
    job = tmp_path / "job"
    job.mkdir()
    # The file system of cgroups is that of the emulated computer.
    script = f"mount -t cgroup2 none /sys/fs/cgroup && {sys.executable} -m airwnd guard check"
    done = run_in_linux(["sh", "-c", script], job)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(re.findall(": ok$", done.stdout, re.MULTILINE)) == 4
