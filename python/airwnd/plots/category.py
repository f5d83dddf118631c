"""Short texts for values on axes and in legends: tables by kind or class, long texts with an ellipsis."""

import tomllib
from collections.abc import Iterable
from typing import Any

from airwnd.results.selection import plain

#: Maximum number of characters of a category along an axis, or of a line in a legend.
MAX_CHARACTERS = 32

_NAMES = ("class", "name", "kind")


def shortened(text: str, maximum: int = MAX_CHARACTERS) -> str:
    """Leave out the middle of a long text.

    Examples
    --------
    >>> shortened("a-very-long-name-of-a-scenario.toml", 12)
    'a-very….toml'
    """
    if len(text) <= maximum:
        return text
    end = (maximum - 1) // 2
    return f"{text[: maximum - 1 - end]}…{text[-end:]}"


def texts(values: Iterable[object]) -> dict[object, str]:
    """Return a short and distinct text for each value of a key.

    A table of TOML is named by its class or kind, and by the parameters in which it differs from the other
    tables with that name.

    Examples
    --------
    >>> list(texts(["codel", '{kind="red", low=5, high=9}', '{kind="red", low=5, high=20}']).values())
    ['codel', 'red(high=9)', 'red(high=20)']
    """
    values = list(values)
    tables = {value: table for value in values if (table := _table(value))}
    of_name: dict[str, list[dict[str, Any]]] = {}
    for table in tables.values():
        of_name.setdefault(_name(table), []).append(table)
    found = {value: _named(tables[value], of_name) if value in tables else plain(value) for value in values}
    found = {value: shortened(text) for value, text in found.items()}
    # Distinct values remain distinct, however long they are.
    if len(set(found.values())) < len(found):
        return {value: plain(value) for value in found}
    return found


def _table(value: object) -> dict[str, Any] | None:
    if not (isinstance(value, str) and value.startswith("{")):
        return None
    try:
        table = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return None
    return table if any(key in table for key in _NAMES) else None


def _name(table: dict[str, Any]) -> str:
    name = next(str(table[key]) for key in _NAMES if key in table)
    return name.rpartition(":")[2]


def _named(table: dict[str, Any], of_name: dict[str, list[dict[str, Any]]]) -> str:
    name = _name(table)
    others = of_name[name]
    differing = ", ".join(
        f"{key}={plain(value)}"
        for key, value in table.items()
        if key not in _NAMES and any(other.get(key) != value for other in others)
    )
    return f"{name}({differing})" if differing else name
