"""JSON, CSV and SQLite in and out, of files and of texts; the forms are described in docs/json.md and docs/sqlite.md.

Exports read the version that is shown. Imports are made in the open write, or in one of their own, all or nothing.
"""
from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple, Optional, Union

from . import _callbacks, errors, maintenance, query
from ._atomic import atomically, in_steps
from ._coll import Coll
from ._config import Progress
from ._convert import texts as _texts, utf8
from ._ffi import NULL, ffi, lib, sized
from ._handles import out, own, take_text
from ._protocols import AnyDatabase
from ._schema import Schema
from .unmanaged import policy_flags
from .maps import Map
from .model import Model
from .results import Collection
from .write import Write

Path = Union[str, os.PathLike[str]]


class ImportCounts(NamedTuple):
    """What an import did."""

    #: Objects that are new.
    created: int
    #: Objects that were there and were assigned to.
    updated: int


class _Options:
    """A struct of options, and what it points to."""

    def __init__(self, kind: str, texts: Mapping[str, Optional[bytes]], *, columns: Optional[Sequence[str]] = None,
                 **numbers: int) -> None:
        self.struct = sized(kind)
        self._kept: list[Any] = []
        if columns is not None:
            self.struct.columns, kept = _texts(columns)
            self.struct.column_count = len(columns)
            self._kept += kept
        for name, content in texts.items():
            if content is not None:
                view = ffi.from_buffer(content)
                self._kept.append(view)
                setattr(self.struct, name, ffi.cast("char *", view))
                setattr(self.struct, name + "_size", len(content))
        for name, number in numbers.items():
            try:
                setattr(self.struct, name, number)
            except OverflowError:
                raise errors.InvalidArgumentError(f"{name} is a number from 0 up, not {number}") from None


def _path(path: Optional[Path]) -> Optional[bytes]:
    return None if path is None else os.fsencode(path)


def _delimiter(text: str) -> int:
    if len(text) != 1 or not text.isascii():
        raise errors.InvalidArgumentError(f"a delimiter is one ASCII character, not {text!r}")
    return ord(text)


def _columns(database: AnyDatabase, columns: Optional[Sequence[Any]], what: Any) -> Optional[list[str]]:
    if isinstance(columns, str):
        raise errors.InvalidArgumentError("columns is a list of properties; write columns=[...] around the one")
    if columns is None:
        return None
    if isinstance(what, (Collection, Map)):
        model: Any = (what.results() if isinstance(what, Map) else what)._model()
    else:
        model = type(what) if isinstance(what, Model) else None if what is None else database._row_of(what).model
    return [query.stored_name(each, model) for each in columns]


# ------------------------------------------------------------------------------------------------ out


def _exported(
    call: Any, handle: Any, options: _Options, progress: Optional[Progress], to_file: bool,
) -> Optional[str]:
    buffer = ffi.new("motte_buf *")
    _callbacks.check_calling(
        call(handle, options.struct, *_callbacks.progress(progress), NULL if to_file else buffer))
    return None if to_file else take_text(buffer)


def _coll_of(database: AnyDatabase, what: Union[type[Model], Collection[Any], Map[Any]]) -> Coll:
    if isinstance(what, Map):
        what = what.results()
    if isinstance(what, Collection):
        return what._coll
    if not isinstance(what, (str, type)):
        raise errors.WrongTypeError(f"what to export is a class, a collection or an object, not {what!r:.60}")
    return database._realm.class_all(database._row_of(what).class_id)


def export_json(
    database: AnyDatabase, path: Optional[Path], what: Union[None, type[Model], Model, Collection[Any], Map[Any]], *,
    lines: bool, document: bool, columns: Optional[Sequence[Any]], nested_links: bool, depth: Optional[int],
    progress: Optional[Progress],
) -> Optional[str]:
    options = _Options(
        "motte_export_options", {"path": _path(path)}, columns=_columns(database, columns, what),
        format=lib.MOTTE_FORMAT_JSON_LINES if lines else lib.MOTTE_FORMAT_JSON,
        flags=lib.MOTTE_EXPORT_NESTED_LINKS * nested_links | lib.MOTTE_EXPORT_DOCUMENT * document, depth=depth or 0)
    to_file = path is not None
    if what is None:
        return _exported(lib.motte_export_realm, database._realm.handle, options, progress, to_file)
    if isinstance(what, Model):
        link = database._link(what)
        buffer = ffi.new("motte_buf *")
        errors.check(lib.motte_export_object(
            database._realm.object(link.class_id, link.key), options.struct, NULL if to_file else buffer))
        return None if to_file else take_text(buffer)
    return _exported(lib.motte_export_coll, _coll_of(database, what).handle, options, progress, to_file)


