"""Values of types that a database does not have, and what is stored in their place.

    color = motte.converter(Color, str, store=lambda color: color.hex, load=Color.parse)

makes `color: Color` a property whose values are stored as texts. date, time, timedelta, Path, Literal and enums have
converters of their own.
"""
from __future__ import annotations

import enum
import pathlib
import typing
import uuid
from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any, Generic, Optional, TypeVar

from . import _again, errors
from ._columns import kind_of, times_of
from ._durations import MICROSECONDS, Unit
from .objectid import ObjectId

V = TypeVar("V")

#: Types whose values are stored as they are.
STORABLE: tuple[type, ...] = (bool, int, float, str, bytes, datetime, Decimal, uuid.UUID, ObjectId)


class Converter(Generic[V]):
    """Stores the values of a type as values of another one; made by `motte.converter()`.

    In `Annotated[Color, that_converter]` it is the one of a property, whatever other properties of that type have."""

    __slots__ = ("type", "stored_type", "_store", "_load")

    def __init__(self, type: type[V], stored_type: Any, store: Callable[[V], Any], load: Callable[[Any], V]) -> None:
        #: The type of the values in Python.
        self.type = type
        #: The annotation of what is stored, such as `str`.
        self.stored_type = stored_type
        self._store, self._load = store, load

    @property
    def stored_range(self) -> Optional[tuple[Any, Any]]:
        """The least and the greatest value that can be read; None: all of the stored type."""
        return None

    @property
    def stores_midnights(self) -> bool:
        """Whether no other point in time can be read."""
        return False

    @property
    def unit(self) -> Unit:
        """What its stored numbers count, if they are durations."""
        return None

    @property
    def name(self) -> str:
        """What messages call the type."""
        return self.type.__name__

    def accepts(self, value: Any) -> bool:
        """Whether it is a value of the type, for a query."""
        return isinstance(value, self.type)

    def stored(self, value: Any) -> Any:
        """What is stored for a value; None for None."""
        if value is None:
            return None
        if not self.accepts(value):
            raise errors.WrongTypeError(
                f"{value!r:.60} is {_kind(value)} where {self.name} is wanted{_again.note(value, self.type)}")
        return self._store(value)

    def for_query(self, value: Any) -> Any:
        """What a value of the type is compared as; others, such as what is stored, are left alone."""
        return self._store(value) if self.accepts(value) else value

    def loaded(self, stored: Any, nullable: bool = False) -> Optional[V]:
        """The value for what is stored."""
        return None if stored is None else self._load(stored)

    def from_array(self, values: Any) -> Any:
        """What is stored for an array, which is an array of that unless the converter knows better. Refuses what could
        not be read again."""
        return values

    def __repr__(self) -> str:
        shown = getattr(self.stored_type, "__name__", None) or str(self.stored_type)
        return f"<Converter of {self.name}, stored as {shown}>"


def _kind(value: Any) -> str:
    return type(value).__name__


class EnumConverter(Converter[enum.Enum]):
    """The members of an enum are stored by their values."""

    __slots__ = ()

    def __init__(self, members: type[enum.Enum], stored_type: Any) -> None:
        super().__init__(members, stored_type, lambda member: member.value, members)

    def accepts(self, value: Any) -> bool:
        return isinstance(value, self.type) or _again.are_same_enums(type(value), self.type)

    def stored(self, value: Any) -> Any:
        """Takes a member or the value of one: others could not be read again."""
        if value is None or self.accepts(value):
            return None if value is None else value.value
        try:
            return self.type(value).value
        except (ValueError, TypeError):
            raise errors.WrongTypeError(
                f"{value!r:.60} is no {self.name}, whose values are {_listed([each.value for each in self.type])}"
                f"{_again.note(value, self.type)}") from None

    def loaded(self, stored: Any, nullable: bool = False) -> Optional[enum.Enum]:
        """The member; one that is unknown is None where that is allowed."""
        if stored is None:
            return None
        try:
            return self.type(stored)
        except ValueError:
            if nullable:
                return None
            raise errors.WrongTypeError(f"{stored!r:.60} is no {self.name}") from None


