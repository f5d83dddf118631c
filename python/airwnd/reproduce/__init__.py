"""Reproduction of published figures: settings x seeds, the paper's numbers next to ours, verdicts on claims.

An experiment is a folder (:mod:`airwnd.reproduce.design`). :func:`airwnd.reproduce.runner.reproduce` runs it,
and :mod:`airwnd.reproduce.report` writes the results.
"""
