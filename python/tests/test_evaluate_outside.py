"""``airwnd evaluate`` with candidates outside the engine: stacks, and this kernel's TCP."""

import re
from pathlib import Path

import msgspec
import pytest

from airwnd.study import kernel, stacks
from airwnd.study.evaluate import report, verify
from airwnd.study.evaluate.candidate import parse
from airwnd.study.evaluate.contest import Contest
from airwnd.study.evaluate.suite import Suite

from .conftest import Cli
from .test_evaluate import SMALL, Inline, answers, inline  # noqa: F401 (a fixture)

STACK = '''
import airwnd


class Sender(airwnd.Endpoint):
    """A window of packets, each of which is acknowledged; lost ones are sent again after a second."""

    def __init__(self, window):
        self.window, self.sent, self.acknowledged, self.due_s = window, 0, 0, 1.0

    def transmit(self, now_s):
        while self.sent < self.acknowledged + self.window:
            self.sent += 1
            yield bytes(1200)

    def receive(self, now_s, data, ecn):
        self.acknowledged += 1
        self.due_s = now_s + 1

    def timeout(self):
        return self.due_s

    def on_timeout(self, now_s):
        self.sent, self.due_s = self.acknowledged, now_s + 1


class Receiver(airwnd.Endpoint):
    def __init__(self):
        self.answers = 0

    def transmit(self, now_s):
        answers, self.answers = self.answers, 0
        return [bytes(40)] * answers

    def receive(self, now_s, data, ecn):
        self.received_bytes += len(data)
        self.answers += 1


def connect(seed, window=8, upload=False):
    ends = Receiver(), Sender(window)
    return ends[::-1] if upload else ends


def download(seed):
    return connect(seed)


def raises(seed):
    raise ZeroDivisionError("on purpose")


class Stuck(Receiver):
    def receive(self, now_s, data, ecn):
        while True:
            pass


def hangs(seed):
    return Stuck(), Sender(8)


def one(seed):
    return Receiver()
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a suite and a stack."""
    (tmp_path / "small.toml").write_text(SMALL, encoding="utf-8")
    (tmp_path / "mine.py").write_text(STACK, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("inline")
def test_a_stack_is_evaluated_and_verified(folder: Path, cli: Cli) -> None:
    words = ("evaluate", "stack:mine.py:connect", "--suite", "small.toml", "--set", "window=20")
    done = cli(*words)
    assert (done.returncode, done.stderr) == (0, "")
    path = next((folder / "out" / "evaluate").glob("stack*/report.json"))
    found = report.read(path)
    assert answers(found) == {"carries": "meets", "impossible": "does not", "words": "not evaluated"}
    near, far = found.criteria()[0][1].checks[0].results
    assert near.figure.mean is not None
    assert far.figure.mean is not None
    # 20 packets of 1200 B per round trip of 40 ms and of 80 ms, besides a competitor.
    assert far.figure.mean < near.figure.mean < 20 * 1200 * 8 / 40
    assert near.references["cubic"].mean is not None
    assert str(folder) not in path.read_text(encoding="utf-8")
    first = path.read_bytes()
    assert cli(*words, "--out", "again").returncode == 0
    assert next((folder / "again").glob("stack*/report.json")).read_bytes() == first
    verify = ("--verify", str(path), "--suite", "small.toml")
    refused = cli("evaluate", *verify)
    assert "to execute stack:mine.py:connect, write airwnd evaluate stack:mine.py:connect" in refused.stderr
    done = cli("evaluate", "stack:mine.py:connect", *verify)
    assert (done.returncode, done.stdout) == (0, f"{path}: 3 rows again, the same bytes\n")
    (folder / "mine.py").write_text(STACK.replace("bytes(1200)", "bytes(1000)"), encoding="utf-8")
    done = cli("evaluate", "stack:mine.py:connect", *verify)
    assert done.returncode == 1
    assert "the candidate stack:mine.py:connect has changed" in done.stdout
    assert "small/carries: figures of `Goodput` differ" in done.stdout


@pytest.mark.usefixtures("inline")
def test_figures_in_real_time_differ_if_their_intervals_are_apart(folder: Path, cli: Cli) -> None:
    words = ("evaluate", "stack:mine.py:connect", "--suite", "small.toml", "--set", "window=20")
    assert cli(*words).returncode == 0
    before = report.read(next((folder / "out" / "evaluate").glob("stack*/report.json")))
    changed = msgspec.to_builtins(before)
    figure = changed["suites"][0]["criteria"][0]["checks"][0]["results"][0]["figure"]
    figure["mean"] += 0.01
    assert verify.results(before, msgspec.convert(changed, report.Report), is_real=True) == []
    figure["low"], figure["high"] = 9001.0, 9002.0
    now = msgspec.convert(changed, report.Report)
    (difference,) = verify.results(before, now, is_real=True)
    assert re.fullmatch(
        r"small/carries: intervals of `Goodput` are apart: [\d.]+ to [\d.]+ and 9001\.0 to 9002\.0",
        str(difference),
    )


def test_a_criterion_that_a_stack_cannot_be_evaluated_against_says_why(folder: Path) -> None:
    candidate = parse(f"stack:{folder}/mine.py:download")

    def reasons(suite: str) -> dict[str, str]:
        contest = Contest.of(Suite.load(suite), candidate)
        found = {each.id: contest.unsupported(each) for each in contest.suite.entry.criterion}
        return {name: reason for name, reason in found.items() if reason}

    name = candidate.name
    assert reasons("rfc9743") == {
        "5.1.5": f"{name} sends without end, and not transfer traffic",
        "5.2.3": f"{name} sends without end, and not transfer traffic",
        "7.4": f"{name} sends without end, and not transfer traffic",
        "7.6": f"tcp.delayed_ack_count of {name} cannot be set",
        "7.11": f"{name} sends without end, and not transfer traffic",
    }
    assert reasons("cellular") == {
        "drx": f"{name} sends without end, and not transfer traffic",
        "uplink": f"{folder}/mine.py:download: unknown option `upload`; allowed: none",
    }
    assert reasons("bbr-draft")["A.14"] == f"{name} does not report series.cwnd_bytes"
    assert "drx" in reasons("cellular")
    with_upload = Contest.of(Suite.load("cellular"), parse(f"stack:{folder}/mine.py:connect"))
    assert with_upload.unsupported(with_upload.suite.criteria["uplink"]) == ""


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("stack:mine.py:raises",), r"mine\.py:\d+: ZeroDivisionError: on purpose \(seed 1\)"),
        (("stack:mine.py:one",), r"mine\.py:one: expected a function that returns a pair of endpoints"),
        (("stack:mine.py:conect",), r"mine\.py: there is no function `conect`; did you mean `connect`\?"),
        (("stack:mine.py:connect", "--set", "windows=3"), r"unknown option `windows`; allowed: `window`"),
        (("kernel:vegass",), r"kernel:vegass: this kernel has no such congestion control loaded; it has "),
        (("smoltcp:reno",), r"smoltcp:reno: the stack smoltcp is not installed; the package airwnd-stacks"),
    ],
)
@pytest.mark.usefixtures("inline")
def test_mistakes_are_one_line(words: tuple[str, ...], message: str, cli: Cli) -> None:
    found = cli("evaluate", *words, "--suite", "small.toml")
    assert found.returncode == 2, found.stdout
    assert re.search(message, found.stderr), found.stderr
    assert found.stderr.count("\n") == 1


@pytest.mark.usefixtures("folder")
def test_a_stack_that_hangs_is_one_line(cli: Cli) -> None:
    found = cli("evaluate", "stack:mine.py:hangs", "--suite", "small.toml", "--plugin-timeout", "1s")
    assert found.returncode == 2, found.stdout
    assert "a call of " in found.stderr
    assert "did not return within 1 s" in found.stderr
    assert found.stderr.count("\n") == 1


@pytest.mark.usefixtures("folder")
def test_an_installed_stack_is_named_with_its_control(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stacks, "installed", lambda: {"mine": None})
    monkeypatch.setattr(stacks, "find", lambda *_: None)
    subject = parse("mine:reno", {"mss": 3})
    assert (subject.outside, subject.value) == ("stack", {"kind": "mine", "cc": "reno", "mss": 3})


@pytest.mark.nightly
@pytest.mark.usefixtures("folder")
@pytest.mark.skipif("cubic" not in kernel.controls(), reason="this kernel has no CUBIC")
def test_a_control_of_the_kernel_is_evaluated_and_verified(cli: Cli, folder: Path) -> None:
    done = cli("evaluate", "kernel:cubic", "--suite", "small.toml")
    assert (done.returncode, done.stderr) == (0, "")
    path = folder / "out" / "evaluate" / "kernel-cubic" / "report.json"
    found = report.read(path)
    near, far = found.criteria()[0][1].checks[0].results
    assert all(value is not None and value > 0 for each in (near, far) for value in each.values)
    assert answers(found)["impossible"] == "does not"
    done = cli("evaluate", "--verify", path, "--suite", "small.toml")
    # Figures in real time depend on the load.
    expected = {0: f"{path}: 3 rows again, all intervals overlap\n", 1: " are apart: "}
    assert expected[done.returncode] in done.stdout
