"""Collections in sections: elements with the same key together, sections in the order of their first element."""
from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, Optional, TypeVar, Union, overload

from . import errors
from ._sections import NativeSections
from ._tokens import DELETIONS, INSERTIONS, MODIFICATIONS, NativeChanges
from .results import Results, remake

if TYPE_CHECKING:
    from .notifications import ChangeStream, Observation
    from .results import Collection

T = TypeVar("T")

#: A key path, or a function of an element that gives its key.
SectionKey = Union[str, Callable[[Any], Any]]


def _key_function(collection: Collection[T], by: Callable[[T], Any]) -> Callable[[int], Any]:
    """Gives the key of the element at a position. The library keeps it, so it keeps no database: whoever asks for keys
    has one."""
    home, there, coll = weakref.ref(collection._database), remake(collection), collection._coll

    def key(index: int) -> Any:
        database = home()
        if database is None:
            raise errors.ClosedError("the database of these sections is gone")
        return by(there(database, _coll=coll)[index])
    return key


class Section(Results[T]):
    """The elements with one key, live: empty while there are none, and there again when there are."""

    key: Any


class Sections(Sequence[Section[T]], Generic[T]):
    """The sections of a collection, live. Made by `sectioned()`."""

    def __init__(self, collection: Collection[T], by: SectionKey, first_letter: bool) -> None:
        self._collection, self._by, self._first_letter = collection, by, first_letter
        if callable(by):
            if first_letter:
                raise errors.InvalidArgumentError("a function gives the whole key; first_letter is for key paths")
            self._native = NativeSections.by_function(collection._coll, _key_function(collection, by))
        else:
            self._native = NativeSections.by_path(collection._coll, by, first_letter)

    def __len__(self) -> int:
        return self._native.count()

    @overload
    def __getitem__(self, index: int) -> Section[T]: ...
    @overload
    def __getitem__(self, index: slice) -> list[Section[T]]: ...
    def __getitem__(self, index: Union[int, slice]) -> Union[Section[T], list[Section[T]]]:
        if isinstance(index, slice):
            return [self[position] for position in range(*index.indices(len(self)))]
        position = index.__index__()
        if position < 0:
            position += len(self)
        if position < 0:
            raise errors.OutOfBoundsError(f"section {index} is out of range")
        base = self._collection
        section: Section[T] = Section(base._database, self._native.get(position), base._type, base._enum)
        section.key = self._key(position)
        return section

    def __iter__(self) -> Iterator[Section[T]]:
        return iter([self[position] for position in range(len(self))])

    def _key(self, position: int) -> Any:
        return self._native.key(position, self._collection._database._object)

    @property
    def keys(self) -> list[Any]:
        """In the order of the sections."""
        return [self._key(position) for position in range(len(self))]

    def find(self, key: Any) -> Optional[Section[T]]:
        """The section with that key, None if there is none."""
        position = self._native.find(key)
        return None if position is None else self[position]

    def place(self, position: int) -> tuple[int, int]:
        """Where the element of the collection at a position is: its section, and its index in that."""
        return self._native.locate(position)

    def freeze(self) -> Sections[T]:
        """As they are now, for ever and for every thread; within a write as they were before that."""
        return Sections(self._collection.freeze(), self._by, self._first_letter)

    # -------------------------------------------------------------------------------------------- observing

    def observe(
        self, callback: Callable[[SectionChanges], None], *, key: Any = ..., paths: Optional[Sequence[str]] = None
    ) -> Observation:
        """Calls back with each change, first with the initial state, for as long as the result is kept. With `key`,
        of the section with that key alone, whether or not there is one now."""
        from .notifications import Observation, checked_paths

        return Observation(self._token(lambda native: callback(SectionChanges(native)), key, checked_paths(paths)))

    def changes(
        self, timeout: Optional[float] = None, *, key: Any = ..., paths: Optional[Sequence[str]] = None
    ) -> ChangeStream[SectionChanges]:
        """The changes one after the other, the initial state first; see Collection.changes()."""
        from .notifications import ChangeStream, checked_paths

        checked = checked_paths(paths)
        return ChangeStream(
            self._collection._database, lambda: self._token(None, key, checked), SectionChanges, timeout)

    def _token(self, callback: Optional[Callable[[NativeChanges], None]], key: Any, paths: Optional[list[str]]) -> Any:
        if key is ...:
            return self._native.observe(callback, paths)
        return self._native.observe_one(key, callback, paths)


class SectionChanges:
    """What happened to sections between two versions. Places are pairs of a section and an index in it, and ascend.

    Deletions, and sections that were deleted, count in the sections as they were; the rest as they are. The elements of
    deleted sections are not among the deletions, those of inserted ones are insertions."""

    def __init__(self, native: NativeChanges) -> None:
        info = native.info()
        #: The state observation starts from; nothing has changed yet.
        self.is_initial = info.is_initial
        #: The owner of the collection is gone; nothing follows.
        self.is_deleted = info.is_deleted
        self.from_version, self.to_version = info.from_version, info.to_version
        self.deleted_sections: list[int] = native.sections(DELETIONS)
        self.inserted_sections: list[int] = native.sections(INSERTIONS)
        self.deletions: list[tuple[int, int]] = list(zip(
            native.section_indexes(DELETIONS, info.deletion_count), native.deletions(info.deletion_count)))
        self.insertions: list[tuple[int, int]] = list(zip(
            native.section_indexes(INSERTIONS, info.insertion_count), native.insertions(info.insertion_count)))
        #: Elements that stayed in their section and changed: where they are.
        self.modifications: list[tuple[int, int]] = list(zip(
            native.section_indexes(MODIFICATIONS, info.modification_count),
            native.modifications(info.modification_count)[1]))

    def __repr__(self) -> str:
        words = [word for word in ("initial", "deleted") if getattr(self, "is_" + word)]
        words += [f"{name.replace('_', ' ')} {values}" for name in (
            "deleted_sections", "inserted_sections", "deletions", "insertions", "modifications")
            for values in [getattr(self, name)] if values]
        return f"<SectionChanges {', '.join(words) or 'none'}>"
