"""Traces of the radio interface as Parquet, and their frames as dissected by tshark."""

import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import airwnd
from airwnd import Capture, InputError, RadioTrace, Scenario, ScenarioError

from .command_line import run_interrupted
from .conftest import Cli

TABLES = ["grants", "blocks", "control", "drx", "pdus", "sdus", "rrc"]
# Payloads are zeros, which the dissectors above RLC would take for PDUs of PDCP.
PREFERENCES = (
    "rlc-lte.call_pdcp_for_drb:Off",
    "rlc-lte.do_sequence_analysis:Only-RLC-frames",
    "rlc-lte.do_sequence_analysis_am:Only-RLC-frames",
    "mac-lte.track_sr:FALSE",
    # Segments of a first transmission and of a second may overlap, which Wireshark refuses.
    "rlc-nr.reassemble_am_frames:FALSE",
)
HEURISTICS = ("rlc_lte_udp", "rlc_nr_udp", "mac_nr_udp")


def cell(mode: str = "um", *, nr: bool = False) -> Scenario:
    """Downloads and uploads at the edge of a cell, where HARQ loses blocks."""
    scenario: dict[str, Any] = {
        "name": "edge",
        "duration": "1s",
        "radio": {"fading": {"kind": "epa"}},
        "mac": {"harq_transmissions": 2},
        "rlc": {"mode": mode},
        "site": [{}],
        "ue": [{"count": 3, "placement": {"kind": "ring", "radius": "900m"}}],
        "flow": [{}, {"id": "upload", "direction": "up"}],
    }
    if nr:
        scenario["carrier"] = {"bandwidth": "20MHz", "downlink_frequency": "3.5GHz"}
        access = {"kind": "nr", "numerology": 1, "pattern": "DDDSU", "mimo": {}}
        scenario["radio"] = {"access": access, "fading": {"kind": "epa"}}
    else:
        scenario["radio"]["amc"] = {"kind": "piro-ew2010", "ber": 0.01}
    return Scenario.from_dict(scenario)


