"""Collections among data frames: Arrow, pandas, polars, NumPy. Each library is imported when it is asked for.

Everything goes through the Arrow stream that the library makes, a batch of rows at a time, without a Python object for
a value. The types are in docs/arrow.md.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

from . import _arrow, _numpy, _pandas, _reading, errors, query
from ._coll import Coll
from ._convert import LINK
from ._protocols import AnyDatabase

if TYPE_CHECKING:
    import numpy
    import pandas  # type: ignore[import-untyped,import-not-found,unused-ignore]
    import polars  # type: ignore[import-not-found,unused-ignore]
    import pyarrow  # type: ignore[import-untyped,import-not-found,unused-ignore]


class Frames:
    """What collections hand to other libraries."""

    _coll: Coll
    _database: AnyDatabase
    _type: int
    _arrow_stream: Optional[_arrow.Stream] = None
    _arrow_titles: Optional[list[str]] = None

    def _model(self) -> Optional[type[Any]]:
        raise NotImplementedError

    def _property_id(self, property: Any) -> tuple[int, int, bool, int]:
        raise NotImplementedError

    # -------------------------------------------------------------------------------------------- Arrow

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """All stored properties as an Arrow stream, for every library that reads such: `pyarrow.table(results)`,
        `polars.DataFrame(results)`, `duckdb.sql("SELECT ... FROM results")`."""
        return self._all_columns().__arrow_c_stream__()

    def __arrow_c_schema__(self) -> Any:
        """The schema of that stream."""
        return self._all_columns().__arrow_c_schema__()

    def _all_columns(self) -> _arrow.Stream:
        made = self._arrow_stream
        try:
            titles = self._titles(())
        except errors.WrongThreadError:
            # Whoever asked for the schema on the database's own thread asks for the rest.
            if made is None:
                raise
            return made
        if made is None or titles != self._arrow_titles:
            made = self._arrow_stream = _arrow.Stream(self._coll, _arrow.Options(titles=titles), self._database)
            self._arrow_titles = titles
        return made

    def to_arrow(self, *columns: Any, batch_rows: Optional[int] = None, unit: str = "us") -> pyarrow.Table:
        """A `pyarrow.Table`: of all stored properties, or of these, also behind links (`"origin.name"`).

        `unit` is that of timestamps, s, ms, us or ns."""
        pyarrow = _arrow.library("pyarrow", "to_arrow()")
        return pyarrow.table(self._stream(columns, batch_rows=batch_rows, unit=unit))

    def to_batches(self, *columns: Any, batch_rows: Optional[int] = None,
                   unit: str = "us") -> pyarrow.RecordBatchReader:
        """The same a batch of rows at a time, as a `pyarrow.RecordBatchReader`, which shows what there is now, whatever
        is written meanwhile."""
        pyarrow = _arrow.library("pyarrow", "to_batches()")
        return pyarrow.RecordBatchReader.from_stream(self._stream(columns, batch_rows=batch_rows, unit=unit))

    def arrow(self, *columns: Any, batch_rows: Optional[int] = None, unit: str = "us") -> _arrow.Stream:
        """Chosen columns for any library that reads Arrow streams; it can be read more than once, and shows what there
        is when that begins."""
        return self._stream(columns, batch_rows=batch_rows, unit=unit)

    def _stream(self, columns: tuple[Any, ...], **options: Any) -> _arrow.Stream:
        model = self._model()
        names = [query.stored_name(each, model) for each in columns] or None
        return _arrow.Stream(
            self._coll, _arrow.Options(names, titles=self._titles(columns), **options), self._database)

    def _titles(self, columns: tuple[Any, ...]) -> Optional[list[str]]:
        """What columns are called in Python, where the file may call them otherwise."""
        model = self._model()
        if columns:
            return [query.property_name(each) for each in columns]
        if model is None or not model._maps_names():
            return None
        names = {declared.stored_name: name for name, declared in model._declared().items()}
        return [names.get(each, each) for each in _arrow.column_names(self._coll, _arrow.Options())]

    # -------------------------------------------------------------------------------------------- frames

    def to_pandas(self, *columns: Any, unit: str = "us") -> pandas.DataFrame:
        """A pandas frame of all stored properties, or of these; through pyarrow. Ints and bools that may be None, and
        links, are columns of pandas's nullable types, which keep every int."""
        library = _arrow.library("pandas", "to_pandas()")
        pyarrow = _arrow.library("pyarrow", "to_pandas()")
        return _pandas.frame(library, pyarrow, pyarrow.table(self._stream(columns, unit=unit)))

    def to_polars(self, *columns: Any, unit: str = "us") -> polars.DataFrame:
        """A polars frame of all stored properties, or of these."""
        library = _arrow.library("polars", "to_polars()")
        frame: polars.DataFrame = library.DataFrame(self._stream(columns, unit=unit, views=True))
        return frame

    # -------------------------------------------------------------------------------------------- NumPy

    def to_numpy(self, property: Any = None, *more: Any, null: Any = None) -> Any:
        """One property of all elements as a NumPy array; of several, a dict of arrays by name. Properties may lie
        behind links: `to_numpy("origin.name")`.

        A property that may be None, or a link to it, gives a masked array, unless `null` says what to put in place of
        None. Ints are int64, floats float64, datetimes datetime64[us], objects their keys (-1 for None); texts, data,
        decimals, identifiers and mixed values are objects."""
        if not more:
            return self._array(property, null)
        names = [query.property_name(each) for each in (property, *more)]
        return {name: self._array(name, null) for name in names}

    def _array(self, property: Any, null: Any) -> numpy.ndarray[Any, Any]:
        _arrow.library("numpy", "to_numpy()", "NumPy")
        name = None if property is None else query.property_name(property)
        if name is None or "." not in name or self._type != LINK:
            id_, type_, nullable, target = self._property_id(property)
            return _reading.to_numpy(self._coll, id_, type_, target, nullable, null, self._database._object)
        return _numpy.path(self._database, self._coll, name, query.stored_name(name, self._model()), null)
