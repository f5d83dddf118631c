"""Adjusts the rate of CAKE by the rule of cake-autorate, as its documentation states it.

::

    autorate.py INTERFACE HOST --min 2500 --base 5000 --max 20000

INTERFACE has CAKE as its root queue discipline, or ``--tbf``, and leads to the receivers, or for uploads to
the link; HOST answers pings. Rates are in kbit/s. SIGTERM ends the program.

The rule is that of the download, from README.md ("Theory of Operation"), CHANGELOG.md and the settings with
their comments in defaults.sh of cake-autorate, commit 94238bef6184 of
https://github.com/lynxthecat/cake-autorate; its values are those defaults. Nothing else of it was used: a
decision of ours is marked.

-   Reflectors are pinged, all together every 50 ms (six, each every 300 ms). Half of an RTT counts as the
    one-way delay (`fping`). Here one reflector is pinged every 50 ms: all would share the path.
-   The baseline follows the delay with the weight 0.9 downwards and 0.001 upwards. A sample is delayed if it
    exceeds the baseline, which it has already changed, by more than 30 ms plus the time that a packet of
    full size takes at the current rate.
-   Three delayed samples of the last six are bufferbloat. The rate is then multiplied by a factor that falls
    linearly from 0.99 to 0.75 as the average excess of the six samples grows from that threshold to 60 ms
    (plus the same time), at most once in 300 ms.
-   The load is the share of the rate that was achieved in the last 200 ms. Above 0.75 it is high. At high
    load without bufferbloat, and not within 300 ms of a reduction, each new value of the load multiplies the
    rate by a factor that falls linearly from 1.04 to 1 as the average excess grows from 10 ms to the
    threshold.
-   At low load the rate returns to the base rate by 1 % a second.
-   The rate stays between the minimum and the maximum. It begins at the base rate.
-   Ours: the rule acts when an answer arrives, and without any it waits; pausing while idle is left out.
"""

import argparse
import re
import signal
import subprocess
import sys
import time
from collections import deque
from pathlib import Path

PING_INTERVAL_S = 0.05
LOAD_INTERVAL_S = 0.2
BASELINE_UP, BASELINE_DOWN = 0.001, 0.9
WINDOW, DELAYED = 6, 3
RAISE_MS, DELAY_MS, REDUCE_MS = 10.0, 30.0, 60.0
"""Average excess up to which the rate rises fully, of a delayed sample, and of a full reduction."""
REDUCE_MIN, REDUCE_MAX = 0.99, 0.75
RAISE_MIN, RAISE_MAX = 1.0, 1.04
DECAY_DOWN, DECAY_UP = 0.99, 1.01
HIGH_LOAD = 0.75
REFRACTORY_S, DECAY_S = 0.3, 1.0
PACKET_BITS = 1514 * 8

_REPLY = re.compile(r"time=([0-9.]+) ms")


class Rule:
    """The rule without its surroundings: times and delays in, a rate out.

    Attributes
    ----------
    rate_kbps
        The rate for CAKE.
    """

    def __init__(self, min_kbps: float, base_kbps: float, max_kbps: float) -> None:
        self._min, self._base, self._max = min_kbps, base_kbps, max_kbps
        self.rate_kbps = base_kbps
        self._baseline_ms: float | None = None
        self._excess_ms: deque[float] = deque(maxlen=WINDOW)
        self._achieved_kbps = 0.0
        self._reduced_s = self._decayed_s = float("-inf")

    def sample(self, now_s: float, rtt_ms: float) -> None:
        """Take the answer of a reflector into account."""
        delay_ms = rtt_ms / 2
        if self._baseline_ms is None:
            self._baseline_ms = delay_ms
        weight = BASELINE_UP if delay_ms > self._baseline_ms else BASELINE_DOWN
        self._baseline_ms += weight * (delay_ms - self._baseline_ms)
        self._excess_ms.append(delay_ms - self._baseline_ms)
        if self._is_bloated() and now_s > self._reduced_s + REFRACTORY_S:
            threshold, full = self._widened(DELAY_MS), self._widened(REDUCE_MS)
            self._multiply(between(self._average_ms(), threshold, full, REDUCE_MIN, REDUCE_MAX))
            self._reduced_s = now_s

    def load(self, now_s: float, achieved_kbps: float) -> None:
        """Take the rate of the last `LOAD_INTERVAL_S` into account."""
        if achieved_kbps > HIGH_LOAD * self.rate_kbps:
            if not self._is_bloated() and now_s > self._reduced_s + REFRACTORY_S:
                threshold = self._widened(DELAY_MS)
                self._multiply(between(self._average_ms(), RAISE_MS, threshold, RAISE_MAX, RAISE_MIN))
        elif not self._is_bloated() and now_s > max(self._reduced_s, self._decayed_s) + DECAY_S:
            if self.rate_kbps > self._base:
                self.rate_kbps = max(self.rate_kbps * DECAY_DOWN, self._base)
            else:
                self.rate_kbps = min(self.rate_kbps * DECAY_UP, self._base)
            self._decayed_s = now_s

    def _is_bloated(self) -> bool:
        return sum(excess > self._widened(DELAY_MS) for excess in self._excess_ms) >= DELAYED

    def _average_ms(self) -> float:
        return sum(self._excess_ms) / max(len(self._excess_ms), 1)

    def _widened(self, threshold_ms: float) -> float:
        """Add the time of a packet at the current rate; kbit/s are bits per ms."""
        return threshold_ms + PACKET_BITS / self.rate_kbps

    def _multiply(self, factor: float) -> None:
        self.rate_kbps = min(max(self.rate_kbps * factor, self._min), self._max)


