"""Whole files: copies, compaction, verification, salvage, statistics, plans, deletion.

What is done with an open database are methods of it. The functions here take the path of a file that need not be open,
and the `encryption_key` of an encrypted one. `progress` is a function of how much is done and how much there is in all
(0 while nobody knows); what it raises stops the work, which leaves nothing behind.
"""
from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Optional, Union

from . import errors
from ._config import READ_ONLY, Config, Progress, Steps
from ._ffi import ffi, lib, sized
from ._realm import Realm
from .model import Model
from .schema import declared_schema

Path = Union[str, os.PathLike[str]]


class Report(NamedTuple):
    """What a verification or a salvage found; a salvage counts objects only."""

    #: Classes looked at.
    classes: int
    #: Objects that are whole.
    objects: int
    #: Blocks of values of one property.
    chunks: int
    #: Entries of all indexes.
    index_entries: int
    #: Records of the change log, which observers are served from.
    log_records: int
    #: How many problems there are; the first of them are in `problems`.
    problem_count: int
    #: What is wrong, or was lost, in sentences.
    problems: list[str]

    @property
    def is_sound(self) -> bool:
        """Whether no problem was found."""
        return self.problem_count == 0

    @classmethod
    def _read(cls, handle: Any) -> Report:
        details, count = sized("motte_report_details"), ffi.new("size_t *")
        errors.check(lib.motte_report_info(handle, details))
        room = int(details.problem_count)
        texts = ffi.new("motte_str[]", room)
        errors.check(lib.motte_report_problems(handle, texts, room, count))
        problems = [bytes(ffi.buffer(each.data, each.size)).decode() for each in list(texts)[:count[0]]]
        return cls(int(details.class_count), int(details.object_count), int(details.chunk_count),
                   int(details.index_entry_count), int(details.log_record_count), room, problems)


class Compaction(NamedTuple):
    """How large a file was, and is."""

    #: Bytes of the file before.
    bytes_before: int
    #: Bytes of the file after.
    bytes_after: int


class OnlineCompaction(NamedTuple):
    """What a compaction beside others has done."""

    #: Bytes of the file before.
    bytes_before: int
    #: Bytes of the file after.
    bytes_after: int
    #: Bytes that got another place in the file.
    bytes_moved: int
    #: Bytes that older versions alone need, which somebody shows.
    bytes_held: int


class ClassSpace(NamedTuple):
    """The bytes of one class in a file."""

    #: How many there are.
    objects: int
    #: Bytes of their values.
    chunk_bytes: int
    #: Bytes of lists that lie by themselves.
    long_list_bytes: int
    #: Bytes of the indexes.
    index_bytes: int
    #: Bytes of texts and data that lie by themselves.
    large_value_bytes: int


class Space(NamedTuple):
    """Where the bytes of a file are."""

    #: The size of the file.
    file_bytes: int
    #: Free, or free as soon as nobody shows the version that needs it.
    free_bytes: int
    #: Of the change log, which observers are served from.
    log_bytes: int
    #: How many records that has.
    log_records: int
    #: The schema, and what keeps the rest together.
    other_bytes: int
    #: By class.
    classes: dict[str, ClassSpace]


class Reader(NamedTuple):
    """A version that a process shows, which keeps its pages from being used again."""

    #: Its process id.
    process: int
    #: Whether that is this process.
    is_this_process: bool
    #: The version it shows.
    version: int
    #: How many newer ones there are.
    versions_behind: int
    #: Since when there has been a newer version; None for the newest, and where nobody knows.
    behind_seconds: Optional[float]


class Plan(NamedTuple):
    """What opening would do to the schema of a file."""

    #: "nothing", "create", "add", "migrate" or "reset".
    action: str
    #: The schema version of the file.
    stored_version: int
    #: The one given.
    declared_version: int
    #: What would change, in sentences.
    text: str

    def __str__(self) -> str:
        return self.text


def space_of(realm: Realm, progress: Optional[Progress]) -> Space:
    numbers, classes = realm.space(progress)
    names = {class_id: realm.class_info(class_id).name for class_id, *_ in classes}
    file_bytes, free_bytes, log_bytes, log_records, other_bytes = numbers
    return Space(file_bytes, free_bytes, log_bytes, log_records, other_bytes,
                 {names[class_id]: ClassSpace(*counts) for class_id, *counts in classes})


