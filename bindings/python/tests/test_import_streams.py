"""Streams that fail on the way, and structs that say what is not so: all of it is refused, and nothing stays."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow
import pytest

import motte
from importing_model import Item, column, opened
from motte import _arrow
from motte._ffi import NULL, ffi, lib

#: What C has pointers to.
KEPT: list[Any] = []


@pytest.fixture
def db() -> Iterator[motte.Database]:
    with opened() as database:
        yield database


def test_a_stream_that_fails_undoes_everything(db: motte.Database) -> None:
    schema = pyarrow.schema([("id", pyarrow.int64())])

    def batches() -> Iterator[Any]:
        yield pyarrow.record_batch([pyarrow.array([1, 2])], schema=schema)
        raise RuntimeError("the network is gone")

    with db.write():
        with pytest.raises(motte.errors.Error, match="the network is gone"):
            db.import_data(Item, pyarrow.RecordBatchReader.from_batches(schema, batches()))
        assert db.count(Item) == 0
    with pytest.raises(motte.errors.Error, match="capsule"):
        db.import_data(Item, NotAStream())


class NotAStream:
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return "no capsule"


def test_columns_of_other_names_come_a_batch_at_a_time() -> None:
    class Named(motte.Model):
        id: int = motte.field(primary_key=True, stored_name="key")
        text: str = motte.field(default="", stored_name="content")

    schema = pyarrow.schema([("text", pyarrow.string()), ("id", pyarrow.int64())])
    before, most = pyarrow.total_allocated_bytes(), 0

    def batches() -> Iterator[Any]:
        nonlocal most
        for number in range(20):
            text = f"{number:01000000}"
            yield pyarrow.record_batch([pyarrow.array([text]), pyarrow.array([number])], schema=schema)
            most = max(most, pyarrow.total_allocated_bytes() - before)

    with motte.open(in_memory="importing named", schema=[Named]) as db:
        assert db.import_data(Named, pyarrow.RecordBatchReader.from_batches(schema, batches())) == (20, 0)
        assert db.objects(Named).column("text") == [f"{number:01000000}" for number in range(20)]
        assert most < 5_000_000, "20 MB went through"
        one = pyarrow.record_batch([pyarrow.array(["x"]), pyarrow.array([99])], schema=schema)
        assert db.import_data(Named, one) == (1, 0)


def test_a_stream_that_ends_the_write(db: motte.Database) -> None:
    schema = pyarrow.schema([("id", pyarrow.int64())])

    def batches() -> Iterator[Any]:
        yield pyarrow.record_batch([pyarrow.array([1, 2])], schema=schema)
        db._realm.cancel()
        yield pyarrow.record_batch([pyarrow.array([3, 4])], schema=schema)

    with pytest.raises(motte.errors.Error):
        db.import_data(Item, pyarrow.RecordBatchReader.from_batches(schema, batches()))
    assert not db.in_write and db.count(Item) == 0


def test_a_stream_that_writes_itself(db: motte.Database) -> None:
    schema = pyarrow.schema([("id", pyarrow.int64())])

    def batches(last: int) -> Iterator[Any]:
        yield pyarrow.record_batch([pyarrow.array([1, 2])], schema=schema)
        db.add(Item(id=10))
        db.import_data(Item, [{"id": 11}])
        yield pyarrow.record_batch([pyarrow.array([3, last])], schema=schema)

    with db.write():
        with pytest.raises(motte.errors.DuplicatePrimaryKeyError):
            db.import_data(Item, pyarrow.RecordBatchReader.from_batches(schema, batches(11)))
        assert db.count(Item) == 0
        db.import_data(Item, pyarrow.RecordBatchReader.from_batches(schema, batches(4)))
        assert sorted(column(db, "id")) == [1, 2, 3, 4, 10, 11]
    db.verify()


def test_a_stream_that_closes_the_database(db: motte.Database) -> None:
    schema = pyarrow.schema([("id", pyarrow.int64())])

    def batches() -> Iterator[Any]:
        yield pyarrow.record_batch([pyarrow.array([1, 2])], schema=schema)
        db.close()
        yield pyarrow.record_batch([pyarrow.array([3, 4])], schema=schema)

    with pytest.raises(motte.errors.Error):
        db.import_data(Item, pyarrow.RecordBatchReader.from_batches(schema, batches()))


def test_batches_without_rows(db: motte.Database) -> None:
    batch = pyarrow.record_batch({"id": [1, 2, 3], "text": ["a", "b", "c"]})
    empty = [batch.slice(start, 0) for start in (0, 2, 3)]
    table = pyarrow.Table.from_batches([empty[0], batch.slice(1), empty[1], batch.slice(0, 1), empty[2]])
    assert db.import_data(Item, table) == (3, 0) and column(db, "id") == [2, 3, 1]
    assert db.import_data(Item, pyarrow.Table.from_batches(empty)) == (0, 0)
    assert db.import_data(Item, pyarrow.Table.from_batches([], batch.schema), policy="all") == (0, 0)


# ------------------------------------------------------------------------------------------------ hostile structs


class Hostile:
    """A batch of columns id (int64), text (utf8, or what is given) and words (lists of utf8), with something changed in
    its structs."""

    def __init__(self, change: Callable[[Any, Any], None], texts: Any = None, name: str = "text") -> None:
        self.change, self.texts, self.name = change, texts, name

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        texts = self.texts if self.texts is not None else pyarrow.array(["a", None, "c"])
        batch = pyarrow.RecordBatch.from_arrays(
            [pyarrow.array([1, 2, 3]), texts, pyarrow.array([["x"], [], ["y", "z"]])], names=["id", self.name, "words"])
        schema, array = batch.__arrow_c_array__()
        content, data = _arrow._content(0, schema), _arrow._content(1, array)
        for kind, whole in (("struct ArrowSchema", content), ("struct ArrowArray", data)):
            children = [whole.children[index] for index in range(3)]
            self.mended(kind, whole, children + [each.dictionary for each in children if each.dictionary != NULL])
        self.change(content, data)
        return schema, array

    def mended(self, kind: str, whole: Any, children: list[Any]) -> None:
        """What pyarrow made is released by pyarrow as it was."""
        size, original = ffi.sizeof(kind), whole.release
        before = [bytes(ffi.buffer(each, size)) for each in (whole, *children)]

        @ffi.callback(f"void({kind} *)")  # type: ignore[untyped-decorator,unused-ignore]
        def release(place: Any) -> None:
            for each, content in zip((place, *children), before):
                ffi.memmove(each, content, size)
            original(place)

        KEPT.append(release)
        whole.release = release


def set_buffer(column: int, buffer: int, value: Any) -> Callable[[Any, Any], None]:
    def change(schema: Any, array: Any) -> None:
        array.children[column].buffers[buffer] = value
    return change


def set_field(path: str, value: Any) -> Callable[[Any, Any], None]:
    def change(schema: Any, array: Any) -> None:
        whole = {"schema": schema, "array": array, "id": array.children[0], "text": array.children[1],
                 "words": array.children[2], "id_schema": schema.children[0]}
        owner, name = path.split(".")
        value_ = ffi.cast("char *", value) if name == "metadata" else value
        setattr(whole[owner], name, value_)
    return change


def ints(kind: str, *values: int) -> Any:
    KEPT.append(ffi.new(f"{kind}[]", list(values)))
    return ffi.cast("void *", KEPT[-1])


def text_format(text: bytes) -> Any:
    KEPT.append(ffi.new("char[]", text))
    return KEPT[-1]


@pytest.mark.parametrize("change", [
    set_field("array.length", -1), set_field("array.length", 1 << 62), set_field("array.length", 4),
    set_field("array.offset", -1), set_field("array.offset", (1 << 63) - 1), set_field("array.n_children", 2),
    set_field("array.n_children", -1), set_field("id.length", 2), set_field("id.length", -5),
    set_field("id.n_buffers", 1), set_field("id.n_buffers", 1 << 40), set_field("id.null_count", 99),
    set_field("id.null_count", -7), set_field("text.n_buffers", 2), set_field("text.n_buffers", -1),
    set_field("words.n_children", 0), set_buffer(0, 1, NULL), set_buffer(1, 1, NULL), set_buffer(1, 2, NULL),
    set_buffer(2, 1, NULL), set_buffer(1, 0, NULL),
    set_buffer(1, 1, ints("int32_t", 0, -5, 2, 3)), set_buffer(1, 1, ints("int32_t", 2, 1, 0, 3)),
    set_buffer(2, 1, ints("int32_t", 0, 1, 1, 900)), set_buffer(2, 1, ints("int32_t", -3, 1, 1, 2)),
    set_buffer(1, 2, ints("uint8_t", 0xFF, 0xFE, 0xFD)),
    set_field("array.release", NULL), set_field("schema.release", NULL), set_field("id.release", NULL),
    set_field("schema.n_children", 1 << 40), set_field("schema.children", NULL), set_field("schema.format", NULL),
    set_field("schema.format", text_format(b"l")), set_field("id_schema.format", text_format(b"w:-3")),
    set_field("id_schema.format", text_format(b"d:1")), set_field("id_schema.format", text_format(b"+s")),
    set_field("id_schema.format", text_format(b"")), set_field("id_schema.format", text_format(b"\xff\xfe")),
    set_field("id_schema.format", text_format(b"+r")), set_field("id_schema.n_children", 3),
    set_field("array.buffers", NULL), set_field("id_schema.format", text_format(b"d:1,-9223372036854775808")),
    set_field("id_schema.format", text_format(b"w:9223372036854775808")),
    set_field("id_schema.format", text_format(b"+w:4611686018427387904")),
    set_field("id_schema.metadata", ints("int32_t", -1)), set_field("id_schema.metadata", ints("int32_t", 1, -7)),
])
def test_hostile_structs_are_refused(db: motte.Database, change: Callable[[Any, Any], None]) -> None:
    with pytest.raises(motte.errors.Error):
        db.import_data(Item, Hostile(change))
    assert db.count(Item) == 0 and not db.in_write


@pytest.mark.parametrize("views", [
    (-1, 0, 0, 0), (40, 0, 7, 0), (40, 0, -1, 0), (40, 0, 0, 1 << 30), (40, 0, 0, -4), (1 << 30, 0, 0, 0)])
def test_hostile_views_are_refused(db: motte.Database, views: tuple[int, ...]) -> None:
    texts = pyarrow.array(["short", "a text of more than twelve bytes", "x"], pyarrow.string_view())
    content = ints("int32_t", *views, *views, *views)
    with pytest.raises(motte.errors.Error, match="text"):
        db.import_data(Item, Hostile(set_buffer(1, 1, content), texts))
    assert db.count(Item) == 0


def test_codes_outside_of_a_dictionary_are_refused(db: motte.Database) -> None:
    texts = pyarrow.array(["a", "b", "a"]).dictionary_encode()
    for codes in ((0, 1, 2), (0, -1, 1)):
        with pytest.raises(motte.errors.Error, match="dictionary"):
            db.import_data(Item, Hostile(set_buffer(1, 1, ints("int32_t", *codes)), texts))
    assert db.count(Item) == 0 and lib.motte_handle_count(lib.MOTTE_HANDLE_INSERT) == 0


def test_a_dictionary_that_has_been_released_is_refused(db: motte.Database) -> None:
    def change(schema: Any, array: Any) -> None:
        array.children[1].dictionary.release = NULL

    with pytest.raises(motte.errors.InvalidArgumentError, match="dictionary of the Arrow column 'text'"):
        db.import_data(Item, Hostile(change, pyarrow.array(["a", "b", "a"]).dictionary_encode()))
    assert db.count(Item) == 0


def test_schemas_that_never_end_are_refused(db: motte.Database) -> None:
    def change(schema: Any, array: Any) -> None:
        child = schema.children[0]
        KEPT.append(ffi.new("struct ArrowSchema *[2]", [child, child]))
        child.n_children, child.children = 2, KEPT[-1]
        child.format = text_format(b"+s")

    with pytest.raises(motte.errors.InvalidArgumentError, match="nested deeper"):
        db.import_data(Item, Hostile(change))
    assert db.count(Item) == 0


def test_values_without_bytes_need_no_buffer(db: motte.Database) -> None:
    empty = pyarrow.array([b"", b"", b""], pyarrow.binary(0))
    assert db.import_data(Item, Hostile(set_buffer(1, 1, NULL), empty, "data")) == (3, 0)
    assert column(db, "data") == [b"", b"", b""]


@pytest.mark.parametrize("texts", [
    pyarrow.UnionArray.from_sparse(pyarrow.array([0, 0, 0], pyarrow.int8()), [pyarrow.array(["a", "b", "c"])]),
    pyarrow.array([None, None, None], pyarrow.duration("s")),
    pyarrow.RunEndEncodedArray.from_arrays([3], ["a"])], ids=["union", "duration", "run ends"])
@pytest.mark.parametrize("nulls", [3, -1, 0])
def test_types_that_no_property_takes_are_refused_null_or_not(db: motte.Database, texts: Any, nulls: int) -> None:
    for name in ("text", "any"):
        with pytest.raises(motte.errors.WrongTypeError, match=f"Item.{name} is"):
            db.import_data(Item, Hostile(set_field("text.null_count", nulls), texts, name))
    assert db.count(Item) == 0
