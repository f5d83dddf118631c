"""A paper: who wrote it, and everything that it claims.

``experiments/<paper>/paper.toml`` stands beside the experiments of the paper::

    title = "Adaptive Receiver-Window Adjustment for Delay Reduction in LTE Networks"
    authors = "N. D. Adesh, A. Renuka"
    year = 2019
    where = "Wireless Communications and Mobile Computing"
    doi = "10.1155/2019/3645717"

    [[claim]]
    id = "A01"
    where = "Fig. 3a"
    text = "Throughput rises with the limit and then saturates"

An experiment's ``claims.toml`` says how such a claim is checked. An experiment without a paper needs no such
file: its folder's name stands for the paper.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from airwnd.reproduce.strict import Table

FILE = "paper.toml"


@dataclass(frozen=True, slots=True)
class Statement:
    """What a paper claims, and where it does."""

    id: str
    where: str
    text: str


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper; `key` is the name of its folder."""

    key: str
    title: str
    authors: str
    year: int | None
    where: str
    doi: str
    claims: tuple[Statement, ...]

    @property
    def citation(self) -> str:
        """Authors, place and year in one line."""
        parts = (self.authors, self.where, str(self.year or ""))
        return ", ".join(part for part in parts if part)

    def statement(self, claim: str) -> Statement | None:
        """Find a claim by its id."""
        return next((each for each in self.claims if each.id == claim), None)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read ``paper.toml`` of a paper's folder, or make do with the folder's name."""
        path = folder / FILE
        if not path.is_file():
            return cls(folder.name, folder.name, "", None, "", "", ())
        table = Table.load(path)
        paper = cls(
            key=folder.name,
            title=table.take("title", str),
            authors=table.take("authors", str),
            year=table.take("year", int, 0) or None,
            where=table.take("where", str, ""),
            doi=table.take("doi", str, ""),
            claims=tuple(
                Statement(each.take("id", str), each.take("where", str), each.take("text", str))
                for each in table.tables("claim")
            ),
        )
        ids = [claim.id for claim in paper.claims]
        for claim in ids:
            if ids.count(claim) > 1:
                raise table.error(f"claim {claim} is listed twice")
        table.finish()
        return paper
