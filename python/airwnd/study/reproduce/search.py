"""Search for experiments by path, name, short name of their paper, or claim; copies of them for editing."""

import difflib
import shutil
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airwnd.study.reproduce.paper import FILE as PAPER_FILE
from airwnd.study.reproduce.paper import Paper
from airwnd.support.errors import InputError
from airwnd.support.files import check_folder, read_text

_FILE, _CLAIMS = "experiment.toml", "claims.toml"


@dataclass(frozen=True, slots=True)
class Listed:
    """An experiment in a list: its folder, its title, and its claims with their texts."""

    folder: Path
    title: str
    claims: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        """``paper/figure``."""
        return name_of(self.folder)


def name_of(folder: Path) -> str:
    """Return the name of an experiment, ``paper/figure``."""
    folder = folder.resolve()
    return f"{folder.parent.name}/{folder.name}"


def find(name: str) -> list[Path]:
    """Find experiment folders; the nearest of those with the same name.

    The folders ``experiments`` of the current folder, its parents and the installed package are searched.

    Parameters
    ----------
    name
        A path, ``PAPER/FIGURE``, ``PAPER`` for all of its figures, a claim's id for all experiments that
        judge it, or ``PAPER/CLAIM``. The beginning of a paper's name up to a hyphen is enough, as in ``arwa``
        for ``arwa-2019``.

    Raises
    ------
    InputError
        If there is none, or if the name may mean several papers.
    """
    if found := _exact(name):
        return found
    folders = find_all()
    first, slash, rest = name.partition("/")
    of_paper = [each for each in folders if f"{each.parent.name}-".startswith(f"{first}-")]
    if not slash:
        found = of_paper or [each for each in folders if name in _claims(each)]
    else:
        named = [each for each in of_paper if each.name == rest]
        found = named or [each for each in of_paper if rest in _claims(each)]
    if not found:
        raise InputError(f"no experiment, paper or claim `{name}`; {_hint(name, folders)}")
    keys = list(dict.fromkeys(each.parent.name for each in found))
    if len(keys) > 1:
        raise InputError(f"`{name}` may be of {' or '.join(keys)}: write {keys[0]}/{rest or name}")
    return found


def claims_named(names: Sequence[str]) -> dict[Path, frozenset[str] | None]:
    """Return, by experiment, the claims that stand for it among the names; ``None``: it is named itself."""
    found: dict[Path, frozenset[str] | None] = {}
    for name in names:
        claim = name.rpartition("/")[2]
        for folder in find(name):
            is_claim = not is_exact(name) and folder.name != claim and claim in _claims(folder)
            known = found.get(folder, frozenset())
            found[folder] = known | {claim} if is_claim and known is not None else None
    return found


def is_exact(name: str) -> bool:
    """Return whether a name is a path or the full name of an experiment or paper."""
    return bool(_exact(name))


def _exact(name: str) -> list[Path]:
    roots = _roots()
    for folder in (Path(name), *(root / name for root in roots)):
        if (folder / _FILE).is_file():
            return [folder]
        figures = sorted(path.parent for path in folder.glob(f"*/{_FILE}"))
        if figures and folder not in roots:
            return figures
    return []


def _hint(name: str, folders: Sequence[Path]) -> str:
    """Say why nothing was found: a claim without an experiment, a misspelling, or where the names are."""
    for paper in papers():
        if paper.statement(name):
            return f"{name} is a claim of {paper.key}, which no experiment judges"
    names = [name_of(each) for each in folders]
    known = dict.fromkeys([*names, *(each.parent.name for each in folders)])
    near = difflib.get_close_matches(name, known, n=3)
    meant = f"did you mean {' or '.join(f'`{each}`' for each in near)}? " if near else ""
    return f"{meant}`airwnd reproduce --list` lists them"


def find_all() -> list[Path]:
    """Find all experiment folders; of several with the same name, only the nearest."""
    nearest: dict[tuple[str, str], Path] = {}
    for root in _roots():
        for path in sorted(root.glob(f"*/*/{_FILE}")):
            nearest.setdefault((path.parts[-3], path.parts[-2]), path.parent)
    return [nearest[name] for name in sorted(nearest)]


def papers() -> list[Paper]:
    """Read all papers, with or without experiments."""
    nearest: dict[str, Path] = {}
    for root in _roots():
        for path in root.glob(f"*/{PAPER_FILE}"):
            nearest.setdefault(path.parent.name, path.parent)
    return [Paper.load(nearest[key]) for key in sorted(nearest)]


def published(name: str) -> Path | None:
    """Find a file next to the papers; ``None``: there is none."""
    return next((root / name for root in _roots() if (root / name).is_file()), None)


def listed(folders: Sequence[Path]) -> dict[str, list[Listed]]:
    """Describe experiments by the title of their paper, without reading their scenarios."""
    found: dict[str, list[Listed]] = {}
    for folder in folders:
        paper = Paper.load(folder.resolve().parent)
        stated = {each.id: each.text for each in paper.claims}
        claims = tuple((name, stated.get(name, text)) for name, text in _claims(folder).items())
        heading = paper.key if paper.title == paper.key else f"{paper.key}: {paper.title}"
        title = str(_table(folder / _FILE).get("title", ""))
        found.setdefault(heading, []).append(Listed(folder, title, claims))
    return found


def copy(folders: Sequence[Path], target: Path) -> list[Path]:
    """Copy experiments of one paper, with its ``paper.toml``, into a folder, and return their new folders.

    Raises
    ------
    InputError
        If a copy would replace a folder or the data of another paper, or the folder cannot be written.
    """
    copies = {folder: target / folder.resolve().name for folder in folders}
    there = next((copy for copy in copies.values() if copy.exists()), None)
    if there is not None:
        raise InputError(f"{there}: exists already, and is not replaced")
    source, paper = folders[0].resolve().parent / PAPER_FILE, target / PAPER_FILE
    if paper.exists() and not (source.exists() and paper.read_bytes() == source.read_bytes()):
        raise InputError(f"{paper}: describes another paper; choose a folder without one")
    check_folder(target)
    target.mkdir(parents=True, exist_ok=True)
    if source.exists() and not paper.exists():
        shutil.copyfile(source, paper)
    for folder, copy in copies.items():
        shutil.copytree(folder, copy)
    return list(copies.values())


def _claims(folder: Path) -> dict[str, str]:
    """Return the claims that an experiment judges, with the texts in its own file."""
    path = folder / _CLAIMS
    entries = _table(path if path.is_file() else folder / _FILE).get("claim", [])
    return {str(each.get("id", "")): str(each.get("text", "")) for each in entries if isinstance(each, dict)}


def _table(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: {error}") from None


def _roots() -> list[Path]:
    here = Path.cwd()
    return [
        *(folder / "experiments" for folder in (here, *here.parents)),
        Path(__file__).parents[2] / "experiments",
    ]
