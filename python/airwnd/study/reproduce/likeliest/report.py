"""Output of a search: ``LIKELIEST.md``, and the numbers, set-ups and claims as CSV."""

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from airwnd.study.reproduce.likeliest import judged
from airwnd.study.reproduce.likeliest.fit import PARTS, Contradiction, Status, contradictions
from airwnd.study.reproduce.likeliest.judged import Judgement
from airwnd.study.reproduce.likeliest.study import Found
from airwnd.study.reproduce.regions import SetUp
from airwnd.study.reproduce.report import LIKELIEST_OF_PAPER
from airwnd.study.reproduce.words import count_text
from airwnd.support.files import write_atomically
from airwnd.text.quantities import csv_cells

PAGE = "LIKELIEST.md"
NUMBERS = "likeliest-numbers.csv"
SETUPS = "likeliest-set-ups.csv"

_GUIDE = "../../docs/how-to/reproduce-a-paper.md#the-likeliest-set-up"
_FEW = 5
"""Number of set-ups that the page shows."""


@dataclass(frozen=True)
class Report:
    """A search with its claims, and the date of its runs as text."""

    found: Found
    claims: Sequence[Judgement]
    date: str


def write(report: Report, folder: Path) -> Path:
    """Write all files into the folder of a paper, and return the path of the page."""
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / NUMBERS, numbers_csv(report.found))
    write_atomically(folder / SETUPS, setups_csv(report.found))
    write_atomically(folder / LIKELIEST_OF_PAPER, claims_csv([report]))
    write_atomically(folder / PAGE, page(report))
    return folder / PAGE


def page(report: Report) -> str:
    """Return the page as Markdown."""
    found = report.found
    sections = (
        _head(report),
        _best(found),
        _setups(found),
        _left(found),
        _axes(found),
        _numbers(found),
        _contradictions(found),
        _claims(report),
    )
    return "\n\n".join(section for section in sections if section) + "\n"


def _head(report: Report) -> str:
    found = report.found
    paper = found.choices.members[0].experiment.paper
    setups, tables = len(found.fit.setups), list(dict.fromkeys(found.fit.tables))
    most, fewest = int(found.fit.seeds.max()), int(found.fit.seeds.min())
    every = "all" if setups == found.total else f"{setups} of"
    extent = (
        f"{report.date}: {every} {found.total} set-ups with {count_text(fewest, 'seed')} or more, the "
        f"likeliest with {most}; {found.runs} runs, whose seeds are 1 to N."
    )
    if most == 1:
        extent += " With one seed the noise of our runs is not known, and counts as discrepancy."
    preview = (
        "\n\n**This is a preview**: runs are shortened, and nothing here is about the paper."
        if found.effort.quick
        else ""
    )
    stopped = (
        ""
        if found.is_complete
        else "\n\nThe search was stopped before its end, by its budget. The same command continues it."
    )
    screened = ""
    if (first := found.screened) is not None:
        labels = ", ".join(found.choices.by_name[name].label for name in first.names)
        screened = (
            f" They were chosen in {', '.join(first.tables)}, where all {first.count} combinations of "
            f"{labels} were compared: the best {first.kept}, with all tables or without one of them, were "
            "run with all levels of the other axes, then the neighbours of the likeliest."
        )
    return (
        f"# The likeliest set-up: {paper.title}\n\n"
        f"Written by `airwnd reproduce --likeliest {paper.key}`, {extent}{screened} The paper's "
        f"{len(found.numbers)} numbers are in "
        f"{len(tables)} {'table or figure' if len(tables) == 1 else 'tables and figures'} "
        f"({', '.join(tables)}). "
        f"[How a set-up is judged]({_GUIDE})."
        f"{preview}{stopped}"
    )


