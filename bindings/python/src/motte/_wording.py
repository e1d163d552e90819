"""The library's sentences in Python's words: it speaks of realms and handles, and of null as C does."""
from __future__ import annotations

import re

#: The types of values as Python calls them.
_NAMES = {"string": "str", "data": "bytes", "timestamp": "datetime", "double": "float", "decimal": "Decimal",
          "objectId": "motte.ObjectId", "uuid": "uuid.UUID", "link": "an object", "mixed": "Any", "null": "None"}
_HOLDS = re.compile(r"^((?:row \d+: )?\S+) holds (\w+), not (\w+)$")


def _takes(found: re.Match[str]) -> str:
    return f"{found[1]} takes {_NAMES.get(found[2], found[2])}, not {_NAMES.get(found[3], found[3])}"


_RULES = [(re.compile(pattern), words) for pattern, words in (
    (r"^changes need a write transaction; begin one first$",
     "changes need a write: put `with db.write():` around them"),
    # Not of an object, whose class may be called like that.
    (r"\b(this|that|a|another|live|new|last|frozen|the|open|other) (?:realm|session)s?\b(?! has been deleted)",
     r"\1 database"),
    (r"\bThe realm\b", "The database"),
    (r"\bthe handle was made before fork\(\)", "this was made before fork()"),
    (r"\b[\w ]+ handle was used after it had been released", "this was used after it had been given up"),
    (r"; release some$", "; let go of some objects and collections"),
    (r"all (\d+) handles are in use", r"all \1 handles for objects and collections are in use"),
    (r"the handle is ([\w ]+), wanted is ([\w ]+)", r"this is \1, wanted is \2"),
    (r"; pass NULL$", "; give None"),
    (r"; use MOTTE_PROP_SELF$", "; name no property"),
    (r"^The number is not a handle of this library\.", "This is nothing of this library."),
    (r"^The handle\b", "This"),
    (r"^struct_size is not set to the size of the struct\.", "A struct has another size than the library's."),
    (r"^the handle is NULL$", "there is nothing to call this for"),
    (r"; realms, objects and collections can$", "; databases, objects and collections can"),
    (r"\b(is|are) NULL\b", r"\1 missing"),
    (r"the bytes of a nested (\w+) are not such as motte_nested_\w+\(\) makes, or go deeper than",
     r"a nested \1 goes deeper than"),
    (r"; MOTTE_NTS is not for values$", ""),
    (r"; see whether it is valid before$", "; ask is_valid before"),
)]
#: Most messages have none of these.
_MARKS = re.compile(
    r"write transaction|realm|session|handle|NULL|struct_|MOTTE_|motte_|release|valid before", re.IGNORECASE)


def of_python(message: str) -> str:
    if not _MARKS.search(message):
        return _HOLDS.sub(_takes, message)
    for pattern, words in _RULES:
        message = pattern.sub(words, message)
    return message
