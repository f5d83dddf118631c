"""``airwnd evaluate``: suites, answers, the report, its verification, and messages."""

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import numpy as np
import pytest

from airwnd.study.batch import Finished, Report, Store, Task
from airwnd.study.evaluate import board, page, report
from airwnd.study.evaluate.candidate import parse
from airwnd.study.evaluate.contest import Contest
from airwnd.study.evaluate.evaluation import Effort, Evaluator
from airwnd.study.evaluate.judge import Answer, Check, checks_of, judge, with_extremes
from airwnd.study.evaluate.suite import Suite, included
from airwnd.study.reproduce.expression import Values
from airwnd.support.seal import sealed

from .browser import OpenPage, Shoot
from .conftest import Cli, script

HERE = Path(__file__).parent

SMALL = """
name = "small"
title = "A small suite"
source = "the tests"
candidates = ["sender", "receiver"]
standard = ["newreno", "cubic"]
against = ["cubic"]
seeds = 3

[[scenario]]
id = "pair"
text = "Two flows."
series = "100ms"
run.duration = "2s"
run.link = [{ name = "bottleneck", rate = "4Mbps", delay = "20ms", queue = 20, jitter = { time = "1ms" } }]
run.ue = [{}]
run.flow = [{ id = "candidate" }, { id = "beside" }]
setting = [
  { name = "near", text = "near" },
  { name = "far", text = "far away", changes = { "link[0].delay" = "40ms" } },
]

[[scenario.measure]]
name = "rate"
label = "Goodput"
unit = "kbit/s"
digits = 0
value = "groups.goodput_kbps"
where = { group = "candidate" }

[[scenario.measure]]
name = "slowest"
label = "Slowest"
unit = "kbit/s"
digits = 0
value = "series.rate_kbps"
where = { group = ["candidate", "beside"] }
statistic = "min"
each = "flow"

[[criterion]]
id = "carries"
section = "1"
title = "Carries data"
level = "must"
text = "Data arrives."
[[criterion.check]]
scenario = "pair"
text = "Goodput"
expression = "rate()"
above = 100
unit = "kbit/s"
because = "a fortieth of the capacity"
[[criterion.check]]
scenario = "pair"
text = "Goodput of the slowest flow, per that of the lower standard"
expression = "slowest() / slowest(who='lowest')"
below = 0.5
digits = 2
decides = false
because = "for information"

[[criterion]]
id = "impossible"
section = "2"
title = "Carries more than the link does"
level = "should"
text = "Nothing can."
[[criterion.check]]
scenario = "pair"
text = "Goodput far away"
expression = "rate()"
above = 1e6
only = { setting = ["far"] }
because = "more than the capacity"

[[criterion]]
id = "words"
section = "3"
title = "A statement"
level = "special"
text = "The specification says so."
not_evaluated = "A statement."
"""


class Inline:
    """Workers without processes."""

    jobs = 1

    def __init__(self) -> None:
        self.runs = 0

    def carry_out(self, tasks: Sequence[Task], to: Report) -> None:
        for index, task in enumerate(tasks):
            self.runs += 1
            try:
                result: Finished = task.carry_out()
            except ValueError as error:
                to.failed(index, error)
            else:
                to.finished(index, result)


