"""Base class of traffic sources written in Python."""

from abc import ABC, abstractmethod

from airwnd._native import TrafficFlow

__all__ = ["TrafficFlow", "TrafficSource"]


class TrafficSource(ABC):
    """Traffic source of a flow: how many bytes the application writes, and when.

    A scenario runs a subclass as ``traffic = {kind = "python", class = "game.py:Game", transport = "udp"}``.
    The keys ``transport`` and ``ends`` belong to the scenario; others are keyword arguments of the
    constructor. Each flow has its own object.

    The same calls must lead to the same data. A class must not read a clock, may draw random numbers only
    from ``flow.seed``, and must keep its state in the object, because flows and runs share the class.

    Parameters
    ----------
    flow
        Transport, number and seed of the flow.

    Attributes
    ----------
    flow
        The flow.
    size_bytes
        Total size of the flow, for completion times; ``None``: unknown. Read once, when the flow is created.

    Examples
    --------
    >>> import airwnd
    >>> class Frames(airwnd.TrafficSource):
    ...     def write(self, now_s: float) -> tuple[int, float | None]:
    ...         return (20_000, 1 / 30) if now_s < 10 else (0, None)
    >>> Frames(airwnd.TrafficFlow()).write(10.0)
    (0, None)
    """

    size_bytes: int | None = None

    def __init__(self, flow: TrafficFlow) -> None:
        self.flow = flow

    @abstractmethod
    def write(self, now_s: float) -> tuple[int, float | None]:
        """Write data; called when the flow starts, and then at each time that the call before has named.

        Parameters
        ----------
        now_s
            Current time, in seconds from the beginning of the simulation.

        Returns
        -------
        tuple
            Bytes, 0 for none: a UDP datagram, or data for TCP, which discards what does not fit into the
            send buffer. And the seconds to the next call; ``None``: this data, of which TCP discards nothing,
            is the last, and the connection closes after it.
        """
