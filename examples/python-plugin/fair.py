"""A downlink scheduler that is fair in the long run."""

import airwnd


class Fair(airwnd.DownlinkScheduler):
    """Give each RBG to the UE with the largest rate relative to the bytes that it has had.

    Parameters
    ----------
    carrier
        RBGs of the carrier.
    exponent
        Weight of fairness: 0: the best channel, 1: proportionally fair, more: closer to equal bytes.
    """

    def __init__(self, carrier: airwnd.SchedulerCarrier, exponent: float = 1.0) -> None:
        super().__init__(carrier)
        self.exponent = exponent
        self.had: dict[int, int] = {}

    def allocate(self, tti: airwnd.SchedulerTti) -> list[airwnd.SchedulerUe | None]:
        share = {ue: (1 + self.had.get(ue.number, 0)) ** self.exponent for ue in tti.ues}
        return [max(tti.ues, key=lambda ue: ue.rate_bps(rbg) / share[ue]) for rbg in tti.rbgs]

    def on_served(self, served: dict[int, int]) -> None:
        for ue, size in served.items():
            self.had[ue] = self.had.get(ue, 0) + size
