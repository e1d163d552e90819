"""What a value for $0 is compared as. Query text belongs to the library, which says where $0 stands in it and beside
which properties: a value is compared as its type is stored, and durations beside points in time count seconds. Where
properties store the type in a way of their own, $0 has to be plainly compared with one of them; otherwise it is
refused."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import Any, NamedTuple, Optional, Union

from . import errors
from ._durations import MICROSECONDS, POINT, SECONDS, Unit, counted, is_length
from ._ffi import ffi, lib
from ._handles import take_text
from ._protocols import AnyModel
from .converters import STORABLE, for_query, is_own


class Use(NamedTuple):
    """A place in which an argument stands; see motte_query_outline() in motte.h."""

    argument: Union[int, str]
    role: str
    plain: bool
    computed: bool
    now: bool
    paths: Sequence[Sequence[str]]


@lru_cache(maxsize=256)
def _uses_in(text: str) -> tuple[Use, ...]:
    import json

    encoded, buffer = text.encode("utf-8", "surrogatepass"), ffi.new("motte_buf *")
    errors.check(lib.motte_query_outline(encoded, len(encoded), buffer))
    return tuple(Use(**each) for each in json.loads(take_text(buffer)))


def placed(text: str, place: Union[int, str], model: Optional[type[AnyModel]], value: Any) -> Any:
    """A value for $place, or several."""
    if model is not None and model._has_own_converters():
        value = _by_property(text, place, model, value)
    several = isinstance(value, (list, tuple, AbstractSet))
    if not (any(map(is_length, value)) if several else is_length(value)):
        return value
    unit = _unit(text, place, model)
    return [counted(each, unit) for each in value] if several else counted(value, unit)


def listed(value: Any) -> Optional[Iterable[Any]]:
    """The elements of what stands for several values."""
    if isinstance(value, (list, tuple, AbstractSet, range)):
        return value
    if getattr(value, "ndim", 0) == 1 and hasattr(value, "tolist"):
        # An array of NumPy.
        found: Iterable[Any] = value.tolist()
        return found
    return None


class Given(list[Any]):
    """The values for $0, $1, ... of a predicate, and what makes of others what it compares there."""

    def __init__(self) -> None:
        super().__init__()
        self.stores: dict[int, Callable[[Any], Any]] = {}


def give(arguments: list[Any], value: Any, store: Callable[[Any], Any]) -> None:
    if isinstance(arguments, Given):
        arguments.stores[len(arguments)] = store
    arguments.append(value)


def _uses(text: str, place: Union[int, str]) -> list[Use]:
    try:
        return [use for use in _uses_in(text) if use.argument == place]
    except (errors.QuerySyntaxError, errors.QueryInvalidError):
        # The library says so again where it is asked to run it, and with what stands around it.
        return []


def _unit(text: str, place: Union[int, str], model: Optional[type[AnyModel]]) -> Unit:
    """What a timedelta or a time of day for $place counts."""
    units: set[Unit] = set()
    for use in _uses(text, place):
        if use.role != "value":
            units.add(None)
        elif not use.computed:
            units.add(MICROSECONDS)
        else:
            found = {None if model is None else model._path_unit(tuple(path)) for path in use.paths}
            if use.now:
                found.add(POINT)
            units.add(found.pop() if len(found) == 1 else None)
    if units <= {MICROSECONDS}:
        return MICROSECONDS
    if units == {POINT}:
        return SECONDS
    raise errors.WrongTypeError(
        f"${place} is a length of time beside arithmetic that counts seconds, microseconds or neither; give a number: "
        "value.total_seconds() where points in time are added or subtracted, value // timedelta(microseconds=1) beside "
        "durations")


def _by_property(text: str, place: Union[int, str], model: type[AnyModel], value: Any) -> Any:
    """As the property stores it that it is compared with. Numbers, texts and the like are what is stored already."""
    kind = type(value)
    if kind in STORABLE or value is None:
        return value
    if not model._own_converters_of(value):
        elements = listed(value)
        if elements is None or {type(each) for each in elements} <= {*STORABLE, type(None)}:
            return value
        return [_by_property(text, place, model, each) for each in elements]
    made = []
    for use in _uses(text, place):
        known = [model._path_converter(tuple(path)) for path in use.paths]
        if use.role == "value" and not (known and all(is_known for _, is_known in known)):
            raise _unclear(place, value)
        own = [found for found, _ in known if found is not None and is_own(found) and found.accepts(value)]
        if use.plain and own:
            made.append(own[0].for_query(value))
        elif own:
            raise _unclear(place, value)
        else:
            # Durations are counted by what stands beside them.
            made.append(value if use.computed else for_query(value))
    if any(type(each) is not type(made[0]) or each != made[0] for each in made):
        raise _unclear(place, value)
    return made[0] if made else value


def _unclear(place: Union[int, str], value: Any) -> errors.Error:
    return errors.WrongTypeError(
        f"it is not clear how ${place} is stored: properties have converters of their own for "
        f"{type(value).__name__}; compare one of them with it, as in 'name == ${place}', give what is stored, or write "
        "a predicate of the class")
