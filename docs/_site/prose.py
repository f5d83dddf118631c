"""Finds wording that a reader of the field would stumble over.

``make prose`` lists it, ``make lint`` counts it. The style is ``specs/prose.toml``; proselint matches it.
Pages, comments, docstrings and strings of several words (messages) are checked; code, and words in
backquotes, are not.
"""

import re
import subprocess
import sys
import tokenize
import tomllib
from argparse import ArgumentParser
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from itertools import accumulate
from pathlib import Path
from typing import Any

from proselint.checks import __register__ as shipped
from proselint.registry import CheckRegistry
from proselint.registry.checks import Check, CheckFlags, types
from proselint.tools import LintFile

ROOT = Path(__file__).parents[2]
STYLE = ROOT / "specs" / "prose.toml"

# Files that are no text of ours: licences, data, locks; the style itself and its test; generated pages.
_SKIPPED = re.compile(
    r"(^|/)(LICENSE|Cargo\.lock|requirements\.lock|.*\.min\.js|tests/.*/data/|fuzz/corpus/)"
    r"|^(specs/prose\.toml|python/tests/test_prose\.py|docs/reference/|docs/man/|docs/glossary\.md)"
)
_STRING = r'"(?:[^"\\\n]|\\.)*"'
# Prose of a file, by suffix; groups are kept, everything else is blanked.
_KEPT = {
    ".rs": re.compile(rf"//[/!]?(.*)|({_STRING})"),
    ".js": re.compile(rf"^\s*(?://|/?\*+)(.*)|({_STRING}|`[^`]*`)", re.MULTILINE),
    ".toml": re.compile(rf'^[^"\n]*?#(.*)|({_STRING}|"""[\s\S]*?""")', re.MULTILINE),
}
_BLANKED_IN_PAGES = re.compile(
    r"^(```+|~~~+)[\s\S]*?^\1|<!--[\s\S]*?-->|\]\([^)]*\)|https?://\S+", re.MULTILINE
)
_CODE = re.compile(r"``[^`]*``|`[^`\n]*`")


@dataclass(frozen=True, order=True)
class Finding:
    """A place whose wording can be better.

    Attributes
    ----------
    file, line, column
        The place.
    found, say
        The words, and what to write instead.
    error
        Whether it is one of the banned few.
    """

    file: str
    line: int
    column: int
    found: str
    say: str
    error: bool

    def __str__(self) -> str:
        kind = "error" if self.error else "suggestion"
        return f"{self.file}:{self.line}:{self.column}: {kind}: `{self.found}`: {self.say}"


def prose(path: str, text: str) -> str:
    """Blank all but the prose of a file; lines and columns stay."""
    suffix = Path(path).suffix
    if suffix == ".md":
        kept = _blank(text, (found.span() for found in _BLANKED_IN_PAGES.finditer(text)))
    elif suffix == ".py":
        kept = _only(text, _python(text))
    else:
        spans = (
            found.span(group)
            for found in _KEPT[suffix].finditer(text)
            for group in (1, 2)
            # A single word is a name.
            if found[group] and (group == 1 or " " in found[group])
        )
        kept = _only(text, spans)
    return _blank(kept, (found.span() for found in _CODE.finditer(kept)))


def _python(text: str) -> Iterator[tuple[int, int]]:
    """Give the spans of comments, and of strings of several words."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for token in tokenize.generate_tokens(StringIO(text).readline):
        words = token.type == tokenize.STRING and " " in token.string
        if token.type == tokenize.COMMENT or words:
            (row, column), (last, end) = token.start, token.end
            yield starts[row - 1] + column, starts[last - 1] + end


def _only(text: str, spans: Iterator[tuple[int, int]]) -> str:
    edges = [0]
    for start, end in spans:
        edges += (start, end)
    edges.append(len(text))
    return _blank(text, zip(edges[::2], edges[1::2], strict=True))


def _blank(text: str, spans: Iterator[tuple[int, int]]) -> str:
    parts, at = [], 0
    for start, end in spans:
        parts += (text[at:start], re.sub(r"\S", " ", text[start:end]))
        at = end
    return "".join([*parts, text[at:]])


def check(files: dict[str, str]) -> list[Finding]:
    """Find what the style names in files, given by path and text."""
    style = tomllib.loads(STYLE.read_text(encoding="utf-8"))
    registry = CheckRegistry()
    registry.checks.clear()
    registry.register_many(shipped)
    banned = set()
    for number, rule in enumerate(style["rule"]):
        words = "|".join(words.replace(" ", r"\s+") for words in rule["words"])
        kind = types.ExistenceSimple(rf"\b(?:{words})\b")
        name = f"airwnd.{number}"
        registry.register(Check(kind, path=name, message=rule["say"], flags=CheckFlags(allow_quotes=True)))
        if rule.get("error"):
            banned.add(name)
    config: Any = {
        "max_errors": sys.maxsize,
        "checks": dict.fromkeys(["airwnd", *style["proselint"]], True),
    }
    # One text, because proselint compiles the patterns of a check for each text.
    kept = [prose(path, text) for path, text in files.items()]
    lines = [0, *accumulate(text.count("\n") + 1 for text in kept)]
    whole = LintFile("all", "\n".join(kept))
    findings = []
    for result in whole.lint(config):
        line, column = result.pos
        place = bisect_right(lines, line - 1) - 1
        start, end = result.check_result.span
        findings.append(
            Finding(
                list(files)[place],
                line - lines[place],
                column,
                # The space between two lines of a comment is blanked code.
                " ".join(whole.content[start:end].split()),
                result.check_result.message,
                result.check_result.check_path in banned,
            )
        )
    return sorted(findings)


def tracked() -> dict[str, str]:
    """Read the files of the project that hold prose."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return {
        path: (ROOT / path).read_text(encoding="utf-8")
        for path in listed.stdout.split("\0")
        if Path(path).suffix in {".md", ".py", *_KEPT} and not _SKIPPED.search(path)
    }


def main() -> int:
    """List errors, and suggestions or their number."""
    parser = ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--brief", action="store_true", help="Count suggestions instead of listing them.")
    parser.add_argument("files", nargs="*", help="Files to check; all by default.")
    options = parser.parse_args()
    files = {path: text for path, text in tracked().items() if not options.files or path in options.files}
    if unknown := set(options.files) - files.keys():
        parser.error(f"no files of the project with prose: {', '.join(sorted(unknown))}")
    findings = check(files)
    errors = sum(finding.error for finding in findings)
    for finding in findings:
        if finding.error or not options.brief:
            print(finding)
    counts = Counter(finding.say for finding in findings if not finding.error)
    more = "; `make prose` lists them" if options.brief and counts else ""
    print(f"prose: {errors} errors, {counts.total()} suggestions in {len(files)} files{more}")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
