"""What is shown: `repr()` of everything, tables of HTML for notebooks, pages, signatures and help."""
from __future__ import annotations

import asyncio
import copy
import enum
import html.parser
import inspect
import pickle
import pydoc
import re
from collections.abc import Callable
from datetime import date
from typing import Any, Literal, Optional

import pytest

import motte
from conftest import Dog, Person
from motte import errors
from test_refusals import on_thread

NASTY = "<script>alert('&')</script>"


class Size(enum.Enum):
    SMALL = 1


class Tin(motte.EmbeddedModel):
    label: str = ""


class Shelf(motte.Model):
    label: str
    size: Size = Size.SMALL
    tins: list[Tin] = motte.field(default_factory=list)
    marks: set[int] = motte.field(default_factory=set)
    prices: dict[str, Optional[float]] = motte.field(default_factory=dict)
    extra: motte.Mixed = None
    since: Optional[date] = None
    place: tuple[float, float] = (0.0, 0.0)
    pair: tuple[str, int] = ("", 0)
    kind: Literal["a", "b"] = "a"


@pytest.fixture
def people(db: motte.Database) -> motte.Database:
    with db.write():
        for number in range(45):
            person = db.add(Person(name=f"P{number}", age=number, tags=["a", "b"] * number))
        db.add(Dog(name=NASTY, owner=person))
    return db


