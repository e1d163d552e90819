"""C calls Python.

 1. passed() wraps a Python function; the library gets a handle to it as userdata, and _alive keeps it. The garbage
    collector does not see into the library, so what it holds must not hold what keeps the library's handle in turn: a
    function is passed weakly where a Python object owns both, and none of ours holds a database.
 2. The library calls motte_python_changes (or another of these) with that userdata, on the thread that let it: only
    dispatch, refresh, commit, begin_write, open and what takes a callback of its own run caller code.
 3. The Python function runs. What it raises is kept for this thread, and the library gets a 1: it stops.
 4. The call that let the library run fails with MOTTE_E_CALLBACK; check() raises what was kept instead. Where the call
    went well all the same, check_calling() raises what is no Exception, as KeyboardInterrupt, and reports the rest.
 5. Observers are the exception: what one raises is nobody else's affair, neither that of the others nor of whoever
    committed. It is reported, or raised by delivering() at the end of a call whose purpose is to call them.
 6. The library calls motte_python_free exactly once, on whatever thread, and _alive lets go.
"""
from __future__ import annotations

import functools
import types
import weakref
from types import TracebackType
from typing import Any, Callable, Optional, TypeVar

from . import _objects, errors
from ._ffi import NULL, ffi, lib
from ._guard import running_loop
from ._handles import out, own

T = TypeVar("T")

_alive: dict[int, Any] = {}


class _Passed:
    __slots__ = ("function", "address")

    def __init__(self, function: Callable[[], Optional[Callable[..., None]]]) -> None:
        #: Gives the function, or None when its owner is gone.
        self.function = function
        self.address = 0


def passed(function: Callable[..., None], *, weakly: bool = False) -> Any:
    """The userdata that stands for a function; weakly: for as long as somebody else keeps it."""
    callback = _Passed(weakref.ref(function) if weakly else lambda: function)
    userdata = ffi.new_handle(callback)
    callback.address = int(ffi.cast("intptr_t", userdata))
    _alive[callback.address] = userdata
    return userdata


def alive() -> int:
    """Functions the library still holds. Tests end with 0."""
    return len(_alive)


def _run(userdata: Any, *arguments: Any) -> int:
    try:
        function = ffi.from_handle(userdata).function()
        if function is not None:
            function(*arguments)
        return 0
    except BaseException as error:  # KeyboardInterrupt too: it is raised again when the library has returned
        _keep(error)
        return 1


def _keep(error: BaseException) -> None:
    """The first one; but nothing holds back a KeyboardInterrupt."""
    before = getattr(errors.raised, "error", None)
    if before is None or isinstance(before, Exception) and not isinstance(error, Exception):
        errors.raised.error = error


def _interrupted_already() -> int:
    """Python runs handlers of signals before this does anything: what they raise is kept, and ends the call."""
    return 0 if getattr(errors.raised, "error", None) is None else 1


def _interrupted(kind: Any, error: Optional[BaseException], traceback: Optional[TracebackType]) -> None:
    """What is raised between the library and _run(): a signal may come at any time."""
    if error is not None:
        _keep(error)


def _observed(userdata: Any, changes: Any) -> int:
    """_run() for an observer."""
    try:
        function = ffi.from_handle(userdata).function()
        if function is not None:
            function(changes)
        return 0
    except Exception as error:
        failures = getattr(errors.raised, "failures", None)
        if failures is None:
            report(error)
        else:
            failures.append(error)
        return 0
    except BaseException as error:  # KeyboardInterrupt for one: nobody else is called before it is raised
        _keep(error)
        return 1


def _run_with(
    run: Callable[..., int], userdata: Any, *handles: tuple[str, Any], more: tuple[Any, ...] = ()
) -> int:
    """Calls with handles and their kinds, which are the library's only during the call: the clones are Python's.
    `more` is what comes behind them."""
    clones = []
    for kind, handle in handles:
        place = out(kind)
        status = lib.motte_clone(handle, ffi.cast("void **", place))
        if status < 0:
            _keep(errors.made(status))
            return 1
        clones.append(own(place))
    return run(userdata, *clones, *more)


@ffi.def_extern(error=1, onerror=_interrupted)  # type: ignore[untyped-decorator]
def motte_python_changes(userdata: Any, changes: Any) -> int:
    return _run_with(_observed, userdata, ("motte_changes", changes))


@ffi.def_extern(error=1, onerror=_interrupted)  # type: ignore[untyped-decorator]
def motte_python_progress(userdata: Any, done: int, total: int) -> int:
    return _interrupted_already() if userdata == NULL else _run(userdata, done, total)


