"""In what an object was seen: whether it may be gone with a write, or with a part of one, that was undone.

The keys of objects that a write makes are theirs when it is committed. When it is not, or when a part of it is undone,
another process may give them to objects of its own; this process never uses them again. So every object that is made or
read in a write knows a Seen: that of the write, or of the part of it that is undone alone, a block inside it, a call
that is all or nothing, an observer. Where that is undone, whatever was seen in it and has a higher key than all objects
that are left was made in it, and is lost. Where it is kept, the same is asked of what is around it.
"""
from __future__ import annotations

from typing import Optional

from . import _objects, errors
from ._held import AnySeen
from ._protocols import AnyDatabase


class Seen(_objects.Seen):
    """`is_open` as long as it is not known whether what was seen in it is kept."""

    __slots__ = ("around", "last_kept")

    def __init__(self, around: Optional[AnySeen]) -> None:
        self.is_open = True
        #: That of the write, or of the part, that it is a part of.
        self.around = around
        #: By class the highest key of all objects that there were when it was undone; None where it was not.
        self.last_kept: Optional[dict[int, int]] = None

    def has_lost(self, class_id: int, key: int) -> bool:
        return self.last_kept is not None and key > self.last_kept.get(class_id, -1)

    def end(self, database: AnyDatabase, is_lost: bool) -> None:
        """It is kept or undone, at this moment. What was interrupted in here can be done again."""
        # Of a database that is closed nothing can be used anyway.
        if is_lost and self.is_open and not database.closed:
            self.last_kept = {class_id: _last_key(database, class_id) for class_id in list(database._rows)}
        self.is_open = False


def _last_key(database: AnyDatabase, class_id: int) -> int:
    try:
        return database._realm.last_key(class_id)
    except errors.Error:
        # Unreadable: nothing that was seen is known to be there.
        return -1