class LiteralConverter(Converter[Any]):
    """A few values of one type, as they are."""

    __slots__ = ("values",)

    def __init__(self, kind: type, values: tuple[Any, ...]) -> None:
        super().__init__(kind, kind, lambda value: value, lambda value: value)
        self.values = values

    @property
    def name(self) -> str:
        return f"Literal[{_listed(self.values)}]"

    def stored(self, value: Any) -> Any:
        if value is not None and not (type(value) is self.type and value in self.values):
            raise errors.WrongTypeError(f"{value!r:.60} is none of {_listed(self.values)}")
        return value


def _listed(values: Any) -> str:
    return ", ".join(repr(value) for value in list(values)[:10]) + (", ..." if len(values) > 10 else "")


# ------------------------------------------------------------------------------------------------ those there are

#: By type; annotations find them here.
_converters: dict[type, Converter[Any]] = {}


def converter(type: type[V], stored_type: Any, *, store: Callable[[V], Any],
              load: Callable[[Any], V]) -> Converter[V]:
    """Lets properties have values of a type of yours: `store` makes of one what is stored, `load` makes it again.

    `stored_type` is one of `bool, int, float, str, bytes, datetime, Decimal, uuid.UUID, motte.ObjectId` or another one
    that has a converter. Equal values are stored equal, so that they are found; store them in their order, so that they
    sort and compare. None stays None. Annotations of the type, in classes and collections, use it from then on; so do
    arguments of queries."""
    if not isinstance(type, _TYPE):
        raise TypeError(f"a class is wanted whose values are to be stored, not {type!r:.60}")
    if type in STORABLE:
        raise TypeError(f"{type.__name__} is stored as it is; put a converter of a property into Annotated[...]")
    inner = of_type(stored_type) if isinstance(stored_type, _TYPE) else None
    if inner is None and stored_type not in STORABLE and typing.get_origin(stored_type) is not typing.Annotated:
        shown = getattr(stored_type, "__name__", None) or str(stored_type)
        raise TypeError(
            f"values are stored as one of {', '.join(each.__name__ for each in STORABLE)}, or as a type that has a "
            f"converter, not as {shown}")
    if inner is not None:
        made = Converter(type, inner.stored_type, lambda value: inner.stored(store(value)),
                         lambda stored: load(inner.loaded(stored)))
    else:
        made = Converter(type, stored_type, store, load)
    _converters[type] = made
    return made


_TYPE = type


def of_type(kind: type) -> Optional[Converter[Any]]:
    """The converter of a type, or of the nearest of its bases; None where values are stored as they are."""
    for base in kind.__mro__:
        if base in STORABLE:
            return None
        found = _converters.get(base)
        if found is not None:
            return found
    return None


def is_own(found: Optional[Converter[Any]]) -> bool:
    """Whether it is another one than its type has; those of enums and literals store their values, as they are."""
    return found is not None and not isinstance(found, (EnumConverter, LiteralConverter)) and (
        found is not of_type(found.type))


def for_query(value: Any) -> Any:
    """An argument of a query of which nothing is known but the value."""
    found = of_type(type(value))
    return value if found is None else found.for_query(value)


# ------------------------------------------------------------------------------------------------ built in

_MIDNIGHT = time(tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)


