"""Object ids: twelve bytes that ascend with the time they were made."""
from __future__ import annotations

import functools
from datetime import datetime, timedelta, timezone
from typing import Any, Union

from . import errors
from ._ffi import ffi, lib

_SIZE = 12


@functools.total_ordering
class ObjectId:
    """An identifier of twelve bytes: seconds since 1970, random bytes of the process, a counter.

    `ObjectId()` is a new one, above all that this process made before; `ObjectId("507f1f77bcf86cd799439011")` and
    `ObjectId(b"...")` are given ones. Ordered and hashed by their bytes."""

    __slots__ = ("_bytes",)
    __match_args__ = ("hex",)

    _bytes: bytes

    def __init__(self, value: Union[None, str, bytes, bytearray, memoryview, ObjectId] = None) -> None:
        place = ffi.new("motte_object_id *")
        if value is None:
            errors.check(lib.motte_object_id_new(place))
            content = bytes(ffi.buffer(place, _SIZE))
        elif isinstance(value, str):
            text = value.encode("utf-8", "replace")
            errors.check(lib.motte_object_id_parse(text, len(text), place))
            content = bytes(ffi.buffer(place, _SIZE))
        elif isinstance(value, ObjectId):
            content = value._bytes
        else:
            content = bytes(value)
            if len(content) != _SIZE:
                raise errors.InvalidArgumentError(f"an object id has 12 bytes, not {len(content)}")
        object.__setattr__(self, "_bytes", content)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("an ObjectId does not change")

    @property
    def hex(self) -> str:
        """24 hexadecimal digits."""
        return self._bytes.hex()

    @property
    def generation_time(self) -> datetime:
        """When it was made, to the second."""
        seconds = int.from_bytes(self._bytes[:4], "big")
        return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=seconds)

    def __bytes__(self) -> bytes:
        return self._bytes

    def __str__(self) -> str:
        return self.hex

    def __repr__(self) -> str:
        return f"ObjectId({self.hex!r})"

    def __eq__(self, other: object) -> bool:
        return self._bytes == other._bytes if isinstance(other, ObjectId) else NotImplemented

    def __lt__(self, other: object) -> bool:
        return self._bytes < other._bytes if isinstance(other, ObjectId) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._bytes)

    def __reduce__(self) -> Any:
        return (ObjectId, (self._bytes,))
