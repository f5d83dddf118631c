"""Broken and hostile files of an experiment: each gives one line, before anything is run or written."""

import json
import re
from collections import Counter
from pathlib import Path

import hypothesis
import pytest
from hypothesis import strategies as st

from airwnd import InputError
from airwnd.study.batch import Processes
from airwnd.study.reader import DEEPEST, LARGEST_FILE_MIB, LONGEST_TEXT, MAX_SEEDS
from airwnd.study.reproduce import report, runner
from airwnd.study.reproduce.design import Experiment

from .conftest import SMALL, Cli

EXPERIMENT = """\
title = "TITLE"
place = "Table 0"
seeds = 3
series = "50ms"
notes = ["On `airwnd`."]

[quick]
seeds = 1
set = { duration = "100ms" }

[[axis]]
name = "users"
label = "USERS"
key = "ue[0].count"
values = [2, 3]

[[axis]]
name = "method"
label = "Receive window"
[[axis.level]]
name = "drwa"
label = "DRWA"
set = { "flow[0].rwnd" = "drwa" }
[[axis.level]]
name = "auto"
label = "LEVEL"
set = { "flow[0].rwnd" = "autotuning" }
context = true

[[axis]]
name = "lambda"
label = "Lambda"
open = "The paper names none."
when = { method = ["drwa"] }
key = "flow[0].rwnd.lambda"
values = [1, 1.5]
shown = 1.5

[[measure]]
name = "rate"
label = "MEASURE"
unit = "UNIT"
value = "flows.goodput_kbps"
where = { group = ["flow"] }
statistic = "sum"
range = [0, 100000]
digits = 1

[[measure]]
name = "rtt"
label = "RTT"
unit = "ms"
value = "series.rtt_ms"
between = ["0s", "1s"]
digits = 0

[[plot]]
name = "lines"
title = "PLOT"
kind = "lines"
measure = "rate"
x = "users"
lines = "method"
levels = ["drwa"]
limits = [0, 10]

[[plot]]
name = "bars"
title = "Bars"
kind = "bars"
measure = "rtt"
x = "method"
panels = "users"
scale = "log"

[[plot]]
name = "frontier"
title = "Frontier"
kind = "frontier"
measure = "rate"
x = "rtt"
lines = "method"
at = { users = 2 }

[[plot]]
name = "queue"
title = "Queue"
kind = "time"
value = "series.queue_bytes"
at = { users = 2, method = "drwa" }
"""

CLAIMS = """\
[[claim]]
id = "T1"
note = "A note."

[[claim.check]]
text = "the rate"
expression = "rate(method='drwa') / max(1, rate(method='auto', users=previous) - 2)"
only = { users = [3] }
above = 0
tolerance = 0.5
because = "It has to be."
unit = "kbit/s"
digits = 2

[[claim.check]]
text = "the delay"
expression = "rtt()"
between = [0, 1000]
decides = false
"""

TABLE = """\
# Example, Table 0.
users,method,rate,rtt
2,drwa,900,20
2,auto,1000,
3,drwa,1900,1.5e2
"""

PAPER = """\
title = "On Nothing"
authors = "N. Obody"
year = 2019
doi = "10.1155/2019/3645717"
[[claim]]
id = "T1"
where = "Table 0"
text = "Something arrives"
"""

