"""Plots of runs, sweeps and scenarios with Matplotlib, one file per kind.

:func:`airwnd.plots.compare.plot_compare` and :func:`airwnd.plots.cdf.plot_cdf` draw several runs into one
figure. Plots of a single run or sweep are methods of :class:`airwnd.Run` and :class:`airwnd.Sweep`.
"""
