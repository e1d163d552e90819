"""The elements of a collection: a sequence that is live, each look shows what the database shows then. A loop runs over
the elements as they were when it began."""
from __future__ import annotations

import operator
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any, Generic, NoReturn, Optional, TypeVar, Union, overload

from . import _coll, _objects, _showing, errors
from ._coll import Coll
from ._convert import LINK, MIXED, TYPE_NAMES, one
from ._held import AnySeen, is_lost
from ._protocols import AnyDatabase, AnyRow
from ._sameness import is_equal
from .converters import Converter
from .pages import Page
from .sequenced import Sequenced

T = TypeVar("T")

#: Elements between two turns of other tasks.
_TURN = 100


class _Missing:
    def __repr__(self) -> str:
        return "..."


MISSING: Any = _Missing()


class Elements(Sequenced[T], Generic[T]):
    """A collection as a sequence, which each look computes again."""

    __hash__ = None  # type: ignore[assignment]
    _brackets = "[]"
    _database: AnyDatabase
    _coll: Coll
    _type: int
    _converter: Optional[Converter[Any]]
    #: What it is called where that is not the name of its class.
    _called = ""

    def __init__(self, database: AnyDatabase, coll: Coll, element_type: int = LINK,
                 converter: Optional[Converter[Any]] = None) -> None:
        self._database, self._coll, self._type, self._converter = database, coll, element_type, converter

    # -------------------------------------------------------------------------------------------- sequence

    def __len__(self) -> int:
        return self._coll.count()

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: Union[int, slice]) -> Union[T, list[T]]:
        if isinstance(index, slice):
            first, end, step = index.indices(len(self))
            if step == 1:
                return self._read(first, max(0, end - first))
            positions = range(first, end, step)
            if not positions:
                return []
            low, high = min(positions), max(positions)
            read = self._read(low, high - low + 1)
            return [read[position - low] for position in positions]
        if isinstance(index, str):
            raise TypeError("a collection is indexed by position; use where() to select")
        position = operator.index(index)
        if position < 0:
            position += len(self)
            if position < 0:
                raise errors.OutOfBoundsError(f"index {index} is out of range for {len(self)} elements")
        if position > sys.maxsize:
            raise errors.OutOfBoundsError(f"index {index} is out of range for {len(self)} elements")
        if (lost := self._coll.lost()) is not None:
            there: T = self._unless_gone(position, lost)
            return there
        if self._type == LINK:
            found = _objects.element_of(self._database._row(self._class_id()), self._coll.address, position)
            if found is not NotImplemented:
                element: T = found
                return element
        return self._element(position, self._coll.get(position, self._database._object, self._decoders()))

    def __iter__(self) -> Iterator[T]:
        if self._type == LINK:
            class_id, lost = self._class_id(), self._coll.lost()
            objects: Any = NotImplemented if lost is not None else _objects.iterated(
                self._database._row(class_id), self._coll.address)
            if objects is NotImplemented:
                make = self._database._maker(class_id, lost)
                objects = (make(key) for key in self._coll.keys(0, len(self)))
            elements: Iterator[T] = objects
            return elements
        return iter(self._read(0, len(self)))

    def __reversed__(self) -> Iterator[T]:
        return iter(self[::-1])

    async def __aiter__(self) -> AsyncIterator[T]:
        """`async for person in results:` lets other tasks run between the elements, now and then."""
        import asyncio

        for number, element in enumerate(self, 1):
            yield element
            if number % _TURN == 0:
                await asyncio.sleep(0)

    def __contains__(self, value: object) -> bool:
        return self._find(value) is not None

    def count(self, value: Any = MISSING) -> int:
        """How often a value or object is in it; without one, how many elements there are."""
        if value is MISSING:
            return len(self)
        if self._converter is not None:
            try:
                value = self._converter.stored(value)
            except (errors.WrongTypeError, errors.InvalidArgumentError, *errors.NOWHERE):
                return 0
        return sum(1 for each in self._as_stored(0, len(self)) if is_equal(each, value))

    def index(self, value: Any, start: int = 0, stop: Optional[int] = None) -> int:
        """The first position of a value or object; ValueError if it is not in it."""
        found = self._find(value)
        first, end, _ = slice(start, stop).indices(len(self))
        if found is not None and found < first:
            if self._converter is not None:
                value = self._converter.stored(value)
            found = next((position for position, each in enumerate(self._as_stored(first, end - first), first)
                          if is_equal(each, value)), None)
        if found is None or found >= end:
            raise ValueError(f"{value!r:.60} is not in it")
        return found

    def _find(self, value: Any) -> Optional[int]:
        # A value that can be nowhere is not there. What functions of the program raise meanwhile comes out.
        try:
            if self._converter is not None:
                value = self._converter.stored(value)
            wanted = None if self._coll.lost() is not None else one(self._database._plain(value))
        except (errors.WrongTypeError, errors.InvalidArgumentError, errors.ObjectDeletedError, *errors.NOWHERE):
            return None
        if wanted is not None:
            return self._coll.find(wanted)
        objects = Elements._read(self, 0, len(self))
        return next((position for position, each in enumerate(objects) if each == value), None)

    def _read(self, first: int, count: int) -> list[T]:
        if count <= 0:
            return []
        if self._type == LINK:
            class_id, lost = self._class_id(), self._coll.lost()
            objects: Any = NotImplemented if lost is not None else _objects.objects_of(
                self._database._row(class_id), self._coll.address, first, count)
            if objects is NotImplemented:
                make = self._database._maker(class_id, lost)
                objects = [make(key) for key in self._coll.keys(first, count)]
            elements: list[T] = objects
            return elements
        read = self._coll.values([_coll.SELF], first, count, self._database._object, self._decoders())
        if self._type == MIXED or self._converter is not None:
            return [self._element(position, value) for position, value in enumerate(read, first)]
        return read

    def _as_stored(self, first: int, count: int) -> list[Any]:
        """Without objects of converters, which need not be equal to others made of the same value."""
        if self._converter is None or count <= 0:
            return self._read(first, count)
        return self._coll.values([_coll.SELF], first, count, self._database._object, self._decoders())

    def _unless_gone(self, position: int, seen: AnySeen) -> Any:
        """An element of a snapshot of which some are lost; None for these, as for those that were deleted."""
        keys, class_id, database = self._coll.keys(position, 1), self._class_id(), self._database
        if not keys:
            raise errors.OutOfBoundsError(f"index {position} is out of range for {len(self)} elements")
        is_gone = is_lost(seen, class_id, keys[0]) or not database._realm.row_exists(class_id, keys[0])
        return None if is_gone else database._object(class_id, keys[0])

    def _decoders(self) -> Optional[dict[int, Any]]:
        """How values are read, if not copied."""
        return None

    def _element(self, position: int, value: Any) -> T:
        """An element as it is given out."""
        element: T = value
        if self._converter is not None:
            element = self._converter.loaded(value)  # type: ignore[assignment]
        return element

    def _class_id(self) -> int:
        return self._coll.info().target

    def _row(self) -> AnyRow:
        if self._type != LINK:
            raise errors.WrongTypeError(f"the elements are {TYPE_NAMES[self._type]}s and have no properties")
        return self._database._row(self._class_id())

    def _model(self) -> Optional[type[Any]]:
        """The class of its objects."""
        return self._row().model if self._type == LINK else None

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if isinstance(other, Elements) and self._coll.same(other._coll):
            return True
        if isinstance(other, (Elements, list, tuple)):
            return len(self) == len(other) and list(self) == list(other)
        return NotImplemented

    def __repr__(self) -> str:
        name = self._called or type(self).__name__
        try:
            return _showing.collection_text(name, self._element_name(), self, self._brackets)
        except errors.Error as error:
            return f"<{name} that cannot be used: {error}>"

    def _repr_html_(self) -> str:
        """The first elements as a table, for notebooks."""
        return self.page()._repr_html_()

    def _element_name(self) -> str:
        target = self._row().model.__name__ if self._type == LINK else None
        return _showing.element_name(self._type, target, self._converter)

    def _columns(self) -> Optional[list[tuple[str, str]]]:
        """Name and type of what its objects show; None for values."""
        model = self._model()
        return None if model is None else [
            (name, _showing.type_name(declared)) for name, declared in model._declared().items() if declared.is_stored]

    def page(self, number: int = 1, *, size: int = _showing.ROWS) -> Page[T]:
        """One of the pages of `size` elements, from 1: as a list, as it is now."""
        if operator.index(number) < 1 or operator.index(size) < 1:
            raise errors.InvalidArgumentError(f"pages have elements and count from 1; {number} of {size} is none")
        first, total = (number - 1) * size, len(self)
        columns = self._columns() or [(self._called or type(self).__name__, self._element_name())]
        return Page(self[first:first + size], number, size, total, columns, self._element_name())

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{type(self).__name__} cannot be pickled or copied; list(...) gives its elements")

    @property
    def is_valid(self) -> bool:
        """Whether it can be used: the database is open, and the owner of a list exists."""
        return self._coll.is_valid()

    def first(self) -> Optional[T]:
        """The first element, None if there is none."""
        return next(iter(self._read(0, 1)), None)

    def last(self) -> Optional[T]:
        """The last element, None if there is none."""
        count = len(self)
        return self[count - 1] if count else None
