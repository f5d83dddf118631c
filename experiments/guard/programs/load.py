"""The receiver's side of a session: a workload of TCP downloads, with ping beside it.

::

    load.py HOST PORT CC one|four|late|short|ipv6|alone --begin TIME --seconds 12 --result FILE

`tcp.py server` of experiments/stacks is the other end. The first download begins at TIME (of ``date +%s``),
so that all sessions have the same part of a channel or recording. Ping begins before, so that it finds the
base RTT, and ends after the last download. The result is a line of JSON:

``pings``
    ``[sent, RTT in ms, number]`` of each answered ping
``flows``
    of each download ``began``, ``received`` (``[time, bytes so far]``, every 100 ms) and the sender's
    ``retransmitted`` packets
``short``
    times of the short transfers in ms, from the start of the connection to the last byte

All times are in seconds since the first download began.
"""

import argparse
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tcp import prepare, wait_for_server

INTERVAL_S = 0.1
PING_INTERVAL_S = 0.05
ALONE_S = 1.5
"""Time of ping before the first download."""
SHORT_BYTES = 100_000
PAUSE_S = 1.0
"""Time from the end of a short transfer to the next."""
WORKLOADS = ("one", "four", "late", "short", "ipv6", "alone")

_REPLY = re.compile(rb"^\[([0-9.]+)\] .* icmp_seq=(\d+) .* time=([0-9.]+) ms", re.MULTILINE)


def main() -> None:
    """Run a workload and write its result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("host")
    parser.add_argument("port", type=int)
    parser.add_argument("cc")
    parser.add_argument("workload", choices=WORKLOADS)
    parser.add_argument("--begin", type=float, default=0.0, help="default: as soon as possible")
    parser.add_argument("--seconds", type=float, default=12.0, help="length of a download")
    parser.add_argument("--result", type=Path, default=Path("/dev/stdout"))
    options = parser.parse_args()
    family = socket.AF_INET6 if options.workload == "ipv6" else socket.AF_INET
    try:
        (*_, address) = socket.getaddrinfo(options.host, options.port, family, socket.SOCK_STREAM)[0]
        wait_for_server(family, address)
        begin = options.begin or time.time() + 2 * ALONE_S
        if time.time() > begin - ALONE_S:
            parser.exit(2, f"load.py: not ready {ALONE_S:g} s before the download\n")
        time.sleep(begin - ALONE_S - time.time())
        result = Load(options, family, address, begin).run()
    except OSError as error:
        parser.exit(2, f"load.py: {options.host} port {options.port}: {error.strerror or error}\n")
    with options.result.open("a", encoding="utf-8") as file:
        file.write(json.dumps(result) + "\n")


class Load:
    """A workload towards one server."""

    def __init__(self, options: argparse.Namespace, family: int, address: Any, begin: float) -> None:
        self._options = options
        self._family = family
        self._address = address
        self._began = begin
        self._over = threading.Event()

    def run(self) -> dict[str, Any]:
        """Run ping and the downloads, and return the result."""
        command = ["ping", "-D", "-n", "-i", str(PING_INTERVAL_S), str(self._address[0])]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as ping:  # noqa: S603 (our own command)
            # Its output is read at the end: some 300 lines, which fit into a pipe.
            time.sleep(self._began - time.time())
            flows, short = self._downloads()
            time.sleep(4 * PING_INTERVAL_S)
            ping.send_signal(signal.SIGINT)
            printed, _ = ping.communicate()
        pings = [
            (float(at) - float(rtt_ms) / 1e3 - self._began, float(rtt_ms), int(number))
            for at, number, rtt_ms in _REPLY.findall(printed)
        ]
        return {"pings": pings, "flows": flows, "short": short}

    def _downloads(self) -> tuple[list[dict[str, Any]], list[float]]:
        seconds, workload = self._options.seconds, self._options.workload
        with ThreadPoolExecutor() as pool:
            starts = {"four": [0.0] * 4, "late": [0.0, seconds / 2], "alone": []}.get(workload, [0.0])
            flows = [pool.submit(self._download, start, seconds - start) for start in starts]
            short = pool.submit(self._shorts) if workload == "short" else None
            found = [flow.result() for flow in flows]
            time.sleep(max(seconds - self._now(), 0.0))
            self._over.set()
            return found, short.result() if short else []

    def _download(self, start: float, seconds: float) -> dict[str, Any]:
        time.sleep(start)
        return self._transfer({"direction": "down", "seconds": seconds, "bytes": sys.maxsize})

    def _shorts(self) -> list[float]:
        found = []
        while not self._over.wait(PAUSE_S):
            flow = self._transfer({"direction": "down", "seconds": 60.0, "bytes": SHORT_BYTES})
            if not self._over.is_set():
                found.append((flow["received"][-1][0] - flow["began"]) * 1e3)
        return found

    def _transfer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Request zeros, which end with a line of the sender."""
        with socket.socket(self._family, socket.SOCK_STREAM) as connection:
            prepare(connection, self._options.cc)
            began = self._now()
            connection.connect(self._address)
            connection.sendall(json.dumps(request).encode() + b"\n")
            received = [(began, 0)]
            total = 0
            told = b""
            while chunk := connection.recv(1 << 18):
                now = self._now()
                zeros = 0 if told else len(chunk) - len(chunk.lstrip(b"\0"))
                total += zeros
                told += chunk[zeros:]
                if told or now >= received[-1][0] + INTERVAL_S:
                    received.append((now, total))
        return {"began": began, "received": received, "retransmitted": json.loads(told)["retransmitted"]}

    def _now(self) -> float:
        return time.time() - self._began


if __name__ == "__main__":
    main()