def export_csv(
    database: AnyDatabase, path: Optional[Path], what: Union[type[Model], Collection[Any], Map[Any]], *,
    columns: Optional[Sequence[Any]], delimiter: str, null: str, progress: Optional[Progress],
) -> Optional[str]:
    options = _Options(
        "motte_export_options",
        {"path": _path(path), "null_text": utf8(null)}, columns=_columns(database, columns, what),
        format=lib.MOTTE_FORMAT_CSV, delimiter=_delimiter(delimiter))
    return _exported(lib.motte_export_coll, _coll_of(database, what).handle, options, progress, path is not None)


def export_sqlite(database: AnyDatabase, path: Path, *, progress: Optional[Progress]) -> None:
    options = _Options("motte_export_options", {"path": _path(path)}, format=SQLITE)
    _exported(lib.motte_export_realm, database._realm.handle, options, progress, True)


# ------------------------------------------------------------------------------------------------ in


def _source(path: Optional[Path], text: Union[str, bytes, None]) -> dict[str, Optional[bytes]]:
    if (path is None) == (text is None):
        raise TypeError("an import takes either a path or text='...'")
    return {"path": _path(path), "text": utf8(text) if isinstance(text, str) else text}


def imported(
    database: AnyDatabase, model: Optional[type[Model]], path: Optional[Path], text: Union[str, bytes, None], *,
    format_: int, policy: str, batch_rows: int, commit_every: int, progress: Optional[Progress],
    ignore_unknown: bool = False, delimiter: str = ",", null: str = "NA",
) -> ImportCounts:
    database._check_task()
    options = _Options(
        "motte_import_options", {**_source(path, text), "null_text": utf8(null)}, format=format_,
        flags=lib.MOTTE_IMPORT_IGNORE_UNKNOWN * ignore_unknown, policy=policy_flags(policy),
        delimiter=_delimiter(delimiter), batch_rows=batch_rows, commit_every=commit_every)
    class_id = lib.MOTTE_CLASS_ANY if model is None else database._row_of(model).class_id
    counts = sized("motte_import_counts")
    # What was committed on the way stays.
    with writing(database), in_steps(database) if commit_every else atomically(database):
        _callbacks.check_calling(lib.motte_import(
            database._realm.handle, class_id, options.struct, *_callbacks.progress(progress), counts))
    return ImportCounts(int(counts.created), int(counts.updated))


def writing(database: AnyDatabase) -> AbstractContextManager[Any]:
    """The open write, or one of its own."""
    return nullcontext() if database.in_write else Write(database, None)


JSON, CSV, SQLITE = int(lib.MOTTE_FORMAT_JSON), int(lib.MOTTE_FORMAT_CSV), int(lib.MOTTE_FORMAT_SQLITE)

# ------------------------------------------------------------------------------------------------ schemas of texts


def csv_schema(
    class_name: str, path: Optional[Path] = None, *, text: Union[str, bytes, None] = None, key: Optional[str] = None,
    delimiter: str = ",", null: str = "NA",
) -> str:
    """Schema text for the rows of a CSV file, with the narrowest types that all its values have. `key` is the column
    that becomes the primary key."""
    return _schema({**_source(path, text), "null_text": utf8(null)}, CSV, class_name, key, _delimiter(delimiter))


def dump_schema(path: Optional[Path] = None, *, text: Union[str, bytes, None] = None) -> str:
    """The schema text in the first line of a dump."""
    return _schema(_source(path, text), JSON, None, None, 0)


def sqlite_schema(path: Path) -> str:
    """The schema text of a SQLite file: the one that export_sqlite() has exported; of any other file, a class for each
    of its tables."""
    return _schema(_source(path, None), SQLITE, None, None, 0)


def sqlite_notes(path: Path) -> list[str]:
    """What import_sqlite() does not keep of a SQLite file, a sentence each that begins with its table."""
    options = _Options("motte_import_options", _source(path, None), format=SQLITE)
    place = out("motte_report")
    errors.check(lib.motte_import_notes(options.struct, place))
    return maintenance.Report._read(own(place)).problems


def _schema(texts: Mapping[str, Optional[bytes]], format_: int, class_name: Optional[str], key: Optional[str],
            delimiter: int) -> str:
    options = _Options("motte_import_options", texts, format=format_, delimiter=delimiter)
    name, key_name = utf8(class_name or ""), utf8(key or "")
    place = out("motte_schema")
    errors.check(lib.motte_import_schema(
        options.struct, name if class_name is not None else NULL, len(name),
        key_name if key is not None else NULL, len(key_name), place))
    return Schema(own(place)).text()
