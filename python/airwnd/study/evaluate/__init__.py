"""Standard evaluation of a congestion control: suites of criteria as data, and a report with their answers.

``airwnd evaluate`` is its interface, ``docs/suites.md`` describes the format of a suite.
"""
