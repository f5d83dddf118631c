"""Chromium downloads a file through a cell, without ``airwnd guard`` and with it, while a ping measures.

::

    sudo python experiments/guard/application.py --out docs/img/guard-chromium.svg

It needs what ``airwnd guard demo`` needs, and Chromium with Playwright. The picture and the table are those
of the demo; only the program that downloads is another one. ``application.py browse SECONDS`` is that one.
"""

import argparse
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from airwnd.cli.guard import table
from airwnd.cli.options import bar, load
from airwnd.guard.session import CELL, measure
from airwnd.plots.guard import plot_halves
from airwnd.plots.save import check, save
from airwnd.scenario.scenario import Scenario
from airwnd.support.errors import InputError

FILE = "http://server/bytes/10GB"
"""Larger than what a session can transfer."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def main() -> None:
    """Measure, and write the picture."""
    if sys.argv[1:2] == ["browse"]:
        browse(float(sys.argv[2]))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--scenario", type=Path, help="default: the cell of `airwnd guard demo`")
    parser.add_argument("--rwnd", help="receive-window control, as for `airwnd guard`; default: the guard's")
    parser.add_argument("--seconds", type=float, default=40.0, help="length of a download")
    parser.add_argument("--out", type=Path, default=Path("guard-chromium.svg"))
    options = parser.parse_args()
    program = [sys.executable, str(Path(__file__).resolve()), "browse", str(options.seconds)]
    try:
        check(options.out)
        scenario = load(options.scenario, ()) if options.scenario else Scenario.from_dict(CELL)
        with bar("application", None) as update:
            measured = measure(scenario, options.rwnd, options.seconds, program, update)
        save(plot_halves([measured.without, measured.guarded]), options.out)
    except (InputError, OSError) as error:
        parser.exit(2, f"application.py: {error}\n")
    sys.stdout.write(f"{table(measured)}\np99 lateness: {measured.lateness_us:.0f} us\n")


def browse(seconds: float) -> None:
    """Let Chromium download the file until the time is over, and discard it."""
    from playwright.sync_api import Error, sync_playwright

    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(OPTIONS), downloads_path=folder)
        page = browser.new_page()
        # A download is no page.
        with suppress(Error):
            page.goto(FILE)
        page.wait_for_timeout(seconds * 1e3)


if __name__ == "__main__":
    main()
