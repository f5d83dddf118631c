"""Broken scenarios: each has one clear message, with file, line, key and what is allowed, and exit code 2."""

# ruff: noqa: E501 (a table)

import re
from pathlib import Path

import pytest

from airwnd import Scenario, ScenarioError

from .conftest import Cli

GOOD = """\
name = "good"
duration = "1s"
[carrier]
bandwidth = "10MHz"
[rlc]
queue = { kind = "drop-tail", buffer = "50KiB" }
[[site]]
[[ue]]
count = 2
placement = { kind = "list", points = [["100m", "0m"], ["200m", "0m"]] }
[[flow]]
rwnd = "autotuning"
"""

# What is replaced in GOOD, by what, and the message after the file's name.
BROKEN = {
    "misspelt key": ('name = "good"', 'nam = "good"', r":1: unknown key `nam`; did you mean `name`\?"),
    "misspelt section": ("[carrier]", "[carier]", r":3: unknown key `carier`; did you mean `carrier`\?"),
    "misspelt key within": ("bandwidth =", "bandwith =", r":4: carrier: unknown key `bandwith`; did you mean"),
    "not TOML": ("[carrier]", "[carrier", r":3: "),
    "the same key twice": ('name = "good"', 'name = "good"\nname = "bad"', r":2: "),
    "missing duration": ('duration = "1s"\n', "", r":1: `duration` is missing"),
    "missing unit": ('duration = "1s"', 'duration = "1"', r":2: duration: `1` needs a unit, as in \"20ms\""),
    "number for a time": ('duration = "1s"', "duration = 1", r":2: duration: expected a time with its unit"),
    "wrong unit": ('duration = "1s"', 'duration = "1km"', r":2: duration: `km` is not a unit of a time"),
    "negative time": ('duration = "1s"', 'duration = "-1s"', r":2: duration: `-1s` must not be negative"),
    "no time at all": ('duration = "1s"', 'duration = "0s"', r":2: duration: 0ns is outside 1ms\.\."),
    "endless": ('duration = "1s"', 'duration = "1e20s"', r":2: duration: `1e20s` is too large"),
    "zero bandwidth": ('"10MHz"', '"0MHz"', r":4: carrier.bandwidth: .*`0MHz`.*allowed: `1.4MHz`"),
    "odd bandwidth": ('"10MHz"', '"11MHz"', r":4: carrier.bandwidth: .*`11MHz`; did you mean `1"),
    "no buffer": ('"50KiB"', '"0KiB"', r":6: rlc.queue.buffer: 0B is outside 1B\.\."),
    "negative buffer": ('"50KiB"', '"-5KiB"', r":6: rlc.queue.buffer: `-5KiB` must not be negative"),
    "half a byte": ('"50KiB"', '"0.5B"', r":6: rlc.queue.buffer: `0.5B` is not a whole number of bytes"),
    "unknown queue": ('"drop-tail"', '"drop-tall"', r":6: rlc.queue.kind: unknown aqm `drop-tall`; did you mean `drop-tail`\?"),
    "queue without kind": ('kind = "drop-tail", ', "", r":6: rlc.queue: `kind` is missing: which aqm\?"),
    "thresholds out of order": (
        'kind = "drop-tail", buffer = "50KiB"',
        'kind = "red", min_th = 20.0',
        r":6: rlc.queue.max_th: 15 packets is not above min_th, 20",
    ),
    "probability above one": (
        'kind = "drop-tail", buffer = "50KiB"',
        'kind = "red", max_p = 1.5',
        r":6: rlc.queue.max_p: 1.5 is outside 0.0\.\.1.0",
    ),
    "SmRED-1": (
        'kind = "drop-tail", buffer = "50KiB"',
        'kind = "smred", i = 1',
        r":6: rlc.queue.i: 1 is outside 2..1000",
    ),
    "discard timer": (
        'queue = { kind = "drop-tail", buffer = "50KiB" }',
        'discard_timer = "60ms"',
        r":6: rlc.discard_timer: unknown word `60ms`; did you mean `50ms`\?",
    ),
    "unknown algorithm": ('"autotuning"', '"autotunning"', r":12: flow\[0\].rwnd: unknown rwnd `autotunning`; did you mean"),
    "number for an algorithm": ('"autotuning"', "3", r":12: flow\[0\].rwnd: expected a rwnd, as in"),
    "foreign parameter": (
        '"autotuning"',
        '{ kind = "drwa", gain = 1 }',
        r":12: flow\[0\].rwnd: unknown key `gain`; .*allowed: .*`lambda`",
    ),
    "parameter outside its range": (
        '"autotuning"',
        '{ kind = "drwa", lambda = -1 }',
        r":12: flow\[0\].rwnd.lambda: -1.0 is outside",
    ),
    "negative rate": (
        "[[flow]]",
        '[[flow]]\ntraffic = { kind = "ftp", rate = "-1Mbps" }',
        r":12: flow\[0\].traffic.rate: `-1Mbps` must not be negative",
    ),
    "no users": ("count = 2", "count = 0", r":9: ue\[0\].count: 0 is outside 1\.\.100000"),
    "a billion users": ("count = 2", "count = 1000000000", r":9: ue\[0\].count: 1000000000 is outside 1\.\.100000"),
    "half a user": ("count = 2", "count = 2.5", r":9: ue\[0\].count: expected a whole number, found 2.5"),
    "more users than places": ("count = 2", "count = 3", r":9: ue\[0\].count: 3 terminals, .* 2 places"),
    "on top of the antenna": ('"200m", "0m"', '"0m", "0m"', r":10: ue\[0\].placement: terminal 1 .* on top of"),
    "missing file": (
        '{ kind = "list", points = [["100m", "0m"], ["200m", "0m"]] }',
        '{ kind = "file", path = "nowhere.csv" }',
        r":10: ue\[0\].placement.path: .*nowhere.csv cannot be read",
    ),
    "inside out": (
        '{ kind = "list", points = [["100m", "0m"], ["200m", "0m"]] }',
        '{ kind = "disc", radius = "30m", min_radius = "40m" }',
        r":10: ue\[0\].placement.min_radius: the smallest radius 40m exceeds the radius 30m",
    ),
    "no site": ("[[site]]\n", "", r":1: nothing connects the terminals: add \[\[site\]\] or \[\[link\]\]"),
    "a wire without a rate": ("[[site]]", "[[link]]", r":7: link\[0\]: `rate` is missing"),
    "a way over no link": ("[[ue]]", '[[ue]]\nvia = ["x"]', r":9: ue\[0\]\.via: unknown link `x`; none is allowed here"),
    "a recording that is not there": (
        "[[site]]",
        '[[link]]\nkind = "trace"\ndown = "no.txt"\n[[site]]',
        r":[0-9]+: link\[0\]\.down: .*no\.txt cannot be read: .*; airwnd brings along `norway-bus-1`",
    ),
    "no flows": ('[[flow]]\nrwnd = "autotuning"\n', "", r":1: `flow` is missing"),
    "duplicate id": ("[[flow]]", "[[flow]]\n[[flow]]", r":[0-9]+: flow\[1\].id: a second flow is called `flow`"),
    "duplicate name": ("[[flow]]", '[[ue]]\nplacement = { kind = "ring" }\n[[flow]]', r":11: ue\[1\].name: a second group is called `ue`"),
    "unknown group": ("[[flow]]", '[[flow]]\nue = "uf"', r":12: flow\[0\].ue: there is no group `uf`; groups: `ue`"),
    "stop before start": (
        "[[flow]]",
        '[[flow]]\nstart = "500ms"\nstop = "400ms"',
        r":13: flow\[0\].stop: stops at 400ms, not after its start at 500ms",
    ),
    "start after the end": ("[[flow]]", '[[flow]]\nstart = "2s"', r":12: flow\[0\].start: starts at 2s, after the end at 1s"),
    "no flow of a terminal": ("[[flow]]", "[[flow]]\ncount = 0", r":12: flow\[0\].count: 0 is outside 1\.\.10000"),
    "no arrivals": (
        "[[flow]]",
        '[[flow]]\ntraffic = "transfer"\narrivals = { kind = "poisson", rate = 0 }',
        r":13: flow\[0\].arrivals.rate: 0.0 is outside 1e-6",
    ),
    "a schedule out of order": (
        "[[flow]]",
        '[[flow]]\narrivals = { kind = "schedule", times = ["300ms", "200ms"] }',
        r":12: flow\[0\].arrivals.times: 200ms comes after 300ms; times must ascend",
    ),
    "a schedule beyond the end": (
        "[[flow]]",
        '[[flow]]\nstart = "500ms"\narrivals = { kind = "schedule", times = ["500ms"] }',
        r":13: flow\[0\].arrivals.times: 500ms after the start is not before the end at 500ms",
    ),
    "flows without end for ever": (
        "[[flow]]",
        '[[flow]]\narrivals = "poisson"',
        r":12: flow\[0\].arrivals: `poisson` brings flows for ever, and those of `bulk` do not end; take `transfer`",
    ),
    "datagrams for ever": (
        "[[flow]]",
        '[[flow]]\ntraffic = "video"\narrivals = "periodic"',
        r":13: flow\[0\].arrivals: `periodic` brings flows for ever, and those of `video` do not end",
    ),
    "more flows than there may be": (
        "[[flow]]",
        '[[flow]]\ntraffic = "transfer"\ncount = 100\narrivals = { kind = "poisson", rate = 10000 }',
        r":14: flow\[0\].arrivals: about 2000000 flows in all; at most 1000000 are allowed",
    ),
    "an arrival file that is not there": (
        "[[flow]]",
        '[[flow]]\ntraffic = "transfer"\narrivals = { kind = "file", path = "none.csv" }',
        r":13: flow\[0\].arrivals.path: .*none.csv cannot be read",
    ),
    "a transfer of nothing": (
        "[[flow]]",
        '[[flow]]\ntraffic = { kind = "transfer", size = "0B" }',
        r":12: flow\[0\].traffic.size: 0B is outside 1B\.\.",
    ),
    "a negative size": (
        "[[flow]]",
        '[[flow]]\ntraffic = { kind = "transfer", size = "-1kB" }',
        r":12: flow\[0\].traffic.size: `-1kB` must not be negative",
    ),
    "sizes inside out": (
        "[[flow]]",
        '[[flow]]\ntraffic = { kind = "transfer", size = { kind = "pareto", min = "1MB", max = "1MB" } }',
        r":12: flow\[0\].traffic.size.max: the largest size 1MB is not above the smallest 1MB",
    ),
    "a misspelt size": (
        "[[flow]]",
        '[[flow]]\ntraffic = { kind = "transfer", size = "paretto" }',
        r":12: flow\[0\].traffic.size: unknown size `paretto`; did you mean `pareto`\?",
    ),
    "unknown stack": ("[carrier]", '[tcp]\nstack = "ns3.25"\n[carrier]', r":4: tcp.stack: .*`ns3.25`; did you mean `ns3.26`\?"),
    "a date": ('duration = "1s"', "duration = 2026-11-21", r":2: duration: .* is a date; a time is written as"),
    "a list for a table": ('[carrier]\nbandwidth = "10MHz"', "carrier = [1]", r":3: carrier: expected a table"),
}  # fmt: skip


def test_the_good_one_is_good() -> None:
    assert Scenario.from_toml(GOOD).run().totals["throughput_kbps"] > 0


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_scenario_has_one_message(case: str) -> None:
    old, new, message = BROKEN[case]
    assert old in GOOD
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_toml(GOOD.replace(old, new), "broken.toml")
    found = str(caught.value)
    assert len(found.splitlines()) == 1
    assert re.match(rf"broken\.toml{message}", found), found


@pytest.mark.parametrize("case", ["misspelt key", "not TOML", "on top of the antenna"])
def test_the_command_line_says_it_in_one_line(cli: Cli, tmp_path: Path, case: str) -> None:
    old, new, message = BROKEN[case]
    (tmp_path / "broken.toml").write_text(GOOD.replace(old, new), encoding="utf-8")
    for command in ("run", "check"):
        done = cli(command, "broken.toml")
        assert (done.returncode, done.stdout) == (2, "")
        assert re.match(rf"airwnd: broken\.toml{message}[^\n]*\n\Z", done.stderr), done.stderr
