"""Sessions of ``airwnd link`` with real programs, as root and as an ordinary user."""

import json
import os
import re
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from airwnd import Run

from .command_line import command_words
from .conftest import nightly
from .waiting import running, wait_until

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

ORDINARY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
# A device that every user may open, as on ordinary systems, and a network of its own as the host's.
PREPARED = """
mkdir -p "$1/dev" && rm -f "$1/dev/tun" && mknod -m 666 "$1/dev/tun" c 10 200 &&
mount --bind "$1/dev/tun" /dev/net/tun &&
ip link set lo up && shift && exec "$@"
"""
# Around this network: another one with servers, and one of this machine that no other machine reaches. The
# servers have the session's user: otherwise the kernel would not let the end of the session kill them.
OPEN_PORTS = "echo 0 > /proc/sys/net/ipv4/ip_unprivileged_port_start"
PYTHON = shlex.join([*ORDINARY, "--pdeathsig", "KILL", sys.executable])
OUTSIDE = f"""
mount -t tmpfs none /run && ip netns add far && ip link add wan type veth peer name near netns far &&
ip addr add 198.51.100.2/24 dev wan && ip link set wan up && ip route add default via 198.51.100.1 &&
ip -n far addr add 198.51.100.1/24 dev near && ip -n far link set near up &&
{OPEN_PORTS} && ip netns exec far sh -c '{OPEN_PORTS}' &&
{{ ip netns exec far {PYTHON} -m airwnd.link.server > /dev/null 2>&1 & }}
{{ {PYTHON} -m airwnd.link.server > /dev/null 2>&1 & }}
{{ {PYTHON} -m http.server --bind 127.0.0.1 8000 > /dev/null 2>&1 & }}
for address in 198.51.100.1 127.0.0.1 127.0.0.1:8000; do
    until curl -s http://$address > /dev/null; do sleep 0.1; done
done
"""
# A variable of their environment marks the processes of a session.
MARKER = "AIRWND_TEST_SESSION"
AIRWND = shlex.join(command_words("link", "--quiet"))
USERS = ["root", "ordinary"] if os.geteuid() == 0 else ["ordinary"]
REFUSED = re.compile(r"airwnd: [^\n]*(TUN|tun|namespace)[^\n]*: [^\n]+\n?")


def readable_interpreter() -> str:
    """Return shell commands that show the interpreter to all users, even from a private folder such as /root.

    In a mount namespace; ``$1`` is a folder for its mounts.
    """
    prefixes = [Path(prefix) for prefix in dict.fromkeys([sys.base_prefix, sys.prefix])]
    private = {
        next((one for one in reversed(prefix.parents) if not one.stat().st_mode & stat.S_IXOTH), None)
        for prefix in prefixes
    }
    folders = [shlex.quote(str(one)) for one in private if one]
    if not folders:
        return ""
    places = [(shlex.quote(str(prefix)), f'"$1/prefix-{number}"') for number, prefix in enumerate(prefixes)]
    return " && ".join(
        [
            *(f"mkdir -p {place} && mount --bind {prefix} {place}" for prefix, place in places),
            *(f"mount -t tmpfs -o mode=755 none {folder}" for folder in folders),
            *(f"mkdir -p {prefix} && mount --bind {place} {prefix}" for prefix, place in places),
            "",
        ]
    )


@dataclass(frozen=True)
class Emulator:
    """Starts sessions in a folder, as a user."""

    folder: Path
    user: str

    def command(self, *arguments: str) -> list[str]:
        """Return the whole command of a session."""
        return self.prepared(command_words("link", *arguments))

    def prepared(self, command: list[str]) -> list[str]:
        """Return a command that runs where sessions may, as the user."""
        if os.geteuid() != 0:
            return command
        prepared = PREPARED
        if self.user == "ordinary":
            prepared = readable_interpreter() + PREPARED.lstrip()
            command = [*ORDINARY, *command]
        return ["unshare", "-m", "-n", "sh", "-c", prepared, "sh", str(self.folder), *command]

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


