"""A program on a machine, as users have them: it opens the file again and again, looks at it, and writes to it where
that is allowed, with each commit acknowledged.

    application.py FILE SOCKET NAME SEED        goes on until it is ended; a line for each thing that happens
    application.py --make FILE                  a new file
    application.py --dump FILE                  everything in it as JSON

Commits make a chain: each has a name of its own and the hash of all names up to it. A commit adds a `Commit`, some
`Part`s, of which some are longer than a message of the server may be, and changes the one `Head`: whoever sees some of
that and not all has seen half a commit.
"""
from __future__ import annotations

import hashlib
import json
import pathlib
import random
import socket
import struct
import sys
import time
from typing import Optional, Union

import motte

SCHEMA = """
Head { id: int key, commits: int, parts: int, hash: string }
Commit { number: int key, name: string, parts: int, hash: string }
Part { name: string key, commit: int indexed, text: string }
"""


class Acknowledged:
    """Has each commit of a database acknowledged before it is made, as docs/replication.md says."""

    def __init__(self, path: Union[str, pathlib.Path]) -> None:
        self.path = str(path)
        self.connection: Optional[socket.socket] = None

    def __call__(self, batch: motte.ChangesBatch) -> None:
        try:
            if self.connection is None:
                self.connection = socket.socket(socket.AF_UNIX)
                self.connection.settimeout(60)
                self.connection.connect(self.path)
            data = bytes(batch)
            self.connection.sendall(struct.pack("<Q", len(data)) + data)
            code, size = struct.unpack("<II", self._receive(8))
            message = self._receive(size).decode()
        except BaseException:
            self.close()
            raise
        if code:
            raise RuntimeError(message)

    def _receive(self, size: int) -> bytes:
        assert self.connection is not None
        data = b""
        while len(data) < size:
            more = self.connection.recv(size - len(data))
            if not more:
                raise ConnectionError("whoever acknowledges has ended")
            data += more
        return data

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None


def chained(before: str, name: str, parts: int) -> str:
    return hashlib.sha256(f"{before} {name} {parts}".encode()).hexdigest()[:20]


def say(kind: str, *words: object) -> None:
    print(kind, *words, flush=True)


class Application:
    def __init__(self, path: str, asked: str, name: str, seed: int) -> None:
        self.path, self.asked = path, asked
        self.chance = random.Random(seed)
        self.name = f"{name}-{seed:x}"
        self.made = 0
        self.shown = (-1, "")

    def run(self) -> None:
        while True:
            follows = True
            try:
                with motte.open(self.path, create=False, timeout=5) as db:
                    follows = self.work(db)
            except (motte.Error, OSError, RuntimeError) as error:
                say("error", type(error).__name__, str(error).replace("\n", " "))
                if isinstance(error, motte.errors.CorruptedError):
                    say("wrong", str(error))
                time.sleep(0.2)
            # Nobody has the file open for a while, so that it may be begun again.
            time.sleep(0.4 if follows else 0.05)

    def work(self, db: motte.Database) -> bool:
        """For about a second; whether the file follows another."""
        asking = Acknowledged(self.asked)
        db.on_commit(asking)
        limit = time.monotonic() + self.chance.uniform(0.3, 1)
        try:
            while time.monotonic() < limit:
                self.look(db)
                try:
                    self.commit(db)
                except motte.errors.ReadOnlyError:
                    time.sleep(0.1)
                    db.refresh()
                    if time.monotonic() >= limit:
                        return True
                    continue
                time.sleep(self.chance.uniform(0.01, 0.06))
        finally:
            asking.close()
        return False

    def look(self, db: motte.Database) -> None:
        head = db.get("Head", 0)
        if head is None:
            return say("wrong", "no head")
        if (head.commits, head.hash) == self.shown:
            return
        self.shown = (head.commits, head.hash)
        counts = (len(db.objects("Commit")), len(db.objects("Part")))
        if counts != (head.commits, head.parts):
            say("wrong", "half a commit:", counts, "of", (head.commits, head.parts))
        for number in {head.commits, self.chance.randint(1, head.commits)} if head.commits else ():
            commit = db.get("Commit", number)
            if commit is None or number == head.commits and commit.hash != head.hash:
                say("wrong", "commit", number, "of", head.commits, "is", commit and commit.hash)
            elif len(db.objects("Part").where("commit == $0", number)) != commit.parts:
                say("wrong", "commit", number, "has not all of its parts")
        say("shown", *self.shown)

    def commit(self, db: motte.Database) -> None:
        parts = self.chance.choice((0, 1, 1, 2, 5))
        with db.write():
            head = db.get("Head", 0)
            number, name = head.commits + 1, f"{self.name}-{self.made + 1}"
            digest = chained(head.hash, name, parts)
            db.add(db.model("Commit")(number=number, name=name, parts=parts, hash=digest))
            for part in range(parts):
                size = self.chance.randrange(100_000) if self.chance.random() < 0.02 else self.chance.randrange(60)
                text = self.chance.randbytes(size // 2).hex()
                db.add(db.model("Part")(name=f"{name}-{part}", commit=number, text=text))
            head.commits, head.parts, head.hash = number, head.parts + parts, digest
            self.made += 1
            say("tried", name)
        say("acknowledged", name, number, digest)


def make(path: str) -> None:
    with motte.open(path, schema=SCHEMA) as db, db.write():
        db.add(db.model("Head")(id=0, commits=0, parts=0, hash=""))


def dump(path: str) -> None:
    with motte.open(path, read_only=True) as db:
        head = db.get("Head", 0)
        texts = hashlib.sha256()
        for part in db.objects("Part").sorted("name"):
            texts.update(f"{part.name} {part.commit} {part.text}\n".encode())
        commits = [(each.name, each.parts, each.hash) for each in db.objects("Commit").sorted("number")]
        parts: dict[int, int] = {}
        for part in db.objects("Part"):
            parts[part.commit] = parts.get(part.commit, 0) + 1
        print(json.dumps({"head": [head.commits, head.parts, head.hash], "commits": commits, "texts": texts.hexdigest(),
                          "parts": [parts.get(number + 1, 0) for number in range(len(commits))]}))


def main() -> None:
    if sys.argv[1] == "--make":
        make(sys.argv[2])
    elif sys.argv[1] == "--dump":
        dump(sys.argv[2])
    else:
        Application(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])).run()


if __name__ == "__main__":
    main()
