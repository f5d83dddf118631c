"""Scenarios of a single link, from the options of ``airwnd link`` for one, ``--trace`` to ``--tbf-up``."""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from airwnd.support.errors import InputError
from airwnd.support.files import is_pipe, read_text

if TYPE_CHECKING:
    from airwnd.scenario.scenario import Scenario

#: Fastest link, and largest queue: a direction without a limit.
UNLIMITED_RATE, UNLIMITED_QUEUE = "1000Gbps", 100_000_000
# A session ends with its commands; the engine requires a duration.
_DURATION = "1h"
_FORMATS = ("mahimahi", "rate")
# A key of the link in a message, and the option that sets it if its name is another one.
_LINK_KEY = re.compile(r"scenario: link\[0\]\.(?P<key>\w+)(\.(?P<inner>\w+))?: ")
_OPTIONS = {"queue_bytes": "queue", "aqm": "queue", "down": "trace", "up": "trace"}


class _Table(NamedTuple):
    """A key of the link that is a table, and its option.

    Attributes
    ----------
    first
        Key of the first value.
    what
        What the option adds to a direction.
    example
        Value of the option.
    """

    first: str
    what: str
    example: str


#: The keys of a link that are tables, in each direction.
TABLES = {
    "jitter": _Table("time", "random part of each packet's delay", "5ms,distribution=normal,correlation=25%"),
    "reorder": _Table("probability", "packets that overtake", "25%,correlation=50%,gap=5"),
    "duplicate": _Table("probability", "packets that arrive twice", "1%,correlation=25%"),
    "police": _Table("rate", "policer before the queue", "10Mbit,burst=100kB"),
    "tbf": _Table("rate", "token-bucket shaper behind the queue", "10Mbit,burst=15kB,limit=100kB"),
}
_SHARES = ("probability", "correlation")