def open_to_all(folder: Path) -> None:
    """Let every user write in a folder of pytest, which are private."""
    folder.chmod(0o777)
    for parent in folder.parents:
        mode = stat.S_IMODE(parent.stat().st_mode)
        if mode & 0o055 != 0o055:
            parent.chmod(mode | 0o055)


@contextmanager
def public_folder() -> Iterator[Path]:
    """A folder in which every user can write; pytest makes its own private again at each start."""
    with tempfile.TemporaryDirectory(prefix="airwnd-test-") as name:
        folder = Path(name)
        folder.chmod(0o777)
        yield folder


@pytest.fixture(scope="session")
def refusal() -> Callable[[str], str]:
    """A function that returns why this machine refuses a user's sessions; empty if it does not."""

    @cache
    def call(user: str) -> str:
        with public_folder() as folder:
            done = Emulator(folder, user).run("--rate", "10Mbit", "--quiet", "--", "true")
        if done.returncode == 2 and REFUSED.fullmatch(done.stderr):
            # The machine forbids namespaces or TUN devices, and the message says how to change it.
            return done.stderr.strip()
        assert (done.returncode, done.stderr) == (0, "")
        return ""

    return call


@pytest.fixture(params=[nightly(user) if user == "root" else user for user in USERS])
def emulator(request: pytest.FixtureRequest, refusal: Callable[[str], str]) -> Iterator[Emulator]:
    if refused := refusal(request.param):
        pytest.skip(f"this machine refuses sessions: {refused}")
    with public_folder() as folder:
        (folder / "phone.toml").write_text(PHONE, encoding="utf-8")
        yield Emulator(folder, request.param)


def rtts_ms(text: str) -> list[float]:
    return [float(found) for found in re.findall(r"time=([\d.]+) ms", text)]


def test_ping_iperf_and_curl_on_a_simulated_phone(emulator: Emulator) -> None:
    # The pings last as long as the download, and begin when it has moved a megabyte.
    script = """
        ping -c 10 -i 0.1 server
        iperf3 -c server -R -t 6 > iperf.txt & download=$!
        moved() { [ "$(awk '/link:/ { print $2 }' /proc/net/dev)" -gt 1000000 ]; }
        until moved || ! kill -0 $download; do sleep 0.05; done
        echo loaded
        ping -i 0.1 server & pings=$!
        curl -s -o /dev/null -w '%{http_code} %{size_download}\\n' http://server/bytes/100kB
        wait $download; kill $pings; wait
    """
    output, summary = emulator.session("phone.toml", "--out", "run", "--", "sh", "-c", script)
    idle, loaded = output.split("loaded")
    # A full queue may drop pings, too.
    assert min(len(rtts_ms(idle)), len(rtts_ms(loaded))) >= 3
    # The download fills the queue of the phone's bearer.
    assert median(rtts_ms(loaded)) > 1.2 * median(rtts_ms(idle))
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


ECHO = """
import os, pathlib, socket, threading
sent = os.urandom(3_000_000)
for family in (socket.AF_INET, socket.AF_INET6):
    with socket.socket(family) as echo:
        echo.connect(("server", 7))
        writer = threading.Thread(target=lambda: (echo.sendall(sent), echo.shutdown(socket.SHUT_WR)))
        writer.start()
        received = b"".join(iter(lambda: echo.recv(1 << 16), b""))
        writer.join()
    print(received == sent)
lines = pathlib.Path("/proc/net/dev").read_text().splitlines()
print(next(line.split()[2] for line in lines if "link:" in line))
"""


