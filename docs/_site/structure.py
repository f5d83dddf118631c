"""Draws the structure of the code: ``python docs/_site/structure.py`` updates ``docs/img/structure-*.svg``.

A graph is a mapping from each part to the parts that it uses, read from the code: crates from
``cargo metadata``, modules of a crate from the paths in its sources, Python modules from ``grimp``. A test
keeps circles out and the pictures up to date: each picture holds its graph as text.
"""

import json
import re
import subprocess
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from textwrap import fill

import grimp
import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

Graph = Mapping[str, frozenset[str]]

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs" / "img"
ONE_LINE = 13  # letters in a box
DRAWN_CRATES = ("network", "lab", "cell", "phy", "tcp", "rwnd", "links")
_TESTS = re.compile(r"^#\[cfg\(test\)\]\s*(?:pub(?:\(crate\))? )?mod \w+ \{.*", re.DOTALL | re.MULTILINE)
_REEXPORT = re.compile(r"^\s*pub(?:\([\w ]+\))? use [^;]*;", re.MULTILINE)
_COMMENT = re.compile(r"//[^\n]*")
_USE = re.compile(r"\buse ((?:crate|super|self)::[^;]*);")
_INLINE = re.compile(r"\b((?:crate|super)(?:::\w+)+)")
_PUBLIC_MODULE = re.compile(r"^pub mod (\w+);", re.MULTILINE)


def crates() -> Graph:
    """Read the dependencies between our crates, without those of tests."""
    words = ("cargo", "metadata", "--format-version", "1", "--no-deps", "--offline", "--locked")
    done = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True)  # noqa: S603
    packages = json.loads(done.stdout)["packages"]
    folder = str(ROOT / "crates")
    ours = {package["name"] for package in packages if package["manifest_path"].startswith(folder)}
    uses = {
        package["name"]: {each["name"] for each in package["dependencies"] if each["kind"] is None} & ours
        for package in packages
        if package["name"] in ours
    }
    plain = "airwnd-"
    return {
        name.removeprefix(plain): frozenset(used.removeprefix(plain) for used in names)
        for name, names in sorted(uses.items())
    }


def modules(crate: str) -> Graph:
    """Read the dependencies between the source files of a crate, without tests and re-exports."""
    (source,) = (path for top in ("crates", "tools") if (path := ROOT / top / crate / "src").is_dir())
    files = (path for path in sorted(source.rglob("*.rs")) if path.stem != "tests")
    paths = {_module(path.relative_to(source)): path for path in files}
    graph = {}
    for module, path in paths.items():
        text = _COMMENT.sub("", _TESTS.sub("", path.read_text(encoding="utf-8")))
        named = [each for body in _USE.findall(_REEXPORT.sub("", text)) for each in _expanded(body)]
        found = {_owner(_absolute(each, module), paths) for each in named + _INLINE.findall(text)}
        graph["::".join(module) or "lib"] = frozenset(
            "::".join(used) for used in found if used and used != module and used != module[:-1]
        )
    return graph


def python() -> Graph:
    """Read the imports between the modules of the Python package."""
    graph = grimp.build_graph("airwnd")
    short = {name: name.removeprefix("airwnd.") for name in graph.modules if name != "airwnd"}
    return {
        short[name]: frozenset(
            short[used] for used in graph.find_modules_directly_imported_by(name) if used in short
        )
        for name in sorted(short)
    }


def grouped(graph: Graph) -> Graph:
    """Join the files of a folder."""
    return _joined({name: used for name, used in graph.items() if name != "lib"}, _folder)


