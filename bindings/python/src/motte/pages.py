"""Pages: some elements of a collection at a time, for people to look at."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NoReturn, TypeVar

from . import _showing

T = TypeVar("T")


class Page(list[T]):
    """Some elements of a collection: a list, which a notebook shows as a table. Made by `page()`."""

    def __init__(self, elements: Iterable[T], number: int, size: int, total: int,
                 columns: Sequence[tuple[str, str]], what: str) -> None:
        super().__init__(elements)
        #: Of this page, from 1.
        self.number = number
        #: How many elements there are on all pages.
        self.total = total
        #: How many pages there are.
        self.pages = -(-total // size)
        self._columns, self._caption = columns, _showing.range_caption((number - 1) * size, len(self), total, what)
        if self.pages > 1:
            self._caption += f" \u2013 page {number:,} of {self.pages:,}, see page({number % self.pages + 1})"

    def __repr__(self) -> str:
        return f"<Page {self.number:,} of {self.pages:,}: {list(self)!r}>"

    def _repr_html_(self) -> str:
        """The elements as a table, for notebooks."""
        return _showing.elements_table(self._columns, self, self._caption)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Page of stored values cannot be pickled; list(...) gives its elements")
