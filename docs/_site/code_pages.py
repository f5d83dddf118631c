"""Pages that show files and folders, such as code, to which other pages link."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx import addnodes

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

BEFORE_THE_COLLECTORS = 100  # otherwise the files would be copied for download


def _files(env: "BuildEnvironment") -> dict[str, set[str]]:
    """Return the files that each page links to; stored in the environment: unchanged pages are not reread."""
    if not hasattr(env, "airwnd_code_files"):
        env.airwnd_code_files = {}
    found: dict[str, set[str]] = env.airwnd_code_files
    return found


def _link(app: "Sphinx", doctree: nodes.document) -> None:
    page = app.env.current_document.docname
    linked = _files(app.env)[page] = set()
    for node in [*doctree.findall(addnodes.download_reference), *doctree.findall(addnodes.pending_xref)]:
        path = app.env.relfn2path(node["reftarget"].rstrip("/"), page)[0]
        is_folder = isinstance(node, addnodes.pending_xref)
        if is_folder != (app.srcdir / path).is_dir() or not (app.srcdir / path).exists():
            continue  # a page, or a broken link: left to Sphinx
        linked.add(path)
        if is_folder:
            linked.update(each.relative_to(app.srcdir).as_posix() for each in _inside(app.srcdir / path))
        target = app.builder.get_relative_uri(page, f"code/{path}")
        node.replace_self(nodes.reference("", "", *node.children, internal=True, refuri=target))


def _inside(folder: Path) -> list[Path]:
    """List the files below a folder, except generated ones."""
    return sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and not {"target", "__pycache__"} & set(path.parts) and path.name != "Cargo.lock"
    )


def _merge(_app: "Sphinx", env: "BuildEnvironment", pages: set[str], other: "BuildEnvironment") -> None:
    _files(env).update({page: files for page, files in _files(other).items() if page in pages})


def _forget(_app: "Sphinx", env: "BuildEnvironment", page: str) -> None:
    _files(env).pop(page, None)


def _pages(app: "Sphinx") -> Iterator[tuple[str, dict[str, Any], str]]:
    for path in sorted(set().union(*_files(app.env).values())):
        shown = _list(app, path) if (app.srcdir / path).is_dir() else _text(app, path)
        body = f'<div class="code-page"><h1>{path}</h1>{shown}</div>'
        yield f"code/{path}", {"title": path, "body": body}, "page.html"


def _list(app: "Sphinx", path: str) -> str:
    inside = [each.relative_to(app.srcdir).as_posix() for each in _inside(app.srcdir / path)]
    here = f"code/{path}"
    links = [f'<a href="{app.builder.get_relative_uri(here, f"code/{each}")}">{each}</a>' for each in inside]
    return "<ul>" + "".join(f"<li>{link}</li>" for link in links) + "</ul>"


def _text(app: "Sphinx", path: str) -> str:
    text = (app.srcdir / path).read_text(encoding="utf-8")
    language = {".rs": "rust", ".py": "python", ".toml": "toml"}.get(Path(path).suffix, "text")
    return str(app.builder.highlighter.highlight_block(text, language, linenos=False))


def _door(app: "Sphinx", failure: Exception | None) -> None:
    """Write an index.html that redirects to the root page."""
    if failure is None:
        onward = f'<meta http-equiv="refresh" content="0; url={app.config.root_doc}.html">'
        text = f"<!doctype html><title>{app.config.project}</title>{onward}\n"
        (Path(app.outdir) / "index.html").write_text(text, encoding="utf-8")


def setup(app: "Sphinx") -> dict[str, bool]:
    """Register the callbacks for reading and writing pages with Sphinx."""
    app.connect("doctree-read", _link, priority=BEFORE_THE_COLLECTORS)
    app.connect("env-merge-info", _merge)
    app.connect("env-purge-doc", _forget)
    app.connect("html-collect-pages", _pages)
    app.connect("build-finished", _door)
    return {"parallel_read_safe": True}
