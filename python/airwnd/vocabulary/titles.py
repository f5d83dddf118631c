"""Titles of keys for people, as in the labels of a picture: ``rlc.queue.buffer`` is a buffer size."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from airwnd.vocabulary.algorithms import Parameter, catalogue
from airwnd.vocabulary.sections import sections

# A step of a key, or in brackets an entry of a list: by index, id or name.
_STEP = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")
# Words after these tell no key from another; a buffer size is a parameter of the queue discipline.
_END = re.compile(r"[;:.(]| of each | of the downlink| at the | and buffer size of each ")
_MAX_CHARACTERS = 48


def titles(keys: Iterable[str], scenario: Mapping[str, Any]) -> dict[str, str]:
    """Return a distinct title for each key, and for a key without a short meaning the key itself.

    Parameters
    ----------
    keys
        Keys as ``--set`` takes them.
    scenario
        The scenario with all defaults: it selects the algorithms whose parameters are meant, and a title
        names the entry of a list of several.

    Examples
    --------
    >>> titles(["flow[call].cc", "rlc.mode"], {"flow": [{"id": "download"}, {"id": "call"}]})
    {'flow[call].cc': 'Congestion control, call', 'rlc.mode': 'RLC mode'}
    """
    found = {key: _title(key, scenario) for key in keys}
    times = Counter(found.values())
    return {key: title if times[title] == 1 else key for key, title in found.items()}


def _title(key: str, scenario: Mapping[str, Any]) -> str:
    section: str | None = ""
    written: Any = scenario
    declared: Parameter | None = None
    entries: list[str] = []
    for entry, step in (match.groups() for match in _STEP.finditer(key)):
        if step is None:
            name = _name(written, entry, section or "")
            written = _entry(written, entry)
            entries += [name] if name else []
            continue
        inner = f"{section}.{step}".strip(".")
        if section is not None and (own := sections()[section].keys.get(step)):
            declared = own
        elif section == "link":
            declared = _parameter("link", written, step)
        else:
            declared = declared and _parameter(declared.family, written, step)
        section = inner if section is not None and inner in sections() else None
        written = written.get(step) if isinstance(written, Mapping) else None
    short = "" if declared is None else _short(declared.meaning)
    return ", ".join((short, *entries)) if short else key


def _entry(entries: object, name: str) -> Any:
    """Return an entry of a list by its index, id or name."""
    for place, each in enumerate(entries if isinstance(entries, list) else ()):
        if name in {str(place), each.get("id"), each.get("name")}:
            return each
    return {}


def _name(entries: object, name: str, section: str) -> str:
    """Return the name of an entry; empty if there is no other one."""
    if not isinstance(entries, list) or len(entries) == 1:
        return ""
    found = _entry(entries, name)
    return str(found.get("id") or found.get("name") or f"{section} {name}")


def _parameter(family: str | None, written: Any, name: str) -> Parameter | None:
    """Return the parameter of the algorithm that a scenario selects."""
    kind = written.get("kind") if isinstance(written, Mapping) else written
    members = (each for known in catalogue() if known.name == family for each in known.members)
    params = next((each.params for each in members if each.name == kind), ())
    return next((each for each in params if each.name == name), None)


def _short(meaning: str) -> str:
    """Return the beginning of a meaning that names the key; empty if that is long."""
    text = _END.split(meaning, maxsplit=1)[0].strip()
    text = text if len(text) <= _MAX_CHARACTERS else text.partition(",")[0]
    return text if len(text) <= _MAX_CHARACTERS and "`" not in text else ""
