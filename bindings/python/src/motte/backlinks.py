"""Who links here, as a sequence."""
from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from .results import Collection

if TYPE_CHECKING:
    from .model import Model

M = TypeVar("M", bound="Model")


class Backlinks(Collection[M]):
    """The objects that link to one object through one property, live. An object that links twice is in it twice."""
