"""What a value for $0 is compared as. Query text belongs to the library, so little is known here of what stands beside
$0: a value is compared as its type is stored, and durations beside points in time count seconds. Where properties store
the type in a way of their own, $0 has to be plainly compared with one of them; otherwise it is refused."""
from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from typing import Any, Optional, Union

from . import errors
from ._durations import PATH, argument_unit, conditions_with, counted, has_arithmetic, is_length, paths_in
from ._protocols import AnyModel
from ._querytext import names_of
from .converters import STORABLE, for_query, is_own

#: A path of what a subquery goes through, of which nothing is known here.
_VARIABLE = re.compile(r"\$[^\W\d]\w*\s*\.")
#: `path < $0`, `ANY path IN {$0, $1}`, within parentheses and behind NOT.
_PLAIN = re.compile(
    rf"(?:\s|\(|!|\bNOT\b)*(?:(?:ANY|ALL|NONE)\s+)?(?P<path>{PATH})\s*(?:[<>=!]=?|\b(?:IN|BETWEEN)\b)\s*"
    r"(?:\$\w+|\{(?:\s*\$\w+\s*,?)+\})(?:\s|\))*", re.IGNORECASE)


def placed(text: str, place: Union[int, str], model: Optional[type[AnyModel]], value: Any) -> Any:
    """A value for $place, or several."""
    if model is not None and model._has_own_converters():
        value = _by_property(text, place, model, value)
    several = isinstance(value, (list, tuple, AbstractSet))
    if not (any(map(is_length, value)) if several else is_length(value)):
        return value
    unit = argument_unit(text, place, model)
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
    for condition in conditions_with(text, place):
        plain = _PLAIN.fullmatch(condition)
        paths = paths_in(condition) if plain is None else [plain["path"]]
        known = [model._path_converter(tuple(names_of(path))) for path in paths]
        if not known or not all(is_known for _, is_known in known):
            raise _unclear(place, value)
        own = [found for found, _ in known if found is not None and is_own(found) and found.accepts(value)]
        if plain is not None and own:
            made.append(own[0].for_query(value))
        elif own or _VARIABLE.search(condition):
            raise _unclear(place, value)
        else:
            # Durations are counted by what stands beside them.
            made.append(value if has_arithmetic(condition) else for_query(value))
    if any(type(each) is not type(made[0]) or each != made[0] for each in made):
        raise _unclear(place, value)
    return made[0] if made else value


def _unclear(place: Union[int, str], value: Any) -> errors.Error:
    return errors.WrongTypeError(
        f"it is not clear how ${place} is stored: properties have converters of their own for "
        f"{type(value).__name__}; compare one of them with it, as in 'name == ${place}', give what is stored, or write "
        "a predicate of the class")
