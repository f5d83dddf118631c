"""``airwnd guard`` from Python; `crates/guard/tests` covers the guard itself."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from matplotlib.patches import Rectangle

from airwnd.cli.guard import table
from airwnd.guard.inside import remeasured
from airwnd.guard.session import Measured, missing
from airwnd.plots.guard import Half, plot_halves
from airwnd.plots.save import save

from .cargo import unit_tests
from .conftest import Cli
from .linux import run_in_linux

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PLACES = ("windows of this host", "windows on a router", "shapers")


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
        (["--forward", "lo", "--rwnd", "oracle"], "--rwnd: `oracle` is available in `airwnd run` only; "),
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


def test_check_reports_every_requirement(cli_process: Cli) -> None:
    done = cli_process("guard", "check")
    lines = done.stdout.splitlines()
    assert [line.split(":")[0] for line in lines] == [PLACES[0]] * 3 + [*PLACES[1:]]
    complete = all(re.fullmatch(r"[^:]+: [^:]+: ok", line) for line in lines)
    assert done.returncode == (0 if complete else 2)
    assert bool(done.stderr) != complete


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["status", "--live"], "airwnd guard: --live requires a terminal"),
        (["completions", "bash"], "airwnd guard: this is a command of airwnd-guard; use: airwnd completion "),
        (
            ["shape", "nonexistent0"],
            "airwnd guard: interface nonexistent0: does not exist; ip link lists all",
        ),
        (["shape", "lo", "--qdisc", "fq"], "airwnd guard: invalid value 'fq' for '--qdisc <QDISC>'"),
        (
            ["shape", "lo", "--undo", "--only", "up"],
            "airwnd guard: the argument '--undo' cannot be used with ",
        ),
        (
            ["test", "example.org:0"],
            "airwnd guard: server example.org:0: `0` is no port; allowed: 1 to 65535",
        ),
        (["test", "[::1"], "airwnd guard: server [::1: [ without ]"),
        (
            ["test", "a", "--seconds", "5"],
            "airwnd guard: invalid value '5' for '--seconds <SECONDS>': 5 is not ",
        ),
        (["test", "a", "--rwnd", "drw"], "airwnd guard: --rwnd: unknown rwnd `drw`; did you mean `drwa`?; "),
        (
            ["test", "a", "--svg", "none/a.svg"],
            "airwnd guard: --svg none/a.svg: its folder does not exist",
        ),
        (["serve", "--listen", "9551"], "airwnd guard: invalid value '9551' for '--listen <ADDRESS:PORT>': "),
        (["run"], "airwnd guard: the following required arguments were not provided:"),
        (
            ["run", "--rwnd", "drw", "--", "true"],
            "airwnd guard: --rwnd: unknown rwnd `drw`; did you mean `drwa`?; ",
        ),
        (["run", "--rules", "none.toml", "--", "true"], "airwnd guard: none.toml: "),
        (["demo", "--out", "a.gif"], "airwnd: a.gif: the name of a picture must end in .svg, .pdf, .png"),
        (["demo", "none.toml"], "airwnd: none.toml: "),
        (["demo", "--seconds", "1"], "airwnd: Invalid value for '--seconds': 1.0 is not in the range "),
    ],
)
def test_a_mistake_with_a_command_is_one_line(
    cli: Cli, tmp_path: Path, arguments: list[str], message: str
) -> None:
    done = cli("guard", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(message), done.stderr
    assert done.stderr.count("\n") == 1
    assert not any(tmp_path.iterdir())


@pytest.mark.skipif(os.geteuid() != 0, reason="the guard needs root")
def test_the_guard_of_a_command_ends_with_it(cli_process: Cli) -> None:
    """Its exit code is the command's, and its cgroup is gone."""
    if lines := missing():
        pytest.skip("; ".join(lines))
    shown = "cat /proc/self/cgroup; kill -TERM $PPID; sleep 60"
    for command, code in ((f"trap 'exit 7' TERM; {shown} & wait", 7), ("kill -KILL $$", 137)):
        done = cli_process("guard", "run", "--", "sh", "-c", command)
        assert (done.returncode, done.stderr) == (code, "")
        if code == 7:
            name = next(line for line in done.stdout.splitlines() if line.startswith("0::"))
            name = name.rpartition("/")[2]
            assert name.startswith("airwnd-guard-run-")
            assert not list(Path("/sys/fs/cgroup").rglob(name))
    done = cli_process("guard", "run", "--", "no-such-command")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("airwnd guard: no-such-command: ")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may load eBPF programs")
def test_the_demo_without_root_says_what_is_missing(cli: Cli) -> None:
    done = cli("guard", "demo")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("airwnd: needs root, ")


