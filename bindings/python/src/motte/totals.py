"""Sums, extremes and averages of a property of all elements of a collection, or of the elements themselves."""
from __future__ import annotations

from typing import Any, Optional

from . import _coll, errors, query
from ._coll import Coll
from ._protocols import AnyDatabase, AnyRow
from .converters import Converter


class Totals:
    """What collections compute without making objects."""

    _coll: Coll
    _database: AnyDatabase
    _converter: Optional[Converter[Any]]

    def _row(self) -> AnyRow:
        raise NotImplementedError

    def sum(self, property: Any = None) -> Any:
        """Of the values that are not None; 0 if there are none."""
        return self._aggregate(_coll.SUM, property)

    def min(self, property: Any = None) -> Any:
        """The least of the values that are not None; None if there are none."""
        return self._aggregate(_coll.MIN, property)

    def max(self, property: Any = None) -> Any:
        """The greatest of the values that are not None; None if there are none."""
        return self._aggregate(_coll.MAX, property)

    def average(self, property: Any = None) -> Optional[float]:
        """Of the values that are not None; None if there are none."""
        average: Optional[float] = self._aggregate(_coll.AVERAGE, property)
        return average

    def count_present(self, property: Any = None) -> int:
        """How many values are not None."""
        return int(self._aggregate(_coll.COUNT, property))

    def _aggregate(self, operation: int, property: Any) -> Any:
        value = self._coll.aggregate(operation, self._property_id(property)[0], self._database._object)
        converter = self._converter_of(property) if operation in (_coll.MIN, _coll.MAX) else None
        return value if converter is None else converter.loaded(value, nullable=True)

    def _converter_of(self, property: Any) -> Optional[Converter[Any]]:
        return self._converter if property is None else self._row().bound(
            query.property_name(property)).declared.converter

    def _property_id(self, property: Any) -> tuple[int, int, bool, int]:
        """(id, type, whether it may be None, class of its objects) of a property of the elements, or of themselves."""
        if property is None:
            info = self._coll.info()
            return _coll.SELF, info.type, info.nullable, info.target
        bound = self._row().bound(query.property_name(property))
        if not bound.declared.is_plain:
            raise errors.WrongTypeError(f"{self._row().model.__name__}.{bound.declared.name} is a collection",
                                        property_name=bound.declared.name)
        return bound.info.id, bound.declared.type, bound.declared.nullable, bound.info.target
