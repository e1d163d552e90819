"""Motte, an embedded object database.

    import motte

    class Person(motte.Model):
        name: str
        age: int = motte.field(default=0, indexed=True)

    with motte.open("people.motte", schema=[Person]) as db:
        with db.write():
            db.add(Person(name="Ada", age=36))
        for person in db.objects(Person).where(Person.age >= 18).sorted("name"):
            print(person.name)
"""
from . import errors
from ._ffi import version as library_version
from .backlinks import Backlinks
from .database import Database, Write, open
from .errors import Code, Error
from .fields import Float32, backlinks, field
from .lists import List
from .model import Model
from .notifications import Changes, ChangeStream, DatabaseChange, ObjectChange, Observation, PropertyChange
from .query import Predicate, PreparedQuery
from .results import Collection, Results

__version__ = "0.1.0"

__all__ = [
    "Backlinks", "ChangeStream", "Changes", "Code", "Collection", "Database", "DatabaseChange", "Error", "Float32",
    "List", "Model", "ObjectChange", "Observation", "Predicate", "PreparedQuery", "PropertyChange", "Results", "Write",
    "backlinks", "errors", "field", "library_version", "open",
]
