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
from .fields import Float32, Mixed, backlinks, field
from .lists import List
from .maps import Map
from .model import EmbeddedModel, Model
from .notifications import Changes, ChangeStream, DatabaseChange, ObjectChange, Observation, PropertyChange
from .objectid import ObjectId
from .query import Predicate, PreparedQuery
from .results import Collection, Results
from .sets import Set

__version__ = "0.1.0"

__all__ = [
    "Backlinks", "ChangeStream", "Changes", "Code", "Collection", "Database", "DatabaseChange", "EmbeddedModel",
    "Error", "Float32", "List", "Map", "Mixed", "Model", "ObjectChange", "ObjectId", "Observation", "Predicate",
    "PreparedQuery", "PropertyChange", "Results", "Set", "Write", "backlinks", "errors", "field", "library_version",
    "open",
]
