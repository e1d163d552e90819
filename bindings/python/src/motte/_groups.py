"""Groups of objects, as Python calls."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Optional

from . import _callbacks, errors
from ._coll import Coll, explained
from ._convert import Arguments, Cells, Maker, Values, utf8
from ._ffi import NULL, ffi, lib
from ._guard import FREE, Guard, Guarded
from ._handles import out, own
from ._held import Held
from ._tokens import OK, Token


class Column(NamedTuple):
    """A key or an aggregate of groups."""

    name: str
    #: One of the MOTTE_TYPE_ numbers.
    type: int
    is_key: bool
    nullable: bool
    #: The class of objects.
    target: int


class NativeGroups(Guarded):
    """The groups of a collection."""

    __slots__ = ("columns", "_kept")

    def __init__(self, handle: Any, guard: Guard, held: Optional[Held], kept: Any) -> None:
        super().__init__(handle, guard, held)
        self._kept = kept
        number = ffi.new("size_t *")
        errors.check(lib.motte_groups_column_count(self.handle, number))
        self.columns = [self._column(index) for index in range(number[0])]

    @staticmethod
    def of(coll: Coll, text: str, arguments: Arguments) -> NativeGroups:
        place, content = out("motte_groups"), utf8(text)
        errors.check(lib.motte_coll_group(
            coll.handle, content, len(content), arguments.pointer(), len(arguments), place))
        return NativeGroups(own(place), coll.guard, Held.of(coll.held, arguments.held), coll.kept)

    def freeze(self) -> NativeGroups:
        place = out("motte_groups")
        if self.held is not None:
            self.held.check()
        _callbacks.check_calling(lib.motte_freeze(self.raw, ffi.cast("void **", place)))
        return NativeGroups(own(place), FREE, self.held, self._kept)

    def _column(self, index: int) -> Column:
        name, type_ = ffi.new("motte_str *"), ffi.new("motte_type *")
        flags, target = ffi.new("uint32_t *"), ffi.new("motte_class *")
        errors.check(lib.motte_groups_column(self.handle, index, name, type_, flags, target))
        text = bytes(ffi.buffer(name.data, name.size)).decode("utf-8") if name.size else ""
        return Column(text, int(type_[0]), bool(flags[0] & lib.MOTTE_GROUP_KEY),
                      bool(flags[0] & lib.MOTTE_GROUP_NULLABLE), int(target[0]))

    def observe(self, callback: Optional[Callable[[Any], None]], paths: Optional[Sequence[str]] = None) -> Token:
        return Token.started(lib.motte_observe_groups, self.handle, self.guard, callback, kept=self._kept)

    def count(self) -> int:
        place = ffi.new("size_t *")
        errors.check(lib.motte_groups_count(self.handle, place))
        return int(place[0])

    def explain(self, flags: int) -> str:
        return explained(lib.motte_groups_explain, self.handle, flags)

    def find_column(self, name: str) -> Optional[int]:
        place, content = ffi.new("size_t *"), utf8(name)
        status = errors.check(lib.motte_groups_find_column(self.handle, content, len(content), place))
        return int(place[0]) if status == OK else None

    def value(self, row: int, column: int, make: Maker) -> Any:
        cell = Cells(1)
        errors.check(cell.read("motte_groups_get", self.handle, row, column, cell.values))
        return cell.first(make)

    def values(self, column: int, first: int, count: int, make: Maker) -> list[Any]:
        cells, place = Cells(max(count, 1)), ffi.new("size_t *")
        errors.check(cells.read("motte_groups_read_values", self.handle, column, first, count, cells.values, place))
        return cells.all(make, int(place[0]))

    def find(self, keys: Sequence[Any]) -> Optional[int]:
        values, place = Values(), ffi.new("size_t *")
        for key in keys:
            values.add(key, None)
        status = errors.check(lib.motte_groups_find(self.handle, values.pointer(), len(values), place))
        return int(place[0]) if status == OK else None

    def ints(self, column: int, count: int, target: Any, validity: Any) -> int:
        place = ffi.new("size_t *")
        errors.check(lib.motte_groups_read_ints(self.handle, column, 0, count, target, validity or NULL, place))
        return int(place[0])

    def doubles(self, column: int, count: int, target: Any, validity: Any) -> int:
        place = ffi.new("size_t *")
        errors.check(lib.motte_groups_read_doubles(self.handle, column, 0, count, target, validity or NULL, place))
        return int(place[0])
