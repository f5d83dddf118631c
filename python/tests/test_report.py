"""Pages of a reproduction in a browser, compared with the numbers that they show."""

import csv
import html
import json
import re
import shutil
from collections.abc import Iterator
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
import pytest
from playwright.sync_api import Page
from rich.console import Console

from airwnd import InputError
from airwnd.study.batch import Processes
from airwnd.study.reproduce import findings, report, search, terminal
from airwnd.study.reproduce.design import Experiment
from airwnd.study.reproduce.findings import Findings
from airwnd.study.reproduce.paper import Paper
from airwnd.study.reproduce.plot import Samples
from airwnd.study.reproduce.readings import Readings
from airwnd.study.reproduce.runner import Effort, Results, reproduce
from airwnd.study.reproduce.words import effort_text
from airwnd.study.statistics import MIN_SEEDS

from .browser import OpenPage, Shoot
from .conftest import CLAIMS, TABLE0, nightly, write_experiment

NAME = "example/table0"
PICTURE = "document.querySelector('#table0-throughput img')"

PAPER = """
title = "A paper that was never written"
authors = "N. N."
year = 1999

[[claim]]
id = "T1"
where = "here"
text = "Something arrives"

[[claim]]
id = "T2"
where = "here"
text = "Nothing arrives"

[[claim]]
id = "T3"
where = "section 9"
text = "This is not judged"
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The small experiment, and its pages in `out`: one claim holds, one does not, one is not judged."""
    top = tmp_path_factory.mktemp("made")
    claims = re.sub(r'(id = "T\d"\n)text = .*\nsource = .*\n', r"\1", CLAIMS)
    folder = write_experiment(top, "table0", {**TABLE0, "claims.toml": claims})
    (folder.parent / "paper.toml").write_text(PAPER, encoding="utf-8")
    experiment = Experiment.load(folder)
    out = top / "out"
    effort = Effort.of(experiment, 3, quick=False)
    report.write(reproduce(experiment, effort, out / NAME, Processes(2)), out)
    report.write_pages(out, [Paper.load(folder.parent)])
    files = [(path, path.stat().st_mtime_ns) for path in sorted(top.rglob("*"))]
    yield top
    assert files == [(path, path.stat().st_mtime_ns) for path in sorted(top.rglob("*"))], (
        "shared by the tests"
    )


@pytest.fixture
def out(made: Path) -> Path:
    """The pages, which a test must not change."""
    return made / "out"


@pytest.fixture
def own(made: Path, tmp_path: Path) -> Path:
    """A copy of the experiment and of its pages."""
    return shutil.copytree(made, tmp_path / "own")


def stored(out: Path) -> Findings:
    found: Findings = json.loads((out / NAME / "results.json").read_text(encoding="utf-8"))
    return found


