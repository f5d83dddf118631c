"""Inputs that are pipes: each can be read once."""

import json
import os
import pickle
import shlex
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from airwnd import Scenario
from airwnd.support.files import read_text

from .command_line import command_words

TRACE = "1\n2\n4\n"
SHORT = "name = 'short'\nduration = '200ms'\n[[ue]]\n[[flow]]\n"
TRACED = f"{SHORT}[[link]]\nkind = 'trace'\ndown = "
#: The command reads the pipes of the shell.
AIRWND = " ".join(command_words())


def shell(script: str, cwd: Path, text: str = "") -> "subprocess.CompletedProcess[str]":
    """Run a script of bash, which has process substitution."""
    words = ["bash", "-c", script.replace("airwnd", AIRWND, 1)]
    return subprocess.run(words, cwd=cwd, input=text, capture_output=True, text=True, check=False)


@contextmanager
def pipe(text: str) -> Iterator[str]:
    """Yield the path of a pipe with this text; it is written once."""
    read, write = os.pipe()

    def fill() -> None:
        with os.fdopen(write, "w", encoding="utf-8") as file:
            file.write(text)

    writer = threading.Thread(target=fill)
    writer.start()
    try:
        yield f"/dev/fd/{read}"
    finally:
        os.close(read)
        writer.join()


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
@pytest.mark.parametrize("json_text", [False, True])
def test_a_scenario_on_standard_input(tmp_path: Path, name: str, *, json_text: bool) -> None:
    settings = {"name": "short", "duration": "200ms", "ue": [{}], "flow": [{}], "link": [{"rate": "1Mbps"}]}
    text = json.dumps(settings) if json_text else f"{SHORT}[[link]]\nrate = '1Mbps'\n"
    done = shell(f"airwnd check {name}", tmp_path, text)
    assert (done.returncode, done.stdout) == (0, "standard input: a valid scenario\n"), done.stderr
    done = shell(f"airwnd run {name} --json", tmp_path, text)
    assert json.loads(done.stdout)["scenario"] == "short"


def test_names_in_standard_input_are_relative_to_the_current_folder(tmp_path: Path) -> None:
    (tmp_path / "a.mm").write_text(TRACE, encoding="ascii")
    done = shell("airwnd check -", tmp_path, f"{TRACED}'a.mm'\n")
    assert done.returncode == 0, done.stderr
    done = shell("airwnd check -", tmp_path, "name = 3\n")
    assert done.stderr == "airwnd: standard input:1: name: expected a text, found 3\n"


def test_a_scenario_and_its_files_from_pipes(tmp_path: Path) -> None:
    lines = (
        "duration = '1s'",
        "[[ue]]",
        "placement = {kind = 'file', path = '/dev/fd/3'}",
        "[[site]]",
        "[[flow]]",
    )
    scenario = shlex.join(["printf", "%s\\n", *lines])
    script = f"airwnd check <({scenario}) --json 3< <(printf 'x_m,y_m\\n5,6\\n')"
    done = shell(script, tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["ue"][0]["placement"]["rows"] == [[5.0, 6.0, -1.0, -1.0]]


def test_a_pipe_is_read_once_for_a_scenario_its_copies_and_other_processes() -> None:
    with pipe(TRACE) as path:
        scenario = Scenario.from_toml(f"{TRACED}'{path}'\n")
        faster = scenario.with_({"duration": "300ms"})
    # The pipe is gone.
    copies = [scenario, faster, pickle.loads(pickle.dumps(faster))]  # noqa: S301 (our own)
    digests = [each.resolved["link"][0]["digest"] for each in copies]
    assert len(set(digests)) == 1
    assert copies[2].run().duration_s == pytest.approx(0.3)


def test_seeds_in_parallel_read_a_trace_from_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(f"{TRACED}'/dev/stdin'\n", encoding="utf-8")
    done = shell("airwnd run s.toml --seeds 2 --json", tmp_path, TRACE)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("check s.toml < /dev/zero", "s.toml:7: link[0].down: standard input: larger than 256 MiB"),
        ("check - < /dev/zero", "standard input: larger than 256 MiB"),
        ("check <(printf '\\xff')", "descriptor 63:1: byte 0xff is not UTF-8"),
        ("link --trace <(echo x) -- true", "/dev/fd/63:1: `x` is not a whole number of milliseconds"),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, options: str, message: str) -> None:
    (tmp_path / "s.toml").write_text(f"{TRACED}'/dev/stdin'\n", encoding="utf-8")
    done = shell(f"airwnd {options}", tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith(f"airwnd: {message}")


def test_a_named_pipe_is_read_anew_for_each_scenario(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    for text in ("a", "b"):
        writer = threading.Thread(target=path.write_text, args=(text,))
        writer.start()
        assert read_text(path, pipes=True) == text
        writer.join()
