"""A congestion control that keeps the queue short."""

import airwnd


class Gentle(airwnd.CongestionControl):
    """Change the window in proportion to the distance of the queueing delay from a target.

    Parameters
    ----------
    connection
        Segment size and initial window.
    target_s
        Target queueing delay, in seconds.
    gain
        Increase per round trip without queueing delay, in segments.
    """

    def __init__(self, connection: airwnd.Connection, target_s: float = 0.025, gain: float = 1.0) -> None:
        super().__init__(connection)
        if not target_s > 0:
            raise ValueError(f"target_s must be above 0, not {target_s}")
        self.mss = connection.mss_bytes
        self.target_s = target_s
        self.gain = gain

    def on_ack(self, ack: airwnd.Ack) -> None:
        if ack.rtt_s is None or ack.min_rtt_s is None:
            return
        missing = 1.0 - (ack.rtt_s - ack.min_rtt_s) / self.target_s
        # However long the queue, an ACK reduces the window by at most the acknowledged bytes.
        step = max(self.gain * missing * self.mss / self.cwnd_bytes, -1.0)
        self.cwnd_bytes = max(self.cwnd_bytes + step * ack.acked_bytes, 2.0 * self.mss)

    def on_congestion(self, event: airwnd.Congestion) -> None:
        if event.signal in {"loss", "ecn"}:
            self.cwnd_bytes = max(self.cwnd_bytes / 2.0, 2.0 * self.mss)
        else:
            self.cwnd_bytes = self.mss