def test_tables_of_a_large_experiment_have_a_page(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def tables(page: Path) -> list[str]:
        return re.findall(r"<table>\n<caption>.*?</table>", page.read_text(encoding="utf-8"), re.DOTALL)

    paper, large = own / "out" / "example" / "index.html", own / "out" / NAME / report.TABLES
    here = tables(paper)
    assert here
    assert not large.exists()
    monkeypatch.setattr(report, "MAX_CELLS", 0)
    report.write_pages(own / "out")
    assert (tables(paper), tables(large)) == ([], here)
    assert f'href="{large.relative_to(paper.parent)}"' in paper.read_text(encoding="utf-8")


def test_no_link_is_broken(out: Path) -> None:
    pages = [out / "index.html", out / "example" / "index.html"]
    texts = {page.resolve(): html.unescape(page.read_text(encoding="utf-8")) for page in pages}
    names = {page: re.findall(r'\bid="([^"]*)"', text) for page, text in texts.items()}
    for page, text in texts.items():
        assert len(names[page]) == len(set(names[page])), page
        links = re.findall(r'\b(?:href|src)="([^"]*)"', text)
        assert links
        for link in links:
            file, _, name = link.partition("#")
            target = (page.parent / file).resolve() if file else page
            assert target.is_file(), link
            assert not name or name in names[target], link


def test_the_page_is_complete(out: Path) -> None:
    text = (out / "example" / "index.html").read_text(encoding="utf-8")
    for wanted in ("A paper that was never written", "1900.0", "It does.", 'duration = "1s"'):
        assert wanted in html.unescape(text), wanted


def claims(page: Page, which: str = ".claims tbody") -> dict[str, str]:
    """Return the claims on a page with their verdicts."""
    return {
        row.locator(".id").text_content() or "": row.locator(".verdict").text_content() or ""
        for row in page.locator(which).all()
    }


def test_the_index_leads_to_the_claim(out: Path, open_page: OpenPage, shoot: Shoot) -> None:
    page = open_page(out / "index.html")
    assert claims(page) == {"T1": "holds", "T2": "does not hold", "T3": "not judged"}
    assert claims(page, ".claims tbody:visible") == {"T1": "holds", "T2": "does not hold"}, (
        "the rest is folded"
    )
    shoot(page, "index", whole=True)
    page.get_by_role("button", name="does not hold").click()
    assert list(claims(page, ".claims tbody:not([hidden])")) == ["T1", "T3"]
    page.locator("#search").fill("something")
    assert page.locator(".claims tbody:visible").count() == 1
    assert page.locator("#shown").inner_text() == "1 of 3 claims"
    page.locator(".claims tbody:visible a").click()
    page.wait_for_url("**/example/index.html#table0-T1")
    assert "Something arrives" in page.locator("#table0-T1").inner_text()


def test_a_search_expands_its_matches(out: Path, open_page: OpenPage) -> None:
    page = open_page(out / "index.html")
    page.locator("#search").fill("not judged")
    assert list(claims(page, ".claims tbody:visible")) == ["T3"]
    page.locator("#search").fill("")
    assert list(claims(page, ".claims tbody:visible")) == ["T1", "T2"]


def test_claims_come_before_pictures(out: Path, open_page: OpenPage) -> None:
    page = open_page(out / "index.html")
    claim, picture = (
        page.locator(which).first.bounding_box() for which in (".claims tbody", ".thumbnails img")
    )
    assert claim
    assert picture
    assert claim["y"] + claim["height"] <= picture["y"]


@pytest.mark.parametrize("name", ["index.html", "example/index.html"])
@pytest.mark.parametrize("scheme", [nightly("light"), "dark"])
def test_pages_fit_a_phone(
    out: Path, open_page: OpenPage, shoot: Shoot, name: str, scheme: Literal["light", "dark"]
) -> None:
    page = open_page(out / name, width=390)
    page.emulate_media(color_scheme=scheme)
    if page.locator("figure").count():
        page.locator("#table0-throughput").scroll_into_view_if_needed()
        page.wait_for_function(f"{PICTURE}.naturalWidth > 0")
    for details in page.locator("details").all():
        details.evaluate("element => element.open = true")
    shoot(page, f"{name.replace('/', '-')}-390-{scheme}", whole=True)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    boxes = ".verdict, h1, h2, h3, h4, p, figure img, summary"
    wide = page.evaluate(
        """boxes => [...document.querySelectorAll(boxes)]
            .filter((element) => !element.closest(".scroll") && element.getBoundingClientRect().right > 390)
            .map((element) => element.outerHTML)""",
        boxes,
    )
    assert wide == []
    ground, ink = page.evaluate(
        "(style => [style.backgroundColor, style.color])(getComputedStyle(document.body))"
    )
    lightness = [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in (ground, ink)]
    assert (lightness[0] < lightness[1]) is (scheme == "dark")


def test_pictures_follow_the_colours_of_the_system(out: Path, open_page: OpenPage) -> None:
    page = open_page(out / "example" / "index.html")
    for scheme, is_inverted in (("dark", True), ("light", False)):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]  # a variable is no literal
        assert (page.evaluate(f"getComputedStyle({PICTURE}).filter") != "none") is is_inverted
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate(f"getComputedStyle({PICTURE}).filter") == "none", "paper is white"


def test_a_page_is_small_and_loads_pictures_near_the_viewport(out: Path, open_page: OpenPage) -> None:
    page = open_page(out / "example" / "index.html", width=390, height=300)
    assert page.get_attribute("#table0-throughput img", "loading") == "lazy"
    page.locator("#table0-throughput").scroll_into_view_if_needed()
    page.wait_for_function(f"{PICTURE}.naturalWidth > 0")
    assert sum(path.stat().st_size for path in out.rglob("*.html")) < 200_000


