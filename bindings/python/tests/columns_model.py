"""The properties that every test of columns has: one of each type that may be null."""
from __future__ import annotations

import uuid
from datetime import datetime
from decimal import Decimal
from typing import Optional

import motte


class Values(motte.Model):
    """No class of a file itself: those inherit from it."""

    id: int = motte.field(primary_key=True)
    small: motte.Int8 = 0
    real: Optional[float] = None
    text: Optional[str] = None
    data: Optional[bytes] = None
    moment: Optional[datetime] = None
    number: Optional[Decimal] = None
    code: Optional[uuid.UUID] = None
    oid: Optional[motte.ObjectId] = None
    any: motte.Mixed = None
    words: list[Optional[str]] = motte.field(default_factory=list)
    chosen: set[int] = motte.field(default_factory=set)