@pytest.mark.parametrize("coalesce", [False, True])
def test_what_devices_hand_over_at_once_arrives_unchanged(emulator: Emulator, coalesce: bool) -> None:
    """Data echoed over both versions of IP: with `--coalesce` the device gets fewer packets."""
    (emulator.folder / "echo.py").write_text(ECHO, encoding="utf-8")
    # A segment takes 4 us: many leave in a turn of the relay, however busy the machine is.
    options = ("--rate", "3Gbit", "--delay", "2ms", "--queue", "1000")
    together = ("--coalesce",) if coalesce else ()
    output, summary = emulator.session(*options, *together, "--", sys.executable, "echo.py")
    *equal, received = output.split()
    assert equal == ["True", "True"]
    assert summary["link"]["unaccounted"] == 0
    segments = 2 * 3_000_000 // 1448
    assert (int(received) < segments / 2) == coalesce


def test_several_real_ues_and_packets_between_them(emulator: Emulator) -> None:
    commands = ["--ue", "others-1", "--", "sleep", "4", "--ue", "phone", "--", "sh", "-c"]
    script = "sleep 1; ping -c 1 server; ping -c 1 ue-2"
    output, _ = emulator.session("phone.toml", *commands, script)
    server, other = rtts_ms(output)
    # A packet from UE to UE crosses the air twice each way.
    assert other > 1.2 * server


def test_hosts_of_a_home_share_a_link_and_tcpdump_reads_both(emulator: Emulator) -> None:
    options = ("--rate", "10Mbit", "--delay", "5ms", "--queue", "100")
    capture = ("--pcap", "home.pcapng", "--pcap-node", "ue-0", "--pcap-node", "ue-1")
    commands = ("--ue", "pc", "--", "ping", "-4", "-c", "2", "-i", "0.2", "server")
    others = ("--ue", "console", "--", "ping", "-6", "-c", "3", "-i", "0.2", "server")
    output, summary = emulator.session(*options, *capture, *commands, *others)
    assert len(rtts_ms(output)) == 5
    assert summary["link"]["exit_codes"] == [0, 0]
    read = ["tcpdump", "-nr", str(emulator.folder / "home.pcapng"), "icmp or icmp6"]
    lines = subprocess.run(read, capture_output=True, text=True, check=True).stdout.splitlines()
    echoes = [line for line in lines if "echo re" in line]
    assert len(echoes) == 2 * 5
    assert sum(" IP6 " in line for line in echoes) == 2 * 3


def test_a_requirement_that_is_not_met_ends_with_3(emulator: Emulator) -> None:
    ping = ("--", "ping", "-c", "3", "-i", "0.2", "server")
    link = ("--rate", "10Mbit", "--delay", "20ms", "--require", "pdf_percent >= 100")
    assert emulator.run(*link, "--require", "p95 < 500ms", *ping).returncode == 0
    done = emulator.run(*link, "--require", "icmp.p50 < 40ms", "--quiet", *ping)
    assert done.returncode == 3
    assert re.fullmatch(r"airwnd: required icmp\.p50 < 40ms: real-0 \(icmp\) has 4\d\.\d\n", done.stderr)
    assert emulator.run(*link, "--require", "p50 > 1s", "--", "false").returncode == 1
    assert emulator.run(*link, "--require", "p50", "--", "true").returncode == 2


def test_a_capture_may_hold_real_packets_only(emulator: Emulator) -> None:
    downloads = PHONE.replace('traffic = {kind = "web"}\n', "")
    (emulator.folder / "shared.toml").write_text(downloads, encoding="utf-8")
    command = ("--pcap", "real.pcapng", "--pcap-real-only", "--", "ping", "-c", "2", "-i", "0.2", "server")
    _, summary = emulator.session("shared.toml", *command)
    assert summary["totals"]["throughput_kbps"] > 100
    read = ["tcpdump", "-nr", str(emulator.folder / "real.pcapng")]
    lines = subprocess.run(read, capture_output=True, text=True, check=True).stdout.splitlines()
    assert sum("echo re" in line for line in lines) == 4
    assert not any("Flags [" in line for line in lines)


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
    assert summary["link"]["packets"]["marked"] == down["marks"]
    download = max(summary["flows"], key=lambda row: row["goodput_kbps"])
    assert download["retransmissions"] == 0