@pytest.mark.parametrize("name", ["index.html", "example/index.html"])
def test_headings_are_in_order(out: Path, open_page: OpenPage, name: str) -> None:
    page = open_page(out / name)
    levels = page.evaluate(
        "[...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].map(({ tagName }) => +tagName[1])"
    )
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_a_chart_shows_the_numbers_of_the_table(out: Path, open_page: OpenPage, shoot: Shoot) -> None:
    page = open_page(out / "example" / "index.html")
    shoot(page, "paper", whole=True)
    with (out / NAME / "results.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for method in ("drwa", "autotuning"):
        means = [
            sum(float(row["ours"]) for row in rows if (row["users"], row["method"]) == (users, method)) / 3
            for users in ("2", "3")
        ]
        (line,) = (line for line in stored(out)["charts"][0]["lines"] if line["label"].lower() == method)
        assert line["y"] == pytest.approx(means)
    table = page.locator("#table0 table").first
    cells = [
        cell.inner_text().split()[0] for cell in table.locator("td:not(.paper)").all() if cell.inner_text()
    ]
    shown = [cell["ours"] for _, row in stored(out)["tables"][0]["rows"] for cell in row]
    assert [text for text in cells if text in shown] == shown


def test_a_page_combines_experiments_run_separately(own: Path) -> None:
    out = own / "out"
    second = own / "experiments" / "example" / "table1"
    (second.parent / "table0").rename(second)
    experiment = Experiment.load(second)
    effort = Effort.of(experiment, 1, quick=True)
    report.write(reproduce(experiment, effort, out / "example" / "table1", Processes(1)), out)
    report.write_pages(out)
    text = (out / "example" / "index.html").read_text(encoding="utf-8")
    assert 'id="table0-T1"' in text
    assert 'id="table1-T1"' in text
    claims = findings.verdicts(findings.read_all(out))
    assert [claim["verdict"] for _, claim in claims["T1"]] == ["holds", "preview: agrees so far"]


def test_verdicts_of_two_reproductions_compare_by_diff(out: Path) -> None:
    rows = list(csv.reader((out / "verdicts.csv").read_text(encoding="utf-8").splitlines()))
    judged = ["experiment", "there", "set-ups", "effort", "seeds"]
    number = ["check", "place", "ours", "printed", "required"]
    first, second = (claim["decisive"]["ours"] for claim in stored(out)["claims"])
    by = [NAME, "holds", "", "full, 3 seeds", "3"]
    value = ["throughput", "users = 2, method = autotuning", first, "1000.0", "> 0 kbit/s"]
    refuted_by = [NAME, "does not hold", "", "full, 3 seeds", "3"]
    refuting = ["throughput", "users = 3, method = autotuning", second, "", "< 0.001 kbit/s"]
    assert rows == [
        ["paper", "claim", "where", "verdict", *judged, *number],
        ["example", "T1", "here", "holds", *by, *value],
        ["example", "T2", "here", "does not hold", *refuted_by, *refuting],
        ["example", "T3", "section 9", "not judged", *[""] * 10],
    ]


def test_the_index_has_the_verdict_at_the_likeliest_set_up(own: Path, open_page: OpenPage) -> None:
    out, heads = own / "out", "experiment,claim,at_the_likeliest"
    published = own / report.LIKELIEST
    published.write_text(f"{heads}\n{NAME},T1,holds\n{NAME},T2,too close to tell\n", encoding="utf-8")
    searched = out / "example" / report.LIKELIEST_OF_PAPER
    searched.write_text(f"{heads}\n{NAME},T1,does not hold\n", encoding="utf-8")
    report.write_pages(out, published=published)
    page = open_page(out / "index.html")
    column = page.locator(".claims tbody td[data-head='At the likeliest set-up']")
    assert column.all_inner_texts() == ["does not hold", "too close to tell"], "its own search counts first"


@pytest.mark.parametrize(
    ("seeds", "quick", "preview", "full", "said"),
    [
        (3, False, False, True, "full, 3 seeds"),
        (5, False, False, True, "full, 5 seeds"),
        (2, False, True, False, "preview, 2 of 3 seeds"),
        (None, True, True, False, "preview, 1 of 3 seeds, shortened"),
        (4, True, True, False, "preview, 4 seeds, shortened"),
    ],
)
def test_only_full_runs_with_three_seeds_give_verdicts(
    folder: Path, seeds: int | None, quick: bool, preview: bool, full: bool, said: str
) -> None:
    effort = Effort.of(Experiment.load(folder), seeds, quick=quick)
    assert (effort.preview, effort.full, effort_text(effort)) == (preview, full, said)


def test_verdicts_of_fewer_seeds_show_their_number(folder: Path) -> None:
    path = folder / "experiment.toml"
    path.write_text(path.read_text(encoding="utf-8").replace("seeds = 3", "seeds = 20"), encoding="utf-8")
    effort = Effort.of(Experiment.load(folder), 5, quick=False)
    assert (effort.preview, effort.full, effort_text(effort)) == (False, False, "5 of 20 seeds")


@pytest.mark.parametrize(("seeds", "shown"), [(1, False), (3, True)])
def test_notes_on_numbers_and_causes_are_shown_only_with_a_full_run(
    folder: Path, tmp_path: Path, seeds: int, shown: bool
) -> None:
    path = folder / "experiment.toml"
    notes = 'notes = ["On the paper."]\nnotes_full = ["Ours is 7."]\n'
    path.write_text(notes + path.read_text(encoding="utf-8"), encoding="utf-8")
    claims = folder / "claims.toml"
    text = claims.read_text(encoding="utf-8").replace(
        'note = "It does."', 'note = "It does."\nnote_full = "9."\ncause = "UEs `receive`."'
    )
    claims.write_text(text, encoding="utf-8")
    experiment = Experiment.load(folder)
    results = reproduce(experiment, Effort.of(experiment, seeds, quick=False), tmp_path, Processes(2))
    found = findings.gather(results)
    assert found["notes"] == ["On the paper."] + ["Ours is 7."] * shown
    assert found["claims"][1]["notes"] == ["It does."] + ["9."] * shown
    said = StringIO()
    terminal.show(results, Console(file=said, width=100))
    assert "It does." in said.getvalue()
    assert ("9." in said.getvalue().split("It does.")[1]) is shown
    assert found["claims"][1]["cause"] == ("UEs `receive`." if shown else "")
    assert ("Why: UEs `receive`." in said.getvalue()) is shown
    root = tmp_path / "pages"
    report.write(results, root)
    report.write_pages(root)
    for page in ("index.html", "example/index.html"):
        words = "UEs <code>receive</code>."
        assert (words in (root / page).read_text(encoding="utf-8")) is shown


def test_a_preview_shows_no_interval_and_no_verdict(folder: Path, tmp_path: Path) -> None:
    experiment = Experiment.load(folder)
    results = reproduce(experiment, Effort.of(experiment, 2, quick=False), tmp_path / NAME, Processes(2))
    found = report.write(results, tmp_path)
    report.write_pages(tmp_path)
    text = json.dumps(found)
    assert not re.search(r"holds|does not hold|±|95 %", text)
    (chart,) = found["charts"]
    assert all(end is None for line in chart["lines"] for end in (*line["low"], *line["high"]))
    page = (tmp_path / "example" / "index.html").read_text(encoding="utf-8")
    assert "A preview gives no verdict" in page
    assert "95 % interval</th>" not in page
    assert "1 experiment in preview" in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_invalid_results_are_rejected(own: Path) -> None:
    out = own / "out"
    (out / NAME / "results.json").write_text("{}", encoding="utf-8")
    with pytest.raises(
        InputError, match=r"results\.json: not the results of a reproduction; remove the file"
    ):
        report.write_pages(out)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('id = "T1"', 'id = "T9"', "claims.toml: claim.0..id: the paper makes no claim T9; .* T1, T2, T3"),
        ('id = "T1"\n', 'id = "T1"\ntext = "x"\n', "claim.0..text: paper.toml has it for claim T1"),
    ],
)
def test_a_claim_must_be_in_the_paper(own: Path, old: str, new: str, message: str) -> None:
    folder = own / "experiments" / NAME
    path = folder / "claims.toml"
    path.write_text(path.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError, match=message.replace(".0.", r"\[0\]")):
        Experiment.load(folder)


