"""Loads of a web page by Chromium, from a server with a congestion control of the kernel.

::

    page.py server ADDRESS PORT CC
    page.py client ADDRESS PORT --loads 3 --result FILE

The page has as many bytes of each type as the median mobile home page, and as many files as the median
mobile page (HTTP Archive, Web Almanac 2024, chapter Page Weight). Within a type, sizes are lognormal with a
sigma of 1 (an assumption), drawn from a fixed seed. Four scripts block the parser, six are inserted by
another script, the others are deferred.
The server speaks HTTP/1.1 without TLS, so that Chromium opens up to six connections.

The client appends a line of JSON to FILE for each load, with an empty cache: ``ttfb_ms``, ``fcp_ms``,
``lcp_ms``, ``dom_content_loaded_ms`` and ``load_ms``, all from the start of the navigation, and ``bytes``.
"""

import argparse
import functools
import json
import random
import shutil
import socket
import struct
import time
import zlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from ends import Ends, Result
from playwright.sync_api import Browser, Error, sync_playwright

SEED = 1
SIGMA = 1.0
HTML_BYTES = 18_000
FILES = {"css": (8, 73_000), "woff2": (3, 111_000), "js": (22, 558_000), "png": (16, 900_000)}
"""Number of files and their total size in bytes, by type."""
BLOCKING_SCRIPTS = 4
INSERTED_SCRIPTS = 6
TYPES = {
    "html": "text/html",
    "css": "text/css",
    "js": "text/javascript",
    "png": "image/png",
    "woff2": "font/woff2",
}
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
HANG_MS = 120_000
"""A load that takes longer counts as failed."""
TRIES = 100
TRY_S = 0.1
TIMINGS = """() => new Promise(resolve => {
    new PerformanceObserver(list => {
        const page = performance.getEntriesByType('navigation')[0];
        resolve({
            ttfb_ms: page.responseStart,
            fcp_ms: performance.getEntriesByName('first-contentful-paint')[0].startTime,
            lcp_ms: list.getEntries().at(-1).startTime,
            dom_content_loaded_ms: page.domContentLoadedEventEnd,
            load_ms: page.loadEventEnd,
            bytes: performance.getEntriesByType('resource').reduce(
                (sum, each) => sum + each.encodedBodySize, page.encodedBodySize),
        });
    }).observe({type: 'largest-contentful-paint', buffered: true});
})"""


def main() -> None:
    """Run a server, or a client and its loads."""
    ends = Ends(__doc__)
    ends.server.add_argument("cc")
    ends.client.add_argument("--loads", type=int, default=1)
    ends.run(serve, load)


