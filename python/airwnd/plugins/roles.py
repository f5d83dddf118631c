"""Families whose members may be Python classes."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Role:
    """Requirements on a class of a family.

    Attributes
    ----------
    family
        Name of the family in the engine.
    base
        Name of the base class in ``airwnd``.
    abstract
        Methods that a class must define.
    first
        First argument of the constructor, which airwnd passes.
    """

    family: str
    base: str
    abstract: tuple[str, ...]
    first: str


#: All roles, by family.
ROLES = {
    role.family: role
    for role in (
        Role("cc", "CongestionControl", ("on_ack", "on_congestion"), "connection"),
        Role("rwnd", "ReceiveWindowControl", ("window",), "receiver"),
        Role("aqm", "QueueDiscipline", ("enqueue", "dequeue"), "queue"),
        Role("sched", "DownlinkScheduler", ("allocate",), "carrier"),
        Role("handover", "HandoverAlgorithm", ("events", "target"), "ue"),
        Role("traffic", "TrafficSource", ("write",), "flow"),
    )
}
#: All roles, by base class.
BASES = {role.base: role for role in ROLES.values()}
