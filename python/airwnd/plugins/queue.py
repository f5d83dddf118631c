"""Base class of queue disciplines written in Python."""

from abc import ABC, abstractmethod

from airwnd._native import Queue, QueuedPacket

__all__ = ["Queue", "QueueDiscipline", "QueuedPacket"]


class QueueDiscipline(ABC):
    """Queue discipline of a link or a bearer: drops, marks, and the order of departure.

    A scenario runs a subclass as ``aqm = {kind = "python", class = "fresh.py:Fresh", limit_s = 0.1}`` on a
    link, or as ``rlc.queue`` in a cell. Other keys are keyword arguments of its constructor; each queue has
    its own object. The class keeps the packets that it gets in :meth:`enqueue` until it drops them with
    ``packet.drop()`` or returns them in :meth:`dequeue`. It drops and marks packets during these calls only.

    The same calls must lead to the same decisions. A class must not read a clock, may draw random numbers
    only from ``queue.seed``, and must keep its state in the object, because queues and runs share the class.

    Parameters
    ----------
    queue
        The queue, with its backlog and the time.

    Attributes
    ----------
    queue
        The queue.

    Examples
    --------
    >>> import airwnd
    >>> class Stack(airwnd.QueueDiscipline):
    ...     def __init__(self, queue: airwnd.Queue) -> None:
    ...         super().__init__(queue)
    ...         self.packets: list[airwnd.QueuedPacket] = []
    ...
    ...     def enqueue(self, packet: airwnd.QueuedPacket) -> None:
    ...         self.packets.append(packet)
    ...         if self.queue.backlog_bytes > 3000:
    ...             self.packets.pop(0).drop()
    ...
    ...     def dequeue(self) -> airwnd.QueuedPacket | None:
    ...         return self.packets.pop() if self.packets else None
    >>> queue = airwnd.Queue()
    >>> stack = Stack(queue)
    >>> for flow in range(3):
    ...     stack.enqueue(airwnd.QueuedPacket(queue, size_bytes=1500, flow=flow))
    >>> queue.backlog_packets, stack.dequeue().flow
    (2, 2)
    """

    def __init__(self, queue: Queue) -> None:
        self.queue = queue

    @abstractmethod
    def enqueue(self, packet: QueuedPacket) -> None:
        """Take an arriving packet, and drop or mark it or others.

        Parameters
        ----------
        packet
            The packet. It is in the queue until it is dropped.
        """

    @abstractmethod
    def dequeue(self) -> QueuedPacket | None:
        """Choose the packet that leaves.

        Returns
        -------
        QueuedPacket or None
            A packet of the queue; ``None`` only if the queue is empty. The call is repeated if the packet has
            been discarded, because it has waited for longer than the PDCP discard timer.
        """