class Server(ThreadingHTTPServer):
    """A server of the page; every connection has its own thread."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, address: str, port: int) -> None:
        self.address_family = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0][0]
        super().__init__((address, port), Handler)


class Handler(BaseHTTPRequestHandler):
    """Answers a request for a file of the page."""

    protocol_version = "HTTP/1.1"
    # Header and body in one write; otherwise Nagle's algorithm delays the body by an RTT.
    wbufsize = -1

    def do_GET(self) -> None:
        """Send the file, or 404."""
        name = self.path.lstrip("/") or "index.html"
        body = site().get(name)
        self.send_response(200 if body is not None else 404)
        self.send_header("Content-Type", TYPES.get(name.rpartition(".")[2], "text/plain"))
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the name in the standard library)
        """Log nothing."""


def serve(options: argparse.Namespace) -> None:
    """Serve the page until the process is ended; connections inherit the congestion control."""
    site()
    with Server(options.address, options.port) as server:
        server.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, options.cc.encode())
        server.serve_forever()


def load(options: argparse.Namespace) -> Iterator[Result]:
    """Load the page several times in one browser, and yield each result."""
    wait_for_server(options.address, options.port)
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    url = f"http://{options.address}:{options.port}/"
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=path, args=list(OPTIONS))
            for _ in range(options.loads):
                yield {"program": "page", **load_once(browser, url)}
            browser.close()
    except Error as error:
        raise OSError(error.message.splitlines()[0]) from error


def wait_for_server(address: str, port: int) -> None:
    """Wait until the port accepts connections: a server that was started with the client may be later."""
    for _ in range(TRIES):
        try:
            socket.create_connection((address, port)).close()
        except ConnectionRefusedError:
            time.sleep(TRY_S)
        else:
            return


def load_once(browser: Browser, url: str) -> dict[str, float]:
    """Load the page with an empty cache and new connections."""
    context = browser.new_context()
    try:
        page = context.new_page()
        page.goto(url, wait_until="load", timeout=HANG_MS)
        page.wait_for_function("performance.getEntriesByType('navigation')[0].loadEventEnd > 0")
        found: dict[str, float] = page.evaluate(TIMINGS)
        return found
    finally:
        context.close()


@functools.cache
def site() -> dict[str, bytes]:
    """Return the files of the page by name."""
    draw = random.Random(SEED)  # noqa: S311 (sizes, no secrets)
    sizes = {kind: split(draw, count, total) for kind, (count, total) in FILES.items()}
    scripts = [f"{index}.js" for index in range(len(sizes["js"]))]
    inserted = scripts[-INSERTED_SCRIPTS:]
    files = {"index.html": document(scripts[:-INSERTED_SCRIPTS])}
    for index, size in enumerate(sizes["css"]):
        fonts = [
            f"@font-face {{ font-family: f{i}; src: url({i}.woff2) }}" for i in range(len(sizes["woff2"]))
        ]
        files[f"{index}.css"] = padded(
            " ".join(fonts) if index == 0 else f".c{index} {{ color: #123 }}", size
        )
    for index, size in enumerate(sizes["woff2"]):
        files[f"{index}.woff2"] = draw.randbytes(size)
    for index, size in enumerate(sizes["js"]):
        insertion = (
            f"for (const name of {json.dumps(inserted)}) "
            "document.head.appendChild(Object.assign(document.createElement('script'), {src: name}));"
        )
        files[f"{index}.js"] = padded(
            insertion if index == BLOCKING_SCRIPTS else f"window.s{index} = {index};", size
        )
    # The largest image is the first, as at the top of a page.
    for index, size in enumerate(sorted(sizes["png"], reverse=True)):
        files[f"{index}.png"] = picture(draw, size)
    return files


def split(draw: random.Random, count: int, total: int) -> list[int]:
    """Split bytes among files of lognormal sizes."""
    weights = [draw.lognormvariate(0, SIGMA) for _ in range(count)]
    return [max(round(total * weight / sum(weights)), 300) for weight in weights]


def document(scripts: list[str]) -> bytes:
    """Return the HTML: style sheets and blocking scripts in its head, then text and images."""
    styles = "".join(f'<link rel="stylesheet" href="{index}.css">' for index in range(FILES["css"][0]))
    head = "".join(f'<script src="{name}"></script>' for name in scripts[:BLOCKING_SCRIPTS])
    head += "".join(f'<script defer src="{name}"></script>' for name in scripts[BLOCKING_SCRIPTS:])
    texts = "".join(f'<p style="font-family: f{index}, serif">Text</p>' for index in range(FILES["woff2"][0]))
    width = [360, *[120] * (FILES["png"][0] - 1)]
    images = "".join(
        f'<img src="{index}.png" width="{each}" height="{each}">' for index, each in enumerate(width)
    )
    body = (
        f'<!doctype html><html lang="en"><head><title>Page</title>{styles}{head}</head><body>{images}{texts}'
    )
    return body.encode() + b"<!--" + b"x" * (HTML_BYTES - len(body) - 7) + b"-->"


def padded(text: str, size: int) -> bytes:
    """Return a text with a comment that makes it this long."""
    return (text + "/*" + "x" * max(size - len(text) - 4, 0) + "*/").encode()


def picture(draw: random.Random, size: int) -> bytes:
    """Return a PNG of noise with about this many bytes: 64 pixels wide, not compressible."""
    stride = 1 + 3 * 64
    height = max(size // stride, 1)
    rows = b"".join(b"\0" + draw.randbytes(stride - 1) for _ in range(height))
    parts = (
        (b"IHDR", struct.pack("!IIBBBBB", 64, height, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows, 0)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack("!I", len(data)) + name + data + struct.pack("!I", zlib.crc32(name + data))
        for name, data in parts
    )


if __name__ == "__main__":
    main()
