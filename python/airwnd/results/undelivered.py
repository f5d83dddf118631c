"""Messages about flows that delivered nothing, with the reason."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from airwnd.results.reach import unreached_ways
from airwnd.text.terminal import plain

# Maximum number of flows named per reason, and of reasons written out; the others are counted.
_MAX_FLOWS = 5
_MAX_REASONS = 8
# By direction: the UE's column of transport blocks, the scheduler's key, and the name of the direction.
_GRANTS = {"down": ("blocks", "scheduler", "downlink"), "up": ("uplink_blocks", "uplink_scheduler", "uplink")}

_Row = Mapping[str, Any]


def reasons(outcome: Mapping[str, Any], scenario: Mapping[str, Any]) -> list[str]:
    """Explain why flows delivered nothing.

    Parameters
    ----------
    outcome
        The results of a run.
    scenario
        The resolved scenario.

    Returns
    -------
    list of str
        A line for each reason: its flows, the reason, and the packets sent, received and dropped.
    """
    ues = {ue["ue"]: ue for ue in outcome["ues"]}
    settings = {each["id"]: each for each in scenario["flow"]}
    # The flows of a group are numbered in the order of their start.
    left = {group["group"]: group["started"] for group in outcome["groups"]}
    found: dict[str, list[_Row]] = defaultdict(list)
    for flow in outcome["flows"]:
        has_begun = left[flow["group"]] > 0
        left[flow["group"]] -= 1
        if flow["goodput_kbps"] == 0:
            setting = settings[flow["group"]]
            if has_begun:
                path = _Path(flow, setting["direction"], ues.get(flow["ue"]), outcome["links"], scenario)
                reason = path.reason()
            else:
                reason = f"not begun when the run ended; see `start` and `{_timing(setting)}` of the flow"
            found[reason].append(flow)
    lines = [f"{_names(flows)}: {reason}{_packets(flows)}" for reason, flows in found.items()]
    if len(lines) > _MAX_REASONS:
        rest = sum(len(flows) for flows in list(found.values())[_MAX_REASONS:])
        lines = [
            *lines[:_MAX_REASONS],
            f"and {rest:,} more flows that delivered nothing; see the table `flows`",
        ]
    return [plain(line) for line in lines]


def _timing(setting: _Row) -> str:
    return "stagger" if setting["arrivals"]["kind"] == "once" else "arrivals"


@dataclass(frozen=True, slots=True)
class _Path:
    """A flow that has begun, and the path of its packets."""

    flow: _Row
    direction: str
    ue: _Row | None
    links: Sequence[_Row]
    scenario: _Row

    def reason(self) -> str:
        """Explain why nothing was delivered."""
        flow = self.flow
        if self.ue and (unreached := unreached_ways(self.ue)):
            return f"UE out of reach ({', '.join(unreached)})"
        if flow["cc"] is None and not flow["packets_sent"]:
            return "the source sent nothing"
        if flow["pdf_percent"] is not None:
            return f"none of the data arrived{self._obstacle([self.direction])}"
        if flow["rtt_ms_mean"] is None:
            ways = [self.direction, "up" if self.direction == "down" else "down"]
            # If the receiver of the data opens the connection, its SYN is the first packet.
            return f"connection not established{self._obstacle(ways if flow['packets_sent'] else ways[::-1])}"
        if flow["zero_windows"] or flow["limited_s_rwnd"] > flow["limited_s_application"]:
            return "connected, but the receive window stayed too small to send"
        return "connected, but the application had no data to send"

    def _obstacle(self, ways: Sequence[str]) -> str:
        """Name the link or scheduler that passed no packet, in the first of these directions that has one."""
        group = self._group()
        owners = (None, group["name"], str(self.flow["ue"]))
        via = group.get("via") or [link["name"] for link in self.scenario["link"]]
        for way in ways:
            for link in self.links if way == "down" else reversed(self.links):
                passed = link["link"] in via and link["of"] in owners and link["direction"] == way
                if passed and not link["packets"]:
                    return f": link {link['link']} ({way}) delivered nothing"
            blocks, scheduler, name = _GRANTS[way]
            if self.ue and not self.ue[blocks]:
                return f": no {name} grant by scheduler {self.scenario['mac'][scheduler]['kind']}"
        return ""

    def _group(self) -> _Row:
        """Find the group of the UE."""
        groups: Sequence[_Row] = self.scenario["ue"]
        ends = accumulate(group["count"] for group in groups)
        return next(group for group, end in zip(groups, ends, strict=True) if self.flow["ue"] < end)


def _names(flows: Sequence[_Row]) -> str:
    names = ", ".join(flow["id"] for flow in flows[:_MAX_FLOWS])
    hidden = len(flows) - _MAX_FLOWS
    return f"{names} and {hidden:,} more" if hidden > 0 else names


def _packets(flows: Sequence[_Row]) -> str:
    """Format the numbers of sent, arrived and dropped packets in the direction of the data."""
    sent, received, dropped = (
        sum(flow[f"packets_{what}"] for flow in flows) for what in ("sent", "received", "dropped")
    )
    if not sent:
        return ""
    return f" (packets, with handshakes: {sent:,} sent, {received:,} arrived, {dropped:,} dropped)"
