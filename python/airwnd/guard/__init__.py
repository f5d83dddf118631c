"""Measurements of ``airwnd guard`` in a cell of ``airwnd link``: transfers without and with it.

:mod:`airwnd.guard.session` runs them; :mod:`airwnd.guard.inside` is the program that runs on the UE. The
guard itself is in the engine.
"""
