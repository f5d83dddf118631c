"""Built-in members of families, rebuilt as classes in Python: results must be equal."""

import math
import sys
from collections import deque
from collections.abc import Mapping

import airwnd

NS = 1_000_000_000


def ns(seconds: float) -> int:
    """Return a time in nanoseconds, as the engine has it."""
    return round(seconds * NS)


class DropTail(airwnd.QueueDiscipline):
    """A FIFO with a limit in bytes."""

    def __init__(self, queue: airwnd.Queue, buffer_bytes: int = 1_000_000) -> None:
        super().__init__(queue)
        self.buffer_bytes = buffer_bytes
        self.packets: deque[airwnd.QueuedPacket] = deque()

    def enqueue(self, packet: airwnd.QueuedPacket) -> None:
        if self.queue.backlog_bytes + self.queue.held_bytes > self.buffer_bytes:
            packet.drop()
        else:
            self.packets.append(packet)

    def dequeue(self) -> airwnd.QueuedPacket | None:
        return self.packets.popleft() if self.packets else None


class CoDel(DropTail):
    """CoDel with exact square roots."""

    TARGET, INTERVAL, MTU = NS // 200, NS // 10, 1500

    def __init__(self, queue: airwnd.Queue, buffer_bytes: int = 1_000_000) -> None:
        super().__init__(queue, buffer_bytes)
        self.dropping = False
        self.first_above: int | None = None
        self.drop_next = self.count = self.last_count = 0
        self.bytes = 0

    def enqueue(self, packet: airwnd.QueuedPacket) -> None:
        before = len(self.packets)
        super().enqueue(packet)
        self.bytes += packet.size_bytes * (len(self.packets) - before)

    def take(self, now: int) -> tuple[airwnd.QueuedPacket | None, bool]:
        if not self.packets:
            self.first_above = None
            return None, False
        packet = self.packets.popleft()
        self.bytes -= packet.size_bytes
        if now - ns(packet.arrived_s) < self.TARGET or self.bytes <= self.MTU:
            self.first_above = None
            return packet, False
        if self.first_above is None:
            self.first_above = now + self.INTERVAL
        return packet, now >= self.first_above

    def after(self, before: int) -> int:
        return before + round(self.INTERVAL / NS * (1.0 / math.sqrt(max(self.count, 1))) * NS)

    def signals(self, packet: airwnd.QueuedPacket) -> bool:
        """Return whether the packet was marked; otherwise it was dropped."""
        if packet.is_ecn_capable and packet.mark():
            return True
        packet.drop(early=True)
        return False

    def dequeue(self) -> airwnd.QueuedPacket | None:
        now = ns(self.queue.now_s)
        packet, may_drop = self.take(now)
        if packet is None or not may_drop:
            self.dropping = False
            return packet
        return self.proceed(packet, now) if self.dropping else self.start(packet, now)

    def proceed(self, packet: airwnd.QueuedPacket, now: int) -> airwnd.QueuedPacket | None:
        while now >= self.drop_next:
            self.count += 1
            if self.signals(packet):
                self.drop_next = self.after(self.drop_next)
                return packet
            following, may_drop = self.take(now)
            if following is None or not may_drop:
                self.dropping = False
                return following
            packet = following
            self.drop_next = self.after(self.drop_next)
        return packet

    def start(self, packet: airwnd.QueuedPacket, now: int) -> airwnd.QueuedPacket | None:
        following = packet if self.signals(packet) else self.take(now)[0]
        self.dropping = True
        delta = self.count - self.last_count
        recent = now - self.drop_next < 16 * self.INTERVAL
        self.count = delta if delta > 1 and recent else 1
        self.last_count = self.count
        self.drop_next = self.after(now)
        return following


