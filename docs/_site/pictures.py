"""Regenerates the pictures of the how-tos: ``python docs/_site/pictures.py``.

The scenarios and commands of a page draw its pictures, so that readers get what they see.
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

DOCS = Path(__file__).parents[1]
PAGES = ("draw-pictures.md", "sweep.md")
_SCENARIO = re.compile(r"`([\w.-]+\.toml)`[^\n]*:\n\n```toml\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_SHELL = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_COMMAND = re.compile(r"^airwnd (.*)$", re.MULTILINE)


def main() -> None:
    """Draw the pictures of all pages."""
    for page in PAGES:
        for name, picture in drawn(page).items():
            (DOCS / "img" / name).write_bytes(picture)


def drawn(page: str) -> dict[str, bytes]:
    """Write each scenario of a page, run its commands, and return the pictures that it shows, by name.

    Commands that no shown picture needs are left out: some are examples without their files.
    """
    text = (DOCS / "how-to" / page).read_text(encoding="utf-8")
    shown = re.findall(r"\]\(\.\./img/([\w.-]+)\)", text)
    with TemporaryDirectory() as folder:
        for name, scenario in _SCENARIO.findall(text):
            Path(folder, name).write_text(scenario, encoding="utf-8")
        for words in needed(text, shown):
            command = [sys.executable, "-I", "-m", "airwnd", *words]
            quiet = subprocess.DEVNULL
            subprocess.run(command, cwd=folder, check=True, stdout=quiet)  # noqa: S603 (of our own page)
        return {picture: Path(folder, picture).read_bytes() for picture in shown}


def needed(text: str, shown: list[str]) -> list[list[str]]:
    """Return the commands of a page that draw these pictures or write the folders of their data."""
    commands = list(map(shlex.split, _COMMAND.findall("".join(_SHELL.findall(text)))))
    drawing = [words for words in commands if any(word in shown for word in words)]
    folders = {word for words in drawing for word in words}
    return [
        words
        for words in commands
        if words in drawing or ("--out" in words and words[words.index("--out") + 1] in folders)
    ]


if __name__ == "__main__":
    main()
