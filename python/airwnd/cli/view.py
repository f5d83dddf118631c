"""``airwnd view``."""

import shlex
from pathlib import Path

import click


@click.command()
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="PAGE.html",
    help="Output file; default: next to the first run, with its name.",
)
@click.option(
    "--open/--no-open", "wanted", default=True, help="Open the page in a browser, if available (the default)."
)
def view(runs: tuple[Path, ...], out: Path | None, wanted: bool) -> None:
    """Explore one or more runs in the browser: series, events, map and flows.

    RUN is a folder written by `airwnd run FILE --series 10ms --out RUN`; several runs are compared. The page
    is a single file that needs no network.
    """
    from airwnd import view as viewer

    first = runs[0].resolve()
    page = out or first.with_name(f"{first.name}.html")
    viewer.check(page)
    viewer.write(viewer.load(runs), page, shlex.join(["airwnd", "play", str(runs[0])]))
    click.echo(f"page: {page}")
    if wanted:
        viewer.show(page)
