# The module in C that does what is done per object; its sources are in bindings/python/native.
from collections.abc import Awaitable, Iterator
from types import TracebackType
from typing import Any, Optional, final

from typing_extensions import disjoint_base

#: Name, property id, type, flags, class of links, place in the plan, class of an enum, its members by value.
Slot = tuple[str, int, int, int, int, int, Optional[type[Any]], Optional[dict[Any, Any]]]

@final
class Plan:
    def __new__(cls, entries: tuple[tuple[str, int, Any], ...], /) -> Plan: ...

@disjoint_base
class Object:
    _key: int
    def __init__(self, **values: Any) -> None: ...

@disjoint_base
class Property:
    name: str
    is_computed: bool
    def __get__(self, instance: Any, owner: Optional[type[Any]] = None, /) -> Any: ...
    def __set__(self, instance: Any, value: Any, /) -> None: ...
    def __delete__(self, instance: Any, /) -> None: ...

@disjoint_base
class Guard:
    @property
    def write(self) -> Any: ...

@disjoint_base
class Core:
    _write: Any
    _seen: Any
    def _guarded_by(self, guard: Guard, /) -> None: ...
    _stored: Any
    _rows: Any
    _class_ids: Any

@disjoint_base
class Write:
    _task: Any
    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], traceback: Optional[TracebackType], /
    ) -> None: ...
    def __aexit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], traceback: Optional[TracebackType], /
    ) -> Awaitable[None]: ...

@disjoint_base
class Seen:
    is_open: bool

class Block:
    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], traceback: Optional[TracebackType], /
    ) -> None: ...

@disjoint_base
class Row:
    database: Any
    model: Any
    @property
    def class_id(self) -> int: ...
    def _bind(
        self, database: Any, realm: int, class_id: int, model: type[Any], flags: int, slots: tuple[Slot, ...]
    ) -> None: ...

@final
class Cursor(Iterator[Any]):
    def __length_hint__(self) -> int: ...
    def __next__(self) -> Any: ...

def configure(
    *, unknown: Any = ..., copied: Any = ..., current_task: Any = ..., decoders: dict[int, Any] = ...,
    words: Any = ..., error: type[BaseException] = ..., datetime: Any = ..., timedelta: Any = ..., epoch: Any = ...,
    classes: dict[int, type[Any]] = ..., most_values: int = ...,
) -> None: ...
def claim(instance: Any, row: Any, key: int, seen: Any) -> bool: ...
def add(database: Any, instance: Any) -> bool: ...
def add_all(database: Any, instances: list[Any]) -> bool: ...
def find(database: Any, model: type[Any] | str, primary_key: Any) -> Any: ...
def shown(instance: Any) -> Any: ...
def objects_of(row: Any, address: int, first: int, count: int) -> Any: ...
def iterated(row: Any, address: int) -> Any: ...
def element_of(row: Any, address: int, index: int) -> Any: ...
def unraised(error: BaseException, where: Any, /) -> None: ...
def lent(function: int, cells: int, count: int, words: int, /, *arguments: int) -> tuple[int, list[bytes | None]]: ...
def last_error(
    status: int, /,
) -> tuple[int, bytes, bytes | None, bytes | None, bytes | None, int, int] | None: ...
