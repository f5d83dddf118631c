"""The default other end of a session: HTTP on ports 80 and 8080, echo on port 7, and servers of measurements.

HTTP/1.1 answers ``/`` with a text, ``/bytes/N`` with N bytes, ``/stream`` without end, and a POST or PUT with
the number of bytes received and the time that it took. ``python -m airwnd.link.server`` runs it.
"""

import asyncio
import ctypes
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any, cast

HTTP_PORTS, ECHO_PORT = (80, 8080), 7
# Servers of other programs: iperf3, netperf (for flent) and irtt, in the foreground.
MEASURING = (("iperf3", "-s"), ("netserver", "-D"), ("irtt", "server"))
ABOUT = """\
airwnd link: the other end of an emulated link.

GET  /bytes/N   N bytes, as in /bytes/10MB or /bytes/64KiB
GET  /stream    bytes without end
POST /          counts the bytes of the request, and the time they took

TCP and UDP port 7 echo. Where they are installed, iperf3 -s, netserver and irtt server run.
"""

_UNITS = {"": 1, "B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_CHUNK = bytes(64 * 1024)
_HEAD_LIMIT = 64 * 1024
# Connections that wait to be accepted; the kernel's limit net.core.somaxconn is 4096.
_BACKLOG = 4096
# A connection without a complete request is closed after this time.
_IDLE_S = 300.0
# Kept per connection before the transport stops to accept more.
_WRITE_BUFFER = 256 * 1024
_PR_SET_PDEATHSIG = 1


class BadRequestError(Exception):
    """A request that is not HTTP: the connection is answered with the status and closed."""

    def __init__(self, status: str) -> None:
        super().__init__(status)
        self.status = status


@dataclass(frozen=True, slots=True)
class Request:
    """The head of a request."""

    method: str
    path: str
    headers: Mapping[str, str]
    keep: bool

    @property
    def length(self) -> int:
        """Length of the body in bytes."""
        text = self.headers.get("content-length", "0")
        if not text.isascii() or not text.isdecimal():
            raise BadRequestError("400 Bad Request")
        return int(text)


async def http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Serve the requests of a connection."""
    writer.transport.set_write_buffer_limits(high=_WRITE_BUFFER)
    keep = True
    try:
        while keep and (request := await _request(reader)):
            keep = await _answer(request, reader, writer) and request.keep
    except BadRequestError as error:
        _write_head(writer, error.status, 0, close=True)
    with suppress(ConnectionError):
        await writer.drain()


async def _request(reader: asyncio.StreamReader) -> Request | None:
    """Read the head of a request; ``None``: the peer has closed the connection or sends nothing."""
    try:
        async with asyncio.timeout(_IDLE_S):
            head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, TimeoutError):
        return None
    except asyncio.LimitOverrunError:
        raise BadRequestError("431 Request Header Fields Too Large") from None
    first, *lines = head.decode("latin-1").strip("\r\n").split("\r\n")
    match = re.fullmatch(r"([A-Z]+) (\S+) HTTP/1\.([01])", first)
    if not match:
        raise BadRequestError("400 Bad Request")
    fields = (line.partition(":") for line in lines)
    headers = {name.lower(): value.strip() for name, _, value in fields}
    # RFC 9112 §9.3: persistent by default since HTTP/1.1.
    connection = headers.get("connection", "keep-alive" if match[3] == "1" else "close").lower()
    return Request(match[1], match[2].partition("?")[0], headers, "close" not in connection)


async def _answer(request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Answer a request; return whether the connection can be used for another one."""
    match request.method:
        case "GET" | "HEAD":
            return await _get(request, writer)
        case "POST" | "PUT":
            return await _sink(request, reader, writer)
    _write_head(writer, "405 Method Not Allowed", 0, "Allow: GET, HEAD, POST, PUT", close=True)
    return False


async def _get(request: Request, writer: asyncio.StreamWriter) -> bool:
    with_body = request.method == "GET"
    if request.path == "/":
        text = ABOUT.encode()
        _write_head(writer, "200 OK", len(text), kind="text/plain; charset=utf-8", close=not request.keep)
        writer.write(text if with_body else b"")
    elif (count := _size(request.path)) is not None:
        _write_head(writer, "200 OK", count, close=not request.keep)
        await _send(writer, count if with_body else 0)
    elif request.path == "/stream":
        _write_head(writer, "200 OK", None, close=True)
        while with_body:
            await _send(writer, len(_CHUNK))
        return False
    else:
        _write_head(writer, "404 Not Found", 0, close=not request.keep)
    return True


def _size(path: str) -> int | None:
    """Return the number of bytes that a path requests; ``None``: not such a path.

    Examples
    --------
    >>> _size("/bytes/10MB"), _size("/bytes/64KiB"), _size("/bytes/many")
    (10000000, 65536, None)
    """
    match = re.fullmatch(r"/bytes/(\d{1,15})([kKMGT]?i?B|)", path)
    return int(match[1]) * _UNITS[match[2]] if match and match[2] in _UNITS else None


async def _send(writer: asyncio.StreamWriter, count: int) -> None:
    while count > 0:
        writer.write(_CHUNK if count >= len(_CHUNK) else _CHUNK[:count])
        count -= len(_CHUNK)
        await writer.drain()


async def _sink(request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Read and count a body, which ends after `Content-Length` bytes or with the last chunk."""
    if request.headers.get("expect", "").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    begin = time.monotonic()
    is_chunked = request.headers.get("transfer-encoding", "").lower() == "chunked"
    count = 0
    async for size in _chunks(reader) if is_chunked else _one(request.length):
        await _skip(reader, size)
        count += size
    seconds = time.monotonic() - begin
    text = f"{count} bytes in {seconds:.6f} s\n".encode()
    _write_head(writer, "200 OK", len(text), kind="text/plain; charset=utf-8", close=not request.keep)
    writer.write(text)
    return True


async def _one(length: int) -> AsyncIterator[int]:
    yield length


async def _chunks(reader: asyncio.StreamReader) -> AsyncIterator[int]:
    """Yield the size of each chunk of a chunked body (RFC 9112 §7.1), whose data the caller reads."""
    while True:
        line = (await _line(reader)).partition(b";")[0].strip()
        if not re.fullmatch(rb"[0-9a-fA-F]{1,15}", line):
            raise BadRequestError("400 Bad Request")
        size = int(line, 16)
        if not size:
            break
        yield size
        await _line(reader)
    while await _line(reader) != b"\r\n":
        pass


async def _line(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n")
    except asyncio.LimitOverrunError:
        raise BadRequestError("400 Bad Request") from None


async def _skip(reader: asyncio.StreamReader, count: int) -> None:
    while count:
        data = await reader.read(min(count, len(_CHUNK)))
        if not data:
            raise asyncio.IncompleteReadError(b"", count)
        count -= len(data)


def _write_head(
    writer: asyncio.StreamWriter,
    status: str,
    length: int | None,
    *more: str,
    kind: str = "application/octet-stream",
    close: bool = False,
) -> None:
    lines = [
        f"HTTP/1.1 {status}",
        "Server: airwnd",
        f"Content-Type: {kind}",
        *([] if length is None else [f"Content-Length: {length}"]),
        *(["Connection: close"] if close else []),
        *more,
    ]
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send back what arrives, until the peer closes its direction (RFC 862)."""
    while data := await reader.read(len(_CHUNK)):
        writer.write(data)
        await writer.drain()


class Echo(asyncio.DatagramProtocol):
    """Sends back each datagram (RFC 862), except to low ports: two echo servers would not stop."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        # Until Python 3.12 the class of the transport is not derived from DatagramTransport.
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, address: tuple[Any, ...]) -> None:
        """Send the datagram back."""
        if address[1] > ECHO_PORT:
            self._transport.sendto(data, address)


Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]


def quiet(handler: Handler) -> Handler:
    """Close the connection after a handler; a connection that the peer has ended is not an error."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await handler(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    return handle


def listening(port: int, family: socket.AddressFamily, kind: socket.SocketKind) -> socket.socket:
    """Return a socket bound to all addresses of a family; an IPv6 socket serves IPv6 only."""
    with ExitStack() as undo:
        sock = undo.enter_context(socket.socket(family, kind))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind(("::" if family == socket.AF_INET6 else "", port))
        sock.setblocking(False)
        undo.pop_all()
    return sock


def sockets(port: int, kind: socket.SocketKind) -> list[socket.socket]:
    """Return a socket for IPv4 and, where there is IPv6, one for IPv6.

    With port 0, the IPv6 socket has the port that the system has chosen for IPv4.
    """
    first = listening(port, socket.AF_INET, kind)
    with suppress(OSError):
        return [first, listening(first.getsockname()[1], socket.AF_INET6, kind)]
    return [first]


@dataclass(frozen=True, slots=True)
class Servers:
    """Running servers; ports in the order IPv4, IPv6."""

    http_ports: Sequence[int]
    tcp_echo_ports: Sequence[int]
    udp_echo_ports: Sequence[int]
    running: Sequence[asyncio.Server | asyncio.BaseTransport]

    def close(self) -> None:
        """Stop to listen."""
        for each in self.running:
            each.close()


async def start(http_ports: Iterable[int] = HTTP_PORTS, echo_port: int = ECHO_PORT) -> Servers:
    """Start all servers in the running loop."""
    with ExitStack() as undo:

        def opened(port: int, kind: socket.SocketKind) -> list[socket.socket]:
            return [undo.enter_context(sock) for sock in sockets(port, kind)]

        tcp, udp = opened(echo_port, socket.SOCK_STREAM), opened(echo_port, socket.SOCK_DGRAM)
        web = [sock for port in http_ports for sock in opened(port, socket.SOCK_STREAM)]
        undo.pop_all()
    web_ports, tcp_ports, udp_ports = ([sock.getsockname()[1] for sock in group] for group in (web, tcp, udp))
    loop = asyncio.get_running_loop()
    datagrams = [(await loop.create_datagram_endpoint(Echo, sock=sock))[0] for sock in udp]
    # Port 80 comes last: when it listens, the other servers do.
    handlers = [*((sock, echo) for sock in tcp), *((sock, http) for sock in reversed(web))]
    streams = [
        await asyncio.start_server(quiet(handler), sock=sock, backlog=_BACKLOG, limit=_HEAD_LIMIT)
        for sock, handler in handlers
    ]
    return Servers(web_ports, tcp_ports, udp_ports, [*datagrams, *streams])


def measuring() -> "list[subprocess.Popen[bytes]]":
    """Start those of :data:`MEASURING` that are installed; they end with this process."""
    found = ((shutil.which(name), arguments) for name, *arguments in MEASURING)
    return [_started([path, *arguments]) for path, arguments in found if path]


def _started(command: Sequence[str]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(  # noqa: S603 (found on PATH)
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=die_with_parent,  # noqa: PLW1509 (no other threads)
    )


def die_with_parent() -> None:
    """Let the kernel end this process when its parent ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


async def serve(*, measures: bool) -> None:
    """Serve until the process is ended; `measures`: also start those of :data:`MEASURING`."""
    maximum = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (maximum, maximum))
    asyncio.get_running_loop().set_exception_handler(lambda _loop, _context: None)
    # Both references keep what they refer to running.
    _children = measuring() if measures else []
    _servers = await start()
    await asyncio.Event().wait()


def main(*, measures: bool = True) -> int:
    """Run the servers, with those of :data:`MEASURING` or without; an error of the system is one line."""
    try:
        asyncio.run(serve(measures=measures))
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except OSError as error:
        sys.stderr.write(f"airwnd: server: {error.strerror or error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
