"""``airwnd view``."""

from pathlib import Path

import click


@click.command()
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="PAGE.html",
    help="Where the page goes; beside the first run by default.",
)
@click.option("--open/--no-open", "wanted", default=True, help="Open it in the browser, if there is one.")
def view(runs: tuple[Path, ...], out: Path | None, wanted: bool) -> None:
    """Make a page to look around in run folders: series, events, map and flows.

    RUN is a folder that `airwnd run FILE --series 10ms --out RUN` wrote; several are compared. The page is
    one file that needs no network.
    """
    from airwnd import view as viewer

    first = runs[0].resolve()
    page = out or first.with_name(f"{first.name}.html")
    viewer.check(page)
    viewer.write(viewer.load(runs), page)
    click.echo(f"page: {page}")
    if wanted:
        viewer.show(page)
