"""Traces of the radio interface: what is wanted."""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike

from airwnd.support.arguments import NONE, PAIR, PATH, SEVERAL, TEXT


@dataclass(frozen=True)
class RadioTrace:
    """Trace of MAC, RLC, PDCP and RRC into a folder of Parquet files, for ``run(radio_trace=...)``.

    The folder has a folder of parts for each table: ``grants``, ``blocks``, ``control`` and ``drx`` of the
    MAC, ``pdus`` of RLC, ``sdus`` of PDCP, and ``rrc``. Their columns are those of ``radio_grants`` and so
    on in :func:`airwnd.tables`.

    Attributes
    ----------
    path
        The folder. It is made; one with an earlier trace is replaced.
    layers
        ``mac``, ``rlc``, ``pdcp`` and ``rrc``; empty: all.
    ues
        ``ue-0`` and so on; empty: all.
    window
        Begin and end of a window, relative to the end of the warm-up, as in ``("2s", "5s")``; ``None``: the
        whole run.

    Examples
    --------
    >>> import airwnd
    >>> trace = airwnd.RadioTrace("radio", layers=["mac"], ues=["ue-0"], window=("2s", "5s"))
    """

    path: str | PathLike[str]
    layers: Sequence[str] = ()
    ues: Sequence[str] = ()
    window: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        PATH.check("path", self.path)
        for name, words in (("layers", self.layers), ("ues", self.ues)):
            (TEXT | SEVERAL).check(name, words)
            for word in words:
                TEXT.check(name, word)
        (PAIR | NONE).check("window", self.window)


def trace_of(radio_trace: RadioTrace | str | PathLike[str]) -> RadioTrace:
    """Return a trace; a path is one of everything."""
    return radio_trace if isinstance(radio_trace, RadioTrace) else RadioTrace(radio_trace)


def words(several: Sequence[str]) -> list[str]:
    """Return the words of a list; a text is one word."""
    return [several] if isinstance(several, str) else list(several)
