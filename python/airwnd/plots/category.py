"""Short texts for values on axes and in legends: tables by kind or class, long texts with an ellipsis."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airwnd.results.selection import NAMES, canonical, name_of, plain, table_of
from airwnd.support.errors import InputError
from airwnd.vocabulary.titles import titles

if TYPE_CHECKING:
    import polars as pl

    from airwnd.results.sweep import SweepData

#: Maximum number of characters of a category along an axis, or of a line in a legend.
MAX_CHARACTERS = 32


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
    tables = {value: table for value in values if (table := table_of(value))}
    of_name: dict[str, list[dict[str, Any]]] = {}
    for table in tables.values():
        of_name.setdefault(name_of(table), []).append(table)
    found = {value: _named(tables[value], of_name) if value in tables else plain(value) for value in values}
    found = {value: shortened(text) for value, text in found.items()}
    # Distinct values remain distinct, however long they are.
    if len(set(found.values())) < len(found):
        return {value: plain(value) for value in found}
    return found


@dataclass(frozen=True, slots=True)
class Names:
    """Names of swept keys and of their values in a picture.

    Attributes
    ----------
    keys
        Names of keys.
    values
        Names of values by key.
    """

    keys: Mapping[str, str]
    values: Mapping[str, Mapping[object, str]]

    def title(self, keys: Sequence[str]) -> str:
        """Return the title of a legend whose lines differ in these keys."""
        return ", ".join(self.keys[key] for key in keys)

    def line(self, keys: Sequence[str], values: Sequence[object], flows: str = "") -> str:
        """Return the label of a line by its values of these keys, and the name of its flows."""
        shown = [self.values[key][value] for key, value in zip(keys, values, strict=True)]
        return ", ".join([*shown, flows] if flows else shown)


def names_of(sweep: "SweepData", rows: "pl.DataFrame", labels: Mapping[str, str] | None) -> Names:
    """Return the names of the keys and values of a sweep: labels, titles of keys, short texts of values.

    Parameters
    ----------
    sweep
        The data set.
    rows
        Rows that are drawn, with its keys.
    labels
        Names by key or value; a value as in the data set, or its short text.

    Raises
    ------
    InputError
        If a label is that of no key and no value.
    """
    labels = {canonical(label): name for label, name in (labels or {}).items()}
    short = {key: texts(rows[key].unique(maintain_order=True)) for key in sweep.keys}
    known = {canonical(name) for each in short.values() for pair in each.items() for name in pair}
    for label in labels:
        if label not in known | {*sweep.keys}:
            of_keys = "; ".join(f"{key}, with {', '.join(each.values())}" for key, each in short.items())
            raise InputError(f"label {label}: not a swept key and no value of one; there are {of_keys}")

    def name(value: object, text: str) -> str:
        return shortened(labels.get(canonical(value), labels.get(text, text)))

    values = {key: {value: name(value, text) for value, text in each.items()} for key, each in short.items()}
    keys = titles(sweep.keys, sweep.scenario)
    return Names({key: labels.get(key, title) for key, title in keys.items()}, values)


def _named(table: dict[str, Any], of_name: dict[str, list[dict[str, Any]]]) -> str:
    name = name_of(table)
    others = of_name[name]
    differing = ", ".join(
        f"{key}={plain(value)}"
        for key, value in table.items()
        if key not in NAMES and any(other.get(key) != value for other in others)
    )
    return f"{name}({differing})" if differing else name
