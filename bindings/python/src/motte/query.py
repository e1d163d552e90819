"""What `where()`, `sorted()` and columns are given, as the library takes it: text with arguments, predicates, functions
of the class, filters by name; paths by name or as class attributes. Predicates themselves are in predicates.py.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Callable, NamedTuple, Optional, Union

from . import errors
from ._placing import listed, placed
from ._protocols import AnyModel
from ._querytext import key_path, stored_path
from .converters import for_query
from .geo import Shape
from .predicates import Comparison, Descending, Path, Predicate, predicate_of

Condition = Union[str, Predicate, bool, Callable[[Any], Any]]


class Compiled(NamedTuple):
    """What the library gets of a condition."""

    text: str
    values: list[Any]
    #: Of the arguments that have names.
    named: dict[str, Any]
    #: What makes of a value what a predicate compares, by the number of its argument.
    stores: Mapping[int, Callable[[Any], Any]] = {}

    @property
    def arguments(self) -> list[Any]:
        """As the library takes them: those with names come as one dict behind the others."""
        return [*self.values, self.named] if self.named else self.values


def condition(model: Optional[type[AnyModel]], given: Any, arguments: tuple[Any, ...],
              named: Mapping[str, Any]) -> Compiled:
    """What was passed to where(): text with arguments, also named ones; predicates, functions of the class, and names
    of properties with their values."""
    if isinstance(given, str) and (given or not named):
        return Compiled(given, [placed(given, place, model, value) for place, value in enumerate(arguments)],
                        {name: argument(placed(given, name, model, value)) for name, value in named.items()})
    if isinstance(given, str) and arguments:
        raise TypeError("arguments need a condition as text, with $0 for the first one")
    predicates = [_one(model, each) for each in (() if isinstance(given, str) else (given, *arguments))]
    predicates += [_filter(model, name, value) for name, value in named.items()]
    joined = predicates[0] if predicates else None
    for predicate in predicates[1:]:
        joined = predicate if joined is None else joined & predicate
    if joined is None:
        return Compiled("", [], {})
    text, values = joined._parts()
    return Compiled(text, values, {}, values.stores)


def _filter(model: Optional[type[AnyModel]], name: str, value: Any) -> Predicate:
    """`name=value`"""
    if model is None:
        raise TypeError(f"{name}= is of objects with that property; these are values, SELF in query text")
    declared = model._declared()
    if name not in declared:
        raise errors.UnknownPropertyError(
            f"{model.__name__} has no property '{name}'; it has {', '.join(declared)}",
            class_name=model.__name__, property_name=name)
    return Comparison(Path(model, (name,)), "==", value)


def argument(value: Any) -> Any:
    """A value for $0 as the library takes it."""
    if isinstance(value, Shape):
        return str(value)
    converted = for_query(value)
    elements = listed(value) if converted is value else None
    return converted if elements is None else [for_query(each) for each in elements]


def _one(model: Optional[type[AnyModel]], given: Any) -> Predicate:
    if isinstance(given, (Predicate, Path)):
        return predicate_of(given)
    if callable(given) and not isinstance(given, type):
        if model is None:
            raise TypeError("a function as condition needs a collection of objects")
        return predicate_of(given(model))
    if isinstance(given, bool):
        raise TypeError("the condition was computed by Python and is just "
                        f"{given}: compare a class attribute, as in Flight.dep_delay > 60")
    raise TypeError(f"a condition is text, a predicate or a function, not {given!r:.60}")


def sort_keys(given: tuple[Any, ...]) -> list[tuple[str, bool]]:
    """(path, descending) of what was passed to sorted()."""
    keys = []
    for key in given:
        if isinstance(key, Descending):
            keys.append((property_name(key.path), True))
        elif isinstance(key, Path):
            keys.append((property_name(key), False))
        elif isinstance(key, str):
            keys.append((key[1:], True) if key.startswith("-") else (key, False))
        else:
            raise TypeError(f"sort by names ('name', '-name') or class attributes, not by {key!r:.60}")
    return [(key_path(path), descending) for path, descending in keys]


def property_name(given: Any) -> str:
    """The property that an aggregate or column is of."""
    if isinstance(given, Path):
        return given._key()
    if not isinstance(given, str):
        raise TypeError(f"a property is wanted, by name or as a class attribute, not {given!r:.60}")
    return given


def path_name(given: Any) -> str:
    """A path by name or as a class attribute."""
    return key_path(property_name(given))


def stored_name(given: Any, model: Optional[type[AnyModel]]) -> str:
    """The same by the names that the file has, for what reads and writes these: exports and columns."""
    return stored_path(property_name(given), model)


def path_names(given: Optional[Sequence[Any]]) -> Optional[list[str]]:
    """The key paths that an observer is given."""
    if isinstance(given, (str, Path)):
        raise errors.InvalidArgumentError("paths is a list of key paths; write paths=[...] around the one")
    return None if given is None else [path_name(each) for each in given]
