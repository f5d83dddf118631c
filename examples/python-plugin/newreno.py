"""airwnd's NewReno (RFC 5681, RFC 6582) in Python, with identical windows: a starting point."""

import airwnd


class NewReno(airwnd.CongestionControl):
    """Slow start, then one segment per RTT; a congestion event keeps a fraction of the bytes in flight."""

    def __init__(self, connection: airwnd.Connection, beta: float = 0.5) -> None:
        super().__init__(connection)
        self.mss = connection.mss_bytes
        self.beta = beta
        self.credit = 0

    def on_ack(self, ack: airwnd.Ack) -> None:
        self.credit += ack.acked_bytes
        segments, self.credit = divmod(self.credit, self.mss)
        if self.cwnd_bytes < self.ssthresh_bytes and segments > 0:
            self.cwnd_bytes += self.mss
            segments -= 1
        if self.cwnd_bytes >= self.ssthresh_bytes and segments > 0:
            self.cwnd_bytes += max(self.mss * self.mss // self.cwnd_bytes, 1)

    def on_congestion(self, event: airwnd.Congestion) -> None:
        # A repeated timeout of the same segment is no new evidence of congestion.
        if event.signal != "repeated-timeout":
            self.ssthresh_bytes = max(int(self.beta * event.in_flight_bytes), 2 * self.mss)
        self.cwnd_bytes = self.ssthresh_bytes if event.signal in {"loss", "ecn"} else self.mss
        self.credit = 0