def test_the_demo_executes_nothing_of_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("airwnd", "click"):
        (tmp_path / f"{name}.py").write_text("open('executed', 'w').close()\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    missing()
    assert not (tmp_path / "executed").exists()


def test_an_interrupted_transfer_ends_without_a_traceback(tmp_path: Path) -> None:
    task = tmp_path / "task"
    os.mkfifo(task)
    command = [sys.executable, "-I", "-m", "airwnd.guard.inside", str(task)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    # The pipe opens when the program reads its task, for which it then waits.
    with process, task.open("wb"):
        process.send_signal(signal.SIGINT)
        output = process.communicate()
    assert (process.returncode, *output) == (130, b"", b"")


def halves() -> tuple[Half, Half]:
    """Ten seconds; pings rise to 500 ms without the guard, with it the first 3 s differ from the rest."""
    times = [tick / 10 for tick in range(101)]
    rising = Half("without the guard", [(at, 50 * at) for at in times], [(at, int(at * 1e6)) for at in times])
    steady = [(at, 900.0 if at < 3 else 30.0) for at in times]
    received = [(at, int(at * 5e5 + max(at - 3, 0) * 5e5)) for at in times]
    return rising, Half("with the guard, drwa", steady, received)


def test_figures_of_a_half_leave_out_its_start() -> None:
    without, guarded = halves()
    assert (guarded.ping_ms(50), guarded.ping_ms(95)) == (30.0, 30.0)
    assert guarded.mbps() == pytest.approx(8.0)
    assert without.ping_ms(50) == pytest.approx(325.0)
    assert Half("short", [(1.0, 5.0)], [(0.0, 0), (1.0, 10)]).mbps() is None


def test_the_table_has_a_line_for_each_part() -> None:
    text = table(Measured([20.0, 30.0], *halves(), late=False, lateness_us=10.0))
    lines = [line.split() for line in text.splitlines()]
    assert [line[-3:] for line in lines[1:]] == [
        ["-", "25.0", "29.5"],
        ["8.0", "325.0", "482.5"],
        ["8.0", "30.0", "30.0"],
    ]


def test_the_picture_has_ping_and_throughput_of_both_halves(tmp_path: Path) -> None:
    figure = plot_halves(halves())
    top, bottom = figure.axes
    assert [len(axes.get_lines()) for axes in (top, bottom)] == [2, 2]
    assert top.get_lines()[0].get_ydata()[-1] == pytest.approx(500.0)  # type: ignore[index]
    assert bottom.get_lines()[0].get_ydata()[-1] == pytest.approx(8.0)  # type: ignore[index]
    for suffix in ("png", "svg", "pdf"):
        save(figure, tmp_path / f"picture.{suffix}")
    marked = plot_halves([halves()[0], replace(halves()[1], measured_s=[(5.0, 5.2), (8.0, 8.3)])])
    for axes in marked.axes:
        bands = [band for band in axes.patches if isinstance(band, Rectangle)]
        # The throughput is a mean over half a second.
        assert [band.get_x() for band in bands] == [5.0, 8.0]
        assert [band.get_width() for band in bands] == pytest.approx([0.7, 0.8])
    assert legend(marked) == ["without the guard", "with the guard, drwa", "minimum RTT measured again"]
    # A transfer that ended before anything was measured.
    plot_halves([Half("a", [], []), Half("b", [], [])])


def legend(figure: "Figure") -> list[str]:
    found = figure.axes[0].get_legend()
    assert found
    return [text.get_text() for text in found.get_texts()]


def test_the_intervals_of_new_measurements_are_those_of_the_own_flows(tmp_path: Path) -> None:
    own, other = tmp_path.stat().st_ino, 1

    def state(*flows: tuple[int, list[float] | None]) -> str:
        rows = [{"cgroup": cgroup, "measured_s": measured} for cgroup, measured in flows]
        return json.dumps({"places": [{"place": "receiver", "flows": rows}]}) + "\n"

    def found(*states: str) -> list[tuple[float, float]]:
        log = tmp_path / "log"
        log.write_text("".join(states), encoding="utf-8")
        return remeasured(log, tmp_path)

    assert found(state((other, [1.0, 1.2])), state((own, None)), state()) == []
    first, second = state((other, [1.0, 1.2]), (own, [3.0, 3.2])), state((own, [33.0, 33.1]))
    # The flow has ended before the guard.
    assert found(first, first, second, state()) == [(3.0, 3.2), (33.0, 33.1)]


@pytest.mark.nightly
@pytest.mark.skipif(os.geteuid() != 0, reason="the guard needs root")
def test_the_demo_shows_when_the_minimum_rtt_was_measured_again(cli_process: Cli, tmp_path: Path) -> None:
    """For the first time 30 s after the guard has begun."""
    if lines := missing():
        pytest.skip("; ".join(lines))
    picture = tmp_path / "demo.svg"
    done = cli_process("guard", "demo", "--rwnd", "drwa", "--seconds", "45", "--out", str(picture))
    assert done.returncode == 0, done.stderr
    is_marked = "<!-- minimum RTT measured again -->" in picture.read_text(encoding="utf-8")
    assert is_marked, done.stdout + done.stderr
    rates = {line[:14].strip(): float(line.split()[-3]) for line in done.stdout.splitlines()[2:4]}
    # Nothing but the transfer is measured.
    assert rates["with guard"] > 0.8 * rates["without guard"], done.stdout


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
    script = f"mount -t cgroup2 none /sys/fs/cgroup && {sys.executable} -I -m airwnd guard check"
    done = run_in_linux(["sh", "-c", script], job)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(re.findall(": ok$", done.stdout, re.MULTILINE)) == 5


@pytest.mark.nightly
def test_connections_are_followed_on_a_router_in_debians_kernel(tmp_path: Path) -> None:
    chosen = ["forward::tests", "shape::watch"]
    done = run_in_linux([unit_tests("airwnd-guard"), *chosen, "--test-threads", "1"], tmp_path)
    assert done.returncode == 0, done.stdout
    assert re.search(r"test result: ok\. [1-9]\d+ passed; 0 failed", done.stdout)


#: Connections and datagrams that are not of the protocol; fails until the server listens.
STRANGERS = """
import socket
for data in (b"", b"GET / HTTP/1.1", bytes(9000), b"airwnd-guard-test/1 session", b"\\n" * 99) * 9:
    with socket.create_connection(("server", 9551)) as sock:
        sock.sendall(data)
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
    for size in range(200):
        sock.sendto(b"AWG1" + bytes(size), ("server", 9551))
"""


@pytest.mark.nightly
@pytest.mark.skipif(os.geteuid() != 0, reason="the guard needs root")
def test_the_guard_shortens_the_ping_of_a_link_with_a_long_queue(cli_process: Cli, tmp_path: Path) -> None:
    """A whole `guard test`, over 10 Mbit/s with 0.8 s of buffer, after strangers have been at the server."""
    if lines := missing():
        pytest.skip("; ".join(lines))
    guard = [sys.executable, "-I", "-m", "airwnd", "guard"]
    (tmp_path / "strangers.py").write_text(STRANGERS, encoding="utf-8")
    begin = f'until {sys.executable} -I {tmp_path}/strangers.py; do sleep 0.1; done; exec "$@"'
    link = ["--rate", "10Mbit", "--delay", "10ms", "--queue", "1MB", "--quiet"]
    link += ["--sysctl", "net.ipv4.tcp_congestion_control=reno", "--server", shlex.join([*guard, "serve"])]
    files = ["--json", f"{tmp_path}/test.json", "--svg", f"{tmp_path}/test.svg"]
    done = cli_process("link", *link, "--", "sh", "-c", begin, "sh", *guard, "test", "server", *files)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "test.json").read_text(encoding="utf-8"))
    rows = {row["id"]: row for row in found["rows"]}
    assert list(rows) == ["idle", "download", "download_guarded", "upload", "upload_guarded"], done.stdout
    without, guarded = rows["download"], rows["download_guarded"]
    assert guarded["added_ms"] < without["added_ms"] / 2, done.stdout
    assert guarded["down_goodput_kbps"] > without["down_goodput_kbps"] / 2, done.stdout
    assert "to quote: download " in done.stdout
    assert (tmp_path / "test.svg").read_text(encoding="utf-8").startswith("<svg ")


