"""The base class of congestion controls that are written in Python."""

from abc import ABC, abstractmethod

from airwnd._native import Ack, Congestion, Connection

__all__ = ["Ack", "Congestion", "CongestionControl", "Connection"]


class CongestionControl(ABC):
    """How much a sender may have in the network: one object for each connection.

    A scenario runs a subclass as ``cc = {kind = "python", class = "gentle.py:Gentle", gain = 0.5}``: other
    keys are keyword arguments of its constructor. airwnd calls :meth:`on_ack` and :meth:`on_congestion`, and
    :meth:`on_delivery` if the class has it, and reads the attributes after each call. What is lost, what is
    sent again and how the flight comes down in recovery is the sender's business. airwnd itself sets
    ``cwnd_bytes`` when the receiver decides it (ARWA's codes) and when a sender starts again after idleness.

    The same calls must lead to the same windows: no clock, random numbers only from a seed of one's own, and
    no state outside the object, for all flows and runs share the class.

    Parameters
    ----------
    connection
        Segment size, initial window and initial threshold.

    Attributes
    ----------
    cwnd_bytes
        The congestion window in bytes, at least 1; rounded down to whole bytes, and less than a segment
        counts as one segment. Begins as the initial window.
    ssthresh_bytes
        The slow-start threshold in bytes, ``math.inf`` for none. It is shown in time series and otherwise the
        class's own. Begins as ``tcp.initial_ssthresh`` of the scenario, which is none by default.
    pacing_rate_bps
        The rate of payload to pace at in bit/s, or ``None`` to send whenever the window allows. A scenario
        with ``tcp.pacing = "never"`` ignores it.
    governs_recovery
        Whether ``cwnd_bytes`` is the window while a loss is repaired, too; otherwise the sender comes down to
        it in step with what arrives. Such a class acts in :meth:`on_delivery`, for :meth:`on_ack` does not
        come then. Read once, when the connection begins; ``False`` unless the class says otherwise.
    is_l4s
        Whether packets are sent as ECT(1), by which low-latency queues know senders that heed each mark (RFC
        9331). Read once; ``False`` unless the class says otherwise.

    Examples
    --------
    >>> import airwnd
    >>> class Timid(airwnd.CongestionControl):
    ...     def on_ack(self, ack: airwnd.Ack) -> None:
    ...         self.cwnd_bytes += 0.1 * ack.acked_bytes
    ...
    ...     def on_congestion(self, event: airwnd.Congestion) -> None:
    ...         self.cwnd_bytes = 0.8 * event.in_flight_bytes
    >>> timid = Timid(airwnd.Connection(mss_bytes=1000, initial_window_bytes=10_000))
    >>> timid.on_ack(airwnd.Ack(acked_bytes=1000))
    >>> timid.cwnd_bytes
    10100.0
    """

    cwnd_bytes: float
    ssthresh_bytes: float
    pacing_rate_bps: float | None
    governs_recovery: bool = False
    is_l4s: bool = False

    def __init__(self, connection: Connection) -> None:
        self.cwnd_bytes = connection.initial_window_bytes
        self.ssthresh_bytes = connection.initial_ssthresh_bytes
        self.pacing_rate_bps = None

    @abstractmethod
    def on_ack(self, ack: Ack) -> None:
        """Take an ACK of new data outside loss recovery; slow start after a timeout is outside of it.

        Parameters
        ----------
        ack
            What it acknowledges, and what it measured.
        """

    def on_delivery(self, ack: Ack) -> None:  # noqa: B027
        """Take an ACK that reports an arrival, during loss recovery too.

        For measuring; :meth:`on_ack` comes after it, if at all. A class that does without it saves the call.

        Parameters
        ----------
        ack
            What it acknowledges, and what it measured.
        """

    @abstractmethod
    def on_congestion(self, event: Congestion) -> None:
        """Take a loss or a mark, at most one for each window of data, or a timeout.

        ``cwnd_bytes`` becomes what it shall be when the loss is repaired; one segment after a timeout.

        Parameters
        ----------
        event
            What happened, and how much was in flight.
        """