@dataclass(frozen=True, slots=True)
class Wire:
    """A link, as the options describe it; ``None``: not given.

    Attributes
    ----------
    trace
        Link traces towards the UE and, optionally, towards the server.
    rate, rate_up
        Rates towards the UE and towards the server.
    delay
        One-way delay.
    queue
        Packets, bytes with their unit, or a queue discipline as ``NAME,KEY=VALUE,...``.
    loss, loss_up
        A percentage, a probability, or a loss model as ``NAME,KEY=VALUE,...``; `loss` applies in both
        directions without `loss_up`.
    jitter, jitter_up, reorder, reorder_up, duplicate, duplicate_up, police, police_up, tbf, tbf_up
        The section's key of this name, as ``VALUE,KEY=VALUE,...`` with its first value; each applies in both
        directions without the one towards the server.
    """

    trace: Sequence[str] = ()
    rate: str | None = None
    rate_up: str | None = None
    delay: str | None = None
    queue: str | None = None
    loss: str | None = None
    loss_up: str | None = None
    jitter: str | None = None
    jitter_up: str | None = None
    reorder: str | None = None
    reorder_up: str | None = None
    duplicate: str | None = None
    duplicate_up: str | None = None
    police: str | None = None
    police_up: str | None = None
    tbf: str | None = None
    tbf_up: str | None = None

    def given(self) -> list[str]:
        """Return the names of the given options."""
        return [f"--{name.replace('_', '-')}" for name in self.__slots__ if getattr(self, name)]

    def blamed(self, message: str) -> str:
        """Return the message of an error in the section with the option and its value in place of the key.

        Examples
        --------
        >>> Wire(rate="10").blamed("scenario: link[0].rate: `10` needs a unit")
        '--rate 10: `10` needs a unit'
        >>> Wire(rate="9Mbit", queue="codel,mtu=x").blamed("scenario: link[0].aqm.mtu: expected a size")
        '--queue codel,mtu=x: mtu: expected a size'
        >>> Wire(jitter="61s").blamed("scenario: link[0].jitter_up.time: 61s is outside 0ns..1min")
        '--jitter 61s: time: 61s is outside 0ns..1min'
        """
        found = _LINK_KEY.match(message)
        option = _OPTIONS.get(found["key"], found["key"]) if found else None
        if not found or option not in self.__slots__:
            return message
        value = getattr(self, option)
        if value is None:
            # The value of the other direction.
            option = option.removesuffix("_up")
            value = getattr(self, option)
        if option == "trace":
            value = self.trace[-1 if found["key"] == "up" else 0]
        inner = "" if found["inner"] in (None, "kind") else f"{found['inner']}: "
        return f"--{option.replace('_', '-')} {value}: {inner}{message[found.end() :]}"

    def section(self, piped: dict[str, str]) -> dict[str, Any]:
        """Return the ``[[link]]`` section.

        Parameters
        ----------
        piped
            Receives the texts of traces that are pipes, for the scenario.

        Raises
        ------
        InputError
            If options contradict each other, or a value has no meaning.
        """
        return {
            **self._capacity(piped),
            **self._queue(),
            **self._losses(),
            **self._tables(),
            "delay": self.delay or "0ms",
        }

    def _capacity(self, piped: dict[str, str]) -> dict[str, Any]:
        if self.trace and self.rate:
            raise InputError("--rate and --trace exclude each other; --rate-up goes with both")
        if not self.trace:
            if self.rate_up and not self.rate:
                raise InputError("--rate-up requires --rate or --trace")
            rate = rate_text(self.rate) if self.rate else UNLIMITED_RATE
            return fixed_rate(rate, rate_text(self.rate_up) if self.rate_up else None)
        if self.rate_up and len(self.trace) > 1:
            raise InputError("--rate-up and a trace UP exclude each other")
        up = None if self.rate_up else self.trace[-1]
        return traced(self.trace[0], up, piped, self.rate_up)

    def _queue(self) -> dict[str, Any]:
        builds_up = self.trace or self.rate or self.tbf or self.tbf_up
        if self.queue is None:
            return {} if builds_up else {"queue": UNLIMITED_QUEUE}
        if not builds_up:
            raise InputError("--queue requires --rate, --trace or --tbf: without them no queue builds up")
        if self.queue.isdecimal():
            return {"queue": int(self.queue)}
        if self.queue[:1].isdecimal():
            return {"queue_bytes": self.queue}
        return {"aqm": member("--queue", self.queue)}

    def _losses(self) -> dict[str, Any]:
        up = self.loss_up or self.loss
        return {
            **({"loss": loss_model("--loss", self.loss)} if self.loss else {}),
            **({"loss_up": loss_model("--loss-up", up)} if up else {}),
        }

    def _tables(self) -> dict[str, Any]:
        found = {}
        for key, each in TABLES.items():
            text = getattr(self, key)
            text_up = getattr(self, f"{key}_up")
            if text:
                found[key] = table(f"--{key}", text, each.first, each.example)
            if text_up:
                found[f"{key}_up"] = table(f"--{key}-up", text_up, each.first, each.example)
            elif text:
                found[f"{key}_up"] = found[key]
        return found


def fixed_rate(rate: str, rate_up: str | None = None) -> dict[str, Any]:
    """Return the keys of a link that adds nothing to a packet's bytes."""
    return {"kind": "wire", "rate": rate, "framing": "0B", **({"rate_up": rate_up} if rate_up else {})}


def traced(down: str, up: str | None, piped: dict[str, str], rate_up: str | None = None) -> dict[str, Any]:
    """Return the keys of a link with recorded capacity; `up` and `rate_up` exclude each other.

    `piped` receives the texts of pipes.
    """
    form = trace_format(down, piped)
    if up is not None and (other := trace_format(up, piped)) != form:
        raise InputError(f"{up}: in the format `{other}`, but {down} in `{form}`; both need the same")
    way_up = {"up": up} if up is not None and up != down else {}
    return {
        "kind": "trace",
        "down": down,
        "format": form,
        **way_up,
        **({"rate_up": rate_text(rate_up)} if rate_up else {}),
    }


def trace_format(trace: str, piped: dict[str, str]) -> str:
    """Return the format of a link trace, from the first line of a file, or the name of an included trace.

    A pipe can be read once: `piped` receives its text.
    """
    path = Path(trace)
    if is_pipe(path) and trace not in piped:
        piped[trace] = read_text(path, pipes=True)
    if trace in piped:
        return _FORMATS[len(piped[trace].partition("\n")[0].split()) > 1]
    if not path.is_file():
        # Norway's link traces are the included ones in the format of rates.
        return _FORMATS[trace.startswith("norway-")]
    with path.open("rb") as file:
        words = file.readline(4096).split()
    return _FORMATS[len(words) > 1]


