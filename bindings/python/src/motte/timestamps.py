"""Points in time that are finer than a datetime of Python's: with the nanoseconds that the file has."""
from __future__ import annotations

from datetime import datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Any, Optional

if TYPE_CHECKING:
    from typing_extensions import Self


class Timestamp(datetime):
    """A datetime with `nanosecond`, 0 to 999, behind its microseconds, as pandas has them.

    A value that is whole microseconds is read as a plain datetime; one that is not as one of these, so that nothing is
    lost when it is assigned again or looked for. It equals only what is the same to the nanosecond."""

    __slots__ = ("nanosecond",)

    nanosecond: int

    @classmethod
    def of(cls, value: datetime, nanosecond: int) -> Self:
        """The datetime, and so many nanoseconds behind its microseconds."""
        if not 0 <= nanosecond <= 999:
            raise ValueError(f"nanosecond is 0 to 999, not {nanosecond}")
        made = cls(value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond,
                   value.tzinfo, fold=value.fold)
        made.nanosecond = nanosecond
        return made

    def __new__(cls, *arguments: Any, **named: Any) -> Self:
        made = super().__new__(cls, *arguments, **named)
        made.nanosecond = 0
        return made

    # -------------------------------------------------------------------------------------------- comparing

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, datetime):
            return NotImplemented
        return self.nanosecond == nanoseconds_behind(other) and super().__eq__(other)

    def __ne__(self, other: object) -> bool:
        return NotImplemented if not isinstance(other, datetime) else not self.__eq__(other)

    def __hash__(self) -> int:
        return super().__hash__() if not self.nanosecond else hash((super().__hash__(), self.nanosecond))

    def __lt__(self, other: datetime) -> bool:  # type: ignore[override]
        if not isinstance(other, datetime):
            return NotImplemented
        return super().__lt__(other) or super().__eq__(other) and self.nanosecond < nanoseconds_behind(other)

    def __le__(self, other: datetime) -> bool:  # type: ignore[override]
        return NotImplemented if not isinstance(other, datetime) else not self.__gt__(other)

    def __gt__(self, other: datetime) -> bool:  # type: ignore[override]
        if not isinstance(other, datetime):
            return NotImplemented
        return super().__gt__(other) or super().__eq__(other) and self.nanosecond > nanoseconds_behind(other)

    def __ge__(self, other: datetime) -> bool:  # type: ignore[override]
        return NotImplemented if not isinstance(other, datetime) else not self.__lt__(other)

    # -------------------------------------------------------------------------------------------- making others

    def __add__(self, other: timedelta) -> Self:
        made = super().__add__(other)
        return made if made is NotImplemented else self.of(made, self.nanosecond)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        """Of a timedelta, with its nanoseconds; of a datetime, the timedelta, which has none."""
        made = super().__sub__(other)
        return self.of(made, self.nanosecond) if isinstance(made, datetime) else made

    def astimezone(self, tz: Optional[tzinfo] = None) -> Self:
        """The same point in time as clocks show it in another zone."""
        return self.of(super().astimezone(tz), self.nanosecond)

    def replace(self, *arguments: Any, nanosecond: Optional[int] = None, **named: Any) -> Self:
        """With other parts; nanoseconds stay unless they are given."""
        plain = self._plain().replace(*arguments, **named)
        return self.of(plain, self.nanosecond if nanosecond is None else nanosecond)

    # -------------------------------------------------------------------------------------------- showing

    def isoformat(self, sep: str = "T", timespec: str = "auto") -> str:
        """With nine digits of the second where there are nanoseconds."""
        if not self.nanosecond or timespec not in ("auto", "microseconds", "nanoseconds"):
            return super().isoformat(sep, timespec)
        whole = super().isoformat(sep, "microseconds")
        digits = whole.index(".") + 7
        return f"{whole[:digits]}{self.nanosecond:03}{whole[digits:]}"

    def __str__(self) -> str:
        return self.isoformat(" ")

    def __repr__(self) -> str:
        return f"motte.Timestamp.of({self._plain()!r}, {self.nanosecond})"

    def _plain(self) -> datetime:
        return datetime(self.year, self.month, self.day, self.hour, self.minute, self.second, self.microsecond,
                        self.tzinfo, fold=self.fold)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return Timestamp.of, (self._plain(), self.nanosecond)

    def __reduce__(self) -> Any:
        return self.__reduce_ex__(2)


def nanoseconds_behind(value: datetime) -> int:
    """Those behind the microseconds of any datetime; pandas has them under the same name."""
    return int(getattr(value, "nanosecond", 0))
