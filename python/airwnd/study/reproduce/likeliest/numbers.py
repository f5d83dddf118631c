"""The numbers that a paper prints, each with the range of values that would be printed like this.

A number of a table (``paper.csv``) stands for all values that round to it: plus or minus half of the last
decimal of its column. A number of the text (``[[number]]`` in ``likeliest.toml``) has the range that its
wording allows: "10-15 %" is 10 to 15 %.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from airwnd.study.reader import Mistake, placed
from airwnd.study.reproduce.expression import Expression
from airwnd.study.reproduce.likeliest.choices import FILE, Choices, Member, Stated, closed_places
from airwnd.study.space import ABSENT
from airwnd.support.errors import InputError


@dataclass(frozen=True)
class Number:
    """A number of the paper.

    Attributes
    ----------
    member
        The experiment that reproduces it.
    text
        Its row, or the statement.
    quantity
        Name of the measure; numbers of one quantity share the size of their discrepancy.
    place
        Levels of the axes that the paper varies.
    printed
        The number or range as the paper has it.
    low, high
        Range of values that the paper would print like this, in the unit of the quantity.
    """

    member: Member
    text: str
    quantity: str
    unit: str
    digits: int
    expression: Expression
    place: Mapping[str, str]
    printed: str
    low: float
    high: float

    @property
    def table(self) -> str:
        """Name of the experiment: a table or figure, which cross-validation leaves out as a whole."""
        return self.member.name

    def nearest(self, value: float) -> float:
        """Return the value in the range that is nearest to ours."""
        return min(max(value, self.low), self.high)


def gather(choices: Choices) -> list[Number]:
    """Return all numbers of a paper, in the order of its experiments.

    Raises
    ------
    InputError
        If a stated number is invalid, or an experiment with numbers lacks a level of a choice that it has.
    """
    found: list[Number] = []
    for member in choices.members:
        found += _tabulated(member)
        path = member.experiment.folder.parent / FILE
        for index, entry in enumerate(choices.stated):
            if entry.experiment == member.name:
                with placed(str(path), f"number[{index}]"):
                    found += _stated(member, entry)
    for member in {number.member.name: number.member for number in found}.values():
        for name in member.choices:
            for level in choices.by_name[name].levels:
                if not member.can(name, level):
                    path = member.experiment.folder.parent / FILE
                    raise InputError(
                        f"{path}: {member.name} has numbers, but not the level {level} of `{name}`; "
                        "add a [[join]] or the level in an [[axis]]"
                    )
    return found


def _stated(member: Member, entry: Stated) -> list[Number]:
    """Return a number of the text at each row of its experiment."""
    space = member.experiment.space
    names = [measure.name for measure in member.experiment.measures]
    try:
        expression = Expression.parse(entry.expression, space.levels, names)
    except InputError as error:
        raise Mistake("expression", str(error)) from None
    low, high = entry.range
    digits = _decimals(low, high) + 1
    printed = f"{low:g} to {high:g}" if entry.equals is None else f"{entry.equals:g} ± {entry.tolerance:g}"
    found = []
    for place in closed_places(member, expression, entry.only):
        at = ", ".join(f"{axis} = {level}" for axis, level in place.items() if axis not in entry.only)
        text = f"{entry.text}, {at}" if at else entry.text
        found.append(Number(member, text, entry.quantity, "", digits, expression, place, printed, low, high))
    return found


def _tabulated(member: Member) -> list[Number]:
    experiment = member.experiment
    found = []
    for measure in experiment.measures:
        values = [row[measure.name] for row in experiment.paper_values.values() if measure.name in row]
        decimals = _decimals(*values)
        half = 0.5 * 10.0**-decimals
        for setting, row in experiment.paper_values.items():
            if measure.name not in row:
                continue
            printed = row[measure.name]
            if printed < 0.0:
                raise InputError(
                    f"{experiment.folder / 'paper.csv'}: {measure.name}: --likeliest needs numbers from 0, "
                    f"found {printed:g}"
                )
            pairs = zip(experiment.axes, setting, strict=True)
            place = {axis.name: level for axis, level in pairs if level != ABSENT}
            labels = [experiment.space.by_name[axis].level(level).label for axis, level in place.items()]
            found.append(
                Number(
                    member,
                    ", ".join(labels) or measure.label,
                    measure.name,
                    measure.unit,
                    measure.digits,
                    Expression.parse(f"{measure.name}()", experiment.space.levels, [measure.name]),
                    place,
                    f"{printed:.{decimals}f}",
                    max(printed - half, 0.0),
                    printed + half,
                )
            )
    return found


def _decimals(*values: float) -> int:
    """Return the maximum number of decimals of printed values."""
    exponents = [Decimal(repr(value)).normalize().as_tuple().exponent for value in values]
    return max(0, *(-each for each in exponents if isinstance(each, int)), 0)
