"""What a duration counts beside a property.

The file has durations and times of day as whole microseconds, while the query language counts the differences of points
in time in seconds. So whatever is compared with, added to or taken from something has a unit, and a timedelta or a time
of day takes that of its partner."""
from __future__ import annotations

from datetime import date, datetime, time, timedelta
from typing import Any, Optional

#: A point in time; a number of seconds; one of microseconds; a value of Python, which is any of both; None: no length.
Unit = Optional[str]
POINT, SECONDS, MICROSECONDS, DURATION = "point", "seconds", "microseconds", "duration"

_MICROSECOND = timedelta(microseconds=1)


def is_length(value: Any) -> bool:
    return isinstance(value, (timedelta, time))


def unit_of_value(value: Any) -> Unit:
    if is_length(value):
        return DURATION
    # A datetime is one, too.
    return POINT if isinstance(value, date) else None


def unit_of_result(left: Unit, sign: str, right: Unit) -> Unit:
    """Of arithmetic."""
    lengths = [unit for unit in (left, right) if unit not in (None, POINT)]
    if sign in "+-":
        if POINT in (left, right):
            return SECONDS if sign == "-" and left == right else POINT
        return common_unit(left, right) if lengths else None
    if sign == "/" and right not in (None, POINT):
        # How often one goes into the other.
        return None
    if len(lengths) != 1:
        return None
    return SECONDS if lengths[0] == DURATION else lengths[0]


def common_unit(left: Unit, right: Unit) -> Unit:
    """What two sides count that are compared, added or divided: seconds, unless both can count microseconds."""
    units = {left, right}
    if MICROSECONDS in units and not units & {SECONDS, POINT}:
        return MICROSECONDS
    return SECONDS if units & {SECONDS, POINT, DURATION} else None


def counted(value: Any, unit: Unit) -> Any:
    """A timedelta or a time of day as a number; other values as they are."""
    if isinstance(value, time) and value.tzinfo is None:
        value = datetime.combine(date.min, value) - datetime.min
    if not isinstance(value, timedelta):
        return value
    return value // _MICROSECOND if unit == MICROSECONDS else value.total_seconds()
