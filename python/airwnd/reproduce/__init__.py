"""Reproduction of a paper's figure: settings x seeds, the paper's numbers beside ours, claims judged.

An experiment is a folder (:mod:`airwnd.reproduce.design`); :func:`airwnd.reproduce.runner.reproduce` runs
it and :mod:`airwnd.reproduce.report` writes what came out.
"""
