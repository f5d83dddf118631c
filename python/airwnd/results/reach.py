"""Messages about UEs that are out of reach, with the reason."""

from collections.abc import Mapping, Sequence
from typing import Any

OUT_OF_REACH = "out of reach"
_MAX = 10


def unreached_ways(ue: Mapping[str, Any]) -> list[str]:
    """List the directions in which a UE, a row of ``ues`` or of the link budgets, is out of reach."""
    return [way for way in ("downlink", "uplink") if ue[f"{way}_reach"] == OUT_OF_REACH]


def reach_warnings(ues: Sequence[Mapping[str, Any]], scenario: Mapping[str, Any]) -> list[str]:
    """Describe each UE of a run that is out of reach, with the reason and the relevant keys.

    Parameters
    ----------
    ues
        Rows of the table ``ues``.
    scenario
        The resolved scenario.

    Returns
    -------
    list of str
        A line for each direction of a UE that is out of reach; after ten lines, a line with the number of
        further ones.
    """
    explain = {"downlink": _downlink, "uplink": _uplink}
    lines = [
        f"ue {ue['ue']}: {way} out of reach: {explain[way](ue, scenario)}"
        for ue in ues
        for way in unreached_ways(ue)
    ]
    hidden = len(lines) - _MAX
    return lines if hidden <= 0 else [*lines[:_MAX], f"and {hidden} more out of reach; see the table `ues`"]


def _downlink(ue: Mapping[str, Any], _scenario: Mapping[str, Any]) -> str:
    sinr = ue["sinr_db"]
    heard = f"RSRP {ue['rsrp_dbm']:.1f} dBm" + ("" if sinr is None else f", SINR {sinr:.1f} dB")
    return f"{heard}; see `site.power`"


def _uplink(ue: Mapping[str, Any], scenario: Mapping[str, Any]) -> str:
    narrow = f"{ue['uplink_narrow_sinr_db']:.1f} dB at the narrowest grant ({ue['uplink_narrow_prbs']} PRBs)"
    sounded = ue["uplink_sinr_db"]
    carrier = "" if sounded is None else f"{sounded:.1f} dB over the carrier, "
    mac = scenario["mac"]
    remedy = "`mac.power_control`"
    if mac["uplink_adaptation"] == "carrier":
        remedy = f'`mac.uplink_adaptation = "headroom"`, whose grants are narrower, and {remedy}'
    return f"SINR {carrier}{narrow}, at {mac['power_control']['max_power']}; see {remedy}"
