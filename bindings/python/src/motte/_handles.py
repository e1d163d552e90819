"""Handles and who gives them up.

Everything that comes from an out_* pointer is wrapped by own(): when Python drops it, motte_release() is called, on any
thread and in any order, which the library allows. Nothing here ever closes a realm; `Database.close()` does.
"""
from __future__ import annotations

from typing import Any

from ._ffi import ffi, lib

__all__ = ["out", "own", "give_up", "take_text", "live_handles"]


def out(kind: str) -> Any:
    """A place for a result: out("motte_coll") is a motte_coll **. What is in it when it is dropped is released: an
    interrupt may come between the call that fills it and own()."""
    return ffi.gc(ffi.new(kind + " **"), lib.motte_python_release_place)


def own(place: Any) -> Any:
    """The handle in a place, released when Python drops it."""
    handle = ffi.gc(place[0], lib.motte_release)
    # An interrupt before this releases it twice, which the library knows of.
    place[0] = ffi.NULL
    return handle


def give_up(handle: Any) -> None:
    """Releases now what own() would release later."""
    ffi.release(handle)


def take_text(buffer: Any) -> str:
    """The text of an owned buffer, which is given up."""
    try:
        return bytes(ffi.buffer(buffer.data, buffer.size)).decode("utf-8") if buffer.size else ""
    finally:
        lib.motte_buf_dispose(buffer)


def live_handles() -> int:
    """Handles of all kinds that are alive in this process. Tests end with 0."""
    return int(lib.motte_handle_count(lib.MOTTE_HANDLE_NONE))