def circles(graph: Graph) -> list[tuple[str, ...]]:
    """Find circular dependencies, direct or indirect (Tarjan 1972)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(name: str) -> None:
        order[name] = low[name] = len(order)
        stack.append(name)
        for used in sorted(graph.get(name, ())):
            if used not in order:
                visit(used)
                low[name] = min(low[name], low[used])
            elif used in stack:
                low[name] = min(low[name], order[used])
        if low[name] == order[name]:
            at = stack.index(name)
            if len(stack) - at > 1:
                found.append(tuple(sorted(stack[at:])))
            del stack[at:]

    for name in sorted(graph):
        if name not in order:
            visit(name)
    return found


def written(graph: Graph) -> str:
    """Return a graph as text, with a line for each part."""
    return "\n".join(f"{name}: {' '.join(sorted(used)) or '-'}" for name, used in sorted(graph.items()))


def pictures() -> Mapping[str, Graph]:
    """Read all graphs that are drawn, by the names of their pictures."""
    drawn = {f"structure-{crate}": grouped(modules(crate)) for crate in DRAWN_CRATES}
    return {"structure-crates": crates(), "structure-python": grouped(python()), **drawn}


def draw(name: str, graph: Graph) -> None:
    """Draw an acyclic graph in layers: each part before all parts that it uses.

    The first layer is at the top, or on the left if that makes the picture narrower. Parts without
    dependencies fill the shortest layers.
    """
    level: dict[str, int] = {}

    def depth(part: str) -> int:
        if part not in level:
            level[part] = 1 + max((depth(used) for used in graph[part]), default=-1)
        return level[part]

    for part in graph:
        depth(part)
    rows = [sorted(part for part in graph if level[part] == each) for each in range(max(level.values()) + 1)]
    used = frozenset().union(*graph.values())
    for part in sorted(part for part in graph if not graph[part] and part not in used):
        rows[0].remove(part)
        min(reversed(rows), key=len).append(part)
    maximum = max(len(row) for row in rows)
    # Arrows take more space across layers.
    pitch = 1.6
    from_left = pitch * len(rows) < maximum

    def place(column: int, height: int) -> tuple[float, float]:
        along = (column + 0.5) * maximum / len(rows[height])
        return (
            (pitch * (len(rows) - height - 0.5), maximum - along - 0.5)
            if from_left
            else (along, float(height))
        )

    at = {part: place(column, height) for height, row in enumerate(rows) for column, part in enumerate(row)}
    columns, lines = (pitch * len(rows), maximum) if from_left else (maximum, len(rows))
    line_in, begin, end = (0.5, (0.46, 0), (-0.46, 0)) if from_left else (0.95, (0, -0.22), (0, 0.22))
    figure = Figure(figsize=(1.45 * columns + 0.4, line_in * lines + 0.3))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, columns), ylim=(-0.6, lines - 0.4))
    axes.axis("off")
    for part, (x, y) in at.items():
        for other in _without_detours(graph, part):
            arrow = FancyArrowPatch(
                (x + begin[0], y + begin[1]),
                (at[other][0] + end[0], at[other][1] + end[1]),
                arrowstyle="-|>",
                mutation_scale=9,
                color="#0072B2",
                linewidth=0.9,
                shrinkA=0,
                shrinkB=0,
                connectionstyle="arc3,rad=0.04",
            )
            axes.add_patch(arrow)
    for part, (x, y) in at.items():
        box = FancyBboxPatch(
            (x - 0.44, y - 0.2),
            0.88,
            0.4,
            boxstyle="round,pad=0.02",
            facecolor="#f2f6fa",
            edgecolor="#333333",
            linewidth=0.9,
        )
        axes.add_patch(box)
        axes.text(
            x, y, fill(part, ONE_LINE), ha="center", va="center", fontsize=8 if len(part) <= ONE_LINE else 6.5
        )
    with mpl.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        metadata = {"Date": None, "Title": name, "Description": written(graph)}
        figure.savefig(PICTURES / f"{name}.svg", metadata=metadata)


def _joined(graph: Graph, name_of: Callable[[str], str]) -> Graph:
    parts: dict[str, set[str]] = {}
    for name, used in graph.items():
        parts.setdefault(name_of(name), set()).update(map(name_of, used))
    return {part: frozenset(used - {part}) for part, used in sorted(parts.items())}


def _without_detours(graph: Graph, part: str) -> Iterable[str]:
    """Drop direct dependencies that are also indirect (transitive reduction)."""
    reached: set[str] = set()
    waiting = [each for used in graph[part] for each in graph[used]]
    while waiting:
        each = waiting.pop()
        if each not in reached:
            reached.add(each)
            waiting.extend(graph[each])
    return sorted(graph[part] - reached)


def _folder(name: str) -> str:
    return re.split(r"::|\.", name)[0]


def _module(path: Path) -> tuple[str, ...]:
    parts = path.with_suffix("").parts
    return parts[:-1] if parts[-1] in {"mod", "lib", "main"} else parts


def _expanded(body: str) -> list[str]:
    """Expand the braces of a ``use``."""
    body = re.sub(r"\s+", "", body.replace(" as ", "#"))
    opening = body.find("{")
    if opening < 0:
        return [body.split("#")[0]]
    items, depth, start = [], 0, opening + 1
    for place in range(opening, len(body)):
        depth += {"{": 1, "}": -1}.get(body[place], 0)
        if (body[place] == "," and depth == 1) or (body[place] == "}" and depth == 0):
            items.append(body[start:place])
            start = place + 1
    return [path for item in items if item for path in _expanded(body[:opening] + item)]


def _absolute(path: str, module: tuple[str, ...]) -> tuple[str, ...]:
    """Resolve ``crate``, ``super`` and ``self`` at the head of a path."""
    words = path.split("::")
    here = module
    while words and words[0] in {"crate", "super", "self"}:
        word = words.pop(0)
        here = () if word == "crate" else here[:-1] if word == "super" else here
    return (*here, *words)


def _owner(path: tuple[str, ...], paths: Mapping[tuple[str, ...], Path]) -> tuple[str, ...]:
    """Find the file that contains a path."""
    while path not in paths:
        path = path[:-1]
    return path


if __name__ == "__main__":
    for picture, graph in pictures().items():
        draw(picture, graph)
