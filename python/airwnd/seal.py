"""Digests in files: what is read back is what was written, or the damage is found."""

import hashlib

_MARK = b',\n"digest": "'
_END = b'"}\n'


def digest(data: "bytes | memoryview") -> str:
    """Give the SHA-256 digest, as ``sha256sum`` prints it."""
    return hashlib.sha256(data).hexdigest()


def sealed(text: str) -> bytes:
    """Give the text of a JSON object a last key ``digest``: that of all the bytes before it."""
    body = text.rstrip().removesuffix("}").rstrip().encode()
    return body + _MARK + digest(body).encode() + _END


def is_sealed(data: bytes) -> bool:
    """Whether every byte is as :func:`sealed` gave it."""
    end = data.rfind(_MARK)
    return end >= 0 and data[end:] == _MARK + digest(memoryview(data)[:end]).encode() + _END
