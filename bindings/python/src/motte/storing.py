"""What a Database does with objects in the open write: new ones, changed ones, many at once, deletion."""
from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, Union, cast

from . import errors, loose
from ._atomic import atomic
from ._columns import Column, column, mixed_column
from ._convert import MIXED, Values
from ._members import checked_member
from .loose import policy_flags
from .maps import Map
from .model import EmbeddedModel, Model
from .results import Collection
from .schema import Row, collection

if TYPE_CHECKING:
    from .database import Database

M = TypeVar("M", bound=Model)


class Storing:
    @atomic
    def add(self, instance: M, *, update: bool = False) -> M:
        """Stores a new object, and the new objects it links to; gives it back, stored.

        With `update`, an object whose primary key exists takes over that one and assigns its values, as upsert() does
        with the policy "all"."""
        db = cast("Database", self)
        db._check_task()
        if not isinstance(instance, Model):
            raise errors.WrongTypeError(f"add() takes an object of a model class, not {instance!r:.60}")
        if isinstance(instance, EmbeddedModel):
            raise errors.InvalidArgumentError(
                f"a {type(instance).__name__} is embedded: assign it to a property of its parent",
                class_name=type(instance).__name__)
        db._add_loose([instance], "all" if update else "error")
        return instance

    @atomic
    def upsert(self, instance: M, *, policy: str = "modified") -> M:
        """Stores an object, or takes over the one with its primary key; so for the new objects it links to.

        Policies: "all" assigns every value; "modified" only those that differ, and only those are reported to
        observers; "error" is add()."""
        db = cast("Database", self)
        db._check_task()
        if not isinstance(instance, Model):
            raise errors.WrongTypeError(f"upsert() takes an object of a model class, not {instance!r:.60}")
        if not any(declared.field.primary_key for declared in instance._declared().values()):
            raise errors.NoPrimaryKeyError(
                f"{type(instance).__name__} has no primary key to be found by", class_name=type(instance).__name__)
        policy_flags(policy)
        db._add_loose([instance], policy)
        return instance

    @atomic
    def upsert_all(self, instances: Iterable[M], *, policy: str = "modified") -> list[M]:
        """upsert() for many."""
        db = cast("Database", self)
        return [db.upsert(instance, policy=policy) for instance in instances]

    @atomic
    def create_or_update(self, model: type[M], *, policy: str = "modified", **values: Any) -> M:
        """The object with the primary key among `values`, new or not, with these values; others stay as they are."""
        db = cast("Database", self)
        db._check_task()
        row = db._row_of(model)
        plain = {name: value for name, value in values.items() if row.bound(name).declared.is_plain}
        bounds = [row.bound(name) for name in plain]
        encoded = row.encoded(bounds, list(plain.values()))
        key, is_new = db._realm.row_create(
            row.class_id, [bound.info.id for bound in bounds], encoded, policy_flags(policy))
        if is_new and db._write is not None:
            db._write._made(row.class_id, key)
        for name, value in values.items():
            if name not in plain:
                bound = row.bound(name)
                place = collection(db, db._realm.row_coll(row.class_id, key, bound.info.id), bound.declared)
                place.assign(value, only_differences=policy == "modified")
        made: M = db._object(row.class_id, key)
        return made

    @atomic
    def add_all(self, instances: Iterable[M], *, update: bool = False) -> list[M]:
        """add() for many, fast where they are new, of one class, and without lists."""
        db = cast("Database", self)
        db._check_task()
        made = list(instances)
        if not update and loose.add_as_batch(db, made):
            return made
        db._add_loose(made, "all" if update else "error")
        return made

    @atomic
    def update(self, instance: M, **values: Any) -> M:
        """Assigns several properties at once, all or none; gives the object back. Lists are assigned by themselves."""
        db = cast("Database", self)
        db._check_task()
        row = instance._stored_row("update")
        bounds = [row.bound(name) for name in values]
        for bound in bounds:
            if not bound.declared.is_plain:
                raise errors.WrongTypeError(f"{row.model.__name__}.{bound.info.name} is a collection; assign it by "
                                            "itself", property_name=bound.info.name)
        encoded = row.encoded(bounds, list(values.values()))
        db._realm.row_set(row.class_id, db._link(instance).key, [bound.info.id for bound in bounds], encoded)
        return instance

    @atomic
    def insert_columns(self, model: type[Model], columns: Mapping[str, Any], *, policy: str = "error") -> array[int]:
        """Many new objects of one class from one sequence per property: lists, arrays, NumPy arrays. All or none.

        Links are given as objects or as their keys. Gives the keys of the objects, in order. With a policy of
        upsert(), rows whose primary key exists are assigned to those objects."""
        db = cast("Database", self)
        db._check_task()
        row = db._row_of(model)
        props, made = [], []
        kept: list[Values] = []
        for name, values in columns.items():
            bound = row.bound(name)
            if not bound.declared.is_plain:
                raise errors.WrongTypeError(f"{model.__name__}.{name} is a collection, which a batch cannot hold",
                                            property_name=name)
            try:
                if bound.declared.enum is not None:
                    values = [checked_member(bound.declared.enum, value) for value in values]
                if bound.declared.type == MIXED:
                    kept.append(db._encoded(list(values), [MIXED] * len(values)))
                    made.append(mixed_column(kept[-1]))
                else:
                    made.append(column(values, bound.declared.type, db._key_of))
            except errors.Error as error:
                raise row.named(error, name)
            props.append(bound.info.id)
        return db._insert(row, props, made, policy_flags(policy))

    def _insert(self, row: Row, props: Sequence[int], columns: Sequence[Column], flags: int) -> array[int]:
        db = cast("Database", self)
        counts = {each.length for each in columns}
        if len(counts) > 1:
            raise errors.InvalidArgumentError(f"the columns have different lengths: {sorted(counts)}")
        count = counts.pop() if counts else 0
        keys: array[int] = array("q")
        if count:
            new = db._first_unused(row.class_id) if flags else 0
            keys = db._realm.insert_columns(row.class_id, props, columns, count, flags)
            made = [key for key in keys if key >= new] if flags else keys
            if db._write is not None and made:
                db._write._made(row.class_id, min(made))
        return keys

    def _first_unused(self, class_id: int) -> int:
        """A key that is above those of all objects there are; new ones get it or higher ones."""
        db = cast("Database", self)
        objects = db._realm.class_all(class_id)
        count = objects.count()
        return objects.keys(count - 1, 1)[0] + 1 if count else 0

    @atomic
    def insert_rows(self, model: type[Model], names: Sequence[str], rows: Iterable[Sequence[Any]], *,
                    policy: str = "error") -> array[int]:
        """insert_columns() from rows of values."""
        db = cast("Database", self)
        made = list(rows)
        for number, row in enumerate(made):
            if len(row) != len(names):
                raise errors.InvalidArgumentError(
                    f"row {number} has {len(row)} values for {len(names)} properties", row_index=number)
        columns: Iterable[Sequence[Any]] = zip(*made) if made else ((),) * len(names)
        return db.insert_columns(model, dict(zip(names, columns)), policy=policy)

    @atomic
    def delete(self, what: Union[Model, Collection[Any], Iterable[Model]]) -> int:
        """Deletes an object, all objects of a collection, or several objects; tells how many there were."""
        db = cast("Database", self)
        db._check_task()
        if isinstance(what, Model):
            row = what._stored_row("delete")
            db._link(what)
            deleted = db._realm.row_delete(row.class_id, [what._live_key()])
            if not deleted:
                raise row._deleted()
            return deleted
        if isinstance(what, (Collection, Map)):
            return what._coll.delete_objects()
        by_class: dict[int, list[int]] = {}
        for instance in what:
            link = db._link(instance)
            by_class.setdefault(link.class_id, []).append(link.key)
        return sum(db._realm.row_delete(class_id, keys) for class_id, keys in by_class.items())

    def _add_loose(self, instances: Iterable[Any], policy: str = "error") -> None:
        loose.add_loose(cast("Database", self), instances, policy)

    def _embed(self, instance: Any, place: Callable[[], int]) -> None:
        loose.embed(cast("Database", self), instance, place)
