"""Columns of results are declared in the engine; Python shows what it declares."""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

import airwnd
from airwnd.results.headline import figures
from airwnd.results.run import of_earlier_versions
from airwnd.support.errors import InputError
from airwnd.text.terminal import stacked
from airwnd.vocabulary.columns import NamedRow, find, tables
from airwnd.vocabulary.titles import titles

PACKAGE = Path(airwnd.__file__).parent
# Figures of sessions and workloads, which are no columns of the engine's tables.
OTHERS = "link/"


def headings(name: str) -> set[str]:
    """Return the headings and units of the columns of a name."""
    columns = [table.columns[name] for table in tables().values() if name in table.columns]
    shown = {text for each in columns for text in (each.short, each.label, each.unit, each.title)}
    return (shown | {stacked(text) for text in shown}) - {"", "1"} - NAMES


NAMES = {name for table in tables().values() for name in table.columns}
UNIQUE = {name for name in NAMES if "_" in name}


def strings(nodes: Iterable[ast.AST]) -> list[str]:
    """Return the texts in expressions."""
    found = (each.value for node in nodes for each in ast.walk(node) if isinstance(each, ast.Constant))
    return [text for text in found if isinstance(text, str)]


def declarations(path: Path) -> Iterator[str]:
    """Yield the places where a column stands beside its heading or unit."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        beside: set[str] = set()
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                beside |= both(strings([each for each in (key, value) if each]))
        elif isinstance(node, ast.Call):
            beside = both(strings([*node.args, *(each.value for each in node.keywords)]))
        elif isinstance(node, ast.Tuple):
            beside = both(strings(node.elts))
        elif isinstance(node, ast.JoinedStr):
            texts = strings(node.values)
            words = {word for text in texts for word in text.split()}
            beside = {name for name in TOTALS.intersection(texts) if words & headings(name)}
        for name in beside:
            line = getattr(node, "lineno", 0)
            yield f"{path.relative_to(PACKAGE)}:{line}: `{name}`"


TOTALS = set(tables()["totals"].columns)


def both(texts: list[str]) -> set[str]:
    """Return the columns that stand beside their heading or unit."""
    return {name for name in UNIQUE.intersection(texts) if headings(name).intersection(texts)}


def test_no_module_declares_the_heading_or_unit_of_a_column() -> None:
    modules = [path for path in PACKAGE.rglob("*.py") if "experiments" not in path.parts]
    found = [
        place
        for path in modules
        if not path.relative_to(PACKAGE).as_posix().startswith(OTHERS)
        for place in declarations(path)
    ]
    assert not found, "declare it in the engine: #[column(short = ...)]\n" + "\n".join(found)


@pytest.mark.parametrize(
    "text",
    [
        'FLOWS = {"delay_ms_p95": ("p95", "ms")}',
        'column("goodput_kbps", "goodput", digits=1)',
        "f\"delay {totals['delay_ms_mean']} ms\"",
        'ROWS = (("fct_s_mean", "FCT", 3),)',
    ],
)
def test_a_declaration_is_found(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "PACKAGE", tmp_path)
    (tmp_path / "a.py").write_text(text, encoding="utf-8")
    assert list(declarations(tmp_path / "a.py"))


def test_a_column_has_heading_decimals_and_rank() -> None:
    column = find("flows.delay_ms_p95")
    assert (column.short, column.label, column.digits, column.rank) == (
        "delay p95",
        "one-way delay, 95th percentile",
        2,
        3,
    )
    assert find("series.rtt_ms").title == "RTT (ms)"
    assert find("flows.retransmissions").digits == 0


def test_totals_as_text() -> None:
    totals = {"throughput_kbps": 5012.34, "jain": 0.98765, "pdf_percent": None}
    assert figures(totals, *totals) == "throughput 5,012.3 kbit/s, Jain 0.9877, PDF – %"


def test_an_earlier_name_is_told_and_mapped() -> None:
    with pytest.raises(InputError, match="no column `delay_ms`: it is called `delay_ms_mean` now"):
        find("totals.delay_ms")
    with pytest.raises(KeyError, match="it is called `delay_ms_mean` now"):
        NamedRow("totals", {"delay_ms_mean": 3.0})["delay_ms"]
    assert of_earlier_versions({"totals": {"delay_ms": 3.0, "drops": {"radio_loss": 1}}, "seed": 1}) == {
        "totals": {"delay_ms_mean": 3.0, "drops_radio_loss": 1},
        "seed": 1,
    }


RESOLVED = {
    "flow": [{"id": "download", "cc": {"kind": "vegas"}}, {"id": "call"}],
    "ue": [{"name": "car"}],
    "link": [{"kind": "wire"}, {"name": "access", "kind": "wire", "queue": 3}],
    "rlc": {"queue": {"kind": "drop-tail"}},
}


@pytest.mark.parametrize(
    ("key", "title"),
    [
        ("flow[download].cc", "Congestion control, download"),
        ("flow[1].cc", "Congestion control, call"),
        ("flow[download].cc.alpha", "Number of queued segments below which cwnd grows, download"),
        ("ue[car].count", "Number of UEs"),
        ("link[0].rate", "Rate towards the UEs, link 0"),
        ("link[access].delay", "One-way delay, access"),
        ("rlc.queue", "Queue discipline"),
        ("rlc.queue.buffer", "Buffer size"),
        ("carrier.bandwidth", "Channel bandwidth"),
        # A long meaning, the parameter of another algorithm, and no key at all.
        ("rlc.uplink_queue", "rlc.uplink_queue"),
        ("rlc.queue.target", "rlc.queue.target"),
        ("flow[2].nosuch", "flow[2].nosuch"),
        ("", ""),
    ],
)
def test_keys_have_titles_for_people(key: str, title: str) -> None:
    assert titles([key], RESOLVED) == {key: title}


def test_titles_are_distinct() -> None:
    both = ["link[0].loss", "link[1].loss", "ue.bearer.mode", "rlc.mode"]
    assert titles(both, {"link": [{"name": "a"}, {"name": "a"}]}) == {each: each for each in both}
