"""Query text as programs write it, made what the library reads: named arguments become `$0`, `$1`, ..., and names of
properties those that the file has."""
from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Optional

#: Words that query text would not take for a property at the start of a path.
KEYWORDS = frozenset(
    "and or not any some all none in between like matches contains beginswith endswith true false yes no null nil "
    "nan inf infinity self geowithin truepredicate falsepredicate sort limit offset distinct group subquery asc "
    "desc ascending descending".split())
_PLAIN = re.compile(r"[^\W\d]\w*\Z")
_TOKEN = re.compile(r"""
    (?P<text>   "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])*' )
  | (?P<quoted> `(?:\\.|[^`\\])*` )
  | (?P<dollar> \$\w+ )
  | (?P<name>   @?[^\W\d]\w* )
  | (?P<number> \d[\w.]* )
  | (?P<blank>  \s+ )
  | (?P<other>  . )
""", re.VERBOSE | re.DOTALL)
#: A name in a key path.
_KEY = re.compile(r"`(?:\\.|[^`\\])*`|[^.]+")


def name_text(name: str) -> str:
    """A property as it is written in a query."""
    if _PLAIN.match(name) and name.lower() not in KEYWORDS:
        return name
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1])


class _Walk:
    """What a path has led to so far. A model is asked for `_stored_step(name)`."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def step(self, name: str) -> str:
        if self.model is None:
            return name
        stored, self.model = self.model._stored_step(name)
        return str(stored)


def rewritten(text: str, model: Optional[Any], arguments: Mapping[str, int]) -> tuple[str, set[str]]:
    """The text with the positions of named arguments, and with stored names where a model is given; and the names of
    the arguments that it has."""
    pieces: list[str] = []
    used: set[str] = set()
    variables: dict[str, Any] = {}
    walk = _Walk(None)
    before = ""
    #: Whether a path that a subquery is about has been read, or waited for.
    subquery = False
    brackets = 0
    for token in _TOKEN.finditer(text):
        kind, piece = token.lastgroup, token.group()
        if kind == "dollar":
            name = piece[1:]
            if subquery and before == ",":
                # The variable that stands for the elements of the path before it.
                variables[name], subquery = walk.model, False
            elif name in variables:
                walk = _Walk(variables[name])
            elif name in arguments:
                used.add(name)
                piece = f"${arguments[name]}"
        elif kind in ("name", "quoted") and not brackets and not piece.startswith("@"):
            name = _unquoted(piece) if kind == "quoted" else piece
            if before == ".":
                piece = _shown(walk.step(name), name, piece)
            elif kind == "name" and name.lower() in KEYWORDS:
                subquery = subquery or name.lower() == "subquery"
            elif not text.startswith("'", token.end()) and not text[token.end():].lstrip().startswith("("):
                walk = _Walk(model)
                piece = _shown(walk.step(name), name, piece)
        brackets += (piece == "[") - (piece == "]")
        if kind != "blank":
            before = piece if kind == "other" else ""
        pieces.append(piece)
    return "".join(pieces), used


def _shown(stored: str, name: str, piece: str) -> str:
    return piece if stored == name else name_text(stored)


def stored_path(path: str, model: Optional[Any]) -> str:
    """A key path, such as `owner.name`, by the names that the file has. Key paths have no quotes around names."""
    maps = model is not None and model._maps_names()
    if not maps and "`" not in path:
        return path
    walk = _Walk(model if maps else None)
    names = [_unquoted(name) if name.startswith("`") else name for name in _KEY.findall(path)]
    return ".".join(name if name.startswith("@") else walk.step(name) for name in names)
