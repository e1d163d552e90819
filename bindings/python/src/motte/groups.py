"""Groups: the objects of a collection put together by keys, with counts, sums and other aggregates of each group.

`results.query("GROUP(city) COUNT, AVG(age) SORT(COUNT DESC)")` and `results.group_by("city").agg(count=motte.count(),
age=motte.avg("age")).sorted("-count")` are the same. Groups are live: each look shows those of what the database shows
then. The language is in docs/groups.md.
"""
from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, NoReturn, Optional, Union, overload

from . import _arrow, _pandas, _showing, errors, query
from ._convert import BOOL, DOUBLE, FLOAT, INT, TIMESTAMP, Arguments
from ._ffi import ffi
from ._groups import Column, NativeGroups
from ._placing import placed
from ._protocols import AnyObjects
from ._querytext import name_text
from .converters import Converter, for_query
from .explain import QueryPlan
from .sequenced import Sequenced
from .notifications import Changes, ChangeStream, Observation, collection_changes, observe_collection

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped,import-not-found,unused-ignore]
    import polars  # type: ignore[import-not-found,unused-ignore]
    import pyarrow  # type: ignore[import-untyped,import-not-found,unused-ignore]

#: How query text calls the extreme of a property.
_EXTREME = re.compile(r"(?:MIN|MAX)\((.+)\)")
_AS = re.compile(r"\bAS\s+(?:`((?:[^`\\]|\\.)*)`|([^\W\d]\w*))", re.IGNORECASE)
#: Literals, in which everything may stand.
_TEXTS = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'""")
#: now(), or a literal or a name between backticks, in which that is text.
_NOW = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`)|(?<![\w$@.])now\s*\(\s*\)""",
                  re.IGNORECASE | re.DOTALL)
_NOW_NAME = "motte_now"
#: Spans of the calendar, in UTC.
BUCKETS = ("second", "minute", "hour", "day", "week", "month", "quarter", "year")


class Aggregate:
    """What is computed of each group. Made by `motte.count()`, `motte.avg("age")` and the like."""

    def __init__(self, form: str, property: Any) -> None:
        self._form, self._property = form, property

    def _text(self) -> str:
        return self._form if self._property is None else self._form.format(_path(self._property))

    def _title(self) -> str:
        return self._form if self._property is None else self._form.format(query.property_name(self._property))

    def __repr__(self) -> str:
        return f"<Aggregate {self._title()}>"


class By:
    """A key of groups: times by spans of the calendar. Made by `motte.by("time", "month")`."""

    def __init__(self, property: Any, unit: str, zone: Optional[str] = None) -> None:
        if unit not in BUCKETS:
            raise errors.InvalidArgumentError(f"times are grouped by {', '.join(BUCKETS)}, not by {unit!r}")
        if zone is not None and not isinstance(zone, str):
            raise errors.WrongTypeError(f"a zone is named by a text such as 'Europe/Berlin', not {zone!r}")
        self._property = property
        self._unit = unit if zone is None else f'{unit} IN "{zone}"'
        if zone is not None and any(sign in zone for sign in '"\\\n'):
            raise errors.InvalidArgumentError(f"{zone!r} is no name of a zone")

    def __repr__(self) -> str:
        return f"<By {query.property_name(self._property)} {self._unit}>"


def by(property: Any, unit: str, zone: Optional[str] = None) -> By:
    """A key: times by second, minute, hour, day, week, month, quarter or year, in UTC, or as clocks show them in a zone
    such as "Europe/Berlin" or "+05:30". The key is the time at which the span begins."""
    return By(property, unit, zone)


def count(property: Any = None, *, distinct: bool = False) -> Aggregate:
    """How many objects a group has; of a property, how many have one that is not None, or how many different ones."""
    if property is None:
        if distinct:
            raise errors.InvalidArgumentError("count(distinct=True) needs a property")
        return Aggregate("COUNT", None)
    return Aggregate("COUNT(DISTINCT {})" if distinct else "COUNT({})", property)


def sum(property: Any) -> Aggregate:
    """Of the values that are not None; 0 of none."""
    return Aggregate("SUM({})", property)


def avg(property: Any) -> Aggregate:
    """The average of the values that are not None."""
    return Aggregate("AVG({})", property)


def min(property: Any) -> Aggregate:
    """The least of the values that are not None."""
    return Aggregate("MIN({})", property)


def max(property: Any) -> Aggregate:
    """The greatest of the values that are not None."""
    return Aggregate("MAX({})", property)


def var(property: Any) -> Aggregate:
    """The variance of a sample; None of fewer than two values."""
    return Aggregate("VAR({})", property)


def stddev(property: Any) -> Aggregate:
    """The standard deviation of a sample; None of fewer than two values."""
    return Aggregate("STDDEV({})", property)


def median(property: Any) -> Aggregate:
    """The value in the middle, or between the two there."""
    return Aggregate("MEDIAN({})", property)


def percentile(property: Any, fraction: float) -> Aggregate:
    """The value below which a fraction of the others lie, between two of them by interpolation."""
    if not 0 <= fraction <= 1:
        raise errors.InvalidArgumentError(f"a fraction is between 0 and 1; {fraction} is not")
    return Aggregate(f"PERCENTILE({{}}, {float(fraction)!r})", property)


def _path(property: Any) -> str:
    return ".".join(map(name_text, query.path_name(property).split(".")))


def _given_names(text: str) -> set[str]:
    """The names that query text gives to columns with AS; perhaps more, where a condition has that word."""
    return {each[1].replace("\\`", "`").replace("\\\\", "\\") if each[1] else each[2]
            for each in _AS.finditer(_TEXTS.sub('""', text))}


def _quoted(name: str) -> str:
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"


class Group(tuple[Any, ...]):
    """One group: its keys and aggregates by position, `group[0]`, by name, `group["AVG(age)"]`, and as attributes where
    their names can be some, `group.city`. A tuple of values, which does not change."""

    _columns: tuple[str, ...]

    def __new__(cls, values: Sequence[Any], columns: tuple[str, ...]) -> Group:
        made = super().__new__(cls, values)
        made._columns = columns
        return made

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            try:
                return super().__getitem__(self._columns.index(key))
            except ValueError:
                raise KeyError(key) from None
        return super().__getitem__(key)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getitem__(self.__dict__["_columns"].index(name))
        except (KeyError, ValueError):
            raise AttributeError(f"groups have no column {name!r}; they have {', '.join(self._columns)}") from None

    def to_dict(self) -> dict[str, Any]:
        """By the names of the columns."""
        return dict(zip(self._columns, self))

    def __repr__(self) -> str:
        cells = (f"{name}={_showing.value_text(value, 30)}" for name, value in zip(self._columns, self))
        return f"Group({', '.join(cells)})"

    def __reduce__(self) -> Any:
        return Group, (tuple(self), self._columns)


class GroupBy:
    """Keys that objects are grouped by. Made by `group_by()`; `agg()` makes groups of it."""

    def __init__(self, collection: AnyObjects, keys: tuple[Any, ...], named: dict[str, Any]) -> None:
        self._collection = collection
        texts = []
        #: The properties that keys have values of, by their titles.
        self._sources: dict[str, str] = {}
        for name, key in [(None, key) for key in keys] + list(named.items()):
            named_key, bucket = (key._property, key._unit) if isinstance(key, By) else (key, "")
            title = name or query.property_name(named_key) + (f" BY {bucket}" if bucket else "")
            texts.append(self._key(named_key, bucket, title))
            if not bucket:
                self._sources[title] = query.property_name(named_key)
        self._text = f"GROUP({', '.join(texts)})"

    @staticmethod
    def _key(property: Any, bucket: str, title: str) -> str:
        return _path(property) + (f" BY {bucket}" if bucket else "") + f" AS {_quoted(title)}"

    def agg(self, /, *aggregates: Aggregate, **named: Aggregate) -> Groups:
        """The groups with these aggregates: `agg(motte.count(), age=motte.avg("age"))`. Those without a name are called
        as in query text, `COUNT` and `AVG(age)`."""
        for each in (*aggregates, *named.values()):
            if not isinstance(each, Aggregate):
                raise TypeError(f"an aggregate is made by motte.sum('pages') and the like; {each!r:.60} is none")
        texts = [f"{each._text()} AS {_quoted(each._title())}" for each in aggregates]
        texts += [f"{each._text()} AS {_quoted(name)}" for name, each in named.items()]
        sources = dict(self._sources)
        for name, each in [(each._title(), each) for each in aggregates] + list(named.items()):
            if each._form in ("MIN({})", "MAX({})"):
                sources[name] = query.property_name(each._property)
        return Groups(self._collection, f"{self._text} {', '.join(texts)}",
                      self._collection._database._arguments([]), built=sources)

    def count(self) -> Groups:
        """The groups with the number of objects in each, called `count`."""
        return self.agg(count=count())

    def __repr__(self) -> str:
        return f"<GroupBy: {self._text}>"


class Groups(Sequenced[Group]):
    """Groups of the objects of a collection, live: a sequence of `Group`, one after another in the order of their keys
    where nothing else was asked for. Made by `query()` and `group_by()`."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, collection: AnyObjects, text: str, arguments: Arguments, *, having: str = "",
                 clauses: str = "", built: Optional[Mapping[str, str]] = None,
                 native: Optional[NativeGroups] = None) -> None:
        #: The arguments as they were then, for groups that are made of these: lists of the program may change.
        self._collection, self._given, self._arguments = collection, text, arguments
        #: Of groups that were not made by query text: the properties that columns have values of.
        self._having, self._clauses, self._built = having, clauses, built
        whole = text + (f" HAVING {having}" if having else "") + clauses
        self._native = native or NativeGroups.of(collection._coll, whole, arguments)
        #: What the columns are called, keys first.
        self.columns: tuple[str, ...] = tuple(each.name for each in self._native.columns)
        #: How many of them are keys.
        self.key_count: int = len([each for each in self._native.columns if each.is_key])
        self._converters = [self._converter(each) for each in self._native.columns]

    def _converter(self, column: Column) -> Optional[Converter[Any]]:
        """What makes the values of a property of what is stored, for a key or an extreme of it."""
        model = self._collection._model()
        if self._built is not None:
            path = self._built.get(column.name)
        else:
            # What a name that the text gives stands for is the library's to know: such columns have what is stored.
            extreme = _EXTREME.fullmatch(column.name)
            path = None if column.name in _given_names(self._given) else (
                column.name if column.is_key else extreme[1] if extreme else None)
        if model is None or path is None:
            return None
        *links, name = path.split(".")
        owner = model._path_target(tuple(links))
        declared = None if owner is None else owner._declared().get(name)
        if declared is None or declared.type != column.type:
            return None
        return declared.converter

    # -------------------------------------------------------------------------------------------- choosing

    def _derived(self, arguments: Arguments, having: str, clauses: str) -> Groups:
        if self._built is None:
            raise errors.InvalidArgumentError("groups by query text say HAVING, SORT and LIMIT in the text")
        return Groups(self._collection, self._given, arguments, having=having, clauses=clauses, built=self._built)

    def having(self, condition: str, /, *arguments: Any) -> Groups:
        """Those for which a condition on columns holds: `having("count > $0", 10)`. Before sorted() and limit()."""
        if self._clauses or self._having:
            raise errors.InvalidArgumentError("having() is said once, before sorted() and limit()")
        whole = f"{self._given} HAVING {condition}"
        model = self._collection._model()
        values = [placed(whole, place, model, value) for place, value in enumerate(arguments)]
        database, now = self._collection._database, datetime.now(timezone.utc)
        made = self._derived(database._arguments(values), condition, "")
        fixed = _NOW.sub(lambda found: found[1] or f"${_NOW_NAME}", condition)
        if fixed != condition:
            # sorted() and limit() compile the text again: now() is when this was called for them, too.
            made._having, made._arguments = fixed, database._arguments([*values, {_NOW_NAME: now}])
        return made

    def sorted(self, *columns: str) -> Groups:
        """In the order of columns: `sorted("-count", "city")`, "-" for descending."""
        if not columns:
            raise errors.InvalidArgumentError("sorted() needs the name of a column")
        keys = []
        for name in columns:
            descending = name.startswith("-") and name not in self.columns
            plain = name[1:] if descending else name
            self._column(plain)
            keys.append(f"{_quoted(plain)} {'DESC' if descending else 'ASC'}")
        return self._derived(self._arguments, self._having, f"{self._clauses} SORT({', '.join(keys)})")

    def limit(self, count: int) -> Groups:
        """The first `count` groups."""
        if count < 0:
            raise errors.InvalidArgumentError("a limit is not negative")
        return self._derived(self._arguments, self._having, f"{self._clauses} LIMIT({_least(count, 1 << 62)})")

    # -------------------------------------------------------------------------------------------- sequence

    def __len__(self) -> int:
        return self._native.count()

    @overload
    def __getitem__(self, index: int) -> Group: ...
    @overload
    def __getitem__(self, index: slice) -> list[Group]: ...
    def __getitem__(self, index: Union[int, slice]) -> Union[Group, list[Group]]:
        if isinstance(index, slice):
            first, end, step = index.indices(len(self))
            if step == 1:
                return self._rows(first, end - first if end > first else 0)
            return [self[position] for position in range(first, end, step)]
        position = operator.index(index)
        if position < 0:
            position += len(self)
        found = self._rows(position, 1) if 0 <= position < 1 << 62 else []
        if not found:
            raise errors.OutOfBoundsError(f"index {index} is out of range for {len(self)} groups")
        return found[0]

    def __iter__(self) -> Iterator[Group]:
        return iter(self._rows(0, len(self)))

    def _rows(self, first: int, count: int) -> list[Group]:
        make = self._collection._database._object
        columns = [self._loaded(index, self._native.values(index, first, count, make))
                   for index in range(len(self.columns))]
        return [Group(values, self.columns) for values in zip(*columns)]

    def _loaded(self, index: int, values: list[Any]) -> list[Any]:
        converter = self._converters[index]
        return values if converter is None else [converter.loaded(value, nullable=True) for value in values]

    def find(self, *keys: Any) -> Optional[Group]:
        """The group with these keys, all of them; None if there is none."""
        plain = []
        for number, key in enumerate(keys):
            converter = self._converters[number] if number < self.key_count else None
            key = for_query(key) if converter is None else converter.for_query(key)
            plain.append(self._collection._database._plain(key))
        row = self._native.find(plain)
        return None if row is None else self[row]

    def _column(self, name: str) -> int:
        index = self._native.find_column(name)
        if index is None:
            raise errors.InvalidArgumentError(f"groups have no column {name!r}; they have {', '.join(self.columns)}")
        return index

    def column(self, name: str) -> list[Any]:
        """One column of all groups."""
        index = self._column(name)
        return self._loaded(index, self._native.values(index, 0, len(self), self._collection._database._object))

    def explain(self, *, analyze: bool = False) -> QueryPlan:
        """How the groups would be made now; with `analyze` they are made, to see what each step takes."""
        return QueryPlan(self._native.explain, analyze)

    def freeze(self) -> Groups:
        """As they are now, for ever and for every thread; within a write as they were before that."""
        return Groups(self._collection.freeze(), self._given, self._arguments, having=self._having,
                      clauses=self._clauses, built=self._built, native=self._native.freeze())

    # -------------------------------------------------------------------------------------------- observing

    def observe(self, callback: Callable[[Changes], None]) -> Observation:
        """Calls back with `Changes`: groups that came, went or have other values, by their places; the initial state
        first. Groups are distinguished by their keys."""
        return observe_collection(self._native, callback, None)

    def changes(self, timeout: Optional[float] = None) -> ChangeStream[Changes]:
        """The changes one after the other, the initial state first: `for change in groups.changes(timeout=5)`, or
        `async for change in groups.changes()`. Ends when `timeout` seconds pass without one."""
        return collection_changes(self._collection._database, self._native, timeout, None)

    # -------------------------------------------------------------------------------------------- other libraries

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The groups as an Arrow stream, for every library that reads such."""
        return _arrow.groups_stream(self._native.handle, _arrow.Options())

    def to_arrow(self, *, unit: str = "us") -> pyarrow.Table:
        """A `pyarrow.Table` with a column for each key and each aggregate. `unit` is that of timestamps."""
        pyarrow = _arrow.library("pyarrow", "to_arrow()")
        return pyarrow.table(_Stream(self, _arrow.Options(unit=unit)))

    def to_pandas(self, *, unit: str = "us") -> pandas.DataFrame:
        """A pandas frame; through pyarrow."""
        library = _arrow.library("pandas", "to_pandas()")
        pyarrow = _arrow.library("pyarrow", "to_pandas()")
        frame: pandas.DataFrame = _pandas.frame(library, pyarrow, self.to_arrow(unit=unit))
        return frame

    def to_polars(self, *, unit: str = "us") -> polars.DataFrame:
        """A polars frame."""
        library = _arrow.library("polars", "to_polars()")
        frame: polars.DataFrame = library.DataFrame(_Stream(self, _arrow.Options(unit=unit, views=True)))
        return frame

    def to_numpy(self, *columns: str, null: Any = None) -> Any:
        """One column as a NumPy array; of several, or of all where none is named, a dict of arrays by name.

        A column that may be None gives a masked array, unless `null` says what to put in place of None. Ints are int64,
        floats float64, datetimes datetime64[us]; everything else is objects."""
        names = columns or self.columns
        made = {name: self._array(self._column(name), null) for name in names}
        return made[columns[0]] if len(columns) == 1 else made

    def _array(self, index: int, null: Any) -> Any:
        numpy = _arrow.library("numpy", "to_numpy()", "NumPy")
        column, count = self._native.columns[index], len(self)
        if column.type in (INT, FLOAT, DOUBLE):
            made = numpy.zeros(count, dtype=numpy.int64 if column.type == INT else numpy.float64)
            bits = numpy.zeros((count + 7) // 8, dtype=numpy.uint8)
            if count:
                read = self._native.ints if column.type == INT else self._native.doubles
                kind = "int64_t *" if column.type == INT else "double *"
                read(index, count, ffi.cast(kind, ffi.from_buffer(made)),
                     ffi.cast("uint8_t *", ffi.from_buffer(bits)))
            missing = ~numpy.unpackbits(bits, count=count, bitorder="little").astype(bool)
        else:
            values = self._native.values(index, 0, count, self._collection._database._object)
            missing = numpy.array([value is None for value in values], dtype=bool)
            if column.type == TIMESTAMP:
                made = numpy.array([None if value is None else value.replace(tzinfo=None) for value in values],
                                   dtype="datetime64[us]")
            elif column.type == BOOL:
                made = numpy.array([bool(value) for value in values], dtype=bool)
            else:
                made = numpy.empty(count, dtype=object)
                made[:] = values
                return made
        if not column.nullable:
            return made
        if null is None:
            return numpy.ma.masked_array(made, mask=missing)
        if missing.any() and column.type != TIMESTAMP:
            # Ints that get NaN have to become floats.
            made = made.astype(numpy.result_type(made.dtype, type(null)))
        made[missing] = null
        return made

    # -------------------------------------------------------------------------------------------- showing

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (Groups, list)):
            return list(self) == list(other)
        return NotImplemented

    def __repr__(self) -> str:
        try:
            shown = [repr(each) for each in self[:_showing.SOME]]
            more = ", ..." if len(self) > len(shown) else ""
            return f"<Groups: {len(self):,} [{', '.join(shown)}{more}]>"
        except errors.Error as error:
            return f"<Groups that cannot be used: {error}>"

    def _repr_html_(self) -> str:
        """The first groups as a table, for notebooks."""
        rows = [[_showing._cell(value) for value in group] for group in self[:_showing.ROWS]]
        names = [(each.name, _type_name(each)) for each in self._native.columns]
        return _showing.table(names, rows, _showing.range_caption(0, len(rows), len(self), "groups"))

    def __reduce__(self) -> NoReturn:
        raise TypeError("Groups cannot be pickled or copied; list(...) gives what they are now")


class _Stream:
    """Groups in some form, for a library that reads Arrow."""

    def __init__(self, groups: Groups, options: _arrow.Options) -> None:
        self._groups, self._options = groups, options

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return _arrow.groups_stream(self._groups._native.handle, self._options)


def _least(one: int, two: int) -> int:
    # min() is an aggregate here.
    return one if one < two else two


def _type_name(column: Column) -> str:
    name = _showing.element_name(column.type, None, None)
    return name + (" | None" if column.nullable else "")
