"""Comparison of a sweep on the terminal, and as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from airwnd.plots.axis import upper
from airwnd.plots.category import texts
from airwnd.study.comparison import Difference
from airwnd.study.statistics import MIN_SEEDS, Interval
from airwnd.text.terminal import Column, console, number, plain, print_wrapped, sheet
from airwnd.vocabulary.columns import tables

if TYPE_CHECKING:
    from rich.console import Console

    from airwnd.vocabulary.columns import Column as Described


def show(found: Sequence[Difference], flows: str) -> None:
    """Print a table for each column and combination of the other keys.

    Parameters
    ----------
    found
        The differences.
    flows
        The flows that are compared, as :func:`airwnd.plots.axis.population` names them.
    """
    out = console()
    others = found[0].setting if found else ()
    names = {key: texts(dict.fromkeys(each.setting[key] for each in found)) for key in others}
    values = texts(dict.fromkeys(each.value for each in found))
    for setting in {tuple(each.setting.items()): None for each in found}:
        if setting:
            shown = (f"{key} = {names[key][value]}" for key, value in setting)
            print_wrapped(plain(", ".join(shown)), out, "bold")
        rows = [each for each in found if tuple(each.setting.items()) == setting]
        alike: list[str] = []
        for name in {(each.table, each.column): None for each in rows}:
            of_column = [each for each in rows if (each.table, each.column) == name]
            differences = [each.difference for each in of_column if each.difference]
            if differences and all(each.low == each.high == 0 for each in differences):
                mean = number(of_column[0].mean.mean, _column(name).digits)
                alike.append(f"{_label(name)} (mean {mean})")
            else:
                _show(name, of_column, values, out)
        if alike:
            print_wrapped(f"No difference: {'; '.join(alike)}", out)
    print_wrapped(
        "Differences from the first row, run by run with the same seed, with the 95 % confidence interval of "
        "their mean (Student's t). *: it excludes zero.",
        out,
        "dim",
    )
    if flows:
        print_wrapped(f"{upper(flows)}.", out, "dim")


def _show(
    name: tuple[str, str], rows: Sequence[Difference], values: Mapping[object, str], out: "Console"
) -> None:
    declared = _column(name)

    def shown(value: float) -> str:
        return number(value, declared.digits)

    differences = [each.difference for each in rows]
    intervals = [
        "" if found is None or found.n < MIN_SEEDS else f"[{shown(found.low)}, {shown(found.high)}]"
        for found in differences
    ]
    percents = [
        ("" if each.percent is None else f"{each.percent:+.1f}") + (" *" if each.is_significant else "  ")
        for each in rows
    ]
    sheet(
        [
            Column(_label(name), [plain(values[each.value]) for each in rows], is_name=True),
            Column("mean", [shown(each.mean.mean) for each in rows]),
            Column("difference", ["" if found is None else shown(found.mean) for found in differences]),
            Column("95 % CI", intervals, rank=1, key="low, high"),
            Column("%  ", percents),
        ],
        out,
    )


def _column(name: tuple[str, str]) -> "Described":
    return tables()[name[0]].columns[name[1]]


def _label(name: tuple[str, str]) -> str:
    column = _column(name)
    return f"{column.label}, {column.shown_unit}" if column.shown_unit else column.label


def encoded(each: Difference) -> dict[str, object]:
    """Return a difference as an object of JSON; a bound of an infinite interval is ``None``."""

    def bounds(found: Interval | None) -> dict[str, float | None] | None:
        if found is None:
            return None
        return {key: value if abs(value) < float("inf") else None for key, value in asdict(found).items()}

    return {
        **{key: getattr(each, key) for key in ("setting", "value", "table", "column", "percent")},
        "mean": bounds(each.mean),
        "difference": bounds(each.difference),
    }