#: What is on an interface before, while shapers are there, and after SIGKILL, with lines between.
SHAPED = """
ip link set lo up
ip link add wan type veth peer name isp
ip link set wan up
state() { tc qdisc show dev wan; tc filter show dev wan ingress; ip -o -brief link; echo ---; }
state
GUARD shape wan QDISC 2> /root/printed & guard=$!
for attempt in $(seq 600); do grep -q ^shaping /root/printed && break; sleep 0.1; done
cat /root/printed
# The first heartbeat is due.
sleep 3
tc qdisc show dev wan
tc qdisc show dev ifb-airwnd$(cat /sys/class/net/wan/ifindex)
tc filter show dev wan ingress
echo ---
kill -KILL $guard
for attempt in $(seq 600); do tc qdisc show dev wan | grep -q a1f0: || break; sleep 0.1; done
sleep 1
state
"""
SHAPER_MODULES = ("sch_cake", "sch_tbf", "sch_ingress", "ifb", "act_mirred", "cls_u32")


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("qdisc", "expected"),
    [
        ("", "qdisc cake a1f0: root refcnt N bandwidth unlimited besteffort"),
        ("--qdisc fq_codel", "qdisc tbf a1f0: root refcnt N rate 100Gbit"),
    ],
)
def test_shapers_are_made_and_removed_in_debians_kernel(tmp_path: Path, qdisc: str, expected: str) -> None:
    script = SHAPED.replace("GUARD", f"{sys.executable} -I -m airwnd guard").replace("QDISC", qdisc)
    done = run_in_linux(["sh", "-c", script], tmp_path, modules=SHAPER_MODULES)
    assert done.returncode == 0, done.stderr
    before, during, after = (part.strip() for part in done.stdout.split("---")[:3])
    assert before == after
    during = re.sub(r"refcnt \d+", "refcnt N", during)
    assert during.count(expected) == 2, during
    assert during.count("qdisc fq_codel") == (2 if "fq_codel" in qdisc else 0), during
    assert "mirred (Egress Redirect to device ifb-airwnd" in during
    assert "shaping" in during.splitlines()
