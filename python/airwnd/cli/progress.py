"""Progress as lines, for a standard error that is not a terminal: a log file, a batch system, a notebook."""

import time
from collections.abc import Callable

import click

from airwnd.text.quantities import seconds_text
from airwnd.text.terminal import plain

# Work shorter than this prints nothing.
_QUIET_S = 10.0
_PARTS, _ROUNDING = 10, 1e-9
# Between steps of 10 % a line is printed after this pause. Each pause is longer than the one before, so that
# even a week of work prints only some tens of lines.
_PAUSE_S, _LONGER = 30.0, 1.5


class ProgressLines:
    """Prints the finished fraction and the estimated time left at every 10 %, and occasionally in between.

    Parameters
    ----------
    title
        First words of each line.
    clock
        Returns the time in seconds.
    write
        Prints a line; default: to standard error.
    """

    def __init__(
        self,
        title: str,
        clock: Callable[[], float] = time.monotonic,
        write: Callable[[str], object] = lambda line: click.echo(line, err=True),
    ) -> None:
        self._title = plain(title)
        self._clock = clock
        self._write = write
        self._begin = clock()
        self._pause = _PAUSE_S
        self._next_s = _PAUSE_S
        self._next_part = 1

    def __call__(self, fraction: float) -> None:
        """Report the finished fraction, 0 to 1."""
        elapsed = self._clock() - self._begin
        if elapsed < _QUIET_S or fraction >= 1:
            return
        part = int(_PARTS * fraction + _ROUNDING)
        stepped = part >= self._next_part
        if not stepped and elapsed < self._next_s:
            return
        if stepped:
            self._next_part = part + 1
        else:
            self._pause *= _LONGER
        self._next_s = elapsed + self._pause
        left = seconds_text(elapsed * (1 - fraction) / fraction) if fraction > 0 else "an unknown time"
        self._write(
            f"{self._title}: {100 * fraction:.0f} % done in {seconds_text(elapsed)}, about {left} left"
        )
