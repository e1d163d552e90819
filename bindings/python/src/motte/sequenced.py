"""Sequences that libraries of data frames are not to take for lists.

They ask first whether something is a `collections.abc.Sequence`, which they go through object by object, and only then
whether it has Arrow's columns. So what has those has all that a sequence has, is one to people and to type checkers,
and is none to `isinstance()`.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, Optional, TypeVar

T = TypeVar("T", covariant=True)

if TYPE_CHECKING:
    Sequenced = Sequence
else:
    class Sequenced(Generic[T]):
        """Length, index, slice, iteration and `in` are of whoever derives from it."""

        __contains__, __reversed__ = Sequence.__contains__, Sequence.__reversed__
        count = Sequence.count

        def index(self, value: Any, start: int = 0, stop: Optional[int] = None) -> int:
            """The first position of a value; ValueError if it is not in it."""
            return position_of(self, value, start, stop)


def position_of(sequence: Any, value: Any, start: int, stop: Optional[int]) -> int:
    """As Sequence.index(), which takes an IndexError of an element for the end of the sequence."""
    for position in range(*slice(start, stop).indices(len(sequence))):
        element = sequence[position]
        if element is value or element == value:
            return position
    raise ValueError(f"{value!r:.60} is not in it")


def is_sequence(value: Any) -> bool:
    """Whether it has an order and positions."""
    return isinstance(value, (Sequence, Sequenced))
