"""Exceptions, one for each error code of the library, and check().

A status below 0 becomes the exception with its code; statuses of 0 and more are outcomes and are given back. Each
exception also inherits the built-in one that a Python reader would expect, and all inherit `motte.Error`.
"""
from __future__ import annotations

import enum
import threading
from typing import Any, NoReturn, Optional

from . import _objects
from ._ffi import lib, text
from ._wording import of_python


class Code(enum.IntEnum):
    """The numbers of motte.h."""

    NULL_ARGUMENT = -101
    BAD_HANDLE = -102
    STALE_HANDLE = -103
    WRONG_KIND = -104
    WRONG_THREAD = -105
    CLOSED = -106
    REENTRANT = -107
    FORKED = -108
    INVALID_UTF8 = -109
    BAD_STRUCT_SIZE = -110
    INVALID_ARGUMENT = -111
    UNKNOWN_FLAG = -112
    OUT_OF_BOUNDS = -113
    NOT_IN_WRITE = -201
    ALREADY_IN_WRITE = -202
    FROZEN = -203
    READ_ONLY = -204
    OBJECT_DELETED = -205
    TIMEOUT = -206
    BUSY = -207
    SCHEMA_CHANGED = -208
    HISTORY_UNAVAILABLE = -209
    OUT_OF_SEQUENCE = -210
    HISTORY_FORKED = -211
    INTERRUPTED = -212
    OUTCOME_UNKNOWN = -213
    WRONG_TYPE = -301
    NULL_NOT_ALLOWED = -302
    DUPLICATE_PRIMARY_KEY = -303
    VALUE_TOO_LARGE = -304
    PRIMARY_KEY_IS_FIXED = -305
    OVERFLOW = -306
    DUPLICATE_VALUE = -307
    UNKNOWN_CLASS = -401
    UNKNOWN_PROPERTY = -402
    SCHEMA_INVALID = -403
    SCHEMA_MISMATCH = -404
    NO_PRIMARY_KEY = -405
    QUERY_SYNTAX = -501
    QUERY_INVALID = -502
    QUERY_ARGUMENT = -503
    FILE_NOT_FOUND = -601
    PERMISSION_DENIED = -602
    NOT_A_MOTTE_FILE = -603
    CORRUPTED = -604
    UNSUPPORTED_FORMAT = -605
    INPUT_OUTPUT = -606
    DISK_FULL = -607
    MAP_FULL = -608
    SECOND_COPY = -609
    LOCK_FAILED = -610
    WRONG_KEY = -611
    FILE_MOVED = -612
    OUT_OF_HANDLES = -701
    OUT_OF_MEMORY = -702
    CALLBACK = -801
    UNSUPPORTED = -901
    INTERNAL = -1001


class Error(Exception):
    """Whatever Motte refuses or fails at. The message says what to do; the attributes say where it happened."""

    #: The number of the error, or None for the errors that only this package knows.
    code: Optional[Code] = None

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        #: errno of the failed system call, or 0.
        self.system_error: int = details.get("system_error", 0)
        #: The file, class and property concerned, or None.
        self.path: Optional[str] = details.get("path")
        self.class_name: Optional[str] = details.get("class_name")
        self.property_name: Optional[str] = details.get("property_name")
        #: Byte offset into the query or schema text, or None.
        self.query_offset: Optional[int] = details.get("query_offset")
        #: The offending element of a batch, or None.
        self.row_index: Optional[int] = details.get("row_index")

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> Any:
        return (_restored, (type(self), self.message, dict(self.__dict__)))


def in_row(error: Error, row: int) -> None:
    """The error says which row of a batch it is about."""
    before = f"row {error.row_index}: "
    message = error.message[len(before):] if error.message.startswith(before) else error.message
    error.row_index, error.message = row, f"row {row}: {message}"


def _restored(kind: type[Error], message: str, attributes: dict[str, Any]) -> Error:
    error = kind(message)
    error.__dict__.update(attributes)
    return error


# ------------------------------------------------------------------------------------------------ categories


class MisuseError(Error):
    """The call itself was wrong."""


class StateError(Error, RuntimeError):
    """The right call at the wrong moment."""


class DataError(Error, ValueError):
    """A value that does not fit."""


class SchemaError(Error, TypeError):
    """Classes or properties that do not fit."""


class QueryError(Error, ValueError):
    """A query that means nothing."""


class StorageError(Error, OSError):
    """The file or the disk."""

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message, **details)
        self.errno = self.system_error or None
        self.strerror = message
        self.filename = self.path


class ResourceError(Error):
    """Something has run out."""


class ObjectNotFoundError(Error, LookupError):
    """There is no object with this primary key."""


# ------------------------------------------------------------------------------------------------ one for each code


class NullArgumentError(MisuseError, ValueError):
    """A pointer was missing in a call of the library: a fault of this package."""
    code = Code.NULL_ARGUMENT


class BadHandleError(MisuseError):
    """What was handed to the library is nothing of its own: a fault of this package."""
    code = Code.BAD_HANDLE


class StaleHandleError(MisuseError):
    """What the call is about was given up or has ended; get it again from its database."""
    code = Code.STALE_HANDLE


