"""Sessions of ``airwnd link`` with real programs, as root and as an ordinary user."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from airwnd import Run

PHONE = """
name = "phone"
duration = "20s"
[[site]]
[[ue]]
name = "phone"
placement = {kind = "ring", radius = "500m"}
[[ue]]
name = "others"
count = 3
[[flow]]
ue = "others"
traffic = {kind = "web"}
"""

NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
# For an interpreter in a folder of root: without capabilities, root is an ordinary user.
POWERLESS = ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all", "--no-new-privs"]
# A device that every user may open, as on ordinary systems, and a network of its own as the host's.
PREPARED = """
mkdir -p "$1/dev" && rm -f "$1/dev/tun" && mknod -m 666 "$1/dev/tun" c 10 200 &&
mount --bind "$1/dev/tun" /dev/net/tun &&
ip link set lo up && shift && exec "$@"
"""
USERS = ["root", "ordinary"] if os.geteuid() == 0 else ["ordinary"]
REFUSED = re.compile(r"airwnd: [^\n]*(TUN|tun|namespace)[^\n]*: [^\n]+\n?")


@dataclass(frozen=True)
class Emulator:
    """Starts sessions in a folder, as a user."""

    folder: Path
    user: str

    def command(self, *arguments: str) -> list[str]:
        """Return the whole command of a session."""
        words = [sys.executable, "-m", "airwnd", "link", *arguments]
        if os.geteuid() != 0:
            return words
        if self.user == "ordinary":
            can_run = subprocess.run([*NOBODY, sys.executable, "-c", ""], check=False, capture_output=True)
            words = [*(POWERLESS if can_run.returncode else NOBODY), *words]
        return ["unshare", "-m", "-n", "sh", "-c", PREPARED, "sh", str(self.folder), *words]

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a session until its end."""
        return subprocess.run(
            self.command(*arguments),
            cwd=self.folder,
            env={**os.environ, "HOME": str(self.folder)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def session(self, *arguments: str) -> tuple[str, dict[str, Any]]:
        """Run a session that succeeds; return its output and its summary."""
        done = self.run("--summary", "summary.json", *arguments)
        assert done.returncode == 0, done.stderr
        summary = json.loads((self.folder / "summary.json").read_text(encoding="utf-8"))
        packets = summary["link"]["packets"]
        assert summary["link"]["unaccounted"] == 0
        left = packets["out"] + packets["refused"] + packets["inside"] + sum(packets["dropped"].values())
        assert packets["in"] == left
        return done.stdout, summary


@pytest.fixture(params=USERS)
def emulator(request: pytest.FixtureRequest, tmp_path: Path) -> Emulator:
    found = Emulator(tmp_path, request.param)
    tmp_path.chmod(0o777)
    # pytest's folders are private.
    for parent in tmp_path.parents:
        parent.chmod(0o755)
        if parent.name.startswith("pytest-of-"):
            break
    (tmp_path / "phone.toml").write_text(PHONE, encoding="utf-8")
    done = found.run("--rate", "10Mbit", "--quiet", "--", "true")
    if done.returncode == 2 and REFUSED.fullmatch(done.stderr):
        # The machine forbids namespaces or TUN devices to this user, and the message says how to change it.
        pytest.skip(f"this machine refuses sessions: {done.stderr.strip()}")
    assert (done.returncode, done.stderr) == (0, "")
    return found


def rtts_ms(text: str) -> list[float]:
    return [float(found) for found in re.findall(r"time=([\d.]+) ms", text)]


def test_ping_iperf_and_curl_on_a_simulated_phone(emulator: Emulator) -> None:
    script = """
        ping -c 3 -i 0.2 server
        iperf3 -c server -R -t 4 > iperf.txt &
        sleep 2
        echo loaded
        ping -c 3 -i 0.2 server
        curl -s -o /dev/null -w '%{http_code} %{size_download}\\n' http://server/bytes/100kB
        wait
    """
    output, summary = emulator.session("phone.toml", "--out", "run", "--", "sh", "-c", script)
    idle, loaded = output.split("loaded")
    assert len(rtts_ms(idle)) == len(rtts_ms(loaded)) == 3
    # The download fills the queue of the phone's bearer.
    assert min(rtts_ms(loaded)) > 1.2 * min(rtts_ms(idle))
    assert "200 100000" in loaded
    assert "receiver" in (emulator.folder / "iperf.txt").read_text(encoding="utf-8")
    run = Run.load(emulator.folder / "run")
    kinds = run.flows.filter(run.flows["group"] == "real")["kind"].unique().to_list()
    assert sorted(kinds) == ["icmp", "tcp"]
    assert any(run.series["queue_bytes"])
    assert run.sockets.height > 0
    assert run.connections.height == len([row for row in run.outcome["flows"] if row["group"] == "real"])
    assert run.view(emulator.folder / "page.html", browse=False).stat().st_size > 0
    assert summary["link"]["exit_codes"] == [0]


def test_several_real_ues_and_packets_between_them(emulator: Emulator) -> None:
    commands = ["--ue", "others-1", "--", "sleep", "4", "--ue", "phone", "--", "sh", "-c"]
    script = "sleep 1; ping -c 1 server; ping -c 1 ue-2"
    output, _ = emulator.session("phone.toml", *commands, script)
    server, other = rtts_ms(output)
    # A packet from UE to UE crosses the air twice each way.
    assert other > 1.2 * server


@pytest.mark.parametrize("version", ["-4", "-6"])
def test_fragments_of_both_versions(emulator: Emulator, version: str) -> None:
    ping = f"ping {version} -c 2 -i 0.2 -s 4000 server"
    output, summary = emulator.session("--rate", "10Mbit", "--delay", "5ms", "--", "sh", "-c", ping)
    assert len(rtts_ms(output)) == 2
    # Three fragments each way; no packet is larger than the MTU.
    assert summary["link"]["packets"]["in"] >= 12
    assert min(rtts_ms(output)) > 10


def test_a_queue_marks_packets_of_a_kernel_with_ecn(emulator: Emulator) -> None:
    _, summary = emulator.session(
        *("--rate", "5Mbit", "--delay", "5ms", "--queue", "codel,ecn=true", "--out", "run"),
        *("--sysctl", "net.ipv4.tcp_ecn=1", "--sysctl", "net.ipv4.tcp_congestion_control=reno"),
        *("--", "sh", "-c", "iperf3 -c server -R -t 3 > /dev/null"),
    )
    down = next(row for row in summary["links"] if row["link"] == "link" and row["direction"] == "down")
    assert down["marks"] > 0
    download = max(summary["flows"], key=lambda row: row["goodput_kbps"])
    assert download["retransmissions"] == 0


def test_sessions_in_a_session_and_mahimahis_commands(emulator: Emulator) -> None:
    (emulator.folder / "fast.mm").write_text("1\n2\n3\n", encoding="ascii")
    airwnd = shlex.join([sys.executable, "-m", "airwnd", "link", "--quiet"])
    inner = f"{airwnd} mm-link fast.mm fast.mm -- ping -c 2 server"
    outer = ["--rate", "100Mbit", "--delay", "20ms", "--", "sh", "-c", inner]
    output, _ = emulator.session(*outer)
    assert len(rtts_ms(output)) == 2
    assert min(rtts_ms(output)) > 40


def test_mm_link_writes_logs_and_ends_with_its_trace(emulator: Emulator) -> None:
    trace = "".join(f"{ms}\n" for ms in range(1, 4001))
    (emulator.folder / "trace.mm").write_text(trace, encoding="ascii")
    shells = "mm-delay 5 mm-link trace.mm trace.mm --once -u up.log -d down.log --"
    script = "ping -4 -c 3 -i 0.2 -s 1472 server; echo done; sleep 100"
    output, summary = emulator.session(*shells.split(), "sh", "-c", script)
    assert len(rtts_ms(output)) == 3
    assert "done" in output
    assert summary["link"]["trace_ended"]
    for name in ("up.log", "down.log"):
        text = (emulator.folder / name).read_text(encoding="utf-8")
        head, events = text.split("# mahimahi config: [delay 5 ms] \n")
        assert "\n# queue: infinite\n# init timestamp: " in head
        words = [line.split() for line in events.splitlines()]
        assert [line[0] for line in words] == sorted((line[0] for line in words), key=int)
        # Every opportunity is logged, and a full packet takes one.
        assert len([line for line in words if line[1:] == ["#", "1504"]]) == 4000
        assert len([line for line in words if line[1:3] == ["+", "1504"]]) == 3
        delays = [int(line[3]) for line in words if line[1:3] == ["-", "1504"]]
        assert len(delays) == 3
        assert min(delays) >= 1


@pytest.mark.skipif(os.geteuid() != 0, reason="a device on the host needs root")
def test_this_machine_as_the_other_end(tmp_path: Path) -> None:
    found = Emulator(tmp_path, "root")
    done = found.run("--rate", "10Mbit", "--delay", "5ms", "--host", "--", "ping", "-c", "2", "server")
    assert len(rtts_ms(done.stdout)) == 2, done.stderr


def test_nothing_on_the_host_changes(emulator: Emulator) -> None:
    state = "ip -j addr; ip -j route; ip -j -6 route; ip -j rule; sysctl -a --pattern '^net' 2> /dev/null"
    link = shlex.join([sys.executable, "-m", "airwnd", "link", "--rate", "10Mbit", "--quiet"])
    script = f"""
        ({state}) > before
        {link} -- ping -c 1 server > /dev/null
        timeout -s KILL 3 {link} -- sleep 100
        {link} -- true
        ({state}) > after
    """
    command = emulator.command()
    words = [*command[: command.index(sys.executable)], "sh", "-c", script]
    subprocess.run(words, cwd=emulator.folder, check=True, capture_output=True)
    before, after = ((emulator.folder / name).read_text(encoding="utf-8") for name in ("before", "after"))
    assert before
    assert before == after


def processes(marker: str) -> list[int]:
    """Return the processes whose command line contains a word."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                words = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if marker.encode() in words:
                found.append(int(folder.name))
    return found


def waited_for(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds; the harness's time limit ends a wait that never does."""
    while not condition():
        time.sleep(0.05)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_killed_session_leaves_no_process(emulator: Emulator, number: signal.Signals) -> None:
    marker = f"airwnd-{os.getpid()}-{emulator.user}-{number}"
    # A child of a child of the command, whose arguments mark it.
    command = ["sh", "-c", "sh -c 'sleep 10000; true' \"$0\" & wait", marker]
    words = emulator.command("--rate", "10Mbit", "--quiet", "--out", "run", "--", *command)
    with subprocess.Popen(words, cwd=emulator.folder, stdin=subprocess.DEVNULL) as session:
        waited_for(lambda: len(processes(marker)) >= 3 or session.poll() is not None)
        assert session.poll() is None
        session.send_signal(number)
    waited_for(lambda: not processes(marker))
    # An interrupted session loses no finished work.
    assert (emulator.folder / "run/manifest.json").exists() == (number != signal.SIGKILL)


def test_a_killed_command_ends_the_session_with_its_exit_code(emulator: Emulator) -> None:
    done = emulator.run("--rate", "10Mbit", "--quiet", "--", "sh", "-c", "kill -9 $$")
    assert done.returncode == 128 + signal.SIGKILL


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can take the device away")
@pytest.mark.parametrize(
    ("preparation", "remedy"),
    [("chmod 600 /dev/net/tun", "chmod 666 /dev/net/tun"), ("mount -t tmpfs none /dev/net", "modprobe tun")],
)
def test_what_is_missing_and_the_command_that_provides_it(
    tmp_path: Path, preparation: str, remedy: str
) -> None:
    tmp_path.chmod(0o777)
    command = Emulator(tmp_path, "ordinary").command("--rate", "10Mbit", "--", "true")
    # Before the change of the user.
    place = command.index("setpriv")
    words = [*command[:place], "sh", "-c", f'{preparation} && exec "$@"', "sh", *command[place:]]
    done = subprocess.run(words, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert remedy in done.stderr


@pytest.mark.nightly
def test_ten_thousand_short_connections(emulator: Emulator) -> None:
    client = """
        import socket, threading
        def work():
            for _ in range(500):
                with socket.create_connection(("server", 7)) as one:
                    one.sendall(b"x" * 100)
                    got = b""
                    while len(got) < 100:
                        got += one.recv(100)
        threads = [threading.Thread(target=work) for _ in range(20)]
        [each.start() for each in threads]
        [each.join() for each in threads]
        print("done")
    """
    (emulator.folder / "client.py").write_text("\n".join(line[8:] for line in client.splitlines()), "utf-8")
    wire = ["--rate", "100Mbit", "--delay", "1ms", "--sysctl", "net.ipv4.tcp_tw_reuse=1"]
    output, summary = emulator.session(*wire, "--", sys.executable, "client.py")
    assert output == "done\n"
    assert sum(row["kind"] == "tcp" for row in summary["flows"]) == 10_000


def test_the_programs_of_these_tests_are_installed() -> None:
    for program in ("iperf3", "ping", "curl", "ip", "setpriv", "unshare"):
        assert shutil.which(program), f"{program} is missing; `make programs` installs it"
