"""The check of the prose finds what is banned, where it is, and in prose only."""

import re
from types import ModuleType

import pytest

from .conftest import script


@pytest.fixture(scope="module")
def prose() -> ModuleType:
    return script("prose")


@pytest.mark.parametrize(
    ("path", "text", "place"),
    [
        ("a.rs", "fn nobody() {}\n/// Nobody waits.\n", (2, 5)),
        ("a.rs", 'let lest = "waits for\\" ever, for ever";\n', (1, 31)),
        ("a.rs", "// waits for\n// ever\n", (1, 10)),
        ("a.py", "def nobody(): ...\n\n\n# Nobody\n", (4, 3)),
        ("a.py", 'x = f(nobody)\n"""Wait.\n\n``nobody``, nobody.\n"""\n', (4, 13)),
        ("a.md", "`nobody`\n\n```sh\nnobody\n```\n\nNobody\n", (7, 1)),
        ("a.toml", 'nobody = 1\nkey = "nobody"\nkey = "to nobody"\n', (3, 11)),
        ("a.js", "nobody();\n  // nobody\n", (2, 6)),
    ],
)
def test_a_banned_word_is_found_in_prose_alone(
    prose: ModuleType, path: str, text: str, place: tuple[int, int]
) -> None:
    (found,) = [each for each in prose.check({"b.md": "Fine.\n", path: text}) if each.error]
    assert (found.file, found.line, found.column) == (path, *place)


def test_a_suggestion_is_no_error(prose: ModuleType) -> None:
    (found,) = prose.check({"a.md": "It takes\n\nin the order of time.\n"})
    assert (found.line, found.error) == (3, False)
    assert "chronological" in found.say


def test_no_comment_begins_with_what(prose: ModuleType) -> None:
    """A comment begins with the noun of the thing."""
    begins = re.compile(r'^[ \t]*(?://[/!]?|#|""")[ \t]*What\b(?!.*\?)', re.MULTILINE)
    sources = {path: text for path, text in prose.tracked().items() if not path.endswith(".md")}
    found = [path for path, text in sources.items() if begins.search(text)]
    assert found == []
    assert begins.search('    """What is kept.')