class WrongKindError(MisuseError, TypeError):
    """The call is about another kind of thing: a list where a map is wanted, for one."""
    code = Code.WRONG_KIND


class WrongThreadError(MisuseError, RuntimeError):
    """A live database and what comes from it belong to the thread that opened it; freeze() what others should read."""
    code = Code.WRONG_THREAD


class ClosedError(MisuseError, ValueError):
    """The database was closed."""
    code = Code.CLOSED


class ReentrantError(MisuseError, RuntimeError):
    """A callback, or a write that is open on this thread, asked for what has to wait for its own end."""
    code = Code.REENTRANT


class ForkedError(MisuseError, RuntimeError):
    """This process inherited the database from the one that forked it; open it again here."""
    code = Code.FORKED


class InvalidUTF8Error(MisuseError, ValueError):
    """A text is not valid Unicode: it has a lone surrogate."""
    code = Code.INVALID_UTF8


class BadStructSizeError(MisuseError):
    """This package and the library disagree on a struct: a fault of this package."""
    code = Code.BAD_STRUCT_SIZE


class InvalidArgumentError(MisuseError, ValueError):
    """A value that no such call takes; the message says which ones it does."""
    code = Code.INVALID_ARGUMENT


class UnknownFlagError(MisuseError, ValueError):
    """The library does not know a flag: a fault of this package."""
    code = Code.UNKNOWN_FLAG


class OutOfBoundsError(MisuseError, IndexError):
    """There is nothing at this position."""
    code = Code.OUT_OF_BOUNDS


class NotInWriteError(StateError):
    """Changes are made inside `with db.write():`."""
    code = Code.NOT_IN_WRITE


class AlreadyInWriteError(StateError):
    """A write is open already, of this task or of another one."""
    code = Code.ALREADY_IN_WRITE


class FrozenError(StateError):
    """What is frozen never changes."""
    code = Code.FROZEN


class ReadOnlyError(StateError):
    """The database was opened for reading."""
    code = Code.READ_ONLY


class ObjectDeletedError(StateError, LookupError):
    """The object, or the one that a collection belongs to, was deleted or lost with a cancelled write."""
    code = Code.OBJECT_DELETED


class WriteTimeoutError(StateError, TimeoutError):
    """Somebody else was writing for longer than the call may wait."""
    code = Code.TIMEOUT


class BusyError(StateError):
    """Others have the file open, or show too many versions of it."""
    code = Code.BUSY


class SchemaChangedError(StateError):
    """Somebody else changed the schema of the file, of which the version shown before stays; open it again."""
    code = Code.SCHEMA_CHANGED


class HistoryUnavailableError(StateError):
    """The change log does not reach back to the version asked for; read everything, and keep changes from then on."""
    code = Code.HISTORY_UNAVAILABLE


class OutOfSequenceError(StateError):
    """A change batch does not begin where the last one of its origin ended; apply those in between first."""
    code = Code.OUT_OF_SEQUENCE


class HistoryForkedError(StateError):
    """The origin of a change batch, or the file, has gone another way; begin a new file with everything."""
    code = Code.HISTORY_FORKED


class QueryInterruptedError(StateError):
    """The query was ended by `Database.interrupt()`, or took longer than `Database.query_timeout`; what it was asked of
    is as it was."""
    code = Code.INTERRUPTED


class OutcomeUnknownError(StateError):
    """What was asked for may be done, or be done later: look before doing it again. A program that has its commits
    acknowledged raises it where the answer says so."""
    code = Code.OUTCOME_UNKNOWN


class WrongTypeError(DataError, TypeError):
    """A value of another type than that of the property."""
    code = Code.WRONG_TYPE


class NullNotAllowedError(DataError):
    """None for a property that is not declared to take it."""
    code = Code.NULL_NOT_ALLOWED


class DuplicatePrimaryKeyError(DataError):
    """There is an object with this primary key; upsert() assigns to it."""
    code = Code.DUPLICATE_PRIMARY_KEY


class ValueTooLargeError(DataError):
    """A text or data of more than 16,777,199 bytes, or a list or dict of more than 1 GB."""
    code = Code.VALUE_TOO_LARGE


class PrimaryKeyIsFixedError(DataError):
    """The primary key of a stored object cannot be assigned."""
    code = Code.PRIMARY_KEY_IS_FIXED


class NumberOverflowError(DataError, OverflowError):
    """A number or a time that the property cannot hold exactly."""
    code = Code.OVERFLOW


class DuplicateValueError(DataError):
    """Another object has this value of a property that is unique; the message names both."""
    code = Code.DUPLICATE_VALUE


class UnknownClassError(SchemaError, LookupError):
    """The database was not opened with this class."""
    code = Code.UNKNOWN_CLASS


class UnknownPropertyError(SchemaError, LookupError):
    """The class has no property of this name."""
    code = Code.UNKNOWN_PROPERTY


class SchemaInvalidError(SchemaError):
    """A class declares what cannot be; the message says what to write instead."""
    code = Code.SCHEMA_INVALID


