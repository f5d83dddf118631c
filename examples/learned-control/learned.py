"""A congestion control that was learned: the policy that `train.py` has written."""

import json
import math
from pathlib import Path

import airwnd

#: Weights of the five features, and a constant.
POLICY = json.loads(Path(__file__).with_name("policy.json").read_text())
INTERVAL_S = 0.1


class Learned(airwnd.CongestionControl):
    """Multiply or divide the window by up to two every 100 ms, by a policy of what was observed meanwhile."""

    def __init__(self, connection: airwnd.Connection) -> None:
        super().__init__(connection)
        self.next_s = 0.0
        self.delivered = self.lost = 0

    def on_ack(self, ack: airwnd.Ack) -> None:
        self.lost += ack.lost_bytes
        if ack.now_s < self.next_s or not ack.srtt_s:
            return
        delivered = ack.delivered_bytes - self.delivered
        rate_bps = 8 * delivered / (ack.now_s - self.next_s + INTERVAL_S)
        # The observation of the environment, at the sender.
        observation = (
            math.log2(1 + rate_bps / 1e5) / 12,
            ack.min_rtt_s / ack.srtt_s,
            self.lost / max(delivered + self.lost, 1),
            ack.in_flight_bytes / self.cwnd_bytes / 2,
            math.log2(self.cwnd_bytes / 1e3) / 16,
        )
        *weights, constant = POLICY
        pull = sum(w * min(max(o, 0), 1) for w, o in zip(weights, observation, strict=True))
        action = math.tanh(pull + constant)
        self.cwnd_bytes = min(max(self.cwnd_bytes * 2**action, 3e3), 2**26)
        self.next_s = ack.now_s + INTERVAL_S
        self.delivered, self.lost = ack.delivered_bytes, 0

    def on_congestion(self, event: airwnd.Congestion) -> None:
        """Leave losses to the next observation; a timeout begins anew."""
        if "timeout" in event.signal:
            self.cwnd_bytes = 3e3
