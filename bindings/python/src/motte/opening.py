"""motte.open(): a file or a database in memory, its schema, and all the ways to open."""
from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Optional, Union

from . import _callbacks
from ._config import NO_CREATE, READ_ONLY, Config, Progress, Steps
from ._logs import warns
from ._queue import Queue
from ._realm import Realm
from ._waiting import opening_ms
from .database import Database
from .migration import Migration, step
from .model import Model
from .schema import declared_schema, public_names


def open(
    path: Optional[Union[str, os.PathLike[str]]] = None,
    *,
    schema: Optional[Union[str, Sequence[type[Model]]]] = None,
    in_memory: Optional[str] = None,
    read_only: bool = False,
    create: bool = True,
    schema_version: Optional[int] = None,
    migration: Optional[Callable[[Migration], None]] = None,
    renames: Optional[Mapping[str, str]] = None,
    delete_classes: Sequence[str] = (),
    delete_if_migration_needed: bool = False,
    first_open: Optional[Callable[[Database], None]] = None,
    seed: Optional[Union[str, os.PathLike[str]]] = None,
    compact_on_launch: Optional[Callable[[int, int], bool]] = None,
    durability: Optional[str] = None,
    max_live_versions: Optional[int] = None,
    immutable: bool = False,
    lock_directory: Optional[Union[str, os.PathLike[str]]] = None,
    memory: Optional[int] = None,
    auto_compact: bool = False,
    max_file_size: Optional[int] = None,
    row_group_size: Optional[int] = None,
    progress: Optional[Progress] = None,
    encryption_key: Optional[bytes] = None,
    convert_realm_files: bool = False,
    timeout: Optional[float] = None,
    query_threads: Optional[int] = None,
) -> Database:
    """Opens or creates a database.

    `schema` is a list of model classes; what the file lacks of them is added. Without a schema, or with one as text,
    classes are made from what is stored: see `Database.model()`. `in_memory` names a store without a file, shared in
    this process. `create=False` refuses to make a new file; `read_only` forbids every change; `immutable` is for a
    medium that nobody can write.

    A `schema_version` above the file's migrates it: properties keep their values under the names in `renames`
    (`{"Person.first": "name", "Human": "Person"}`), classes in `delete_classes` go, and `migration` is called with a
    `Migration`; what it raises leaves the file as it was. `progress` is called with what is done and the total or 0.
    `delete_if_migration_needed` empties the file instead. `first_open` fills a new file, in the write that makes it.

    `seed` is a file to copy if there is none at the path. `compact_on_launch` is asked with the file's size and the
    bytes in use when nobody else has it open; True compacts it. `durability` is "full", "relaxed" (the last commits may
    be lost to a power cut, the file stays whole) or "none", for scratch data; what writes a file in this process names
    the same. Beginning a write raises BusyError while
    more than `max_live_versions` are shown. `lock_directory` is for the files that processes share, the same for
    everybody. `memory` is how many bytes stored data may take in memory, 65536 or more, for all who have the file open
    in this process: that of the first. If it is not given, it is what the environment variable MOTTE_MEMORY says, or
    an eighth of the machine's memory. `auto_compact`: commits also move up to 1 MB from the end of the file to free
    pages before it, while more than half of the file, and 4 MB, are free. `max_file_size` is the most bytes the file
    may grow to by what is added; writes that make it no fuller may pass it, so that deleting works in a full file.
    `row_group_size`, 1 to 65536, is how many rows of a class a new file stores together; fewer make it
    larger, and cheaper to change one of many values. Classes with wide values get 480 where this is more.
    `timeout` is how many seconds opening waits for others, 30 if it is not given: for who opens, compacts or deletes
    the file, and for a writer where the schema has to be changed. A negative one waits for ever.
    `query_threads` is how many threads a query that goes through many rows may use, the one that asks among them; 1: no
    other. If it is not given, as many as there are processors, and at most 4.
    `encryption_key`, 64 bytes, encrypts a new file and opens one that is; another key is a `WrongKeyError`.
    `convert_realm_files`: where there is a Realm file at the path, it is converted as by `convert()` on the first
    opening, `app.realm` to `app.motte` beside it, and that is opened then and later. The Realm file stays as it is.
    """
    if (path is None) == (in_memory is None):
        raise TypeError("open() takes either a path or in_memory='name'")
    classes, native = declared_schema(schema)
    options: dict[str, Any] = {
        "schema_version": schema_version, "delete_if_migration_needed": delete_if_migration_needed or None,
        "seed_path": None if seed is None else os.fspath(seed), "durability": durability,
        "max_live_versions": max_live_versions, "immutable": immutable or None,
        "lock_directory": None if lock_directory is None else os.fspath(lock_directory), "memory": memory,
        "auto_compact": auto_compact or None,
        "max_file_size": max_file_size, "short_views": True, "row_group_size": row_group_size,
        "query_threads": query_threads,
        "open_timeout": opening_ms(timeout), "convert_realm_files": convert_realm_files or None,
    }
    _callbacks.checked(first_open, "first_open", optional=True)
    _callbacks.checked(migration, "migration", optional=True)
    steps = Steps(
        compact=compact_on_launch,
        first_open=None if first_open is None else _filling(first_open, classes),
        migrate=None if migration is None else step(migration, classes),
        progress=progress, renames=renames or {}, delete_classes=delete_classes)
    queue = Queue()
    realm = Realm.open(Config(
        path, in_memory, READ_ONLY * read_only | NO_CREATE * (not create), native, queue, options, steps,
        encryption_key, public_names(classes or ())))
    try:
        if threading.current_thread() is threading.main_thread():
            realm.let_signals_in()
        info = realm.info()
        if info.warning is not None and not warns():
            import logging

            logging.getLogger("motte").warning("%s: %s", info.path, info.warning)
        return Database(realm, queue, classes)
    except BaseException:
        realm.close()
        raise


def _filling(function: Callable[[Database], Any],
             classes: Optional[Sequence[type[Model]]]) -> Callable[[Any], None]:
    def fill(handle: Any) -> None:
        _callbacks.check_done(function(Database(Realm(handle), None, classes)), "what fills a new file")
    return fill
