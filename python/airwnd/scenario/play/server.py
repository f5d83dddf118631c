"""A server of the page on this machine, with the native engine behind it.

It listens on 127.0.0.1 only. Its address has a random token, and requests from pages of other origins are
refused, so that neither other users nor web sites reach the engine.
"""

import hmac
import json
import secrets
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from airwnd import _native
from airwnd.scenario.play.engine import Engine
from airwnd.scenario.play.explore import explored
from airwnd.scenario.play.page import html
from airwnd.support.errors import InputError
from airwnd.text.quantities import one_line

if TYPE_CHECKING:
    from socket import socket

#: Limit of a request in bytes.
_MAX_BODY = 4_000_000
#: Pages of runs that are kept.
_MAX_PAGES = 4


class Playground:
    """The page and its engine at an address of this machine.

    Parameters
    ----------
    port
        TCP port; 0: a free one.
    scenario
        Scenario in TOML with which the page begins; ``None``: that of its controls.
    page
        Another page of the same engine; ``None``: the playground.
    """

    def __init__(self, port: int = 0, scenario: str | None = None, page: str | None = None) -> None:
        self.token = secrets.token_urlsafe(16)
        self.engine = Engine()
        self.pages: dict[str, str] = {"": html(scenario=scenario) if page is None else page}
        try:
            self._server = _Server(("127.0.0.1", port), _Handler)
        except OSError as error:
            raise InputError(f"port {port}: {error.strerror}") from None
        self._server.playground = self
        self.host = f"127.0.0.1:{self._server.server_address[1]}"

    @property
    def address(self) -> str:
        """Address of the page."""
        return f"http://{self.host}/{self.token}/"

    def serve(self) -> None:
        """Answer requests until :meth:`close` or an interrupt."""
        self._server.serve_forever(poll_interval=0.2)

    def close(self) -> None:
        """End :meth:`serve` and free the port."""
        self._server.shutdown()
        self._server.server_close()

    def answer(self, message: object) -> Any:
        """Return the result of a task of the page."""
        if not isinstance(message, dict):
            raise InputError("expected an object")
        if message.get("task") != "explore":
            return self.engine.answer(message)
        name = f"run-{secrets.token_hex(4)}.html"
        self.pages[name] = explored(message)
        runs = [page for page in self.pages if page]
        for old in runs[:-_MAX_PAGES]:
            del self.pages[old]
        return {"page": name}


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    playground: Playground

    def handle_error(self, request: "socket | tuple[bytes, socket]", client_address: object) -> None:
        """Ignore that a page was closed while it waited for an answer."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """Requests below the token: ``GET`` of a page, ``POST`` of a task to ``engine``."""

    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        """Send a page."""
        name = self._name()
        page = None if name is None else self.server.playground.pages.get(name)
        if page is None:
            self._send(HTTPStatus.NOT_FOUND, "text/plain", "not found\n")
        else:
            self._send(HTTPStatus.OK, "text/html", page)

    def do_POST(self) -> None:
        """Perform a task of the engine."""
        playground = self.server.playground
        if self._name() != "engine" or self.headers.get("Origin") != f"http://{playground.host}":
            self.close_connection = True
            self._send(HTTPStatus.NOT_FOUND, "text/plain", "not found\n")
            return
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > _MAX_BODY:
            self.close_connection = True
            self._send(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "text/plain", "too large\n")
            return
        try:
            answer = {"result": playground.answer(json.loads(self.rfile.read(int(length))))}
        except (InputError, _native.ScenarioError, OSError, ValueError) as error:
            answer = {"error": one_line(str(error))}
        except _native.PanicException as error:
            answer = {"error": one_line(f"internal error: {error}")}
        self._send(HTTPStatus.OK, "application/json", json.dumps(answer, allow_nan=False))

    def _name(self) -> str | None:
        """Return the path below the token; ``None``: another token or host, as of a name that leads here."""
        playground = self.server.playground
        if self.headers.get("Host") != playground.host:
            return None
        token, _, name = self.path.partition("?")[0].removeprefix("/").partition("/")
        return name if hmac.compare_digest(token.encode(), playground.token.encode()) else None

    def _send(self, status: HTTPStatus, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        for key, value in (
            ("Content-Type", f"{kind}; charset=utf-8"),
            ("Content-Length", str(len(body))),
            ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "DENY"),
            ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
        ):
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Write nothing: a page makes sixty requests per second."""
