"""The simulator's senders against those of a kernel that has them all."""

import csv
import subprocess
import sys
from pathlib import Path

import pytest

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


@pytest.mark.nightly
def test_senders_are_those_of_linux() -> None:
    command = [
        sys.executable,
        str(BENCH),
        "--linux",
        "--scenario",
        "wire 10",
        "--seconds",
        "20",
        "--seeds",
        "1",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = {row["sender"]: row for row in csv.DictReader(done.stdout.splitlines()[1:])}
    found = {
        sender: (abs(float(rows[sender]["goodput_percent"])), abs(float(rows[sender]["rtt_percent"])))
        for sender in TOLERANCES
    }
    outside = {
        sender: values
        for sender, values in found.items()
        if values[0] > TOLERANCES[sender][0] or values[1] > TOLERANCES[sender][1]
    }
    assert not outside
    # The kernel's one-way delays contain the random offset of timestamps: it never sees a long queue.
    assert float(rows["lp"]["kernel_kbps"]) > 9000
    assert float(rows["lp"]["simulated_kbps"]) < 1000
    # It yields before or, by the phase of its clock, after the losses of slow start: 226 and 1105 kbit/s.
    assert float(rows["lp tcp_timestamps=2"]["kernel_kbps"]) < 2000
