"""Packet captures of a run, for Wireshark."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from airwnd import _native
from airwnd.support.arguments import FLAG, NONE, PATH, SEVERAL, TEXT, WHOLE
from airwnd.support.errors import InputError
from airwnd.support.files import check_file

if TYPE_CHECKING:
    Wanted = tuple[Path, list[str], int | None, list[str]]

MAX_BYTES = 65_535
# Layers of the radio interface whose frames can be captured.
LAYERS = ("mac", "rlc")


@dataclass(frozen=True)
class Capture:
    """Capture of packets at given nodes into a file, for ``run(pcap=...)``.

    Attributes
    ----------
    path
        The file. A name that ends in ``.pcap`` selects the older format, which holds a single node. Any other
        name selects pcapng, with an interface for each node.
    nodes
        ``server``, ``gateway``, ``enb-0`` and so on (the eNB of a cell), ``ue-0`` and so on, or ``all``.
    snaplen
        Bytes kept of each packet, at most 65535; 0: all; ``None``: headers only.
    real_only
        Leave out the packets of simulated flows; in a session of real programs only.
    layers
        ``mac`` and ``rlc``: also capture the transport blocks and scheduling requests of all UEs, and the
        PDUs of RLC, each layer at an interface of its own; in a run only, and not in a ``.pcap``.

    Examples
    --------
    >>> import airwnd
    >>> capture = airwnd.Capture("download.pcapng", nodes=["server", "ue-0"], snaplen=0)
    >>> radio = airwnd.Capture("radio.pcapng", nodes=[], layers=["mac", "rlc"])
    """

    path: str | PathLike[str]
    nodes: Sequence[str] = ("server",)
    snaplen: int | None = None
    real_only: bool = False
    layers: Sequence[str] = ()

    def __post_init__(self) -> None:
        PATH.check("path", self.path)
        (TEXT | SEVERAL).check("nodes", self.nodes)
        for node in self.nodes:
            TEXT.check("nodes", node)
        (TEXT | SEVERAL).check("layers", self.layers)
        for layer in self.layers:
            TEXT.check("layers", layer)
        (WHOLE | NONE).check("snaplen", self.snaplen)
        FLAG.check("real_only", self.real_only)


def capture_of(pcap: "Capture | str | PathLike[str]") -> Capture:
    """Return a capture; a path is one with the defaults."""
    return pcap if isinstance(pcap, Capture) else Capture(pcap)


def wanted(scenario: _native.Scenario, capture: Capture) -> "Wanted":
    """Check a capture and convert it to the engine's arguments."""
    path = Path(os.fspath(capture.path))
    nodes = [capture.nodes] if isinstance(capture.nodes, str) else list(capture.nodes)
    layers = [capture.layers] if isinstance(capture.layers, str) else list(dict.fromkeys(capture.layers))
    if not nodes and not layers:
        raise InputError("pcap: no node to capture at; name one, or all")
    try:
        scenario.check_nodes(nodes)
    except _native.ScenarioError as error:
        raise InputError(f"pcap: {error}") from None
    if path.suffix == ".pcap" and (len(set(nodes)) > 1 or "all" in nodes):
        raise InputError(f"{path}: a .pcap holds one node; name one, or end the file in .pcapng")
    if unknown := [layer for layer in layers if layer not in LAYERS]:
        raise InputError(f"pcap: there is no layer `{unknown[0]}` to capture; layers: {', '.join(LAYERS)}")
    if layers and path.suffix == ".pcap":
        raise InputError(f"{path}: a .pcap holds one node; end the file in .pcapng for layers")
    if capture.snaplen is not None and not 0 <= capture.snaplen <= MAX_BYTES:
        raise InputError(f"pcap: a snap length of {capture.snaplen}; 0 to {MAX_BYTES} bytes are allowed")
    check_file(path)
    return path, nodes, capture.snaplen, layers
