"""Congestion controls that are bad on purpose, for the tests of ``airwnd evaluate``."""

# ruff: noqa: ARG002 (the methods of a sender have their arguments, needed or not)
import math
import os
import sys
import time

import airwnd


class _Reno(airwnd.CongestionControl):
    """NewReno (RFC 5681) in bytes; a subclass spoils one of its rules."""

    increase = 1.0
    decrease = 0.5

    def __init__(self, connection: airwnd.Connection) -> None:
        super().__init__(connection)
        self.mss = connection.mss_bytes

    def on_ack(self, ack: airwnd.Ack) -> None:
        if self.cwnd_bytes < self.ssthresh_bytes:
            self.cwnd_bytes += ack.acked_bytes
        else:
            self.cwnd_bytes += self.increase * self.mss * ack.acked_bytes / self.cwnd_bytes

    def on_congestion(self, event: airwnd.Congestion) -> None:
        self.ssthresh_bytes = max(self.decrease * event.in_flight_bytes, 2.0 * self.mss)
        self.cwnd_bytes = self.ssthresh_bytes if event.signal in {"loss", "ecn"} else self.mss


class Sound(_Reno):
    """Not sabotaged, to show that the rows fail for the sabotage."""


class NeverBacksOff(_Reno):
    """Ignores every loss and every timeout."""

    governs_recovery = True

    def on_congestion(self, event: airwnd.Congestion) -> None:
        self.ssthresh_bytes = min(self.ssthresh_bytes, self.cwnd_bytes)


class BacksOffToZero(_Reno):
    """Stays at one segment after the first loss."""

    def on_ack(self, ack: airwnd.Ack) -> None:
        if math.isinf(self.ssthresh_bytes):
            super().on_ack(ack)

    def on_congestion(self, event: airwnd.Congestion) -> None:
        self.ssthresh_bytes = self.cwnd_bytes = self.mss


class Unfair(_Reno):
    """Grows eight times as fast as Reno, and gives up a tenth at a loss."""

    increase = 8.0
    decrease = 0.9


class DelayBlind(_Reno):
    """Keeps at least 150 segments in flight, whatever queue they make; only a timeout counts."""

    def on_congestion(self, event: airwnd.Congestion) -> None:
        super().on_congestion(event)
        if event.signal in {"loss", "ecn"}:
            self.ssthresh_bytes = self.cwnd_bytes = max(self.cwnd_bytes, 150.0 * self.mss)


class CountsAcks(_Reno):
    """Counts ACKs, however little they acknowledge, as Reno did before byte counting."""

    def on_ack(self, ack: airwnd.Ack) -> None:
        if self.cwnd_bytes < self.ssthresh_bytes:
            self.cwnd_bytes += self.mss
        else:
            self.cwnd_bytes += self.mss * self.mss / self.cwnd_bytes


class Raises(_Reno):
    """Fails at the first ACK."""

    def on_ack(self, ack: airwnd.Ack) -> None:
        raise ZeroDivisionError("on purpose")


class Hangs(_Reno):
    """Does not return from the first ACK."""

    def on_ack(self, ack: airwnd.Ack) -> None:
        while True:
            time.sleep(0.01)


class NotANumber(_Reno):
    """Sets the window to NaN."""

    def on_ack(self, ack: airwnd.Ack) -> None:
        self.cwnd_bytes = math.nan


class Infinite(_Reno):
    """Sets the window to infinity."""

    def on_ack(self, ack: airwnd.Ack) -> None:
        self.cwnd_bytes = math.inf


class Negative(_Reno):
    """Sets the window to a negative number."""

    def on_ack(self, ack: airwnd.Ack) -> None:
        self.cwnd_bytes = -1


class Text(_Reno):
    """Sets the window to text."""

    def on_ack(self, ack: airwnd.Ack) -> None:
        self.cwnd_bytes = "large"  # type: ignore[assignment]  # on purpose


class Exits(_Reno):
    """Ends the interpreter."""

    def on_ack(self, ack: airwnd.Ack) -> None:
        sys.exit(3)


class Forks(_Reno):
    """Forks the process at each ACK."""

    def on_ack(self, ack: airwnd.Ack) -> None:
        os.fork()
        super().on_ack(ack)


class Ends(_Reno):
    """Ends the process."""

    def on_ack(self, ack: airwnd.Ack) -> None:
        os._exit(7)


class Prints(_Reno):
    """Writes ten kilobytes at each ACK."""

    def on_ack(self, ack: airwnd.Ack) -> None:
        print("x" * 10_000)  # noqa: T201 (on purpose)
        print("y" * 10_000, file=sys.stderr)  # noqa: T201 (on purpose)
        super().on_ack(ack)
