"""Mahimahi's shells ``mm-link``, ``mm-delay``, ``mm-loss`` and ``mm-onoff`` as links of a scenario.

Their options and meanings are those of Mahimahi 0.98. A shell within a shell is a link behind a link: the
outermost one is next to the server.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from airwnd.link.wire import UNLIMITED_QUEUE, UNLIMITED_RATE, fixed_rate, trace_format, traced
from airwnd.support.errors import InputError

#: Shells of Mahimahi that have no counterpart here.
UNSUPPORTED = ("mm-intermittent", "mm-meter", "mm-webrecord", "mm-webreplay", "mm-replayserver")
# Mahimahi link_queue.hh, PACKET_SIZE: an opportunity has 1504 bytes. Its TUN devices lack IFF_NO_PI, so that
# each packet has a header of 4 bytes, which its queues and logs count.
_OPPORTUNITY, _FRAMING = "1504B", "4B"
# Environment of Mahimahi's commands: the shells around them.
_PREFIX = "MAHIMAHI_SHELL_PREFIX"

#: Names of the queues, and the units of their arguments.
QUEUES = ("infinite", "droptail", "drophead", "codel", "pie")
_KINDS = {"drophead": "drop-head", "codel": "codel", "pie": "pie"}
_UNITS = {
    "packets": "",
    "bytes": "B",
    "target": "ms",
    "interval": "ms",
    "qdelay_ref": "ms",
    "max_burst": "ms",
}
_REQUIRED = {"codel": ("target", "interval"), "pie": ("qdelay_ref", "max_burst")}
# Mahimahi's queues mark no packets.
_FIXED: dict[str, dict[str, Any]] = {
    "drophead": {},
    "codel": {"ecn": False},
    "pie": {"ecn": False, "t_update": "30ms", "estimator": "departure-rate"},
}
_LINK_KEY = re.compile(r"scenario: link\[(?P<place>\d+)\]\.[\w.]+: ")
# Keys of a link, and those of its direction towards the server.
_KEYS_UP = {"queue": "queue_up", "queue_bytes": "queue_bytes_up", "aqm": "aqm_up"}


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue of ``mm-link``: its type, and its arguments as in ``packets=100, target=5``."""

    type: str = "infinite"
    arguments: str = ""

    def keys(self, option: str) -> dict[str, Any]:
        """Return the keys of a ``[[link]]`` section; `option` names the queue in messages.

        Raises
        ------
        InputError
            If an argument is unknown, missing or not a number.
        """
        numbers = self._numbers(option)
        packets, size = numbers.get("packets"), numbers.get("bytes")
        if self.type == "infinite":
            if numbers:
                raise InputError(f"{option}-args: an infinite queue takes no arguments")
            return {"queue": UNLIMITED_QUEUE}
        if not packets and not size:
            raise InputError(f"{option}={self.type} needs a limit, as in {option}-args=packets=100")
        if self.type == "droptail":
            return {
                **({"queue": packets} if packets else {}),
                **({"queue_bytes": f"{size}B"} if size else {}),
            }
        limits = {"packets": packets or "none", "buffer": f"{size}B" if size else "none"}
        if self.type == "drophead" and not size:
            limits["buffer"] = "1024GiB"
        own = {key: f"{numbers[key]}ms" for key in _REQUIRED.get(self.type, ())}
        return {"aqm": {"kind": _KINDS[self.type], **limits, **own, **_FIXED[self.type]}}

    def describe(self) -> str:
        """Describe the queue as Mahimahi's logs do."""
        numbers = self._numbers("")
        limits = ", ".join(f"{key}={numbers[key]}" for key in ("bytes", "packets") if numbers.get(key))
        return f"{self.type} [{limits}]" if self.type != "infinite" else self.type

    def _numbers(self, option: str) -> dict[str, int]:
        found = {}
        for word in filter(None, re.split(r"[,\s]+", self.arguments)):
            key, _, value = word.partition("=")
            # Arguments of other queues have no effect, as in Mahimahi.
            if key not in _UNITS:
                raise InputError(
                    f"{option}-args: `{word}` is no argument of a queue; allowed: {', '.join(_UNITS)}"
                )
            if not value.isdecimal():
                raise InputError(
                    f"{option}-args: `{word}`: expected a whole number, in {_UNITS[key] or 'packets'}"
                )
            found[key] = int(value)
        for key in _REQUIRED.get(self.type, ()):
            if not found.get(key):
                raise InputError(
                    f"{option}={self.type} needs {key}, in milliseconds: {option}-args={key}=..."
                )
        return found


