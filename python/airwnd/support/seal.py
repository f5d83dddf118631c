"""Digests embedded in files, for detecting damage."""

import hashlib

_MARK = b',\n"digest": "'
_END = b'"}\n'


def digest(data: "bytes | memoryview") -> str:
    """Return the SHA-256 digest in hexadecimal, as ``sha256sum`` prints it."""
    return hashlib.sha256(data).hexdigest()


def sealed(text: str) -> bytes:
    """Append a last key ``digest`` to the text of a JSON object: the digest of all preceding bytes."""
    body = text.rstrip().removesuffix("}").rstrip().encode()
    return body + _MARK + digest(body).encode() + _END


def is_sealed(data: bytes) -> bool:
    """Return whether data is unchanged since :func:`sealed` returned it."""
    end = data.rfind(_MARK)
    return end >= 0 and data[end:] == _MARK + digest(memoryview(data)[:end]).encode() + _END
