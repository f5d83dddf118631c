"""Rates that drive-test logs predict, against recorded ones: ``python python/benches/drives.py LOG.csv ...``.

The logs have G-NetTrack's columns: ``Timestamp``, ``NetworkMode``, ``DL_bitrate`` in kbit/s, and a measure of
the channel. Of each log the longest stretch with a download over one network is replayed in a cell of 20 MHz
with a saturating download, and the goodput of each second is multiplied by one number, which is fitted: the
share of PRBs that the network gave the phone, times the ratio of its bandwidth and antennas to the cell's.
Nothing else is fitted. The correlation says whether the log's rate follows its channel at all.
"""

import argparse
import csv
import tempfile
from itertools import groupby
from pathlib import Path

import numpy as np

import airwnd

QUANTITIES = {"sinr": "SNR", "rsrp": "RSRP", "cqi": "CQI"}
MAX_SECONDS = 300
SCENARIO = """
duration = "{seconds}s"
warmup = "0s"
carrier.bandwidth = "20MHz"
radio.fading = "{fading}"
[[site]]
[[ue]]
replay = {{ path = "{path}", quantity = "{quantity}" }}
[[flow]]
traffic = {{ kind = "cbr", rate = "90Mbps", packet = "1400B" }}
"""


def main() -> None:
    """Print a row per log and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logs", type=Path, nargs="+", help="logs with G-NetTrack's columns")
    parser.add_argument("--fading", default="epa", help="fading around the recorded means (epa)")
    given = parser.parse_args()
    print(f"{'log':<40} {'measure':<8} {'seconds':>7} {'factor':>7} {'correlation':>11} {'error':>7}")
    for log in given.logs:
        rows = stretch(log)
        recorded = np.array([float(row["DL_bitrate"]) for row in rows])
        for quantity, column in QUANTITIES.items():
            if any(not is_number(row[column]) for row in rows):
                continue
            predicted = rates(rows, quantity, column, given.fading)
            factor = float(predicted @ recorded / (predicted @ predicted))
            error = float(np.sqrt(np.mean((factor * predicted - recorded) ** 2)) / np.mean(recorded))
            correlation = float(np.corrcoef(predicted, recorded)[0, 1])
            name = f"{log.stem[-40:]:<40} {quantity:<8} {len(rows):>7}"
            print(f"{name} {factor:>7.3f} {correlation:>11.2f} {error:>7.0%}", flush=True)


def stretch(log: Path) -> list[dict[str, str]]:
    """Return the longest part of a log, one row a second, with a download over one network."""
    with log.open(encoding="utf-8", newline="") as file:
        seconds = {row["Timestamp"]: row for row in csv.DictReader(file)}
    parts = [
        list(part) for (_, downloads), part in groupby(seconds.values(), network_of_download) if downloads
    ]
    return max(parts, key=len)[:MAX_SECONDS]


def network_of_download(row: dict[str, str]) -> tuple[str, bool]:
    """Return the network of a row, and whether the phone downloads."""
    return row["NetworkMode"], row["State"] == "D" and is_number(row["DL_bitrate"])


def is_number(text: str) -> bool:
    """Return whether a field has a value."""
    return text.lstrip("-").replace(".", "", 1).isdigit()


def rates(rows: list[dict[str, str]], quantity: str, column: str, fading: str) -> "np.ndarray":
    """Return the goodput of each second in kbit/s."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.csv"
        lines = [f"{second},{row[column]}" for second, row in enumerate(rows)]
        path.write_text("\n".join([f"t_s,{column}", *lines]) + "\n", encoding="utf-8")
        text = SCENARIO.format(seconds=len(rows), path=path, quantity=quantity, fading=fading)
        run = airwnd.Scenario.from_toml(text).run(series="1s")
    return run.series["rate_kbps"].to_numpy()[: len(rows)]


if __name__ == "__main__":
    main()