def _best(found: Found) -> str:
    fit = found.fit
    rows = []
    for quantity, discrepancy in fit.discrepancies(fit.best).items():
        columns = fit.of_quantity(quantity)
        shares = map(_percent, fit.shares(fit.best, columns))
        rows.append([quantity, str(len(columns)), *shares, _percent(discrepancy, 1)])
    rows.append(["**all**", str(len(fit.quantities)), *map(_percent, fit.shares(fit.best)), ""])
    heads = ["Quantity", "Numbers", *(f"within {_percent(part)}" for part in PARTS), "discrepancy"]
    return (
        f"## The best fit\n\n**{setup_text(found, found.best)}.**\n\n"
        "Share of the paper's numbers that this set-up has, and the size of the discrepancy by which the "
        f"likelihood explains the rest:\n\n{_table(heads, rows)}"
    )


def _setups(found: Found) -> str:
    fit = found.fit
    chosen = fit.ranking[:_FEW]
    shown = {name: found.choices.by_name[name].shown for name in found.touched}
    ours = next((index for index, setup in enumerate(fit.setups) if setup == shown), None)
    rows = [
        [str(rank), setup_text(found, fit.setups[index]), *_row(found, index)]
        for rank, index in enumerate(chosen, start=1)
    ]
    if ours is not None and ours not in chosen:
        rank = str(fit.ranking.index(ours) + 1)
        rows.append([rank, f"{setup_text(found, fit.setups[ours])} (shown on the pages)", *_row(found, ours)])
    last = fit.ranking[-1]
    if last not in {*chosen, ours}:
        rows.append([str(len(fit.ranking)), setup_text(found, fit.setups[last]), *_row(found, last)])
    heads = ["", "Set-up", "log likelihood", *(f"within {_percent(part)}" for part in PARTS), "seeds"]
    return f"## The likeliest set-ups\n\n{_table(heads, rows)}"


def _row(found: Found, index: int) -> list[str]:
    fit = found.fit
    return [
        _fall(fit.fall(index)),
        *map(_percent, fit.shares(index)),
        str(int(fit.seeds[index].min())),
    ]


def _left(found: Found) -> str:
    heading = "## Each table predicted from the others\n\n"
    if not found.left:
        return (
            f"{heading}The paper has numbers in one table only, so that nothing can be left out: how well "
            "the fit would predict another table is not known."
        )
    rows = []
    for each in found.left:
        setup = found.fit.setups[each.setup]
        same = setup == found.best
        rows.append(
            [
                each.table,
                str(each.count),
                " / ".join(map(_percent, each.fitted)),
                " / ".join(map(_percent, each.predicted)),
                f"{each.gain:+.1f}".replace("-", "−"),
                "the same" if same else _difference(found, setup),
            ]
        )
    rows.append(
        [
            "**all**",
            str(len(found.numbers)),
            " / ".join(map(_percent, found.fit.shares(found.fit.best))),
            " / ".join(map(_percent, found.predicted)),
            "",
            "",
        ]
    )
    heads = ["Left out", "Numbers", "fitted", "predicted", "gain", "Likeliest set-up of the others"]
    return (
        f"{heading}Shares within {' / '.join(map(_percent, PARTS))}: *fitted* by the likeliest set-up of all "
        "tables, and *predicted* by that of the other tables. *Gain* is the logarithm of the probability of "
        "the table at that prediction over its mean in all set-ups: below 0 the other tables lead away from "
        "it.\n\n"
        f"{_table(heads, rows)}"
    )


def _axes(found: Found) -> str:
    rows = []
    for each in found.profiles:
        choice = found.choices.by_name[each.axis]
        falls = [
            f"{choice.levels[level]} {'not run' if fall is None else _fall(fall)}"
            for level, fall in each.falls.items()
        ]
        others = [f"{level} {count}" for level, count in _folds(choice.levels, each.folds)]
        rows.append([choice.label, f"**{each.status}**", "; ".join(falls), ", ".join(others) or "–"])
    rows += [[found.choices.by_name[name].label, str(Status.UNTOUCHED), "–", "–"] for name in found.untouched]
    heads = ["Axis", "", "Fall of the log likelihood", "Best with a table left out"]
    joins = "".join(
        f"\n- `{join.experiment}`: `{join.axis}`"
        + (f" is `{join.own}`" if join.own else "")
        + "".join(f", {level} is {own}" for level, own in join.levels.items())
        + f". {join.because}"
        for join in found.choices.joins
    )
    added = "".join(
        f"\n- `{name}` in {', '.join(members)}: {found.choices.by_name[name].open}"
        for name in found.choices.by_name
        if (members := [member.name for member in found.choices.members if name in member.added])
    )
    text = (
        "## What the numbers pin down\n\n"
        "For each level the fall with all other axes at their best. *Pinned*: "
        "3 or more for every other level, and the same level is best when any table is left out. *Free*: "
        f"another level falls by less than 1. *Leaning* is between them.\n\n{_table(heads, rows)}"
    )
    if joins:
        text += f"\n\nThe same choice has other names in:\n{joins}"
    if added:
        text += f"\n\nAxes and levels that only this search has:\n{added}"
    return text


