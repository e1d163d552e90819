"""Goes every way through the module in C, and ends in the way that its argument names: see test_objects.py."""
from __future__ import annotations

import gc
import os
import sys
from typing import Any, Optional

import motte
from motte import errors

#: What is alive when the process ends.
kept: list[Any] = []


class Node(motte.Model):
    id: int = motte.field(primary_key=True)
    name: str = ""
    data: Optional[bytes] = None
    next: Optional[Node] = None
    tags: list[str] = motte.field(default_factory=list)


def work(db: motte.Database, ending: str) -> None:
    with db.write():
        first = db.add(Node(id=0, name="first"))
        db.add_all([Node(id=number, name="ü" * number, data=bytes(number), next=first) for number in range(1, 300)])
        for node in db.objects(Node):
            node.name, node.data = node.name + "x", None
            for bad in (5, "\ud800", object()):
                try:
                    node.name = bad  # type: ignore[assignment]
                except errors.Error:
                    pass
            node.to_dict()
    unmanaged = Node(id=1000)
    unmanaged.next = Node(id=1001, next=unmanaged)
    for wrong in (lambda: Node(no=1), lambda: Node(1), lambda: delattr(first, "name")):  # type: ignore[misc, call-arg]
        try:
            wrong()
        except (TypeError, AttributeError):
            pass
    with db.write():
        db.delete(db.objects(Node).where("id > 200"))
        try:
            db.add_all([Node(id=500), Node(id=500)])
        except errors.DuplicatePrimaryKeyError:
            pass
    kept.extend([db, first, unmanaged, db.objects(Node), db.get(Node, 7), db.objects(Node)[3], Node.name])
    gc.collect()
    if ending == "in a loop":
        kept.append(iter(db.objects(Node)))
        next(kept[-1])
    elif ending == "in a write":
        db.write().__enter__()
        kept.append(db.add(Node(id=2000)))
    elif ending == "after a fork":
        child = os.fork()
        if child == 0:
            try:
                first.name
            except errors.ForkedError:
                os._exit(0)
            os._exit(1)
        if os.waitpid(child, 0)[1] != 0:
            sys.exit("the child of a fork could use the object")


if __name__ == "__main__":
    work(motte.open(in_memory="program", schema=[Node]), sys.argv[1])
    print("done")
