"""Panels of a page: the quantities of the series, in their order."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from airwnd.text.quantities import axis_label
from airwnd.vocabulary.columns import tables


@dataclass(frozen=True, slots=True)
class Panel:
    """One quantity over time.

    Attributes
    ----------
    column
        Column of the series.
    name
        Name of the quantity.
    unit
        Unit of the quantity.
    shown
        Whether the page shows the panel initially.
    beside
        Column that is also drawn in the panel, for selected flows; ``None``: none.
    smooth
        Whether lines are averaged over some pixels, because single samples are noisy.
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


def _panel(
    column: str, name: str, *, shown: bool = False, beside: str | None = None, smooth: bool = False
) -> Panel:
    unit = tables()["series"].columns[column].shown_unit
    return Panel(column, name, unit, shown, beside, smooth)


_KNOWN = (
    _panel("cwnd_bytes", "cwnd", shown=True, beside="ssthresh_bytes"),
    _panel("rwnd_bytes", "rwnd", shown=True),
    _panel("in_flight_bytes", "in flight"),
    _panel("rtt_ms", "RTT", shown=True),
    _panel("delay_ms", "one-way delay"),
    _panel("queue_bytes", "queue", shown=True),
    _panel("queue_packets", "packets queued"),
    _panel("throughput_kbps", "throughput", shown=True, smooth=True),
    _panel("rate_kbps", "goodput", smooth=True),
    _panel("air_kbps", "air rate", smooth=True),
    _panel("mcs", "MCS", shown=True),
    _panel("sinr_db", "SINR"),
    _panel("rsrp_dbm", "RSRP"),
    _panel("neighbour_rsrp_dbm", "best neighbour's RSRP"),
    _panel("cell", "serving cell"),
    _panel("neighbour", "best neighbour"),
)
# Positions are shown on the map.
_PLACES = ("x_m", "y_m")


def panels(columns: Iterable[str], filled: Collection[str]) -> list[Panel]:
    """Return the panels for the columns of the series; columns without values have no panel.

    Examples
    --------
    >>> [panel.title for panel in panels(["rtt_ms", "mcs", "pace"], {"rtt_ms", "pace"})]
    ['RTT (ms)', 'pace']
    """
    known = [panel for panel in _KNOWN if panel.column in filled]
    taken = {*_PLACES, *(name for panel in _KNOWN for name in (panel.column, panel.beside))}
    others = [name for name in columns if name not in taken and name in filled]
    return known + [Panel(name, axis_label("series", name)) for name in others]
