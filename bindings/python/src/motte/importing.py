"""Rows of other libraries on their way in: Arrow, pandas and polars, dicts, dataclasses, pydantic models. All or none.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from itertools import islice
from typing import Any, Optional

from . import _arrow, _rules, errors, storing
from ._atomic import atomically
from ._convert import DOUBLE, FLOAT, LINK, TIMESTAMP
from ._ffi import lib, sized
from ._protocols import AnyDatabase
from .exchange import ImportCounts, writing
from .fields import LIST, MAP, MISSING, SET
from .frames import Frames
from .model import EmbeddedModel, Model
from .results import Collection
from .schema import Row
from .timestamps import nanoseconds_behind
from .unmanaged import policy_flags

#: Rows that go into the database together.
_BATCH = 10_000


def import_data(
    database: AnyDatabase, model: type[Model], data: Any, policy: str, ignore_unknown: bool
) -> ImportCounts:
    database._check_task()
    flags = policy_flags(policy)
    row: Row = database._row_of(model)
    data = _frame(row, data)
    with writing(database), atomically(database):
        if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
            columns = _exactly if isinstance(data, Frames) else _renamed
            return _import_arrow(database, row, columns(row.model, data, ignore_unknown), flags, ignore_unknown)
        if isinstance(data, Mapping):
            return _import_columns(database, row, data, policy, ignore_unknown)
        return _import_rows(database, row, data, policy, ignore_unknown)


def _frame(row: Row, data: Any) -> Any:
    """What a library hands over in its own way."""
    library = type(data).__module__.partition(".")[0]
    if library == "pandas" and hasattr(data, "columns"):
        return _from_pandas(row, data)
    if library == "polars":
        data = data.collect() if hasattr(data, "collect") else data
        _check_polars(data)
    return data


def _check_polars(data: Any) -> None:
    """A column of Python objects goes to Arrow as their addresses."""
    schema = getattr(data, "schema", None)
    for name, kind in schema.items() if isinstance(schema, Mapping) else ():
        if "Object" in str(kind):
            raise errors.WrongTypeError(
                f"the polars column '{name}' holds Python objects ({kind}), of which nothing can be read; cast it, or "
                "give rows as dicts", property_name=name)


def _from_pandas(row: Row, data: Any) -> Any:
    """Its index is no column, whatever it is. NaN is a value where None is none, else pandas writes it for None."""
    pyarrow = _arrow.library("pyarrow", "import_data() of a pandas frame")
    if not data.columns.is_unique:
        name = data.columns[data.columns.duplicated()][0]
        raise errors.InvalidArgumentError(f"the frame has several columns named {name!r}")
    try:
        table = pyarrow.Table.from_pandas(data, preserve_index=False)
        for name, declared in row.model._declared().items():
            if declared.type not in (FLOAT, DOUBLE) or name not in table.column_names:
                continue
            position = table.column_names.index(name)
            if declared.collection in (LIST, SET) and data[name].dtype.kind == "O":
                lists = [_list_of_floats(each, declared.nullable) for each in data[name]]
                table = table.set_column(position, name, pyarrow.array(lists, from_pandas=False))
            if declared.nullable or not declared.is_plain:
                continue
            # Those of NumPy have no other way to say that there is none; others of pandas do.
            if table.column(position).null_count and type(data[name].dtype).__module__.startswith("numpy") and (
                    data[name].dtype.kind == "f"):
                values = pyarrow.array(data[name].to_numpy(), from_pandas=False)
                table = table.set_column(position, name, values)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, pyarrow.ArrowNotImplementedError) as error:
        raise errors.WrongTypeError(f"the frame has a column that pyarrow cannot read: {error}") from None
    return table


def _renamed(model: type[Model], data: Any, ignore_unknown: bool) -> Any:
    """Columns by the names that the file has; what comes a batch at a time still does. A column that is called as the
    file calls a property, and no property of the class, is none."""
    if not model._maps_names():
        return data
    pyarrow = _arrow.library("pyarrow", "import_data() of properties with other names in the file")
    reader = pyarrow.RecordBatchReader.from_stream(data) if hasattr(
        data, "__arrow_c_stream__") else pyarrow.table(data).to_reader()
    places, names = _places(model, reader.schema.names, ignore_unknown)
    schema = pyarrow.schema([reader.schema.field(place).with_name(name) for place, name in zip(places, names)])
    return pyarrow.RecordBatchReader.from_batches(schema, (
        pyarrow.RecordBatch.from_arrays([batch.column(place) for place in places], schema=schema)
        for batch in reader))


def _list_of_floats(cell: Any, may_hold_none: bool) -> Any:
    """Within a list NaN is a value, unless it is an array, which has no None. In place of a list it is none."""
    if not hasattr(cell, "__len__"):
        return None
    if may_hold_none and hasattr(cell, "dtype"):
        return [None if value != value else value for value in cell.tolist()]
    return cell


def _places(model: type[Model], names: Sequence[str], ignore_unknown: bool) -> tuple[list[int], list[str]]:
    """Which of the columns are properties of the class, and what the file calls these."""
    stored = {name: declared.stored_name for name, declared in model._declared().items()}
    unknown = next((name for name in names if name not in stored), None)
    if unknown is not None and not ignore_unknown:
        raise errors.UnknownPropertyError(
            f"{model.__name__} has no property '{unknown}'", class_name=model.__name__, property_name=unknown)
    places = [place for place, name in enumerate(names) if name in stored]
    return places, [stored[names[place]] for place in places]


def _import_arrow(
    database: AnyDatabase, row: Row, data: Any, flags: int, ignore_unknown: bool
) -> ImportCounts:
    options = sized("motte_import_options")
    # The library takes times of all years, and nobody could read those that no datetime can hold.
    options.flags = lib.MOTTE_IMPORT_YEARS_1_TO_9999 | lib.MOTTE_IMPORT_IGNORE_UNKNOWN * ignore_unknown
    options.policy = flags
    counts = sized("motte_import_counts")
    try:
        _arrow.insert(database._realm.handle, row.class_id, data, options, counts)
    except errors.Error as error:
        _name(error, row.model)
        raise
    return ImportCounts(int(counts.created), int(counts.updated))


def _name(error: errors.Error, model: type[Model]) -> None:
    """The library knows properties by the names that the file has."""
    stored = error.property_name
    for name, declared in model._declared().items():
        if error.class_name == model._stored_name and declared.stored_name == stored != name:
            error.message = error.message.replace(f"{model._stored_name}.{stored}", f"{model.__name__}.{name}", 1)
            error.class_name, error.property_name = model.__name__, name
            return


def _exactly(model: type[Model], data: Frames, ignore_unknown: bool) -> Any:
    """Objects of another database, or of this one, with the nanoseconds of their times. Where one is so far from today
    that no number of nanoseconds stands for it, there must be none."""
    titles, columns = data._titles(()), None
    if model._maps_names():
        own = _arrow.column_names(data._coll, _arrow.Options())
        places, titles = _places(model, titles or own, ignore_unknown)
        columns = [own[place] for place in places]

    def made(unit: str) -> _arrow.Stream:
        return _arrow.Stream(data._coll, _arrow.Options(columns, titles=titles, unit=unit), data._database)

    stream = made("ns")
    try:
        for _ in _arrow.batches(data._coll, stream.options):
            pass
    except errors.NumberOverflowError:
        for instance in iter(data) if data._model() is not None and isinstance(data, Iterable) else ():
            name = _finer(instance)
            if name is not None:
                raise errors.NumberOverflowError(
                    f"'{name}' may have nanoseconds, and there is a time so far from today that it has no number of "
                    "nanoseconds; import the two apart", property_name=name) from None
        return made("us")
    return stream


def _finer(instance: Model) -> Optional[str]:
    """A property, of this object or one embedded in it, that has nanoseconds behind its microseconds, or may have: a
    converter does not show what is stored."""
    for name, declared in type(instance)._declared().items():
        target = declared.target_class if declared.type == LINK else None
        is_embedded = target is not None and issubclass(target, EmbeddedModel)
        if not is_embedded and declared.type != TIMESTAMP:
            continue
        value = getattr(instance, name)
        values = [value] if declared.is_plain else value.values() if declared.collection == MAP else value
        for each in values:
            if each is None:
                continue
            if _finer(each) if is_embedded else nanoseconds_behind(each) if declared.converter is None else (
                    declared.converter.type is not date):
                return name
    return None


def _import_columns(
    database: AnyDatabase, row: Row, columns: Mapping[str, Any], policy: str, ignore_unknown: bool
) -> ImportCounts:
    if ignore_unknown:
        columns = {name: values for name, values in columns.items() if name in row.properties}
    counts = _Counting(database, row)
    return counts.of(storing.insert_columns(database, row.model, columns, policy))


class _Counting:
    """What becomes of rows: other objects of the class may come with them."""

    def __init__(self, database: AnyDatabase, row: Row) -> None:
        self._database, self._row = database, row
        self._before = database._realm.class_count(row.class_id)
        self._first_new = storing._first_unused(database, row.class_id)

    def of(self, keys: Iterable[int]) -> ImportCounts:
        """Keys of the objects of the rows, of which several may be the same."""
        keys = list(keys)
        new = len({key for key in keys if key >= self._first_new})
        return ImportCounts(self._database._realm.class_count(self._row.class_id) - self._before, len(keys) - new)


# ------------------------------------------------------------------------------------------------ rows


def _import_rows(
    database: AnyDatabase, row: Row, data: Iterable[Any], policy: str, ignore_unknown: bool
) -> ImportCounts:
    if isinstance(data, (str, bytes)) or not isinstance(data, Iterable):
        raise errors.WrongTypeError(
            "what to import is an Arrow, pandas or polars table, a dict of columns, or rows: dicts, dataclasses, "
            f"pydantic models or objects; not {data!r:.60}")
    if isinstance(data, Collection):
        data = iter(data)
    created = updated = done = 0
    rows = iter(data)
    while batch := list(islice(rows, _BATCH)):
        try:
            counts = _import_batch(database, row, batch, policy, ignore_unknown)
        except errors.Error as error:
            if error.row_index is not None:
                errors.in_row(error, error.row_index + done)
            raise
        created, updated, done = created + counts.created, updated + counts.updated, done + len(batch)
    return ImportCounts(created, updated)


def _import_batch(
    database: AnyDatabase, row: Row, batch: Sequence[Any], policy: str, ignore_unknown: bool
) -> ImportCounts:
    counts = _Counting(database, row)
    kinds = set(map(type, batch))
    if kinds == {row.model}:
        keys: Iterable[int] = _stored(database, list(batch), policy)
    else:
        made = [_as_mapping(each, number) for number, each in enumerate(batch)]
        names = list(dict.fromkeys(name for values in made for name in values))
        if ignore_unknown:
            names = [name for name in names if name in row.properties]
        for name in names:
            row.bound(name)
        if all(row.bound(name).is_plain and not row.bound(name).may_hold for name in names) and all(
                len(values) == len(made[0]) and values.keys() == made[0].keys() for values in made):
            keys = storing.insert_columns(
                database, row.model, {name: [values[name] for values in made] for name in names}, policy)
        elif policy != "error" and any(len(values.keys() & row.properties.keys()) < _stored_count(row.model)
                                       for values in made):
            # What a row does not name stays as it is.
            keys = [_merged(database, row, values, set(names), policy, number) for number, values in enumerate(made)]
        else:
            known = set(names)
            objects = [_object(row, values, known, number) for number, values in enumerate(made)]
            keys = _stored(database, objects, policy)
    return counts.of(keys)


def _stored(database: AnyDatabase, objects: list[Model], policy: str) -> list[int]:
    """Their keys."""
    if policy == "error":
        storing.add_all(database, objects, False)
    else:
        storing.upsert_all(database, objects, policy)
    return [each._key for each in objects]


def _as_mapping(each: Any, number: int) -> Mapping[str, Any]:
    if isinstance(each, Mapping):
        return each
    found = _fields(each)
    if found is None:
        raise errors.WrongTypeError(
            f"a dict, a dataclass or a pydantic model is wanted, not {each!r:.60}", row_index=number)
    return found


def _fields(each: Any) -> Optional[Mapping[str, Any]]:
    """What an object of another library is made of, one level deep; None for what is a value."""
    if not isinstance(each, type) and hasattr(type(each), "__dataclass_fields__"):
        import dataclasses

        return {field.name: getattr(each, field.name) for field in dataclasses.fields(each)}
    declared = getattr(type(each), "model_fields", None)
    if isinstance(declared, Mapping):
        return {name: getattr(each, name) for name in declared}
    if isinstance(each, Model) and each._row is None:
        return each._values
    if isinstance(each, tuple) and hasattr(each, "_asdict"):
        named: Mapping[str, Any] = each._asdict()
        return named
    return None


def _stored_count(model: type[Model]) -> int:
    return sum(declared.is_stored for declared in model._declared().values())


def _merged(
    database: AnyDatabase, row: Row, values: Mapping[str, Any], known: set[str], policy: str, number: int
) -> int:
    """The key of the object that was made or changed."""
    given = {name: _value(row.model, name, value) for name, value in values.items() if name in known}
    try:
        return storing.create_or_update(database, row.model, policy, given)._key
    except errors.Error as error:
        error.row_index = number
        raise


def _object(row: Row, values: Mapping[str, Any], known: set[str], number: int) -> Model:
    """An object in no database yet, of which embedded ones may be dicts too."""
    given = {name: _value(row.model, name, value) for name, value in values.items() if name in known}
    try:
        for name, declared in row.model._declared().items():
            field = declared.field
            if name not in given and declared.is_stored and not declared.has_start and (
                    field.default is MISSING and field.default_factory is MISSING):
                raise _rules.missing(row.model, name)
        return row.model(**given)
    except errors.Error as error:
        if error.row_index is None:
            error.row_index = number
        raise


def _value(model: type[Model], name: str, value: Any) -> Any:
    declared = model._declared()[name]
    if declared.type != LINK:
        return value
    target = declared.target_class
    if target is None or not issubclass(target, EmbeddedModel):
        return value
    make = partial(_embedded, target)
    if declared.is_plain:
        return make(value)
    if isinstance(value, Mapping):
        return {key: make(each) for key, each in value.items()}
    return [make(each) for each in value] if isinstance(value, (list, tuple)) else value


def _embedded(model: type[Model], value: Any) -> Any:
    if value is None or isinstance(value, Model):
        return value
    found: Any = value if isinstance(value, Mapping) else _fields(value)
    if found is None:
        return value
    unknown: Iterator[str] = (name for name in found if name not in model._declared())
    for name in unknown:
        raise errors.UnknownPropertyError(
            f"{model.__name__} has no property '{name}'", class_name=model.__name__, property_name=name)
    return model(**{name: _value(model, name, each) for name, each in found.items()})
