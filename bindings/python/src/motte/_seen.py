"""In what an object was seen: whether it may be gone with a write, or with a part of one, that was undone.

The keys of objects that a write makes are theirs when it is committed. When it is not, or when a part of it is undone,
another process may give them to objects of its own; this process never uses them again. So every object that is made or
read in a write knows a Seen: that of the write, from where it began or where a part of it was undone last, up to where
it ends or the next part of it is undone. At that moment every object that is left is known, and whatever has a higher
key and was seen until then is lost.
"""
from __future__ import annotations

from typing import Optional

from . import _objects, errors
from ._protocols import AnyDatabase


class Seen(_objects.Seen):
    """`is_open` as long as it is not known what is lost of what was seen in it."""

    __slots__ = ("last_kept", "rest")

    def __init__(self) -> None:
        self.is_open = True
        #: By class the highest key of all objects that there were when it ended; None where nothing was undone.
        self.last_kept: Optional[dict[int, int]] = None
        #: The rest of the write, which may take more of what was seen along.
        self.rest: Optional[Seen] = None

    def has_lost(self, class_id: int, key: int) -> bool:
        return self.last_kept is not None and key > self.last_kept.get(class_id, -1)

    def end(self, database: AnyDatabase, is_lost: bool) -> None:
        """The write has ended, at this moment. What was interrupted in here can be done again."""
        # Of one that is closed nothing can be used anyway.
        if is_lost and self.is_open and not database.closed:
            self.last_kept = _last_keys(database)
        self.is_open = False


def part_undone(database: AnyDatabase) -> None:
    """Something of the open write was undone, at this moment."""
    seen = database._seen
    if seen is not None:
        seen.last_kept, seen.rest = _last_keys(database), Seen()
        seen.is_open = False
        database._seen = seen.rest


def _last_keys(database: AnyDatabase) -> dict[int, int]:
    return {class_id: _last_key(database, class_id) for class_id in list(database._rows)}


def _last_key(database: AnyDatabase, class_id: int) -> int:
    try:
        return database._realm.last_key(class_id)
    except errors.Error:
        # Unreadable: nothing that was seen is known to be there.
        return -1
