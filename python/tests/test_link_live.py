"""The live view of ``airwnd link``, without a terminal."""

import os
import signal
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import DataTable, Log

from airwnd import Scenario
from airwnd.link import live
from airwnd.link.commands import Placed
from airwnd.link.live import Chart, Panel, View
from airwnd.link.session import Finished, Session, Stop
from airwnd.link.snapshot import Snapshot, snapshot_of, summary_of
from airwnd.support.errors import InputError

from .conftest import run_async
from .test_link import WIRE, snapshot, summary, ue

Watch = Callable[[Snapshot], bool]


class Played(Session):
    """A session that shows given snapshots, and ends when the test or the user wants it."""

    snapshots: list[str]
    over: threading.Event
    failure: Exception | None = None
    outputs: list[str]

    def run(self, watch: Watch) -> Finished:
        for text in self.snapshots:
            watch(snapshot_of(text))
        if self.failure:
            raise self.failure
        while not self.over.wait(0.01) and watch(snapshot_of(self.snapshots[-1])):
            pass
        run = self.scenario.run()
        return Finished(run, summary_of(summary(exit_codes=[3])), {})


def played(*snapshots: str, placed: int = 1) -> Played:
    session = Played(
        scenario=Scenario.from_toml(WIRE),
        seed=1,
        placed=[Placed(number, f"ue-{number}", ("ping", "server")) for number in range(placed)],
        end={},
    )
    object.__setattr__(session, "snapshots", list(snapshots))
    object.__setattr__(session, "over", threading.Event())
    return session


def viewed(session: Played, look: Callable[[View, Pilot[None]], Awaitable[None]]) -> tuple[View, Stop]:
    """Run the view of a session, and look at it after its first snapshot."""
    stop = Stop()
    seen = threading.Event()

    def watch(_: Snapshot) -> bool:
        seen.set()
        return not stop.asked()

    view = View(session, watch, stop)

    async def run() -> None:
        async with view.run_test(size=(120, 40)) as pilot:
            try:
                while not seen.is_set() and session.failure is None:
                    await pilot.pause(0.01)
                await pilot.pause()
                await look(view, pilot)
            finally:
                session.over.set()
                while view.finished is None and view.failure is None:
                    await pilot.pause(0.01)

    run_async(run())
    return view, stop


def texts(view: View) -> str:
    """All texts on the screen."""
    return "\n".join(
        "".join(segment.text for segment in strip) for strip in view.screen._compositor.render_strips()
    )


def test_the_view_shows_ues_flows_timing_and_output() -> None:
    async def look(view: View, _: Pilot[None]) -> None:
        text = texts(view)
        for words in ("8.00 Mbit/s", "100.0 kbit/s", "15.0 kB", "30.0 ms", "MCS 16", "SINR 14.2 dB"):
            assert words in text
        assert "drops 3 down, 0 up" in text
        assert "300 µs of 1.00 ms" in text
        assert "100 in, 90 out, 3 dropped, 7 inside" in text
        table = view.query_one(DataTable)
        assert [str(cell) for cell in table.get_row_at(0)] == [
            "7.90", "0.09", "48.2", "43.4", "cubic", "tcp 100.64.0.2:40312 - 100.64.0.1:5201",
        ]  # fmt: skip
        assert view.query_one(Log).lines[:2] == ["64 bytes", "from server"]

    viewed(played(snapshot(ue(), output="64 bytes\r\nfrom server\n")), look)


def test_links_have_no_radio_and_ues_a_panel_each() -> None:
    async def look(view: View, _: Pilot[None]) -> None:
        assert len(view.query(Panel)) == 2
        assert "MCS" not in texts(view)

    without: dict[str, Any] = {"mcs": None, "sinr_db": None, "cell": None, "delay_down_ms": None}
    viewed(played(snapshot(ue(**without), ue(1, **without), ue(7)), placed=2), look)


def test_quitting_ends_the_session() -> None:
    async def look(_: View, pilot: Pilot[None]) -> None:
        await pilot.press("q")

    view, stop = viewed(played(snapshot(ue())), look)
    assert stop.code == 130
    assert view.finished is not None


def test_the_view_stays_when_the_session_has_ended() -> None:
    async def look(view: View, pilot: Pilot[None]) -> None:
        session.over.set()
        while view.finished is None:
            await pilot.pause(0.01)
        await pilot.pause(0.05)
        assert view.is_running
        assert "ended with exit code 3; q leaves" in texts(view)
        await pilot.press("q")
        assert view._exit

    session = played(snapshot(ue()))
    _, stop = viewed(session, look)
    assert stop.code is None


def test_a_signal_ends_the_view_of_a_session_that_has_ended() -> None:
    async def look(view: View, pilot: Pilot[None]) -> None:
        session.over.set()
        while "q leaves" not in texts(view):
            await pilot.pause(0.01)
        view._stop._on_signal(signal.SIGHUP, None)
        while not view._exit:
            await pilot.pause(0.01)

    session = played(snapshot(ue()))
    _, stop = viewed(session, look)
    assert stop.code == 128 + signal.SIGHUP


def test_output_to_a_closed_terminal_is_lost() -> None:
    terminal, end = os.openpty()
    file = os.fdopen(end, "w")
    os.close(terminal)
    output = live._Output(file)
    output.write("lost")
    output.flush()
    with pytest.raises(OSError, match="Input/output error"):
        file.close()
    view, _ = viewed(played(snapshot(ue())), lambda _, pilot: pilot.pause())
    assert view.driver_class is live._Terminal


def test_an_error_of_the_session_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    session = played()
    object.__setattr__(session, "failure", InputError("no TUN device"))
    monkeypatch.setattr(View, "run", lambda view: run_async(view.run_async(headless=True)))
    with pytest.raises(InputError, match="no TUN device"):
        live.show(session, lambda _: True, Stop())


def test_a_chart_keeps_the_latest_samples() -> None:
    chart = Chart("green")
    for value in (None, *range(2000)):
        chart._values.append(value or 0.0)
    assert len(chart._values) == live._HISTORY


def test_columns_are_scaled_to_the_greatest_value() -> None:
    assert live.columns([], 3, 1) == ["   "]
    assert live.columns([0, 0], 3, 1) == ["   "]
    assert live.columns([1, 1000], 2, 1) == ["▁█"]


@pytest.mark.parametrize(
    ("p99", "behind", "styles"),
    [(100, 0, "green"), (600, 0, "yellow"), (1100, 0, "red"), (100, 2, "bold red")],
)
def test_lateness_has_a_colour(p99: float, behind: float, styles: str) -> None:
    late = {"count": 9, "p50": 20.0, "p99": p99, "max": 900.0}
    text = live.timing_text(snapshot_of(snapshot(lateness_us=late, behind_ms=behind)), 1000.0)
    assert styles in [str(span.style) for span in text.spans]
