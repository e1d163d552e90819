"""How objects, collections and databases show themselves: `repr()` in one line with what is in them, and tables of HTML
for notebooks. Long things are cut, and say how much there is in all."""
from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any, Optional

from ._convert import (
    DATA, BOOL, DECIMAL, DOUBLE, FLOAT, INT, INVERSE, LINK, MIXED, NULL, OBJECT_ID, STRING, TIMESTAMP, UUID,
)
from ._ffi import lib
from .objectid import ObjectId
from .sequenced import Sequenced, is_sequence

#: What Python calls the types.
NAMES = {NULL: "None", BOOL: "bool", INT: "int", FLOAT: "Float32", DOUBLE: "float", STRING: "str", DATA: "bytes",
         TIMESTAMP: "datetime", DECIMAL: "Decimal", OBJECT_ID: "ObjectId", UUID: "UUID", MIXED: "Any", LINK: "object"}
#: Elements of a collection inside of an object, objects of a collection, and characters of a value.
FEW, SOME, WIDE = 5, 3, 60
#: Levels of lists and dicts inside each other; one may hold itself.
_DEEPEST = 5
#: Rows of a table.
ROWS = 20


def element_name(type_: int, target: Optional[str], converter: Any) -> str:
    """What the values of a property or collection are."""
    if converter is not None:
        return str(converter.name)
    return target if type_ in (LINK, INVERSE) and target else NAMES[type_]


def type_name(declared: Any) -> str:
    """The type of a property, as an annotation says it."""
    name = element_name(declared.type, declared.target, declared.converter)
    if declared.type == INVERSE:
        return f"Backlinks[{name}]"
    if declared.nullable and declared.type != MIXED:
        name += " | None"
    if declared.shape is not None:
        if declared.shape.elements is not None:
            names = [element_name(each.type, None, each.converter) for each in declared.shape.elements]
            return f"tuple[{', '.join(names)}]"
        length = declared.shape.length
        return f"tuple[{name}, ...]" if length is None else f"tuple[{', '.join([name] * length)}]"
    form = {lib.MOTTE_COLLECTION_LIST: "list[{}]", lib.MOTTE_COLLECTION_SET: "set[{}]",
            lib.MOTTE_COLLECTION_MAP: "dict[str, {}]"}.get(declared.collection, "{}")
    return form.format(name)


# ------------------------------------------------------------------------------------------------ one line


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[:width - 3] + "..."


def value_text(value: Any, width: int = WIDE, depth: int = 0) -> str:
    """A value inside of something else: objects by their key, a few elements of collections."""
    if hasattr(value, "_row") and hasattr(value, "_declared"):
        return object_name(value)
    if isinstance(value, (str, bytes)):
        return _cut(repr(value), width)
    if depth == _DEEPEST and isinstance(value, (Mapping, list)):
        return "..."
    if isinstance(value, Mapping):
        return _several("{", _pairs(value, FEW, depth + 1), len(value), "}")
    if isinstance(value, AbstractSet):
        texts = [value_text(each, 30) for each in _first(value, FEW)]
        return _several("{", texts, len(value), "}") if texts else "set()"
    if is_sequence(value) and not isinstance(value, tuple):
        return _several("[", [value_text(each, 30, depth + 1) for each in value[:FEW]], len(value), "]")
    return _cut(repr(value), width)


def _first(values: Iterable[Any], count: int) -> list[Any]:
    if isinstance(values, (Sequence, Sequenced)):
        return list(values[:count])
    return [each for _, each in zip(range(count), values)]


def _pairs(values: Mapping[Any, Any], count: int, depth: int = 0) -> list[str]:
    return [f"{repr(key)[:WIDE]}: {value_text(values[key], 30, depth)}" for key in _first(values, count)]


def _several(opening: str, texts: list[str], count: int, closing: str) -> str:
    more = [f"... {count:,} in all"] if count > len(texts) else []
    return f"{opening}{', '.join(texts + more)}{closing}"


def object_name(instance: Any) -> str:
    """`<Dog 'Rex'>`, by the primary key or by the number of the row."""
    key = next((name for name, declared in instance._declared().items() if declared.field.primary_key), None)
    shown = f"{getattr(instance, key)!r:.60}" if key else f"#{instance._key}" if instance._row is not None else "..."
    return f"<{type(instance).__name__} {shown}>"


def object_text(instance: Any, most: Optional[int] = None) -> str:
    """`Dog(name='Rex', age=3)`; with `most`, properties up to about so many characters."""
    texts: list[str] = []
    for name, declared in instance._declared().items():
        if declared.is_stored:
            if most is not None and sum(map(len, texts)) >= most:
                texts.append("...")
                break
            texts.append(f"{name}={value_text(getattr(instance, name), WIDE if most is None else 30)}")
    return f"{type(instance).__name__}({', '.join(texts)})"


def collection_text(name: str, what: str, values: Any, brackets: str) -> str:
    """`<List: 3 str ['a', 'b', 'c']>`"""
    count = len(values)
    if not count:
        return f"<{name}: 0 {what}>"
    if isinstance(values, Mapping):
        texts = _pairs(values, 2 * FEW)
    else:
        shown = values[:2 * FEW]
        is_objects = hasattr(shown[0], "_declared")
        texts = [object_text(each, 60) for each in shown[:SOME]] if is_objects else [
            value_text(each, 30) for each in shown]
    return f"<{name}: {count:,} {what} {_several(brackets[0], texts, count, brackets[1])}>"


# ------------------------------------------------------------------------------------------------ tables


def table(columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[str]], caption: str) -> str:
    """Of columns with a name and a type; everything is text and is escaped."""
    from html import escape

    head = "".join(
        f"<th>{escape(name)}" + (f"<br><small>{escape(kind)}</small>" if kind else "") + "</th>"
        for name, kind in columns)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>\n" for row in rows)
    return (f'<table class="motte">\n<caption>{escape(caption)}</caption>\n'
            f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>")


def _cell(value: Any) -> str:
    # A text stands in a cell as it is, and so does what has a text that says all of it.
    if isinstance(value, (str, date, time, timedelta, Decimal, uuid.UUID, ObjectId)):
        return _cut(str(value), 2 * WIDE)
    return value_text(value, 2 * WIDE)


def object_table(instance: Any) -> str:
    """The properties of an object, one below the other."""
    rows = [(name, type_name(declared), _cell(getattr(instance, name)))
            for name, declared in instance._declared().items()]
    return table([("property", ""), ("type", ""), ("value", "")], rows, object_name(instance))


def elements_table(columns: Sequence[tuple[str, str]], elements: Sequence[Any], caption: str) -> str:
    """The elements of a collection: a column for each property, or one of values."""
    names = [name for name, _ in columns]
    # Collections have no properties, and what shows them has one column.
    is_value = not elements or not hasattr(elements[0], "to_dict")
    return table(columns, [[_cell(each)] if is_value else [_cell(getattr(each, name)) for name in names]
                           for each in elements], caption)


def map_table(what: str, values: Mapping[str, Any], caption: str) -> str:
    """Keys and values."""
    rows = [(key, _cell(values[key])) for key in _first(values, ROWS)]
    return table([("key", "str"), ("value", what)], rows, caption)


def range_caption(first: int, count: int, total: int, what: str) -> str:
    """`1 to 20 of 1,204 Person`"""
    if not count:
        return f"{total:,} {what}"
    return f"{total:,} {what}" if count == total else f"{first + 1:,} to {first + count:,} of {total:,} {what}"
