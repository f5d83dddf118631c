"""Names of congestion controls for people: a plug-in by its class and parameters."""

import json
from collections.abc import Mapping
from typing import Any

from airwnd.plugins.registry import defaults_of

_ABOUT = ("kind", "class", "name", "sha256")


def control_text(control: Mapping[str, Any], *, whole: bool = False) -> str:
    """Return the name of a congestion control.

    A plug-in is named by its class, or by its name in Rust, and the parameters that differ from the defaults
    of the class. A process that has not seen the class, as when it reads stored results, names all of them.

    Parameters
    ----------
    control
        ``flow[].cc`` of a resolved scenario.
    whole
        Name the class with its file or module.

    Examples
    --------
    >>> control_text({"kind": "cubic", "beta": 0.7})
    'cubic'
    >>> control_text({"kind": "python", "class": "mine.py:Gentle", "sha256": "1f", "target_s": 0.08})
    'Gentle(target_s=0.08)'
    """
    kind = str(control["kind"])
    if kind not in ("python", "plugin"):
        return kind
    name = str(control.get("class") or control.get("name") or kind)
    defaults = defaults_of(str(control.get("sha256", "")))
    parameters = ", ".join(
        f"{key}={value if isinstance(value, str) else json.dumps(value, separators=(',', ':'))}"
        for key, value in control.items()
        if key not in _ABOUT and not (key in defaults and defaults[key] == value)
    )
    name = name if whole else name.rpartition(":")[2]
    return f"{name}({parameters})" if parameters else name
