"""Who links here, as a sequence."""
from __future__ import annotations

from typing import TypeVar

from ._protocols import AnyModel
from .results import Collection

M = TypeVar("M", bound=AnyModel)


class Backlinks(Collection[M]):
    """The objects that link to one object through one property, live. An object that links twice is in it twice."""