@ffi.def_extern(error=1, onerror=_interrupted)  # type: ignore[untyped-decorator]
def motte_python_query_progress(_: Any) -> int:
    return _interrupted_already()


@ffi.def_extern(error=1, onerror=_interrupted)  # type: ignore[untyped-decorator]
def motte_python_commit(userdata: Any, data: Any, size: int) -> int:
    queued, errors.raised.queued = getattr(errors.raised, "queued", None), None
    status = _run(userdata, ffi.buffer(data, size)[:])
    error = getattr(errors.raised, "error", None)
    if status and queued is not None:
        # Each queued write has a commit of its own, and all are told later: this is the one that was refused.
        queued._failure = error
        if isinstance(error, Exception):
            errors.take_raised()
    return status


@ffi.def_extern(error=1, onerror=_interrupted)  # type: ignore[untyped-decorator]
def motte_python_compact(userdata: Any, total: int, used: int, out_compact: Any) -> int:
    return _run(userdata, total, used, out_compact)


@ffi.def_extern(error=1, onerror=_interrupted)  # type: ignore[untyped-decorator]
def motte_python_realm(userdata: Any, realm: Any) -> int:
    return _run_with(_run, userdata, ("motte_realm", realm))


@ffi.def_extern(error=1, onerror=_interrupted)  # type: ignore[untyped-decorator]
def motte_python_migrate(userdata: Any, migration: Any, old_realm: Any, new_realm: Any) -> int:
    return _run_with(_run, userdata, ("motte_migration", migration), ("motte_realm", old_realm),
                     ("motte_realm", new_realm))


@ffi.def_extern(error=1, onerror=_interrupted)  # type: ignore[untyped-decorator]
def motte_python_pair(userdata: Any, old_object: Any, new_object: Any) -> int:
    # No clones: a pair is visited once for each object, and only asked for its keys.
    return _run(userdata, old_object, new_object)


@ffi.def_extern(error=1, onerror=_interrupted)  # type: ignore[untyped-decorator]
def motte_python_section_key(userdata: Any, coll: Any, index: int, out_key: Any) -> int:
    # Nobody has the sections any more, and no key is none.
    return 1 if ffi.from_handle(userdata).function() is None else _run(userdata, coll, index, out_key)


@ffi.def_extern(error=1, onerror=_interrupted)  # type: ignore[untyped-decorator]
def motte_python_default(userdata: Any, count: int, out_values: Any) -> int:
    return _run(userdata, count, out_values)


@ffi.def_extern(error=1, onerror=_interrupted)  # type: ignore[untyped-decorator]
def motte_python_fill(userdata: Any, realm: Any, class_id: int, _: Any, keys: Any, count: int) -> int:
    return _run_with(_run, userdata, ("motte_realm", realm), more=(class_id, ffi.unpack(keys, count)))


@ffi.def_extern(error=1, onerror=_interrupted)  # type: ignore[untyped-decorator]
def motte_python_visit(userdata: Any, handle: Any, kind: int) -> int:
    return _run(userdata, handle, kind)


@ffi.def_extern(error=1, onerror=_interrupted)  # type: ignore[untyped-decorator]
def motte_python_work(userdata: Any, _: Any) -> int:
    # What the work raises is its own affair: it has a future.
    before = errors.take_raised()
    status = _run(userdata, None, 0)
    errors.raised.error = before
    return status


@ffi.def_extern(error=1, onerror=_interrupted)  # type: ignore[untyped-decorator]
def motte_python_done(userdata: Any, status: int, version: int) -> int:
    return _run(userdata, status, version)


def pass_on(error: BaseException, where: str) -> None:
    """What no call here fails with is reported; but nothing holds back a KeyboardInterrupt, which the next call raises
    that may run callbacks, this one for one."""
    if isinstance(error, Exception):
        _objects.unraised(error, where)
    else:
        _keep(error)


def _make_free(ffi: Any, alive: dict[int, Any], pass_on: Callable[[BaseException, str], None]) -> None:
    """Held by a closure: the library may also let go when Python is ending and this module's names are gone."""
    def interrupted(kind: Any, error: Optional[BaseException], traceback: Optional[TracebackType]) -> None:
        if error is None or traceback is None:
            return
        userdata = traceback.tb_frame.f_locals.get("userdata")
        if userdata is not None:
            alive.pop(int(ffi.cast("intptr_t", userdata)), None)
        pass_on(error, "what motte lets go")

    @ffi.def_extern(onerror=interrupted)  # type: ignore[untyped-decorator]
    def motte_python_free(userdata: Any) -> None:
        alive.pop(int(ffi.cast("intptr_t", userdata)), None)


