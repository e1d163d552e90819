"""What a value for $0 is compared as, by the properties that stand beside it in query text: a property may have a
converter of its own, and durations beside points in time count seconds."""
from __future__ import annotations

import enum
import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import Any, Optional, Union

from . import errors
from ._durations import argument_unit, conditions_with, counted, has_arithmetic, is_length, paths_in
from ._protocols import AnyModel
from ._querytext import names_of
from .converters import for_query, of_type

#: A path of what a subquery goes through, of which nothing is known here.
_VARIABLE = re.compile(r"\$[^\W\d]\w*\s*\.")


def placed(text: str, place: Union[int, str], model: Optional[type[AnyModel]], value: Any) -> Any:
    """A value for $place, or several."""
    if isinstance(value, (list, tuple, AbstractSet)):
        if model is None or not model._has_own_converters():
            return _counted(text, place, model, value) if any(map(is_length, value)) else value
        return [placed(text, place, model, each) for each in value]
    if model is not None and model._has_own_converters() and not isinstance(value, enum.Enum):
        converted = _by_property(text, place, model, value)
        if converted is not value:
            return converted
    return _counted(text, place, model, [value])[0] if is_length(value) else value


def _counted(text: str, place: Union[int, str], model: Optional[type[AnyModel]], values: Iterable[Any]) -> list[Any]:
    unit = argument_unit(text, place, model)
    return [counted(each, unit) for each in values]


def _by_property(text: str, place: Union[int, str], model: type[AnyModel], value: Any) -> Any:
    """As the properties that it is compared with store it, if one of them does so in its own way."""
    general, made = of_type(type(value)), []
    is_own = False
    for condition in conditions_with(text, place):
        converters = [model._path_converter(tuple(names_of(path))) for path in paths_in(condition)]
        own = [each for each in converters if each is not None and each is not general and each.accepts(value)]
        if general is not None and (has_arithmetic(condition) if own else _VARIABLE.search(condition)):
            if own or model._own_converters_of(value):
                raise _unclear(place, value)
        made += [each.for_query(value) for each in own] or [for_query(value)]
        is_own = is_own or bool(own)
    if not is_own:
        return value
    if any(type(each) is not type(made[0]) or each != made[0] for each in made):
        raise _unclear(place, value)
    return made[0]


def _unclear(place: Union[int, str], value: Any) -> errors.Error:
    return errors.WrongTypeError(
        f"${place} stands beside properties that store {type(value).__name__} in different ways, or beside what may be "
        "one; give what is stored, or write the condition as a predicate of the class")
