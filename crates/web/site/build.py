"""Build the cell in the browser: one HTML file with engine, style and modules, which opens from disk."""

import base64
import sys
import zlib
from pathlib import Path

from airwnd.play import html


def main(arguments: list[str]) -> None:
    """Write the page, given the folder of the generated module and its JavaScript half."""
    generated, page = map(Path, arguments)
    engine = zlib.compress((generated / "airwnd_web_bg.wasm").read_bytes(), 9)
    module = (generated / "airwnd_web.js").read_text(encoding="utf-8")
    page.parent.mkdir(parents=True, exist_ok=True)
    text = html(module=module, engine=base64.b64encode(engine).decode("ascii"))
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
