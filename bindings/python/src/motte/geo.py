"""Shapes on the earth, for asking which places lie in them: `Shop.place.geo_within(GeoCircle((2.35, 48.85), km=10))`.

A place is an object of an embedded class with `type: str`, which says "Point", and `coordinates: List[float]`, which
are longitude and latitude: GeoJSON. Points are given as (longitude, latitude), in degrees. Shapes are checked by the
query that asks about them."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Optional

Point = Sequence[float]

#: In the unit that circles are given in.
EARTH_RADIUS_KM = 6378.1


def _point(point: Point) -> str:
    longitude, latitude = point[0], point[1]
    return f"[{float(longitude)!r}, {float(latitude)!r}]"


def _ring(points: Iterable[Point]) -> str:
    return "{" + ", ".join(map(_point, points)) + "}"


class Shape:
    """GeoBox, GeoCircle or GeoPolygon; str() is its text in the query language, which is how it travels."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<{self._text}>"

    def __eq__(self, other: object) -> bool:
        return self._text == other._text if isinstance(other, Shape) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._text)


class GeoBox(Shape):
    """Between two meridians and two parallels."""

    __slots__ = ()

    def __init__(self, bottom_left: Point, top_right: Point) -> None:
        super().__init__(f"geoBox({_point(bottom_left)}, {_point(top_right)})")


class GeoCircle(Shape):
    """All that is no further from a point than a distance, given in kilometres, miles or radians of the earth."""

    __slots__ = ()

    def __init__(self, center: Point, *, km: Optional[float] = None, miles: Optional[float] = None,
                 radians: Optional[float] = None) -> None:
        given = [distance for distance in (km, miles, radians) if distance is not None]
        if len(given) != 1:
            raise TypeError("give one of km, miles and radians")
        if miles is not None:
            km = miles * 1.609344
        radius = km / EARTH_RADIUS_KM if km is not None else given[0]
        super().__init__(f"geoCircle({_point(center)}, {float(radius)!r})")


class GeoPolygon(Shape):
    """Inside a closed ring of points and outside of the holes in it; a ring ends with the point it begins with."""

    __slots__ = ()

    def __init__(self, outer: Iterable[Point], *holes: Iterable[Point]) -> None:
        super().__init__("geoPolygon(" + ", ".join(_ring(ring) for ring in (outer, *holes)) + ")")
