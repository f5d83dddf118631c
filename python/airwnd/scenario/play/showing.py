"""Addresses of the playground: the part behind ``#`` that shows an algorithm, a key or a scenario."""

import base64
import re
import tomllib
import zlib

from airwnd import _native

#: Controls of the page by family of algorithms, as ``settings.js`` has them.
_CONTROLS = {"cc": "cc", "rwnd": "rwnd", "aqm": "queue", "sched": "scheduler"}
_FRAGMENT = re.compile(r"(#[\w.=&%,:;~-]{0,100000})?")


def of_algorithm(family: str, name: str) -> str | None:
    """Return the fragment with the control that selects an algorithm; ``None``: the page has none for it.

    Examples
    --------
    >>> of_algorithm("aqm", "codel")
    '#queue=codel'
    """
    return f"#{_CONTROLS[family]}={name}" if family in _CONTROLS else None


def of_toml(text: str) -> str | None:
    """Return the fragment with a scenario that has some keys, such as those of ``airwnd explain``.

    A site, a UE and a download are added where the keys have none. ``None``: no scenario of the page can have
    them alone, as a key that names a file.
    """
    added = {"site": "[[site]]", "ue": "[[ue]]", "flow": "[[flow]]"}
    try:
        known = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None
    if "link" in known:
        # A link is a way without a cell, unless UEs are sent over it.
        del added["site"]
    lines = [line for table, line in added.items() if table not in known]
    scenario = "\n".join(["" if "duration" in known else 'duration = "1h"', text, *lines, ""]).lstrip("\n")
    try:
        _native.PageScenario(scenario)
    except _native.ScenarioError:
        return None
    return f"#toml={packed(scenario)}"


def packed(text: str) -> str:
    """Pack a scenario as the page does."""
    return base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode("ascii").rstrip("=")


def is_fragment(text: object) -> bool:
    """Return whether a text can stand behind the address of the page."""
    return isinstance(text, str) and _FRAGMENT.fullmatch(text) is not None
