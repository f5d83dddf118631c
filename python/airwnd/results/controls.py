"""Names of congestion controls for people: a plug-in by its class and parameters."""

from collections.abc import Iterable, Mapping
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
        f"{key}={value}"
        for key, value in control.items()
        if key not in _ABOUT and not (key in defaults and defaults[key] == value)
    )
    name = name if whole else name.rpartition(":")[2]
    return f"{name}({parameters})" if parameters else name


def named(rows: Iterable[Mapping[str, Any]], scenario: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return rows of flows or groups in which plug-ins have their names; the others are not changed."""
    controls = {flow["id"]: flow["cc"] for flow in scenario["flow"]}
    short: dict[str, set[str]] = {}
    for each in controls.values():
        short.setdefault(control_text(each), set()).add(control_text(each, whole=True))
    texts = {
        group: control_text(each, whole=len(short[control_text(each)]) > 1)
        for group, each in controls.items()
    }
    return [
        {**row, "cc": texts.get(row["group"], row["cc"])} if row["cc"] in ("python", "plugin") else dict(row)
        for row in rows
    ]
