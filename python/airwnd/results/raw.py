"""Results of the engine without data frames: worker processes must load few modules."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from numpy.typing import NDArray

    # Numbers, or words encoded as indices into a list.
    Column = NDArray[Any] | tuple[NDArray[Any], list[str]]
    Columns = Mapping[str, Column]


@dataclass(frozen=True, slots=True)
class Raw:
    """Output of the engine.

    Attributes
    ----------
    outcome
        Results as one JSON object.
    tables
        ``series``, ``events`` and ``allocations`` by column, empty if they were not requested; and
        ``completions``, empty if there were none. A session in real time also has ``sockets``.
    wall_s
        Wall-clock time of the simulation, in seconds.
    """

    outcome: str
    tables: "Mapping[str, Columns]"
    wall_s: float