def frames(file: Path, *fields: str) -> list[dict[str, str]]:
    """Return tshark's fields of each frame."""
    program = shutil.which("tshark")
    assert program, "these tests need tshark: apt-get install tshark"
    command = [program, "-r", str(file), "-T", "fields", "-E", "separator=/t", "-E", "occurrence=a"]
    command += [word for heuristic in HEURISTICS for word in ("--enable-heuristic", heuristic)]
    command += [word for preference in PREFERENCES for word in ("-o", preference)]
    command += [word for field in fields for word in ("-e", field)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [dict(zip(fields, line.split("\t"), strict=True)) for line in done.stdout.split("\n")[:-1]]


def read(folder: Path, table: str) -> pl.DataFrame:
    return pl.read_parquet(folder / table)


def test_a_trace_changes_no_result_and_has_the_declared_columns(tmp_path: Path) -> None:
    plain = cell().run()
    traced = cell().run(radio_trace=tmp_path / "radio")
    assert traced.outcome == plain.outcome
    declared = airwnd.tables()
    for table in TABLES:
        assert read(tmp_path / "radio", table).columns == list(declared[f"radio_{table}"].columns)
    blocks = read(tmp_path / "radio", "blocks")
    assert {"decoded", "failed"} <= set(blocks["outcome"])
    assert blocks["time_s"].is_sorted()


@pytest.mark.parametrize("mode", ["um", "am"])
def test_tshark_dissects_lte_as_the_trace_counts_it(tmp_path: Path, mode: str) -> None:
    file, folder = tmp_path / "radio.pcapng", tmp_path / "radio"
    capture = Capture(file, nodes=[], layers=["mac", "rlc"])
    cell(mode).run(pcap=capture, radio_trace=folder)
    mac = ("mac-lte.direction", "mac-lte.ueid", "mac-lte.dl-phy.mcs-index", "mac-lte.crc-status")
    rlc = ("rlc-lte.am.fixed.sn", "rlc-lte.um.sn", "rlc-lte.am.ack-sn", "rlc-lte.pdu-length")
    found = frames(
        file,
        *("frame.interface_name", "_ws.malformed", "_ws.expert.message", "mac-lte.sr-req"),
        *("mac-lte.retx-count", "mac-lte.length", "mac-lte.ul-phy.resource-block-length", *mac, *rlc),
    )
    blocks = read(folder, "blocks").filter(pl.col("outcome") != "unused")
    sent = blocks.filter((pl.col("direction") == "down") | (pl.col("outcome") != "grant-lost"))

    on_air = [frame for frame in found if frame["mac-lte.crc-status"]]
    received = sent.filter(pl.col("outcome") != "grant-lost")
    assert len(on_air) == len(received)
    # Wireshark takes frames whose CRC has failed for malformed ones, and nothing else.
    failed = [frame for frame in on_air if frame["mac-lte.crc-status"] == "0"]
    malformed = [
        frame for frame in found if frame["_ws.malformed"] or "Malformed" in frame["_ws.expert.message"]
    ]
    assert all(frame["mac-lte.crc-status"] == "0" for frame in malformed)
    assert len(failed) == (received["outcome"] == "failed").sum() > 0
    assert (
        len([frame for frame in found if frame["frame.interface_name"] == "mac"])
        == len(sent) + (read(folder, "control")["element"] == "sr").sum()
    )
    down = received.filter(pl.col("direction") == "down")
    assert Counter(
        int(frame["mac-lte.dl-phy.mcs-index"]) for frame in on_air if frame["mac-lte.dl-phy.mcs-index"]
    ) == (Counter(down["mcs"]))
    assert Counter(int(frame["mac-lte.retx-count"] or 0) for frame in on_air) == Counter(
        number - 1 for number in received["transmission"]
    )

    pdus = read(folder, "pdus")
    in_rlc = [frame for frame in found if frame["frame.interface_name"] == "rlc"]
    assert [int(frame["rlc-lte.pdu-length"]) for frame in in_rlc] == pdus["bytes"].to_list()
    sn = "rlc-lte.am.fixed.sn" if mode == "am" else "rlc-lte.um.sn"
    data = pdus.filter(pl.col("pdu") == "data")
    assert [int(frame[sn]) for frame in in_rlc if frame[sn]] == [number % 1024 for number in data["sn"]]
    for (_, _, _), rows in data.filter(pl.col("retransmission") == 0).group_by("ue", "direction", "bearer"):
        assert rows["sn"].to_list() == list(range(rows["sn"][0], rows["sn"][0] + len(rows)))
    assert (len(pdus) > len(data)) == (mode == "am")
    assert (data["retransmission"].sum() > 0) == (mode == "am")


@pytest.mark.parametrize("mode", ["um", "am"])
def test_tshark_dissects_nr_as_the_trace_counts_it(tmp_path: Path, mode: str) -> None:
    file, folder = tmp_path / "radio.pcapng", tmp_path / "radio"
    cell(mode, nr=True).run(pcap=Capture(file, nodes=[], layers=["mac", "rlc"]), radio_trace=folder)
    found = frames(
        file,
        *("frame.interface_name", "frame.protocols", "_ws.malformed", "_ws.expert.severity"),
        *(
            "mac-nr.direction",
            "mac-nr.harqid",
            "rlc-nr.am.sn",
            "rlc-nr.um.sn",
            "rlc-nr.am.ack-sn",
            "rlc-nr.pdu-length",
        ),
    )
    assert not [frame for frame in found if frame["_ws.malformed"]]
    blocks = read(folder, "blocks").filter(pl.col("outcome") != "unused")
    sent = blocks.filter((pl.col("direction") == "down") | (pl.col("outcome") != "grant-lost"))
    in_mac = [frame for frame in found if frame["frame.interface_name"] == "mac"]
    assert all(frame["frame.protocols"].endswith("mac-nr") for frame in in_mac)
    assert Counter((frame["mac-nr.direction"], int(frame["mac-nr.harqid"])) for frame in in_mac) == Counter(
        ("1" if direction == "down" else "0", process)
        for direction, process in sent.select("direction", "process").iter_rows()
    )
    pdus = read(folder, "pdus")
    in_rlc = [frame for frame in found if frame["frame.interface_name"] == "rlc"]
    assert all("rlc-nr" in frame["frame.protocols"] for frame in in_rlc)
    assert [int(frame["rlc-nr.pdu-length"]) for frame in in_rlc] == pdus["bytes"].to_list()
    sn, size = ("rlc-nr.am.sn", 1 << 18) if mode == "am" else ("rlc-nr.um.sn", 1 << 12)
    numbered = pdus.filter(pl.col("sn").is_not_null())
    assert [int(frame[sn]) for frame in in_rlc if frame[sn]] == [number % size for number in numbered["sn"]]


def test_layers_ues_and_a_window_filter_a_trace(cli: Cli, tmp_path: Path) -> None:
    scenario = tmp_path / "cell.toml"
    scenario.write_text('duration = "400ms"\n[[site]]\n[[ue]]\ncount = 3\n[[flow]]\n')
    folder = tmp_path / "radio"
    options = ["--radio-layers", "mac,rlc", "--radio-ue", "ue-1", "--radio-ue", "ue-2"]
    cli("run", str(scenario), "--radio-trace", str(folder), *options, "--radio-window", "100ms..150ms")
    assert sorted(path.name for path in folder.iterdir()) == ["blocks", "control", "drx", "grants", "pdus"]
    pdus = read(folder, "pdus")
    assert set(pdus["ue"]) == {1, 2}
    assert pdus["time_s"].is_between(0.1, 0.15, closed="left").all()
    # A second trace replaces the first.
    cli("run", str(scenario), "--radio-trace", str(folder), "--radio-layers", "rrc")
    assert len(read(folder, "rrc")) == 0
    assert not list((folder / "pdus").iterdir())


def test_a_session_has_the_trace_of_a_run(tmp_path: Path) -> None:
    scenario = cell("am")
    scenario.run(radio_trace=tmp_path / "run")
    session = airwnd.Session(scenario, radio_trace=tmp_path / "session")
    while session.advance(0.1) < 1:
        pass
    session.finish()
    for table in TABLES:
        assert read(tmp_path / "session", table).equals(read(tmp_path / "run", table))


def test_a_session_reports_that_its_trace_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError("no space left")

    session = airwnd.Session(cell(), radio_trace=tmp_path / "radio")
    monkeypatch.setattr("airwnd.results.radio_writer.write_atomically", fail)
    session.advance(0.5)
    with pytest.raises(OSError, match="no space left"):
        session.finish()


def test_wrong_traces_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "thesis.tex").write_text("")
    with pytest.raises(InputError, match=r"has thesis\.tex, which is no part of a trace"):
        cell().run(radio_trace=folder)
    other = tmp_path / "other"
    with pytest.raises(ScenarioError, match="no layer `nas`; layers: mac, rlc, pdcp, rrc"):
        cell().run(radio_trace=RadioTrace(other, layers=["nas"]))
    with pytest.raises(ScenarioError, match="no UE `ue-3`"):
        cell().run(radio_trace=RadioTrace(other, ues="ue-3"))
    with pytest.raises(InputError, match="there is no layer `rrc` to capture"):
        cell().run(pcap=Capture(tmp_path / "a.pcapng", layers=["rrc"]))
    with pytest.raises(InputError, match=r"end the file in \.pcapng for layers"):
        cell().run(pcap=Capture(tmp_path / "a.pcap", nodes=[], layers=["mac"]))


def test_an_interrupted_run_leaves_a_readable_trace(tmp_path: Path) -> None:
    scenario = tmp_path / "cell.toml"
    scenario.write_text('duration = "10000s"\n[[site]]\n[[ue]]\n[[flow]]\n')
    folder = tmp_path / "radio"
    arguments = ["run", str(scenario), "--radio-trace", str(folder), "--no-progress"]
    run_interrupted(*arguments, cwd=tmp_path, when=lambda: bool(list(folder.glob("blocks/*.parquet"))))
    blocks = read(folder, "blocks")
    # The signal may arrive before another row.
    assert len(blocks) >= 131_072
    assert blocks["time_s"].is_sorted()
    assert not list(folder.rglob("*.partial"))
