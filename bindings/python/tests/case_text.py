"""Reading the line format of the conformance cases (docs/testing.md): a cursor over one line, and its literals.

Python values stand for the literals: floats of 32 bits are `Single`, objects are whatever `resolve` makes of them.
"""
from __future__ import annotations

import re
import uuid
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any, Callable, Optional

from motte import ObjectId, Timestamp

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

_NAME = re.compile(r"[A-Za-z_\u0080-\U0010ffff][\w\u0080-\U0010ffff-]*")
_INTEGER = re.compile(r"-?\d+")
_NUMBER = re.compile(r"[-+]?(?:nan|inf|\d[\d.]*(?:e[-+]?\d+)?)(f?)(?![\w])")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_DATA = re.compile(r'x"((?:[0-9a-f]{2})*)"')
_NAMED = re.compile(r'(dec|objectId|uuid)"([^"]*)"')
_NAMED_TYPES: dict[str, Callable[[str], Any]] = {"dec": Decimal, "objectId": ObjectId, "uuid": uuid.UUID}
_ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|(.))")


class CaseFailure(Exception):
    """What a case expected and what it found."""


class Single(float):
    """A literal of 32 bits, as in 1.5f."""


class Cursor:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    @property
    def rest(self) -> str:
        return self.text[self.at:]

    def _skip(self) -> None:
        while self.text[self.at:self.at + 1] == " ":
            self.at += 1

    def at_end(self) -> bool:
        self._skip()
        return not self.rest or self.rest.startswith("#")

    def take_rest(self) -> str:
        self._skip()
        rest, self.at = self.rest, len(self.text)
        return rest

    def accept(self, word: str) -> bool:
        """Steps over a word if it is next; a word must end there."""
        self._skip()
        if not self.rest.startswith(word):
            return False
        following = self.rest[len(word):len(word) + 1]
        if re.match(r"\w", word[-1]) and re.match(r"[\w-]", following):
            return False
        self.at += len(word)
        return True

    def need(self, word: str) -> None:
        if not self.accept(word):
            raise CaseFailure(f"expected '{word}' at '{self.rest}'")

    def is_next(self, *words: str) -> bool:
        at = self.at
        found = any(self.accept(word) for word in words)
        self.at = at
        return found

    def _match(self, pattern: re.Pattern[str]) -> Optional[re.Match[str]]:
        self._skip()
        found = pattern.match(self.text, self.at)
        if found:
            self.at = found.end()
        return found

    def name(self) -> str:
        found = self._match(_NAME)
        if not found:
            raise CaseFailure(f"expected a name at '{self.rest}'")
        return found[0]

    def integer(self) -> int:
        found = self._match(_INTEGER)
        if not found:
            raise CaseFailure(f"expected a whole number at '{self.rest}'")
        return int(found[0])

    def in_backquotes(self) -> str:
        self.need("`")
        text, _, _ = self.rest.partition("`")
        self.at += len(text) + 1
        return text

    # -------------------------------------------------------------------------------------------- literals

    def literal(self, resolve: Callable[[Cursor], Any]) -> Any:
        return self._values("]", resolve) if self.accept("[") else self.value(resolve)

    def arguments(self, resolve: Callable[[Cursor], Any]) -> list[Any]:
        return self._values(")", resolve) if self.accept("(") else []

    def _values(self, close: str, resolve: Callable[[Cursor], Any]) -> list[Any]:
        values: list[Any] = []
        while not self.accept(close):
            if values:
                self.need(",")
            values.append(self.literal(resolve))
        return values

    def _map(self, resolve: Callable[[Cursor], Any]) -> dict[str, Any]:
        """The rest of {"key": value, ...}."""
        entries: dict[str, Any] = {}
        while not self.accept("}"):
            if entries:
                self.need(",")
            key = self.value(resolve)
            self.need(":")
            entries[key] = self.value(resolve)
        return entries

    def key(self, resolve: Callable[[Cursor], Any]) -> Any:
        """A primary key: in `Person/1.name` the dot is not part of a number."""
        return self.integer() if re.match(r"-?\d", self.rest) else self.value(resolve)

    def value(self, resolve: Callable[[Cursor], Any]) -> Any:
        for word, constant in (("null", None), ("true", True), ("false", False)):
            if self.accept(word):
                return constant
        if self.accept("ts("):
            seconds = self.integer()
            self.need(",")
            nanoseconds = self.integer()
            self.need(")")
            moment = EPOCH + timedelta(seconds=seconds, microseconds=nanoseconds // 1000)
            return Timestamp.of(moment, nanoseconds % 1000) if nanoseconds % 1000 else moment
        if self.accept("["):
            return self._values("]", resolve)
        if self.accept("{"):
            return self._map(resolve)
        named = self._match(_NAMED)
        if named:
            return _NAMED_TYPES[named[1]](named[2])
        data = self._match(_DATA)
        if data:
            return bytes.fromhex(data[1])
        string = self._match(_STRING)
        if string:
            text = _unescaped(string[1])
            return text * self.integer() if self.accept("*") else text
        number = self._match(_NUMBER)
        if number:
            return _number(number[0])
        return resolve(self)


def _unescaped(text: str) -> str:
    """Bytes that are no UTF-8 become lone surrogates, which is how Python holds them."""
    content = b""
    end = 0
    for escape in _ESCAPE.finditer(text):
        content += text[end:escape.start()].encode()
        content += (bytes.fromhex(escape[1]) if escape[1]
                    else {"n": b"\n", "t": b"\t"}.get(escape[2], escape[2].encode()))
        end = escape.end()
    return (content + text[end:].encode()).decode(errors="surrogateescape")


def _number(text: str) -> Any:
    if text.endswith("f") and text.lstrip("+-") != "inf":
        return Single(text[:-1])
    return float(text) if re.search(r"[.einf]", text) else int(text)
