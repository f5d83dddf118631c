"""The default other end of ``airwnd link``: HTTP and echo, on the loopback interface."""

import asyncio
import os
import re
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from airwnd.link import server
from airwnd.link.server import Servers

from .conftest import in_thread, run_async

HEAD = re.compile(rb"HTTP/1\.1 (\d+) .*?\r\n\r\n", re.DOTALL)


def serving(exchange: Callable[[Servers], Awaitable[None]]) -> None:
    """Run an exchange with servers on free ports; errors that the loop reports fail the test."""
    reported: list[object] = []

    async def run() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: reported.append(context))
        servers = await server.start(http_ports=(0,), echo_port=0)
        await exchange(servers)
        servers.close()
        # Connections that are being closed.
        while handlers := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(handlers)

    run_async(run())
    assert not reported


async def send(port: int, data: bytes, host: str = "127.0.0.1") -> bytes:
    """Send data, close the direction, and return all that comes back."""
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(data)
    writer.write_eof()
    found = await reader.read()
    writer.close()
    return found


def request(path: str, method: str = "GET", *, headers: str = "Connection: close\r\n") -> bytes:
    return f"{method} {path} HTTP/1.1\r\nHost: server\r\n{headers}\r\n".encode()


def parts(answer: bytes) -> tuple[int, bytes]:
    """Status and body of an answer."""
    head = HEAD.match(answer)
    assert head, answer[:200]
    return int(head[1]), answer[head.end() :]


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_paths_answer(host: str) -> None:
    async def exchange(servers: Servers) -> None:
        port = servers.http_ports[0]
        status, text = parts(await send(port, request("/"), host))
        assert (status, text) == (200, server.ABOUT.encode())
        assert parts(await send(port, request("/bytes/100KB"), host)) == (200, bytes(100_000))
        assert parts(await send(port, request("/bytes/2KiB?x=1"), host)) == (200, bytes(2048))
        assert parts(await send(port, request("/bytes/0"), host)) == (200, b"")
        assert parts(await send(port, request("/bytes/5", "HEAD"), host)) == (200, b"")
        assert parts(await send(port, request("/bytes/5XB"), host))[0] == 404
        assert parts(await send(port, request("/", "DELETE"), host))[0] == 405

    if host == "::1" and not socket.has_ipv6:
        pytest.skip("there is no IPv6")
    serving(exchange)


def test_a_body_is_counted() -> None:
    async def exchange(servers: Servers) -> None:
        headers = "Content-Length: 100000\r\nConnection: close\r\n"
        _, text = parts(
            await send(servers.http_ports[0], request("/", "POST", headers=headers) + bytes(100_000))
        )
        assert re.fullmatch(rb"100000 bytes in \d+\.\d{6} s\n", text)
        headers = "Transfer-Encoding: chunked\r\nExpect: 100-continue\r\nConnection: close\r\n"
        chunks = b"3\r\nabc\r\n1a;name=value\r\n" + bytes(26) + b"\r\n0\r\nTrailer: x\r\n\r\n"
        answer = await send(servers.http_ports[0], request("/", "PUT", headers=headers) + chunks)
        assert answer.startswith(b"HTTP/1.1 100 Continue\r\n\r\n")
        assert parts(answer.partition(b"\r\n\r\n")[2])[1].startswith(b"29 bytes in ")

    serving(exchange)


def test_a_connection_serves_several_requests() -> None:
    async def exchange(servers: Servers) -> None:
        answer = await send(servers.http_ports[0], request("/bytes/3", headers="") * 2 + request("/bytes/4"))
        assert [each[1] for each in HEAD.finditer(answer)] == [b"200"] * 3
        assert answer.count(b"\0") == 10
        assert answer.count(b"Connection: close") == 1

    serving(exchange)


