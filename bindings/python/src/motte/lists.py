"""A list property, or a list inside a mixed value, as a mutable sequence."""
from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, MutableSequence, Sequence
from typing import Any, Optional, TypeVar, Union, overload

from . import errors
from ._atomic import atomic_objects, atomically
from ._convert import LINK, MIXED, Link, Values, whole_key
from ._sameness import is_same, is_same_object
from .model import EmbeddedModel, is_stored_embedded, is_unmanaged_embedded
from .results import Collection, InPlace, plain, released

T = TypeVar("T")


class List(InPlace[T], MutableSequence[T]):
    """The values or objects of one list property, live. Changes need a write, as all changes do.

    Objects that are in no database yet are added when they are put into a list. Lists and dicts inside a list of mixed
    values are live too. Each call changes the list as a whole or raises and changes nothing: `NotInWriteError` outside
    of a write, `WrongTypeError` and other errors of values. It belongs to the thread of its database."""

    def _embeds(self, values: Iterable[Any]) -> bool:
        """Whether these are new embedded objects, which are made in their places."""
        return self._type == LINK and any(is_unmanaged_embedded(value) for value in values)

    def _position(self, index: int, count: int) -> int:
        position = index + count if index < 0 else index
        if not 0 <= position < count:
            raise errors.OutOfBoundsError(f"index {index} is out of range for {count} elements")
        return position

    def _unchanged(self) -> None:
        """Assigning something to itself changes nothing, in a write as all assigning."""
        self._database._check_task()
        self._coll.list_splice(0, 0, Values())

    @overload
    def __setitem__(self, index: int, value: T) -> None: ...
    @overload
    def __setitem__(self, index: slice, value: Iterable[T]) -> None: ...
    @atomic_objects
    def __setitem__(self, index: Union[int, slice], value: Any) -> None:
        count = len(self)
        if not isinstance(index, slice):
            position = self._position(index, count)
            if self._embeds([value]):
                self._database._embed(value, lambda: self._coll.embedded_set(position))
            elif is_stored_embedded(value) and is_same_object(self[position], value):
                self._unchanged()
            else:
                self._coll.list_set(position, self._encode([value]))
            return
        if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
            raise errors.WrongTypeError(f"a list is assigned from several values, not from {value!r:.60}")
        first, end, step = index.indices(count)
        if isinstance(value, Collection) and (first, end, step) == (0, count, 1) and self._coll.same(value._coll):
            # Itself; embedded objects could not be made a second time.
            self._unchanged()
            return
        new = list(value)
        if step == 1 and self._embeds(new):
            self._coll.list_splice(first, max(0, end - first), Values())
            for position, element in enumerate(new, first):
                self._insert(position, element)
            return
        if step == 1:
            self._coll.list_splice(first, max(0, end - first), self._encode(new))
            return
        positions = range(first, end, step)
        if len(new) != len(positions):
            raise ValueError(f"{len(new)} values cannot take {len(positions)} places")
        with atomically(self._database):
            if self._type == MIXED:
                self._set_all(positions, new)
                return
            for position, element in zip(positions, new):
                self[position] = element

    def _set_all(self, positions: Iterable[int], elements: Iterable[Any]) -> None:
        """Those of mixed values, which may be lists and dicts that are now in these places: all are read before."""
        for position, values in zip(positions, [self._encode([element]) for element in elements]):
            self._coll.list_set(position, values)

    def __delitem__(self, index: Union[int, slice]) -> None:
        self._database._check_task()
        count = len(self)
        if not isinstance(index, slice):
            self._coll.list_remove(self._position(index, count))
            return
        first, end, step = index.indices(count)
        if step == 1:
            if end > first:
                self._coll.list_splice(first, end - first, Values())
            return
        with atomically(self._database):
            for position in sorted(range(first, end, step), reverse=True):
                self._coll.list_remove(position)

    @atomic_objects
    def insert(self, index: int, value: T) -> None:
        """Puts an element before a position."""
        self._insert(index, value)

    def _insert(self, index: int, value: T) -> None:
        count = len(self)
        position = max(0, index + count) if index < 0 else min(index, count)
        if self._embeds([value]):
            self._database._embed(value, lambda: self._coll.embedded_insert(position))
        else:
            self._coll.list_insert(position, self._encode([value]))

    @atomic_objects
    def append(self, value: T) -> None:
        """Puts an element at the end."""
        if self._embeds([value]):
            self._insert(len(self), value)
        else:
            self._coll.list_append(self._encode([value]))

    @atomic_objects
    def extend(self, values: Iterable[T]) -> None:
        """Puts several elements at the end, all or none."""
        new = list(values)
        if self._embeds(new):
            for value in new:
                self._insert(len(self), value)
        else:
            self._coll.list_append(self._encode(new))

    def pop(self, index: int = -1) -> T:
        """Removes an element and gives it: of a list or dict within, what it held. An embedded object is gone then."""
        element: T = released(self[index])
        del self[index]
        return element

    def extend_keys(self, keys: Iterable[int]) -> None:
        """extend() with objects given by their keys, as batch inserts return them."""
        self._database._check_task()
        values = Values()
        values.words = [word for key in keys for word in (LINK, whole_key(key), 0)]
        self._coll.list_append(values)

    def __iadd__(self, values: Iterable[T]) -> List[T]:  # type: ignore[misc]  # + gives a list of Python
        self.extend(values)
        return self

    def assign(self, values: Iterable[T], *, only_differences: bool = False) -> None:
        """Replaces the elements; with `only_differences`, positions whose values are stored alike are left alone."""
        if not only_differences or isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
            self[:] = values
            return
        new = list(values)
        with atomically(self._database):
            if self._embeds(new) or any(map(is_stored_embedded, new)):
                # What is there already stays; the others are made in their places.
                target = self._class_id()
                for position, value in enumerate(new):
                    # As it is now: converters run in between.
                    known = self._coll.keys(position, 1)
                    if not known:
                        self.append(value)
                    elif is_unmanaged_embedded(value):
                        self._database._update_embedded(value, Link(target, known[0]))
                    else:
                        self[position] = value
                del self[len(new):]
                return
            # All are read before any is changed: lists and dicts of mixed values may be those that are there.
            encoded = self._encode(new)
            before, after = self._coll.contents(0, len(self)), encoded.contents()
            for position, (old, changed) in enumerate(zip(before, after)):
                if old != changed:
                    self._coll.list_set(position, encoded.part([position]))
            common = min(len(before), len(after))
            if len(before) != len(after):
                self._coll.list_splice(common, len(before) - common, encoded.part(range(common, len(after))))

    def to_plain(self) -> list[Any]:
        """A copy, with lists and dicts in place of what is live."""
        copied: list[Any] = plain(self)
        return copied

    def clear(self) -> None:
        """Removes all elements; objects stay in the database, unless they are embedded."""
        self._database._check_task()
        self._coll.clear()

    def move(self, from_: int, to: int) -> None:
        """Moves an element so that it stands at `to` afterwards."""
        self._database._check_task()
        count = len(self)
        self._coll.list_move(self._position(from_, count), self._position(to, count))

    def swap(self, index: int, other: int) -> None:
        """Lets two elements change places."""
        self._database._check_task()
        count = len(self)
        self._coll.list_swap(self._position(index, count), self._position(other, count))

    def reverse(self) -> None:
        """Turns the order round."""
        self._arrange(range(len(self) - 1, -1, -1))

    def sort(self, *, key: Optional[Callable[[T], Any]] = None, reverse: bool = False) -> None:
        """Puts the elements in their order, or in that of their keys, as list.sort() does. sorted() instead gives
        results in the order of properties, and leaves the list as it is."""
        elements: Any = self[:]
        before = self._as_stored(0, len(self))
        keys = elements if key is None else [key(element) for element in elements]
        order = sorted(range(len(keys)), key=keys.__getitem__, reverse=reverse)
        # What was compared may have come to change it.
        if not is_same(before, self._as_stored(0, len(self))):
            raise ValueError("list modified during sort")
        self._arrange(order)

    def _arrange(self, order: Sequence[int]) -> None:
        """Brings the element that stood at `order[i]` to i."""
        if all(position == index for position, index in enumerate(order)):
            self._unchanged()
            return
        if self._type != LINK or not issubclass(self._database._row(self._class_id()).model, EmbeddedModel):
            elements = self[:]
            self[:] = [elements[index] for index in order]
            return
        # Embedded objects stay and change places.
        at = list(range(len(order)))
        place = list(at)
        with atomically(self._database):
            for position, index in enumerate(order):
                other = place[index]
                if other != position:
                    self.swap(position, other)
                    at[position], at[other] = at[other], at[position]
                    place[at[position]], place[at[other]] = position, other

    # -------------------------------------------------------------------------------------------- as a list

    def copy(self) -> list[T]:
        """The elements, as a Python list."""
        return self[:]

    def __add__(self, other: Iterable[Any]) -> list[Any]:
        return [*self, *other] if isinstance(other, (list, Collection)) else NotImplemented

    def __radd__(self, other: Iterable[Any]) -> list[Any]:
        return [*other, *self] if isinstance(other, list) else NotImplemented

    def __mul__(self, times: int) -> list[T]:
        return self[:] * times

    __rmul__ = __mul__

    def __imul__(self, times: int) -> List[T]:
        if operator.index(times) < 1:
            self.clear()
        else:
            self.extend(self[:] * (times - 1))
        return self

    # Equality is that of all collections.

    def __lt__(self, other: Any) -> bool:
        return self[:] < list(other) if isinstance(other, (list, List)) else NotImplemented

    def __le__(self, other: Any) -> bool:
        return self[:] <= list(other) if isinstance(other, (list, List)) else NotImplemented

    def __gt__(self, other: Any) -> bool:
        return self[:] > list(other) if isinstance(other, (list, List)) else NotImplemented

    def __ge__(self, other: Any) -> bool:
        return self[:] >= list(other) if isinstance(other, (list, List)) else NotImplemented
