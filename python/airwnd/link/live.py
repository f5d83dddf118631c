"""The live view of a session in the terminal: ``airwnd link --live``."""

import re
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any, ClassVar, cast

from rich.text import Text
from textual import work
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Horizontal, Vertical
from textual.drivers.linux_driver import LinuxDriver
from textual.widget import Widget
from textual.widgets import DataTable, Footer, Log, Static

from airwnd.link.summary import time_text
from airwnd.text.terminal import number, plain

if TYPE_CHECKING:
    from airwnd.link.session import Finished, Session, Stop
    from airwnd.link.snapshot import Flow, Snapshot, Ue

# Samples kept for a chart, one per column: more than the widest terminal shows.
_HISTORY = 600
_EIGHTHS = " ▁▂▃▄▅▆▇█"
_BAR = 20
_LINES = 5_000
# Period at which the view of a session that has ended looks for signals.
_POLL_S = 0.2
# Control sequences of terminals (ECMA-48 §5.4) and operating system commands, such as titles.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-_])")


def show(session: "Session", watch: "Callable[[Snapshot], bool]", stop: "Stop") -> "Finished":
    """Run a session below its live view.

    Parameters
    ----------
    session
        The session.
    watch
        As for :meth:`airwnd.link.session.Session.run`.
    stop
        Ends the session if the user leaves the view before.
    """
    view = View(session, watch, stop)
    view.run()
    if view.failure is not None:
        raise view.failure
    if view.finished is None:
        raise KeyboardInterrupt
    return view.finished


class Chart(Widget):
    """The history of a quantity, a column per sample, the newest on the right."""

    def __init__(self, colour: str) -> None:
        super().__init__()
        self._colour = colour
        self._values: deque[float] = deque(maxlen=_HISTORY)

    def add(self, value: float | None) -> None:
        """Append a sample; ``None``: nothing was measured."""
        self._values.append(value or 0.0)
        self.refresh()

    @property
    def top(self) -> float:
        """The greatest of the samples that fit."""
        return max(self._shown, default=0.0)

    @property
    def _shown(self) -> list[float]:
        return list(self._values)[-self.size.width :]

    def render(self) -> Text:
        """Draw the samples that fit."""
        shown = self._shown
        return Text("\n".join(columns(shown, self.size.width, self.size.height)), self._colour, no_wrap=True)


def columns(values: Sequence[float], width: int, height: int) -> list[str]:
    """Draw values as columns of eighths of a character, scaled to the greatest one.

    Examples
    --------
    >>> columns([0, 1, 2, 4], 6, 2)
    ['     █', '   ▄██']
    """
    top = max(values, default=0) or 1
    # A value above 0 is visible.
    eighths = [max(round(8 * height * value / top), value > 0) for value in values]
    padded = [0] * (width - len(eighths)) + eighths
    return [
        "".join(_EIGHTHS[min(max(each - 8 * row, 0), 8)] for each in padded)
        for row in reversed(range(height))
    ]


class Quantity(Horizontal):
    """A name, the current value, and the chart of a quantity."""

    def __init__(self, name: str, colour: str, form: Callable[[float | None], str]) -> None:
        super().__init__(classes="quantity")
        self._words = name
        self._form = form
        self._label = Static(classes="label")
        self._chart = Chart(colour)

    def compose(self) -> ComposeResult:
        """Yield the label and the chart."""
        yield self._label
        yield self._chart

    def add(self, value: float | None) -> None:
        """Show a sample."""
        self._chart.add(value)
        self._label.update(
            Text.assemble(
                f"{self._words:<6}{self._form(value):>13}",
                (f"\n{'max':>5} {self._form(self._chart.top):>13}", "dim"),
            )
        )


class Panel(Vertical):
    """State of a real UE."""

    def __init__(self, name: str, command: str) -> None:
        super().__init__(classes="ue")
        self.border_title = Text(f"{plain(name)}: {plain(command)}")
        self._quantities = {
            "down_kbps": Quantity("down", "#5fafd7", rate_text),
            "up_kbps": Quantity("up", "#af87d7", rate_text),
            "queue_bytes": Quantity("queue", "#d7af5f", bytes_text),
            "delay_down_ms": Quantity("delay", "#87af87", delay_text),
        }
        self._radio = Static()

    def compose(self) -> ComposeResult:
        """Yield the quantities, and a line about radio and drops."""
        yield from self._quantities.values()
        yield self._radio

    def show(self, ue: "Ue") -> None:
        """Show a snapshot."""
        for key, quantity in self._quantities.items():
            quantity.add(getattr(ue, key))
        self._radio.update(radio_text(ue))


