"""The classes of the demo: flights and what they are linked to."""
from __future__ import annotations

from datetime import datetime
from typing import Optional

import motte


class Airline(motte.Model):
    carrier: str = motte.field(primary_key=True)
    name: str
    flights: motte.Backlinks[Flight] = motte.backlinks("airline")


class Airport(motte.Model):
    faa: str = motte.field(primary_key=True)
    name: str
    lat: float
    lon: float
    alt: int
    tz: int
    dst: str
    tzone: Optional[str] = None
    departures: motte.Backlinks[Flight] = motte.backlinks("origin")
    arrivals: motte.Backlinks[Flight] = motte.backlinks("destination")
    weather: motte.Backlinks[Weather] = motte.backlinks("airport")


class Plane(motte.Model):
    tailnum: str = motte.field(primary_key=True)
    year: Optional[int] = None
    type: str
    manufacturer: str
    model: str
    engines: int
    seats: int
    speed: Optional[int] = None
    engine: str
    #: Its flights in the order of their scheduled departure.
    history: list[Flight] = motte.field(default_factory=list)


class Weather(motte.Model):
    airport: Optional[Airport] = None
    origin_code: str
    year: int
    month: int
    day: int
    hour: int
    temp: Optional[float] = None
    dewp: Optional[float] = None
    humid: Optional[float] = None
    wind_dir: Optional[int] = None
    wind_speed: Optional[float] = None
    wind_gust: Optional[float] = None
    precip: float
    pressure: Optional[float] = None
    visib: float
    time_hour: datetime


class Flight(motte.Model):
    airline: Optional[Airline] = None
    plane: Optional[Plane] = None
    origin: Optional[Airport] = None
    destination: Optional[Airport] = None
    # As they are in the data, also where there is nothing to link to.
    carrier: str
    tailnum: Optional[str] = None
    origin_code: str
    dest_code: str
    flight: int
    # Clock times as HHMM, in local time.
    year: int
    month: int
    day: int
    dep_time: Optional[int] = None
    sched_dep_time: int
    dep_delay: Optional[int] = None
    arr_time: Optional[int] = None
    sched_arr_time: int
    arr_delay: Optional[int] = None
    air_time: Optional[int] = None
    distance: int
    hour: int
    minute: int
    #: Scheduled departure, cut to the hour.
    time_hour: datetime


CLASSES: list[type[motte.Model]] = [Airline, Airport, Plane, Weather, Flight]
