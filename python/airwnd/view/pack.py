"""Arrays as text in a page, small and quick to read back."""

import base64
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_FAST = 1


@dataclass(frozen=True, slots=True)
class Packed:
    """An array in a page: its type and shape, and its bytes, compressed, in base64."""

    kind: str
    shape: tuple[int, ...]
    text: str


def pack(array: NDArray[Any]) -> Packed:
    """Pack an array of one or two dimensions.

    Along the last axis each number becomes the difference from its predecessor, as whole numbers of the same
    size, and the first bytes of all of them come before the second ones: series that hardly change turn into
    zeros, which compress to little. Nothing is rounded.
    """
    array = np.ascontiguousarray(array)
    whole: NDArray[Any] = array.view(f"u{array.itemsize}")
    steps = np.diff(whole, axis=-1, prepend=whole.dtype.type(0))
    planes = steps.reshape(-1, 1).view(np.uint8).T
    shrunk = zlib.compress(planes.tobytes(), _FAST)
    return Packed(array.dtype.str[1:], array.shape, base64.b64encode(shrunk).decode("ascii"))
