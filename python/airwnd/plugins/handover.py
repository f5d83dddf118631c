"""Base class of handover algorithms written in Python."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from airwnd._native import CellMeasurement, HandoverEvent, HandoverReport, HandoverUe

__all__ = ["CellMeasurement", "HandoverAlgorithm", "HandoverEvent", "HandoverReport", "HandoverUe"]


class HandoverAlgorithm(ABC):
    """Handover algorithm of a UE: which measurements are reported, and when it changes cells.

    A scenario runs a subclass as ``handover.algorithm = {kind = "python", class = "patient.py:Patient"}``.
    Other keys are keyword arguments of its constructor; each UE has its own object. Measurement filters, the
    execution of a handover and radio link failures belong to the engine.

    The same calls must lead to the same decisions. A class must not read a clock, may draw random numbers
    only from ``ue.seed``, and must keep its state in the object, because UEs and runs share the class.

    Parameters
    ----------
    ue
        Number of the UE, and of cells.

    Attributes
    ----------
    ue
        The UE.

    Examples
    --------
    >>> import airwnd
    >>> class Strongest(airwnd.HandoverAlgorithm):
    ...     def events(self) -> list[airwnd.HandoverEvent]:
    ...         return [airwnd.HandoverEvent("a3", 3.0, time_to_trigger_s=0.25)]
    ...
    ...     def target(self, report: airwnd.HandoverReport) -> int | None:
    ...         return report.neighbours[0].cell
    >>> serving, other = airwnd.CellMeasurement(0), airwnd.CellMeasurement(1, rsrp_dbm=-90.0)
    >>> Strongest(airwnd.HandoverUe()).target(airwnd.HandoverReport(serving, [other]))
    1
    """

    def __init__(self, ue: HandoverUe) -> None:
        self.ue = ue

    @abstractmethod
    def events(self) -> Sequence[HandoverEvent]:
        """Configure the reporting events of the UE; called once.

        Returns
        -------
        sequence of HandoverEvent
            At most 32.
        """

    @abstractmethod
    def target(self, report: HandoverReport) -> int | None:
        """Decide on a report. Not called during a handover.

        Parameters
        ----------
        report
            The event that has occurred, and measurements of cells.

        Returns
        -------
        int or None
            Number of the cell that takes over the UE; ``None``: it stays.
        """

    def on_handover(self) -> None:  # noqa: B027 (optional: does nothing)
        """Note that the UE has changed cells. A class without this method saves the call."""
