"""Batteries of ``airwnd link``: sets of workloads that run over a session's link, with a table and a picture.

``plans`` names them, ``client`` runs at the UE and ``reflector`` at the other end, both with the standard
library alone; ``results`` has what they measured, ``picture`` draws it, and ``front`` is the command line's
part.
"""