def rate_text(text: str) -> str:
    """Convert the spelling of rates by `tc` to the one of scenarios.

    Examples
    --------
    >>> rate_text("10Mbit"), rate_text("10Mbps")
    ('10Mbit/s', '10Mbps')
    """
    return re.sub(r"bit$", "bit/s", text)


def loss_model(option: str, text: str) -> dict[str, Any]:
    """Return a loss model.

    Examples
    --------
    >>> loss_model("--loss", "1%")
    {'kind': 'packet-error', 'rate': 0.01}
    """
    if not text[:1].isdecimal() and not text.startswith((".", "-", "+")):
        return member(option, text)
    share = share_of(text)
    if share is None:
        raise InputError(
            f"{option} {text}: expected a percentage as in 1%, a probability as in 0.01, or a loss model of "
            "`airwnd list loss`, as NAME,KEY=VALUE"
        )
    return {"kind": "packet-error", "rate": share}


def share_of(text: str) -> float | None:
    """Return the share that a percentage or a number states; ``None``: the text is neither.

    Examples
    --------
    >>> share_of("0.1%"), share_of("0.1"), share_of("ten")
    (0.001, 0.1, None)
    """
    try:
        share = float(text.removesuffix("%"))
    except ValueError:
        return None
    # Twelve digits: 0.1 % is 0.001, not 0.0010000000000000000208.
    return round(share / 100, 12) if text.endswith("%") else share


def table(option: str, text: str, first: str, example: str) -> dict[str, Any]:
    """Return a table, written as ``VALUE,KEY=VALUE,...`` with the value of the key `first`.

    Examples
    --------
    >>> table("--reorder", "25%,correlation=50%,gap=5", "probability", "")
    {'probability': 0.25, 'correlation': 0.5, 'gap': 5}
    >>> table("--tbf", "10Mbit,burst=15kB", "rate", "")
    {'rate': '10Mbit/s', 'burst': '15kB'}
    """
    value, pairs = _pairs(option, text, example)
    found: dict[str, Any] = {}
    for key, word in [(first, value), *pairs]:
        share = share_of(word) if key in _SHARES else None
        found[key] = rate_text(word) if key == "rate" else _value(word) if share is None else share
    return found


def member(option: str, text: str) -> dict[str, Any]:
    """Return a member of a family, written as ``NAME,KEY=VALUE,...``.

    Examples
    --------
    >>> member("--queue", "codel,target=10ms,packets=100,ecn=false")
    {'kind': 'codel', 'target': '10ms', 'packets': 100, 'ecn': False}
    """
    kind, pairs = _pairs(option, text, "codel,target=10ms", "NAME")
    return {"kind": kind, **{key: _value(value) for key, value in pairs}}


def _pairs(option: str, text: str, example: str, first: str = "VALUE") -> tuple[str, list[tuple[str, str]]]:
    """Split a first word from pairs of key and value."""
    word, *rest = (word.strip() for word in text.split(","))
    found = []
    for pair in rest:
        key, equals, value = pair.partition("=")
        if not equals or not key or not value:
            raise InputError(f"{option} {text}: expected {first},KEY=VALUE, as in {example}")
        found.append((key, value))
    if "=" in word:
        raise InputError(f"{option} {text}: expected {first},KEY=VALUE, as in {example}")
    return word, found


def _value(text: str) -> Any:
    """Return a TOML value, or the bare text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def scenario_of(
    name: str,
    links: Sequence[Mapping[str, Any]],
    piped: Mapping[str, str],
    ues: Sequence[str | None] = (None,),
) -> "Scenario":
    """Return the scenario of UEs behind links in series, the first one next to the server.

    `piped` has the texts of the traces that are pipes, `ues` the names of the UEs; ``None``: the default.

    Its server link adds no delay, and its flows are replaced by the packets of the session's commands.

    Raises
    ------
    ScenarioError
        If a value is not allowed.
    """
    from airwnd.scenario.scenario import Scenario

    numbered = [{**link, "name": f"link-{place}"} for place, link in enumerate(links)]
    settings: dict[str, Any] = {
        "name": name,
        "duration": _DURATION,
        "core": {"server_rate": "0bps", "server_delay": "0ms"},
        "link": numbered if len(links) > 1 else list(links),
        "ue": [{} if ue is None else {"name": ue} for ue in ues],
        "flow": [{}],
    }
    return Scenario(json.dumps(settings), "scenario", "json", piped=piped)
