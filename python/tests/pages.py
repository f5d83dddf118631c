"""Parser for the code blocks of the documentation's pages."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .conftest import ROOT

PAGES = sorted(
    path
    for pattern in ("*.md", "docs/*.md", "docs/how-to/*.md", "experiments/*/*/README.md")
    for path in ROOT.glob(pattern)
)

_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_NAME = re.compile(r"`([\w.-]+\.\w+)`[^`\n]*:\s*(<!--.*-->\s*)?$")
_MARK = re.compile(r"<!-- not run: .+ -->\s*$")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page.

    Text before the block that ends in `` `name.ext`: `` names the block's file. A comment before the block,
    such as ``<!-- not run: it needs a cluster -->``, states why it is not executed.
    """

    language: str
    text: str
    file: str | None
    tried: bool


def blocks(page: Path) -> Iterator[Block]:
    """Return the blocks of a page in order."""
    text = page.read_text(encoding="utf-8")
    for found in _FENCE.finditer(text):
        before = text[: found.start()]
        name = _NAME.search(before)
        yield Block(found[1], found[2], name[1] if name else None, tried=not _MARK.search(before))


def commands(block: str) -> list[str]:
    """Return the commands of a shell block, with continued lines joined."""
    return [line for line in re.sub(r"\\\n\s*", "", block).splitlines() if line.split("#")[0].strip()]
