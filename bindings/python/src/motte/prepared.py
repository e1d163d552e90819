"""Queries that are compiled once."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, Optional, TypeVar

from . import errors
from ._coll import Query
from ._convert import Values
from ._protocols import AnyDatabase
from .model import Model
from .results import Results

M = TypeVar("M", bound=Model)


class PreparedQuery(Generic[M]):
    """Query text compiled once, to be run often with other arguments. See `Database.query()`.

    It belongs to the thread of its database; `motte.Reference` hands it to another."""

    def __init__(self, database: AnyDatabase, native: Query, model: type[M], bound: Values,
                 names: Mapping[str, int]) -> None:
        self._database, self._native, self._model = database, native, model
        self._bound, self._names = bound.each(), dict(names)

    @property
    def argument_count(self) -> int:
        """How many of $0, $1, ... there are."""
        return self._native.argument_count()

    def bind(self, *arguments: Any, **named: Any) -> PreparedQuery[M]:
        """Sets $0, $1, ..., or those with these names, all or none; results that were made before keep theirs."""
        for name in named:
            if name not in self._names:
                raise errors.QueryArgumentError(f"the query has no argument ${name}")
        values = {position: self._database._arguments([argument]) for position, argument in enumerate(arguments)}
        values.update({self._names[name]: self._database._arguments([value]) for name, value in named.items()})
        try:
            for position, value in values.items():
                self._native.bind(position, value)
        except errors.Error:
            for position in values:
                if position < len(self._bound):
                    self._native.bind(position, self._bound[position])
            raise
        self._bound = [values.get(position, value) for position, value in enumerate(self._bound)]
        return self

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