FILES = {
    "experiment.toml": EXPERIMENT,
    "claims.toml": CLAIMS,
    "paper.csv": TABLE,
    "../paper.toml": PAPER,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An experiment that uses most of what its files may hold."""
    folder = tmp_path / "experiments" / "example" / "table0"
    folder.mkdir(parents=True)
    (folder / "scenario.toml").write_text(SMALL, encoding="utf-8")
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def accepted(folder: Path) -> Experiment:
    """Perform the checks of `airwnd reproduce` before the first run."""
    experiment = Experiment.load(folder)
    runner.check(experiment, runner.Effort.of(experiment, None, quick=True))
    return experiment


def refusal(folder: Path) -> str:
    with pytest.raises(InputError) as caught:
        accepted(folder)
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


def test_the_unbroken_experiment_is_accepted(folder: Path) -> None:
    experiment = accepted(folder)
    assert [plot.name for plot in experiment.plots] == ["lines", "bars-2", "bars-3", "frontier", "queue"]
    assert len(experiment.paper_values) == 3


def _toml(text: str) -> str:
    return json.dumps(text)


# File, replaced text, replacement, and the message after the file's name.
BROKEN = {
    "out of the folder": (
        "experiment.toml",
        '"queue"',
        '"../../../ESCAPED"',
        "plot[3].name: expected a name of",
    ),
    "an absolute path": ("experiment.toml", '"queue"', '"/tmp/ESCAPED"', "plot[3].name: expected a name of"),
    "a long name": (
        "experiment.toml",
        '"queue"',
        f'"{"a" * 300}"',
        "plot[3].name: expected a string of length",
    ),
    "NUL": ("experiment.toml", '"queue"', '"a\\u0000b"', "plot[3].name: a text is one line without control"),
    "two lines": ("experiment.toml", "TITLE", "two\\nlines", "title: a text is one line without control"),
    "an escape": ("experiment.toml", "TITLE", "\\u001b[31m", "title: a text is one line without control"),
    "no XML": ("experiment.toml", "TITLE", "\\uffff", "title: a text is one line without control"),
    "a long title": (
        "experiment.toml",
        "TITLE",
        "a" * 201,
        "title: expected a string of length <= 200, found 'aaa",
    ),
    "a long text": (
        "experiment.toml",
        "On `airwnd`.",
        "a" * 10001,
        f"notes[0]: expected at most {LONGEST_TEXT}",
    ),
    "a long cause": (
        "claims.toml",
        'note = "A note."',
        f'cause = "{"a" * 241}"',
        "claim[0].cause: expected a string of length <= 240, found 'aaa",
    ),
    "case twins": (
        "experiment.toml",
        '"frontier"\ntitle',
        '"Lines"\ntitle',
        "two of [[plot]] are called `lines`",
    ),
    "many seeds": (
        "experiment.toml",
        "seeds = 3",
        f"seeds = {10**18}",
        f"seeds: expected an integer <= {MAX_SEEDS}",
    ),
    "many bits": (
        "experiment.toml",
        "seeds = 3",
        f"seeds = {2**63}",
        "seeds: expected an integer of at most 64",
    ),
    "many digits": (
        "experiment.toml",
        "seeds = 3",
        f"seeds = {'1' * 5000}",
        "expected an integer of at most 64 bits, found thou",
    ),
    "hexadecimal": (
        "experiment.toml",
        "seeds = 3",
        f"seeds = 0x{'f' * 5000}",
        "seeds: expected an integer of at",
    ),
    "a large number": (
        "experiment.toml",
        "limits = [0",
        "limits = [-1e308",
        "plot[0].limits[0]: expected a number up",
    ),
    "many settings": (
        "experiment.toml",
        "values = [2, 3]",
        f"values = {list(range(1, 1002))}",
        "axis[0].values: expected an array of length <= 1000, found [1, 2, 3",
    ),
    "a logarithm of 0": (
        "experiment.toml",
        "limits = [0, 10]",
        'limits = [0, 10]\nscale = "log"',
        "plot[0].limits: a",
    ),
    "no series": ("experiment.toml", 'series = "50ms"', "", "measure[1].value: it needs series"),
    "an interval of 0": ("experiment.toml", '"50ms"', '"0s"', "series: expected an interval above 0"),
    "a long interval": (
        "experiment.toml",
        '"50ms"',
        '"999999999999h"',
        "series: `999999999999h` is too large",
    ),
    "a column": (
        "experiment.toml",
        "flows.goodput_kbps",
        "flows.__class__",
        "measure[0].value: flows have no column",
    ),
    "a text as number": (
        "experiment.toml",
        "series.queue_bytes",
        "series.flow",
        "plot[3].value: `flow` of series is",
    ),
    "a function's name": (
        "experiment.toml",
        '"rate"\nlabel',
        '"max"\nlabel',
        "no axis and no measure can be called",
    ),
    "twice in where": (
        "experiment.toml",
        '["flow"]',
        '["a", "a"]',
        "measure[0].where: two of the values of `group`",
    ),
    "twice in when": (
        "experiment.toml",
        '["drwa"] }',
        '["drwa", "drwa"] }',
        "axis[2].when: two of the levels of",
    ),
    "twice in levels": (
        "experiment.toml",
        '["drwa"]\nlimits',
        '["drwa", "drwa"]\nlimits',
        "plot[0].levels: two of",
    ),
    "unknown rows": (
        "experiment.toml",
        "context = true",
        "where = { x = 1 }",
        "axis[1].level[1].where: `x` is not one of",
    ),
    "deep arrays": (
        "experiment.toml",
        "= [2, 3]",
        f"= {'[' * 5000}{']' * 5000}",
        "tables and arrays are nested more",
    ),
    "deep tables": (
        "experiment.toml",
        '"100ms" }',
        f"1 }}\n[{'a.' * 20000}a]",
        "tables and arrays are nested more",
    ),
    "too deep": (
        "experiment.toml",
        '"100ms"',
        f"{'[' * (DEEPEST - 1)}{']' * (DEEPEST - 1)}",
        "tables and arrays are nested more than",
    ),
    "binary": ("experiment.toml", "title", "\0\1", "Invalid statement (at line 1, column 1)"),
    "signs": (
        "claims.toml",
        '"rtt()"',
        f'"{"-" * 20000}1"',
        "claim[0].check[1].expression: expected at most 10000",
    ),
    "fewer signs": (
        "claims.toml",
        '"rtt()"',
        f'"{"-" * 1900}1"',
        "claim[0].check[1].expression: operations are nested",
    ),
    "a long sum": (
        "claims.toml",
        '"rtt()"',
        f'"{"1+" * 900}1"',
        "claim[0].check[1].expression: operations are nested",
    ),
    "a large constant": (
        "claims.toml",
        '"rtt()"',
        '"1e999 * rtt()"',
        "claim[0].check[1].expression: a number is greater",
    ),
    "a power": (
        "claims.toml",
        '"rtt()"',
        '"9**9**9"',
        "claim[0].check[1].expression: `9 ** 9 ** 9` is not allowed",
    ),
    "a truth": (
        "claims.toml",
        '"rtt()"',
        '"True * rtt()"',
        "claim[0].check[1].expression: `True` is not allowed",
    ),
    "an import": (
        "claims.toml",
        '"rtt()"',
        _toml("__import__('os').system('true')"),
        "claim[0].check[1].expression: `__import__('os').system('true')` is not allowed",
    ),
    "two levels": (
        "claims.toml",
        "auto', users",
        "auto', method",
        "claim[0].check[0].expression: `method='auto', method",
    ),
    "wide letters": (
        "claims.toml",
        '"rtt()"',
        '"\uff52tt()"',
        "claim[0].check[1].expression: `\uff52tt()`: '\uff52' is not allowed",
    ),
    "two absolutes": (
        "claims.toml",
        '"rtt()"',
        '"abs(rtt(), 1)"',
        "claim[0].check[1].expression: `abs(rtt(), 1)`: `abs`",
    ),
    "infinite": (
        "claims.toml",
        '"rtt()"',
        f'"0 * rtt() + {"1e100 * " * 4}1"',
        "claim[0].check[1].expression: it has no finite value",
    ),
    "a level that is none": (
        "claims.toml",
        "users = [3]",
        "users = [7]",
        "claim[0].check[0].only: users has no level 7; its levels are ",
    ),
    "an axis that is none": (
        "claims.toml",
        "only = { users = [3] }",
        "only = { speed = [3] }",
        "claim[0].check[0].only: there is no axis speed; the axes are ",
    ),
    "twice in only": (
        "claims.toml",
        "users = [3]",
        "users = [3, 3]",
        "claim[0].check[0].only: two of the levels of",
    ),
    "many decimals": (
        "claims.toml",
        "digits = 2",
        "digits = 500",
        "claim[0].check[0].digits: expected an integer <= 15",
    ),
    "a claim's HTML": (
        "claims.toml",
        '"T1"',
        '"<script>"',
        "claim[0].id: expected a name of letters, digits",
    ),
    "no table": ("paper.csv", TABLE, "", "expected a line of column names and a row for each setting"),
    "no rows": (
        "paper.csv",
        TABLE,
        "users,method,rate\n",
        "expected a line of column names and a row for each",
    ),
    "a short row": ("paper.csv", "2,auto,1000,", "2,auto,1000", "4: expected 4 fields, found 3"),
    "a long row": ("paper.csv", "2,auto,1000,", "2,auto,1000,,", "4: expected 4 fields, found 5"),
    "an empty row": ("paper.csv", "2,auto,1000,", "2,auto,,", "4: expected a number of at least one measure"),
    "a row twice": ("paper.csv", "2,auto", "2,drwa", "4: the setting 2, drwa is listed twice"),
    "a column twice": ("paper.csv", "rate,rtt", "rate,rate", "2: two of the columns are called `rate`"),
    "no column of an axis": ("paper.csv", "users,method", "method,users,lambda", "2: `lambda` is left open"),
    "no column of a measure": (
        "paper.csv",
        TABLE,
        "users,method\n2,drwa\n",
        "1: a column of a measure is missing",
    ),
    "a missing axis": (
        "paper.csv",
        TABLE,
        "users,rate\n2,1\n",
        "1: the column of the axis `method` is missing",
    ),
    "an unknown level": ("paper.csv", "3,drwa", "4,drwa", "5: users: `4` is not one of 2, 3"),
    "not a number": ("paper.csv", "900", "nan", "3: rate: expected a number up to 1e+100, found 'nan'"),
    "too large": ("paper.csv", "900", "1e999", "3: rate: expected a number up to 1e+100, found '1e999'"),
    "underscores": ("paper.csv", "900", "9_00", "3: rate: expected a number up to 1e+100, found '9_00'"),
    "an open quote": ("paper.csv", "900", '"900', "3: unexpected end of data"),
    "a long field": ("paper.csv", "900", "9" * 200_000, "3: expected at most 10000 characters, found 2000"),
    "a script as DOI": ("../paper.toml", "10.1155", "javascript:10.1155", "doi: expected a DOI, as in"),
    "a claim twice": (
        "../paper.toml",
        PAPER,
        PAPER + PAPER[PAPER.index("[[") :],
        "two of [[claim]] are called `T1`",
    ),
    "a late year": ("../paper.toml", "2019\n", "99999\n", "year: expected an integer <= 9999"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_file_gives_one_message(folder: Path, case: str) -> None:
    name, old, new, message = BROKEN[case]
    assert old in FILES[name]
    path = (folder / name).resolve()
    path.write_text(FILES[name].replace(old, new, 1), encoding="utf-8")
    found = refusal(folder)
    assert found.startswith((f"{path}: {message}", f"{path}:{message}"))
    assert len(found) < 1000


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (b"a = 1\nb = \xff\n", ":2: byte 0xff is not UTF-8"),
        (b"#" * ((LARGEST_FILE_MIB << 20) + 1), f": larger than {LARGEST_FILE_MIB} MiB"),
        (None, ": is a folder; expected a file"),
    ],
)
def test_a_binary_file_is_rejected(folder: Path, name: str, contents: bytes | None, message: str) -> None:
    path = (folder / name).resolve()
    path.unlink()
    if contents is None:
        path.mkdir()
    else:
        path.write_bytes(contents)
    assert refusal(folder).startswith(f"{path}{message}")


def test_a_byte_order_mark_and_other_line_ends_are_accepted(folder: Path) -> None:
    before = accepted(folder)
    assert before.paper_values
    for name, text in FILES.items():
        (folder / name).write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    after = accepted(folder)
    assert (after.title, after.space, after.plots) == (before.title, before.space, before.plots)
    assert after.paper_values == before.paper_values


@pytest.mark.parametrize("name", ["fig 1", "fig<b>", "-fig", "figä", "f" * 101])
def test_the_name_of_a_folder_is_an_anchor(folder: Path, name: str) -> None:
    found = refusal(folder.rename(folder.with_name(name)))
    assert ": the folder of an experiment: expected a name of letters, digits, _, - and ." in found
    folder.with_name(name).rename(folder)
    found = refusal(folder.parent.rename(folder.parent.with_name(name)) / folder.name)
    assert ": a folder of experiments: expected a name of letters, digits, _, - and ." in found


def test_too_many_runs_are_rejected(folder: Path, cli: Cli) -> None:
    done = cli("reproduce", folder, "--seeds", 10**18)
    assert done.returncode == 2
    message = f"airwnd: example/table0: 6 settings of {10**18} seeds each are over 1000000 runs\n"
    assert (done.stdout, done.stderr) == ("", message)


def test_all_papers_are_read_before_anything_runs(folder: Path, cli: Cli, tmp_path: Path) -> None:
    other = folder.parents[1] / "other" / "paper.toml"
    other.parent.mkdir()
    other.write_text("title = 5", encoding="utf-8")
    done = cli("reproduce", "example/table0", "--quick", "--out", "out")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"airwnd: {other}: title: expected a string, found 5\n"
    assert not (tmp_path / "out").exists()


MARKUP = r"</script><script>alert(1)</script><b>[/b] $\frac{ $ :smile: _"


def test_text_is_shown_literally(folder: Path, cli: Cli, tmp_path: Path) -> None:
    """On the terminal, in pictures and on pages, not as markup, formula or HTML."""
    for name in ("TITLE", "USERS", "LEVEL", "MEASURE", "PLOT", "UNIT"):
        path = folder / "experiment.toml"
        marked = name if name == "UNIT" else f"_{name} {MARKUP}"
        path.write_text(
            path.read_text(encoding="utf-8").replace(f'"{name}"', json.dumps(marked)), encoding="utf-8"
        )
    for name, word in (("claims.toml", "A note."), ("../paper.toml", "Something arrives")):
        path = folder / name
        path.write_text(path.read_text(encoding="utf-8").replace(f'"{word}"', json.dumps(word + MARKUP)))
    done = cli("reproduce", folder, "--quick", "--out", "out", "--jobs", "1")
    assert (done.returncode, done.stderr) == (0, "")
    assert MARKUP in " ".join(done.stdout.split())
    assert "LEVEL" in done.stdout
    for page in (tmp_path / "out" / "index.html", tmp_path / "out" / "example" / "index.html"):
        assert "<script>alert" not in page.read_text(encoding="utf-8")
        assert "&lt;script&gt;alert" in page.read_text(encoding="utf-8")
    text = (tmp_path / "out/example/index.html").read_text(encoding="utf-8")
    assert "_PLOT &lt;/script&gt;" in text
    # Text of a picture stands before its outlines, as a comment, and a word joiner before an underscore.
    picture = (tmp_path / "out/example/table0/lines.svg").read_text(encoding="utf-8")
    labels = re.findall(r"<!-- \u2060_MEASURE\s(.*?) -->", picture, flags=re.DOTALL)
    assert labels
    assert all(label.startswith("&lt;/script&gt;&lt;script&gt;") for label in labels)


# Hostile values for files of this kind.
HOSTILE = [
    "nan",
    "-inf",
    "1e999",
    "-1",
    "0",
    "1e308",
    "0x" + "f" * 5000,
    "9" * 5000,
    str(2**63),
    "true",
    "[]",
    "{}",
    '""',
    '"\\u0000"',
    '"\\u001b[31m"',
    '"../../x"',
    '"/etc/passwd"',
    '"$\\\\frac{"',
    '"<script>"',
    '"[/b]"',
    '"' + "a" * 11000 + '"',
    '"' + "-" * 3000 + '1"',
    '"' + "(" * 300 + "1" + ")" * 300 + '"',
    '"rate() / 0"',
    '"rate(users=previous, users=2)"',
    '"1e99 * 1e99 * rate()"',
    '"9**9**9"',
    "[" * 400 + "]" * 400,
    "{a=" * 40 + "1" + "}" * 40,
    "1979-05-27",
    "a" + ".a" * 500 + " = 1",
]
VALUE = re.compile(r'"[^"\n]*"|-?\d[\w.]*|\[[^\]\n]*\]|\{[^}\n]*\}|\w+')


def _broken(data: st.DataObject, contents: bytes) -> bytes:
    """Break a file: as bytes, as lines, or in its values."""
    how = data.draw(st.sampled_from(["bytes", "lines", "values", "values"]))
    if how == "bytes":
        raw = bytearray(contents)
        for _ in range(data.draw(st.integers(1, 4))):
            at = data.draw(st.integers(0, len(raw)))
            raw[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
        return bytes(raw[: data.draw(st.integers(0, len(raw)))] if data.draw(st.integers(0, 4)) == 0 else raw)
    text = contents.decode()
    if how == "lines":
        lines = text.split("\n")
        at, other = (data.draw(st.integers(0, len(lines) - 1)) for _ in range(2))
        lines[at : at + 1] = data.draw(
            st.sampled_from([[], [lines[at]] * 2, [lines[other]], [lines[other], lines[at]]])
        )
        return "\n".join(lines).encode()
    found = [match.span() for match in VALUE.finditer(text)]
    begin, end = data.draw(st.sampled_from(found))
    others = st.sampled_from(found).map(lambda span: text[slice(*span)])
    texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8).map(_toml)
    new = data.draw(st.sampled_from(HOSTILE) | others | texts | st.integers().map(str) | st.floats().map(str))
    return f"{text[:begin]}{new}{text[end:]}".encode()


def attack(folder: Path, inputs: int, *, run: bool = False) -> Counter[str]:
    """Break one or more files repeatedly: each experiment must be rejected in one line, or run to its end."""
    counts: Counter[str] = Counter()

    @hypothesis.settings(max_examples=inputs, database=None)
    @hypothesis.given(st.data())
    def attempt(data: st.DataObject) -> None:
        broken = data.draw(st.lists(st.sampled_from(sorted(FILES)), min_size=1, max_size=2, unique=True))
        for name, text in FILES.items():
            contents = text.encode()
            (folder / name).write_bytes(_broken(data, contents) if name in broken else contents)
        message = "example"
        experiment = None
        try:
            experiment = accepted(folder)
        except InputError as error:
            message = str(error)
        counts["accepted" if experiment else "refused"] += 1
        assert len(message.splitlines()) == 1
        assert "example" in message, "the message names the file"
        if run and experiment and len(list(experiment.settings())) * experiment.quick.seeds < 50:
            counts["run"] += 1
            effort = runner.Effort(
                1, quick=True, changes={"duration": "20ms", "warmup": "0s"}, specified=experiment.seeds
            )
            out = folder.parents[2] / "out"
            report.write(runner.reproduce(experiment, effort, out / experiment.name, Processes(1)), out)
            report.write_pages(out)

    attempt()
    return counts


def test_an_unknown_key_of_a_preview_is_named_with_its_file(folder: Path) -> None:
    path = folder / "experiment.toml"
    path.write_text(
        path.read_text(encoding="utf-8").replace("set = { duration", "set = { uration"), encoding="utf-8"
    )
    with pytest.raises(InputError, match=r"experiment\.toml: quick\.set: uration=.*: unknown key `uration`"):
        accepted(folder)


def test_any_broken_file_gives_one_line(folder: Path) -> None:
    counts = attack(folder, 200)
    assert counts["refused"] > counts["accepted"] > 0


@pytest.mark.nightly
def test_many_broken_files_give_one_line_each(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counts = attack(folder, 10_000)
    with capsys.disabled():
        print(f"\nbroken experiments: {counts.total()} inputs, {dict(counts)}")  # noqa: T201


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore:Glyph .* missing from font")  # of random titles
def test_an_accepted_experiment_runs_to_its_end(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counts = attack(folder, 300, run=True)
    with capsys.disabled():
        print(f"\nbroken experiments: {counts['run']} accepted ones run and drawn")  # noqa: T201
    assert counts["run"] > 0
