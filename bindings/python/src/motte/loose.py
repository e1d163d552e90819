"""Objects on their way into a database: loose ones are stored together with all loose ones they lead to, all or none.

First each gets a row with the values that need no other new object, then the links and collections are made. Embedded
objects are left to what holds them, which makes them in their places.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Optional

from . import errors
from ._atomic import atomically
from ._convert import LINK, MIXED, Link, Values
from ._ffi import lib
from .model import EmbeddedModel, Model, is_loose_embedded, store
from .schema import Row, collection

if TYPE_CHECKING:
    from .database import Database

#: What upsert() does with an object that has the primary key already.
_POLICIES = {"error": lib.MOTTE_CREATE_NEW, "all": lib.MOTTE_CREATE_EXISTING, "modified": lib.MOTTE_CREATE_MODIFIED}


def policy_flags(name: str) -> int:
    try:
        return int(_POLICIES[name])
    except KeyError:
        raise errors.InvalidArgumentError(f"a policy is one of {', '.join(_POLICIES)}, not {name!r}") from None


def models_in(value: Any) -> list[Model]:
    """The objects that a value is or holds."""
    if isinstance(value, Model):
        return [value]
    if isinstance(value, (list, tuple, set, frozenset)) and not isinstance(value, Link):
        return [each for element in value for each in models_in(element)]
    if isinstance(value, dict):
        return [each for element in value.values() for each in models_in(element)]
    return []


class Loose:
    """Loose objects on their way into the database, and the keys they have been given."""

    def __init__(self, objects: Mapping[int, Model], policy: str) -> None:
        self.objects, self.policy = objects, policy
        self.keys: dict[int, int] = {}

    def linked(self, database: Database, value: Any) -> Any:
        """The value, with links in place of these objects."""
        if isinstance(value, Model):
            key = self.keys.get(id(value))
            return value if key is None else Link(database._row_of(type(value)).class_id, key)
        if isinstance(value, (list, tuple)) and not isinstance(value, Link):
            return [self.linked(database, each) for each in value]
        if isinstance(value, dict):
            return {key: self.linked(database, each) for key, each in value.items()}
        return value


def add_as_batch(database: Database, made: Sequence[Model]) -> bool:
    if len(made) < 2 or len({type(instance) for instance in made}) != 1 or len(set(map(id, made))) != len(made):
        return False
    row = database._row_of(type(made[0]))
    names = [name for name, bound in row.properties.items() if bound.declared.is_plain]
    collections = [name for name, bound in row.properties.items() if not bound.declared.is_plain
                   and bound.declared.is_stored]
    links = [name for name in names if row.properties[name].declared.type in (LINK, MIXED)]
    for instance in made:
        if instance._row is not None:
            return False
        values = instance._values
        if any(values[name] for name in collections):
            return False
        if any(each._row is None for name in links for each in models_in(values[name])):
            return False
    keys = database.insert_columns(type(made[0]), {
        name: [instance._values[name] for instance in made] for name in names})
    for instance, key in zip(made, keys):
        store(instance, row, key, database._write)
    return True


def add_loose(database: Database, instances: Iterable[Any], policy: str = "error") -> None:
    """Stores the loose objects among these and all loose objects reachable from them; all or none.

    Embedded ones are left to what holds them, which makes them in their places."""
    found: dict[int, Model] = {}
    seen: set[int] = set()
    waiting = [each for instance in reversed(list(instances)) for each in models_in(instance)]
    for instance in waiting:
        if instance._row is not None and not database._realm.row_exists(*database._link(instance)):
            raise instance._row._deleted()
    while waiting:
        instance = waiting.pop()
        if instance._row is not None:
            database._link(instance)
        elif id(instance) not in seen:
            seen.add(id(instance))
            if not isinstance(instance, EmbeddedModel):
                found[id(instance)] = instance
            row = database._row_of(type(instance))
            for name, bound in row.properties.items():
                if bound.declared.type in (LINK, MIXED):
                    waiting += models_in(instance._values.get(name))
    if not found:
        return
    loose = Loose(found, policy)
    with atomically(database):
        for identity, instance in found.items():
            loose.keys[identity] = create(database, instance, loose)
        for identity, instance in found.items():
            connect(database, instance, loose.keys[identity], loose)
        for identity, instance in found.items():
            store(instance, database._row_of(type(instance)), loose.keys[identity], database._write)


def create(database: Database, instance: Model, loose: Loose) -> int:
    row = database._row_of(type(instance))
    props, values = plain_values(database, row, instance, loose)
    flags = policy_flags(loose.policy) if row.primary_key is not None else policy_flags("error")
    key, is_new = database._realm.row_create(row.class_id, props, values, flags)
    if is_new and database._write is not None:
        database._write._made(row.class_id, key)
    return key


def plain_values(database: Database, row: Row, instance: Model, loose: Loose) -> tuple[list[int], Values]:
    """Properties of one value that need no object which has no key yet."""
    bounds, values = [], []
    for name, bound in row.properties.items():
        if bound.declared.is_plain:
            value = instance._values.get(name)
            if not any(each._row is None for each in models_in(value)):
                bounds.append(bound)
                values.append(value)
    return [bound.info.id for bound in bounds], row.encoded(bounds, values)


def connect(database: Database, instance: Model, key: int, loose: Loose) -> None:
    """Links to objects that had no key before, collections, and embedded objects."""
    row = database._row_of(type(instance))
    for name, bound in row.properties.items():
        value = loose.linked(database, instance._values.get(name))
        declared, prop = bound.declared, bound.info.id
        if not declared.is_stored:
            continue
        if not declared.is_plain:
            place = collection(database, database._realm.row_coll(row.class_id, key, prop), declared)
            if len(place) or value:
                place.assign(value or declared.empty(), only_differences=loose.policy == "modified")
        elif is_loose_embedded(value):
            known = database._realm.row_values(row.class_id, key, [prop], Link)[0]
            if known is not None and loose.policy == "modified":
                update_embedded(database, value, known, loose)
            else:
                embed(database, value, lambda: database._realm.row_embed(row.class_id, key, prop), loose)
        elif any(each._row is None for each in models_in(instance._values.get(name))):
            database._realm.row_set(row.class_id, key, [prop], row.encoded([bound], [value]))


def embed(database: Database, instance: Any, place: Callable[[], int], loose: Optional[Loose] = None) -> None:
    """Makes a loose embedded object a stored one in the place that `place` makes, which gives its key."""
    database._check_task()
    if not is_loose_embedded(instance):
        raise errors.WrongTypeError(f"a new object of an embedded class is wanted, not {instance!r:.60}")
    row = database._row_of(type(instance))
    with atomically(database):
        if loose is None:
            add_loose(database, [instance])
            loose = Loose({}, "error")
        props, values = plain_values(database, row, instance, loose)
        key = place()
        database._realm.row_set(row.class_id, key, props, values)
        connect(database, instance, key, loose)
        store(instance, row, key, database._write)


def update_embedded(database: Database, instance: Any, known: Link, loose: Loose) -> None:
    """Gives the values of a loose embedded object to one that is in its place already, where they differ."""
    row = database._row_of(type(instance))
    for name, bound in row.properties.items():
        value = instance._values.get(name)
        if not bound.declared.is_plain or any(each._row is None for each in models_in(value)):
            continue
        before = database._realm.row_values(row.class_id, known.key, [bound.info.id], Link)[0]
        after = database._plain(value)
        if type(before) is not type(after) or before != after:
            database._realm.row_set(row.class_id, known.key, [bound.info.id], row.encoded([bound], [value]))
    connect(database, instance, known.key, loose)
    store(instance, row, known.key, database._write)
