"""A video by the parts of aiortc that have no I/O, over a simulated cell: `python video.py 1 2 3`.

The server sends 30 frames a second as RTP. aiortc's estimator of the available bandwidth at the phone
(Google's, of arrival times) limits their size through RTCP REMB, and its jitter buffer puts the frames
together. ICE, DTLS and SRTP, which use sockets, are left out.
"""

import sys

from aiortc.jitterbuffer import JitterBuffer
from aiortc.rate import RemoteBitrateEstimator
from aiortc.rtcrtpparameters import RTCRtpHeaderExtensionParameters, RTCRtpParameters
from aiortc.rtp import (
    RTCP_PSFB_APP,
    HeaderExtensionsMap,
    RtcpPacket,
    RtcpPsfbPacket,
    RtpPacket,
    pack_remb_fci,
    unpack_remb_fci,
)

import airwnd

CELL = {
    "name": "a phone in a loaded cell",
    "duration": "20s",
    "rlc": {"queue": {"kind": "drop-tail", "buffer": "1MB"}},
    "site": [{}],
    "ue": [
        {"name": "phone", "placement": {"kind": "ring", "radius": "300m"}},
        {"name": "others", "count": 4, "placement": {"kind": "disc", "radius": "500m"}},
    ],
    "flow": [{"ue": "others"}],
}
FRAME_S = 1 / 30
PAYLOAD = 1100
SSRC = 1
EXTENSIONS = HeaderExtensionsMap()
EXTENSIONS.configure(
    RTCRtpParameters(
        headerExtensions=[
            RTCRtpHeaderExtensionParameters(
                id=1, uri="http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time"
            )
        ]
    )
)


class Sender(airwnd.Endpoint):
    """Send frames whose size follows the phone's estimate, up to a maximum rate."""

    def __init__(self, max_kbps):
        self.bps, self.max_bps = 300_000, 1000 * max_kbps
        self.next_s, self.number, self.frames = 0.0, 0, 0

    def transmit(self, now_s):
        while self.next_s <= now_s:
            size = int(self.bps * FRAME_S / 8)
            sizes = [min(PAYLOAD, size - begin) for begin in range(0, size, PAYLOAD)]
            for place, length in enumerate(sizes):
                packet = RtpPacket(
                    96, place == len(sizes) - 1, self.number, self.frames * 3000, SSRC, bytes(length)
                )
                packet.extensions.abs_send_time = round(now_s * (1 << 18)) & 0xFFFFFF
                yield packet.serialize(EXTENSIONS)
                self.number = (self.number + 1) & 0xFFFF
            self.frames += 1
            self.next_s = self.frames * FRAME_S

    def receive(self, now_s, data, ecn):
        for packet in RtcpPacket.parse(data):
            bps, _ = unpack_remb_fci(packet.fci)
            self.bps = min(max(bps, 50_000), self.max_bps)

    def timeout(self):
        return self.next_s


class Receiver(airwnd.Endpoint):
    """Estimate the bandwidth, and collect frames."""

    def __init__(self):
        self.estimator, self.buffer = RemoteBitrateEstimator(), JitterBuffer(128, is_video=True)
        self.answers, self.frames = [], 0

    def transmit(self, now_s):
        answers, self.answers = self.answers, []
        return answers

    def receive(self, now_s, data, ecn):
        packet = RtpPacket.parse(data, EXTENSIONS)
        packet._data = packet.payload  # noqa: SLF001 (a codec's decoder sets it; the example has none)
        self.received_bytes += len(packet.payload)
        if self.buffer.add(packet)[1] is not None:
            self.frames += 1
        time_ms = int(1000 * now_s)
        found = self.estimator.add(time_ms, packet.extensions.abs_send_time, len(data), SSRC)
        if found is not None:
            fci = pack_remb_fci(*found)
            self.answers.append(bytes(RtcpPsfbPacket(fmt=RTCP_PSFB_APP, ssrc=SSRC, media_ssrc=0, fci=fci)))


def connect(seed, max_kbps=3000):
    """Return the endpoint of the phone and that of the server, for `airwnd stack video.py:connect`."""
    return Receiver(), Sender(max_kbps)


if __name__ == "__main__":
    cell = airwnd.Scenario.from_dict(CELL)
    for seed in map(int, sys.argv[1:] or ["1"]):
        client, server = connect(seed)
        path = airwnd.Path(cell, seed)
        name = path.id(path.run(client, server, 20, ue="phone"))
        run = path.finish()
        row = run.flows.filter(run.flows["id"] == name).row(0, named=True)
        goodput, delay = row["goodput_kbps"], row["delay_ms_p95"]
        print(
            f"seed {seed}: {goodput:.0f} kbit/s, p95 delay {delay:.0f} ms, "
            f"{client.frames} of {server.frames} frames ({run.wall_s:.1f} s)"
        )