def readers_of(realm: Realm) -> list[Reader]:
    return [Reader(process, bool(flags & lib.MOTTE_READER_THIS_PROCESS), version, behind,
                   nanoseconds / 1e9 if nanoseconds >= 0 else None)
            for process, flags, version, behind, nanoseconds in realm.readers()]


def compact_online(realm: Realm, max_bytes: Optional[int], progress: Optional[Progress]) -> OnlineCompaction:
    if max_bytes is not None and max_bytes < 1:
        raise errors.InvalidArgumentError(f"max_bytes is {max_bytes}; 1 or more is possible")
    return OnlineCompaction(*realm.compact_online(max_bytes or 0, progress))


def copy(realm: Realm, path: Path, progress: Optional[Progress], key: Union[bytes, str, None]) -> None:
    """With "same", the key that the file has."""
    if isinstance(key, str):
        realm.copy(os.fsencode(path), progress)
    else:
        realm.copy_with_key(os.fsencode(path), key, progress)


# ------------------------------------------------------------------------------------------------ by path


def _config(path: Path, lock_directory: Optional[Path], flags: int = 0, key: Optional[bytes] = None) -> Config:
    return Config(path, flags=flags, options={"lock_directory": _text(lock_directory)}, encryption_key=key)


def _text(path: Optional[Path]) -> Optional[str]:
    return None if path is None else os.fspath(path)


def exists(path: Path) -> bool:
    """Whether there is something at the path."""
    return _config(path, None).exists()


def delete(path: Path, *, lock_directory: Optional[Path] = None) -> bool:
    """Deletes a file and its sidecar; False if there is none. BusyError if anybody has it open."""
    return _config(path, lock_directory).delete()


def schema_version(
    path: Path, *, lock_directory: Optional[Path] = None, encryption_key: Optional[bytes] = None,
) -> Optional[int]:
    """The schema version of a file, None if there is none."""
    return _config(path, lock_directory, key=encryption_key).schema_version()


def verify(
    path: Path, *, progress: Optional[Progress] = None, lock_directory: Optional[Path] = None,
    encryption_key: Optional[bytes] = None,
) -> Report:
    """Opens a file for reading, looks at everything in it, and says what is wrong."""
    realm = Realm.open(_config(path, lock_directory, READ_ONLY, encryption_key))
    try:
        return Report._read(realm.verify(progress))
    finally:
        realm.close()


def compact(
    path: Path, *, progress: Optional[Progress] = None, lock_directory: Optional[Path] = None,
    encryption_key: Optional[bytes] = None,
) -> Compaction:
    """Rewrites a file that nobody has open without its free pages."""
    return Compaction(*_config(path, lock_directory, key=encryption_key).compact(progress))


def salvage(
    path: Path, output: Path, *, progress: Optional[Progress] = None, lock_directory: Optional[Path] = None,
    encryption_key: Optional[bytes] = None,
) -> Report:
    """Writes every object of a damaged file that can be read to `output`, a line of JSON each; says what was lost."""
    _, handle = _config(path, lock_directory, key=encryption_key).salvage(os.fsencode(output), progress)
    return Report._read(handle)


def salvaged(
    path: Path, *, progress: Optional[Progress] = None, lock_directory: Optional[Path] = None,
    encryption_key: Optional[bytes] = None,
) -> tuple[str, Report]:
    """salvage() with the lines in memory."""
    lines, handle = _config(path, lock_directory, key=encryption_key).salvage(None, progress)
    return lines or "", Report._read(handle)


def plan(
    path: Path, schema: Union[str, Sequence[type[Model]]], *, schema_version: Optional[int] = None,
    renames: Optional[Mapping[str, str]] = None, delete_classes: Sequence[str] = (),
    delete_if_migration_needed: bool = False, lock_directory: Optional[Path] = None,
    encryption_key: Optional[bytes] = None,
) -> Plan:
    """What motte.open() with these arguments would do to a file's schema, without doing it."""
    config = Config(
        path, schema=declared_schema(schema)[1],
        options={"schema_version": schema_version, "lock_directory": _text(lock_directory),
                 "delete_if_migration_needed": delete_if_migration_needed or None},
        steps=Steps(renames=renames or {}, delete_classes=delete_classes), encryption_key=encryption_key)
    return Plan(*config.plan())
