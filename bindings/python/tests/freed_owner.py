"""A fault on purpose, for the check of the check: texts are given up before the library reads them.

Under valgrind this program has to be found guilty; see the stage `memory` of scripts/test.sh.
"""
from __future__ import annotations

import motte
from motte._convert import Values


class Note(motte.Model):
    text: str


def forgetful(self: Values, kind: int, content: bytes) -> None:
    keep(self, kind, content)
    # Who holds the bytes that the value points to.
    self._kept.pop()


keep = Values._bytes
Values._bytes = forgetful  # type: ignore[method-assign]

with motte.open(in_memory="freed owner", schema=[Note]) as db, db.write():
    db.update(db.add(Note(text="")), text="".join(map(str, range(1000))))
