"""``airwnd completion``: shell completion of commands, options, names and files."""

import json
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ZshComplete,
    add_completion_class,
)

from airwnd.support.manifests import FILE

if TYPE_CHECKING:
    from collections.abc import Callable

VARIABLE = "_AIRWND_COMPLETE"


@add_completion_class
class Bash(BashComplete):
    """Completion for bash, which divides words at equals signs and does not mix files with other words."""

    #: Part of the word that bash does not replace.
    kept = ""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Join the words that bash has divided."""
        args, begun = super().get_completion_args()
        words = [*args, begun]
        joined = words[:1]
        for before, word in pairwise(words):
            if "=" in (before, word):
                joined[-1] += word
            else:
                joined.append(word)
        if "=" in words[-2:]:
            self.kept = joined[-1] if begun == "=" else joined[-1].removesuffix(begun)
        return joined[:-1], joined[-1]

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        """Offer files only where nothing else is offered."""
        found = super().get_completions(args, incomplete)
        return [item for item in found if item.type == "plain"] or found

    def format_completion(self, item: CompletionItem) -> str:
        """Return the line for an item, without the part that bash does not replace."""
        return f"{item.type},{item.value.removeprefix(self.kept)}"


SHELLS = {"bash": Bash, "zsh": ZshComplete, "fish": FishComplete}
SCENARIO_SUFFIXES = (".toml", ".json")


@click.command()
@click.argument("shell", type=click.Choice(list(SHELLS)))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the shell completion script for SHELL.

    \b
    bash    eval "$(airwnd completion bash)"     in ~/.bashrc
    zsh     eval "$(airwnd completion zsh)"      in ~/.zshrc
    fish    airwnd completion fish | source      in ~/.config/fish/config.fish
    """  # noqa: D301 (Click requires the backspace)
    root = context.find_root().command
    click.echo(SHELLS[shell](root, {}, "airwnd", VARIABLE).source())


def scenarios(_context: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete scenario files in the folder typed so far; complete any file if it has none."""
    folder, slash, start = begun.rpartition("/")
    found = sorted(
        path.name
        for path in Path(folder + slash or ".").glob("*")
        if path.suffix in SCENARIO_SUFFIXES and path.name.startswith(start)
    )
    if not found:
        return [CompletionItem(begun, type="file")]
    return [CompletionItem(folder + slash + name) for name in found]


def families(_context: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete the arguments of `airwnd list`."""
    from airwnd.vocabulary.algorithms import catalogue

    return _items([*(family.name for family in catalogue()), "preset", "stack", "compat"], begun)


def topics(_context: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete algorithms, families, stacks, presets, sections, keys and columns."""
    from airwnd.vocabulary.topics import names

    return _items(names(), begun)


def settings(context: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete a key, and after it and an equals sign its value, one of several with commas between them.

    Basic keys are offered, and others if no basic key begins with the typed text: a list of all keys would
    be longer than a screen, and a reader of another key knows how it begins.
    """
    from airwnd.vocabulary.keys import keys

    file = _first(context, "file")
    path, equals, values = begun.partition("=")
    found = keys(_written(file) if file else {}, path)
    if equals:
        before = f"{path}=" + "".join(values.rpartition(",")[:2])
        return _items([before + word for key in found if key.path == path for word in key.words], begun)
    basic = [key.path for key in found if key.level == "basic"]
    return _items(basic or [key.path for key in found], begun)


def members(name: str) -> "Callable[[click.Context, click.Parameter, str], list[CompletionItem]]":
    """Return a completion of the algorithms of a family."""

    def complete(_context: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
        from airwnd.vocabulary.algorithms import family

        return _items([member.name for member in family(name).members], begun)

    return complete


def traces(_context: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete link traces: the included ones, or a file."""
    from airwnd import _native

    return _items(_native.link_traces(), begun) or [CompletionItem(begun, type="file")]


def columns(*names: str) -> "Callable[[click.Context, click.Parameter, str], list[CompletionItem]]":
    """Return a completion of the columns of tables."""

    def complete(_context: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
        from airwnd.vocabulary.columns import tables

        return _items([column for name in names for column in tables()[name].columns], begun)

    return complete


def swept(context: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete the keys of a sweep, and after a key and an equals sign its values."""
    manifest = _manifest(context)
    axes = [*manifest.get("grid", []), *manifest.get("random", [])]
    values = [f"{axis['key']}={value}" for axis in axes for value in axis["values"]]
    return _items(values if "=" in begun else [axis["key"] for axis in axes], begun)


def groups(context: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete groups of flows of a sweep, a run or a scenario."""
    return _items([flow["id"] for flow in _manifest(context).get("scenario", {}).get("flow", [])], begun)


def _manifest(context: click.Context) -> dict[str, Any]:
    """Return the manifest of the folder that a command reads, or a scenario in its place."""
    source = _first(context, "folder", "source", "sources")
    if source is None:
        return {}
    return _written(source / FILE) if source.is_dir() else {"scenario": _written(source)}


def _first(context: click.Context, *names: str) -> Path | None:
    """Return the first argument of a command, which has one of these names."""
    found = next(filter(None, map(context.params.get, names)), None)
    # Click leaves the words before an option without a value in `args`.
    word = next(iter((*(found if isinstance(found, tuple) else filter(None, [found])), *context.args)), None)
    return None if word is None else Path(word)


def _written(file: Path) -> dict[str, Any]:
    """Return the tables of a scenario file; none if it cannot be read."""
    try:
        text = file.read_text(encoding="utf-8")
        found = json.loads(text) if file.suffix == ".json" else tomllib.loads(text)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def experiments(_context: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete papers and their figures."""
    from airwnd.study.reproduce.search import find_all

    folders = find_all()
    papers = {folder.parent.name for folder in folders}
    return _items([*papers, *(f"{folder.parent.name}/{folder.name}" for folder in folders)], begun)


def candidates(_context: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete candidates of `airwnd evaluate`: algorithms, or a file."""
    from airwnd.study.evaluate.candidate import names

    return _items(names(), begun) or [CompletionItem(begun, type="file")]


def suites(_context: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete suites of criteria: the included ones, or a file."""
    from airwnd.study.evaluate.suite import included

    return _items(included(), begun) or [CompletionItem(begun, type="file")]


def stacks(_context: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete transport stacks: those of installed packages, or a file."""
    from airwnd.study.stacks import installed

    return _items(list(installed()), begun) or [CompletionItem(begun, type="file")]


def _items(names: list[str], begun: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in sorted(set(names)) if name.startswith(begun)]
