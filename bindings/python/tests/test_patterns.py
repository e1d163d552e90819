"""Regular expressions in queries beside Python's own: the same patterns and texts, from a seed."""
from __future__ import annotations

import os
import random
import re

import pytest

import motte
from motte import errors
from seeds import seeded


class Note(motte.Model):
    id: int = motte.field(primary_key=True)
    text: str | None


LETTERS = ["a", "b", "A", "é", "É", "1", " ", "-", "\n", "_", "日"]
ATOMS = ["a", "b", "é", "1", ".", "[ab]", "[^a]", "[a-é]", r"\d", r"\w", r"\s", r"\W", "-",
         "(?:ab|a)", "(b|1)", "日", r"\.", "A"]
REPEATS = ["", "", "", "*", "+", "?", "{2}", "{0,2}", "{1,}", "*?", "+?", "??"]


def pattern(chance: random.Random, depth: int = 0) -> str:
    pieces = []
    for _ in range(chance.randrange(5)):
        nested = depth < 2 and chance.random() < 0.2
        # In repeats of what can be empty, re and PCRE2 do not agree on when there are enough.
        pieces.append(f"({pattern(chance, depth + 1)})" + chance.choice(["", "?"]) if nested
                      else chance.choice(ATOMS) + chance.choice(REPEATS))
    if chance.random() < 0.2:
        pieces.insert(chance.randrange(len(pieces) + 1), "|")
    return "".join(pieces)


def test_patterns_find_what_re_finds() -> None:
    chance = random.Random(seeded())
    texts = ["".join(chance.choice(LETTERS) for _ in range(chance.randrange(7))) for _ in range(600)]
    with motte.open(in_memory="patterns", schema=[Note]) as db:
        with db.write():
            db.add_all([Note(id=n, text=text) for n, text in enumerate(texts)])
            db.add(Note(id=-1, text=None))
        notes, found = db.objects(Note), 0
        for _ in range(int(300 * float(os.environ.get("MOTTE_TEST_SCALE", "1")))):
            expression, ignore = pattern(chance), chance.random() < 0.3
            wanted = re.compile(expression, re.IGNORECASE if ignore else 0)
            expected = [n for n, text in enumerate(texts) if wanted.fullmatch(text)]
            condition = Note.text.matches(expression, ignore_case=ignore)
            assert sorted(note.id for note in notes.where(condition)) == expected, (expression, ignore)
            option = "[c]" if ignore else ""
            assert notes.where(f"text MATCHES{option} $0", expression).count() == len(expected), expression
            found += len(expected)
        assert found > 1_000
        assert [note.id for note in notes.where(Note.text.matches(None))] == [-1]


def test_patterns_that_cannot_be_used_say_why() -> None:
    with motte.open(in_memory="no patterns", schema=[Note]) as db:
        for expression, why in (("(a", "missing closing parenthesis"), (r"(a)\1", "references"), ("a++", "possessive"),
                                ("(?=a)", "lookahead|\\(\\?="), ("(a{99}){99}", "more than 1000"), (5, "text|string")):
            with pytest.raises(errors.QueryArgumentError, match=why):
                db.objects(Note).where(Note.text.matches(expression))
        with pytest.raises(errors.QueryInvalidError, match="MATCHES is for strings"):
            db.objects(Note).where("id MATCHES '1'")
        with pytest.raises(errors.QueryInvalidError, match="diacritics"):
            db.objects(Note).where("text MATCHES[cd] '1'")


@pytest.mark.parametrize("pattern, text", [
    (r"((\w+-?)+\.)*", "a.long-hyphenated-name-without-end"), (r"(([a-z]+ ?)+! ?)*", "hello world! this is not ended"),
    (r"([^;]*;)*", "field;" * 1_200 + "field"), (r"(?:[0-9a-f]{2})*", "0f" * 3_000 + "1"),
    (r"(\w+\s)*", "word " * 900 + "x"),
])
def test_all_of_a_text_has_to_fit(pattern: str, text: str) -> None:
    class Item(motte.Model):
        text: str

    with motte.open(in_memory=f"whole texts {pattern}", schema=[Item]) as db:
        fitting = text[:max(text.rfind(end) for end in ".!;") + 1] if any(end in text for end in ".!;") else text[:-1]
        with db.write():
            db.add_all([Item(text=text), Item(text=fitting)])
        found = [item.text for item in db.objects(Item).where("text MATCHES $0", pattern)]
        assert found == [fitting] and re.fullmatch(pattern, fitting)