@dataclass(slots=True)
class Chain:
    """Shells within one another, the outermost one first.

    Attributes
    ----------
    names
        Their names.
    links
        Their links.
    prefixes
        Their texts in the prompt of Mahimahi's shells.
    logs
        Log files of links, as a session requests them.
    once
        Places of the links whose traces are not repeated.
    meters
        Options that ask for a meter.
    piped
        Texts of traces that are pipes, by path.
    """

    names: list[str] = field(default_factory=list)
    links: list[dict[str, Any]] = field(default_factory=list)
    prefixes: list[str] = field(default_factory=list)
    logs: list[dict[str, Any]] = field(default_factory=list)
    once: list[int] = field(default_factory=list)
    meters: list[str] = field(default_factory=list)
    piped: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, link: dict[str, Any], prefix: str) -> None:
        """Add a shell within the others."""
        self.names.append(name)
        self.links.append(link)
        self.prefixes.append(prefix)

    def blamed(self, message: str) -> str:
        """Return the message of an error in a link with the name of its shell in place of the key.

        Examples
        --------
        >>> Chain(["mm-delay", "mm-link"]).blamed("scenario: link[1].down: no cannot be read")
        'mm-link: no cannot be read'
        """
        found = _LINK_KEY.match(message)
        return f"{self.names[int(found['place'])]}: {message[found.end() :]}" if found else message

    def log(self, path: str, way: str, trace: str, queue: Queue, command: Sequence[str]) -> None:
        """Add the log of a direction, ``Uplink`` or ``Downlink``, of the link that is added next.

        Parameters
        ----------
        command
            Name and arguments of the shell.

        Raises
        ------
        InputError
            If another log has the same file.
        """
        if any(log["path"] == path for log in self.logs):
            raise InputError(f"mm-link: two logs in one file, {path}")
        around = os.environ.get(_PREFIX, "") + "".join(self.prefixes)
        head = [
            f"# mahimahi mm-link ({way}) [{trace}] > {path}",
            f"# command line: {' '.join(map(_quoted, command))}",
            f"# queue: {queue.describe()}",
        ]
        tail = [f"# mahimahi config: {around}"] if around else []
        self.logs.append(
            {"path": path, "link": len(self.links), "is_up": way == "Uplink", "head": head, "tail": tail}
        )


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"


def link(up: str, down: str, queue_up: Queue, queue_down: Queue, piped: dict[str, str]) -> dict[str, Any]:
    """Return the link of ``mm-link UP DOWN``; `piped` receives the texts of traces that are pipes.

    Raises
    ------
    InputError
        If a queue's arguments are not valid.
    """
    keys, keys_up = queue_down.keys("--downlink-queue"), queue_up.keys("--uplink-queue")
    separate = {_KEYS_UP[key]: value for key, value in keys_up.items()} if keys_up != keys else {}
    size = {"opportunity": _OPPORTUNITY} if trace_format(down, piped) == "mahimahi" else {}
    return {**traced(down, up, piped), **size, "framing": _FRAMING, **keys, **separate}


def delay(milliseconds: int) -> dict[str, Any]:
    """Return the link of ``mm-delay``: the same delay in both directions."""
    return {**_unlimited(), "delay": f"{milliseconds}ms"}


def loss(direction: str, rate: float) -> dict[str, Any]:
    """Return the link of ``mm-loss uplink|downlink RATE``: independent losses in one direction."""
    return {**_unlimited(), _key(direction): {"kind": "packet-error", "rate": rate}}


def onoff(direction: str, mean_on_s: float, mean_off_s: float) -> dict[str, Any]:
    """Return the link of ``mm-onoff``: alternately lossless and off, for exponentially distributed times.

    Raises
    ------
    InputError
        If both times are 0.
    """
    if not mean_on_s and not mean_off_s:
        raise InputError("mm-onoff: MEAN-ON-TIME and MEAN-OFF-TIME are both 0")
    if not mean_off_s:
        return _unlimited()
    if not mean_on_s:
        return loss(direction, 1.0)
    good, bad = (f"{round(seconds * 1e6)}us" for seconds in (mean_on_s, mean_off_s))
    return {**_unlimited(), _key(direction): {"kind": "gilbert-elliott-time", "good": good, "bad": bad}}


def _unlimited() -> dict[str, Any]:
    return {**fixed_rate(UNLIMITED_RATE), "queue": UNLIMITED_QUEUE}


def _key(direction: str) -> str:
    return "loss_up" if direction == "uplink" else "loss"
