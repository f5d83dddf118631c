"""Arrays as text in a page, compact and fast to decode."""

import base64
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_FAST = 1


@dataclass(frozen=True, slots=True)
class Packed:
    """An array in a page: its type, its shape, and its compressed bytes in base64."""

    kind: str
    shape: tuple[int, ...]
    text: str


def pack(array: NDArray[Any]) -> Packed:
    """Pack an array of one or two dimensions.

    Along the last axis each number is replaced by its difference from its predecessor, as integers of the
    same size. The first bytes of all numbers precede all second bytes, and so on: slowly varying series
    become zeros, which compress well. Nothing is rounded.
    """
    array = np.ascontiguousarray(array)
    whole: NDArray[Any] = array.view(f"u{array.itemsize}")
    steps = np.diff(whole, axis=-1, prepend=whole.dtype.type(0))
    planes = steps.reshape(-1, 1).view(np.uint8).T
    shrunk = zlib.compress(planes.tobytes(), _FAST)
    return Packed(array.dtype.str[1:], array.shape, base64.b64encode(shrunk).decode("ascii"))
