"""Notes with tags, and a list of them that follows what other processes do.

    python notes.py add "Buy beans #shopping #coffee"
    python notes.py list --tag coffee
    python notes.py done 1
    python notes.py watch            prints the open notes, again after each change, until Ctrl-C

Notes are in notes.motte, or in the file that --file names.
"""
from __future__ import annotations

import argparse
import datetime
import pathlib
import re
from typing import Optional

import motte


class Tag(motte.Model):
    name: str = motte.field(primary_key=True)
    notes: motte.Backlinks["Note"] = motte.backlinks("tags")


class Note(motte.Model):
    number: int = motte.field(primary_key=True)
    text: str
    written: datetime.datetime
    done: bool = motte.field(default=False, indexed=True)
    tags: list[Tag] = motte.field(default_factory=list)


def add(db: motte.Database, text: str) -> Note:
    with db.write():
        # Within the write, so that two processes never take one number.
        number = (db.objects(Note).max("number") or 0) + 1
        tags = [db.create_or_update(Tag, name=name) for name in dict.fromkeys(re.findall(r"#(\w+)", text))]
        return db.add(Note(number=number, text=text, written=datetime.datetime.now(datetime.timezone.utc), tags=tags))


def finish(db: motte.Database, number: int) -> None:
    with db.write():
        note = db.get(Note, number)
        if note is None:
            raise SystemExit(f"there is no note {number}")
        note.done = True


def open_notes(db: motte.Database, tag: Optional[str]) -> motte.Results[Note]:
    notes = db.objects(Note).where("done == false")
    return (notes.where("ANY tags.name == $0", tag) if tag else notes).sorted("number")


def show(notes: motte.Results[Note]) -> None:
    for note in notes:
        print(f"{note.number:4}  {note.text}")
    print(f"{len(notes)} open", flush=True)


def watch(notes: motte.Results[Note]) -> None:
    try:
        for changes in notes.changes():
            if not changes.is_initial:
                print(f"-{len(changes.deletions)} +{len(changes.insertions)} ~{len(changes.modifications)}")
            show(notes)
    except KeyboardInterrupt:
        print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", type=pathlib.Path, default=pathlib.Path("notes.motte"))
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("add", help="a new note").add_argument("text")
    commands.add_parser("done", help="close a note").add_argument("number", type=int)
    for name, what in [("list", "the open notes"), ("watch", "the open notes, and what becomes of them")]:
        commands.add_parser(name, help=what).add_argument("--tag")
    arguments = parser.parse_args()
    with motte.open(arguments.file, schema=[Note, Tag]) as db:
        if arguments.command == "add":
            print(f"note {add(db, arguments.text).number}")
        elif arguments.command == "done":
            finish(db, arguments.number)
        else:
            notes = open_notes(db, arguments.tag)
            watch(notes) if arguments.command == "watch" else show(notes)


if __name__ == "__main__":
    main()
