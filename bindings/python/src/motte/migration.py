"""A migration: the objects as they were beside the objects as they become.

It lives as long as the function given as `migration=` to `motte.open()` runs. `old` shows the file as it was and never
changes; `new` has the declared schema and is in a write that ends with the migration. An object keeps its key, so both
of a pair are the same row. What the function raises leaves the file as it was and comes out of open().
"""
from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Optional, Union

from . import _callbacks, _frozen, errors
from ._coll import object_link
from ._convert import utf8
from ._ffi import NULL, lib, sized
from ._realm import Realm
from .database import Database
from .model import Model

#: A class, or the name of one.
ClassName = Union[str, type[Model]]


class Migration:
    """What the `migration=` function of `motte.open()` gets."""

    def __init__(self, handle: Any, old: Any, new: Any, classes: Optional[Sequence[type[Model]]]) -> None:
        self._handle = handle
        self._old_realm, self._new_realm, self._classes = Realm(old), Realm(new), classes
        self._old: Optional[Database] = None
        self._new: Optional[Database] = None
        details = sized("motte_migration_details")
        errors.check(lib.motte_migration_info(handle, details))
        self._versions = int(details.old_version), int(details.new_version)

    @property
    def old_version(self) -> int:
        """The schema version of the file."""
        return self._versions[0]

    @property
    def new_version(self) -> int:
        """The one given to open()."""
        return self._versions[1]

    @property
    def old(self) -> Database:
        """The file as it was; its classes are made from what is stored."""
        if self._old is None:
            self._old = Database(self._old_realm, None, None, _frozen.Origin(self.new, self.new.query_timeout))
        return self._old

    @property
    def new(self) -> Database:
        """The file as it becomes, in a write. Ask again after a rename or a deletion of a class."""
        if self._new is None:
            self._new = Database(self._new_realm, None, self._classes)
        return self._new

    def enumerate(self, model: ClassName) -> Iterator[tuple[Any, Any]]:
        """Pairs of old and new object, of each that was there before; None where only the other side has the class.

        The class goes by its new name. Objects that were deleted on the way are passed over."""
        # An object has the same key on both sides.
        keys, sides = array("q"), bytearray()
        tables = [0, 0]

        def visit(*pair: Any) -> None:
            key = there = 0
            for side, thing in enumerate(pair):
                if thing != NULL:
                    tables[side], key = object_link(thing)
                    there |= 1 << side
            keys.append(key)
            sides.append(there)
        content = _name(model)
        _callbacks.check_calling(lib.motte_migration_enumerate(
            self._handle, content, len(content), lib.motte_python_pair, _callbacks.passed(visit),
            lib.motte_python_free))
        old, new = self.old, self.new
        for key, there in zip(keys, sides):
            if there & 2 and not self._new_realm.row_exists(tables[1], key):
                continue
            yield (old._object(tables[0], key) if there & 1 else None,
                   new._object(tables[1], key) if there & 2 else None)

    def rename(self, model: ClassName, old_name: str, new_name: str) -> None:
        """The values of a property go by another name. Rename before you change objects: then nothing is copied. Not in
        a block `with migration.new.write():`, which could not undo it."""
        texts = [_name(model), utf8(old_name), utf8(new_name)]
        errors.check(lib.motte_migration_rename_prop(
            self._handle, *[part for text in texts for part in (text, len(text))]))
        self._new = None

    def rename_class(self, old_name: str, new_name: ClassName) -> None:
        """The objects of a class become those of another one; only before objects are changed."""
        first, second = utf8(old_name), _name(new_name)
        errors.check(lib.motte_migration_rename_class(self._handle, first, len(first), second, len(second)))
        self._new = None

    def delete_class(self, name: ClassName) -> bool:
        """Deletes the objects of a class, and the class where it is not declared; False if the file has none."""
        content = _name(name)
        status = errors.check(lib.motte_migration_delete_class(self._handle, content, len(content)))
        self._new = None
        return bool(status == lib.MOTTE_OK)

    def __repr__(self) -> str:
        return f"<Migration from {self.old_version} to {self.new_version}>"


def _name(model: ClassName) -> bytes:
    return utf8(model if isinstance(model, str) else model._stored_name)


def step(
    function: Callable[[Migration], Any], classes: Optional[Sequence[type[Model]]],
) -> Callable[[Any, Any, Any], None]:
    """The function as a config takes it."""
    def migrate(handle: Any, old: Any, new: Any) -> None:
        _callbacks.check_done(function(Migration(handle, old, new, classes)), "a migration")
    return migrate