class _Terminal(LinuxDriver):
    """Terminal that may be closed: Textual's thread would end at the error, and its main one wait for it."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._file = cast("Any", _Output(cast("IO[str]", self._file)))


class _Output:
    """Output to a terminal; lost once that is closed."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, text: str) -> None:
        with suppress(OSError):
            self._file.write(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._file.flush()

    def fileno(self) -> int:
        return self._file.fileno()


class View(App[None]):
    """The live view; :attr:`finished` or :attr:`failure` is set when the session has ended."""

    TITLE = "airwnd link"
    ENABLE_COMMAND_PALETTE = False
    VERTICAL_BREAKPOINTS = [(0, "-short"), (30, "-tall")]  # noqa: RUF012 (Textual's declaration)
    BINDINGS: ClassVar[list[BindingType]] = [("q", "leave", "Quit"), ("ctrl+c", "leave", "Quit")]
    CSS = """
    #status { height: 1; background: $panel; padding: 0 1; }
    #ues { layout: horizontal; height: 3fr; overflow-x: auto; }
    .ue { width: 1fr; min-width: 40; border: round $primary; padding: 0 1; }
    .quantity { height: 1fr; min-height: 1; }
    .-tall .quantity { margin-bottom: 1; }
    .label { width: 20; }
    Chart { width: 1fr; height: 1fr; min-height: 1; }
    #below { height: 2fr; min-height: 9; }
    #flows { width: 1fr; height: 100%; border: round $primary; scrollbar-size: 1 1; }
    #output { width: 1fr; border: round $primary; padding: 0 1; scrollbar-size: 1 1; }
    #timing { height: 2; padding: 0 1; }
    """

    def __init__(self, session: "Session", watch: "Callable[[Snapshot], bool]", stop: "Stop") -> None:
        super().__init__(driver_class=_Terminal)
        self._session = session
        self._watch = watch
        self._stop = stop
        self._panels = {each.ue: Panel(each.name, " ".join(each.command)) for each in session.placed}
        self._status, self._timing = Static(id="status"), Static(id="timing")
        self._flows: DataTable[str | Text] = DataTable(id="flows", cursor_type="none", zebra_stripes=True)
        self._output = Log(id="output", max_lines=_LINES)
        self.finished: Finished | None = None
        self.failure: Exception | None = None

    def compose(self) -> ComposeResult:
        """Yield the parts of the view."""
        yield self._status
        yield Container(*self._panels.values(), id="ues")
        with Horizontal(id="below"):
            yield self._flows
            yield self._output
        yield self._timing
        yield Footer()

    def on_mount(self) -> None:
        """Start the session."""
        self._flows.border_title, self._output.border_title = "Flows (Mbit/s, ms, kB)", "Output"
        for head in ("down", "up", "RTT", "cwnd", "cc", "flow"):
            self._flows.add_column(Text(head, justify="left" if head in ("flow", "cc") else "right"))
        self._state("starts")
        self._execute()

    @work(thread=True, exit_on_error=False)
    def _execute(self) -> None:
        """Run the session in a thread of its own: Textual needs the main one."""
        try:
            self.finished = self._session.run(self._update)
        except Exception as error:
            self.failure = error
        self.call_from_thread(self._ended)

    def _update(self, snapshot: "Snapshot") -> bool:
        self.call_from_thread(self.show, snapshot)
        return self._watch(snapshot)

    def _ended(self) -> None:
        """Leave after an error or if the user has asked for it; otherwise keep the last state on screen."""
        if self.failure is not None or self._stop.code is not None or self.finished is None:
            self.exit()
            return
        self._state(f"ended with exit code {self.finished.summary.exit_code}; q leaves")
        # A signal, such as that of a terminal that is closed, ends the view without its session, too.
        self.set_interval(_POLL_S, self._leave_if_asked)

    def _leave_if_asked(self) -> None:
        if self._stop.asked():
            self.exit()

    def action_leave(self) -> None:
        """End the session, or leave the view of one that has ended."""
        if self.finished is not None or self.failure is not None:
            self.exit()
            return
        self._stop.end()
        self._state("ends")

    def _state(self, text: str) -> None:
        scenario = plain(self._session.scenario.name)
        self._status.update(Text.assemble((f"{scenario}, seed {self._session.seed}", "bold"), f"  {text}"))

    def show(self, snapshot: "Snapshot") -> None:
        """Show a snapshot."""
        self._state(f"{snapshot.t_s:.1f} s")
        for ue in snapshot.ues:
            if ue.ue in self._panels:
                self._panels[ue.ue].show(ue)
        self._show_flows(snapshot.flows)
        self._timing.update(timing_text(snapshot, self._session.limit_ns / 1e3))
        self._output.write(printable(snapshot.output))

    def _show_flows(self, flows: "Iterable[Flow]") -> None:
        self._flows.clear()
        for flow in flows:
            self._flows.add_row(*flow_cells(flow))


def printable(text: str) -> str:
    r"""Remove control sequences; a carriage return alone, as in progress bars, begins a new line.

    Examples
    --------
    >>> printable("\x1b[32mok\x1b[0m 10 %\r20 %\r\n")
    'ok 10 %\n20 %\n'
    """
    return re.sub(r"\r\n?", "\n", _ESCAPES.sub("", text))


def rate_text(kbps: float | None) -> str:
    """Format a rate."""
    if kbps is None:
        return "–"
    mbps = kbps / 1e3
    return f"{mbps:.2f} Mbit/s" if mbps >= 1 else f"{kbps:.1f} kbit/s"


def bytes_text(count: float | None) -> str:
    """Format a number of bytes."""
    if count is None:
        return "–"
    return f"{count / 1e3:,.1f} kB"


def delay_text(ms: float | None) -> str:
    """Format a delay."""
    return f"{number(ms, 1)} ms"


def radio_text(ue: "Ue") -> Text:
    """Return the line about radio and drops; links without a cell have no radio."""
    words = []
    if ue.cell is not None:
        words.append(f"cell {ue.cell}")
    if ue.mcs is not None:
        words.append(f"MCS {ue.mcs:.0f}")
    if ue.sinr_db is not None:
        words.append(f"SINR {ue.sinr_db:.1f} dB")
    drops = f"drops {ue.dropped_down:,} down, {ue.dropped_up:,} up"
    return Text("   ".join([*words, drops]), "dim")


def flow_cells(flow: "Flow") -> list[str | Text]:
    """Return the cells of a flow's row."""

    def right(text: str) -> Text:
        return Text(text, justify="right")

    return [
        right(f"{flow.down_kbps / 1e3:.2f}"),
        right(f"{flow.up_kbps / 1e3:.2f}"),
        right(number(flow.rtt_ms, 1)),
        right(number(None if flow.cwnd_bytes is None else flow.cwnd_bytes / 1e3, 1)),
        Text(plain(flow.cc or "")),
        Text(plain(flow.what)),
    ]


def timing_text(snapshot: "Snapshot", limit_us: float) -> Text:
    """Return the lines about lateness, with a bar of p99 up to the limit, and about the load."""
    late = snapshot.lateness_us
    share = late.p99 / limit_us
    colour = "red" if share > 1 else "yellow" if share > 1 / 2 else "green"
    full = round(min(share, 1) * _BAR)
    behind_us, packets = 1e3 * snapshot.behind_ms, snapshot.packets
    return Text.assemble(
        "lateness p99 ",
        ("█" * full + "░" * (_BAR - full), colour),
        (f" {time_text(late.p99)}", colour),
        f" of {time_text(limit_us)}   p50 {time_text(late.p50)}   max {time_text(late.max)}\n",
        (f"{time_text(behind_us)} behind", "bold red" if behind_us > limit_us else ""),
        f"   CPU {snapshot.cpu_percent:.0f} %   packets {packets.entered:,} in, {packets.left:,} out, "
        f"{sum(packets.dropped.values()):,} dropped, {packets.inside:,} inside",
        no_wrap=True,
    )
