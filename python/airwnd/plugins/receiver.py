"""Base class of receive-window controls written in Python."""

from abc import ABC, abstractmethod

from airwnd._native import Arrival, Receiver, ReceiverState

__all__ = ["Arrival", "ReceiveWindowControl", "Receiver", "ReceiverState"]


class ReceiveWindowControl(ABC):
    """Receive-window control of a connection: the window that the receiver advertises.

    A scenario runs a subclass as ``rwnd = {kind = "python", class = "level.py:Level", target_s = 0.05}``.
    Other keys are keyword arguments of the constructor. Each connection has its own object.

    The same calls must lead to the same windows. A class must not read a clock, may draw random numbers only
    from ``receiver.seed``, and must keep its state in the object, because connections and runs share the
    class.

    Parameters
    ----------
    receiver
        Segment size, buffer and seed of the receiver.

    Attributes
    ----------
    receiver
        The receiver.
    may_shrink
        Whether the receiver may take back bytes that it has offered (RFC 9293 section 3.8.6: strongly
        discouraged). Otherwise the right edge of the window stays, and the window shrinks as data arrives.
        Read once, at the start of the connection.

    Examples
    --------
    >>> import airwnd
    >>> class Constant(airwnd.ReceiveWindowControl):
    ...     def __init__(self, receiver: airwnd.Receiver, segments: int = 20) -> None:
    ...         super().__init__(receiver)
    ...         self.segments = segments
    ...
    ...     def window(self, state: airwnd.ReceiverState) -> int:
    ...         return self.segments * self.receiver.mss_bytes
    >>> Constant(airwnd.Receiver(mss_bytes=1000)).window(airwnd.ReceiverState())
    20000
    """

    may_shrink: bool = False

    def __init__(self, receiver: Receiver) -> None:
        self.receiver = receiver

    def on_arrival(self, arrival: Arrival, state: ReceiverState) -> None:  # noqa: B027 (optional: does nothing)
        """Note the arrival of a data segment. A class without this method saves the call.

        Parameters
        ----------
        arrival
            The segment, with its measurements.
        state
            The receiver after it.
        """

    def on_read(self, read_bytes: int, state: ReceiverState) -> None:  # noqa: B027 (optional: does nothing)
        """Note that the application has read data. A class without this method saves the call.

        Parameters
        ----------
        read_bytes
            Bytes read now.
        state
            The receiver after it.
        """

    @abstractmethod
    def window(self, state: ReceiverState) -> int:
        """Return the window for a segment that is sent now; called any number of times.

        Parameters
        ----------
        state
            The receiver.

        Returns
        -------
        int
            Bytes beyond the acknowledgment number, 0 to 2**30. The receiver offers at most its free buffer,
            in units of the window scale.
        """