class SchemaMismatchError(SchemaError):
    """The classes declared differ from those in the file: a higher `schema_version` migrates it."""
    code = Code.SCHEMA_MISMATCH


class NoPrimaryKeyError(SchemaError):
    """The class has no primary key to find objects by."""
    code = Code.NO_PRIMARY_KEY


class QuerySyntaxError(QueryError):
    """The text is no query; `query_offset` is where it went wrong."""
    code = Code.QUERY_SYNTAX


class QueryInvalidError(QueryError):
    """A query of properties, types or operations that do not go together."""
    code = Code.QUERY_INVALID


class QueryArgumentError(QueryError):
    """The arguments of a query are too few, too many, or of a type that cannot be compared."""
    code = Code.QUERY_ARGUMENT


class DatabaseNotFoundError(StorageError, FileNotFoundError):
    """There is no file at the path."""
    code = Code.FILE_NOT_FOUND


class DatabasePermissionError(StorageError, PermissionError):
    """The file, or the folder it lies in, may not be read or written."""
    code = Code.PERMISSION_DENIED


class NotAMotteFileError(StorageError):
    """The file is something else."""
    code = Code.NOT_A_MOTTE_FILE


class CorruptedError(StorageError):
    """The file is damaged; `motte.salvage()` reads what can be read."""
    code = Code.CORRUPTED


class UnsupportedFormatError(StorageError):
    """The file was written by a release that this one does not know."""
    code = Code.UNSUPPORTED_FORMAT


class InputOutputError(StorageError):
    """The system failed at reading or writing; `system_error` is its number."""
    code = Code.INPUT_OUTPUT


class DiskFullError(StorageError):
    """There is no room on the disk; what was committed is whole."""
    code = Code.DISK_FULL


class MapFullError(StorageError):
    """The file would grow beyond its `max_file_size`."""
    code = Code.MAP_FULL


class SecondCopyError(StorageError):
    """Another copy of the library in this process has the file open."""
    code = Code.SECOND_COPY


class LockFailedError(StorageError):
    """A file that processes share beside the database cannot be locked or used; the message says why."""
    code = Code.LOCK_FAILED


class WrongKeyError(StorageError):
    """The file is encrypted with another key, or is not encrypted."""
    code = Code.WRONG_KEY


class FileMovedError(StorageError):
    """The file or its sidecar was deleted, renamed or replaced while it was open."""
    code = Code.FILE_MOVED


class OutOfHandlesError(ResourceError):
    """Too many things are held at once."""
    code = Code.OUT_OF_HANDLES


class OutOfMemoryError(ResourceError, MemoryError):
    """There is no memory left."""
    code = Code.OUT_OF_MEMORY


class CallbackError(Error, RuntimeError):
    """A callback failed in a way that left no exception of its own."""
    code = Code.CALLBACK


class UnsupportedError(Error, NotImplementedError):
    """This cannot be done here; the message says why, a file system without locks for one."""
    code = Code.UNSUPPORTED


class InternalError(Error, RuntimeError):
    """A fault of Motte itself; please report it."""
    code = Code.INTERNAL


#: What a value says that cannot be stored anywhere, so that whoever looks for it does not find it.
NOWHERE = (NumberOverflowError, InvalidUTF8Error)
#: What a thing says whose time is over.
ENDED = (ClosedError, StaleHandleError, ObjectDeletedError, ForkedError)


def _all_kinds(base: type[Error]) -> list[type[Error]]:
    return [base] + [kind for child in base.__subclasses__() for kind in _all_kinds(child)]


_BY_CODE: dict[int, type[Error]] = {kind.code: kind for kind in _all_kinds(Error) if kind.code is not None}


# ------------------------------------------------------------------------------------------------ check


def check(status: int) -> int:
    """Gives back an outcome (0 and more), raises an error."""
    if status < 0:
        fail(status)
    return status


#: Of this thread: what a callback raised inside the call that is under way, and the queued write that the library is
#: about to commit.
raised = threading.local()


def take_raised() -> Optional[BaseException]:
    error: Optional[BaseException] = getattr(raised, "error", None)
    raised.error = None
    return error


def fail(status: int) -> NoReturn:
    """Raises the exception for an error, with the details that the library keeps for this thread; where it was a
    callback that failed, what that raised."""
    error = take_raised() if status == Code.CALLBACK else None
    try:
        raise made(status) if error is None else error
    finally:
        # The traceback holds this frame, which must not hold the error in turn: a circle would keep what the caller's
        # frames hold, handles among it, until the garbage collector comes by.
        del error


def made(status: int) -> Error:
    kind = _BY_CODE.get(status, InternalError)
    details = _objects.last_error(status)
    if details is None:
        return kind(of_python(text(lib.motte_status_message(status))))
    system_error, message, path, class_name, property_name, offset, row = details
    return kind(
        of_python(_shown(message)), system_error=system_error, path=None if path is None else _shown(path),
        class_name=None if class_name is None else _shown(class_name),
        property_name=None if property_name is None else _shown(property_name),
        query_offset=None if offset < 0 else offset, row_index=None if row < 0 else row)


def _shown(content: bytes) -> str:
    return content.decode("utf-8", "replace")
