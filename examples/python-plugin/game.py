"""A traffic source that sends small updates, and more in a fight."""

import random

import airwnd


class Game(airwnd.TrafficSource):
    """Send an update per tick of a game server; in a random part of the seconds it is large.

    Parameters
    ----------
    flow
        Seed of the flow.
    tick_s
        Time between two updates, in seconds.
    fights
        Part of the seconds with fights, 0 to 1.
    """

    def __init__(self, flow: airwnd.TrafficFlow, tick_s: float = 1 / 30, fights: float = 0.2) -> None:
        super().__init__(flow)
        self.tick_s = tick_s
        self.fights = fights

    def write(self, now_s: float) -> tuple[int, float | None]:
        fight = random.Random(self.flow.seed + int(now_s)).random() < self.fights
        return (1200 if fight else 150), self.tick_s
