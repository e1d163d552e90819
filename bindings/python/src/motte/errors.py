"""Exceptions, one for each error code of the library, and check().

A status below 0 becomes the exception with its code; statuses of 0 and more are outcomes and are given back. Each
exception also inherits the built-in one that a Python reader would expect, and all inherit `motte.Error`.
"""
from __future__ import annotations

import enum
import threading
from typing import Any, NoReturn, Optional

from ._ffi import NULL, ffi, lib, text
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
    WRONG_TYPE = -301
    NULL_NOT_ALLOWED = -302
    DUPLICATE_PRIMARY_KEY = -303
    VALUE_TOO_LARGE = -304
    PRIMARY_KEY_IS_FIXED = -305
    OVERFLOW = -306
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
    code = Code.NULL_ARGUMENT


class BadHandleError(MisuseError):
    code = Code.BAD_HANDLE


class StaleHandleError(MisuseError):
    code = Code.STALE_HANDLE


class WrongKindError(MisuseError, TypeError):
    code = Code.WRONG_KIND


class WrongThreadError(MisuseError, RuntimeError):
    """A live database and what comes from it belong to the thread that opened it; freeze() what others should read."""

    code = Code.WRONG_THREAD


class ClosedError(MisuseError, ValueError):
    code = Code.CLOSED


class ReentrantError(MisuseError, RuntimeError):
    code = Code.REENTRANT


class ForkedError(MisuseError, RuntimeError):
    """This process inherited the database from the one that forked it; open it again here."""

    code = Code.FORKED


class InvalidUTF8Error(MisuseError, ValueError):
    code = Code.INVALID_UTF8


class BadStructSizeError(MisuseError):
    code = Code.BAD_STRUCT_SIZE


class InvalidArgumentError(MisuseError, ValueError):
    code = Code.INVALID_ARGUMENT


class UnknownFlagError(MisuseError, ValueError):
    code = Code.UNKNOWN_FLAG


class OutOfBoundsError(MisuseError, IndexError):
    code = Code.OUT_OF_BOUNDS


class NotInWriteError(StateError):
    """Changes are made inside `with db.write():`."""

    code = Code.NOT_IN_WRITE


class AlreadyInWriteError(StateError):
    code = Code.ALREADY_IN_WRITE


class FrozenError(StateError):
    code = Code.FROZEN


class ReadOnlyError(StateError):
    code = Code.READ_ONLY


class ObjectDeletedError(StateError, LookupError):
    code = Code.OBJECT_DELETED


class WriteTimeoutError(StateError, TimeoutError):
    code = Code.TIMEOUT


class BusyError(StateError):
    code = Code.BUSY


class SchemaChangedError(StateError):
    code = Code.SCHEMA_CHANGED


class WrongTypeError(DataError, TypeError):
    code = Code.WRONG_TYPE


class NullNotAllowedError(DataError):
    code = Code.NULL_NOT_ALLOWED


class DuplicatePrimaryKeyError(DataError):
    code = Code.DUPLICATE_PRIMARY_KEY


class ValueTooLargeError(DataError):
    code = Code.VALUE_TOO_LARGE


class PrimaryKeyIsFixedError(DataError):
    code = Code.PRIMARY_KEY_IS_FIXED


class NumberOverflowError(DataError, OverflowError):
    code = Code.OVERFLOW


class UnknownClassError(SchemaError, LookupError):
    code = Code.UNKNOWN_CLASS


class UnknownPropertyError(SchemaError, LookupError):
    code = Code.UNKNOWN_PROPERTY


class SchemaInvalidError(SchemaError):
    code = Code.SCHEMA_INVALID


class SchemaMismatchError(SchemaError):
    code = Code.SCHEMA_MISMATCH


class NoPrimaryKeyError(SchemaError):
    code = Code.NO_PRIMARY_KEY


class QuerySyntaxError(QueryError):
    code = Code.QUERY_SYNTAX


class QueryInvalidError(QueryError):
    code = Code.QUERY_INVALID


class QueryArgumentError(QueryError):
    code = Code.QUERY_ARGUMENT


class DatabaseNotFoundError(StorageError, FileNotFoundError):
    code = Code.FILE_NOT_FOUND


class DatabasePermissionError(StorageError, PermissionError):
    code = Code.PERMISSION_DENIED


class NotAMotteFileError(StorageError):
    code = Code.NOT_A_MOTTE_FILE


class CorruptedError(StorageError):
    code = Code.CORRUPTED


class UnsupportedFormatError(StorageError):
    code = Code.UNSUPPORTED_FORMAT


class InputOutputError(StorageError):
    code = Code.INPUT_OUTPUT


class DiskFullError(StorageError):
    code = Code.DISK_FULL


class MapFullError(StorageError):
    code = Code.MAP_FULL


class SecondCopyError(StorageError):
    code = Code.SECOND_COPY


class LockFailedError(StorageError):
    code = Code.LOCK_FAILED


class WrongKeyError(StorageError):
    code = Code.WRONG_KEY


class FileMovedError(StorageError):
    """The file, or one that processes share beside it, was deleted, renamed or replaced while it was open."""
    code = Code.FILE_MOVED


class OutOfHandlesError(ResourceError):
    code = Code.OUT_OF_HANDLES


class OutOfMemoryError(ResourceError, MemoryError):
    code = Code.OUT_OF_MEMORY


class CallbackError(Error, RuntimeError):
    """A callback failed in a way that left no exception of its own."""

    code = Code.CALLBACK


class UnsupportedError(Error, NotImplementedError):
    code = Code.UNSUPPORTED


class InternalError(Error, RuntimeError):
    """A fault of Motte itself; please report it."""

    code = Code.INTERNAL


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


#: Of this thread: what a callback raised inside the call that is under way.
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
    details = ffi.new("motte_error_details *")
    details.struct_size = ffi.sizeof("motte_error_details")
    if lib.motte_last_error(details) != lib.MOTTE_OK or details.code != status:
        return kind(of_python(text(lib.motte_status_message(status))))
    return from_details(kind, details)


def from_details(kind: type[Error], details: Any) -> Error:
    def optional(pointer: Any) -> Optional[str]:
        return None if pointer == NULL else text(pointer)

    return kind(
        of_python(text(details.message)),
        system_error=int(details.system_error),
        path=optional(details.path),
        class_name=optional(details.class_name),
        property_name=optional(details.property_name),
        query_offset=None if details.query_offset < 0 else int(details.query_offset),
        row_index=None if details.row_index < 0 else int(details.row_index),
    )
