"""``airwnd completion``: shell completion of commands, options, names and files."""

import json
import tomllib
from pathlib import Path
from typing import Any

import click
from click.shell_completion import BashComplete, CompletionItem, FishComplete, ZshComplete

VARIABLE = "_AIRWND_COMPLETE"
SHELLS = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}
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
    """Complete the key of ``--set``: basic keys, and others if no basic key begins with the typed text.

    A list of all keys would be longer than a screen, and a reader of another key knows how it begins.
    """
    from airwnd.vocabulary.keys import keys

    # Click leaves the words before an option without a value in `args`.
    file = next(iter((*filter(None, [context.params.get("file")]), *context.args)), None)
    found = keys(_written(Path(file)) if file else {}, begun)
    basic = [key.path for key in found if key.level == "basic"]
    return _items(basic or [key.path for key in found], begun)


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
