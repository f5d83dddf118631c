"""``airwnd link``: real programs over a simulated cell or link, in real time.

The parts: the real UEs and their commands (:mod:`.commands`), scenarios without a file (:mod:`.wire`,
:mod:`.mahimahi`), the session (:mod:`.session`), the other end (:mod:`.server`), and what the user sees
(:mod:`.summary`, :mod:`.live`).
"""
