"""Tokens and change sets, as Python calls."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Optional

from . import _callbacks, errors
from ._convert import Cells, Maker, read_texts, texts
from ._guard import Guard
from ._ffi import NULL, ffi, lib, sized
from ._handles import give_up, out, own

DELETIONS, INSERTIONS = lib.MOTTE_CHANGES_DELETIONS, lib.MOTTE_CHANGES_INSERTIONS
MODIFICATIONS = lib.MOTTE_CHANGES_MODIFICATIONS
OK: int = lib.MOTTE_OK


class Ended(Exception):
    """The last change of a stream has been fetched. Not StopIteration, which a function of the program may raise."""


class Token:
    """An observation; it ends when it is stopped or dropped. It owns the callback, so that a callback that owns it is
    garbage as any other circle; and so what else the library calls for it."""

    __slots__ = ("handle", "_received", "_kept")

    def __init__(self, handle: Any, received: Optional[Callable[[Any], None]], kept: Any) -> None:
        self.handle, self._received, self._kept = handle, received, kept

    @staticmethod
    def started(
        function: Any, source: Any, guard: Guard, callback: Optional[Callable[[Any], None]],
        paths: Optional[Sequence[str]] = None, *, flags: int = 0, more: Sequence[Any] = (),
        kept: Any = None
    ) -> Token:
        """Calls one of motte_observe_*, with key paths one of motte_observe_*_paths. Without a callback, changes wait
        for next()."""
        place = out("motte_token")
        received: Optional[Callable[[Any], None]] = None
        arguments = [source, *more]
        if paths is not None:
            cells, _kept = texts(paths)
            arguments += [cells, len(paths)]
        if callback is None:
            errors.check(function(*arguments, flags, NULL, NULL, NULL, place))
        else:
            def received(handle: Any) -> None:
                changes, database = NativeChanges(handle), guard.home()
                if database is None:
                    callback(changes)
                else:
                    database._observed(lambda: callback(changes))
            errors.check(function(
                *arguments, flags, lib.motte_python_changes, _callbacks.passed(received, weakly=True),
                lib.motte_python_free, place))
        return Token(own(place), received, kept)

    def next(self) -> Optional[NativeChanges]:
        """The next change set, None while there is none; Ended when there will be none."""
        place = out("motte_changes")
        status = errors.check(lib.motte_token_next(self.handle, place))
        if status == lib.MOTTE_PENDING:
            return None
        if status == lib.MOTTE_END:
            raise Ended
        return NativeChanges(own(place))

    def is_active(self) -> bool:
        """Whether it may still be notified: not stopped, and its database is open."""
        return bool(lib.motte_handle_check(self.handle) >= 0)

    def stop(self) -> bool:
        return errors.check(lib.motte_token_stop(self.handle)) == OK

    def drop(self) -> None:
        give_up(self.handle)


class ChangesInfo(NamedTuple):
    is_initial: bool
    is_deleted: bool
    is_schema: bool
    from_version: int
    to_version: int
    deletion_count: int
    insertion_count: int
    modification_count: int
    prop_count: int


class NativeChanges:
    """A change set; it belongs to no thread."""

    __slots__ = ("handle",)

    def __init__(self, handle: Any) -> None:
        self.handle = handle

    def info(self) -> ChangesInfo:
        details = sized("motte_changes_details")
        errors.check(lib.motte_changes_info(self.handle, details))
        flags = details.flags
        return ChangesInfo(
            bool(flags & lib.MOTTE_CHANGES_INITIAL), bool(flags & lib.MOTTE_CHANGES_DELETED),
            bool(flags & lib.MOTTE_CHANGES_SCHEMA), int(details.from_version), int(details.to_version),
            int(details.deletion_count), int(details.insertion_count), int(details.modification_count),
            int(details.prop_count))

    def failure(self) -> Optional[Exception]:
        """What kept the changes from being found out."""
        try:
            errors.check(lib.motte_changes_failure(self.handle))
        except Exception as error:
            return error
        return None

    def deletions(self, count: int) -> list[int]:
        return self._indexes(lib.motte_changes_deletions, count)

    def insertions(self, count: int) -> list[int]:
        return self._indexes(lib.motte_changes_insertions, count)

    def sections(self, part: int) -> list[int]:
        """Sections that went (1) or came (2)."""
        total = ffi.new("size_t *")
        errors.check(lib.motte_changes_sections(self.handle, part, NULL, 0, total))
        return self._indexes(lambda *rest: lib.motte_changes_sections(rest[0], part, *rest[1:]), int(total[0]))

    def section_indexes(self, part: int, count: int) -> list[int]:
        """The sections of deletions (1), insertions (2) or modifications (3)."""
        return self._indexes(lambda *rest: lib.motte_changes_section_indexes(rest[0], part, *rest[1:]), count)

    def _indexes(self, function: Any, count: int) -> list[int]:
        if not count:
            return []
        indexes, total = ffi.new("size_t[]", count), ffi.new("size_t *")
        errors.check(function(self.handle, indexes, count, total))
        return list(ffi.unpack(indexes, count))

    def modifications(self, count: int) -> tuple[list[int], list[int]]:
        """(old positions, new positions)"""
        if not count:
            return [], []
        old, new, total = ffi.new("size_t[]", count), ffi.new("size_t[]", count), ffi.new("size_t *")
        errors.check(lib.motte_changes_modifications(self.handle, old, new, count, total))
        return list(ffi.unpack(old, count)), list(ffi.unpack(new, count))

    def moves(self, most: int) -> list[tuple[int, int]]:
        """(old position, new position); of no more elements than that."""
        if not most:
            return []
        old, new, total = ffi.new("size_t[]", most), ffi.new("size_t[]", most), ffi.new("size_t *")
        errors.check(lib.motte_changes_moves(self.handle, old, new, most, total))
        count = int(total[0])
        return list(zip(ffi.unpack(old, count), ffi.unpack(new, count)))

    def keys(self, part: int, count: int) -> list[str]:
        """Keys of a map that were deleted (1), inserted (2) or modified (3)."""
        if not count:
            return []
        total = ffi.new("size_t *")
        status, keys = read_texts("motte_changes_keys", count, self.handle, part, ..., count, total)
        errors.check(status)
        return keys[:total[0]]

    def props(self, count: int) -> list[int]:
        if not count:
            return []
        props, total = ffi.new("motte_prop[]", count), ffi.new("size_t *")
        errors.check(lib.motte_changes_props(self.handle, props, count, total))
        return list(ffi.unpack(props, count))

    def prop_values(self, prop: int, make: Maker) -> tuple[Any, Any]:
        """(before, after)"""
        cells = Cells(2)
        errors.check(cells.read("motte_changes_values", self.handle, prop, cells.values, cells.values + 1))
        old, new = cells.all(make)
        return old, new
