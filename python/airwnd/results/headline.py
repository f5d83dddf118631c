"""Summary of a run's configuration in a few lines: stack, algorithms, carrier, scheduler, queues, links."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from airwnd.text.quantities import counted
from airwnd.text.terminal import number, plain
from airwnd.vocabulary.columns import tables
from airwnd.vocabulary.stacks import stack

# Maximum number of links and settings that are written out; the others are counted.
_MAX = 4


def headline(scenario: Mapping[str, Any], groups: Sequence[Mapping[str, Any]]) -> list[str]:
    """Summarise the settings that determine the results of a run.

    Parameters
    ----------
    scenario
        The resolved scenario.
    groups
        Rows of the table ``groups``.

    Returns
    -------
    list of str
        Paragraphs: TCP; if there are cells, their carrier, then schedulers and RLC; each of the first links.
    """
    lines = [_tcp(scenario, groups)]
    if scenario["site"]:
        lines += [_carrier(scenario), _cell(scenario)]
    links = scenario["link"]
    lines += [_link(link) for link in links[:_MAX]]
    if len(links) > _MAX:
        lines.append(f"and {len(links) - _MAX} more links")
    return [plain(line) for line in lines]


def figures(totals: Mapping[str, Any], *keys: str) -> str:
    """Return totals as text, as in ``throughput 5,012.3 kbit/s, delay 41.20 ms``."""
    columns = tables()["totals"].columns
    shown = [
        f"{columns[key].short} {number(totals[key], columns[key].digits)} {columns[key].shown_unit}".strip()
        for key in keys
    ]
    return ", ".join(shown)


def overall(
    scenario: Mapping[str, Any], totals: Mapping[str, Any], groups: Sequence[Mapping[str, Any]], *keys: str
) -> str:
    """Return totals as :func:`figures` does; of unlike groups with a note, and without an index of fairness.

    A download and a call are unlike, and so are a download and an upload.
    """
    directions = {flow["id"]: flow["direction"] for flow in scenario["flow"]}
    kinds = {(group["kind"], directions.get(group["group"])) for group in groups}
    if len(kinds) <= 1:
        return figures(totals, *keys)
    return f"{len(groups)} groups together: {figures(totals, *(key for key in keys if key != 'jain'))}"


def algorithms(groups: Iterable[Mapping[str, Any]], key: str) -> list[str]:
    """List the distinct algorithms of the groups under `key`."""
    return list(dict.fromkeys(group[key] for group in groups if group[key] is not None))


def _tcp(scenario: Mapping[str, Any], groups: Sequence[Mapping[str, Any]]) -> str:
    tcp = dict(scenario["tcp"])
    name = tcp.pop("stack")
    mss = tcp.pop("mss", stack(name).values["mss"])
    preset = "" if scenario["preset"] == "none" else f"preset {scenario['preset']}; "
    set_ = ", ".join(f"{key} {_value(value)}" for key, value in tcp.items())
    own = f" with {set_ if len(tcp) <= _MAX else f'{len(tcp)} keys of its own'}" if tcp else ""
    kinds = [_several("traffic", algorithms(groups, "kind"))]
    kinds += [_several(key, found) for key in ("cc", "rwnd") if (found := algorithms(groups, key))]
    return f"{preset}stack {name}{own}, MSS {mss} B; {'; '.join(kinds)}"


def _carrier(scenario: Mapping[str, Any]) -> str:
    carrier = scenario["carrier"]
    radio = scenario["radio"]
    sites = sum(_masts(site["rings"]) for site in scenario["site"])
    cells = sum(_masts(site["rings"]) * site["sectors"] for site in scenario["site"])
    where = (
        counted(cells, "cell") if cells == sites else f"{counted(cells, 'cell')} at {counted(sites, 'site')}"
    )
    down, up = carrier["downlink_frequency"], carrier.get("uplink_frequency")
    place = f"{_value(down)} (down)" if up in (None, down) else f"{_value(down)} (down), {_value(up)} (up)"
    access, technology = radio["access"], ""
    if access["kind"] == "nr":
        technology = "NR, "
        pattern = access.get("pattern")
        place = f"{_value(down)}, TDD {pattern}" if pattern else f"{place}, FDD"
        place += f", numerology {access['numerology']}"
    channel = f"path loss {radio['propagation']['kind']}, fading {radio['fading']['kind']}"
    return f"{technology}carrier {_value(carrier['bandwidth'])} at {place}; {where}; {channel}"


def _masts(rings: int) -> int:
    """Count the sites of a hexagonal grid."""
    return 1 + 3 * rings * (rings + 1)


def _cell(scenario: Mapping[str, Any]) -> str:
    mac, rlc = scenario["mac"], scenario["rlc"]
    parts = [
        f"scheduler {_value(mac['scheduler'])}, uplink {_value(mac['uplink_scheduler'])}",
        f"RLC {rlc['mode'].upper()}, queue {_queue(rlc['queue'])}",
    ]
    if "uplink_queue" in rlc:
        parts.append(f"uplink queue {_queue(rlc['uplink_queue'])}")
    if scenario["handover"]["algorithm"]["kind"] != "none":
        parts.append(f"handover {scenario['handover']['algorithm']['kind']}")
    return "; ".join(parts)


def _link(link: Mapping[str, Any]) -> str:
    way = [link["kind"], *_rate(link)]
    up = f" (down), {_value(link['delay_up'])} (up)" if "delay_up" in link else ""
    if up or _value(link["delay"]) != "0 ns":
        way.append(f"delay {_value(link['delay'])}{up}")
    if "aqm" in link:
        way.append(f"queue {_queue(link['aqm'])}")
    limits = [counted(link["queue"], "packet")] if "queue" in link else []
    limits += [_value(link["queue_bytes"])] if "queue_bytes" in link else []
    if limits:
        way.append(f"queue {' or '.join(limits)}")
    lossy = [
        (key, word) for key, word in (("loss", "loss"), ("loss_up", "loss up")) if link[key]["kind"] != "none"
    ]
    way += [f"{word} {link[key]['kind']}" for key, word in lossy]
    if link["per"] != "all":
        way.append(f"one per {link['per']}")
    return f"link {link['name']}: {', '.join(way)}"


def _rate(link: Mapping[str, Any]) -> list[str]:
    if link["kind"] == "trace":
        up = link.get("up") or _value(link.get("rate_up")) or "the same"
        return [f"{link['down']} (down)", f"{up} (up)"]
    if link["kind"] == "wifi":
        return [link["phy"], _value(link.get("rate", "its highest rate"))]
    up = f" (down), {_value(link['rate_up'])} (up)" if "rate_up" in link else ""
    return [f"{_value(link['rate'])}{up}"]


def _queue(queue: Mapping[str, Any]) -> str:
    limits = [_value(queue["buffer"])] if "buffer" in queue else []
    limits += [counted(queue["packets"], "packet")] if isinstance(queue.get("packets"), int) else []
    return " ".join([queue["kind"], " or ".join(limits)]).strip()


def _several(what: str, words: Sequence[str]) -> str:
    return f"{what} {', '.join(words)}"


def _value(value: object) -> str:
    """Format a value with a space before its unit, and a member of a family as its name.

    Examples
    --------
    >>> _value("50KiB"), _value({"kind": "pf", "window": 99.0}), _value(True)
    ('50 KiB', 'pf', 'true')
    """
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case {"kind": kind}:
            return str(kind)
    return re.sub(r"^(-?[\d.]+)(?=[A-Za-z])", r"\1 ", str(value))