class RoundRobin(airwnd.DownlinkScheduler):
    """Round robin that leaves the remainder unused, for UEs that stay in their cell."""

    link_adaptation = "wideband"

    def __init__(self, carrier: airwnd.SchedulerCarrier) -> None:
        super().__init__(carrier)
        self.slots = 0
        self.cursor = -1

    def on_admit(self, ue: int) -> None:
        self.slots = ue + 1

    def allocate(self, tti: airwnd.SchedulerTti) -> list[airwnd.SchedulerUe | None]:
        eligible = [ue for ue in tti.ues if ue.wideband_cqi > 0]
        given: list[airwnd.SchedulerUe | None] = []
        if eligible:
            share = max(len(tti.rbgs) // len(eligible), 1)
            start = (self.cursor + 1) % self.slots
            self.cursor = start
            for ue in sorted(eligible, key=lambda ue: (ue.number < start, ue.number)):
                given += [ue] * min(share, len(tti.rbgs) - len(given))
                if len(given) == len(tti.rbgs):
                    self.cursor = ue.number
                    break
        return given + [None] * (len(tti.rbgs) - len(given))


class ProportionalFair(airwnd.DownlinkScheduler):
    """Proportional fair with a moving average of the bytes."""

    def __init__(self, carrier: airwnd.SchedulerCarrier, window: float = 99.0) -> None:
        super().__init__(carrier)
        self.gain = 1.0 / window
        self.average: dict[int, float] = {}

    def on_admit(self, ue: int) -> None:
        self.average[ue] = 1.0

    def on_release(self, ue: int) -> None:
        del self.average[ue]

    def allocate(self, tti: airwnd.SchedulerTti) -> list[airwnd.SchedulerUe | None]:
        return [max(tti.ues, key=lambda ue: ue.rate_bps(rbg) / self.average[ue.number]) for rbg in tti.rbgs]

    def on_served(self, served: Mapping[int, int]) -> None:
        for ue, average in self.average.items():
            share = self.gain * served.get(ue, 0) * self.carrier.decisions_per_s
            self.average[ue] = (1.0 - self.gain) * average + share

    def on_idle(self, ttis: int) -> None:
        factor = (1.0 - self.gain) ** ttis
        for ue, average in self.average.items():
            self.average[ue] = max(average * factor, sys.float_info.min)


class A3Rsrp(airwnd.HandoverAlgorithm):
    """Handover to the strongest neighbour after event A3."""

    def __init__(
        self, ue: airwnd.HandoverUe, hysteresis_db: float = 3.0, time_to_trigger_s: float = 0.256
    ) -> None:
        super().__init__(ue)
        self.event = airwnd.HandoverEvent(
            "a3", 0.0, hysteresis_db=hysteresis_db, time_to_trigger_s=time_to_trigger_s
        )

    def events(self) -> list[airwnd.HandoverEvent]:
        return [self.event]

    def target(self, report: airwnd.HandoverReport) -> int | None:
        best = report.neighbours[0]
        # RSRP_00, below -140 dBm, is no measurement.
        return best.cell if best.rsrp_dbm >= -140 else None


class A2A4Rsrq(airwnd.HandoverAlgorithm):
    """Handover to the neighbour with the best RSRQ when that of the serving cell is low."""

    def __init__(self, ue: airwnd.HandoverUe) -> None:
        super().__init__(ue)
        self.known: dict[int, int] = {}

    def events(self) -> list[airwnd.HandoverEvent]:
        return [
            airwnd.HandoverEvent("a2", -5.0, quantity="rsrq", interval_s=0.24),
            airwnd.HandoverEvent("a4", -20.0, quantity="rsrq", interval_s=0.48),
        ]

    def target(self, report: airwnd.HandoverReport) -> int | None:
        if report.event == 1:
            self.known.update({other.cell: self.index(other) for other in report.neighbours})
            return None
        best = max(sorted(self.known), key=lambda cell: self.known[cell], default=None)
        lowest = max(self.index(report.serving) + 1, 1)
        return best if best is not None and self.known[best] >= lowest else None

    def index(self, cell: airwnd.CellMeasurement) -> int:
        return min(max(math.floor(2.0 * cell.rsrq_db + 40.0), 0), 34)

    def on_handover(self) -> None:
        self.known.clear()


class Drwa(airwnd.ReceiveWindowControl):
    """DRWA: lambda RTTmin / RTT times the smoothed bytes of a round trip."""

    ALPHA, INITIAL = 0.875, 65_536

    def __init__(self, receiver: airwnd.Receiver, target: float = 3.0) -> None:
        super().__init__(receiver)
        self.target = target
        self.since: int | None = None
        self.bytes = 0
        self.min_rtt: int | None = None
        self.estimate: float | None = None
        self.offered = self.INITIAL

    def on_read(self, read_bytes: int, state: airwnd.ReceiverState) -> None:
        now = ns(state.now_s)
        self.bytes += read_bytes
        self.since = now if self.since is None else self.since
        if state.rtt_s is None or now - self.since < ns(state.rtt_s):
            return
        rtt = ns(state.rtt_s)
        self.min_rtt = min(rtt, self.min_rtt or rtt)
        copied = float(self.bytes)
        self.since, self.bytes = now, 0
        if self.estimate is None:
            self.estimate = copied
        else:
            self.estimate = self.ALPHA * self.estimate + (1 - self.ALPHA) * copied
        self.offered = int(self.target * (self.min_rtt / rtt) * self.estimate)

    def window(self, state: airwnd.ReceiverState) -> int:  # noqa: ARG002 (the signature is given)
        return max(self.offered, 2 * self.receiver.mss_bytes)


class Cbr(airwnd.TrafficSource):
    """Datagrams of one size at equal intervals."""

    def __init__(self, flow: airwnd.TrafficFlow, rate_bps: int = 1_000_000, packet_bytes: int = 1000) -> None:
        super().__init__(flow)
        self.packet_bytes = packet_bytes
        # The engine has whole nanoseconds, rounded up.
        self.wait_s = -(-8 * packet_bytes * NS // rate_bps) / NS

    def write(self, now_s: float) -> tuple[int, float | None]:  # noqa: ARG002 (the signature is given)
        return self.packet_bytes, self.wait_s


class Transfer(airwnd.TrafficSource):
    """All data at once."""

    def __init__(self, flow: airwnd.TrafficFlow, size_bytes: int = 1_000_000) -> None:
        super().__init__(flow)
        self.size_bytes = size_bytes if flow.size_bytes is None else flow.size_bytes

    def write(self, now_s: float) -> tuple[int, float | None]:  # noqa: ARG002 (the signature is given)
        assert self.size_bytes is not None
        return self.size_bytes, None