@pytest.fixture
def inline(monkeypatch: pytest.MonkeyPatch) -> Inline:
    """Commands run their tasks in this process, and remember how many."""
    workers = Inline()
    monkeypatch.setattr("airwnd.cli.evaluate.workers", lambda *_: workers)
    return workers


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """The small suite as a file."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, report.Report]:
    """The report of CUBIC in the small suite, and its folder."""
    folder = tmp_path_factory.mktemp("evaluated")
    (folder / "small.toml").write_text(SMALL, encoding="utf-8")
    contest = Contest.of(Suite.load(str(folder / "small.toml")), parse("cubic"))
    evaluator = Evaluator(contest, Store(folder / "runs"), Inline())
    found = report.gather([report.Done(contest, evaluator.results(Effort()), evaluator.counts)])
    report.write(found, folder)
    return folder, found


def answers(found: report.Report) -> dict[str, str]:
    return {criterion.id: criterion.answer for _, criterion in found.criteria()}


@pytest.mark.parametrize("name", included())
def test_the_included_suites_are_valid(name: str) -> None:
    loaded = Suite.load(name)
    candidate = "aqm:codel" if loaded.entry.candidates == ("queue",) else "cubic"
    contest = Contest.of(loaded, parse(candidate))
    contest.check_suite()
    for criterion in loaded.entry.criterion:
        for check in checks_of(contest, criterion):
            assert check.places(), f"{criterion.id}: {check.entry.text} is evaluated nowhere"
    used = {check.scenario for criterion in loaded.entry.criterion for check in criterion.check}
    assert used == set(loaded.scenarios)


def test_a_sender_with_ecn_feedback_of_its_own_keeps_it() -> None:
    contest = Contest.of(Suite.load("rfc9743"), parse("prague"))
    entry = contest.suite.scenarios["aqm"]
    for point in contest.points(entry):
        flow = contest.scenario(entry, point).resolved["flow"][0]
        if point.setting.endswith("-ecn"):
            assert flow["tcp"].get("ecn") == (None if point.who == "candidate" else "classic"), point


def test_rfc9743_has_every_criterion_in_the_order_of_the_rfc() -> None:
    sections = [
        *(f"5.1.{number}" for number in range(1, 6)),
        *("5.2", "5.2.1", "5.2.2", "5.2.3", "5.3.1", "5.3.2"),
        *(f"6.{number}" for number in range(1, 5)),
        *(f"7.{number}" for number in range(1, 12)),
    ]
    criteria = Suite.load("rfc9743").entry.criterion
    assert [each.section for each in criteria] == sections
    # Section 5.3 is about documents: 23 of the sections are about behaviour.
    behaviour = [each for each in criteria if each.section != "5.2" and not each.section.startswith("5.3")]
    assert len(behaviour) == 23
    assert sum(bool(each.check) for each in behaviour) >= 20


def test_nine_tenths_of_the_scenarios_of_rfc7928_are_run() -> None:
    """The table of its section 13, which requires a discussion or a scenario of each."""
    levels = {
        **dict.fromkeys(("4.5", "5.1", "5.2", "5.3", "6.2", "7.2", "8.2.5", "8.2.6"), "must"),
        **dict.fromkeys(("4.6", "8.3", "9.1"), "should"),
        **dict.fromkeys(("5.4", "9.2", "10.2"), "may"),
    }
    criteria = Suite.load("rfc7928").entry.criterion
    assert len(criteria) == 19
    found = {}
    for section, level in levels.items():
        parts = [each for each in criteria if f"{each.section}.".startswith(f"{section}.")]
        assert {each.level for each in parts} == {level}, section
        found[section] = all(each.check for each in parts)
    assert sum(found.values()) >= 0.9 * len(found)


def test_the_coverage_names_every_criterion() -> None:
    rows = script("parts").coverage().splitlines()[2:]
    criteria = [(name, each) for name in included() for each in Suite.load(name).entry.criterion]
    assert len(rows) == len(criteria)
    for row, (name, criterion) in zip(rows, criteria, strict=True):
        assert row.startswith(f"| `{name}` | {criterion.id} | ")
        assert all(f"`{check.scenario}`" in row for check in criterion.check), row
        assert criterion.not_evaluated in row


def test_an_evaluation_answers_each_criterion(done: tuple[Path, report.Report]) -> None:
    _, found = done
    assert answers(found) == {"carries": "meets", "impossible": "does not", "words": "not evaluated"}
    criteria = {criterion.id: criterion for _, criterion in found.criteria()}
    assert criteria["words"].reason == "A statement."
    goodput, slowest = criteria["carries"].checks
    assert [(each.beside, each.setting) for each in goodput.results] == [("cubic", "near"), ("cubic", "far")]
    assert set(goodput.results[0].references) == {"newreno", "cubic"}
    assert goodput.results[0].references["cubic"] == goodput.results[0].figure
    assert len(goodput.results[0].values) == 3
    # CUBIC is one of the standards: its figure is at least the lower one.
    assert slowest.answer == "does not"
    assert all(value is not None and value >= 1 for value in slowest.results[0].values)
    assert [each.setting for each in criteria["impossible"].checks[0].results] == ["far"]


def test_the_report_has_the_published_schema(done: tuple[Path, report.Report], cli: Cli) -> None:
    folder, _ = done
    schema = json.loads(cli("schema", "report").stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(json.loads((folder / report.JSON).read_bytes()))
    jsonschema.Draft202012Validator.check_schema(json.loads(cli("schema", "suite").stdout))


def test_two_evaluations_are_the_same_bytes_and_a_third_runs_nothing(
    small: Path, cli: Cli, inline: Inline, done: tuple[Path, report.Report]
) -> None:
    first = cli("evaluate", "cubic", "--suite", small, "--out", "a")
    assert first.returncode == 0, first.stderr
    assert re.search(r"impossible +does not +Carries more than the link does \(SHOULD\)", first.stdout)
    runs = inline.runs
    assert cli("evaluate", "cubic", "--suite", small, "--out", "a").returncode == 0
    assert inline.runs == runs
    written = (small.parent / "a" / "cubic" / report.JSON).read_bytes()
    assert written == (done[0] / report.JSON).read_bytes()


@pytest.mark.usefixtures("inline")
def test_the_number_of_seeds_is_chosen(small: Path, cli: Cli) -> None:
    assert cli("evaluate", "cubic", "--suite", small, "--seeds", "4").returncode == 0
    path = small.parent / "out" / "evaluate" / "cubic" / report.JSON
    found = report.read(path)
    assert {each.id: each.seeds for _, each in found.criteria()} == {
        "carries": 4,
        "impossible": 4,
        "words": 0,
    }
    again = cli("evaluate", "--verify", path, "--suite", small)
    assert "3 rows again, the same bytes" in again.stdout
    few = cli("evaluate", "cubic", "--suite", small, "--seeds", "2")
    assert (few.returncode, few.stderr.count("\n")) == (2, 1)


def test_candidates_share_the_runs_of_references(small: Path, cli: Cli, inline: Inline) -> None:
    cli("evaluate", "cubic", "--suite", small)
    before = inline.runs
    cli("evaluate", "vegas", "--suite", small)
    assert inline.runs - before == 2 * 3  # two settings, three seeds


def test_a_report_is_verified(
    small: Path, cli: Cli, inline: Inline, done: tuple[Path, report.Report], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = done[0] / report.JSON
    again = cli("evaluate", "--verify", path, "--suite", small)
    assert (again.returncode, inline.runs) == (0, 12)
    assert "3 rows again, the same bytes" in again.stdout

    def after(before: str, now: str) -> str:
        assert SMALL.count(before) == 1
        small.write_text(SMALL.replace(before, now), encoding="utf-8")
        found = cli("evaluate", "--verify", path, "--suite", small)
        assert found.returncode == 1
        return found.stdout

    threshold = after("above = 1e6", "above = 1")
    assert "small/impossible: threshold of `Goodput far away`: > 1e+06, now > 1" in threshold
    assert "carries" not in threshold
    scenario = after('"link[0].delay" = "40ms"', '"link[0].delay" = "50ms"')
    assert "small/carries: scenario pair has changed" in scenario
    assert "small/impossible: figures of `Goodput far away` differ" in scenario
    small.write_text(SMALL, encoding="utf-8")
    monkeypatch.setattr("airwnd._native.ENGINE", "another")
    engine = cli("evaluate", "--verify", path, "--suite", small)
    assert engine.returncode == 1
    assert engine.stdout.startswith("the engine is another one: ")


@pytest.mark.usefixtures("inline")
def test_a_changed_candidate_is_found(small: Path, cli: Cli, tmp_path: Path) -> None:
    code = tmp_path / "mine.py"
    text = (HERE / "sabotaged.py").read_text(encoding="utf-8")
    code.write_text(text, encoding="utf-8")
    words = ("evaluate", "mine.py:Sound", "--suite", small)
    assert cli(*words).returncode == 0
    path = next((tmp_path / "out" / "evaluate").glob("mine*/report.json"))
    assert str(tmp_path) not in path.read_text(encoding="utf-8")
    refused = cli("evaluate", "--verify", path, "--suite", small)
    assert refused.stderr.endswith(f"write airwnd evaluate mine.py:Sound --verify {path}\n")
    assert cli(*words, "--verify", path).returncode == 0
    code.write_text(text.replace("decrease = 0.5", "decrease = 0.7"), encoding="utf-8")
    changed = cli(*words, "--verify", path)
    assert changed.returncode == 1
    assert "the candidate mine.py:Sound has changed" in changed.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("cubicc",), "cubicc: unknown sender; did you mean `cubic`?"),
        (("rwnd:standin",), "rwnd:standin: unknown receiver; did you mean `standing`?"),
        (("nothere.py:Mine",), "nothere.py:Mine: there is no file nothere.py"),
        (
            ("cubic", "--suite", "rfc9999"),
            "--suite rfc9999: unknown suite; included: bbr-draft, cellular, rfc7928, rfc9743",
        ),
        (("cubic", "--suite", "rfc7928"), "cubic is a sender, suite rfc7928 evaluates a queue"),
        (("aqm:codel", "--suite", "cellular"), "aqm:codel is a queue, suite cellular evaluates a sender"),
        (("cubic", "--only", "9.9"), "--only 9.9: no criterion"),
        (("cubic", "--against", "cubicc"), "cubicc: unknown sender"),
        (("cubic", "--set", "beta2=0.5"), "unknown key `beta2`"),
        (("cubic", "--budget", "soon"), "budget"),
        ((), "Name a candidate"),
    ],
)
def test_mistakes_are_one_line(words: tuple[str, ...], message: str, cli: Cli) -> None:
    found = cli("evaluate", *words)
    assert found.returncode == 2
    assert message in found.stderr
    assert found.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Raises", r"sabotaged\.py:\d+: Raises\.on_ack: ZeroDivisionError: on purpose"),
        ("Hangs", r"sabotaged\.py:\d+: Hangs\.on_ack: did not return within 0\.2 s"),
        ("NotANumber", r"sabotaged\.py: NotANumber\.on_ack: cwnd_bytes is nan"),
        ("Infinite", r"sabotaged\.py: Infinite\.on_ack: cwnd_bytes is inf; it must be a number of bytes"),
        ("Negative", r"sabotaged\.py: Negative\.on_ack: cwnd_bytes is -1; it must be a number of bytes"),
        ("Text", r"sabotaged\.py: Text\.on_ack: cwnd_bytes is 'large'; it must be a number of bytes"),
        ("Exits", r"sabotaged\.py:\d+: Exits\.on_ack: SystemExit: 3"),
    ],
)
def test_code_that_fails_is_one_line(name: str, message: str, small: Path, cli: Cli, inline: Inline) -> None:
    found = cli("evaluate", f"{HERE}/sabotaged.py:{name}", "--suite", small, "--plugin-timeout", "200ms")
    assert found.returncode == 2
    assert re.search(message, found.stderr)
    assert found.stderr.count("\n") == 1
    assert inline.runs == 1  # not each run waits for code that hangs


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "Forks",
            r"sabotaged\.py:\d+: Forks\.on_ack: RuntimeError: a process that executes runs cannot be forked",
        ),
        ("Ends", r"sabotaged\.py:Ends ended the process that ran it, with exit code 7"),
    ],
)
def test_code_that_harms_its_process_is_one_line(name: str, message: str, small: Path, cli: Cli) -> None:
    found = cli("evaluate", f"{HERE}/sabotaged.py:{name}", "--suite", small, "--jobs", "1")
    assert (found.returncode, found.stdout) == (2, "")
    assert re.search(message, found.stderr)
    assert found.stderr.count("\n") == 1


def test_what_code_prints_is_not_shown(small: Path, cli: Cli, capfd: pytest.CaptureFixture[str]) -> None:
    found = cli(
        "evaluate", f"{HERE}/sabotaged.py:Prints", "--suite", small, "--only", "carries", "--jobs", "1"
    )
    assert (found.returncode, found.stderr) == (0, "")
    assert "xxx" not in found.stdout
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text[: len(text) // 2], "not a report of airwnd evaluate, or changed since"),
        (
            lambda text: text.replace('"meets"', '"does not"', 1),
            "not a report of airwnd evaluate, or changed",
        ),
        (lambda _: "{}", "not a report of airwnd evaluate"),
        (lambda _: "", "not a report of airwnd evaluate"),
        (lambda text: text * 2, "not a report of airwnd evaluate"),
    ],
)
def test_a_damaged_report_is_one_line(
    change: Any, message: str, done: tuple[Path, report.Report], cli: Cli, tmp_path: Path
) -> None:
    path = tmp_path / "damaged.json"
    path.write_text(change((done[0] / report.JSON).read_text(encoding="utf-8")), encoding="utf-8")
    found = cli("evaluate", "--verify", path)
    assert found.returncode == 2
    assert message in found.stderr
    assert found.stderr.count("\n") == 1


def _first(found: Any) -> Any:
    return found["suites"][0]["criteria"][0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda found: found.update(format="airwnd-evaluation-9", suites=3), "format airwnd-evaluation-9"),
        (lambda found: found.pop("format"), "missing required field `format`"),
        (lambda found: found.pop("engine"), "missing required field `engine`"),
        (lambda found: found.update(suites=[]), "length >= 1 - at `$.suites`"),
        (lambda found: found["suites"].append(found["suites"][0]), "two suites are called `small`"),
        (lambda found: found["suites"][0].update(criteria=[]), "length >= 1 - at `$.suites[0].criteria`"),
        (
            lambda found: found["suites"][0]["criteria"].append(_first(found)),
            "two criteria are called `carries` - at `$.suites[0]`",
        ),
        (lambda found: _first(found).update(seeds=-3), "`int` >= 0 - at `$.suites[0].criteria[0].seeds`"),
        (lambda found: _first(found).update(answer="perhaps"), "Invalid enum value 'perhaps'"),
        (
            lambda found: _first(found)["checks"].append(_first(found)["checks"][0]),
            "two checks are called `Goodput` - at `$.suites[0].criteria[0]`",
        ),
        (lambda found: _first(found)["checks"][0].update(results=[]), "checks[0].results`"),
        (
            lambda found: _first(found)["checks"][0]["results"].extend(_first(found)["checks"][0]["results"]),
            "two results are called `cubic, near`",
        ),
    ],
)
def test_a_report_with_other_rows_is_one_line(
    change: Any, message: str, done: tuple[Path, report.Report], cli: Cli, tmp_path: Path
) -> None:
    """Its digest is right: anyone can compute one."""
    found = msgspec.to_builtins(done[1])
    change(found)
    path = tmp_path / "edited" / report.JSON
    path.parent.mkdir()
    path.write_bytes(sealed(json.dumps(found)))
    for words in (("evaluate", "--verify", path), ("board", "edited")):
        refused = cli(*words)
        assert refused.returncode == 2
        assert message in refused.stderr
        assert refused.stderr.count("\n") == 1


def test_a_report_of_another_kind_of_candidate_differs(
    small: Path, done: tuple[Path, report.Report], cli: Cli, inline: Inline, tmp_path: Path
) -> None:
    other = msgspec.structs.replace(done[1].candidate, kind="queue")
    path = report.write(msgspec.structs.replace(done[1], candidate=other), tmp_path)
    found = cli("evaluate", "--verify", path, "--suite", small)
    assert (found.returncode, found.stdout) == (1, "the candidate cubic has changed\n")
    assert inline.runs > 0


@pytest.mark.parametrize(
    ("before", "now", "message"),
    [
        (
            'because = "more than the capacity"',
            "",
            "criterion[1].check[0].because: the reason for the thresh",
        ),
        ('level = "should"', 'level = "maybe"', "`maybe` is not one of may, must, should, special"),
        ('only = { setting = ["far"] }', 'only = { setting = ["fat"] }', "there is no setting fat"),
        ('expression = "slowest() /', 'expression = "slow() /', "`slow()`"),
        ("who='lowest'", "who='best'", "the levels of `who` are candidate, newreno, cubic, lowest, highest"),
        ('rate = "4Mbps"', 'rate = "4"', "scenario pair, setting near: "),
        ('{ id = "candidate" }, ', "", "scenario pair has no [[flow]] whose id begins with `candidate`"),
        (
            'not_evaluated = "A statement."',
            "",
            "criterion words needs a [[criterion.check]] or `not_evaluated`",
        ),
        ('each = "flow"', 'each = "packet"', "`packet` is not one of flow, row"),
        (
            'text = "Goodput of the slowest flow, per that of the lower standard"',
            'text = "Goodput"',
            "two of the checks of criterion carries are called `Goodput`",
        ),
    ],
)
def test_mistakes_in_a_suite_name_the_key(before: str, now: str, message: str, small: Path, cli: Cli) -> None:
    assert SMALL.count(before) == 1
    small.write_text(SMALL.replace(before, now), encoding="utf-8")
    found = cli("evaluate", "cubic", "--suite", small)
    assert found.returncode == 2
    assert message in found.stderr
    assert found.stderr.count("\n") == 1


def test_a_suite_is_copied_with_its_files(cli: Cli, tmp_path: Path) -> None:
    assert cli("evaluate", "--copy", "rfc9743", "mine").returncode == 0
    names = {path.name for path in (tmp_path / "mine").iterdir()}
    assert names == {
        "rfc9743.toml",
        *(f"{each}.rate" for each in ("break", "open", "outage", "step", "trickle")),
    }
    Contest.of(Suite.load(str(tmp_path / "mine" / "rfc9743.toml")), parse("cubic")).check_suite()
    assert "already there" in cli("evaluate", "--copy", "rfc9743", "mine").stderr


def test_without_time_nothing_is_run(small: Path, cli: Cli, inline: Inline) -> None:
    found = cli("evaluate", "cubic", "--suite", small, "--budget", "0s")
    assert (found.returncode, inline.runs) == (0, 0)
    assert "budget was used up" in found.stdout


@pytest.fixture
def goodput(done: tuple[Path, report.Report]) -> Check:
    """The check of the goodput far away."""
    contest = Contest.of(Suite.load(str(done[0] / "small.toml")), parse("cubic"))
    return checks_of(contest, contest.suite.criteria["impossible"])[0]


def judged(check: Check, values: dict[str, list[float]]) -> tuple[Answer, str]:
    def lookup(levels: dict[str, str], _measure: str) -> Values:
        return np.array(values[levels["who"]])

    (finding,) = judge(check, with_extremes(lookup, ["newreno", "cubic"]), ["newreno"], 0.95).findings  # type: ignore[arg-type]
    return finding.answer, finding.reason


@pytest.mark.parametrize(
    ("ours", "answer", "reason"),
    [
        ([2e6, 2e6, 2e6], Answer.MEETS, ""),
        ([1e5, 2e5, 3e5], Answer.FAILS, ""),
        ([1e5, 9e5, 3e6], Answer.NONE, "too close to tell with 3 seeds"),
        ([2e6, 2e6], Answer.NONE, "2 seeds give no interval"),
        # The reference has a value, the candidate does not: nothing has arrived.
        ([math.nan, 2e6, 2e6], Answer.FAILS, ""),
    ],
)
def test_an_answer_needs_the_whole_interval(
    goodput: Check, ours: list[float], answer: Answer, reason: str
) -> None:
    found = judged(goodput, {"candidate": ours, "newreno": [1.0, 2.0, 3.0][: len(ours)]})
    assert found[0] is answer
    assert found[1].startswith(reason)


def test_what_no_algorithm_has_is_not_evaluated(goodput: Check) -> None:
    nothing = [math.nan] * 3
    assert judged(goodput, {"candidate": nothing, "newreno": nothing}) == (
        Answer.NONE,
        "undefined in some run",
    )


def test_extremes_are_taken_seed_by_seed() -> None:
    values = {"newreno": [1.0, 5.0, math.nan], "cubic": [2.0, 4.0, 7.0]}
    lookup = with_extremes(lambda levels, _: np.array(values[levels["who"]]), ["newreno", "cubic"])
    assert lookup({"who": "lowest"}, "rate").tolist() == [1.0, 4.0, 7.0]
    assert lookup({"who": "highest"}, "rate").tolist() == [2.0, 5.0, 7.0]


def test_only_selects_a_section_with_its_parts() -> None:
    criteria = Suite.load("rfc9743").entry.criterion

    def chosen(name: str) -> list[str]:
        return [each.id for each in criteria if Effort(only=(name,)).selects(each)]

    assert chosen("5.2") == ["5.2-starvation", "5.2.1", "5.2.2", "5.2.3"]
    assert chosen("7.1") == ["7.1"]  # not 7.10 and 7.11


def test_a_receiver_is_evaluated_with_the_suites_sender(done: tuple[Path, report.Report]) -> None:
    contest = Contest.of(Suite.load(str(done[0] / "small.toml")), parse("rwnd:standing"))
    entry = contest.suite.scenarios["pair"]
    point = next(iter(contest.points(entry)))
    flow = contest.scenario(entry, point).resolved["flow"][0]
    assert flow["rwnd"]["kind"] == "standing"
    assert flow["cc"]["kind"] == "cubic"


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_page_shows_every_answer(
    width: int, scheme: Any, done: tuple[Path, report.Report], open_page: OpenPage, shoot: Shoot
) -> None:
    folder, found = done
    opened = open_page(page.write(found, folder), width)
    opened.emulate_media(color_scheme=scheme)
    assert opened.locator("article").count() == 3
    assert opened.locator("article.fails h4").inner_text().startswith("does not")
    # Rows of the highest level come first, and nothing is wider than the window.
    assert opened.locator("h3").all_inner_texts() == ["MUST", "SHOULD", "special case"]
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    strip = opened.locator("article.fails svg.strip circle.fails")
    shaded = opened.locator("article.fails svg.strip rect.wrong")
    dot, wrong = strip.bounding_box(), shaded.bounding_box()
    assert dot is not None
    assert wrong is not None
    assert wrong["x"] <= dot["x"] <= wrong["x"] + wrong["width"]
    opened.locator("summary").first.click()
    assert opened.get_by_text("a fortieth of the capacity").is_visible()
    command = "airwnd evaluate cubic --suite small.toml --only impossible"
    assert opened.get_by_text(command).is_visible()
    shoot(opened, f"evaluate-{width}-{scheme}", whole=True)


def test_a_row_is_repeated_with_the_same_references_and_seeds(done: tuple[Path, report.Report]) -> None:
    small, criterion = done[1].criteria()[0]
    own = msgspec.structs.replace(small, name="rfc9743", against=["newreno", "cubic", "bbr3"])
    usual = msgspec.structs.replace(criterion, seeds=6)
    words = "airwnd evaluate cubic --suite rfc9743 --only carries"
    assert page.command(done[1], own, usual) == words
    other = msgspec.structs.replace(own, against=["cubic"], beacon="2f3a")
    assert page.command(done[1], other, criterion) == f"{words} --against cubic --seeds 3 --beacon 2f3a"


def test_a_board_has_every_report(
    done: tuple[Path, report.Report], cli: Cli, tmp_path: Path, open_page: OpenPage, shoot: Shoot
) -> None:
    _, found = done
    other = msgspec.structs.replace(
        found, candidate=msgspec.structs.replace(found.candidate, name="other<b>", parameters={"gain": 2})
    )
    report.write(found, tmp_path / "reports" / "a")
    report.write(other, tmp_path / "reports" / "b")
    assert cli("board", "reports", "--out", "site").returncode == 0
    opened = open_page(tmp_path / "site" / "index.html")
    names = opened.locator("tbody td.text")
    assert names.all_inner_texts() == ["cubic", "other<b> (gain = 2)"]
    opened.get_by_role("button", name="Candidate").click()
    assert names.all_inner_texts() == ["other<b> (gain = 2)", "cubic"]
    assert opened.locator("tbody tr").first.locator("a.sign").all_inner_texts() == ["✓", "✗", "–"]
    shoot(opened, "evaluate-board")
    opened.get_by_role("link", name="cubic").click()
    assert opened.locator("h1").inner_text() == "Evaluation of cubic"
    # A second board of the folder does not take the copies of the first for reports.
    assert cli("board", ".", "--out", "site").returncode == 0
    assert len(list((tmp_path / "site" / "entries").iterdir())) == 2


def test_only_comparable_reports_share_a_table(done: tuple[Path, report.Report]) -> None:
    found = done[1]
    (suite,) = found.suites

    def changed(**fields: Any) -> report.Report:
        return msgspec.structs.replace(found, suites=[msgspec.structs.replace(suite, **fields)])

    first, *others = suite.criteria
    part, rest = changed(criteria=[first]), changed(criteria=others)
    drawn, beside = changed(beacon="2f3a"), changed(against=["bbr3"])
    engine = msgspec.structs.replace(found, engine="other")
    every = (part, drawn, rest, beside, engine)
    grouped = board.groups([(str(number), each) for number, each in enumerate(every)])
    assert sorted([entry.link for entry in group.entries] for group in grouped) == [
        ["0", "2"],
        ["1"],
        ["3"],
        ["4"],
    ]
    (both,) = (group for group in grouped if len(group.entries) == 2)
    assert [each.id for each in both.criteria] == [*(each.id for each in others), first.id]


def test_a_board_needs_reports(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert "empty: no report.json" in cli("board", "empty").stderr
    (tmp_path / "empty" / "report.json").write_text("{}", encoding="utf-8")
    found = cli("board", "empty")
    assert found.returncode == 2
    assert "not a report of airwnd evaluate" in found.stderr


def test_time_that_is_left_adds_seeds(
    small: Path, cli: Cli, inline: Inline, tmp_path: Path, done: tuple[Path, report.Report]
) -> None:
    """The threshold is the mean of the first three seeds, which therefore do not decide."""
    (near, _) = done[1].suites[0].criteria[0].checks[0].results
    changed = f'above = {near.figure.mean}\nonly = {{ setting = ["near"] }}\n'
    small.write_text(SMALL.replace("above = 100\n", changed), encoding="utf-8")
    words = ("evaluate", "cubic", "--suite", small, "--only", "carries")
    undecided = cli(*words)
    assert "too close to tell with 3 seeds" in undecided.stdout
    runs = inline.runs
    assert cli(*words, "--budget", "1h").returncode == 0
    ((_, criterion),) = report.read(tmp_path / "out" / "evaluate" / "cubic" / report.JSON).criteria()
    assert criterion.seeds in (6, 12, 24)
    assert inline.runs == runs // 3 * criterion.seeds
    assert criterion.confidence > 0.9697


def test_without_time_left_no_code_runs(small: Path, cli: Cli, inline: Inline) -> None:
    found = cli("evaluate", f"{HERE}/sabotaged.py:Sound", "--suite", small, "--budget", "1ns")
    assert (found.returncode, inline.runs) == (0, 0), found.stderr
    assert "\n0 runs in " in found.stdout
    assert "finished earlier" not in found.stdout


@pytest.mark.usefixtures("inline")
def test_a_suite_without_a_selected_criterion_is_left_out(small: Path, cli: Cli, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text(
        SMALL.replace('name = "small"', 'name = "other"').replace('"carries"', '"else"'), "utf-8"
    )
    found = cli("evaluate", "cubic", "--suite", small, "--suite", other, "--only", "carries")
    assert found.returncode == 0, found.stderr
    assert "small: 1 meets" in found.stdout
    assert "other" not in found.stdout
    read = report.read(tmp_path / "out" / "evaluate" / "cubic" / report.JSON)
    assert [suite.name for suite in read.suites] == ["small"]
