"""Man pages generated from the tree of commands: ``make man`` writes ``docs/man``, which the wheel installs.

``python docs/_site/manual.py FOLDER`` writes them elsewhere.
"""

import sys
from collections.abc import Iterator, Mapping
from inspect import cleandoc
from pathlib import Path
from typing import Any

import click
from click_man.man import ManPage

from airwnd.cli import cli
from airwnd.cli import guard as engine

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "man" / "data" / "share" / "man" / "man1"


def pages() -> dict[str, str]:
    """Return the page of each command, by file name."""
    lines = (ROOT / "CITATION.cff").read_text(encoding="utf-8").splitlines()
    cited = dict(line.split(": ", 1) for line in lines if ": " in line)
    with click.Context(cli, info_name="airwnd", **cli.context_settings) as context:
        return dict(_pages(context, cited["version"], cited["date-released"].strip('"')))


def _pages(context: click.Context, version: str, date: str) -> Iterator[tuple[str, str]]:
    command, name = context.command, context.command_path.replace(" ", "-")
    page = ManPage(name)
    page.version, page.date = f"airwnd {version}", date
    page.short_help = _summary(command)
    page.synopsis = " ".join(command.collect_usage_pieces(context))
    page.description = _description(command)
    records = [param.get_help_record(context) for param in command.get_params(context)]
    page.options = [record for record in records if record and record[1]]
    children = sorted(command.commands.items()) if isinstance(command, click.Group) else []
    commands = [f".TP\n\\fB{name}-{child}\\fP(1)\n{_summary(each)}\n" for child, each in children]
    if command is engine.guard:
        # The engine has the command line, except for `demo`.
        page.options = _records(engine.commands())
        commands = [_part(child, each) for child, each in engine.commands()["commands"].items()]
        children = [("demo", engine.demo)]
    # Commands have spaces, the names of their pages hyphens.
    text = str(page).replace(f"\n.B {name}\n", f"\n.B {context.command_path}\n")
    yield f"{name}.1", text + (".SH COMMANDS\n" + "".join(commands) if commands else "")
    for child, each in children:
        # `demo` is no command of a group: the path of its context would contain the arguments of `guard`.
        is_demo = each is engine.demo
        parent = None if is_demo else context
        with click.Context(each, info_name="airwnd guard demo" if is_demo else child, parent=parent) as below:
            yield from _pages(below, version, date)


def _records(described: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the options that the engine describes."""
    return [
        (" ".join([*option["names"], *([option["value"]] if option["value"] else [])]), option["help"])
        for option in described["options"]
    ]


def _part(name: str, described: Mapping[str, Any]) -> str:
    """Format a command that the engine describes, with its options."""
    options = [record for record in _records(described) if not record[0].startswith("-h")]
    below = "".join(f".TP\n\\fB{option}\\fP\n{help_}\n" for option, help_ in options)
    return f".TP\n\\fB{name}\\fP\n{described['about']}\n" + (f".RS\n{below}.RE\n" if below else "")


def _summary(command: click.Command) -> str:
    return command.get_short_help_str(limit=1000).rstrip(".")


def _description(command: click.Command) -> str:
    """Format Click's paragraphs; those after a backspace keep their lines."""
    paragraphs = cleandoc(command.help or "").split("\n\n")
    return "\n\n".join(
        ".nf\n" + part.removeprefix("\b\n") + "\n.fi" if part.startswith("\b") else part
        for part in paragraphs
    )


def main(folder: Path = FOLDER) -> None:
    """Replace the pages in a folder by those of the current commands."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.1"):
        old.unlink()
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