def test_sessions_in_a_session_and_mahimahis_commands(emulator: Emulator) -> None:
    (emulator.folder / "fast.mm").write_text("1\n2\n3\n", encoding="ascii")
    inner = f"{AIRWND} mm-link fast.mm fast.mm -- ping -c 2 server"
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
    inner = f"{AIRWND} --delay 5ms --host -- "
    commands = ["ping -c 2 server", inner + "ping -c 2 server"]
    commands.append(inner + shlex.join(["sh", "-c", commands[1]]))
    script = "; ".join(commands)
    found = Emulator(tmp_path, "root")
    done = found.run("--rate", "10Mbit", "--delay", "5ms", "--host", "--", "sh", "-c", script)
    # One, two and three links between the command and the host.
    rtts = rtts_ms(done.stdout)
    assert len(rtts) == 6, done.stderr
    assert [min(rtts[:2]) > 10, min(rtts[2:4]) > 20, min(rtts[4:]) > 30] == [True] * 3


def udp(address: str, port: int) -> str:
    """Return a command that prints the answer to a datagram."""
    text = f"""
        import socket
        found = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        found.settimeout(60)
        found.sendto(b"datagram", ("{address}", {port}))
        print(found.recv(100).decode())
    """
    return shlex.join([sys.executable, "-c", "\n".join(line[8:] for line in text.splitlines())])


def through_network(folder: Path, option: str, script: str) -> list[str]:
    """Return the command of an ordinary user's session, in a network with an outside."""
    words = Emulator(folder, "ordinary").command("--rate", "10Mbit", option, "--", "sh", "-c", script)
    place = words.index("sh") + 2
    words[place] = words[place].replace("exec", f"{OUTSIDE} exec")
    place = words.index(sys.executable)
    return [*words[:place], "env", f"{MARKER}={folder}", *words[place:]]


