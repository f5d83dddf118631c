"""Explorer for runs: one page with time series, events, map and flows, without network or server.

The page draws on its own canvases. Plotly.js, tried first, takes about 130 ms to redraw six panels with a
band, 1.4 s with the lines of 100 flows as SVG, and 9 s as WebGL without a graphics card, all with the data
already reduced to the pixels. ``docs/how-to/explore-a-run.md`` gives the times of this page.
"""

from airwnd.view.folders import load
from airwnd.view.page import check, show, write

__all__ = ["check", "load", "show", "write"]
