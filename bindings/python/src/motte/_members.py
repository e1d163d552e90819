"""Values of properties that are declared as enums, on their way in."""
from __future__ import annotations

import enum
from typing import Any, Optional

from . import errors


def checked_member(members: Optional[type[enum.Enum]], value: Any) -> Any:
    """A value for a property of an enum, which is a member or the value of one: others could not be read again."""
    if members is None or value is None or isinstance(value, members):
        return value
    try:
        return members(value)
    except (ValueError, TypeError):
        known = ", ".join(repr(each.value) for each in list(members)[:10])
        raise errors.WrongTypeError(
            f"{value!r:.60} is no {members.__name__}, whose values are {known}"
            + (", ..." if len(members) > 10 else "")) from None
