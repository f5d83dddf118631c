"""What a reproduction leaves: plots, numbers, and one page that shows it all without a network."""

import base64
import tomllib
from dataclasses import dataclass
from pathlib import Path

from airwnd import _native, style
from airwnd.files import write_atomically
from airwnd.reproduce import figures, words
from airwnd.reproduce.claims import Verdict
from airwnd.reproduce.design import Plot
from airwnd.reproduce.runner import Results
from airwnd.reproduce.tables import as_csv, side_by_side


@dataclass(frozen=True, slots=True)
class Drawn:
    """A plot in both formats."""

    plot: Plot
    svg: str
    png: bytes

    @property
    def svg_link(self) -> str:
        """The SVG as a link that needs no file."""
        return "data:image/svg+xml;base64," + base64.b64encode(self.svg.encode()).decode()

    @property
    def png_link(self) -> str:
        """The PNG as a link that needs no file."""
        return "data:image/png;base64," + base64.b64encode(self.png).decode()

    @property
    def inline(self) -> str:
        """The SVG as an element of a page."""
        return self.svg[self.svg.index("<svg") :]


def write(results: Results, out: Path) -> Path:
    """Write ``*.svg``, ``*.png``, ``results.csv`` and ``report.html``; give the page's path."""
    out.mkdir(parents=True, exist_ok=True)
    drawn = [_draw(results, plot) for plot in results.experiment.plots]
    for each in drawn:
        (out / f"{each.plot.name}.svg").write_text(each.svg, encoding="utf-8")
        (out / f"{each.plot.name}.png").write_bytes(each.png)
    (out / "results.csv").write_text(as_csv(results), encoding="utf-8")
    page = out / "report.html"
    write_atomically(page, html(results, drawn))
    return page


def html(results: Results, drawn: list[Drawn]) -> str:
    """Render the page."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("airwnd.reproduce"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["finding"] = lambda finding, check: words.finding_text(check, finding)
    environment.filters["place"] = words.place_text
    environment.filters["seconds"] = words.seconds_text
    experiment = results.experiment
    text = (experiment.folder / "scenario.toml").read_text(encoding="utf-8")
    claims = results.claims()
    return environment.get_template("page.html.j2").render(
        results=results,
        experiment=experiment,
        drawn=drawn,
        tables=[side_by_side(results, measure) for measure in experiment.measures],
        claims=claims,
        counts={verdict: sum(claim.verdict is verdict for claim in claims) for verdict in Verdict},
        classes={Verdict.HOLDS: "holds", Verdict.FAILS: "fails", Verdict.OPEN: "open"},
        scenario_text=text,
        duration=results.effort.changes.get("duration", tomllib.loads(text).get("duration")),
        engine=_native.ENGINE,
    )


def _draw(results: Results, plot: Plot) -> Drawn:
    with style.styled(salt=plot.name):
        figure = figures.draw(results, plot)
        return Drawn(plot, figures.svg(figure, plot.name), figures.png(figure))
