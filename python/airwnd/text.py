"""Quantities in words, alike on the terminal, in pictures and on pages."""


def seconds_text(seconds: float) -> str:
    """Write a length of time, ``1 min 23 s``."""
    minutes, rest = divmod(round(seconds), 60)
    if minutes:
        return f"{minutes} min {rest} s"
    return f"{rest} s" if seconds >= 10 else f"{seconds:.1f} s"  # noqa: PLR2004


def axis_label(column: str) -> str:
    """Write a column's name with its unit in brackets.

    Examples
    --------
    >>> axis_label("rtt_ms"), axis_label("mcs"), axis_label("in_flight_bytes")
    ('RTT (ms)', 'MCS', 'in flight (bytes)')
    """
    name, _, unit = column.rpartition("_")
    units = {"bytes": "bytes", "packets": "packets", "ms": "ms", "kbps": "kbit/s", "s": "s", "db": "dB"}
    units |= {"dbm": "dBm", "m": "m"}
    words, suffix = (name, f" ({units[unit]})") if unit in units else (column, "")
    words = words.replace("_", " ")
    return (words.upper() if words in ("rtt", "mcs", "sinr", "rsrp") else words) + suffix
