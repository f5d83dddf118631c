"""``airwnd play``."""

from pathlib import Path

import click


@click.command()
@click.argument("source", metavar="[SCENARIO|RUN]", required=False, type=click.Path(path_type=Path))
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, metavar="PORT", help="Port; default: a free one."
)
@click.option(
    "--open/--no-open", "wanted", default=True, help="Open the page in a browser, if available (the default)."
)
def play(source: Path | None, port: int, wanted: bool) -> None:
    """Show a cell live in the browser, with this machine's engine behind the page.

    SCENARIO is a scenario file, RUN a folder written by `airwnd run FILE --out RUN`; without one the page
    begins with its own cell. Only this machine can reach the page, at the printed address. Ctrl-C ends it.
    """
    from airwnd import view
    from airwnd.play import Playground
    from airwnd.play.explore import scenario_text

    playground = Playground(port, None if source is None else scenario_text(source))
    click.echo(f"page: {playground.address}")
    if wanted:
        view.show(playground.address)
    try:
        playground.serve()
    except KeyboardInterrupt:
        click.echo("ended")
