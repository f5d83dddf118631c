"""Which quantities of the series a page can draw, and in what order."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from airwnd.text import axis_label


@dataclass(frozen=True, slots=True)
class Panel:
    """One quantity over time.

    Attributes
    ----------
    column
        The series' column.
    name
        What it is.
    unit
        Its unit.
    shown
        Whether the page shows it at first.
    beside
        A column that is drawn beside it, for lines of their own.
    smooth
        Whether single samples say little, so that lines are means over some pixels.
    """

    column: str
    name: str
    unit: str = ""
    shown: bool = False
    beside: str | None = None
    smooth: bool = False

    @property
    def title(self) -> str:
        """The name with the unit."""
        return f"{self.name} ({self.unit})" if self.unit else self.name


_KNOWN = (
    Panel("cwnd_bytes", "cwnd", "bytes", shown=True, beside="ssthresh_bytes"),
    Panel("rwnd_bytes", "rwnd", "bytes", shown=True),
    Panel("in_flight_bytes", "in flight", "bytes"),
    Panel("rtt_ms", "RTT", "ms", shown=True),
    Panel("delay_ms", "one-way delay", "ms"),
    Panel("queue_bytes", "queue", "bytes", shown=True),
    Panel("queue_packets", "packets in queue"),
    Panel("rate_kbps", "rate", "kbit/s", shown=True, smooth=True),
    Panel("mcs", "MCS", shown=True),
    Panel("sinr_db", "SINR", "dB"),
    Panel("rsrp_dbm", "RSRP", "dBm"),
    Panel("neighbour_rsrp_dbm", "best neighbour's RSRP", "dBm"),
    Panel("cell", "serving cell"),
    Panel("neighbour", "best neighbour"),
)
# The page has a map for places.
_PLACES = ("x_m", "y_m")


def panels(columns: Iterable[str], filled: Collection[str]) -> list[Panel]:
    """Give the panels for a series' columns; those that are nowhere filled have none.

    Examples
    --------
    >>> [panel.title for panel in panels(["rtt_ms", "mcs", "pace_kbps"], {"rtt_ms", "pace_kbps"})]
    ['RTT (ms)', 'pace (kbit/s)']
    """
    known = [panel for panel in _KNOWN if panel.column in filled]
    taken = {*_PLACES, *(name for panel in _KNOWN for name in (panel.column, panel.beside))}
    others = [name for name in columns if name not in taken and name in filled]
    return known + [Panel(name, axis_label(name)) for name in others]