class Tables(html.parser.HTMLParser):
    """The cells of a page, row by row; anything but a table of text is an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.caption, self.open = "", [""]
        self.feed(text)
        self.close()
        assert self.open == [""]

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        assert tag in ("table", "caption", "thead", "tbody", "tr", "th", "td", "br", "small")
        assert attrs in ([], [("class", "motte")])
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag == "small":
            self.rows[-1][-1] += ": "
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data
        elif "caption" in self.open:
            self.caption += data


# ------------------------------------------------------------------------------------------------ one line


def test_objects_show_what_they_hold() -> None:
    shelf = Shelf(label="top", tins=[Tin(label="x")], marks={2}, prices={"a": 1.0}, extra=[1, {"b": 2}],
                  since=date(2024, 1, 2), kind="b")
    text = ("Shelf(label='top', size=<Size.SMALL: 1>, tins=[<Tin {}>], marks={{2}}, prices={{'a': 1.0}}, "
            "extra=[1, {{'b': 2}}], since=datetime.date(2024, 1, 2), place=(0.0, 0.0), pair=('', 0), kind='b')")
    assert repr(shelf) == text.format("...")
    with motte.open(in_memory="shelves", schema=[Shelf, Tin]) as db:
        with db.write():
            db.add(shelf)
        assert repr(shelf) == text.format("#0")
        assert repr(shelf.prices) == "<Map: 1 float {'a': 1.0}>" and repr(shelf.marks) == "<Set: 1 int {2}>"
        assert repr(shelf.extra) == "<List: 2 Any [1, {'b': 2}]>"
        assert repr(shelf.tins) == "<List: 1 Tin [Tin(label='x')]>"


def test_what_holds_itself_is_shown_to_some_depth() -> None:
    loop: list[Any] = [1]
    loop.append(loop)
    table: dict[str, Any] = {"a": 1}
    table["b"] = table
    assert "[1, [1, ...]]" in repr(Shelf(label="", extra=loop)) and "'b': ..." in repr(Shelf(label="", extra=[table]))
    assert "..." in Shelf(label="", extra=loop)._repr_html_()


def test_collections_show_the_first_few(people: motte.Database) -> None:
    everybody = people.objects(Person)
    assert repr(everybody.where("age > 100")) == "<Results: 0 Person>"
    assert repr(everybody.limit(1)) == (
        "<Results: 1 Person [Person(name='P0', age=0, height=None, tags=[], scores=[], dogs=[], friend=None)]>")
    shown = repr(everybody)
    assert shown.startswith("<Results: 45 Person [Person(") and shown.endswith(", ... 45 in all]>") and len(shown) < 400
    tags = everybody[9].tags
    assert repr(tags) == "<List: 18 str [" + "'a', 'b', " * 5 + "... 18 in all]>"
    assert "tags=['a', 'b', 'a', 'b', 'a', ... 18 in all]" in repr(everybody[9])
    assert repr(everybody.sectioned("age")).startswith("<Sections: 45 [0, 1, 2,")
    assert repr(everybody.page(2, size=40)).startswith("<Page 2 of 2: [Person(name='P40'")


def test_databases_show_their_classes(people: motte.Database) -> None:
    assert repr(people) == f"<Database {people.path}: 45 Person, 1 Dog, 0 Everything>"
    assert repr(people.freeze()) == f"<frozen Database {people.path}: 45 Person, 1 Dog, 0 Everything>"
    assert on_thread(lambda: repr(people)) == f"<Database {people.path}>"
    people.close()
    assert repr(people) == f"<closed Database {people.path}>"


# ------------------------------------------------------------------------------------------------ tables


def test_results_are_a_table(people: motte.Database) -> None:
    everybody = people.objects(Person)
    table = Tables(everybody._repr_html_())
    assert table.caption == "1 to 20 of 45 Person \u2013 page 1 of 3, see page(2)"
    assert table.rows[0][:5] == ["name: str", "age: int", "height: float | None", "tags: list[str]",
                                 "scores: list[int | None]"]
    assert table.rows[0][5:] == ["dogs: list[Dog]", "friend: Person | None"] and len(table.rows) == 21
    assert table.rows[2][:4] == ["P1", "1", "None", "['a', 'b']"]
    last = Tables(everybody.page(3)._repr_html_())
    assert last.caption == "41 to 45 of 45 Person \u2013 page 3 of 3, see page(1)" and len(last.rows) == 6
    few = Tables(everybody.where("age < 2")._repr_html_())
    assert few.caption == "2 Person" and len(few.rows) == 3


def test_what_is_stored_is_escaped(people: motte.Database) -> None:
    dog = people.one(Dog, NASTY)
    for thing in (people.objects(Dog), dog, dog.owner.owned):  # type: ignore[union-attr]
        text = thing._repr_html_()
        assert NASTY not in text and "<script" not in text
        assert NASTY in sum(Tables(text).rows, []) or repr(NASTY) in str(Tables(text).rows)


def test_objects_values_maps_sections_and_databases_are_tables(people: motte.Database) -> None:
    person = people.objects(Person)[44]
    table = Tables(person._repr_html_())
    assert table.rows[0] == ["property", "type", "value"] and ["age", "int", "44"] in table.rows
    assert table.rows[-2][:2] == ["owned", "Backlinks[Dog]"] and table.caption == "<Person #44>"
    values = Tables(person.tags._repr_html_())
    assert values.rows[:2] == [["List: str"], ["a"]] and values.caption.startswith("1 to 20 of 88 str")
    sections = Tables(people.objects(Person).sectioned(lambda each: each.age % 2)._repr_html_())
    assert sections.rows == [["key", "elements"], ["0", "23"], ["1", "22"]]
    whole = Tables(people._repr_html_())
    assert whole.rows[2] == ["Dog", "1", "name: str, age: int, owner: Person | None"] and whole.caption == repr(people)
    with motte.open(in_memory="shelves", schema=[Shelf, Tin]) as db:
        with db.write():
            shelf = db.add(Shelf(label="top", prices={"a": 1.0, "b": None}, since=date(2026, 3, 1)))
        prices = Tables(shelf.prices._repr_html_())
        assert prices.rows == [["key: str", "value: float"], ["a", "1.0"], ["b", "None"]] and prices.caption == "2 keys"
        assert [kind for _, kind, _ in Tables(shelf._repr_html_()).rows[1:]] == [
            "str", "Size", "list[Tin]", "set[int]", "dict[str, float | None]", "Any", "date | None",
            "tuple[float, float]", "tuple[str, int]", "Literal['a', 'b']"]
        assert ["since", "date | None", "2026-03-01"] in Tables(shelf._repr_html_()).rows
        with db.write():
            db.delete(shelf)
        assert shelf._repr_html_() == "<em>Shelf that is gone</em>"
    assert "label" in Shelf(label="x")._repr_html_()


def test_pages(people: motte.Database) -> None:
    everybody = people.objects(Person).sorted("age")
    page = everybody.page(2, size=20)
    assert isinstance(page, list) and [each.age for each in page] == list(range(20, 40))
    assert (page.number, page.pages, page.total) == (2, 3, 45)
    assert everybody.page(9) == [] and everybody.page(9).pages == 3
    assert everybody[3].tags.page(1, size=4) == ["a", "b", "a", "b"]
    for number, size in ((0, 20), (1, 0), (-1, 5)):
        with pytest.raises(errors.InvalidArgumentError):
            everybody.page(number, size=size)


def test_loops_that_let_others_run(people: motte.Database) -> None:
    turns: list[int] = []

    async def others() -> None:
        while True:
            turns.append(1)
            await asyncio.sleep(0)

    async def run() -> list[int]:
        other = asyncio.create_task(others())
        with people.write():
            people.add_all([Person(name="x") for _ in range(300)])
        found = [each.age async for each in people.objects(Person)]
        other.cancel()
        return found
    assert len(asyncio.run(run())) == 345 and len(turns) >= 3


# ------------------------------------------------------------------------------------------------ signatures


class Signed(motte.Model):
    """Has everything."""

    id: int = motte.field(primary_key=True)
    text: str = "x"
    maybe: Optional[str]
    tags: list[str]
    more: list[int] = motte.field(default_factory=list)
    pair: tuple[int, int]
    other: Optional[Signed] = None
    back: motte.Backlinks[Signed] = motte.backlinks("other")


def test_constructors_have_signatures() -> None:
    signature = inspect.signature(Signed)
    assert str(signature).replace("Optional[", "Union[") == str(inspect.Signature([
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)
        for name, annotation, default in (
            ("id", int, inspect.Parameter.empty), ("text", str, "x"), ("maybe", Optional[str], None),
            ("tags", list[str], FACTORY), ("more", list[int], FACTORY), ("pair", tuple[int, int],
                                                                        inspect.Parameter.empty),
            ("other", Optional[Signed], None))])).replace("Optional[", "Union[")
    assert signature.bind(id=1, pair=(1, 2)).arguments == {"id": 1, "pair": (1, 2)}
    with pytest.raises(TypeError):
        signature.bind(1)
    with pytest.raises(TypeError, match="needs a value for 'pair'"):
        Signed(id=1)  # type: ignore[call-arg]
    assert str(inspect.signature(motte.Model)) == "(**values)" == str(inspect.signature(motte.EmbeddedModel))
    assert str(inspect.signature(type("Empty", (motte.Model,), {}))) == "()"


class _Factory:
    def __repr__(self) -> str:
        return "<factory>"


FACTORY = _Factory()


def test_help_shows_the_constructor_and_the_properties() -> None:
    text = pydoc.render_doc(Signed, renderer=pydoc.plaintext)
    assert "class Signed(motte" in text and "Has everything." in text
    # Newer ones break it into lines.
    assert "Signed(*,id:int,text:str='x'" in re.sub(r"[\s|]+", "", text)
    assert pydoc.render_doc(Person, renderer=pydoc.plaintext)


# ------------------------------------------------------------------------------------------------ pickling


@pytest.mark.parametrize("thing, hint", [
    (lambda db: db, "open it by its path"), (lambda db: db.write(), "belongs to its database"),
    (lambda db: db.objects(Person), "list"), (lambda db: db.objects(Person)[0], "to_dict"),
    (lambda db: db.objects(Person)[1].tags, "list"), (lambda db: db.objects(Person).page(), "list"),
    (lambda db: db.query(Person, "age > 1"), "motte.Reference"),
    (lambda db: db.objects(Person).sectioned("age"), "list"),
    (lambda db: db.objects(Person).observe(print), "observe"),
    (lambda db: motte.Reference(db.objects(Person)[0]), "primary key"),
], ids=str)
def test_pickling_says_what_to_do(people: motte.Database, thing: Callable[[motte.Database], Any], hint: str) -> None:
    made = thing(people)
    for attempt in (lambda: pickle.dumps(made), lambda: copy.copy(made), lambda: copy.deepcopy(made)):
        with pytest.raises(TypeError, match=hint):
            attempt()
