"""``airwnd list`` and ``airwnd explain`` for algorithms, stacks, keys and columns."""

import json
import shutil
import tomllib
from pathlib import Path

import pytest

from airwnd import InputError, Scenario, catalogue, tables
from airwnd.vocabulary import algorithms
from airwnd.vocabulary.fragments import of_algorithm, of_key
from airwnd.vocabulary.sections import sections
from airwnd.vocabulary.stacks import stacks
from airwnd.vocabulary.topics import find

from .command_line import call
from .conftest import ROOT

WIDTHS = (60, 80, 120)


def test_every_algorithm_and_parameter_names_its_source() -> None:
    members = [member for family in catalogue() for member in family.members]
    assert len(members) >= 4
    for member in members:
        assert member.summary, member
        assert member.source, member
        for param in member.params:
            assert param.meaning, (member.name, param)
            assert param.unit, (member.name, param)
            assert param.source, (member.name, param)


# The two kinds of plug-ins are members of the family, but no algorithms of the engine.
OUTSIDE = {"plugin", "python"}
# A fixed cwnd is not counted either.
CONTROLS = {"fixed", *OUTSIDE}


@pytest.mark.parametrize(
    ("page", "text", "number", "family", "uncounted"),
    [
        ("README.md", "27 congestion controls", 27, "cc", CONTROLS),
        ("README.md", "ten receive-window controls", 10, "rwnd", OUTSIDE),
        ("README.md", "Fifteen queue disciplines", 15, "aqm", OUTSIDE),
        ("README.md", "eleven schedulers", 11, "sched", OUTSIDE),
        ("docs/models.md", "[27 algorithms](reference/cc.md)", 27, "cc", CONTROLS),
        ("docs/scope.md", "11 downlink schedulers", 11, "sched", OUTSIDE),
        ("docs/scope.md", "2 uplink schedulers", 2, "uplink-sched", set()),
        ("docs/how-to/demonstrate-bufferbloat.md", "has 27 congestion", 27, "cc", CONTROLS),
    ],
)
def test_pages_state_how_many_algorithms_there_are(
    page: str, text: str, number: int, family: str, uncounted: set[str]
) -> None:
    assert text in " ".join((ROOT / page).read_text(encoding="utf-8").split())
    names = {member.name for member in algorithms.family(family).members}
    assert uncounted < names
    assert len(names - uncounted) == number


def test_an_algorithm_is_found_by_its_name_or_within_its_family() -> None:
    assert find("rwnd/drwa") == find("drwa")
    with pytest.raises(InputError, match="did you mean"):
        algorithms.family("rwndd")


