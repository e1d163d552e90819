"""Messages in Python speak Python: the sentences of the library that may come out, and those that the tests raise.

What the other tests provoke is looked at by a fixture in conftest.py; here are its sentences, from the sources.
"""
from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from lexicon import foreign
from motte import errors
from motte._wording import of_python

SOURCES = Path(__file__).parents[3] / "Sources"
#: What of the library lies below this package; the language bindings of others do not.
MODULES = ["Values", "Pages", "Columns", "SchemaModel", "Storage", "QueryEngine", "LiveObjects", "Notifications",
           "RealmFile", "Exchange", "CExports"]
#: Sentences that only a caller in C gets: this package gives outputs, sizes and numbers of its own.
ONLY_IN_C = ["struct_size", "is no MOTTE_", "pass MOTTE_CLASS_ANY", "is not a handle of this library",
             "handle cannot be cloned",
             "motte.h it was compiled with", "at most one of MOTTE_PROP_INT8",
             "the query and the collection belong to different", "are read with motte_map_keys()"]


def strings(text: str) -> Iterator[str]:
    """The literals in a piece of Swift, with an X where a value is put in, those joined by + as one."""
    pieces = re.findall(r'"((?:\\\((?:[^()]|\([^()]*\))*\)|\\.|[^"\\])*)"(\s*\+\s*(?="))?', text)
    whole = ""
    for piece, joins in pieces:
        whole += re.sub(r"\\\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)", "X", piece)
        if not joins:
            yield whole
            whole = ""


def calls(source: str) -> Iterator[str]:
    """The arguments of every DatabaseError(...) and failure(...)."""
    for match in re.finditer(r"\b(?:DatabaseError|failure|wrong|unreadable|unexpected)\(", source):
        depth, end, quoted = 1, match.end(), False
        while depth and end < len(source):
            character = source[end]
            if character == '"' and source[end - 1] != "\\":
                quoted = not quoted
            depth += (character == "(") - (character == ")")
            end += 1
        yield source[match.end():end]


def sentences() -> list[tuple[str, str]]:
    found = []
    for module in MODULES:
        for path in sorted((SOURCES / module).rglob("*.swift")):
            for call in calls(path.read_text()):
                found += [(path.name, sentence) for sentence in strings(call) if " " in sentence]
    return found


@pytest.mark.skipif(not SOURCES.exists(), reason="the sources are not beside the tests")
def test_the_sentences_of_the_library_are_in_the_words_of_python() -> None:
    found = sentences()
    assert len(found) > 400
    wrong = [(name, sentence, foreign(of_python(sentence))) for name, sentence in found
             if foreign(of_python(sentence)) and not any(part in sentence for part in ONLY_IN_C)]
    assert wrong == []


def test_a_class_may_be_called_like_a_thing_of_the_library() -> None:
    assert of_python("this session has been deleted; see whether it is valid before") == (
        "this session has been deleted; ask is_valid before")
    assert of_python("this realm has been closed; open the file again") == (
        "this database has been closed; open the file again")


def test_the_lexicon_finds_what_it_looks_for() -> None:
    for message in ("use motte_nested_list()", "Realm(x)", "try! it", "the realm", "a session", "is NULL", "isValid is",
                    "set struct_size", "check mapSizeBytes (or"):
        assert foreign(message), message
    assert not foreign("Person.age is an int8 and holds 1; objectId is 'motte_x'")


def test_every_status_has_a_sentence() -> None:
    for code in errors.Code:
        assert foreign(of_python(errors.text(errors.lib.motte_status_message(code)))) == [], code
