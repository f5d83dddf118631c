"""Man pages generated from the tree of commands: ``make man`` writes ``docs/man``, which the wheel installs.

``python docs/_site/manual.py FOLDER`` writes them elsewhere.
"""

import sys
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path

import click
from click_man.man import ManPage

from airwnd.cli import cli

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
    # Commands have spaces, the names of their pages hyphens.
    text = str(page).replace(f"\n.B {name}\n", f"\n.B {context.command_path}\n")
    yield f"{name}.1", text + (".SH COMMANDS\n" + "".join(commands) if commands else "")
    for child, each in children:
        with click.Context(each, info_name=child, parent=context) as below:
            yield from _pages(below, version, date)


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
