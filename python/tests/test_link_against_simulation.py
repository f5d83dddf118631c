"""The simulator's senders against those of a kernel that has them all."""

import csv
import subprocess
import sys
from pathlib import Path

import pytest

Rows = dict[str, dict[str, str]]

BENCH = Path(__file__).parents[1] / "benches/link_against_simulation.py"

#: Largest difference in percent of goodput and of the mean RTT, on a wire of 10 Mbit/s.
TOLERANCES = {
    "reno": (1, 5),
    "cubic": (1, 5),
    "bbr": (1, 6),
    "bic": (1, 5),
    "highspeed": (1, 5),
    # The kernel's increase is scaled by the RTT (use_rtt_scaling).
    "htcp": (1, 20),
    "hybla": (2, 5),
    "illinois": (1, 5),
    "scalable": (1, 5),
    # Slow start ends earlier in the simulation, and the window stays at alpha; the kernel's stays at beta.
    "vegas": (4, 20),
    "veno": (1, 6),
    "westwood": (2, 5),
    "yeah": (1, 5),
}

#: The same for a sender that its send buffer limits: the bounds of the page that shows the comparison.
DEEP_TOLERANCES = {"reno": (5, 10), "cubic": (5, 10)}


def compared(scenario: str, *options: str) -> Rows:
    """Return the table of one transfer of each sender, by sender."""
    transfer = ["--scenario", scenario, "--seconds", "20", "--seeds", "1"]
    command = [sys.executable, str(BENCH), *transfer, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {row["sender"]: row for row in csv.DictReader(done.stdout.splitlines()[1:])}


def outside(rows: Rows, tolerances: dict[str, tuple[int, int]]) -> dict[str, tuple[float, float]]:
    """Return the differences in percent of goodput and RTT that exceed their tolerances, by sender."""
    found = {
        sender: (abs(float(rows[sender]["goodput_percent"])), abs(float(rows[sender]["rtt_percent"])))
        for sender in tolerances
    }
    return {
        sender: values
        for sender, values in found.items()
        if any(value > maximum for value, maximum in zip(values, tolerances[sender], strict=True))
    }


@pytest.mark.nightly
def test_senders_are_those_of_linux() -> None:
    rows = compared("wire 10", "--linux")
    assert not outside(rows, TOLERANCES)
    # The kernel's one-way delays contain the random offset of timestamps: it never sees a long queue.
    assert float(rows["lp"]["kernel_kbps"]) > 9000
    assert float(rows["lp"]["simulated_kbps"]) < 1000
    # It yields before or, by the phase of its clock, after the losses of slow start: 226 and 1105 kbit/s.
    assert float(rows["lp tcp_timestamps=2"]["kernel_kbps"]) < 2000


# A queue of half a second does not overflow, so the RTT shows how much data the send buffer holds. With 4 MiB
# of payload all the time, without the kernel's count of memory and its wake-up at a free third, the simulated
# RTTs are 20 % longer. The bench repeats transfers with late departures.
@pytest.mark.nightly
def test_send_buffers_hold_as_much_as_those_of_this_machines_kernel() -> None:
    senders = (word for sender in DEEP_TOLERANCES for word in ("--sender", sender))
    rows = compared("wire 100 deep", *senders)
    assert not outside(rows, DEEP_TOLERANCES)
    assert {row["simulated_retransmissions"] for row in rows.values()} == {"0"}
