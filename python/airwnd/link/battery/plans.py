"""The batteries: which workloads run at the same time."""

from dataclasses import dataclass

#: Time without load before the workloads begin, in seconds: the base RTT.
IDLE_S = 2.0
#: Interval of pings, in seconds.
PING_S = 0.05
#: Interval of the datagrams of a call in each direction, in seconds: RTP's default for audio (RFC 3551 §4.2).
CALL_S = 0.02


@dataclass(frozen=True, slots=True)
class Plan:
    """Workloads of a battery, beside a UDP ping.

    Attributes
    ----------
    about
        The workloads in words.
    downloads, uploads
        Number of TCP transfers that last as long as the battery.
    has_call
        Whether datagrams are sent every :data:`CALL_S` in both directions.
    has_pages
        Whether web pages are loaded, one after the other.
    """

    about: str
    downloads: int = 0
    uploads: int = 0
    has_call: bool = False
    has_pages: bool = False


#: The batteries by name. The first two are named after the tests of flent with these workloads.
BATTERIES = {
    "rrul": Plan("four downloads and four uploads", downloads=4, uploads=4),
    "tcp_download": Plan("one download", downloads=1),
    "voip": Plan("a call beside a download and an upload", downloads=1, uploads=1, has_call=True),
    "web": Plan("page loads, one after the other", has_pages=True),
}


def pings(length_s: float) -> int:
    """Return the number of pings of a battery whose workloads last this long.

    Examples
    --------
    >>> pings(20)
    440
    """
    return round((IDLE_S + length_s) / PING_S)


def idle_pings() -> int:
    """Return the number of pings before the workloads begin."""
    return round(IDLE_S / PING_S)


def call_datagrams(length_s: float) -> int:
    """Return the number of datagrams of a call in each direction."""
    return round(length_s / CALL_S)