_make_free(ffi, _alive, pass_on)


def when_called(function: Callable[[], bool]) -> None:
    """Has a function called at the end of the call of the library that runs callbacks now, or of the one around that,
    and so on, until it says that this was the one."""
    errors.raised.ended = [*getattr(errors.raised, "ended", ()), function]


def check_calling(status: int) -> int:
    """check() for the calls that may run a callback, which may have raised although the call went well."""
    if getattr(errors.raised, "ended", None):
        errors.raised.ended = [each for each in errors.raised.ended if not each()]
    if status < 0:
        errors.fail(status)
    if getattr(errors.raised, "error", None) is None:
        return status
    error = errors.take_raised()
    try:
        if isinstance(error, Exception):
            report(error)
        elif error is not None:
            raise error
    finally:
        del error
    return status


def delivering(call: Callable[[], T]) -> T:
    """A call that is there to have observers called: what the first of them raised comes out at its end, and what
    others raised is reported."""
    before = getattr(errors.raised, "failures", None)
    failures: list[Exception] = []
    errors.raised.failures = failures
    first: Optional[Exception] = None
    try:
        result = call()
        first = failures.pop(0) if failures else None
    finally:
        errors.raised.failures = before
        try:
            _report_all(failures)
        except BaseException:
            if first is not None:
                # Nothing raises it now.
                report(first)
            raise
    try:
        if first is not None:
            raise first
        return result
    finally:
        # The traceback holds this frame.
        failures.clear()
        del first


def _report_all(failures: list[Exception]) -> None:
    try:
        while failures:
            report(failures.pop(0))
    finally:
        # An interrupt keeps nobody from knowing the others.
        if failures:
            _report_all(failures)


def report(error: Exception) -> None:
    """What an observer raised goes to the event loop that runs here, or to where Python reports what nobody catches."""
    loop = running_loop()
    if loop is None:
        return _objects.unraised(error, "a callback of a motte database")
    try:
        loop.call_exception_handler({"message": "Exception in a callback of a motte database", "exception": error})
    except Exception as failure:
        # A loop of another kind may let out what its handler raises, which is nobody's affair here either.
        _objects.unraised(failure, "the exception handler of an event loop")


def checked(function: Any, what: str, *, optional: bool = False) -> Any:
    """A function that is called back. One that is a coroutine function would do nothing when it is called."""
    if function is None and optional:
        return None
    if not callable(function):
        raise errors.WrongTypeError(f"{what} is a function, not {function!r:.60}")
    if is_coroutine_function(function):
        raise errors.WrongTypeError(f"{what} is a plain function; nobody would await the coroutine of {function!r:.60}")
    return function


def check_done(result: Any, what: str) -> None:
    """Refuses what a function gives that has not run: a coroutine, which nobody awaits, or a generator."""
    if isinstance(result, (types.CoroutineType, types.GeneratorType)):
        result.close()
        raise errors.WrongTypeError(f"{what} is a plain function; nobody would run the {type(result).__name__} it gave")


def is_coroutine_function(function: Any) -> bool:
    while isinstance(function, functools.partial):
        function = function.func
    call = function if isinstance(function, _PLAIN) else vars(type(function)).get("__call__")
    code = getattr(getattr(call, "__func__", call), "__code__", None)
    return code is not None and bool(code.co_flags & _COROUTINE)


#: Functions and methods; whatever else can be called has a method for it.
_PLAIN = (types.FunctionType, types.MethodType)
#: inspect.CO_COROUTINE and CO_ASYNC_GENERATOR, without the import.
_COROUTINE = 0x80 | 0x200


def progress(function: Optional[Callable[[int, int], None]]) -> tuple[Any, Any, Any]:
    """The three arguments for a progress function; it is called with what is done and the total or 0. Without one, the
    call is ended by what a handler of a signal raises all the same."""
    if function is None:
        return lib.motte_python_progress, NULL, NULL
    return lib.motte_python_progress, passed(checked(function, "progress")), lib.motte_python_free


def dump_handles() -> list[tuple[int, int]]:
    """(kind, token) of every live handle in this process, oldest first."""
    found: list[tuple[int, int]] = []
    userdata = passed(lambda handle, kind: found.append((int(kind), int(ffi.cast("intptr_t", handle)))))
    check_calling(lib.motte_handle_dump(lib.motte_python_visit, userdata, lib.motte_python_free))
    return found