def made_up(experiment: Experiment) -> Results:
    """Return synthetic results of an experiment: random numbers, and series of realistic length."""
    random = np.random.default_rng(1)
    keys = [axis.name for axis in experiment.axes]
    effort = Effort.of(experiment, MIN_SEEDS, quick=False)
    rows = [
        {
            **dict(zip(keys, setting, strict=True)),
            "seed": seed,
            **{measure.name: random.uniform(1, 1000) for measure in experiment.measures},
        }
        for setting in experiment.settings()
        for seed in range(1, MIN_SEEDS + 1)
    ]
    values = pl.DataFrame(rows)
    series = pl.DataFrame({"time_s": np.arange(1000) / 10, "value": random.uniform(0, 1e5, 1000)})
    samples = {
        plot.name: values.filter(pl.col("seed") == 1).select(*keys, "seed").join(series, how="cross")
        for plot in experiment.plots
        if isinstance(plot.contents, Samples)
    }
    return Results(experiment, effort, Readings(tuple(keys), values, samples), len(rows), 1.0, 1.0, 0, 1)


@pytest.mark.nightly
def test_no_page_of_a_paper_is_large(tmp_path: Path) -> None:
    for folder in search.find_all():
        found = findings.gather(made_up(Experiment.load(folder)))
        (tmp_path / found["name"]).mkdir(parents=True)
        findings.write(found, tmp_path / found["name"])
    report.write_pages(tmp_path, search.papers())
    sizes = {path: path.stat().st_size for path in tmp_path.rglob("*.html")}
    assert len(sizes) > len(search.papers())
    assert {path: size for path, size in sizes.items() if size >= 1_000_000} == {}
