"""Collections in sections, as Python calls."""
from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Optional

from . import _callbacks, errors
from ._coll import Coll, is_frozen
from ._convert import Cells, Maker, Values, one, utf8
from ._ffi import ffi, lib
from ._guard import FREE, Guarded
from ._handles import out, own
from ._tokens import OK, Token


class NativeSections(Guarded):
    """A collection in sections. The library knows the key function weakly: what it holds must not hold what keeps the
    sections, as a method of an object that has them does. So they keep it, and all that is made of them."""

    __slots__ = ("_kept",)

    def __init__(self, handle: Any, coll: Coll, *kept: Any) -> None:
        super().__init__(handle, coll.guard, coll.held)
        self._kept = coll.kept, *kept

    def freeze(self, coll: Coll) -> NativeSections:
        """`coll` is the frozen collection."""
        if self.held is not None:
            self.held.check()
        place = out("motte_sections")
        _callbacks.check_calling(lib.motte_freeze(self.raw, ffi.cast("void **", place)))
        return NativeSections(own(place), coll, self._kept)

    @staticmethod
    def by_path(coll: Coll, path: str, first_letter: bool) -> NativeSections:
        place, name = out("motte_sections"), utf8(path)
        errors.check(lib.motte_sections_by_path(
            coll.handle, name, len(name), lib.MOTTE_SECTIONS_FIRST_LETTER if first_letter else 0, place))
        return NativeSections(own(place), coll)

    @staticmethod
    def by_function(coll: Coll, function: Callable[[Coll, bool, int], Any]) -> NativeSections:
        """`function` gives the key of the element at a position of a collection, which may be frozen."""
        kept = threading.local()
        # Not what keeps the function, which would then keep itself.
        guard, held, seen = coll.guard, coll.held, coll.seen

        def key(lent: Any, index: int, out_key: Any) -> None:
            frozen = is_frozen(lent)
            given = Coll(lent, FREE if frozen else guard, None, held, seen)
            # The library copies it right after this returns. Of something frozen it asks on several threads.
            kept.values = one(function(given, frozen, index))
            out_key[0] = kept.values.pointer()[0]

        key.is_of_frozen = is_frozen(coll.raw)  # type: ignore[attr-defined]
        place = out("motte_sections")
        errors.check(lib.motte_sections_by_callback(
            coll.handle, lib.motte_python_section_key, _callbacks.passed(key, weakly=True), lib.motte_python_free,
            place))
        return NativeSections(own(place), coll, key)

    def count(self) -> int:
        place = ffi.new("size_t *")
        _callbacks.check_calling(lib.motte_sections_count(self.handle, place))
        return int(place[0])

    def key(self, index: int, make: Maker) -> Any:
        cell = Cells(1)
        _callbacks.check_calling(cell.read("motte_sections_key", self.handle, index, cell.values))
        return cell.first(make)

    def get(self, index: int) -> Coll:
        place = out("motte_coll")
        _callbacks.check_calling(lib.motte_sections_get(self.handle, index, place))
        return Coll(own(place), self.guard, self._kept, self.held)

    def find(self, wanted: Values) -> Optional[int]:
        place = ffi.new("size_t *")
        status = _callbacks.check_calling(lib.motte_sections_find(self.handle, wanted.pointer(), place))
        return int(place[0]) if status == OK else None

    def locate(self, position: int) -> tuple[int, int]:
        section, index = ffi.new("size_t *"), ffi.new("size_t *")
        _callbacks.check_calling(lib.motte_sections_locate(self.handle, position, section, index))
        return int(section[0]), int(index[0])

    def observe(self, callback: Optional[Callable[[Any], None]], paths: Optional[Sequence[str]]) -> Token:
        return Token.started(lib.motte_observe_sections, self.handle, self.guard, callback, paths or (),
                             flags=0 if paths is None else lib.MOTTE_OBSERVE_PATHS, kept=self._kept)

    def observe_one(
        self, key: Any, callback: Optional[Callable[[Any], None]], paths: Optional[Sequence[str]]
    ) -> Token:
        # What the pointer leads to lives as long as these values do.
        wanted = one(key)
        return Token.started(lib.motte_observe_section, self.handle, self.guard, callback, paths or (),
                             flags=0 if paths is None else lib.MOTTE_OBSERVE_PATHS, more=[wanted.pointer()],
                             kept=self._kept)