@pytest.fixture(scope="session")
def refusal_through_pasta(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Why this machine refuses sessions through pasta; empty if it does not."""
    if os.geteuid() != 0:
        return "a network around the machine needs root"
    folder = tmp_path_factory.mktemp("pasta")
    open_to_all(folder)
    words = through_network(folder, "--host", "true")
    done = subprocess.run(words, cwd=folder, check=False, capture_output=True, text=True)
    if done.returncode == 2:
        assert REFUSED.fullmatch(done.stderr) or re.fullmatch(
            r"[^\n]*: sudo apt install [^\n]*\n", done.stderr
        )
        return done.stderr.strip()
    assert done.returncode == 0, done.stderr
    return ""


@pytest.fixture
def through_pasta(refusal_through_pasta: str, tmp_path: Path) -> Callable[[str, str], list[str]]:
    """A function that returns the command of a session, in a folder with the file `here`."""
    if refusal_through_pasta:
        pytest.skip(f"this machine refuses sessions: {refusal_through_pasta}")
    open_to_all(tmp_path)
    (tmp_path / "here").write_text("of this machine\n", encoding="ascii")
    return partial(through_network, tmp_path)


def marked(folder: Path) -> list[int]:
    """Return the processes of a session through pasta."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdecimal():
            with suppress(OSError):
                if f"{MARKER}={folder}".encode() in (process / "environ").read_bytes():
                    found.append(int(process.name))
    return found


@pytest.mark.parametrize(
    ("option", "limit", "far"), [("--internet", "", "200 100000"), ("--host", "--max-time 2", "000 0")]
)
def test_this_machine_and_the_internet_through_pasta(
    through_pasta: Callable[[str, str], list[str]], tmp_path: Path, option: str, limit: str, far: str
) -> None:
    get = "curl -s http://server:8000/here"
    outside = "curl -s -o /dev/null -w '%{http_code} %{size_download}\n' http://198.51.100.1/bytes/100kB"
    script = f"{get}; {udp('server', 7)}; {outside} {limit}; {AIRWND} --delay 5ms --host -- {get}; true"
    words = through_pasta(option, script)
    done = subprocess.run(words, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert done.stdout.splitlines() == ["of this machine", "datagram", far, "of this machine"], done.stderr
    assert "this session measured pasta's TCP" in " ".join(done.stderr.split())
    assert not marked(tmp_path)


def test_a_killed_session_leaves_no_pasta(
    through_pasta: Callable[[str, str], list[str]], tmp_path: Path
) -> None:
    words = through_pasta("--host", "touch started; sleep 10000")
    with running(words, tmp_path, stdin=subprocess.DEVNULL) as session:
        wait_until((tmp_path / "started").exists, session)
    wait_until(lambda: not marked(tmp_path))


@pytest.mark.skipif(os.geteuid() != 0, reason="the other end of an ordinary user is that of root here")
@pytest.mark.parametrize("option", ["--host", "--internet"])
def test_without_pasta_its_package_is_named(tmp_path: Path, option: str) -> None:
    words = Emulator(tmp_path, "ordinary").command("--rate", "10Mbit", option, "--", "true")
    place = words.index(sys.executable)
    words[place:place] = ["env", "PATH=/nonexistent"]
    done = subprocess.run(words, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert re.search("pasta .*missing; install .* with: sudo apt install passt", done.stderr)


def test_the_log_of_a_server_has_a_prefix(emulator: Emulator) -> None:
    server = "echo first >&2; printf last >&2; exec sleep 10000"
    done = emulator.run(
        "--quiet", "--rate", "10Mbit", "--server", shlex.join(["sh", "-c", server]), "--",
        "sh", "-c", "echo from the command >&2",
    )  # fmt: skip
    assert done.returncode == 0
    assert sorted(done.stderr.splitlines()) == ["from the command", "server: first", "server: last"]


def test_the_session_begins_when_a_server_of_udp_has_its_port(emulator: Emulator) -> None:
    text = """
        import socket
        found = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        found.bind(("", 9999))
        while True:
            found.sendto(*found.recvfrom(100))
    """
    (emulator.folder / "server.py").write_text("\n".join(line[8:] for line in text.splitlines()), "utf-8")
    server = shlex.join([sys.executable, "server.py"])
    output, _ = emulator.session(
        "--rate", "10Mbit", "--server", server, "--", "sh", "-c", udp("server", 9999)
    )
    assert output == "datagram\n"


@pytest.mark.parametrize("emulator", USERS, indirect=True)
def test_nothing_on_the_host_changes(emulator: Emulator) -> None:
    state = "ip -j addr; ip -j route; ip -j -6 route; ip -j rule; sysctl -a --pattern '^net' 2> /dev/null"
    link = f"{AIRWND} --rate 10Mbit"
    script = f"""
        ({state}) > before
        {link} -- ping -c 1 server > /dev/null
        {link} -- sh -c 'touch begun; sleep 10000' & session=$!
        until [ -e begun ]; do kill -0 $session || exit 1; sleep 0.05; done
        kill -s KILL $session; wait $session
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


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_killed_session_leaves_no_process(emulator: Emulator, number: signal.Signals) -> None:
    marker = f"airwnd-{os.getpid()}-{emulator.user}-{number}"
    # A child of a child of the command, whose arguments mark it.
    command = ["sh", "-c", "sh -c 'sleep 10000; true' \"$0\" & wait", marker]
    words = emulator.command("--rate", "10Mbit", "--quiet", "--out", "run", "--", *command)
    with running(words, emulator.folder, stdin=subprocess.DEVNULL) as session:
        wait_until(lambda: len(processes(marker)) >= 3, session)
        session.send_signal(number)
        session.wait()
    wait_until(lambda: not processes(marker))
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
    for program in ("iperf3", "ping", "curl", "ip", "nft", "pasta", "tcpdump", "setpriv", "unshare"):
        assert shutil.which(program), f"{program} is missing; `make programs` installs it"
