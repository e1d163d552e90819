"""What a Database does with objects in the open write: new ones, changed ones, many at once, deletion.

Each is all or nothing: one call of the library, or several with a savepoint before them.
"""
from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Optional, TypeVar, Union

from . import _callbacks, _objects, _rules, errors, unmanaged
from ._atomic import atomic, atomically, needs_others
from ._columns import Column, column, is_buffer, mixed_column
from ._convert import HOLDING, MIXED, Values
from ._held import is_lost
from ._protocols import AnyDatabase
from ._realm import prop_array
from ._sameness import is_same_object
from .converters import Converter, EnumConverter
from .unmanaged import Unmanaged, policy_flags
from .maps import Map
from .model import EmbeddedModel, Model, is_stored_embedded, is_unmanaged_embedded, store
from .results import Collection
from .schema import Row, assigned, place

M = TypeVar("M", bound=Model)


def _check_addable(instance: Any) -> None:
    if not isinstance(instance, Model):
        raise errors.WrongTypeError(f"add() takes an object of a model class, not {instance!r:.60}")
    if isinstance(instance, EmbeddedModel):
        raise errors.InvalidArgumentError(
            f"a {type(instance).__name__} is embedded: assign it to a property of its parent",
            class_name=type(instance).__name__)


def add(database: AnyDatabase, instance: M, update: bool) -> M:
    database._check_task()
    _check_addable(instance)
    policy = "all" if update else "error"
    if not unmanaged.add_one(database, instance, policy):
        unmanaged.add_unmanaged(database, [instance], policy)
    return instance


def upsert(database: AnyDatabase, instance: M, policy: str) -> M:
    database._check_task()
    if not isinstance(instance, Model):
        raise errors.WrongTypeError(f"upsert() takes an object of a model class, not {instance!r:.60}")
    if not any(declared.field.primary_key for declared in instance._declared().values()):
        raise errors.NoPrimaryKeyError(
            f"{type(instance).__name__} has no primary key to be found by", class_name=type(instance).__name__)
    policy_flags(policy)
    if not unmanaged.add_one(database, instance, policy):
        unmanaged.add_unmanaged(database, [instance], policy)
    return instance


@atomic
def upsert_all(database: AnyDatabase, instances: Iterable[M], policy: str) -> list[M]:
    return [upsert(database, instance, policy) for instance in _several(instances, "upsert_all")]


def _several(instances: Iterable[M], name: str) -> list[M]:
    try:
        return list(instances)
    except TypeError:
        if isinstance(instances, Iterable):
            raise
        raise errors.WrongTypeError(f"{name}() takes several objects, not {instances!r:.60}") from None


def add_all(database: AnyDatabase, instances: Iterable[M], update: bool) -> list[M]:
    if type(instances) is list and not update and database._stored is None:
        database._check_task()
        made = instances[:]
        if _objects.add_all(database, made):
            return made
    return _add_all(database, instances, update)


@atomic
def _add_all(database: AnyDatabase, instances: Iterable[M], update: bool) -> list[M]:
    database._check_task()
    made = _several(instances, "add_all")
    for instance in made:
        _check_addable(instance)
    columns = None if update else unmanaged.batch_of(database, made)
    if columns is None:
        unmanaged.add_unmanaged(database, made, "all" if update else "error")
        return made
    row: Row = database._row_of(type(made[0]))
    # All of each object is there: nothing is started.
    for instance, key in zip(made, _inserted(database, row, columns, "error")):
        store(instance, row, key, database._seen)
    return made


def check_names(database: AnyDatabase, model: type[Model]) -> None:
    """A property of the name of an argument would be dropped without a word."""
    if "policy" in database._row_of(model).properties:
        raise errors.InvalidArgumentError(
            f"{model.__name__} has a property 'policy', which create_or_update() takes for its own; use upsert()",
            class_name=model.__name__, property_name="policy")


def create_or_update(database: AnyDatabase, model: type[M], policy: str, values: Mapping[str, Any]) -> M:
    database._check_task()
    row: Row = database._row_of(model)
    # What is made in its place, or one by one, needs an object that is there.
    plain = {name: value for name, value in values.items()
             if row.bound(name).is_plain and not isinstance(value, EmbeddedModel)}
    if len(plain) < len(values) or _need_others(row, plain) or row.model._starts():
        # An iterator can be read once.
        values = {name: list(value) if isinstance(value, Iterator) and not row.bound(name).is_plain else value
                  for name, value in values.items()}
        others = [each for name, value in values.items() if row.bound(name).declared.type in HOLDING
                  for each in unmanaged.models_in(value if row.bound(name).is_plain else unmanaged.listed(value))]
        keys: list[int] = []
        unmanaged.add_unmanaged(database, others, policy, lambda made: keys.append(
            _created_or_updated(database, row, policy, plain, values, made)))
        key = keys[0]
    else:
        key = _created_or_updated(database, row, policy, plain, values, None)
    made: M = database._object(row.class_id, key)
    return made


def _need_others(row: Row, values: Mapping[str, Any]) -> bool:
    return any(row.bound(name).may_hold and needs_others(value) for name, value in values.items())


