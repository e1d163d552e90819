"""A set property as a mutable set."""
from __future__ import annotations

from collections.abc import Iterable, MutableSet
from collections.abc import Set as AbstractSet
from typing import Any, TypeVar

from . import _coll, errors
from ._atomic import atomic_objects, atomically
from .results import Collection, InPlace, plain, released

T = TypeVar("T")


class Set(InPlace[T], MutableSet[T]):
    """The values or objects of one set property, live, in their order. Changes need a write.

    Equal numbers are one element of a set of mixed values. Set operators give Python sets; `|=`, `&=`, `-=`, `^=` and
    update() change the set in place, each as a whole or not at all. It belongs to the thread of its database."""

    _brackets = "{}"

    @classmethod
    def _from_iterable(cls, values: Iterable[Any]) -> Any:
        return set(values)

    # -------------------------------------------------------------------------------------------- changing

    @atomic_objects
    def add(self, value: T) -> None:
        """Puts an element in, if it is not there."""
        self._coll.set_insert(self._encode([value]))

    def discard(self, value: T) -> None:
        """Takes an element out, if it is there."""
        self._discarded(value)

    def remove(self, value: T) -> None:
        """Takes an element out; KeyError if it is not there."""
        if not self._discarded(value):
            raise KeyError(value)

    def _discarded(self, value: T) -> bool:
        """Whether it was there."""
        self._database._check_task()
        try:
            stored = value if self._converter is None else self._converter.stored(value)
            if self._database._is_elsewhere(stored):
                # What is or holds an object of no database is in no set, and does not get into one by this.
                return False
            encoded = self._database._encoded([stored], self._type)
        except (errors.ObjectDeletedError, *errors.NOWHERE):
            return False
        return self._coll.set_remove(encoded)

    def pop(self) -> T:
        """Removes the lowest element and gives it."""
        if not len(self):
            raise KeyError("the set is empty")
        first: T = released(self[0])
        # As it is stored, which a converter may store otherwise.
        self._coll.set_remove(self._database._encoded(self._as_stored(0, 1), self._type))
        return first

    def clear(self) -> None:
        """Removes all elements; objects stay in the database."""
        self._database._check_task()
        self._coll.clear()

    def update(self, *others: Iterable[T]) -> int:
        """Adds the elements of the others and tells how many were new."""
        if len(others) == 1:
            return self._insert(others[0])
        with atomically(self._database):
            return sum(self._insert(other) for other in others)

    @atomic_objects
    def _insert(self, values: Iterable[T]) -> int:
        return self._coll.set_insert_many(self._encode(values))

    @atomic_objects
    def assign(self, values: Iterable[T], *, only_differences: bool = False) -> None:
        """Replaces the elements. Those that stay are left alone in any case."""
        self._coll.assign(self._encode(values))

    # -------------------------------------------------------------------------------------------- algebra

    # To type checkers, these should give what the operators without = give, which are Python sets.

    def _combined(self, other: Any, operation: int) -> Any:
        self._database._check_task()
        if isinstance(other, Collection):
            self._coll.set_combine(other._coll, operation)
            return self
        return None

    def __ior__(self, other: Any) -> Any:  # type: ignore[misc]
        if self._combined(other, _coll.UNION) is None:
            self.update(other)
        return self

    def __iand__(self, other: Any) -> Any:  # type: ignore[misc]
        if self._combined(other, _coll.INTERSECT) is None:
            mine, found, _ = self._matched(other)
            self.assign([mine[position] for position in sorted(found)])
        return self

    def __isub__(self, other: Any) -> Any:  # type: ignore[misc]
        if self._combined(other, _coll.SUBTRACT) is None:
            with atomically(self._database):
                for value in other:
                    self.discard(value)
        return self

    def __ixor__(self, other: Any) -> Any:  # type: ignore[misc]
        if self._combined(other, _coll.DIFFER) is None:
            mine, found, others = self._matched(other)
            left = [value for position, value in enumerate(mine) if position not in found]
            self.assign(left + others)
        return self

    def _matched(self, other: Iterable[Any]) -> tuple[list[T], set[int], list[Any]]:
        """The elements, the positions of those that are in the other, and what is in the other alone. What is equal the
        library decides, for which 1 and True are two."""
        found, others = set(), []
        for value in other:
            position = self._find(value)
            if position is None:
                others.append(value)
            else:
                found.add(position)
        return list(self), found, others

    def _relation(self, other: Any) -> int:
        """SUBSET, SUPERSET, INTERSECTS bits."""
        if isinstance(other, Collection):
            return self._coll.set_relate(other._coll)
        mine, found, others = self._matched(other)
        relation: int = _coll.SUBSET if len(found) == len(mine) else 0
        relation |= 0 if others else _coll.SUPERSET
        return relation | (_coll.INTERSECTS if found else 0)

    def issubset(self, other: Iterable[Any]) -> bool:
        """Whether all elements are in the other."""
        return bool(self._relation(other) & _coll.SUBSET)

    def issuperset(self, other: Iterable[Any]) -> bool:
        """Whether all elements of the other are in this."""
        return bool(self._relation(other) & _coll.SUPERSET)

    def isdisjoint(self, other: Iterable[Any]) -> bool:
        """Whether no element is in both."""
        return not self._relation(other) & _coll.INTERSECTS

    def union(self, *others: Iterable[Any]) -> set[Any]:
        """The elements of any of them, as a Python set."""
        return set(self).union(*others)

    def intersection(self, *others: Iterable[Any]) -> set[Any]:
        """The elements of all of them, as a Python set."""
        return set(self).intersection(*others)

    def difference(self, *others: Iterable[Any]) -> set[Any]:
        """The elements that are in none of the others, as a Python set."""
        return set(self).difference(*others)

    def symmetric_difference(self, other: Iterable[Any]) -> set[Any]:
        """The elements that are in one of the two, as a Python set."""
        return set(self).symmetric_difference(other)

    def __le__(self, other: Any) -> bool:
        return self.issubset(other) if isinstance(other, AbstractSet) else NotImplemented

    def __ge__(self, other: Any) -> bool:
        return self.issuperset(other) if isinstance(other, AbstractSet) else NotImplemented

    def __lt__(self, other: Any) -> bool:
        return self <= other and len(self) < len(other) if isinstance(other, AbstractSet) else NotImplemented

    def __gt__(self, other: Any) -> bool:
        return self >= other and len(self) > len(other) if isinstance(other, AbstractSet) else NotImplemented

    def __eq__(self, other: object) -> bool:
        if isinstance(other, AbstractSet):
            if isinstance(other, Set) and self._coll.same(other._coll):
                return True
            return len(self) == len(other) and all(value in self for value in other)
        return super().__eq__(other)

    def copy(self) -> set[T]:
        """The elements, as a Python set."""
        return set(self)

    def intersection_update(self, *others: Iterable[Any]) -> None:
        """Keeps what is in all of the others, as `&=` does."""
        with atomically(self._database):
            for other in others:
                self &= other

    def difference_update(self, *others: Iterable[Any]) -> None:
        """Takes out what is in one of the others, as `-=` does."""
        with atomically(self._database):
            for other in others:
                self -= other

    def symmetric_difference_update(self, other: Iterable[Any]) -> None:
        """Keeps what is in one of the two, as `^=` does."""
        self ^= other

    def to_plain(self) -> list[Any]:
        """A copy of the elements, in their order."""
        copied: list[Any] = plain(self)
        return copied
