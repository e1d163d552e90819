"""Names of properties as query text, key paths and the file have them."""
from __future__ import annotations

import re
from typing import Any, Optional

#: Words that query text would not take for a property at the start of a path: written in backquotes there.
KEYWORDS = frozenset(
    "and or not any some all none in between like matches contains beginswith endswith true false yes no null nil "
    "nan inf infinity self geowithin truepredicate falsepredicate sort limit offset distinct group subquery asc "
    "desc ascending descending".split())
_PLAIN = re.compile(r"[^\W\d]\w*\Z")
#: A name in a key path.
_KEY = re.compile(r"`(?:\\.|[^`\\])*`|[^.]+")


def name_text(name: str) -> str:
    """A property as it is written in a query."""
    if _PLAIN.match(name) and name.lower() not in KEYWORDS:
        return name
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1])


def key_path(path: str) -> str:
    """A key path, such as `owner.name`, as the library takes it: without quotes around names."""
    return path if "`" not in path else ".".join(names_of(path))


def stored_path(path: str, model: Optional[Any]) -> str:
    """The same by the names that the file has. A model is asked for `_stored_step(name)`."""
    if model is None or not model._maps_names():
        return key_path(path)
    stored: list[str] = []
    for name in names_of(path):
        if model is not None and not name.startswith("@"):
            name, model = model._stored_step(name)
        stored.append(name)
    return ".".join(stored)


def names_of(path: str) -> list[str]:
    return [_unquoted(name) if name.startswith("`") else name for name in _KEY.findall(path)]
