"""Reproduction of published figures: settings x seeds, the paper's numbers next to ours, verdicts on claims.

An experiment is a folder (:mod:`airwnd.study.reproduce.design`). Function
:func:`airwnd.study.reproduce.runner.reproduce` runs it, and :mod:`airwnd.study.reproduce.report` writes the
results.
"""