def _folds(labels: Mapping[str, str], folds: Sequence[str]) -> list[tuple[str, str]]:
    return [(labels[level], f"{folds.count(level)}×") for level in dict.fromkeys(folds)]


def _numbers(found: Found) -> str:
    fit = found.fit
    text = "## Every number\n\nOurs is the mean over the seeds of the likeliest set-up."
    for table in dict.fromkeys(fit.tables):
        member = next(each for each in found.choices.members if each.name == table)
        rows = []
        for index in fit.of_table(table):
            number, mean = found.numbers[index], float(fit.means[fit.best, index])
            rows.append(
                [
                    number.text,
                    f"{number.quantity}{f' ({number.unit})' if number.unit else ''}",
                    number.printed,
                    _value(mean, number.digits),
                    _ratio(mean, number.nearest(mean)),
                ]
            )
        text += f"\n\n### {member.experiment.place} (`{table}`)\n\n" + _table(
            ["", "Quantity", "paper", "ours", "ratio"], rows
        )
    return text


def _contradictions(found: Found) -> str:
    fit, every = found.fit, contradictions(found.fit)
    nowhere = [each for each in every if not each.reached]
    elsewhere = [each for each in every if each.reached]
    text = (
        f"## What does not fit\n\n{len(nowhere)} of {len(found.numbers)} numbers {_are(nowhere)} more than "
        f"{_percent(PARTS[-1])} off in every set-up that was run"
    )
    text += f":\n\n{_misses(found, nowhere)}" if nowhere else "."
    if elsewhere:
        text += (
            f"\n\n{len(elsewhere)} more {_are(elsewhere)} that far off in the "
            "likeliest set-up, but not in another one, which fits the rest worse:\n\n"
            f"{_misses(found, elsewhere)}"
        )
    if fit.means.shape[0] < found.total:
        text += "\n\nSet-ups that were not run could fit more of them."
    if found.choices.notes:
        text += "\n\nReasons:\n\n" + "\n".join(f"- {note}" for note in found.choices.notes)
    return text


def _are(chosen: Sequence[Contradiction]) -> str:
    return "is" if len(chosen) == 1 else "are"


def _misses(found: Found, chosen: Sequence[Contradiction]) -> str:
    rows = []
    for each in chosen:
        number = found.numbers[each.number]
        likeliest = float(found.fit.means[found.fit.best, each.number])
        setup = found.fit.setups[each.setup]
        there = "the likeliest" if setup == found.best else _difference(found, setup)
        rows.append(
            [
                f"{number.table}: {number.text}",
                number.quantity,
                number.printed,
                _value(likeliest, number.digits),
                _value(each.nearest, number.digits),
                there,
            ]
        )
    return _table(["", "Quantity", "paper", "likeliest", "nearest", "Set-up of the nearest"], rows)


