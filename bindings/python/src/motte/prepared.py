"""Queries that are compiled once."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, Optional, TypeVar, Union

from ._coll import Query
from ._convert import Arguments
from ._held import Held
from ._protocols import AnyDatabase
from ._placing import listed, placed
from .model import Model
from .results import Results

M = TypeVar("M", bound=Model)


class PreparedQuery(Generic[M]):
    """Query text compiled once, to be run often with other arguments. See `Database.query()`.

    It belongs to the thread of its database; `motte.Reference` hands it to another."""

    def __init__(self, database: AnyDatabase, native: Query, model: type[M], text: str,
                 bound: Mapping[Union[int, str], Arguments],
                 stores: Mapping[int, Callable[[Any], Any]]) -> None:
        self._database, self._native, self._model, self._text = database, native, model, text
        #: What makes of a value what a predicate compares, by the number of its argument.
        self._stores = stores
        #: By number and by name.
        self._bound = dict(bound)
        self._hold()

    def _hold(self) -> None:
        """It is run with these objects, until others are bound."""
        self._native.held = Held.of(*(values.held for values in self._bound.values()))

    @property
    def argument_count(self) -> int:
        """How many of $0, $1, ... there are."""
        return self._native.argument_count()

    def bind(self, *arguments: Any, **named: Any) -> PreparedQuery[M]:
        """Sets $0, $1, ..., or those with these names, all or none; results that were made before keep theirs."""
        given: dict[Union[int, str], Any] = dict(enumerate(arguments))
        given.update(named)
        values = {place: self._database._arguments([self._placed(place, value)]) for place, value in given.items()}
        before = self._bound
        try:
            for place, value in values.items():
                self._native.bind(place, value)
            self._bound = {**before, **values}
            self._hold()
        except BaseException:  # KeyboardInterrupt too
            self._bound = before
            for place in values:
                if place in before:
                    self._native.bind(place, before[place])
            self._hold()
            raise
        return self

    def _placed(self, place: Union[int, str], value: Any) -> Any:
        store = self._stores.get(place) if isinstance(place, int) else None
        if store is None:
            return placed(self._text, place, self._model, value)
        stored = store(value)
        elements = listed(value) if stored is value else None
        return stored if elements is None else [store(each) for each in elements]

    def count(self) -> int:
        """How many objects match."""
        return self._native.count()

    def first(self) -> Optional[M]:
        """The first that matches, None if none does."""
        found = self._native.first()
        return None if found is None else self._database._object(*found)

    def run(self) -> Results[M]:
        """Live results, computed when first looked at."""
        return Results(self._database, self._native.run())

    def explain(self) -> str:
        """How it would be evaluated, in one line."""
        return self._native.explain()

    def __str__(self) -> str:
        return self._native.describe()

    def __reduce__(self) -> Any:
        raise TypeError("a PreparedQuery cannot be pickled or copied; motte.Reference hands it to another thread")

    def __repr__(self) -> str:
        return f"<PreparedQuery {self._model.__name__}: {self}>"
