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
from ._logs import set_log_level
from .backlinks import Backlinks
from .changes import ChangeBatch, ChangeConsumer
from .converters import Converter, converter
from .database import Database
from .errors import Code, Error
from .exchange import ImportCounts, csv_schema, dump_schema, sqlite_notes, sqlite_schema
from .fields import Float32, Index, Int8, Int16, Int32, Mixed, backlinks, field, index
from .geo import GeoBox, GeoCircle, GeoPolygon
from .handover import Reference
from .explain import QueryPlan, QueryPlanStep
from .groups import (
    Aggregate, Group, GroupBy, Groups, avg, by, count, max, median, min, percentile, stddev, sum, var,
)
from .lists import List
from .maintenance import (
    ClassSpace, Compaction, OnlineCompaction, Plan, Reader, Report, Space, compact, delete, exists, plan, salvage,
    salvaged,
    schema_version, verify,
)
from .maps import Map
from .migration import Migration
from .model import EmbeddedModel, Model
from .notifications import (
    Changes, ChangeStream, DatabaseChange, ObjectChange, Observation, PropertyChange, SectionChanges,
)
from .objectid import ObjectId
from .opening import open
from .pages import Page
from .prepared import PreparedQuery
from .predicates import Predicate
from .projections import ProjectedCollection, Projection, projected
from .realmfiles import Conversion, ConversionNote, ConvertedClass, RealmFileSchema, convert, realm_file_schema
from .results import Collection, Results, Section, Sections
from .sets import Set
from .timestamps import Timestamp
from .write import Write

__version__ = "0.1.0"

__all__ = [
    "Aggregate", "Backlinks", "ChangeBatch", "ChangeConsumer", "ChangeStream", "Changes", "ClassSpace", "Code",
    "Collection", "Compaction", "Conversion", "ConversionNote", "ConvertedClass", "Converter", "Database",
    "DatabaseChange", "EmbeddedModel", "Error", "Float32", "GeoBox", "GeoCircle", "GeoPolygon", "Group", "GroupBy",
    "Groups", "ImportCounts", "Index", "Int16", "Int32", "Int8", "List", "Map", "Migration", "Mixed", "Model",
    "ObjectChange", "ObjectId", "Observation", "OnlineCompaction", "Page", "Plan", "Predicate", "PreparedQuery",
    "ProjectedCollection", "Projection", "PropertyChange", "QueryPlan", "QueryPlanStep", "Reader",
    "RealmFileSchema", "Reference", "Report", "Results", "Section", "SectionChanges", "Sections", "Set", "Space",
    "Timestamp", "Write", "avg", "backlinks", "by", "compact", "convert", "converter", "count", "csv_schema",
    "delete", "dump_schema", "errors", "exists", "field", "index", "library_version", "max", "median", "min",
    "open", "percentile", "plan", "projected", "realm_file_schema", "salvage", "salvaged", "schema_version",
    "set_log_level", "sqlite_notes", "sqlite_schema", "stddev", "sum", "var", "verify",
]
