"""Objects on their way into a database: an unmanaged one is stored together with those it leads to, all or none.

An object that needs no other one is stored by one call of the library. Otherwise each first gets a row with the values
that need no other new object, then the links and collections are made. Embedded objects are left to what holds them,
which makes them in their places.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Optional

from . import errors
from ._atomic import SINGLE, atomically
from ._convert import HOLDING, MIXED, Link, Values, check_depth
from ._ffi import lib
from ._protocols import AnyDatabase
from ._realm import prop_array
from .fields import MISSING
from .model import EmbeddedModel, Model, check_unstored, is_stored_embedded, is_unmanaged_embedded, store
from .schema import Row, assigned, is_empty, place

#: What upsert() does with an object that has the primary key already.
_POLICIES = {"error": lib.MOTTE_CREATE_NEW, "all": lib.MOTTE_CREATE_EXISTING, "modified": lib.MOTTE_CREATE_MODIFIED}
_NEW = int(lib.MOTTE_CREATE_NEW)


def policy_flags(name: str) -> int:
    try:
        return int(_POLICIES[name])
    except KeyError:
        raise errors.InvalidArgumentError(f"a policy is one of {', '.join(_POLICIES)}, not {name!r}") from None


def models_in(value: Any, depth: int = 0) -> list[Model]:
    """The objects that a value is or holds."""
    if isinstance(value, Model):
        return [value]
    if isinstance(value, (list, tuple, set, frozenset)) and not isinstance(value, Link):
        check_depth(depth)
        return [each for element in value for each in models_in(element, depth + 1)]
    if isinstance(value, dict):
        check_depth(depth)
        return [each for element in value.values() for each in models_in(element, depth + 1)]
    return []


def listed(value: Any) -> Any:
    """What a collection is assigned from, as what models_in() looks into: a deque and the values of a dict, too."""
    if isinstance(value, (list, tuple, dict, str, bytes, bytearray)) or hasattr(value, "_coll") or (
            not isinstance(value, Iterable)):
        return value
    return dict(value.items()) if isinstance(value, Mapping) else list(value)


class Unmanaged:
    """Unmanaged objects on their way into the database, and the keys they have been given."""

    def __init__(self, objects: Mapping[int, Model], policy: str) -> None:
        self.objects, self.policy = objects, policy
        #: The embedded ones that they hold, which what is called to place them finds here.
        self.embedded: dict[int, Model] = {}
        #: Those of them whose places are being made.
        self.placed: set[int] = set()
        self.keys: dict[int, int] = {}
        #: Those whose rows hold nothing yet.
        self.new: set[int] = set()

    def linked(self, database: AnyDatabase, value: Any, depth: int = 0) -> Any:
        """The value, with links in place of these objects."""
        if isinstance(value, Model):
            key = self.keys.get(id(value))
            return value if key is None else Link(database._row_of(type(value)).class_id, key)
        if isinstance(value, (list, tuple)) and not isinstance(value, Link):
            check_depth(depth)
            return [self.linked(database, each, depth + 1) for each in value]
        if isinstance(value, dict):
            check_depth(depth)
            return {key: self.linked(database, each, depth + 1) for key, each in value.items()}
        return value


def add_one(database: AnyDatabase, instance: Model, policy: str) -> bool:
    """Stores an unmanaged object by one call of the library, if that is possible."""
    if instance._row is not None or isinstance(instance, EmbeddedModel):
        return False
    row: Row = database._row_of(type(instance))
    new = row.new()
    # An object that is there already has collections to be emptied.
    may_exist = policy != "error" and row.primary_key is not None
    values = None if may_exist and new.collections else new.values(instance)
    if values is None:
        return False
    flags = policy_flags(policy) if may_exist else _NEW
    encoded = row.encoded(new.bounds, values)
    # Converters and what makes defaults are the program's, and may have stored the object somewhere.
    check_unstored(instance)
    key, is_new = database._realm.row_create(row.class_id, new.props, encoded, flags)
    try:
        store(instance, row, key, database._seen)
    except errors.Error:
        if is_new:
            database._realm.row_delete(row.class_id, [key])
        raise
    return True


def batch_of(database: AnyDatabase, made: Sequence[Model]) -> Optional[dict[str, list[Any]]]:
    """The values of these objects by property, if they are several of one class that need no others and no call of
    their own."""
    if len(made) < 2 or len(set(map(type, made))) != 1 or len(set(map(id, made))) != len(made):
        return None
    if any(instance._row is not None for instance in made):
        return None
    row: Row = database._row_of(type(made[0]))
    return row.new().columns(made)


def add_unmanaged(database: AnyDatabase, instances: Iterable[Any], policy: str = "error",
                  within: Optional[Callable[[Unmanaged], None]] = None) -> None:
    """Stores the unmanaged objects among these and all unmanaged objects reachable from them; all or none.

    Embedded ones are left to what holds them, which makes them in their places: to the others, or to what is done
    `within`, when those are stored. Without that, an error knows which of `instances` it is about."""
    instances = list(instances)
    found: dict[int, Model] = {}
    embedded: dict[int, Model] = {}
    seen: set[int] = set()
    waiting = [each for instance in reversed(instances) for each in models_in(instance)]
    for instance in waiting:
        if instance._row is not None and not database._realm.row_exists(*database._link(instance)):
            raise instance._row._deleted()
    while waiting:
        instance = waiting.pop()
        if instance._row is not None:
            database._link(instance)
        elif id(instance) not in seen:
            seen.add(id(instance))
            (embedded if isinstance(instance, EmbeddedModel) else found)[id(instance)] = instance
            row: Row = database._row_of(type(instance))
            for name, bound in row.properties.items():
                value = instance._values.get(name)
                if isinstance(value, Iterator) and not bound.is_plain:
                    # It can be read once, and the object keeps its values where it is refused.
                    value = instance._values[name] = list(value)
                if bound.declared.type in HOLDING:
                    waiting += models_in(value if bound.is_plain else listed(value))
    if not found and within is None:
        return
    unmanaged = Unmanaged(found, policy)
    unmanaged.embedded = embedded
    outer = database._unmanaged
    try:
        database._unmanaged = unmanaged
        _add(database, instances if within is None else [], unmanaged, within)
    finally:
        database._unmanaged = outer


def _add(database: AnyDatabase, instances: list[Any], unmanaged: Unmanaged,
         within: Optional[Callable[[Unmanaged], None]]) -> None:
    found = unmanaged.objects
    with atomically(database):
        for identity, instance in found.items():
            with _numbered(instances, instance):
                unmanaged.keys[identity], is_new = create(database, instance, unmanaged)
            if is_new:
                unmanaged.new.add(identity)
        # Of several that have one primary key the last one gives all values, as if they came one by one.
        last = {(database._row_of(type(instance)).class_id, unmanaged.keys[identity]): identity
                for identity, instance in found.items()}
        for identity in last.values():
            instance = found[identity]
            with _numbered(instances, instance):
                connect(database, instance, unmanaged.keys[identity], unmanaged, identity in unmanaged.new)
        for identity, instance in found.items():
            store(instance, database._row_of(type(instance)), unmanaged.keys[identity], database._seen)
        if within is not None:
            within(unmanaged)


class _numbered:
    """An error of one of several objects says which."""

    __slots__ = ("_instances", "_instance")

    def __init__(self, instances: list[Any], instance: Model) -> None:
        self._instances, self._instance = instances, instance

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Optional[BaseException], traceback: Any) -> None:
        if isinstance(error, errors.Error) and error.row_index is None and len(self._instances) > 1:
            error.row_index = next((number for number, each in enumerate(self._instances)
                                    if each is self._instance), None)


def create(database: AnyDatabase, instance: Model, unmanaged: Unmanaged) -> tuple[int, bool]:
    """(key, whether it is new)"""
    row: Row = database._row_of(type(instance))
    props, values = plain_values(row, instance, lambda: not _exists(database, row, instance, unmanaged))
    flags = policy_flags(unmanaged.policy) if row.primary_key is not None else _NEW
    key, is_new = database._realm.row_create(row.class_id, props, values, flags)
    return key, is_new


def _exists(database: AnyDatabase, row: Row, instance: Model, unmanaged: Unmanaged) -> bool:
    """Whether there is an object of its primary key, which would take over its values."""
    if unmanaged.policy == "error" or row.primary_key is None:
        return False
    bound = row.properties[row.primary_key]
    encoded = row.encoded([bound], [instance._values.get(row.primary_key)])
    return database._realm.row_with(row.class_id, encoded) is not None


def plain_values(row: Row, instance: Model, is_new: Callable[[], bool]) -> tuple[Any, Values]:
    """Properties of one value that need no object which has no key yet. `is_new` is asked where that depends on it."""
    bounds, values = [], []
    for name, bound in row.properties.items():
        if bound.is_plain:
            value = instance._values.get(name)
            if type(value) in SINGLE or not any(each._row is None for each in models_in(value)):
                bounds.append(bound)
                values.append(value)
            elif bound.declared.field.default_factory is not MISSING and bound.declared.type == MIXED and is_new():
                # Else the library calls the factory for the new row, whose value connect() would then replace.
                bounds.append(bound)
                values.append(None)
    return prop_array([bound.info.id for bound in bounds]), row.encoded(bounds, values)


def connect(database: AnyDatabase, instance: Model, key: int, unmanaged: Unmanaged, is_new: bool) -> None:
    """Links to objects that had no key before, collections, and embedded objects; into a row that is new or was there
    before."""
    row: Row = database._row_of(type(instance))
    for name, bound in row.properties.items():
        kept = instance._values.get(name)
        declared, prop = bound.declared, bound.info.id
        if not declared.is_stored or (type(kept) in SINGLE if bound.is_plain else is_new and is_empty(kept)):
            continue
        # A type of the program may be a tuple, which is not to become a list before its converter has seen it.
        if not bound.is_plain:
            kept = assigned(declared, declared.empty() if kept is None else kept)
            kept = listed(kept)
        value = unmanaged.linked(database, kept) if declared.converter is None else kept
        if not bound.is_plain:
            there = place(database, database._realm.row_coll(row.class_id, key, prop), declared)
            if len(there) or not is_empty(value):
                there.assign(value, only_differences=unmanaged.policy == "modified")
        elif is_unmanaged_embedded(value):
            put_embedded(database, row, key, prop, value, unmanaged)
        elif is_stored_embedded(value):
            # In another place by now, which the library refuses; or in this one, by another object of its primary key.
            if database._realm.row_values(row.class_id, key, [prop], Link)[0] != database._link(value):
                database._realm.row_set(row.class_id, key, bound.props, row.encoded([bound], [value]))
        elif any(each._row is None for each in models_in(kept)):
            _set(database, row, key, bound, value, only_differences=not is_new and unmanaged.policy == "modified")


def _set(database: AnyDatabase, row: Row, key: int, bound: Any, value: Any, *, only_differences: bool) -> None:
    encoded = row.encoded([bound], [value])
    if not only_differences or (
            database._realm.row_contents(row.class_id, key, [bound.info.id]) != encoded.contents()):
        database._realm.row_set(row.class_id, key, bound.props, encoded)


# ------------------------------------------------------------------------------------------------ embedded objects


#: Makes a place for an embedded object: (class id, key).
Place = Callable[[], tuple[int, int]]


def embed(database: AnyDatabase, instance: Any, place: Place) -> None:
    """Makes an unmanaged embedded object a stored one in the place that `place` makes."""
    _with_others(database, instance, "error", lambda unmanaged: _embed(database, instance, place, unmanaged))


def update_embedded(database: AnyDatabase, instance: Any, known: Link) -> None:
    """Gives the values of an unmanaged embedded object to one that is in its place already, where they differ."""
    _with_others(database, instance, "modified", lambda unmanaged: _update_embedded(
        database, instance, known, unmanaged))


def _with_others(
    database: AnyDatabase, instance: Any, policy: str, put: Callable[[Unmanaged], None]
) -> None:
    database._check_task()
    if not is_unmanaged_embedded(instance):
        raise errors.WrongTypeError(f"a new object of an embedded class is wanted, not {instance!r:.60}")
    outer = database._unmanaged
    if outer is not None and id(instance) in outer.embedded:
        # What it links to is stored, or has keys and is stored later.
        put(outer)
    else:
        add_unmanaged(database, [instance], policy, put)


def put_embedded(
    database: AnyDatabase, row: Row, key: int, prop: int, instance: Any, unmanaged: Unmanaged
) -> None:
    """Into a property, in the block of the objects that it comes with."""
    known = database._realm.row_values(row.class_id, key, [prop], Link)[0]
    if known is not None and unmanaged.policy == "modified":
        _update_embedded(database, instance, known, unmanaged)
    else:
        _embed(database, instance, partial(database._realm.row_embed, row.class_id, key, prop), unmanaged)


def _once(instance: Model, unmanaged: Unmanaged) -> None:
    if id(instance) in unmanaged.placed:
        raise errors.InvalidArgumentError(
            f"a {type(instance).__name__} is embedded in one place, and neither in a second one nor in itself",
            class_name=type(instance).__name__)
    unmanaged.placed.add(id(instance))


def _embed(database: AnyDatabase, instance: Model, place: Place, unmanaged: Unmanaged) -> None:
    _once(instance, unmanaged)
    row: Row = database._row_of(type(instance))
    props, values = plain_values(row, instance, lambda: True)
    class_id, key = place()
    _check_place(database, row, class_id)
    database._realm.row_set(row.class_id, key, props, values)
    connect(database, instance, key, unmanaged, True)
    store(instance, row, key, database._seen)


def _check_place(database: AnyDatabase, row: Row, class_id: int) -> None:
    """A subclass is another class, too."""
    if class_id != row.class_id:
        raise errors.WrongTypeError(
            f"an object of {database._row(class_id).model.__name__} is wanted, not one of {row.model.__name__}",
            class_name=row.model.__name__)


def _update_embedded(database: AnyDatabase, instance: Model, known: Link, unmanaged: Unmanaged) -> None:
    _once(instance, unmanaged)
    row: Row = database._row_of(type(instance))
    _check_place(database, row, known.class_id)
    for name, bound in row.properties.items():
        value = instance._values.get(name)
        if bound.declared.is_plain and not any(each._row is None for each in models_in(value)):
            _set(database, row, known.key, bound, value, only_differences=True)
    connect(database, instance, known.key, unmanaged, False)
    store(instance, row, known.key, database._seen)
