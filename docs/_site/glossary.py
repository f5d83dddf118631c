"""``docs/glossary.md`` from the glossary of the package: ``python docs/_site/glossary.py``."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from airwnd.vocabulary.glossary import Term, terms

PAGE = Path(__file__).parents[1] / "glossary.md"

_INTRODUCTION = """# Glossary

One word for each concept: the terms that code, command line, results, documentation and plots use, with
definition, unit and source. `airwnd explain TERM` shows an entry, also by its symbol or by another word for
it, as in `airwnd explain cwnd` or `airwnd explain terminal`.

Made from [`glossary.toml`](../python/airwnd/vocabulary/glossary.toml) by `python docs/_site/glossary.py`."""


def page() -> str:
    """Write the page."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield _INTRODUCTION
    for group, members in groupby(terms().values(), lambda term: term.group):
        yield f"\n## {group}\n"
        yield "| Term (symbol), unit | Meaning | Source; code |"
        yield "|---|---|---|"
        yield from map(_row, members)
    yield ""


def _row(term: Term) -> str:
    name = f"**{term.name}**" + (f" ({term.symbol})" if term.symbol else "")
    unit = f", {term.unit}" if term.unit else ""
    also = f" *Elsewhere: {', '.join(term.also)}.*" if term.also else ""
    place = term.code.removeprefix("docs/") if term.code.startswith("docs/") else f"../{term.code}"
    code = f"[{Path(term.code).name}]({place})"
    return f"| {name}{unit} | {term.meaning}{also} | {term.source}; {code} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
