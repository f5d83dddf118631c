"""``airwnd play``."""

from pathlib import Path

import click

from airwnd.cli import completion


@click.command()
@click.argument(
    "source", metavar="[SCENARIO|RUN|EXPERIMENT]", required=False, type=click.Path(path_type=Path)
)
@click.option(
    "--show",
    metavar="NAME",
    shell_complete=completion.topics,
    help="Begin with a scenario that shows an algorithm, a key or a preset, by its name in `airwnd explain`.",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, metavar="PORT", help="Port; default: a free one."
)
@click.option(
    "--open/--no-open", "wanted", default=True, help="Open the page in a browser, if available (the default)."
)
def play(source: Path | None, show: str | None, port: int, wanted: bool) -> None:
    """Show a cell live in the browser, with this machine's engine behind the page.

    SCENARIO is a scenario file, RUN a folder written by `airwnd run FILE --out RUN`; without one the page
    begins with its own cell. EXPERIMENT is a PAPER/FIGURE or its folder: the page judges its claims again,
    with other levels, values and seeds. Only this machine can reach the page, at the printed address. Ctrl-C
    ends it.
    """
    from airwnd import view
    from airwnd.scenario.play import Playground
    from airwnd.scenario.play.explore import scenario_text

    if source is not None and show is not None:
        raise click.UsageError("--show has a scenario of its own: give no SCENARIO, RUN or EXPERIMENT.")
    fragment = "" if show is None else _fragment(show)
    if source is not None and (page := _claims(source)):
        playground = Playground(port, page=page)
    else:
        playground = Playground(port, None if source is None else scenario_text(source))
    address = f"{playground.address}{fragment}"
    click.echo(f"page: {address}")
    if wanted:
        view.show(address)
    try:
        playground.serve()
    except KeyboardInterrupt:
        click.echo("ended")


def _fragment(name: str) -> str:
    from airwnd.cli.algorithms import live
    from airwnd.support.errors import InputError
    from airwnd.vocabulary.topics import find

    found = next(filter(None, map(live, find(name))), None)
    if found is None:
        raise InputError(f"--show {name}: no scenario of the page has it alone")
    return found


def _claims(source: Path) -> str | None:
    """Return the page of an experiment's claims; ``None``: the source is no experiment."""
    from airwnd.study.reproduce import again, search
    from airwnd.study.reproduce.design import FILE, Experiment
    from airwnd.support.errors import InputError

    if (source / FILE).is_file():
        folder = source
    elif source.exists() or source.suffix or not search.is_exact(str(source)):
        return None
    else:
        (folder, *others) = search.find(str(source))
        if others:
            names = ", ".join(map(search.name_of, (folder, *others)))
            raise InputError(f"{source}: a paper; give one of its experiments: {names}")
    experiment = Experiment.load(folder)
    if reason := again.obstacle(experiment):
        raise InputError(f"{experiment.name}: its claims cannot be judged in a page: {reason}")
    return again.html(experiment)
