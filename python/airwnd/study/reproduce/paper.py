"""A paper: its bibliographic data and all its claims.

``experiments/<paper>/paper.toml`` is in the folder of the paper's experiments::

    title = "Adaptive Receiver-Window Adjustment for Delay Reduction in LTE Networks"
    authors = "N. D. Adesh, A. Renuka"
    year = 2019
    where = "Wireless Communications and Mobile Computing"
    doi = "10.1155/2019/3645717"

    [[claim]]
    id = "A01"
    where = "Fig. 3a"
    text = "Throughput rises with the limit and then saturates"

The ``claims.toml`` of an experiment defines the checks of a claim. An experiment without a paper needs no
``paper.toml``: the name of its folder serves as the title.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Self

from msgspec import Meta, field
from msgspec.structs import asdict

from airwnd.study.reader import Entry, Id, Text, check_id, distinct, load, placed

FILE = "paper.toml"


Doi = Annotated[
    str,
    Meta(
        pattern=r"^(10\.[0-9]{4,9}/[^\s\"'<>]+)?$",
        extra={"expected": 'a DOI, as in "10.1155/2019/3645717"'},
    ),
]


class Statement(Entry, frozen=True):
    """A claim of a paper, and its place in the paper."""

    id: Annotated[Id, Meta(description="Name of the claim, unique in the paper.")]
    where: Annotated[Text, Meta(description="Figure, table or section.")]
    text: Text


class PaperFile(Entry, frozen=True):
    """``paper.toml``: a paper with all its claims."""

    title: Text
    authors: str
    year: Annotated[int, Meta(description="Year of publication.", ge=1, le=9999)] | None = None
    where: Annotated[str, Meta(description="Journal, conference or series.")] = ""
    doi: Doi = ""
    claims: tuple[Statement, ...] = field(name="claim", default=())

    def __post_init__(self) -> None:
        distinct("[[claim]]", [claim.id for claim in self.claims])


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
        """Read ``paper.toml`` in a paper's folder; without the file, use the folder's name."""
        path = folder / FILE
        with placed(f"{str(folder)!r}: a folder of experiments"):
            check_id("", folder.name)
        if not path.exists():
            return cls(folder.name, folder.name, "", None, "", "", ())
        return cls(key=folder.name, **asdict(load(path, PaperFile)))
