"""Runs: frames, folders, determinism, interruption."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import airwnd
from airwnd import InputError, Run, Scenario, run_many


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def without_digests(path: Path) -> dict[str, Any]:
    """Return the manifest of earlier versions: a list of tables, without digests."""
    manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    del manifest["digest"]
    return {**manifest, "tables": sorted(manifest["tables"])}


def test_a_run_returns_frames(small: Scenario) -> None:
    run = small.run(seed=3, series="50ms")
    assert run.seed == 3
    assert run.duration_s == 0.2
    assert run.flows.height == 3
    assert {"delay_ms_mean", "delay_ms_p99", "rtt_ms_p50", "goodput_kbps"} <= set(run.flows.columns)
    assert run.ues.height == 3
    assert run.cells.height >= 1
    assert run.series["time_s"].is_sorted()
    assert run.series["time_s"].n_unique() >= 4
    assert run.series.columns == [
        *("time_s", "flow", "cwnd_bytes", "ssthresh_bytes", "rwnd_bytes", "in_flight_bytes", "rtt_ms"),
        *("delay_ms", "packets_marked", "queue_bytes", "queue_packets", "sinr_db", "mcs", "rate_kbps"),
        *("throughput_kbps", "air_kbps", "rsrp_dbm"),
        *("neighbour_rsrp_dbm", "x_m", "y_m", "cell", "neighbour"),
    ]
    assert run.series["flow"].unique(maintain_order=True).to_list() == run.flows["id"].to_list()
    assert run.series["cell"].unique().to_list() == [0]
    assert run.flows["group"].to_list() == [flow.rpartition("-")[0] for flow in run.flows["id"]]
    assert pl.Null not in [dtype for frame in (run.flows, run.cells, run.ues) for dtype in frame.dtypes]
    assert run.wall_s is not None


def test_series_and_events_are_empty_unless_requested(small: Scenario) -> None:
    run = small.run()
    assert run.series.width == run.events.width == 0


@pytest.fixture(scope="module")
def lossy() -> Run:
    """A wire with a short queue, shared by a voice call and a download."""
    scenario = Scenario.from_dict(
        {
            "duration": "3s",
            "link": [{"rate": "2Mbps", "delay": "20ms", "queue": 10}],
            "ue": [{"count": 2}],
            "flow": [{"id": "bulk"}, {"id": "call", "traffic": "cbr"}],
        }
    )
    return scenario.run(series="10ms")


def test_events_match_the_counted_drops_and_recoveries(lossy: Run) -> None:
    events = lossy.events
    assert events.columns == ["time_s", "flow", "event", "cause", "bytes", "cell"]
    assert events["time_s"].is_sorted()
    assert events["time_s"].is_between(0, 3).all()
    assert lossy.drops["link_queue_full"] > 0
    for cause, packets in lossy.drops.items():
        there = events.filter(pl.col("cause") == cause)
        assert there.height == packets
        assert there["bytes"].sum() == lossy.outcome["conservation"][f"dropped_bytes_{cause}"]
    rest = events.filter(pl.col("event") != "drop")
    assert rest["cause"].null_count() == rest["bytes"].null_count() == rest.height > 0
    for flow in lossy.flows.iter_rows(named=True):
        of_flow = events.filter(pl.col("flow") == flow["id"], pl.col("event") == "timeout")
        assert of_flow.height == flow["timeouts"]


def test_inapplicable_values_are_null(lossy: Run) -> None:
    call = lossy.series.filter(pl.col("flow") == "call-0")
    for name in ("cwnd_bytes", "in_flight_bytes", "sinr_db", "mcs", "cell"):
        assert call[name].null_count() == call.height, name
    # at least 1 ms of serialisation and 20 ms of delay; some intervals have no packet
    assert call["delay_ms"].drop_nulls().to_numpy().min() >= 20.0
    assert 0 < call["delay_ms"].null_count() < call.height


def test_totals_are_over_all_flows(lossy: Run, small: Scenario) -> None:
    for figure in ("retransmissions", "timeouts"):
        assert lossy.totals[figure] == lossy.flows[figure].sum()
    low, high = lossy.flows["delay_ms_p95"].min(), lossy.flows["delay_ms_p95"].max()
    assert low <= lossy.totals["delay_ms_p95"] <= high
    assert lossy.totals["downlink_prb_use"] is None
    run = small.run()
    assert run.totals["uplink_prb_use"] == pytest.approx(run.cells["uplink_prb_use"].mean())


def test_links_have_a_row_for_each_direction(lossy: Run) -> None:
    links = lossy.links
    assert links.select("link", "of", "direction").rows() == [
        ("server", None, "down"),
        ("server", None, "up"),
        ("link", None, "down"),
        ("link", None, "up"),
    ]
    down = links.row(2, named=True)
    assert down["queue_packets_max"] == 10
    assert down["utilisation"] == pytest.approx(1, abs=0.02)
    assert links["drops_link_queue_full"].sum() == lossy.drops["link_queue_full"]
    assert (lossy.series["queue_packets"] <= 10).all()


def test_the_json_has_the_declared_columns(small: Scenario) -> None:
    found = json.loads(json.dumps(small.run(seed=1).to_json(), allow_nan=False))
    head = ["scenario", "seed", "duration_s", "wall_s", "events", "flows", "groups", "cells", "links"]
    assert [key for key in found if key in head] == head
    tables = airwnd.tables()
    assert list(found["totals"]) == list(tables["totals"].columns)
    assert list(found["conservation"]) == list(tables["conservation"].columns)
    assert set(tables["run"].columns) < set(found)
    for name in ("flows", "groups", "cells", "links", "ues", "bearers"):
        for row in found[name]:
            assert list(row) == list(tables[name].columns), name


def test_frames_have_the_declared_columns(lossy: Run, small: Scenario) -> None:
    types = {"number": pl.Float64(), "integer": pl.Int64(), "text": pl.String()}
    for run in (lossy, small.run()):
        for name in ("flows", "groups", "cells", "links", "ues", "bearers"):
            columns = airwnd.tables()[name].columns.values()
            assert getattr(run, name).schema == {each.name: types[each.type] for each in columns}, name
    recorded = small.run(series="50ms", allocations=("10ms", "20ms"))
    for name in ("series", "events", "allocations"):
        frame: pl.DataFrame = getattr(recorded, name)
        columns = airwnd.tables()[name].columns.values()
        assert frame.columns == [each.name for each in columns]
        for each in columns:
            dtype = frame[each.name].dtype
            assert dtype == {"number": pl.Float64, "integer": pl.UInt32, "text": pl.Enum}[each.type], each
            if each.words:
                assert dtype == pl.Enum(each.words)


def test_a_folder_of_an_earlier_version_is_read(lossy: Run, tmp_path: Path) -> None:
    lossy.save(tmp_path / "run")
    path = tmp_path / "run" / "manifest.json"
    manifest = without_digests(path)
    for row in manifest["outcome"]["flows"]:
        row["delay_ms"] = {key: row.pop(f"delay_ms_{key}") for key in ("mean", "p50", "p95", "p99")}
    totals = manifest["outcome"]["totals"]
    totals["drops"] = {cause: totals.pop(f"drops_{cause}") for cause in lossy.drops}
    path.write_text(json.dumps(manifest), encoding="utf-8")
    back = Run.load(tmp_path / "run")
    assert back.flows.equals(lossy.flows)
    assert back.totals == lossy.totals


def test_the_same_scenario_and_seed_give_the_same_bytes(small: Scenario, tmp_path: Path) -> None:
    small = small.with_({"ue[0].placement": "disc"})
    first = contents(small.run(seed=5, series="20ms").save(tmp_path / "first"))
    again = contents(small.run(seed=5, series="20ms").save(tmp_path / "again"))
    other = contents(small.run(seed=6, series="20ms").save(tmp_path / "other"))
    assert sorted(first) == [
        *("bearers.parquet", "cells.parquet", "events.parquet", "flows.parquet", "groups.parquet"),
        *("links.parquet", "manifest.json", "series.parquet", "ues.parquet"),
    ]
    assert first == again
    assert first["ues.parquet"] != other["ues.parquet"], "another seed places the UEs differently"


def test_jobs_do_not_change_the_results(small: Scenario, tmp_path: Path) -> None:
    for jobs in (1, 2):
        for run in small.run_many(range(4), jobs=jobs):
            run.save(tmp_path / f"{jobs}-{run.seed}")
    for seed in range(4):
        assert contents(tmp_path / f"1-{seed}") == contents(tmp_path / f"2-{seed}")


def test_a_saved_run_is_read_back(small: Scenario, tmp_path: Path) -> None:
    run = small.run(series="50ms")
    back = Run.load(run.save(tmp_path))
    assert back.scenario == run.scenario == small.resolved
    assert back.totals == run.totals
    assert back.flows.equals(run.flows)
    assert back.series.equals(run.series)
    assert back.series.schema == run.series.schema
    assert back.events.equals(run.events)
    assert back.events.schema == run.events.schema


def test_saving_again_removes_old_series(small: Scenario, tmp_path: Path) -> None:
    small.run(series="50ms").save(tmp_path)
    small.run().save(tmp_path)
    assert not (tmp_path / "series.parquet").exists()
    assert not (tmp_path / "events.parquet").exists()
    assert Run.load(tmp_path).series.is_empty()


def test_a_folder_without_events_is_read(small: Scenario, tmp_path: Path) -> None:
    small.run(series="50ms").save(tmp_path)
    (tmp_path / "events.parquet").unlink()
    manifest = without_digests(tmp_path / "manifest.json")
    manifest["tables"].remove("events")
    (tmp_path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    back = Run.load(tmp_path)
    assert back.events.is_empty()
    assert not back.series.is_empty()


def test_a_folder_without_a_run_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match="not the manifest of a run"):
        Run.load(tmp_path)


def test_progress_increases_to_one(small: Scenario) -> None:
    reported: list[float] = []
    small.with_(duration="1s").run(progress=reported.append)
    assert reported == sorted(reported)
    assert 0 < reported[0] <= reported[-1] <= 1.0


def test_an_exception_from_progress_ends_the_run(small: Scenario) -> None:
    def stop(fraction: float) -> None:
        raise RuntimeError(f"enough at {fraction:.3f}")

    with pytest.raises(RuntimeError, match="enough at 0"):
        small.with_(duration="30000000s").run(progress=stop)


def test_parallel_runs_are_in_order(small: Scenario) -> None:
    tasks = [
        (small.with_({"flow[0].rwnd": word}), seed) for word in ("drwa", "autotuning") for seed in (2, 1)
    ]
    reported: list[float] = []
    runs = run_many(tasks, jobs=2, progress=reported.append)
    assert [run.seed for run in runs] == [2, 1, 2, 1]
    assert [run.scenario["flow"][0]["rwnd"]["kind"] for run in runs] == ["drwa"] * 2 + ["autotuning"] * 2
    assert reported[-1] == 1.0


def test_a_failure_in_one_run_ends_the_others(small: Scenario) -> None:
    def fail(_: float) -> None:
        raise RuntimeError("enough")

    # Overall progress is reported in the calling thread; the endless run must be ended, too.
    with pytest.raises(RuntimeError, match="enough"):
        run_many([(small.with_(duration="30000000s"), 1), (small, 2)], jobs=2, progress=fail)


def test_a_plot_has_a_line_per_flow(small: Scenario) -> None:
    run = small.run(series="20ms")
    axes = run.plot("rtt_ms")
    assert axes.get_ylabel() == "RTT (ms)"
    assert axes.get_ylim()[0] == 0
    in_decibels = run.plot("sinr_db")
    assert in_decibels.get_ylabel() == "SINR (dB)"
    assert in_decibels.get_ylim()[0] > 0, "axes in decibels do not start at zero"
    with pytest.raises(InputError, match="no series `cwmd_bytes`; there are"):
        run.plot("cwmd_bytes")
    with pytest.raises(InputError, match="none: run with series"):
        small.run().plot()
