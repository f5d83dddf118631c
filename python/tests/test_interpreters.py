"""No interpreter is started in a way that imports from the current folder, which may be anybody's."""

import ast
import re
from collections.abc import Iterator

import pytest

from .conftest import ROOT

#: Options without which `-m` and `-c` put the current folder first in the import path.
SAFE = ("-I", "-P")
FOLDERS = ("python/airwnd", "python/benches", "experiments", "docs", "examples", "tools")
#: Modules of the tests that start the product for other tests.
HELPERS = ("command_line.py", "guarded_download.py", "linux.py", "test_guard.py")
FILES = sorted(
    {path.resolve() for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")}
    | {ROOT / "python" / "tests" / name for name in HELPERS}
)


def unsafe(code: str) -> Iterator[int]:
    """Yield the lines at which an interpreter's name is not followed by a safe option or a script."""
    tree = ast.parse(code)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "sys.executable":
            yield from [] if _is_safe(node, parents) else [node.lineno]
        if isinstance(node, ast.ImportFrom) and node.module == "sys":
            yield from (node.lineno for name in node.names if name.name == "executable")
        if isinstance(node, ast.List | ast.Tuple) and len(node.elts) > 1:
            first, second = node.elts[:2]
            literal = isinstance(first, ast.Constant) and re.fullmatch(r"python[\d.]*", str(first.value))
            if literal and isinstance(second, ast.Constant) and second.value in ("-m", "-c"):
                yield node.lineno


def _is_safe(node: ast.expr, parents: dict[ast.AST, ast.AST]) -> bool:
    parent = parents[node]
    if isinstance(parent, ast.FormattedValue):
        text = parents[parent]
        assert isinstance(text, ast.JoinedStr)
        after = text.values[text.values.index(parent) + 1 :][:1]
        return bool(after) and re.match(" -[IP] ", str(getattr(after[0], "value", ""))) is not None
    if not isinstance(parent, ast.List | ast.Tuple):
        # Its folder, to find another program.
        return isinstance(parent, ast.Call) and ast.unparse(parent.func) == "Path"
    following = parent.elts[parent.elts.index(node) + 1 :][:1]
    # A script puts its own folder first.
    return any(
        ast.unparse(each).startswith(("str(", "__file__", "*sys.argv"))
        or (isinstance(each, ast.Constant) and each.value in SAFE)
        for each in following
    )


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ('run([sys.executable, "-m", "airwnd"])', [1]),
        ("run([sys.executable, *words])", [1]),
        ('run(("unshare", sys.executable, "-c", code))', [1]),
        ('run(f"{sys.executable} -m airwnd", shell=True)', [1]),
        ("os.execv(sys.executable, words)", [1]),
        ("from sys import executable", [1]),
        ('run(["python3", "-c", code])', [1]),
        ('run([sys.executable, "-I", "-m", "airwnd"])', []),
        ('run(f"nice {sys.executable} -P -m airwnd", shell=True)', []),
        ("run([sys.executable, str(path)])", []),
    ],
)
def test_unsafe_calls_are_found(code: str, lines: list[int]) -> None:
    assert list(unsafe(code)) == lines


def test_no_interpreter_imports_from_the_current_folder() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in FILES
        for line in unsafe(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_no_crate_starts_an_interpreter_that_imports_from_the_current_folder() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "crates").rglob("*.rs")]
    starting = [text for text in texts if "Command::new(python)" in text]
    assert len(starting) == 1, "the build script of `guard`"
    arguments = re.findall(r"\.args\(\[([^\]]*)", starting[0])
    assert len(arguments) == starting[0].count("Command::new(python)")
    assert [words for words in arguments if not words.startswith("SAFE_PATH, ")] == []
