"""Pictures of runs, sweeps and scenarios, drawn with Matplotlib: one file for each kind.

:func:`airwnd.plots.compare.plot_compare` and :func:`airwnd.plots.cdf.plot_cdf` draw several runs into one
picture; pictures of one run or sweep are methods of :class:`airwnd.Run` and :class:`airwnd.Sweep`.
"""