def _created_or_updated(
    database: AnyDatabase, row: Row, policy: str, plain: Mapping[str, Any], values: Mapping[str, Any],
    made: Optional[Unmanaged],
) -> int:
    """The key. `made` is what comes with it, if there is such a thing."""
    bounds = [row.bound(name) for name in plain]
    encoded = row.encoded(bounds, list(plain.values()))
    key, is_new = database._realm.row_create(
        row.class_id, prop_array([bound.info.id for bound in bounds]), encoded, policy_flags(policy))
    if is_new:
        _rules.start(row, (key,), values)
    for name, value in values.items():
        bound = row.bound(name)
        if made is not None and is_unmanaged_embedded(value):
            unmanaged.put_embedded(database, row, key, bound.info.id, value, made)
        elif isinstance(value, EmbeddedModel):
            row.set(database._object(row.class_id, key), name, value)
        elif name not in plain:
            there = place(database, database._realm.row_coll(row.class_id, key, bound.info.id), bound.declared)
            there.assign(assigned(bound.declared, value), only_differences=policy == "modified")
    return key


def update(database: AnyDatabase, instance: M, values: Mapping[str, Any]) -> M:
    database._check_task()
    instance._stored_row("update")
    row: Row = database._row_of(type(instance))
    bounds = [row.bound(name) for name in values]
    for bound in bounds:
        if not bound.is_plain:
            raise errors.WrongTypeError(f"{row.model.__name__}.{bound.declared.name} is a collection; assign it by "
                                        "itself", property_name=bound.declared.name)
    if any(is_stored_embedded(value) for value in values.values()) and database.in_write:
        # Assigning something to itself changes nothing; the others are assigned.
        values = {name: value for name, value in values.items()
                  if not is_stored_embedded(value) or not is_same_object(row.get(instance, name), value)}
        bounds = [row.bound(name) for name in values]
    if _need_others(row, values):
        with atomically(database):
            embedded = {name: value for name, value in values.items() if isinstance(value, EmbeddedModel)}
            others = {name: value for name, value in values.items() if name not in embedded}
            if others or not embedded:
                _set(database, row, instance, [row.bound(name) for name in others], list(others.values()))
            for name, value in embedded.items():
                row.set(instance, name, value)
    else:
        _set(database, row, instance, bounds, list(values.values()))
    return instance


def _set(database: AnyDatabase, row: Row, instance: Model, bounds: Sequence[Any], values: Sequence[Any]) -> None:
    encoded = row.encoded(bounds, values)
    database._realm.row_set(
        row.class_id, database._link(instance).key, prop_array([bound.info.id for bound in bounds]), encoded)


def update_all(database: AnyDatabase, what: Collection[Any], values: Mapping[str, Any]) -> int:
    """Assigns the same values to all objects of a collection, or what functions give for each."""
    database._check_task()
    row: Row = what._row()  # type: ignore[assignment]
    bounds = {name: row.bound(name) for name in values}
    for name, bound in bounds.items():
        if not bound.is_plain:
            raise errors.WrongTypeError(f"{row.model.__name__}.{name} is a collection, which a bulk update does not "
                                        "assign; loop over the objects", property_name=name)
    constant = {name: value for name, value in values.items() if not _is_function(value)}
    functions = {name: _callbacks.checked(value, name) for name, value in values.items() if name not in constant}
    for name, value in constant.items():
        if isinstance(value, EmbeddedModel):
            raise errors.InvalidArgumentError(
                f"a {type(value).__name__} is embedded in one object; give a function that makes one for each",
                property_name=name)
    if not database.in_write:
        # Says that it needs a write, also where there is nothing to do.
        database._realm.savepoint()
    # Both before anything is assigned, which may change who belongs to it.
    if what._coll.held is not None:
        what._coll.held.check()
    keys, elements = what.object_keys(), iter(what) if functions else ()
    assign = {name: row.model._properties[name].__set__ for name in functions}
    with atomically(database):
        # First what may be refused.
        encoded = row.encoded([bounds[name] for name in constant], list(constant.values()))
        for element in elements:
            instance = element if isinstance(element, Model) else element.root
            # All see the object as it was.
            for name, value in [(name, function(element)) for name, function in functions.items()]:
                assign[name](instance, value)
        if constant:
            database._realm.rows_set(
                row.class_id, keys, prop_array([bounds[name].info.id for name in constant]), encoded)
    return len(keys)


def _is_function(value: Any) -> bool:
    return callable(value) and not isinstance(value, (type, Model))


# ------------------------------------------------------------------------------------------------ many at once


def insert_columns(
    database: AnyDatabase, model: type[Model], columns: Mapping[str, Any], policy: str
) -> array[int]:
    """One call of the library, unless values of mixed properties need others, or something is started here."""
    database._check_task()
    row: Row = database._row_of(model)
    try:
        return _started(database, row, columns, policy)
    except errors.Error as error:
        if error.row_index is not None:
            errors.in_row(error, error.row_index)
        raise


