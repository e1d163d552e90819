"""Files of Realm (`.realm`): converted into files of Motte, or imported into an open database. They are only read.

See docs/from-realm.md for what they hold and what becomes of it.
"""
from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple, Optional, Union

from . import _callbacks, errors
from ._atomic import atomically, in_steps
from ._config import Progress
from ._ffi import NULL, ffi, lib, sized
from ._handles import out, own
from ._protocols import AnyDatabase
from ._schema import Schema
from .exchange import writing
from .maintenance import Report
from .model import Model
from .schema import declared_schema
from .unmanaged import policy_flags

Path = Union[str, os.PathLike[str]]


class ConvertedClass(NamedTuple):
    """A class of a Realm file, and what became of its objects."""

    #: Of the class.
    name: str
    #: Objects in the Realm file.
    objects: int
    #: Those that are new in the database.
    created: int
    #: Those whose primary key was there.
    updated: int
    #: How many properties the class has.
    properties: int


class ConversionNote(NamedTuple):
    """Something that is not as it is in the Realm file, and why."""

    #: Where it is.
    class_name: str
    #: None: it is about the class.
    property_name: Optional[str]
    #: How many values or objects it is about; 0 where it is about the declaration.
    occurrences: int
    #: The first object concerned, by its key in the Realm file; None where it is about the declaration.
    first_key: Optional[int]
    #: What was done instead, and why.
    reason: str
    #: All of it as a sentence.
    text: str

    def __str__(self) -> str:
        return self.text


class Conversion(NamedTuple):
    """What a conversion or an import did."""

    #: Objects that are new.
    created: int
    #: Objects that were there and were assigned to.
    updated: int
    #: By name.
    classes: dict[str, ConvertedClass]
    #: Empty where everything is exactly as in the Realm file.
    notes: list[ConversionNote]

    def __str__(self) -> str:
        lines = [f"{each.name}: {each.created + each.updated} of {each.objects} objects"
                 for each in self.classes.values()]
        return "\n".join([*lines, *map(str, self.notes)])

    @classmethod
    def _read(cls, counts: Any, report: Any) -> Conversion:
        notes = [
            ConversionNote(
                _text(each.class_name), _text(each.property_name) or None, int(each.count),
                None if each.first_key < 0 else int(each.first_key), _text(each.reason), sentence)
            for each, sentence in zip(_listed(lib.motte_report_notes, "motte_realm_file_note", report),
                                      Report._read(report).problems)]
        classes = {
            _text(each.name): ConvertedClass(
                _text(each.name), int(each.object_count), int(each.created), int(each.updated),
                int(each.property_count))
            for each in _listed(lib.motte_report_classes, "motte_realm_file_class", report)}
        return cls(int(counts.created), int(counts.updated), classes, notes)


class RealmFileSchema(NamedTuple):
    """What a Realm file declares."""

    #: The classes as schema text, which open() takes.
    text: str
    #: The schema version; 0 if the file has none.
    version: int


def convert(
    source: Path, destination: Path, *, source_key: Optional[bytes] = None, encryption_key: Optional[bytes] = None,
    schema: Union[str, Sequence[type[Model]], None] = None, strict: bool = False,
    progress: Optional[Progress] = None,
) -> Conversion:
    """Makes a new database of a Realm file (formats 20 to 24), which is only read.

    All objects of all classes come over in their order, with the schema version. Both files are read and compared value
    by value before the new one gets its name; nothing is replaced, and a failure leaves nothing behind. What cannot be
    kept as it is, is in the `notes` of the result; with `strict` it is an error, but for links that Realm does not show
    either, to objects that were deleted on another device.

    `source_key` are the 64 bytes that the Realm file is encrypted with, `encryption_key` those for the new one. A
    `schema` (model classes or text) adds what a Realm file has no names for, such as inverse properties, and what else
    is new; SchemaMismatchError says all that does not fit. `progress` counts objects twice, copied and compared.
    """
    options, kept = _options(source, source_key, declared_schema(schema)[1], strict=strict)
    counts, place = sized("motte_import_counts"), out("motte_report")
    path = os.fsencode(destination)
    key = None if encryption_key is None else _key(encryption_key)
    _callbacks.check_calling(lib.motte_convert_realm_file(
        options, path, len(path), NULL if key is None else key, 0 if key is None else len(key),
        *_callbacks.progress(progress), counts, place))
    del kept
    return Conversion._read(counts, own(place))


def realm_file_schema(path: Path, *, source_key: Optional[bytes] = None) -> RealmFileSchema:
    """The classes of a Realm file, as open() takes them before `Database.import_realm_file()`."""
    options, kept = _options(path, source_key, None)
    place, version = out("motte_schema"), ffi.new("uint64_t *")
    errors.check(lib.motte_realm_file_schema(options, place, version))
    del kept
    return RealmFileSchema(Schema(own(place)).text(), int(version[0]))


def imported(
    database: AnyDatabase, path: Path, *, source_key: Optional[bytes], policy: str, commit_every: int, resume: bool,
    strict: bool, progress: Optional[Progress],
) -> Conversion:
    database._check_task()
    options, kept = _options(path, source_key, None, strict=strict, resume=resume, policy=policy,
                             commit_every=commit_every)
    counts, place = sized("motte_import_counts"), out("motte_report")
    # What was committed on the way stays.
    with writing(database), in_steps(database) if commit_every else atomically(database):
        _callbacks.check_calling(lib.motte_import_realm_file(
            database._realm.handle, options, *_callbacks.progress(progress), counts, place))
    del kept
    return Conversion._read(counts, own(place))


def _options(
    path: Path, key: Optional[bytes], schema: Optional[Schema], *, strict: bool = False, resume: bool = False,
    policy: str = "error", commit_every: int = 0,
) -> tuple[Any, list[Any]]:
    """The struct, and what has to live as long as it is used."""
    options = sized("motte_realm_file_options")
    options.flags = lib.MOTTE_REALM_FILE_STRICT * bool(strict) | lib.MOTTE_REALM_FILE_RESUME * bool(resume)
    options.policy = policy_flags(policy)
    try:
        options.commit_every = commit_every
    except OverflowError:
        raise errors.InvalidArgumentError(f"commit_every is a number from 0 up, not {commit_every}") from None
    name = ffi.from_buffer(os.fsencode(path))
    options.path, options.path_size = ffi.cast("char *", name), len(name)
    kept: list[Any] = [name, schema]
    if key is not None:
        content = ffi.from_buffer(_key(key))
        options.key, options.key_size = ffi.cast("uint8_t *", content), len(content)
        kept.append(content)
    if schema is not None:
        options.schema = schema.handle
    return options, kept


def _key(key: bytes) -> bytes:
    # An empty one would mean none.
    if not key:
        raise errors.InvalidArgumentError("an encryption key has 64 bytes, this one 0")
    return bytes(key)


def _listed(call: Any, kind: str, report: Any) -> list[Any]:
    count = ffi.new("size_t *")
    errors.check(call(report, NULL, 0, count))
    room = ffi.new(kind + "[]", count[0])
    errors.check(call(report, room, count[0], count))
    return list(room)


def _text(text: Any) -> str:
    return bytes(ffi.buffer(text.data, text.size)).decode("utf-8") if text.size else ""
