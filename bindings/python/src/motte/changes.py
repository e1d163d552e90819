"""Change batches: what changed in a file between two versions, to be applied to another file.

    batch = db.changes_since(0)          # everything
    other.apply(batch)
    later = db.changes_since(batch.to_version)

A batch is bytes, complete in itself; `ChangeBatch(data)` makes one of bytes that were stored or sent.
"""
from __future__ import annotations

import datetime
import uuid
from typing import Any, Callable, NamedTuple, Optional, Union

from . import _callbacks, errors
from ._convert import utf8
from ._ffi import NULL, ffi, lib, sized
from ._realm import Realm

_UNCHANGED = 4
_NOT_FOUND = 1
_NOTHING = 2**64 - 1


class ChangeBatch:
    """What changed in a file after `from_version` up to `to_version`. `bytes(batch)` are to be stored or sent."""

    __slots__ = ("data", "origin", "from_version", "to_version", "is_whole", "is_empty", "is_patch", "is_reversible",
                 "is_difference", "committed_at")

    def __init__(self, data: Union[bytes, bytearray, memoryview]) -> None:
        #: The bytes themselves.
        self.data: bytes = _bytes(data)
        details = sized("motte_changes_batch_details")
        errors.check(lib.motte_changes_batch_info(self.data, len(self.data), details))
        flags = int(details.flags)
        #: The file that it was read from; `Database.origin` of it.
        self.origin: uuid.UUID = _uuid(int(details.origin_high), int(details.origin_low))
        #: Changes up to here are not in it.
        self.from_version: int = int(details.from_version)
        #: Changes up to here are.
        self.to_version: int = int(details.to_version)
        #: Whether it has everything that there was, not only changes.
        self.is_whole: bool = bool(flags & 1)
        #: Whether nothing changed.
        self.is_empty: bool = bool(flags & 2)
        #: Whether it is an inverse: for its origin, or for a copy that has just these changes.
        self.is_patch: bool = bool(flags & 4)
        #: Whether it says what was there before, so that it has an inverse().
        self.is_reversible: bool = bool(flags & 8)
        #: Whether it leads from one file to another: see Database.changes_to().
        self.is_difference: bool = bool(flags & 16)
        #: When `to_version` was committed, if that is known.
        self.committed_at: Optional[datetime.datetime] = _time(int(details.wall_time_ns))

    def inverse(self) -> ChangeBatch:
        """The batch that leads back, for undo and redo: applied to the file it was read from, at any time, or to a copy
        that has just these changes. Of batches with `is_reversible`; InvalidArgumentError of others."""
        buffer = ffi.new("motte_buf *")
        errors.check(lib.motte_changes_batch_inverse(self.data, len(self.data), buffer))
        return _taken(buffer)

    def __bytes__(self) -> bytes:
        return self.data

    def __len__(self) -> int:
        return len(self.data)

    def __eq__(self, other: object) -> bool:
        return self.data == other.data if isinstance(other, ChangeBatch) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.data)

    def __reduce__(self) -> Any:
        return (ChangeBatch, (self.data,))

    def __repr__(self) -> str:
        kind = "everything" if self.is_whole else f"changes after version {self.from_version}"
        return f"<ChangeBatch of {self.origin}: {kind} to {self.to_version}, {len(self.data)} bytes>"


def _uuid(high: int, low: int) -> uuid.UUID:
    return uuid.UUID(bytes=high.to_bytes(8, "big") + low.to_bytes(8, "big"))


def _bytes(data: Union[bytes, bytearray, memoryview]) -> bytes:
    # bytes(5) would be five zeros.
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise errors.WrongTypeError(f"a batch is a ChangeBatch or its bytes, not {type(data).__name__}")
    return bytes(data)


def _numbers(origin: uuid.UUID) -> tuple[int, int]:
    if not isinstance(origin, uuid.UUID):
        raise errors.WrongTypeError(f"an origin is a uuid.UUID, as Database.origin is, not {type(origin).__name__}")
    return int.from_bytes(origin.bytes[:8], "big"), int.from_bytes(origin.bytes[8:], "big")


