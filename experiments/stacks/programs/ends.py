"""Command lines of the programs: two ends, each with ADDRESS and PORT, and a file for results."""

import argparse
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

Result = dict[str, Any]


class Ends:
    """A command line ``server ADDRESS PORT ...`` or ``client ADDRESS PORT ... --result FILE``.

    Attributes
    ----------
    server, client
        Parsers of the two ends.
    """

    def __init__(self, doc: str | None) -> None:
        self._parser = argparse.ArgumentParser(description=doc.splitlines()[0] if doc else None)
        ends = self._parser.add_subparsers(dest="end", required=True)
        self.server, self.client = ends.add_parser("server"), ends.add_parser("client")
        self.add("address")
        self.add("port", type=int)
        self.client.add_argument("--result", type=Path, default=Path("/dev/stdout"))

    def add(self, name: str, **about: Any) -> None:
        """Add an argument of both ends."""
        self.server.add_argument(name, **about)
        self.client.add_argument(name, **about)

    def run(
        self,
        serve: Callable[[argparse.Namespace], None],
        request: Callable[[argparse.Namespace], Iterable[Result]],
    ) -> None:
        """Run the chosen end; the client appends each result to FILE, as a line of JSON.

        An `OSError` ends the program with a message and exit code 2.
        """
        options = self._parser.parse_args()
        try:
            if options.end == "server":
                serve(options)
            else:
                for result in request(options):
                    with options.result.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(result) + "\n")
        except OSError as error:
            where = f"{options.address} port {options.port}"
            if "cc" in options:
                where += f", {options.cc}"
            self._parser.exit(2, f"{self._parser.prog}: {where}: {error.strerror or error}\n")
