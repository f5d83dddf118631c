"""``airwnd board``."""

from pathlib import Path

import click


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("out/board"),
    show_default=True,
    help="Folder for the site, which needs no other file.",
)
def board(folder: Path, out: Path) -> None:
    """Make a static site of all reports of `airwnd evaluate` in FOLDER."""
    from airwnd.study.evaluate import board as boards

    index = boards.write(folder, out)
    click.echo(f"Open {index}")
