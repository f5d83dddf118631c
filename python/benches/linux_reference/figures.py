"""Reference data of the tests in Rust, computed from the records of all cases."""

import csv
import datetime as dt
import platform
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from .cases import CASES, MSS, Case

PERIOD_NS = 100_000_000
COUNTERS = {
    "retransmissions": "RetransSegs",
    "timeouts": "TCPTimeouts",
    "loss_probes": "TCPLossProbes",
    "recoveries": "TCPSackRecovery",
    "spurious_timeouts": "TCPSpuriousRTOs",
}


Row = dict[str, str]


def write(records: Path, out: Path) -> None:
    """Write `summary.csv`, `windows.csv` and `packets.csv` of the cases in `records`."""
    measured = [case for name, case in CASES.items() if (records / f"{name}.packets.csv").exists()]
    out.mkdir(parents=True, exist_ok=True)
    _table(out / "summary.csv", [_summary(records, case) for case in measured], _UNITS["summary"])
    windows = [row for case in measured if case.send_bytes is None for row in _windows(records, case)]
    _table(out / "windows.csv", windows, _UNITS["windows"])
    packets = [row for case in measured if case.send_bytes is not None for row in _packets(records, case)]
    _table(out / "packets.csv", packets, _UNITS["packets"])


_UNITS = {
    "summary": "cases as in cases.py there; goodput is what the receiver acknowledged over the run, queueing "
    "the mean of the data packets that were handed over",
    "windows": "cwnd and ssthresh in segments (-1: none), srtt in us, window: bytes that the receiver offers",
    "packets": "data and acknowledgments as they came to the path: time in us, segments from 1; "
    "acked: segments acknowledged; sack: segments reported",
}


def _summary(records: Path, case: Case) -> Mapping[str, object]:
    packets = list(_read(records, case, "packets"))
    data = [p for p in packets if p["forward"] == "1" and int(p["payload"])]
    acks = [p for p in packets if p["forward"] == "0"]
    received = max(int(p["ack"]) - 1 for p in acks[1:])
    counters = {r["counter"]: r["value"] for r in _read(records, case, "counters") if r["end"] == "sender"}
    through = [int(p["queued_ns"]) for p in data if p["fate"] in {"sent", "marked"}]
    return {
        "case": case.name,
        "cc": case.cc,
        "duration_s": case.duration_s,
        "rate_bps": case.rate_bps,
        "delay_ms": case.delay_ms,
        "queue": case.queue,
        "send_bytes": case.send_bytes or "",
        "loss": case.loss,
        "to_lose": " ".join(f"{segment}:{times}" for segment, times in case.lost.items()),
        "late_every": case.late_every,
        "late_ms": case.late_ms,
        "outage_s": " ".join(map(str, case.outage_s or ())),
        "mark_above": "" if case.mark_above is None else case.mark_above,
        "goodput_kbps": f"{received * 8e-3 / case.duration_s:.1f}",
        "queueing_ms": f"{sum(through) / len(through) / 1e6:.3f}",
        "data_packets": len(data),
        "acks": len(acks),
        "dropped": sum(p["fate"] == "dropped" for p in data),
        "lost": sum(p["fate"] == "lost" for p in data),
        "marked": sum(p["fate"] == "marked" for p in data),
        **{name: counters.get(counter, "0") for name, counter in COUNTERS.items()},
    }


def _windows(records: Path, case: Case) -> Iterator[Mapping[str, object]]:
    offers = [p for p in _read(records, case, "packets") if p["forward"] == "0"]
    place = 0
    due = 0
    for row in _read(records, case, "sender"):
        at = int(row["at_ns"])
        if at < due:
            continue
        while place + 1 < len(offers) and int(offers[place + 1]["at_ns"]) <= at:
            place += 1
        due += PERIOD_NS
        ssthresh = int(row["ssthresh"])
        yield {
            "case": case.name,
            "t_ms": round(at / 1e6),
            "cwnd": row["cwnd"],
            "ssthresh": ssthresh if ssthresh < 1 << 30 else -1,
            "srtt_us": row["srtt_us"],
            "window": offers[place]["window"],
        }


def _packets(records: Path, case: Case) -> Iterator[Mapping[str, object]]:
    for row in _read(records, case, "packets"):
        forward = row["forward"] == "1"
        if forward != (int(row["payload"]) > 0) or int(row["flags"]) & 2:
            continue
        blocks = [tuple(map(int, block.split("-"))) for block in row["sack"].split()]
        yield {
            "case": case.name,
            "t_us": int(row["at_ns"]) // 1000,
            "kind": "data" if forward else "ack",
            "segment": (int(row["seq"]) - 1) // MSS + 1 if forward else "",
            "acked": "" if forward else (int(row["ack"]) - 1) // MSS,
            "sack": " ".join(f"{(left - 1) // MSS + 1}-{(right - 1) // MSS}" for left, right in blocks),
            "window": "" if forward else row["window"],
            "fate": row["fate"],
        }


def _read(records: Path, case: Case, table: str) -> Iterator[Row]:
    with (records / f"{case.name}.{table}.csv").open(encoding="utf-8") as file:
        yield from csv.DictReader(file)


def _table(path: Path, rows: Sequence[Mapping[str, object]], says: str) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        today = dt.datetime.now(dt.UTC).date()
        file.write(f"# Linux {platform.release()}, {today}, python -m benches.linux_reference; {says}.\n")
        table = csv.DictWriter(file, fieldnames=list(rows[0]) if rows else [], lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
