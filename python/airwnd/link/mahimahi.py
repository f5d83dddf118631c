"""Mahimahi's shells ``mm-link``, ``mm-delay``, ``mm-loss`` and ``mm-onoff`` as links of a scenario.

Their options and meanings are those of Mahimahi 0.98. A shell within a shell is a link behind a link: the
outermost one is next to the server.
"""

import re
from dataclasses import dataclass
from typing import Any

from airwnd.errors import InputError
from airwnd.link.wire import UNLIMITED_QUEUE, UNLIMITED_RATE, fixed_rate, traced

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
_ALLOWED = {
    "infinite": (),
    "droptail": ("packets", "bytes"),
    "drophead": ("packets", "bytes"),
    "codel": ("packets", "bytes", "target", "interval"),
    "pie": ("packets", "bytes", "qdelay_ref", "max_burst"),
}


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

    def _numbers(self, option: str) -> dict[str, int]:
        found = {}
        for word in filter(None, re.split(r"[,\s]+", self.arguments)):
            key, _, value = word.partition("=")
            if key not in _ALLOWED[self.type]:
                known = ", ".join(_ALLOWED[self.type]) or "none"
                raise InputError(f"{option}-args: `{word}` is no argument of {self.type}; allowed: {known}")
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


def link(up: str, down: str, queue_up: Queue, queue_down: Queue) -> dict[str, Any]:
    """Return the link of ``mm-link UP DOWN``.

    Raises
    ------
    InputError
        If the directions have different queues, or a queue's arguments are not valid.
    """
    if queue_up != queue_down:
        raise InputError(
            "mm-link: different queues for uplink and downlink are not supported; give both the same type "
            "and arguments"
        )
    return {**traced(down, up), **queue_down.keys("--downlink-queue")}


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