def test_a_stream_ends_when_the_client_leaves() -> None:
    async def exchange(servers: Servers) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", servers.http_ports[0])
        writer.write(request("/stream"))
        assert b"Content-Length" not in await reader.readuntil(b"\r\n\r\n")
        assert await reader.readexactly(300_000) == bytes(300_000)
        writer.transport.abort()
        assert parts(await send(servers.http_ports[0], request("/bytes/1"))) == (200, b"\0")

    serving(exchange)


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"\r\n\r\n", 400),
        (b"hello\r\n\r\n", 400),
        (os.urandom(3000) + b"\r\n\r\n", 400),
        (b"GET / HTTP/2.0\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nmany\r\n", 400),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + bytes(100_000), 400),
        (b"GET / HTTP/1.1\r\nX: " + b"y" * 100_000, 431),
        (b"GET / HTTP/1.1\r\n", None),
        (b"POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc", None),
        (b"", None),
    ],
)
def test_garbage_is_refused(data: bytes, status: int | None) -> None:
    async def exchange(servers: Servers) -> None:
        try:
            answer = await send(servers.http_ports[0], data)
        except ConnectionError:
            # The server closes the connection while garbage is on its way.
            answer = b""
        if answer or status is None:
            assert (parts(answer)[0] if answer else None) == status
        assert parts(await send(servers.http_ports[0], request("/bytes/1"))) == (200, b"\0")

    serving(exchange)


def test_echo_sends_back() -> None:
    async def exchange(servers: Servers) -> None:
        data = os.urandom(200_000)
        assert await send(servers.tcp_echo_ports[0], data) == data
        loop = asyncio.get_running_loop()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.setblocking(False)
            sock.connect(("127.0.0.1", servers.udp_echo_ports[0]))
            await loop.sock_sendall(sock, b"ping")
            assert await loop.sock_recv(sock, 100) == b"ping"

    serving(exchange)


def test_echo_servers_do_not_answer_each_other() -> None:
    sent: list[bytes] = []

    class Transport(asyncio.DatagramTransport):
        def sendto(self, data: object, address: object = None) -> None:
            assert isinstance(data, bytes), address
            sent.append(data)

    echo = server.Echo()
    echo.connection_made(Transport())
    echo.datagram_received(b"loop", ("192.0.2.1", 7))
    echo.datagram_received(b"ping", ("192.0.2.1", 40_000))
    assert sent == [b"ping"]


def test_many_short_connections() -> None:
    async def exchange(servers: Servers) -> None:
        for _ in range(10):
            found = await asyncio.gather(
                *(send(servers.http_ports[0], request("/bytes/10")) for _ in range(50))
            )
            assert [parts(each) for each in found] == [(200, bytes(10))] * 50

    serving(exchange)


def test_connections_that_break_are_no_error() -> None:
    async def exchange(servers: Servers) -> None:
        for _ in range(20):
            _, writer = await asyncio.open_connection("127.0.0.1", servers.http_ports[0])
            writer.write(request("/bytes/10MB"))
            await writer.drain()
            writer.transport.abort()
        assert parts(await send(servers.http_ports[0], request("/bytes/1"))) == (200, b"\0")

    serving(exchange)


def test_a_port_in_use_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("", 0)) as taken:
        start = server.start

        async def clash() -> Servers:
            return await start(http_ports=(taken.getsockname()[1],), echo_port=0)

        monkeypatch.setattr(server, "start", clash)
        monkeypatch.setattr(server, "measuring", list)
        assert in_thread(server.main) == 1
    assert capsys.readouterr().err == "airwnd: server: Address already in use\n"


def test_servers_of_measurements_start_where_they_are_installed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert server.measuring() == []
    for name in ("netserver", "irtt", "other"):
        program = tmp_path / name
        program.write_text('#!/bin/sh\necho "$0 $*" > "$0.log"\n', encoding="utf-8")
        program.chmod(0o755)
    for child in server.measuring():
        assert child.wait() == 0
    logs = {path.stem: path.read_text(encoding="utf-8").split()[1:] for path in tmp_path.glob("*.log")}
    assert logs == {"netserver": ["-D"], "irtt": ["server"]}