def _claims(report: Report) -> str:
    if not report.claims:
        return ""
    rows = []
    for each in report.claims:
        verdict = each.likeliest + (f": {each.reason}" if each.reason else "")
        if each.setups > 1:
            verdict += f" (over {each.setups} set-ups that no number distinguishes)"
        same = (
            each.over_all == each.likeliest
            or each.is_open
            or not each.setups
            or each.likeliest.startswith("preview")
        )
        rows.append(
            [
                each.claim,
                each.experiment.partition("/")[2],
                verdict if same else f"**{verdict}**",
                each.over_all or "–",
                f"{each.seeds} of {each.specified}" if each.seeds < each.specified else str(each.seeds),
            ]
        )
    counted = ", ".join(f"{count} {name}" for name, count in judged.counts(report.claims).items())
    return (
        "## Claims\n\nVerdicts at the likeliest set-up, bold where they differ from those over all set-ups "
        f"(`experiments/verdicts.csv`): {counted}. With fewer seeds than the experiment has, a claim that is "
        "not decided may only need more.\n\n"
        + _table(["Claim", "Experiment", "at the likeliest set-up", "over all", "seeds"], rows)
    )


def numbers_csv(found: Found) -> str:
    """Return a row for each number: the paper's range, ours in the likeliest set-up, the nearest anywhere."""
    fit = found.fit
    rows = []
    for index, number in enumerate(found.numbers):
        mean = float(fit.means[fit.best, index])
        nearest = fit.nearest(index)
        error = float(fit.noise[fit.best, index]) * mean
        rows.append(
            [
                number.table,
                number.text,
                number.quantity,
                number.unit,
                f"{number.low:g}",
                f"{number.high:g}",
                f"{mean:.6g}",
                f"{error:.3g}",
                int(fit.seeds[fit.best, index]),
                f"{mean / number.nearest(mean):.4g}" if number.nearest(mean) else "",
                f"{fit.means[nearest, index]:.6g}",
                _names(fit.setups[nearest]),
            ]
        )
    heads = ["table", "row", "quantity", "unit", "low", "high", "ours", "standard_error", "seeds", "ratio"]
    return _csv([*heads, "nearest", "nearest_setup"], rows)


def setups_csv(found: Found) -> str:
    """Return a row for each set-up that was run, the likeliest first."""
    fit = found.fit
    rows = [
        [
            *(fit.setups[index][name] for name in found.touched),
            f"{-fit.fall(index):.3f}",
            *(f"{share:.4f}" for share in fit.shares(index)),
            int(fit.seeds[index].min()),
        ]
        for index in fit.ranking
    ]
    shares = [f"within_{round(100 * part)}_percent" for part in PARTS]
    return _csv([*found.touched, "log_likelihood", *shares, "seeds"], rows)


def claims_csv(reports: Iterable[Report]) -> str:
    """Return a row for each claim and experiment: the verdict at the likeliest set-up, and over all."""
    rows = [
        [
            report.found.choices.members[0].experiment.paper.key,
            each.claim,
            each.experiment,
            each.likeliest,
            each.over_all,
            each.seeds,
            each.specified,
            report.date,
            _names(report.found.best),
        ]
        for report in reports
        for each in report.claims
    ]
    heads = [
        "paper",
        "claim",
        "experiment",
        "at_the_likeliest",
        "over_all",
        "seeds",
        "specified",
        "date",
        "set_up",
    ]
    return _csv(heads, rows)


def _csv(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows(csv_cells(row) for row in rows)
    return stream.getvalue()


def _names(setup: SetUp) -> str:
    return ", ".join(f"{name}={level}" for name, level in setup.items())


def setup_text(found: Found, setup: SetUp) -> str:
    """Describe a set-up by the labels of its levels."""
    return ", ".join(
        f"{found.choices.by_name[name].label}: {found.choices.by_name[name].levels[level]}"
        for name, level in setup.items()
    )


def _difference(found: Found, setup: SetUp) -> str:
    """Describe a set-up by what differs from the likeliest."""
    return setup_text(found, {name: level for name, level in setup.items() if level != found.best[name]})


def _percent(part: float, digits: int = 0) -> str:
    return f"{100 * part:.{digits}f} %"


def _fall(fall: float) -> str:
    return f"−{fall:.1f}" if round(fall, 1) else "0"


def _value(value: float, digits: int) -> str:
    return "undefined" if math.isnan(value) else f"{value:z.{digits}f}"


def _ratio(ours: float, paper: float) -> str:
    return f"{ours / paper:.2f}" if paper and not math.isnan(ours) else "–"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
