"""Runs transfers in a cell, without the guard and with it, and reads what was measured."""

import errno
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airwnd.guard.inside import IDLE, IDLE_S, WITH, WITHOUT
from airwnd.link.commands import Part, place
from airwnd.link.session import DEFAULT_END, Session, Stop
from airwnd.plots.guard import Half
from airwnd.support.errors import InputError

if TYPE_CHECKING:
    from airwnd.scenario.scenario import Scenario

#: A phone alone in a cell, whose eNB has a large buffer for it. The session ends with its command.
CELL: dict[str, Any] = {
    "name": "one phone, one large buffer",
    "duration": "1h",
    "rlc": {"queue": {"kind": "drop-tail", "buffer": "2MB"}},
    "site": [{}],
    "ue": [{"name": "phone", "placement": {"kind": "ring", "radius": "300m"}}],
    "flow": [{}],
}
#: Requirements of the guard on this host, as `airwnd guard check` names it.
_NEEDED = "windows of this host"
_ROOTS = (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified"))
_PAUSE_S = 0.05
_SYSCTLS = (
    ("net/ipv4/tcp_congestion_control", "cubic"),
    # The second transfer would begin with the slow start threshold of the first.
    ("net/ipv4/tcp_no_metrics_save", "1"),
)


@dataclass(frozen=True, slots=True)
class Measured:
    """Measurements of a session.

    Attributes
    ----------
    idle_ms
        Pings before the first transfer, in milliseconds.
    without, guarded
        The transfers without the guard and with it.
    late
        Whether the session was late: its delays are then too long.
    lateness_us
        p99 lateness of packets, in microseconds.
    """

    idle_ms: Sequence[float]
    without: Half
    guarded: Half
    late: bool
    lateness_us: float


def missing() -> list[str]:
    """Return what this machine lacks, a line for each; empty: a session can run."""
    if os.geteuid() != 0:
        return ["needs root, since eBPF programs are loaded in the cell's namespaces; run it with: sudo"]
    done = subprocess.run(_airwnd("guard", "check"), capture_output=True, text=True, check=False)  # noqa: S603
    lines = done.stdout.splitlines() or [done.stderr.strip()]
    return [line for line in lines if line.startswith(_NEEDED) and not line.endswith(": ok")]


def measure(
    scenario: "Scenario",
    rwnd: str | None,
    seconds: float,
    transfer: Sequence[str] | None = None,
    progress: Callable[[float], None] | None = None,
) -> Measured:
    """Measure a transfer without the guard, then with it, on the first UE of a cell.

    Parameters
    ----------
    scenario
        The cell or link.
    rwnd
        Receive-window control, as for ``airwnd guard --rwnd``; ``None``: the guard's default.
    seconds
        Length of each transfer.
    transfer
        Command of the transfer; ``None``: a download with CUBIC from the other end.
    progress
        Called with the finished fraction, 0 to 1.

    Raises
    ------
    InputError
        If the machine lacks something, or the session ends before it has measured.
    """
    if lines := missing():
        raise InputError("; ".join(lines))
    total = 2 * (seconds + IDLE_S)
    with tempfile.TemporaryDirectory(prefix="airwnd-guard-") as name, _cgroup() as cgroup:
        folder = Path(name)
        out = folder / "samples.jsonl"
        log = str(folder / "guard.jsonl")
        options = ["--cgroup", str(cgroup), "--json-log", log, *(("--rwnd", rwnd) if rwnd else ())]
        task = {
            "seconds": seconds,
            "cgroup": str(cgroup),
            "out": str(out),
            "guard": _airwnd("guard", *options),
            "log": log,
            "transfer": list(transfer or _inside("download", str(seconds))),
        }
        (folder / "task.json").write_text(json.dumps(task), encoding="utf-8")
        part = Part(None, tuple(_inside(str(folder / "task.json"))))
        session = Session(
            scenario=scenario,
            seed=scenario.seed,
            placed=place([part], scenario.resolved),
            end=DEFAULT_END,
            sysctls=_SYSCTLS,
        )
        with Stop() as stop:

            def watch(snapshot: Any) -> bool:
                if progress:
                    progress(min(snapshot.t_s / total, 1.0))
                return not stop.asked()

            finished = session.run(watch)
            # The terminal sends Ctrl-C to the program on the UE, too, which may end before `watch` is asked.
            if stop.code is not None or finished.summary.exit_code == 128 + signal.SIGINT:
                raise KeyboardInterrupt
        if finished.summary.exit_code:
            raise InputError(f"the program on the UE ended with code {finished.summary.exit_code}, see above")
        return _read(out, rwnd, finished.summary.late, finished.summary.lateness_us.p99)


def _airwnd(*arguments: str) -> list[str]:
    # Isolated: without `-I`, root would import from the current folder, which may be anybody's.
    return [sys.executable, "-I", "-m", "airwnd", *arguments]


def _inside(*arguments: str) -> list[str]:
    return [sys.executable, "-I", "-m", "airwnd.guard.inside", *arguments]


@contextmanager
def _cgroup() -> Iterator[Path]:
    """Make a cgroup for the transfers; it is removed at the end."""
    root = next((root for root in _ROOTS if (root / "cgroup.controllers").exists()), _ROOTS[0])
    folder = root / f"airwnd-guard-{os.getpid()}"
    folder.mkdir()
    try:
        yield folder
    finally:
        # The processes of a session that was interrupted may still be there for a moment.
        while True:
            try:
                folder.rmdir()
            except OSError as error:
                if error.errno != errno.EBUSY:
                    raise
                time.sleep(_PAUSE_S)
            else:
                break


def _read(out: Path, rwnd: str | None, late: bool, lateness_us: float) -> Measured:
    """Read the samples."""
    samples = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]

    def half(part: str, name: str) -> Half:
        own = [sample for sample in samples if sample["part"] == part]
        pings = sorted((each["t_s"], each["rtt_ms"]) for each in own if "rtt_ms" in each)
        received = [(each["t_s"], each["bytes"]) for each in own if "bytes" in each]
        measured = [each["measured_s"] for each in own if "measured_s" in each]
        return Half(name, pings, received, measured)

    idle_ms = [sample["rtt_ms"] for sample in samples if sample["part"] == IDLE and "rtt_ms" in sample]
    guarded = half(WITH, f"with the guard, {rwnd}" if rwnd else "with the guard")
    return Measured(idle_ms, half(WITHOUT, "without the guard"), guarded, late, lateness_us)
