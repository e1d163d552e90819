"""Python's Decimal to the sixteen bytes of a decimal128 and back.

    bit 127 sign | 14 bits exponent + 6176 | 113 bits coefficient          value = coefficient * 10 ** exponent
"""
from __future__ import annotations

from decimal import Decimal

from . import errors
from ._ffi import ffi, lib

_BIAS, _LARGEST = 6176, 10 ** 34
_LOW = (1 << 64) - 1


def words(value: Decimal) -> tuple[int, int]:
    """The low and the high word, unsigned. What 34 digits and the exponent cannot hold is refused, not rounded."""
    sign, digits, exponent = value.as_tuple()
    if exponent in ("n", "N") and (exponent == "N" or digits or sign):
        raise errors.InvalidArgumentError(f"{value!r} cannot be kept; the one such value that can is Decimal('NaN')")
    if isinstance(exponent, int) and len(digits) <= 34 and 0 <= exponent + _BIAS <= 12287:
        coefficient = 0
        for digit in digits:
            coefficient = coefficient * 10 + digit
        return coefficient & _LOW, sign << 63 | (exponent + _BIAS) << 49 | coefficient >> 64
    text = Decimal.__str__(value).encode()
    place = ffi.new("motte_decimal *")
    errors.check(lib.motte_decimal_parse(text, len(text), place))
    return int(place.low), int(place.high)


def decimal(low: int, high: int) -> Decimal:
    """From the words, signed or unsigned; digits and exponent are kept."""
    low, high = low & _LOW, high & _LOW
    sign = "-" if high >> 63 else ""
    if high >> 58 & 0x1F == 0x1F:
        return Decimal("NaN")
    if high >> 58 & 0x1F == 0x1E:
        return Decimal(sign + "Infinity")
    if high >> 61 & 0x3 == 0x3:
        # A coefficient too large for 34 digits, which no arithmetic makes, counts as 0.
        return Decimal(f"{sign}0E{(high >> 47 & 0x3FFF) - _BIAS}")
    coefficient = (high & 0x1_FFFF_FFFF_FFFF) << 64 | low
    return Decimal(f"{sign}{coefficient if coefficient < _LARGEST else 0}E{(high >> 49 & 0x3FFF) - _BIAS}")
