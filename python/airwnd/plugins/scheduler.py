"""Base class of downlink schedulers written in Python."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Literal

from airwnd._native import SchedulerCarrier, SchedulerTti, SchedulerUe

__all__ = ["DownlinkScheduler", "SchedulerCarrier", "SchedulerTti", "SchedulerUe"]


class DownlinkScheduler(ABC):
    """Downlink scheduler of a carrier of a cell: which UE gets which RBG.

    A scenario runs a subclass as ``mac.scheduler = {kind = "python", class = "fair.py:Fair", window = 50}``.
    Other keys are keyword arguments of its constructor; each carrier of a cell has its own object. Only
    :meth:`allocate` is required. HARQ retransmissions, which go first, transport blocks and link adaptation
    belong to the MAC.

    The same calls must lead to the same decisions. A class must not read a clock, may draw random numbers
    only from ``carrier.seed``, and must keep its state in the object, because cells and runs share the class.

    Parameters
    ----------
    carrier
        RBGs and TTIs of the carrier.

    Attributes
    ----------
    carrier
        The carrier.
    link_adaptation
        CQI that determines the MCS of a grant: ``"subband"``, the lowest of the granted RBGs, or
        ``"wideband"``. Read once, when the cell is created.

    Examples
    --------
    >>> import airwnd
    >>> class BestChannel(airwnd.DownlinkScheduler):
    ...     def allocate(self, tti: airwnd.SchedulerTti) -> list[airwnd.SchedulerUe | None]:
    ...         return [max(tti.ues, key=lambda ue: ue.rate_bps(rbg)) for rbg in tti.rbgs]
    >>> ues = [airwnd.SchedulerUe(number=number, cqi=cqi) for number, cqi in enumerate((7, 12))]
    >>> best = BestChannel(airwnd.SchedulerCarrier())
    >>> best.allocate(airwnd.SchedulerTti(ues, rbgs=[0, 1]))
    [<SchedulerUe 1>, <SchedulerUe 1>]
    """

    link_adaptation: Literal["subband", "wideband"] = "subband"

    def __init__(self, carrier: SchedulerCarrier) -> None:
        self.carrier = carrier

    @abstractmethod
    def allocate(self, tti: SchedulerTti) -> list[SchedulerUe | None]:
        """Give the free RBGs to UEs.

        Called in each TTI in which the cell can send new data and a UE can be served, and once more if the
        PDCCH has no room for all assignments.

        Parameters
        ----------
        tti
            Free RBGs, and UEs that can be served.

        Returns
        -------
        list
            For each RBG of ``tti.rbgs`` the UE that gets it; ``None``: it stays unused. An RBG also stays
            unused if its UE is out of range there.
        """

    def on_served(self, served: Mapping[int, int]) -> None:  # noqa: B027 (optional: does nothing)
        """Note the bytes granted in a TTI.

        Called after each TTI in which the cell could send new data, also without grants. A class without this
        method, or one of the following, saves the call.

        Parameters
        ----------
        served
            Transport block sizes in bytes, by number of the UE.
        """

    def on_idle(self, ttis: int) -> None:  # noqa: B027 (optional: does nothing)
        """Note that TTIs have passed in which no UE had data.

        Parameters
        ----------
        ttis
            Their number.
        """

    def on_admit(self, ue: int) -> None:  # noqa: B027 (optional: does nothing)
        """Note a UE that joins the cell.

        Parameters
        ----------
        ue
            Its number.
        """

    def on_release(self, ue: int) -> None:  # noqa: B027 (optional: does nothing)
        """Note a UE that leaves the cell.

        Parameters
        ----------
        ue
            Its number.
        """
