"""Timeouts: how long a call may wait, as callers give it and as the library takes it."""
from __future__ import annotations

import time
from typing import Optional

from . import errors

#: How long one call into the library or the system may wait, so that Ctrl-C is noticed in between.
SLICE_MS = 500
#: Longer than that is without end.
_MOST = 1e12


def checked_timeout(timeout: Optional[float]) -> Optional[float]:
    """Seconds, None without limit."""
    if timeout is None:
        return None
    if not _is_real(timeout):
        raise errors.WrongTypeError(f"a timeout is a number of seconds, or None, not {timeout!r:.60}")
    if timeout != timeout or timeout < 0:
        raise errors.InvalidArgumentError(f"a timeout is not negative, and None waits without end; {timeout} is none")
    return None if timeout > _MOST else float(timeout)


def _is_real(timeout: object) -> bool:
    """Whether it is a number; those of NumPy and fractions too."""
    return isinstance(timeout, (int, float)) or not isinstance(timeout, (str, bytes)) and hasattr(
        timeout, "__float__") and not isinstance(timeout, complex)


def deadline_of(timeout: Optional[float]) -> Optional[float]:
    """When that time will be over, None for never."""
    seconds = checked_timeout(timeout)
    return None if seconds is None else time.monotonic() + seconds


def left_ms(deadline: Optional[float]) -> int:
    """Milliseconds up to a deadline, more than a slice if there is none."""
    return 2 * SLICE_MS if deadline is None else max(0, int((deadline - time.monotonic()) * 1000))


def left_seconds(deadline: Optional[float]) -> Optional[float]:
    """Seconds up to a deadline, None if there is none."""
    return None if deadline is None else deadline - time.monotonic()


def opening_ms(timeout: Optional[float]) -> Optional[int]:
    """The option `open_timeout`: -1 waits without end, None as long as is usual."""
    if timeout is None:
        return None
    if _is_real(timeout) and timeout < 0:
        return -1
    seconds = checked_timeout(timeout)
    return -1 if seconds is None else round(seconds * 1000)
