"""Picture of a transfer without ``airwnd guard`` and with it: ping and throughput over time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from airwnd.plots import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The beginning of a transfer that the figures leave out, in seconds: slow start.
START_S = 3.0
_WIDTH, _HEIGHT = 7.2, 4.2
# Interval over which throughput is drawn, in seconds.
_MEAN_S = 0.5
# Orange and solid, blue and dashed.
_LINES = (1, 0)


@dataclass(frozen=True, slots=True)
class Half:
    """A transfer with pings beside it.

    Attributes
    ----------
    name
        Name in the legend.
    pings
        Time since the beginning of the transfer in seconds, and RTT in milliseconds.
    received
        Time since the beginning of the transfer in seconds, and bytes received since then.
    measured_s
        Beginning and end of each interval in which the guard has measured the minimum RTT again, with a small
        window.
    """

    name: str
    pings: Sequence[tuple[float, float]]
    received: Sequence[tuple[float, int]]
    measured_s: Sequence[tuple[float, float]] = ()

    def ping_ms(self, percent: float) -> float | None:
        """Return a percentile of the pings after the start; ``None``: there were none."""
        values = [rtt for at, rtt in self.pings if at >= START_S]
        return float(np.percentile(values, percent)) if values else None

    def mbps(self) -> float | None:
        """Return the mean throughput after the start; ``None``: the transfer was shorter."""
        later = [(at, total) for at, total in self.received if at >= START_S]
        if len(later) < 2:  # noqa: PLR2004 (a difference)
            return None
        (begin, before), (end, after) = later[0], later[-1]
        return (after - before) * 8e-6 / (end - begin)


def plot_halves(halves: Sequence[Half], title: str = "") -> "Figure":
    """Draw pings and throughput of transfers over time, in one figure.

    Parameters
    ----------
    halves
        The transfers.
    title
        Title of the figure.
    """
    with style.styled():
        figure = style.new_figure((_WIDTH, _HEIGHT))
        top, bottom = figure.subplots(2, sharex=True, height_ratios=(3, 2))
        for half, index in zip(halves, _LINES, strict=True):
            look = style.line(index)
            times, rtts = np.array(half.pings).reshape(-1, 2).T
            top.plot(times, rtts, color=look.colour, linewidth=1.1, label=style.literal(half.name))
            # Nothing is known of a transfer that ended at once.
            times, totals = np.array(half.received or [(0.0, 0)], dtype=float).T
            at = np.arange(_MEAN_S, times[-1], _MEAN_S)
            rates = (np.interp(at, times, totals) - np.interp(at - _MEAN_S, times, totals)) * 8e-6 / _MEAN_S
            bottom.plot(at, rates, color=look.colour, linestyle=look.dashes, linewidth=1.2)
            for begin, end in half.measured_s:
                name = None if top.patches else "minimum RTT measured again"
                for axes, label in ((top, name), (bottom, None)):
                    # The mean of the throughput falls for as long after the end.
                    axes.axvspan(begin, end + _MEAN_S, color="#BBBBBB", linewidth=0, zorder=0, label=label)
        top.set_ylabel("Ping (ms)")
        bottom.set_ylabel("Throughput\n(Mbit/s)")
        bottom.set_xlabel("Time since the beginning of the download (s)")
        for axes in (top, bottom):
            axes.set_ylim(bottom=0)
        bottom.set_xlim(0, max((half.received[-1][0] for half in halves if half.received), default=1.0))
        if title:
            top.set_title(style.literal(title), pad=20)
        top.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=len(halves) + 1, borderaxespad=0.2)
        figure.align_ylabels([top, bottom])
    return figure