def test_words_of_enumerations_have_meanings() -> None:
    params = [param for family in catalogue() for member in family.members for param in member.params]
    keys = [key for section in sections().values() for key in section.keys.values()]
    enumerations = [each for each in (*params, *keys) if each.words]
    assert len(enumerations) > 30
    for each in enumerations:
        assert all(each.words.values()), each.name
        assert each.default is None or each.default in each.words


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with only the files that fragments name."""
    monkeypatch.chdir(tmp_path)
    Path("arrivals.csv").write_text("time_s\n0.1\n", encoding="utf-8")
    Path("sizes.csv").write_text("size_bytes\n1000\n", encoding="utf-8")
    Path("places.csv").write_text("x_m,y_m\n100,0\n", encoding="utf-8")
    Path("drive.csv").write_text("Timestamp,SNR\n2026-05-04 10:00:00,20\n", encoding="utf-8")
    Path("path.csv").write_text("t_s,x_m,y_m\n0,100,0\n10,200,0\n", encoding="utf-8")
    for example in (ROOT / "examples" / "python-plugin").glob("*.py"):
        shutil.copy(example, tmp_path)


def _check(fragment: str) -> None:
    """Check a fragment within a minimal scenario."""
    scenario = tomllib.loads(fragment)
    if "link" not in scenario:
        scenario.setdefault("site", [{}])
    Scenario.from_dict({"duration": "1s", "ue": [{}], "flow": [{}], **scenario}, allow_code=True)


# A plug-in in Rust exists only in the program that registers it.
FRAGMENTS = {
    f"{family.name}/{member.name}": of_algorithm(member)
    for family in catalogue()
    for member in family.members
    if member.name != "plugin"
} | {
    f"{section.name}.{key.name}": of_key(section, key)
    for section in sections().values()
    for key in section.keys.values()
}


@pytest.mark.usefixtures("files")
def test_every_fragment_is_part_of_a_valid_scenario() -> None:
    for name, fragment in FRAGMENTS.items():
        try:
            _check(fragment)
        except ValueError as error:
            pytest.fail(f"{name}: {error}\n{fragment}")


def _run(*words: str, columns: int = 80) -> str:
    done = call(*words, cwd=ROOT, environment={"COLUMNS": str(columns)})
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


NAMES = [
    *(f"{family.name}/{member.name}" for family in catalogue() for member in family.members),
    *(family.name for family in catalogue()),
    *("preset", "stack", *stacks()),
    *tables(),
    *filter(None, sections()),
]


@pytest.mark.parametrize("columns", WIDTHS)
def test_every_explanation_fits_the_width(columns: int) -> None:
    for name in NAMES:
        out = _run("explain", name, columns=columns)
        assert "…" not in out
        text, _, toml = out.partition("\nIn a scenario\n")
        wide = [line for line in text.splitlines() if len(line) > columns and len(line.split()) > 1]
        assert not wide or toml, (name, wide)
        assert all(len(line.split()) == 1 for line in wide if "{ kind" not in line), (name, wide)
        last = name.rpartition("/")[2]
        assert last in out or name in {"preset", "stack"}


@pytest.mark.parametrize("columns", WIDTHS)
def test_the_list_is_wrapped_with_a_hanging_indent(columns: int) -> None:
    out = _run("list", columns=columns)
    assert max(map(len, out.splitlines())) <= columns
    assert "…" not in out
    for family in catalogue():
        for member in family.members:
            assert f"\n  {member.name} " in out
    assert "\n  linux " in out
    assert "\n  ns3.26 " in out
    joined = " ".join(out.split())
    for family in catalogue():
        for member in family.members:
            assert " ".join(member.summary.split()) in joined
    width = max(len(member.name) for member in catalogue()[0].members) + 4
    second = out.splitlines()[1:]
    hanging = next(line for line in second if line.startswith(" " * width))
    assert hanging[width] != " "


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("flow.cc", ["flow.cc"]),
        ("flow[0].cc", ["flow.cc"]),
        ("flow[download].cc", ["flow.cc"]),
        ("pdf", ["packet delivery fraction", "totals.pdf_percent", "flows.pdf_percent"]),
        ("PDF", ["packet delivery fraction", "totals.pdf_percent", "flows.pdf_percent"]),
        ("cubic.beta", ["cc/cubic.beta"]),
        ("flow.cc.beta", None),
        ("rlc.queue.buffer", None),
        ("mac.olla.target", ["mac.olla.target"]),
        ("ns3.44", ["ns3.44", "ns3.44", "ns3.44"]),
        ("stack/linux", ["linux"]),
        ("tcp", ["tcp"]),
    ],
)
def test_a_topic_is_found_by_each_of_its_names(name: str, expected: list[str] | None) -> None:
    found = [topic.name for topic in find(name)]
    if expected is None:
        key = name.rpartition(".")[2]
        assert len(found) > 3
        assert all(each.endswith(f".{key}") for each in found)
    else:
        assert found == expected


def test_delay_is_explained_as_a_key_and_as_columns() -> None:
    names = {topic.name for topic in find("delay")}
    assert {"link.delay", "flows.delay_ms_mean", "totals.delay_ms_p95"} <= names
    assert "One-way delay" in _run("explain", "delay")


def test_a_parameter_is_found_by_its_name_alone() -> None:
    assert [topic.name for topic in find("numerology")] == ["access/nr.numerology"]
    assert [topic.name for topic in find("mimo")] == ["access/lte.mimo", "access/nr.mimo"]


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("cubicc", "cubic"),
        ("rlc.queue.bufer", "rlc.queue"),
        ("linus", "linux"),
        ("flows.dely", "flows.delay"),
    ],
)
def test_near_misses_are_suggested(name: str, near: str) -> None:
    with pytest.raises(InputError, match=f"unknown name `{name}`; did you mean `.*{near}"):
        find(name)


def test_an_explanation_has_words_ranges_and_a_fragment() -> None:
    out = _run("explain", "cubic", "--all")
    for text in (
        "Source: RFC 9438",
        "W(t) = C (t - K)^3",
        "0.1 to 0.99",
        '"linux"  Arithmetic of Linux',
        "[[flow]]\n  cc = {",
    ):
        assert text in out
    assert 'recovery = "prr-safe-ack"' in _run("explain", "linux", "--all")
    queue = " ".join(_run("explain", "rlc.queue").split())
    assert (
        f"one of {', '.join(each.name for each in algorithms.family('aqm').members)}: `airwnd list aqm`"
        in queue
    )


def test_list_and_explain_as_json() -> None:
    listed = {family["name"]: family for family in json.loads(_run("list", "--json"))}
    assert {"cc", "stack", "preset"} <= set(listed)
    assert "cubic" in [member["name"] for member in listed["cc"]["members"]]
    for name in NAMES:
        found = json.loads(_run("explain", name, "--json"))
        assert found
        assert all(each["kind"] for each in found)
    (cubic,) = json.loads(_run("explain", "cubic", "--json"))
    assert tomllib.loads(cubic["toml"])["flow"][0]["cc"]["kind"] == "cubic"
    assert cubic["params"][0]["range"] == ["0.001", "100.0"]
