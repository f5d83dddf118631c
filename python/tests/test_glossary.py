"""The glossary: every term is explained, cited, and lives where it says."""

from collections import Counter

import pytest

from airwnd.vocabulary.glossary import Term, terms
from airwnd.vocabulary.topics import find

from .conftest import ROOT, script

TERMS = list(terms().values())


def test_the_page_is_that_of_the_package() -> None:
    glossary = script("glossary")
    assert glossary.PAGE.read_text(encoding="utf-8") == glossary.page(), "python docs/_site/glossary.py"


def test_a_concept_has_one_word() -> None:
    words = Counter(
        word.lower() for term in TERMS for word in {term.name, *term.also, *filter(None, [term.symbol])}
    )
    assert not [word for word, number in words.items() if number > 1]


@pytest.mark.parametrize("term", TERMS, ids=lambda term: term.name)
def test_a_term_is_found_by_all_its_words(term: Term) -> None:
    for word in (term.name, term.name.upper(), *filter(None, [term.symbol]), *term.also):
        assert find(word)[0].what is term, word
    assert term.meaning.endswith(".")
    assert term.source
    assert (ROOT / term.code).exists()
    for name in term.see:
        assert any(not isinstance(topic.what, Term) for topic in find(name)), name
