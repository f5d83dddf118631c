"""The picture of a battery: time series on the left, distributions and sums on the right."""

from typing import TYPE_CHECKING

import numpy as np

from airwnd.link.battery.plans import IDLE_S
from airwnd.plots import style

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from airwnd.link.battery.results import Delays, Results, Transfer

    Values = np.typing.NDArray[np.float64]

# Interval over which goodput is drawn, in seconds.
_MEAN_S = 0.5
_HEIGHT = 4.0
# Colours of `style`, with a solid line for what is drawn first: colour, marker and dashes each distinguish.
_SOLID, _DASHED, _DOTTED = "solid", (0, (5, 2)), (0, (1, 1.5))
_LOOKS = {
    "download": style.Line("#0072B2", "o", _SOLID),
    "upload": style.Line("#D55E00", "s", _DASHED),
    "call down": style.Line("#0072B2", "o", _SOLID),
    "call up": style.Line("#D55E00", "s", _DASHED),
    "ping": style.Line("#000000", "X", _SOLID),
    "idle ping": style.Line("#56B4E9", "v", _DOTTED),
    "page": style.Line("#009E73", "o", _SOLID),
}
_GREY = "#666666"
# Heights of bars, as shares of their distance: of a few bars a smaller one looks right.
_FEW, _BAR, _BAR_OF_FEW = 2, 0.7, 0.4


def plot_battery(results: "Results", title: str = "") -> "Figure":
    """Draw a battery: load and delays over time, and their distributions.

    Parameters
    ----------
    results
        Results of the battery.
    title
        Title of the figure, such as the name of the scenario.
    """
    with style.styled():
        figure = style.new_figure((style.WIDTHS["page"], _HEIGHT))
        (load, share), (delay, cdf) = figure.subplots(2, 2, width_ratios=(2, 1))
        if results.pages:
            _draw_pages(load, results)
            _draw_cdf(share, {"page": [page.load_ms for page in results.pages]}, "Page load time (ms)")
        else:
            _draw_goodput(load, results.transfers)
            _draw_bars(share, results.transfers)
        _draw_delays(delay, results.delays)
        _draw_cdf(cdf, {each.name: _of_sent(each) for each in results.delays}, delay.get_ylabel())
        end_s = max([results.length_s, *(page.start_s for page in results.pages)])
        for axes in (load, delay):
            axes.set_xlim(-IDLE_S, end_s)
            axes.set_ylim(bottom=0)
            axes.axvline(0, color=_GREY, linewidth=0.7, zorder=0)
        load.tick_params(labelbottom=False)
        delay.set_xlabel("Time since the start of the load (s)")
        figure.align_ylabels([load, delay])
        if title:
            figure.suptitle(style.literal(title), x=0.01, horizontalalignment="left", fontsize=9.5)
    return figure


def rates_mbps(points: "Sequence[tuple[float, int]]") -> tuple["Values", "Values"]:
    """Return times, and the mean goodput of the interval before each in Mbit/s.

    Examples
    --------
    >>> times, rates = rates_mbps([(0.0, 0), (1.0, 125_000)])
    >>> times.tolist(), rates.tolist()
    ([0.5, 1.0], [1.0, 1.0])
    """
    at, total_bytes = np.array(points, dtype=float).T
    count = max(round(at[-1] / _MEAN_S), 1)
    edges = np.linspace(0, at[-1], count + 1)
    return edges[1:], np.diff(np.interp(edges, at, total_bytes)) * 8e-6 / max(edges[1], 1e-9)


def _draw_goodput(axes: "Axes", transfers: "Sequence[Transfer]") -> None:
    """Draw the sum of each direction, and its transfers as thin lines."""
    for kind in ("download", "upload"):
        of_kind = [rates_mbps(each.points) for each in transfers if each.kind == kind]
        if not of_kind:
            continue
        look = _LOOKS[kind]
        times = of_kind[0][0]
        several = len(of_kind) > 1
        if several:
            for at, rates in of_kind:
                axes.plot(at, rates, color=look.colour, linewidth=0.5, alpha=0.6)
        total = sum(np.interp(times, at, rates) for at, rates in of_kind)
        label = f"sum of {len(of_kind)} {kind}s" if several else kind
        axes.plot(times, total, color=look.colour, linestyle=look.dashes, label=label)
    axes.set_ylabel("Goodput (Mbit/s)")
    _legend(axes)


def _draw_bars(axes: "Axes", transfers: "Sequence[Transfer]") -> None:
    """Draw the goodput of each transfer."""
    places = np.arange(len(transfers))[::-1]
    axes.barh(
        places,
        [each.goodput_kbps() / 1e3 for each in transfers],
        color=[_LOOKS[each.kind].colour for each in transfers],
        hatch=["" if each.kind == "download" else "////" for each in transfers],
        edgecolor="white",
        height=_BAR if len(transfers) > _FEW else _BAR_OF_FEW,
    )
    axes.set_yticks(places, [each.name for each in transfers])
    axes.set_ylim(-0.7, len(transfers) - 0.3)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("Goodput (Mbit/s)")


def _draw_pages(axes: "Axes", results: "Results") -> None:
    """Draw each page load as a point with a stem at its begin."""
    done = [(page.start_s, page.load_ms) for page in results.pages if page.load_ms is not None]
    times, loads = np.array(done, dtype=float).reshape(-1, 2).T
    look = _LOOKS["page"]
    axes.vlines(times, 0, loads, color=look.colour, linewidth=0.8)
    axes.plot(times, loads, color=look.colour, marker=look.marker, linestyle="none", markersize=4)
    axes.set_ylabel("Page load\ntime (ms)")


def _draw_delays(axes: "Axes", delays: "Sequence[Delays]") -> None:
    for each in delays:
        if each.kind == "idle":
            continue
        look = _LOOKS[each.name]
        times, values = np.array(each.samples, dtype=float).reshape(-1, 2).T
        axes.plot(times, values, color=look.colour, linestyle=look.dashes, linewidth=0.9, label=each.name)
    idle = next(each for each in delays if each.kind == "idle")
    times, values = np.array(idle.samples, dtype=float).reshape(-1, 2).T
    axes.plot(times, values, color=_LOOKS["idle ping"].colour, linewidth=0.9)
    has_call = any(each.kind == "call" for each in delays)
    axes.set_ylabel("Delay (ms)" if has_call else "Ping (ms)")
    if has_call:
        _legend(axes)


def _of_sent(delays: "Delays") -> list[float | None]:
    """Return the delays of all datagrams sent; ``None``: it was lost."""
    return [*(value for _, value in delays.samples), *([None] * (delays.sent - len(delays.samples)))]


def _draw_cdf(axes: "Axes", values: "Mapping[str, Sequence[float | None]]", label: str) -> None:
    """Draw distributions; values of ``None`` count, so that their line ends below 1."""
    several = len(values) > 1
    for name, each in values.items():
        found = np.sort([value for value in each if value is not None])
        if not found.size:
            continue
        look = _LOOKS[name]
        axes.step(
            np.concatenate((found[:1], found)),
            np.arange(found.size + 1) / len(each),
            where="post",
            color=look.colour,
            linestyle=look.dashes,
            label=name,
        )
    axes.set_ylim(0, 1.02)
    axes.set_xlim(left=0)
    axes.set_xlabel(label.replace("\n", " "))
    axes.set_ylabel("CDF")
    if several and axes.lines:
        _legend(axes, 2)


def _legend(axes: "Axes", columns: int = 3) -> None:
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=columns, borderaxespad=0.2, handlelength=1.8)
