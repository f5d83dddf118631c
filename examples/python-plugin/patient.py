"""A handover algorithm that avoids returning to a cell."""

import airwnd


class Patient(airwnd.HandoverAlgorithm):
    """Hand over to the strongest neighbour, but not back to a cell that the UE has left a short time ago.

    Parameters
    ----------
    ue
        Number of cells.
    margin_db
        Distance by which a neighbour must be stronger.
    wait_s
        Time before the UE may return to a cell.
    """

    def __init__(self, ue: airwnd.HandoverUe, margin_db: float = 1.0, wait_s: float = 5.0) -> None:
        super().__init__(ue)
        self.margin_db = margin_db
        self.wait_s = wait_s
        self.left_s: dict[int, float] = {}

    def events(self) -> list[airwnd.HandoverEvent]:
        return [airwnd.HandoverEvent("a3", self.margin_db, interval_s=0.12)]

    def target(self, report: airwnd.HandoverReport) -> int | None:
        for other in report.neighbours:
            if report.now_s - self.left_s.get(other.cell, -self.wait_s) >= self.wait_s:
                self.left_s[report.serving.cell] = report.now_s
                return other.cell
        return None
