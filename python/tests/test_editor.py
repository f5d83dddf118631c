"""A real language server completes scenarios by the line `#:schema` and the JSON Schema."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import airwnd

pytestmark = pytest.mark.nightly

TOMBI = shutil.which("tombi", path=str(Path(sys.executable).parent))
TEXT = '#:schema ./airwnd.json\nduration = "1s"\n\n[rlc]\n\n[mac]\nshceduler = "pf"\n\n[[flow]]\ncc = ""\n'


class Server:
    """A language server that is asked over its standard input.

    Parameters
    ----------
    folder
        Folder of the file.
    """

    def __init__(self, folder: Path) -> None:
        assert TOMBI, "the language server Tombi is missing: it is a development dependency"
        self._process = subprocess.Popen(
            [TOMBI, "lsp"],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._number = 0
        self.notices: list[dict[str, Any]] = []
        where = {"rootUri": folder.as_uri(), "workspaceFolders": [{"uri": folder.as_uri(), "name": "here"}]}
        self.ask("initialize", {"processId": None, "capabilities": {}, **where})
        self.tell("initialized", {})

    def close(self) -> None:
        """End the server."""
        self._process.kill()
        self._process.communicate()

    def tell(self, method: str, params: object) -> None:
        """Send a notification."""
        self._send({"method": method, "params": params})

    def ask(self, method: str, params: object) -> Any:
        """Send a request and return its result; answer requests of the server with nothing."""
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        while True:
            message = self.receive()
            if "method" not in message and message.get("id") == self._number:
                return message["result"]

    def receive(self) -> dict[str, Any]:
        """Return the next message; keep notifications, and answer requests of the server with nothing."""
        assert self._process.stdout
        size = 0
        while line := self._process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                size = int(value)
        assert size, "the server has ended"
        message: dict[str, Any] = json.loads(self._process.stdout.read(size))
        if "method" in message:
            self.notices.append(message)
            if "id" in message:
                self._send({"id": message["id"], "result": None})
        return message

    def reports(self) -> list[dict[str, Any]]:
        """Return the reports on the document so far."""
        kind = "textDocument/publishDiagnostics"
        return [each["params"] for each in self.notices if each["method"] == kind]

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self._process.stdin.flush()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    (tmp_path / "airwnd.json").write_text(json.dumps(airwnd.schema()), encoding="utf-8")
    (tmp_path / "scenario.toml").write_text(TEXT, encoding="utf-8")
    server = Server(tmp_path)
    document = {
        "uri": (tmp_path / "scenario.toml").as_uri(),
        "languageId": "toml",
        "version": 1,
        "text": TEXT,
    }
    server.tell("textDocument/didOpen", {"textDocument": document})
    # The server has read the schema when it reports on the document.
    while not server.reports():
        server.receive()
    yield server
    server.close()


def labels(server: Server, folder: Path, line: int, character: int = 0) -> list[str]:
    """Return the completions at a place, in the order of the server."""
    place = {"position": {"line": line, "character": character}}
    found = server.ask(
        "textDocument/completion",
        {"textDocument": {"uri": (folder / "scenario.toml").as_uri()}, **place},
    )
    items = found if isinstance(found, list) else found["items"]
    return [item["label"] for item in items]


def test_an_editor_completes_the_basic_keys_first(server: Server, tmp_path: Path) -> None:
    assert labels(server, tmp_path, 4)[:2] == ["mode", "queue"]
    top = labels(server, tmp_path, 2)
    assert set(top) > {"seed", "link", "ue", "flow", "compat"}
    assert top.index("flow") < top.index("compat")
    assert '"cubic"' in labels(server, tmp_path, 9, 6)


def test_an_editor_reports_an_unknown_key(server: Server) -> None:
    (report,) = server.reports()
    messages = [each["message"] for each in report["diagnostics"]]
    assert any("shceduler" in message for message in messages), messages
