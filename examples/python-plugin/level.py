"""A receive-window control that holds the queueing delay at a level."""

import airwnd


class Level(airwnd.ReceiveWindowControl):
    """Offer the data that arrives in the minimum RTT plus a target.

    Parameters
    ----------
    receiver
        Segment size of the receiver.
    target_s
        Queueing delay, in seconds.
    """

    def __init__(self, receiver: airwnd.Receiver, target_s: float = 0.05) -> None:
        super().__init__(receiver)
        self.target_s = target_s
        self.window_bytes = 40 * receiver.mss_bytes
        self.began_s = 0.0
        self.before_bytes = 0

    def on_arrival(self, arrival: airwnd.Arrival, state: airwnd.ReceiverState) -> None:
        elapsed_s = state.now_s - self.began_s
        if state.rtt_s is None or state.min_rtt_s is None or elapsed_s < state.rtt_s:
            return
        rate = (state.received_bytes - self.before_bytes) / elapsed_s
        self.window_bytes = int(rate * (state.min_rtt_s + self.target_s))
        self.began_s, self.before_bytes = state.now_s, state.received_bytes

    def window(self, state: airwnd.ReceiverState) -> int:
        return max(self.window_bytes, 2 * self.receiver.mss_bytes)