def between(value: float, low: float, high: float, at_low: float, at_high: float) -> float:
    """Interpolate linearly, constant outside of `low` and `high`."""
    share = min(max((value - low) / (high - low), 0.0), 1.0)
    return at_low + share * (at_high - at_low)


def sent_bytes(interface: str) -> int:
    """Return the bytes that an interface has sent; that of the reader's network namespace."""
    for line in Path("/proc/self/net/dev").read_text(encoding="utf-8").splitlines():
        name, _, counters = line.partition(":")
        if name.strip() == interface:
            return int(counters.split()[8])
    raise FileNotFoundError(2, "no such interface", interface)


def main() -> None:
    """Ping, and set the rate of CAKE."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("interface")
    parser.add_argument("host")
    parser.add_argument(
        "--tbf", action="store_true", help="a token bucket with a queue of 30 ms instead of CAKE"
    )
    for name in ("min", "base", "max"):
        parser.add_argument(f"--{name}", type=float, required=True, help="kbit/s")
    options = parser.parse_args()
    rule = Rule(options.min, options.base, options.max)
    ping = ["ping", "-n", "-i", str(PING_INTERVAL_S), options.host]
    with subprocess.Popen(ping, stdout=subprocess.PIPE, text=True) as answers:  # noqa: S603 (our own command)
        signal.signal(signal.SIGTERM, lambda *_: answers.terminate())
        follow(rule, options.interface, answers, is_tbf=options.tbf)


def change(interface: str, rate_kbps: int, *, is_tbf: bool) -> None:
    """Set the rate of an interface."""
    qdisc = ["cake", "bandwidth", f"{rate_kbps}kbit"]
    if is_tbf:
        # As those of `airwnd guard shape`: 1 ms, at least two packets; 30 ms, at least ten.
        burst, limit = max(rate_kbps // 8, 3028), max(rate_kbps * 30 // 8, 15140)
        qdisc = ["tbf", "rate", f"{rate_kbps}kbit", "burst", str(burst), "limit", str(limit)]
    subprocess.run(["tc", "qdisc", "change", "dev", interface, "root", *qdisc], check=True)  # noqa: S603, S607 (our own command)


def follow(rule: Rule, interface: str, answers: "subprocess.Popen[str]", *, is_tbf: bool = False) -> None:
    """Apply the rule to each answer, until there are no more."""
    was_s, was_bytes = time.monotonic(), sent_bytes(interface)
    current = 0
    for line in answers.stdout or ():
        now_s = time.monotonic()
        if found := _REPLY.search(line):
            rule.sample(now_s, float(found[1]))
        if now_s >= was_s + LOAD_INTERVAL_S:
            bytes_sent = sent_bytes(interface)
            rule.load(now_s, (bytes_sent - was_bytes) * 8e-3 / (now_s - was_s))
            was_s, was_bytes = now_s, bytes_sent
        if round(rule.rate_kbps) != current:
            current = round(rule.rate_kbps)
            change(interface, current, is_tbf=is_tbf)
            sys.stdout.write(f"{now_s:.3f} {current}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
