"""Panels of a page: the quantities of the series, in their order."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

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
    unit: str
    shown: bool = False
    beside: str | None = None
    smooth: bool = False

    @property
    def title(self) -> str:
        """The name with the unit."""
        return f"{self.name} ({self.unit})" if self.unit else self.name


def _panel(column: str, *, shown: bool = False, beside: str | None = None, smooth: bool = False) -> Panel:
    known = tables()["series"].columns.get(column)
    name, unit = (known.label, known.shown_unit) if known else (column, "")
    return Panel(column, name, unit, shown, beside, smooth)


_KNOWN = (
    _panel("cwnd_bytes", shown=True, beside="ssthresh_bytes"),
    _panel("rwnd_bytes", shown=True),
    _panel("in_flight_bytes"),
    _panel("rtt_ms", shown=True),
    _panel("delay_ms"),
    _panel("queue_bytes", shown=True),
    _panel("queue_packets"),
    _panel("throughput_kbps", shown=True, smooth=True),
    _panel("rate_kbps", smooth=True),
    _panel("air_kbps", smooth=True),
    _panel("mcs", shown=True),
    _panel("sinr_db"),
    _panel("rsrp_dbm"),
    _panel("neighbour_rsrp_dbm"),
    _panel("cell"),
    _panel("neighbour"),
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
    return known + [_panel(name) for name in others]
