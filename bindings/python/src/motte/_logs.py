"""What the library says about its work, as records of Python's logging."""
from __future__ import annotations

from types import TracebackType
from typing import Any, Optional, Union

from . import _callbacks, errors
from ._ffi import NULL, ffi, lib

#: Levels of Python's logging, the least first, and those of the library. Queries are below DEBUG.
_LEVELS = (
    (5, lib.MOTTE_LOG_TRACE), (10, lib.MOTTE_LOG_DEBUG), (20, lib.MOTTE_LOG_INFO), (30, lib.MOTTE_LOG_WARN),
    (40, lib.MOTTE_LOG_ERROR),
)
_PYTHON_LEVELS = {native: level for level, native in _LEVELS}
_level: int = lib.MOTTE_LOG_OFF


def set_log_level(level: Optional[Union[int, str]]) -> None:
    """Passes messages of this level and above to `logging`, for the whole process; None: none, as at first.

    `level` is one of logging's, as a number or a name: ERROR: a file cannot be read or written; WARNING: something was
    wrong with a file that was opened; INFO: a schema was changed, a file migrated or compacted; DEBUG: opening,
    closing, commits, and calls that fail for another reason; 5: queries with their plans. The loggers are
    `motte.storage`, `motte.schema`, `motte.write`, `motte.query` and `motte.call`, whose own levels hold as well.
    Handlers run on the thread that does what the record says, and cannot fail the call."""
    import logging

    number = logging.getLevelName(level.upper()) if isinstance(level, str) else level
    if number is not None and (not isinstance(number, int) or isinstance(number, bool)):
        raise errors.InvalidArgumentError(f"{level!r} is no level of logging; pass logging.INFO, for one")
    native = lib.MOTTE_LOG_OFF
    if number is not None:
        native = next((each for least, each in _LEVELS if number <= least), lib.MOTTE_LOG_OFF)
    function = NULL if native == lib.MOTTE_LOG_OFF else lib.motte_python_log
    errors.check(lib.motte_log_set(native, function, NULL, NULL))
    global _level
    if native != lib.MOTTE_LOG_OFF:
        import atexit

        # What is closed when Python has ended has nobody to tell.
        atexit.unregister(set_log_level)
        atexit.register(set_log_level, None)
    _level = native


def warns() -> bool:
    """Whether the library's warnings are passed on anyway."""
    return _level >= int(lib.MOTTE_LOG_WARN)


def _failed(kind: Any, error: Optional[BaseException], traceback: Optional[TracebackType]) -> None:
    if error is not None:
        _callbacks.pass_on(error, "a logging handler of motte")


@ffi.def_extern(onerror=_failed)  # type: ignore[untyped-decorator]
def motte_python_log(userdata: Any, level: int, category: Any, message: Any) -> None:
    import logging

    logger = logging.getLogger("motte." + ffi.string(category).decode())
    number = _PYTHON_LEVELS[level]
    if logger.isEnabledFor(number):
        logger.log(number, "%s", ffi.string(message).decode("utf-8", "replace"))
