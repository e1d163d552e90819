"""Documents as tests see them: fenced blocks, cells of tables, and sentences that a test is the proof of.

A test names the sentences that it proves with `@promises("docs/json.md", "...", ...)`. Whoever changes or removes the
sentence finds the test by its failure, and whoever removes the test leaves a sentence that nothing holds.
"""
from __future__ import annotations

import pathlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = ["README.md", "CONTRIBUTING.md", "bindings/python/README.md",
             *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.md"))]
Test = TypeVar("Test", bound=Callable[..., object])


@dataclass(frozen=True)
class Block:
    """A fenced block: where it stands, the language behind the fence, its lines."""

    document: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.document}:{self.line}"


def text_of(document: str) -> str:
    return (ROOT / document).read_text(encoding="utf-8")


def blocks(document: str) -> list[Block]:
    text = text_of(document)
    return [Block(document, text[:found.start()].count("\n") + 1, found[1], found[2])
            for found in re.finditer(r"(?ms)^```([\w-]*)\n(.*?)^```$", text)]


def all_blocks(*languages: str) -> list[Block]:
    return [block for document in DOCUMENTS for block in blocks(document) if block.language in languages]


def flat(text: str) -> str:
    """The text without what only lays it out: line ends, and the stars of comments in C."""
    return re.sub(r"\s+", " ", re.sub(r"\n \*(?!/)", "\n", text))


def promises(document: str, *sentences: str) -> Callable[[Test], Test]:
    """Marks the test that holds these sentences, or parts of them; each has to stand in the document."""
    text = flat(text_of(document))
    missing = [sentence for sentence in sentences if flat(sentence) not in text]
    if missing:
        raise AssertionError(f"{document} no longer says {missing[0]!r}: change its test with it")
    return lambda test: test


def code_of_tables(document: str, heading: str, column: int = 0) -> list[str]:
    """What stands in backquotes in one column of the tables under a heading."""
    section = re.search(rf"(?ms)^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text_of(document))
    assert section, f"{document} has no heading {heading}"
    found = []
    for line in section[1].splitlines():
        cells = re.findall(r"\|((?:[^|`]|`[^`]*`)*)(?=\|)", line)
        if len(cells) > column:
            found += re.findall(r"`([^`]+)`", cells[column])
    return found
