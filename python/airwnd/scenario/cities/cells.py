"""Lists of cells as people publish them: OpenCelliD's and Mozilla's, a row for each cell."""

import math
import statistics
from array import array
from collections import Counter
from collections.abc import Callable, Iterator

from airwnd.support.errors import InputError
from airwnd.text.quantities import counted

_Point = tuple[float, float]
_Offset = Callable[[_Point, _Point], _Point]

#: Columns of OpenCelliD's files, in their order; downloads for a country have no header line.
POSITIONAL = (
    *("radio", "mcc", "net", "area", "cell", "unit", "lon", "lat", "range", "samples"),
    *("changeable", "created", "updated", "averagesignal"),
)
#: Columns of both headers, with their names in :data:`POSITIONAL`: Mozilla's exports have others for four.
COLUMNS = {name: name for name in POSITIONAL} | {"mnc": "net", "lac": "area", "cid": "cell", "psc": "unit"}
#: Values of the column `radio`, of which the first two are simulated.
RADIOS = ("LTE", "NR", "GSM", "UMTS", "CDMA")
#: Bits of a cell identity: TS 36.413 §9.2.1.38 and TS 38.413 §9.3.1.7.
_IDENTITY_BITS = {"LTE": 28, "NR": 36}
# TS 36.413 §9.2.1.38: the last 8 of the 28 bits are those of the cell in a macro eNB.
_ENB_CELL_BITS = 8
# TS 38.413 §9.3.1.6: a gNB identity has 22 to 32 of the 36 bits.
_GNB_CELL_BITS = range(4, 15)
# A choice: cells of a gNB are at most this much farther from their mean than with the longest identities.
_MAX_SPREAD = 2.0
_ENOUGH_SPREAD_M = 50.0
#: Cells in memory, a choice: 320 MB, and more than any country has.
MAX_CELLS = 10_000_000


class Cells:
    """Cells of one radio access, 32 bytes each.

    Parameters
    ----------
    radio
        ``"LTE"`` or ``"NR"``.

    Attributes
    ----------
    illegal
        Number of rows with a cell identity that is too large.
    """

    def __init__(self, radio: str) -> None:
        self.radio = radio
        self._identities = array("q")
        self._east = array("d")
        self._north = array("d")
        self._lines = array("q")
        self.illegal = 0

    def __len__(self) -> int:
        return len(self._lines)

    def add(self, identity: int, place: _Point, line: int) -> None:
        """Add a cell with its identity, position and line; an identity with too many bits is only counted."""
        if identity >> _IDENTITY_BITS[self.radio]:
            self.illegal += 1
            return
        self._identities.append(identity)
        self._east.append(place[0])
        self._north.append(place[1])
        self._lines.append(line)

    def sites(self, offset: _Offset) -> tuple[list[tuple[_Point, int]], int]:
        """Return the mean position of the cells of each base station with the line of its first cell.

        The second value is the number of bits of a base station's identity. The identity of a gNB has a
        length that operators choose, and no file states it: it is the shortest with which the cells of a gNB
        are about as near to each other as with the longest.

        Parameters
        ----------
        offset
            Returns the metres east and north from the second of two places to the first.
        """
        bits = _ENB_CELL_BITS if self.radio == "LTE" else self._gnb_cell_bits(offset)
        found = [
            ((_mean(self._east, cells), _mean(self._north, cells)), self._lines[cells[0]])
            for cells in self._groups(bits).values()
        ]
        return found, _IDENTITY_BITS[self.radio] - bits

    def _groups(self, cell_bits: int) -> dict[int, "array[int]"]:
        """Return the places of the cells of each base station, in the order of the file."""
        groups: dict[int, array[int]] = {}
        for place, identity in enumerate(self._identities):
            groups.setdefault(identity >> cell_bits, array("q")).append(place)
        return groups

    def _gnb_cell_bits(self, offset: _Offset) -> int:
        min_m = None
        found = _GNB_CELL_BITS[0]
        for bits in _GNB_CELL_BITS:
            apart = [each for cells in self._groups(bits).values() for each in self._spread(cells, offset)]
            if not apart:
                found = bits
                continue
            median_m = statistics.median(apart)
            if min_m is None:
                min_m = max(median_m, _ENOUGH_SPREAD_M)
            if median_m > _MAX_SPREAD * min_m:
                break
            found = bits
        return found

    def _spread(self, cells: "array[int]", offset: _Offset) -> Iterator[float]:
        """Yield the distances of several cells to their mean, in metres."""
        if len(cells) > 1:
            mean = (_mean(self._east, cells), _mean(self._north, cells))
            for cell in cells:
                yield math.hypot(*offset((self._east[cell], self._north[cell]), mean))


def _mean(values: "array[float]", places: "array[int]") -> float:
    return math.fsum(values[place] for place in places) / len(places)


class LeftOut:
    """Rows of a list of cells that are left out, by reason."""

    def __init__(self) -> None:
        self.without_place = 0
        self.radios: Counter[str] = Counter()
        self.illegal = 0
        self.wrong = 0
        self.first_wrong = ""

    def note_wrong(self, error: InputError) -> None:
        """Count a row that cannot be understood."""
        self.wrong += 1
        self.first_wrong = self.first_wrong or str(error)

    def __str__(self) -> str:
        reasons = [f"{counted(rows, 'row')} of {radio}" for radio, rows in sorted(self.radios.items())]
        if self.without_place:
            reasons.insert(0, f"{counted(self.without_place, 'row')} without coordinates")
        if self.illegal:
            reasons.append(f"{counted(self.illegal, 'row')} with a cell identity that is too large")
        if self.wrong:
            reasons.append(f"{counted(self.wrong, 'row')} with mistakes, the first {self.first_wrong}")
        return ", ".join(reasons)