def _started(database: AnyDatabase, row: Row, columns: Mapping[str, Any], policy: str) -> array[int]:
    columns = {name: list(values) if row.bound(name).type == MIXED else values for name, values in columns.items()}
    # Links are given as keys or as objects that have one.
    if row.model._starts():
        with atomically(database):
            props, made, _kept = _encoded_columns(database, row, columns)
            # Converters may have added some.
            new = _first_unused(database, row.class_id)
            keys = _insert(database, row, props, made, policy_flags(policy))
            _rules.start(row, dict.fromkeys(key for key in keys if key >= new), columns)
            return keys
    if any(row.bound(name).type == MIXED and needs_others(values) for name, values in columns.items()):
        with atomically(database):
            return _inserted(database, row, columns, policy)
    return _inserted(database, row, columns, policy)


def _inserted(database: AnyDatabase, row: Row, columns: Mapping[str, Any], policy: str) -> array[int]:
    props, made, _kept = _encoded_columns(database, row, columns)
    return _insert(database, row, props, made, policy_flags(policy))


def _encoded_columns(
    database: AnyDatabase, row: Row, columns: Mapping[str, Any]
) -> tuple[list[int], list[Column], list[Values]]:
    """Properties, their columns, and what lives as long as these."""
    props, made = [], []
    kept: list[Values] = []
    for name, values in columns.items():
        bound = row.bound(name)
        if not bound.is_plain:
            raise errors.WrongTypeError(f"{row.model.__name__}.{name} is a collection, which a batch cannot hold",
                                        property_name=name)
        try:
            if bound.converter is not None:
                if is_buffer(values) and not isinstance(bound.converter, EnumConverter):
                    values = bound.converter.from_array(values)
                else:
                    values = _converted(bound.converter, values)
            if bound.type == MIXED:
                kept.append(database._encoded(values, MIXED))
                made.append(mixed_column(kept[-1]))
            else:
                made.append(column(values, bound.type, partial(database._key_of, target=bound.info.target)))
        except errors.Error as error:
            row.name_in(error, name)
            raise
        props.append(bound.info.id)
    return props, made, kept


def _converted(converter: Converter[Any], values: Iterable[Any]) -> list[Any]:
    made: list[Any] = []
    try:
        for value in values:
            made.append(converter.stored(value))
    except errors.Error as error:
        error.row_index = len(made)
        raise
    return made


def _insert(
    database: AnyDatabase, row: Row, props: Sequence[int], columns: Sequence[Column], flags: int
) -> array[int]:
    counts = {each.length for each in columns}
    if len(counts) > 1:
        raise errors.InvalidArgumentError(f"the columns have different lengths: {sorted(counts)}")
    count = counts.pop() if counts else 0
    keys: array[int] = array("q")
    if count:
        keys = database._realm.insert_columns(row.class_id, props, columns, count, flags)
    return keys


def _first_unused(database: AnyDatabase, class_id: int) -> int:
    """A key that is above those of all objects there are; new ones get it or higher ones."""
    return database._realm.last_key(class_id) + 1


def insert_rows(
    database: AnyDatabase, model: type[Model], names: Sequence[str], rows: Iterable[Sequence[Any]], policy: str
) -> array[int]:
    if isinstance(names, str):
        raise errors.InvalidArgumentError("names is a list of properties; write [...] around the one")
    # Each as it is now: one of the program's sequences may have fewer values than it says.
    made = [list(row) for row in rows]
    for number, row in enumerate(made):
        if len(row) != len(names):
            raise errors.InvalidArgumentError(
                f"row {number} has {len(row)} values for {len(names)} properties", row_index=number)
    columns: Iterable[Sequence[Any]] = zip(*made) if made else ((),) * len(names)
    return insert_columns(database, model, dict(zip(names, columns)), policy)


# ------------------------------------------------------------------------------------------------ deletion


def delete(database: AnyDatabase, what: Union[Model, Collection[Any], Map[Any], Iterable[Model]]) -> int:
    database._check_task()
    if isinstance(what, Model):
        row = what._stored_row("delete")
        database._link(what)
        deleted = database._realm.row_delete(row.class_id, [what._live_key()])
        if not deleted:
            raise row._deleted()
        return deleted
    if isinstance(what, (Collection, Map)):
        coll = what._coll
        lost = coll.lost()
        if lost is None:
            return coll.delete_objects()
        class_id = coll.info().target
        return database._realm.row_delete(
            class_id, [key for key in coll.keys(0, coll.count()) if not is_lost(lost, class_id, key)])
    if isinstance(what, type) or not isinstance(what, Iterable):
        name = getattr(what, "__name__", "Person")
        raise errors.WrongTypeError(
            f"delete() takes objects or a collection of them, not {what!r:.60}; db.delete(db.objects({name})) deletes "
            "all of a class")
    by_class: dict[int, list[int]] = {}
    for instance in what:
        link = database._link(instance)
        by_class.setdefault(link.class_id, []).append(link.key)
    with atomically(database):
        return sum(database._realm.row_delete(class_id, keys) for class_id, keys in by_class.items())
