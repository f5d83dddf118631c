"""Base class of congestion controls written in Python."""

from abc import ABC, abstractmethod

from airwnd._native import Ack, Congestion, Connection

__all__ = ["Ack", "Congestion", "CongestionControl", "Connection"]


class CongestionControl(ABC):
    """Congestion control of one connection: cwnd and, optionally, a pacing rate.

    A scenario runs a subclass as ``cc = {kind = "python", class = "gentle.py:Gentle", gain = 0.5}``. Other
    keys are keyword arguments of its constructor; each connection has its own object. airwnd calls
    :meth:`on_ack`, :meth:`on_congestion` and, if the class defines it, :meth:`on_delivery`, and reads the
    attributes after each call. Loss detection, retransmission and the reduction of the bytes in flight during
    recovery belong to the sender. airwnd itself sets ``cwnd_bytes`` when the receiver determines it (ARWA's
    codes) and when a sender restarts after an idle period.

    The same calls must produce the same windows. A class must not read a clock, may draw random numbers only
    from ``connection.seed``, and must keep its state in the object, because flows and runs share the class.

    Parameters
    ----------
    connection
        Segment size, initial window and initial slow-start threshold.

    Attributes
    ----------
    cwnd_bytes
        Congestion window in bytes, at least 1. It is rounded down to whole bytes; less than one segment
        counts as one segment. Initially the initial window.
    ssthresh_bytes
        Slow-start threshold in bytes; ``math.inf``: no threshold. It appears in the time series and is
        otherwise used by the class only. Initially the scenario's ``tcp.initial_ssthresh``, by default no
        threshold.
    pacing_rate_bps
        Pacing rate of the payload in bit/s; ``None``: no pacing, send whenever the window allows. Ignored
        with ``tcp.pacing = "never"``.
    governs_recovery
        Whether ``cwnd_bytes`` is also the window during loss recovery. If so, the class acts in
        :meth:`on_delivery`, because :meth:`on_ack` is not called during recovery. If not, the sender reduces
        the bytes in flight to ``cwnd_bytes`` in step with deliveries. Read once, when the connection begins;
        default ``False``.
    is_l4s
        Whether packets are sent as ECT(1), the identifier of L4S senders, which respond to each mark, for
        low-latency queues (RFC 9331). Read once, when the connection begins; default ``False``.

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
        """Handle an ACK of new data outside loss recovery; slow start after a timeout counts as outside.

        Parameters
        ----------
        ack
            Acknowledged data and measurements.
        """

    def on_delivery(self, ack: Ack) -> None:  # noqa: B027 (optional: does nothing)
        """Handle an ACK that reports received data, including ACKs during loss recovery.

        For measurement. Called before :meth:`on_ack` if that is called for the same ACK. A class without this
        method saves the call.

        Parameters
        ----------
        ack
            Acknowledged data and measurements.
        """

    @abstractmethod
    def on_congestion(self, event: Congestion) -> None:
        """Handle a loss or an ECN mark, at most one per window of data, or a timeout.

        Set ``cwnd_bytes`` to the window to have when loss recovery ends; after a timeout, to one segment.

        Parameters
        ----------
        event
            Kind of event and bytes in flight.
        """
