"""Properties as attributes of model classes: descriptors, the names they may have, and what constructors take."""
from __future__ import annotations

import copy
import typing
from functools import partial
from typing import Any, ClassVar, Optional

from . import _objects, errors
from .fields import MISSING, Field
from .predicates import Path


class Property(_objects.Property):
    """A property of a model class: a Path on the class, the value on an object.

    Reading and assigning are in the base; here is what it asks for where there is more to do than that."""

    __slots__ = ("owner", "field", "annotation")

    def __init__(self, name: str, owner: type[Any], field: Field, annotation: Any) -> None:
        self.name, self.owner, self.field, self.annotation = name, owner, field, annotation
        self.is_computed = field.origin is not None

    def _of_class(self, owner: Optional[type[Any]]) -> Path:
        return Path(self.owner if owner is None else owner, (self.name,))

    def _check_value(self, instance: Any, value: Any) -> None:
        """Of an unmanaged object."""
        if self.is_computed:
            raise AttributeError(f"{type(instance).__name__}.{self.name} is computed and cannot be assigned")
        owner = type(instance)
        if type(value) in (int, str) or type(value) not in owner._taken_types()[self.name]:
            owner._check_given(self.name, value)

    def _refused(self, instance: Any) -> None:
        raise AttributeError(f"{type(instance).__name__}.{self.name} cannot be deleted; assign None if it is nullable")


class _Factory:
    """Stands in signatures for a default that each object gets one of its own of."""

    def __repr__(self) -> str:
        return "<factory>"


class Signature:
    """The signature of a constructor, made when somebody asks: `help(Person)`, `inspect.signature(Person)`."""

    def __get__(self, instance: Optional[Any], owner: type[Any]) -> Any:
        import inspect

        if instance is not None:
            raise AttributeError("__signature__")
        if owner.__dict__.get("_is_base"):
            return inspect.Signature([inspect.Parameter("values", inspect.Parameter.VAR_KEYWORD)])
        empty = inspect.Parameter.empty
        parameters = []
        for name, declared in owner._declared().items():
            field = declared.field
            if not declared.is_stored:
                continue
            default = field.default
            if default is MISSING and field.default_factory is MISSING and not declared.has_start:
                default = empty
            elif default is MISSING:
                default = None if declared.is_plain and field.default_factory is MISSING else _Factory()
            parameters.append(inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=owner._annotation(name)))
        return inspect.Signature(parameters)


def start(field: Field) -> tuple[int, Any]:
    """What a property of a new object starts with: a value, what a function makes, what _missing() says, or nothing."""
    if field.origin is not None:
        return 3, None
    if field.default is not MISSING:
        if isinstance(field.default, (list, dict, set, bytearray)):
            # Each object has one of its own.
            return 1, partial(copy.deepcopy, field.default)
        return 0, field.default
    return (2, None) if field.default_factory is MISSING else (1, field.default_factory)


def is_special(name: str) -> bool:
    return len(name) > 4 and name.startswith("__") and name.endswith("__")


def check_name(cls: type[Any], name: str, model: type[Any]) -> None:
    """Names that a property cannot have in Python. `model` is Model."""
    own = f"_{cls.__name__.lstrip('_')}"
    if not cls._is_made and name.startswith(own + "__"):
        why = (f"Python gives {name[len(own):]} in a class another name; where a file has such a property, open it "
               "without classes")
    elif is_special(name) or name.startswith("_") and hasattr(model, name):
        why = ("Python's model classes use that name themselves; give the property another one, one that is stored "
               f"with motte.open(..., schema_version=..., renames={{'{cls.__name__}.{name}': 'new_name'}})")
    elif not cls._is_made and not name.startswith("_") and any(
            name in base.__dict__ for base in cls.__mro__ if base.__dict__.get("_is_base")):
        why = (f"every object has {name} already, which this would hide; call it {name}_ and keep the name in the file "
               f"with motte.field(stored_name='{name}')")
    else:
        return
    raise errors.SchemaInvalidError(
        f"{cls.__name__}.{name}: {why}", class_name=cls.__name__, property_name=name)


def is_class_variable(annotation: Any) -> bool:
    if isinstance(annotation, str):
        return annotation.startswith(("ClassVar", "typing.ClassVar", "t.ClassVar"))
    return annotation is ClassVar or typing.get_origin(annotation) is ClassVar