class _DateConverter(Converter[date]):
    """A datetime is a date in Python, too; but its time and its zone would be lost."""

    __slots__ = ()

    def accepts(self, value: Any) -> bool:
        return isinstance(value, date) and not isinstance(value, datetime)

    def stored(self, value: Any) -> Any:
        if isinstance(value, datetime):
            raise errors.WrongTypeError(f"{value!r:.60} is datetime where date is wanted; give its date()")
        return super().stored(value)

    @property
    def stores_midnights(self) -> bool:
        return True

    def from_array(self, values: Any) -> Any:
        """Of datetime64, midnights only: others would be read as dates that they do not equal."""
        if kind_of(values) == "M":
            times = times_of(values, "M")
            row = _first_inexact(times, "datetime64[D]")
            if row is not None:
                raise errors.WrongTypeError(f"{times.data[row]} has a time of day, and a date has none", row_index=row)
        return values


class _DurationConverter(Converter[timedelta]):
    """Arrays of timedelta64 are durations as well."""

    __slots__ = ()

    @property
    def unit(self) -> Unit:
        return MICROSECONDS

    def from_array(self, values: Any) -> Any:
        if kind_of(values) != "m":
            return values
        import numpy

        times = times_of(values, "m")
        if numpy.datetime_data(times.dtype)[0] in ("generic", "Y", "M"):
            raise errors.WrongTypeError(f"an array of {times.dtype}, which says no length of time")
        row = _first_inexact(times, "timedelta64[us]")
        if row is not None:
            raise errors.NumberOverflowError(
                f"{times.data[row]} is no number of microseconds in 64 bits; round it before", row_index=row)
        absent = numpy.isnat(times.data) | numpy.ma.getmaskarray(times)
        numbers = times.data.astype("timedelta64[us]").astype("int64")
        return [None if hidden else number for hidden, number in zip(absent.tolist(), numbers.tolist())]


class _TimeConverter(Converter[time]):
    """A time of day has no time zone."""

    __slots__ = ()

    @property
    def unit(self) -> Unit:
        return MICROSECONDS

    @property
    def stored_range(self) -> tuple[int, int]:
        return 0, 86_400_000_000 - 1


def _first_inexact(times: Any, unit: str) -> Optional[int]:
    """The first row that is no whole number of units; None where all are."""
    import numpy

    try:
        changed = times.data.astype(unit).astype(times.dtype) != times.data
    except OverflowError:
        # Of parts of a nanosecond, which nothing is stored in.
        changed = numpy.ones(times.shape, dtype=bool)
    rows = numpy.flatnonzero(changed & ~numpy.isnat(times.data) & ~numpy.ma.getmaskarray(times))
    return int(rows[0]) if len(rows) else None


def _microseconds(value: time) -> int:
    if value.tzinfo is not None:
        raise errors.WrongTypeError(f"{value!r} has a time zone, which a time of day is stored without; give its "
                                    "replace(tzinfo=None)")
    return ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond


def _time_of_day(stored: int) -> time:
    seconds, microsecond = divmod(stored, 1_000_000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    try:
        return time(hour, minute, second, microsecond)
    except (ValueError, OverflowError):
        raise errors.NumberOverflowError(f"{stored} microseconds are no time of day") from None


def _stored_duration(value: timedelta) -> int:
    # Those of pandas have nanoseconds.
    if getattr(value, "nanoseconds", 0):
        raise errors.NumberOverflowError(f"{value!r} has nanoseconds, and microseconds are stored; round it before")
    return value // _MICROSECOND


def _duration(stored: int) -> timedelta:
    return stored * _MICROSECOND


_converters[date] = _DateConverter(
    date, datetime, lambda value: datetime.combine(value, _MIDNIGHT), lambda stored: stored.date())
_converters[time] = _TimeConverter(time, int, _microseconds, _time_of_day)
_converters[timedelta] = _DurationConverter(timedelta, int, _stored_duration, _duration)
_converters[pathlib.PurePosixPath] = Converter(pathlib.PurePosixPath, str, str, pathlib.PurePosixPath)
_converters[pathlib.PureWindowsPath] = Converter(pathlib.PureWindowsPath, str, str, pathlib.PureWindowsPath)
_converters[pathlib.Path] = Converter(pathlib.Path, str, str, pathlib.Path)
