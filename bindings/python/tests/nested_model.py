"""The lists within mixed values of an object, each as itself, which what is held open is compared with: what a batch of
changes keeps, edits and replaces of them."""
from __future__ import annotations

import dataclasses
import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Optional, Union

_numbers = itertools.count()


class Node:
    """A list: it is itself, whatever it holds. Its first element is its own text and stays."""

    def __init__(self, parts: list[Part]) -> None:
        self.uid, self.parts, self.edits = next(_numbers), parts, 0


Part = Union[None, str, Node]


class Image(NamedTuple):
    """What a list was at a time; equal if it is the same list, and neither it nor what is in it was edited since."""

    uid: int
    edits: int
    parts: tuple[Any, ...]


@dataclasses.dataclass
class Whole:
    """An object's properties, of nodes or of images of them."""

    items: list[Any] = dataclasses.field(default_factory=list)
    table: dict[str, Any] = dataclasses.field(default_factory=dict)
    one: Any = None

    def map(self, function: Callable[[Any], Any]) -> Whole:
        return Whole([function(part) for part in self.items],
                     {key: function(part) for key, part in self.table.items()}, function(self.one))

    def nodes(self) -> Iterator[Node]:
        waiting = [*self.items, *self.table.values(), self.one]
        while waiting:
            part = waiting.pop()
            if isinstance(part, Node):
                yield part
                waiting += part.parts

    def saved(self) -> Callable[[], None]:
        """What makes it as it is now."""
        before = self.map(lambda part: part)
        nodes = [(node, [*node.parts], node.edits) for node in self.nodes()]

        def restore() -> None:
            self.items, self.table, self.one = before.items, before.table, before.one
            for node, parts, edits in nodes:
                node.parts, node.edits = parts, edits
        return restore


def text() -> str:
    """One that nothing else has, so that what is compared by content is found."""
    return f"text {next(_numbers)}"


def fresh(random_: random.Random, depth: int = 0) -> Node:
    inner: list[Part] = [fresh(random_, depth + 1)] if depth < 2 and random_.random() < 0.5 else []
    return Node([f"list of {text()}", *inner])


def image(part: Any) -> Any:
    if not isinstance(part, Node):
        return part
    return Image(part.uid, part.edits, tuple(image(inner) for inner in part.parts))


def plain(part: Any) -> Any:
    """Of a node, an image, or what the database gives."""
    if part is None or isinstance(part, str):
        return part
    if isinstance(part, (Node, Image)):
        return [plain(inner) for inner in part.parts]
    return [plain(inner) for inner in part]


def replaced(part: Any, pairs: Optional[dict[int, Node]] = None) -> Part:
    """Another list with the same content."""
    if part is None or isinstance(part, str):
        return part
    node = Node([replaced(inner, pairs) for inner in part.parts])
    if pairs is not None and isinstance(part, Image):
        pairs[part.uid] = node
    return node


def bring(whole: Whole, wanted: Whole, pairs: dict[int, Node], known: dict[int, Image]) -> dict[int, Node]:
    """What a batch does that leads to `wanted`: elements and keys that nothing was done to stay what they are, others
    get new values; in a property of its own a list is edited. `pairs` are the nodes that images are of, and `known`
    are the images of what there was before the batch. The pairs afterwards."""
    after: dict[int, Node] = {}

    def kept(part: Any, here: list[Any]) -> Part:
        if isinstance(part, Image) and known.get(part.uid) == part and is_in(part, here):
            note(part)
            return pairs[part.uid]
        return replaced(part, after)

    def is_in(part: Image, here: list[Part]) -> bool:
        return part.uid in pairs and pairs[part.uid] in here

    def note(part: Any) -> None:
        if isinstance(part, Image):
            after[part.uid] = pairs[part.uid]
            for inner in part.parts:
                note(inner)

    def edited(part: Any, here: list[Part]) -> Part:
        if not isinstance(part, Image) or part.uid not in known or not is_in(part, here):
            return replaced(part, after)
        node = pairs[part.uid]
        parts = [edited(inner, node.parts) for inner in part.parts]
        if parts != node.parts:
            node.parts, node.edits = parts, node.edits + 1
        after[part.uid] = node
        return node

    whole.items = [kept(part, whole.items) for part in wanted.items]
    whole.table = {key: kept(part, [whole.table.get(key)]) for key, part in wanted.table.items()}
    whole.one = edited(wanted.one, [whole.one])
    return after


def images_of(whole: Whole) -> dict[int, Image]:
    return {node.uid: image(node) for node in whole.nodes()}
