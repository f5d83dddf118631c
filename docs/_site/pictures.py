"""Draws the pictures of the page on pictures again: ``python docs/_site/pictures.py``.

The page's scenarios and commands are what draws them, so that readers get what they see.
"""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

DOCS = Path(__file__).parents[1]
PAGE = DOCS / "how-to" / "draw-pictures.md"
_SCENARIO = re.compile(r"`([\w.-]+\.toml)`:\n\n```toml\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_COMMAND = re.compile(r"^airwnd (plot .*)$", re.MULTILINE)


def main() -> None:
    """Write each scenario of the page, run its plotting commands, and keep the pictures that it shows."""
    text = PAGE.read_text(encoding="utf-8")
    shown = re.findall(r"\]\(\.\./img/([\w.-]+)\)", text)
    with TemporaryDirectory() as folder:
        for name, scenario in _SCENARIO.findall(text):
            Path(folder, name).write_text(scenario, encoding="utf-8")
        for words in map(shlex.split, _COMMAND.findall(text)):
            if any(word in shown for word in words):
                # The words are our own page's.
                subprocess.run([sys.executable, "-m", "airwnd", *words], cwd=folder, check=True)  # noqa: S603
        for picture in shown:
            shutil.copy(Path(folder, picture), DOCS / "img" / picture)


if __name__ == "__main__":
    main()
