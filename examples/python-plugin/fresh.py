"""A queue discipline that limits the queueing delay."""

from collections import deque

import airwnd


class Fresh(airwnd.QueueDiscipline):
    """Drop packets that have waited for longer than a limit, instead of sending them.

    Parameters
    ----------
    queue
        Backlog and time.
    limit_s
        Longest wait, in seconds.
    """

    def __init__(self, queue: airwnd.Queue, limit_s: float = 0.1) -> None:
        super().__init__(queue)
        self.limit_s = limit_s
        self.packets: deque[airwnd.QueuedPacket] = deque()

    def enqueue(self, packet: airwnd.QueuedPacket) -> None:
        self.packets.append(packet)

    def dequeue(self) -> airwnd.QueuedPacket | None:
        while len(self.packets) > 1 and self.queue.now_s - self.packets[0].arrived_s > self.limit_s:
            self.packets.popleft().drop(early=True)
        return self.packets.popleft() if self.packets else None
