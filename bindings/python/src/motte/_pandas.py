"""Tables of pyarrow as frames of pandas."""
from __future__ import annotations

from typing import Any


def frame(library: Any, pyarrow: Any, table: Any) -> Any:
    """A table of pyarrow as a frame. pandas' own way makes floats of ints among which one is missing."""
    kinds = pyarrow.types
    nullable = {pyarrow.int8(): library.Int8Dtype(), pyarrow.int16(): library.Int16Dtype(),
                pyarrow.int32(): library.Int32Dtype(), pyarrow.int64(): library.Int64Dtype(),
                pyarrow.bool_(): library.BooleanDtype()}
    others: dict[int, Any] = {}
    for number, field in enumerate(table.schema):
        if field.nullable and field.type in nullable:
            column = table.column(number)
            others[number] = library.Series(column.to_pandas(types_mapper=nullable.get), name=field.name)
        elif kinds.is_nested(field.type) and _has_fixed(pyarrow, field.type):
            # pyarrow has no way for lists of identifiers, nor for maps of them.
            values = table.column(number).to_pylist()
            if kinds.is_map(field.type):
                values = [None if value is None else list(value) for value in values]
            others[number] = library.Series(values, dtype=object, name=field.name)
    rest = [number for number in range(table.num_columns) if number not in others]
    made = table.select(rest).to_pandas(split_blocks=True, self_destruct=True) if rest else library.DataFrame(
        index=range(table.num_rows))
    for number, column in others.items():
        made.insert(number, column.name, column, allow_duplicates=True)
    return made


def _has_fixed(pyarrow: Any, kind: Any) -> bool:
    """Whether identifiers are somewhere in a type."""
    if isinstance(kind, pyarrow.BaseExtensionType) or pyarrow.types.is_fixed_size_binary(kind):
        return True
    return any(_has_fixed(pyarrow, kind.field(number).type) for number in range(kind.num_fields))
