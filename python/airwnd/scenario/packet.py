"""Packets that have left a network in virtual time."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Packet:
    """A packet that has left the network.

    Attributes
    ----------
    time_s, sent_s
        Times of arrival, or drop, and of departure in seconds.
    flow
        Number of the flow.
    to_ue
        Whether it was sent to the UE.
    data
        Payload.
    ecn
        ECN field, which queues may have marked.
    dropped
        Cause of the drop, as in ``drops_CAUSE`` of the results; ``None``: it was delivered.
    marked_s
        Time at which a queue marked it in seconds; ``None``: none did.
    """

    time_s: float
    sent_s: float
    flow: int
    to_ue: bool
    data: bytes
    ecn: int
    dropped: str | None
    marked_s: float | None
