"""How to open a file, as the library takes it: a motte_config, and what is done with files that nobody has open."""
from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Optional

from . import _callbacks, errors
from ._convert import one, utf8
from ._ffi import NULL, ffi, lib, sized
from ._handles import out, own, take_text
from ._queue import Queue
from ._schema import Schema

READ_ONLY, NO_CREATE = lib.MOTTE_CONFIG_READ_ONLY, lib.MOTTE_CONFIG_NO_CREATE

Progress = Callable[[int, int], None]

_ACTIONS = {lib.MOTTE_PLAN_NOTHING: "nothing", lib.MOTTE_PLAN_CREATE: "create", lib.MOTTE_PLAN_ADD: "add",
            lib.MOTTE_PLAN_MIGRATE: "migrate", lib.MOTTE_PLAN_RESET: "reset"}


class Steps(NamedTuple):
    """What opening calls, and what a migration begins with."""

    compact: Optional[Callable[[int, int], bool]] = None
    #: Takes the handle of a realm.
    first_open: Optional[Callable[[Any], None]] = None
    #: Takes the handles of a migration, the old realm and the new one.
    migrate: Optional[Callable[[Any, Any, Any], None]] = None
    progress: Optional[Progress] = None
    #: `"Person.first": "name"` and `"Human": "Person"`.
    renames: Mapping[str, str] = {}
    delete_classes: Sequence[str] = ()


#: What open() calls them.
_CALLED = {"compact": "compact_on_launch", "first_open": "first_open", "migrate": "migration", "progress": "progress"}


class Config:
    __slots__ = ("handle",)

    def __init__(
        self, path: Optional[str | os.PathLike[str]], in_memory: Optional[str] = None, flags: int = 0,
        schema: Optional[Schema] = None, queue: Optional[Queue] = None, options: Optional[Mapping[str, Any]] = None,
        steps: Optional[Steps] = None, encryption_key: Optional[bytes] = None,
        names: Sequence[tuple[str, str, str]] = (),
    ) -> None:
        """`names`: class and property in the file, and what the program calls it."""
        if (path is None) == (in_memory is None):
            raise TypeError("either a path or in_memory='name' is needed")
        place = out("motte_config")
        errors.check(lib.motte_config_new(place))
        self.handle = config = own(place)
        if path is not None:
            content = os.fsencode(path)
            if content == b":memory:":
                raise errors.InvalidArgumentError(
                    "':memory:' is no path here: motte.open(in_memory='name') opens a database without a file, which "
                    "is shared by that name; a file of this very name is './:memory:'")
            errors.check(lib.motte_config_set_path(config, content, len(content)))
        if in_memory is not None:
            identifier = utf8(in_memory)
            errors.check(lib.motte_config_set_in_memory(config, identifier, len(identifier)))
        if encryption_key is not None:
            # An empty one would mean none.
            if not encryption_key:
                raise errors.InvalidArgumentError("an encryption key has 64 bytes, this one 0")
            errors.check(lib.motte_config_set_encryption_key(config, bytes(encryption_key), len(encryption_key)))
        if flags:
            errors.check(lib.motte_config_set_flags(config, flags, flags))
        if schema is not None:
            errors.check(lib.motte_config_set_schema(config, schema.handle, 0))
        if queue is not None:
            errors.check(lib.motte_config_set_queue(config, queue.handle))
        for name, value in (options or {}).items():
            if value is not None:
                key, values = utf8(name), one(value)
                errors.check(lib.motte_config_set_option(config, key, len(key), values.pointer()))
        for stored in names:
            texts = [part for text in stored for content in [utf8(text)] for part in (content, len(content))]
            errors.check(lib.motte_config_set_public_name(config, *texts))
        if steps is not None:
            self._set(steps)

    def _set(self, steps: Steps) -> None:
        for name in ("compact", "first_open", "migrate", "progress"):
            _callbacks.checked(getattr(steps, name), _CALLED[name], optional=True)
        if steps.compact is not None:
            wants = steps.compact

            def decide(total: int, used: int, answer: Any) -> None:
                answer[0] = bool(wants(total, used))
            self._on(lib.motte_config_on_compact, lib.motte_python_compact, decide)
        if steps.first_open is not None:
            self._on(lib.motte_config_on_first_open, lib.motte_python_realm, steps.first_open)
        if steps.migrate is not None:
            self._on(lib.motte_config_on_migrate, lib.motte_python_migrate, steps.migrate)
        if steps.progress is not None:
            self._on(lib.motte_config_on_progress, lib.motte_python_progress, steps.progress)
        if not isinstance(steps.renames, Mapping):
            raise errors.WrongTypeError(f"renames are a dict of old and new names, not {steps.renames!r:.60}")
        for name, new_name in steps.renames.items():
            class_name, _, property_name = name.partition(".")
            first, second = utf8(class_name), utf8(new_name)
            if property_name:
                former = utf8(property_name)
                errors.check(lib.motte_config_rename_prop(
                    self.handle, first, len(first), former, len(former), second, len(second)))
            else:
                errors.check(lib.motte_config_rename_class(self.handle, first, len(first), second, len(second)))
        if isinstance(steps.delete_classes, str):
            raise errors.InvalidArgumentError(
                "delete_classes is a list of names of classes; write delete_classes=[...] around the one")
        for name in steps.delete_classes:
            content = utf8(name)
            errors.check(lib.motte_config_delete_class(self.handle, content, len(content)))

    def _on(self, register: Any, trampoline: Any, function: Callable[..., None]) -> None:
        errors.check(register(self.handle, trampoline, _callbacks.passed(function), lib.motte_python_free))

    # -------------------------------------------------------------------------------------------- files

    def exists(self) -> bool:
        return bool(errors.check(lib.motte_file_exists(self.handle)) == lib.MOTTE_OK)

    def delete(self) -> bool:
        return bool(errors.check(lib.motte_file_delete(self.handle)) == lib.MOTTE_OK)

    def schema_version(self) -> Optional[int]:
        place = ffi.new("uint64_t *")
        status = errors.check(lib.motte_file_schema_version(self.handle, place))
        return int(place[0]) if status == lib.MOTTE_OK else None

    def plan(self) -> tuple[str, int, int, str]:
        """(action, stored version, declared version, text)"""
        details, buffer = sized("motte_plan_details"), ffi.new("motte_buf *")
        errors.check(lib.motte_file_plan(self.handle, details, buffer))
        return (_ACTIONS[details.action], int(details.stored_version), int(details.declared_version),
                take_text(buffer))

    def compact(self, progress: Optional[Progress]) -> tuple[int, int]:
        before, after = ffi.new("uint64_t *"), ffi.new("uint64_t *")
        _callbacks.check_calling(
            lib.motte_file_compact(self.handle, *_callbacks.progress(progress), before, after))
        return int(before[0]), int(after[0])

    def salvage(self, path: Optional[bytes], progress: Optional[Progress]) -> tuple[Optional[str], Any]:
        """(the lines if there is no path, a motte_report)"""
        buffer, report = ffi.new("motte_buf *"), out("motte_report")
        _callbacks.check_calling(lib.motte_file_salvage(
            self.handle, path or NULL, len(path or b""), *_callbacks.progress(progress),
            buffer if path is None else NULL, report))
        return (take_text(buffer) if path is None else None), own(report)
