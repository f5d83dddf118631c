"""The scope page: it lists every deliberate omission, and only known names."""

import re
import tomllib

from airwnd.vocabulary.topics import find

from .conftest import ROOT

PAGE = (ROOT / "docs" / "scope.md").read_text(encoding="utf-8")
EXCEPTIONS = tomllib.loads((ROOT / "crates" / "lab" / "src" / "exceptions.toml").read_text(encoding="utf-8"))[
    "exception"
]


def test_everything_not_modelled_is_on_the_page() -> None:
    linked = re.findall(r"\[([\w-]+)\]\(reference/limits\.md#([\w-]+)\)", PAGE)
    assert all(text == anchor for text, anchor in linked)
    named = {anchor for _, anchor in linked}
    assert named <= {each["id"] for each in EXCEPTIONS}
    left_out = {each["id"] for each in EXCEPTIONS if each["topic"] == "scope"}
    assert left_out
    assert left_out <= named


def test_each_name_can_be_explained() -> None:
    names = re.findall(r"`([a-z][\w./-]*)`", PAGE)
    assert {"carrier.bandwidth", "link/trace", "rwnd"} <= set(names)
    for name in names:
        assert find(name), name  # an unknown name is an error
