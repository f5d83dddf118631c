"""Reliable handling of Ctrl-C."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn


@contextmanager
def on_interrupt(handler: Callable[[int, FrameType | None], NoReturn]) -> Iterator[None]:
    """Call a handler at Ctrl-C, if this is the main thread and no other code handles it."""
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def kept_interrupts() -> Iterator[Callable[[], None]]:
    """Record interrupts that Python discards.

    Python ignores exceptions raised in a finalizer or in a callback of the garbage collector, including a
    ``KeyboardInterrupt`` that arrives there, and prints their tracebacks,
    except for an interrupt's here.

    Yields
    ------
    A function that raises ``KeyboardInterrupt`` if one has arrived since entry.
    """
    arrived = threading.Event()

    def interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
        arrived.set()
        raise KeyboardInterrupt

    def check() -> None:
        if arrived.is_set():
            raise KeyboardInterrupt

    with on_interrupt(interrupt), _unprinted_interrupts():
        yield check


@contextmanager
def _unprinted_interrupts() -> Iterator[None]:
    """Do not print interrupts that Python discards; print other discarded exceptions as before."""
    previous = sys.unraisablehook

    def hook(discarded: "sys.UnraisableHookArgs") -> None:
        if not issubclass(discarded.exc_type, KeyboardInterrupt):
            previous(discarded)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = previous