def _time(nanoseconds: int) -> Optional[datetime.datetime]:
    if not nanoseconds:
        return None
    start = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
    return start + datetime.timedelta(microseconds=nanoseconds // 1000)


def read(realm: Realm, version: int) -> ChangeBatch:
    buffer = ffi.new("motte_buf *")
    errors.check(lib.motte_changes_batch_read(realm.handle, _version(version), buffer))
    return _taken(buffer)


def between(realm: Realm, before: Realm) -> ChangeBatch:
    buffer = ffi.new("motte_buf *")
    errors.check(lib.motte_changes_batch_between(realm.handle, before.handle, buffer))
    return _taken(buffer)


def difference(realm: Realm, other: Realm) -> ChangeBatch:
    buffer = ffi.new("motte_buf *")
    errors.check(lib.motte_changes_batch_difference(realm.handle, other.handle, buffer))
    return _taken(buffer)


def _taken(buffer: Any) -> ChangeBatch:
    try:
        return ChangeBatch(ffi.buffer(buffer.data, buffer.size)[:])
    finally:
        lib.motte_buf_dispose(buffer)


def on_commit(realm: Realm, function: Optional[Callable[[ChangeBatch], None]], reversible: bool) -> None:
    flags = 1 if reversible else 0
    if function is None:
        errors.check(lib.motte_realm_on_commit(realm.handle, flags, ffi.NULL, ffi.NULL, ffi.NULL))
        return

    _callbacks.checked(function, "what on_commit() takes")

    def asked(data: bytes) -> None:
        _callbacks.check_done(function(ChangeBatch(data)), "what is asked before a commit")

    errors.check(lib.motte_realm_on_commit(
        realm.handle, flags, lib.motte_python_commit, _callbacks.passed(asked), lib.motte_python_free))


def apply(realm: Realm, batch: Union[ChangeBatch, bytes, bytearray, memoryview], timeout_ms: int) -> bool:
    data = batch.data if isinstance(batch, ChangeBatch) else _bytes(batch)
    status = _callbacks.check_calling(
        lib.motte_changes_batch_apply(realm.handle, data, len(data), timeout_ms))
    return status != _UNCHANGED


def origin(realm: Realm) -> uuid.UUID:
    high, low = ffi.new("uint64_t *"), ffi.new("uint64_t *")
    errors.check(lib.motte_changes_batch_origin(realm.handle, high, low))
    return _uuid(int(high[0]), int(low[0]))


def applied_version(realm: Realm, origin: uuid.UUID) -> Optional[int]:
    place = ffi.new("uint64_t *")
    status = errors.check(lib.motte_changes_batch_position(realm.handle, *_numbers(origin), place))
    return None if status == _NOT_FOUND else int(place[0])


class ChangeConsumer(NamedTuple):
    """Whoever a database keeps its change log for."""

    #: None: what keep_changes() said without a name.
    name: Optional[str]
    #: It needs all changes after this one.
    version: int
    #: Commits after it that have changed something; all of them where the log does not say.
    commits: int
    #: Whether the change log has them.
    is_kept: bool


def keep(realm: Realm, since: Optional[int], consumer: Optional[str]) -> bool:
    version = _NOTHING if since is None else _version(since)
    if consumer is None:
        _callbacks.check_calling(lib.motte_changes_batch_keep(realm.handle, version))
        return True
    name = utf8(consumer)
    status = _callbacks.check_calling(
        lib.motte_changes_batch_keep_for(realm.handle, name, len(name), version))
    return status != _NOT_FOUND


def consumers(realm: Realm) -> list[ChangeConsumer]:
    count = ffi.new("size_t *")
    errors.check(lib.motte_changes_batch_consumers(realm.handle, NULL, 0, count))
    found = ffi.new("motte_changes_consumer[]", count[0])
    errors.check(lib.motte_changes_batch_consumers(realm.handle, found, len(found), count))
    return [ChangeConsumer(None if each.name == NULL else ffi.string(each.name).decode(), int(each.version),
                           int(each.commits), bool(each.is_kept)) for each in found]


def _version(version: int) -> int:
    if not isinstance(version, int) or isinstance(version, bool):
        raise errors.WrongTypeError(f"a version is an int, not {type(version).__name__}")
    if not 0 <= version < _NOTHING:
        raise errors.InvalidArgumentError(f"{version} is no version: they count from 0")
    return version
