"""Queries from operators: `Flight.dep_delay > 60` is a predicate, which is text with arguments.

    Flight.origin.name.contains("kennedy", ignore_case=True) & (Flight.dep_delay > 60)

says `(origin.name CONTAINS[c] $0) AND (dep_delay > $1)`. A Path is what a class attribute gives: it grows by attributes
and turns into a Predicate by comparing, also after arithmetic: `Item.price * Item.count > 100`. Values always travel as
arguments. Predicates combine with & | ~, because Python's own and, or, not cannot be given a meaning; using those is an
error.

Type checkers see `Flight.dep_delay` as the value it is on an object. Where they object, as to `.contains` of a str, the
same query can be written as a function of the class, which they leave alone: `.where(lambda f: f.name.contains("x"))`.
"""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn, Optional

from . import errors
from ._durations import MICROSECONDS, SECONDS, Unit, common_unit, counted, unit_of_result, unit_of_value
from ._placing import Given, give, listed
from ._protocols import AnyModel
from ._querytext import name_text
from .geo import Shape

_MOST_IN_BRACES = 100


def _options(ignore_case: bool, ignore_accents: bool) -> str:
    letters = ("c" if ignore_case else "") + ("d" if ignore_accents else "")
    return f"[{letters}]" if letters else ""


# ------------------------------------------------------------------------------------------------ predicates


class Predicate:
    """A condition on objects. Combine with & | ~; print with str()."""

    __slots__ = ()

    def _write(self, text: list[str], arguments: list[Any], variable: str = "") -> None:
        raise NotImplementedError

    @property
    def text(self) -> str:
        """The query text, with $0, $1, ... for the arguments."""
        return self._parts()[0]

    @property
    def arguments(self) -> list[Any]:
        """The values for $0, $1, ..."""
        return self._parts()[1]

    def _parts(self) -> tuple[str, Given]:
        text: list[str] = []
        arguments = Given()
        self._write(text, arguments)
        return "".join(text), arguments

    def __and__(self, other: Predicate) -> Predicate:
        return _Joined("AND", self, predicate_of(other))

    def __or__(self, other: Predicate) -> Predicate:
        return _Joined("OR", self, predicate_of(other))

    def __invert__(self) -> Predicate:
        return _Not(self)

    def __bool__(self) -> NoReturn:
        raise TypeError("a query has no truth value: combine with & | ~ and parentheses instead of and, or, not, "
                        "and write a < x < b as x.between(a, b)")

    def __repr__(self) -> str:
        text, arguments = self._parts()
        return f"<Predicate {text}" + "".join(f", {argument!r}" for argument in arguments) + ">"


def predicate_of(value: Any) -> Predicate:
    if isinstance(value, Predicate):
        return value
    if isinstance(value, Path):
        return value == True  # noqa: E712  a bool property by itself
    raise TypeError(f"a predicate such as Flight.dep_delay > 60 is wanted, not {value!r:.60}")


class _Joined(Predicate):
    __slots__ = ("word", "parts")

    def __init__(self, word: str, left: Predicate, right: Predicate) -> None:
        self.word = word
        self.parts: list[Predicate] = []
        for part in (left, right):
            self.parts += part.parts if isinstance(part, _Joined) and part.word == word else [part]

    def _write(self, text: list[str], arguments: list[Any], variable: str = "") -> None:
        for number, part in enumerate(self.parts):
            if number:
                text.append(f" {self.word} ")
            simple = isinstance(part, (Comparison, _Not, _Subquery))
            text.append("" if simple else "(")
            part._write(text, arguments, variable)
            text.append("" if simple else ")")


class _Not(Predicate):
    __slots__ = ("inner",)

    def __init__(self, inner: Predicate) -> None:
        self.inner = inner

    def _write(self, text: list[str], arguments: list[Any], variable: str = "") -> None:
        text.append("NOT (")
        self.inner._write(text, arguments, variable)
        text.append(")")


class Comparison(Predicate):
    __slots__ = ("path", "operation", "value")

    def __init__(self, path: _Side, operation: str, value: Any) -> None:
        self.path, self.operation, self.value = path, operation, value

    def _write(self, text: list[str], arguments: list[Any], variable: str = "") -> None:
        if isinstance(self.value, _Side):
            common = common_unit(self.path._unit(), self.value._unit())
            _write_side(self.path, common, text, arguments, variable)
            text.append(f" {self.operation} ")
            _write_side(self.value, common, text, arguments, variable)
            return
        self.path._write(text, arguments, variable)
        text.append(f" {self.operation} ")
        convert = self.path._stored
        if isinstance(self.value, _Several) and len(self.value.values) > _MOST_IN_BRACES:
            # As one argument: a query has at most 1,000.
            text.append(f"${len(arguments)}")
            give(arguments, [convert(each) for each in self.value.values], convert)
        elif isinstance(self.value, _Several):
            text.append("{")
            for number, value in enumerate(self.value.values):
                text.append(f"{', ' if number else ''}${len(arguments)}")
                give(arguments, convert(value), convert)
            text.append("}")
        else:
            text.append(f"${len(arguments)}")
            give(arguments, convert(self.value), convert)


class _Subquery(Predicate):
    """How many elements of a collection pass a whole condition, compared with a number."""

    __slots__ = ("path", "inner", "wanted")

    def __init__(self, path: Path, inner: Predicate, wanted: str) -> None:
        self.path, self.inner, self.wanted = path, inner, wanted

    def _write(self, text: list[str], arguments: list[Any], variable: str = "") -> None:
        element = variable + "x"
        text.append(f"SUBQUERY({self.path._text(variable)}, ${element}, ")
        self.inner._write(text, arguments, element)
        text.append(f").@count {self.wanted}")


class _Several:
    __slots__ = ("values",)

    def __init__(self, values: list[Any]) -> None:
        self.values = values


# ------------------------------------------------------------------------------------------------ sides of comparisons


class _Side:
    """What is compared: a property, or what is computed from properties."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def _write(self, text: list[str], arguments: list[Any], variable: str = "") -> None:
        raise NotImplementedError

    def _stored(self, value: Any) -> Any:
        """A value that it is compared with, as it is stored."""
        return value

    def _unit(self) -> Unit:
        """What it counts, if that are durations or points in time."""
        raise NotImplementedError

    def __eq__(self, other: Any) -> Predicate:  # type: ignore[override]
        return Comparison(self, "==", other)

    def __ne__(self, other: Any) -> Predicate:  # type: ignore[override]
        return Comparison(self, "!=", other)

    def __lt__(self, other: Any) -> Predicate:
        return Comparison(self, "<", other)

    def __le__(self, other: Any) -> Predicate:
        return Comparison(self, "<=", other)

    def __gt__(self, other: Any) -> Predicate:
        return Comparison(self, ">", other)

    def __ge__(self, other: Any) -> Predicate:
        return Comparison(self, ">=", other)

    def is_null(self) -> Predicate:
        return Comparison(self, "==", None)

    def in_(self, values: Iterable[Any]) -> Predicate:
        elements = listed(values)
        return Comparison(self, "IN", _Several(list(values if elements is None else elements)))

    def between(self, low: Any, high: Any) -> Predicate:
        """Both bounds belong to it."""
        return Comparison(self, "BETWEEN", _Several([low, high]))

    def __add__(self, other: Any) -> Computed:
        return Computed(self, "+", other)

    def __radd__(self, other: Any) -> Computed:
        return Computed(other, "+", self)

    def __sub__(self, other: Any) -> Computed:
        return Computed(self, "-", other)

    def __rsub__(self, other: Any) -> Computed:
        return Computed(other, "-", self)

    def __mul__(self, other: Any) -> Computed:
        return Computed(self, "*", other)

    def __rmul__(self, other: Any) -> Computed:
        return Computed(other, "*", self)

    def __truediv__(self, other: Any) -> Computed:
        """A quotient of ints drops its fraction; `/ 2.0` keeps it."""
        return Computed(self, "/", other)

    def __rtruediv__(self, other: Any) -> Computed:
        return Computed(other, "/", self)


class Computed(_Side):
    """Arithmetic on properties: `Item.price * Item.count`. A difference of points in time is a number of seconds, one
    of durations or times of day a number of microseconds; both are compared with numbers of that, with timedeltas and
    with each other. Seconds, timedeltas and durations are added to points in time."""

    __slots__ = ("left", "sign", "right")

    def __init__(self, left: Any, sign: str, right: Any) -> None:
        self.left, self.sign, self.right = left, sign, right

    def _write(self, text: list[str], arguments: list[Any], variable: str = "") -> None:
        left, right = _unit_of(self.left), _unit_of(self.right)
        # Factors stand for themselves.
        common = None if self.sign == "*" else common_unit(left, right)
        _write_part(self.left, common, text, arguments, variable)
        text.append(f" {self.sign} ")
        _write_part(self.right, common, text, arguments, variable)

    def _unit(self) -> Unit:
        return unit_of_result(_unit_of(self.left), self.sign, _unit_of(self.right))

    def _stored(self, value: Any) -> Any:
        return counted(value, self._unit())

    def __repr__(self) -> str:
        text: list[str] = []
        arguments: list[Any] = []
        self._write(text, arguments)
        return f"<Computed {''.join(text)}" + "".join(f", {argument!r}" for argument in arguments) + ">"

    def __bool__(self) -> NoReturn:
        raise TypeError("what a query computes has no truth value: compare it, as in Item.price * Item.count > 100")


def _unit_of(part: Any) -> Unit:
    return part._unit() if isinstance(part, _Side) else unit_of_value(part)


def _write_part(part: Any, unit: Unit, text: list[str], arguments: list[Any], variable: str) -> None:
    """One that counts the unit, or is no duration."""
    if not isinstance(part, _Side):
        text.append(f"${len(arguments)}")
        arguments.append(counted(part, unit))
    elif unit == SECONDS and part._unit() == MICROSECONDS:
        text.append("(")
        _write_part(part, MICROSECONDS, text, arguments, variable)
        text.append(" / 1000000.0)")
    elif isinstance(part, Computed):
        text.append("(")
        part._write(text, arguments, variable)
        text.append(")")
    else:
        part._write(text, arguments, variable)


def _write_side(side: _Side, unit: Unit, text: list[str], arguments: list[Any], variable: str) -> None:
    """One of a comparison, which needs no parentheses around it."""
    if unit == SECONDS and side._unit() == MICROSECONDS:
        _write_part(side, unit, text, arguments, variable)
    else:
        side._write(text, arguments, variable)


class Path(_Side):
    """A property, reached from a class through links: `Flight.origin.name`.

    Properties that are called like a method here are reached by index: `Person.dogs["count"]`."""

    __slots__ = ("_model", "_names", "_quantifier", "_target")

    def __init__(self, model: type[AnyModel], names: tuple[str, ...], quantifier: str = "") -> None:
        self._model, self._names, self._quantifier = model, names, quantifier
        self._target: Any = None

    def _text(self, variable: str = "") -> str:
        names = [name if name.startswith("@") else name_text(name) for name in self._names]
        text = self._applied(".".join([f"${variable}", *names] if variable else names))
        return f"{self._quantifier} {text}" if self._quantifier else text

    def _applied(self, text: str) -> str:
        return text

    def _write(self, text: list[str], arguments: list[Any], variable: str = "") -> None:
        text.append(self._text(variable))

    def __str__(self) -> str:
        return self._text()

    def __repr__(self) -> str:
        return f"<Path {self._model.__name__}: {self._text()}>"

    # -------------------------------------------------------------------------------------------- growing

    def __getattr__(self, name: str) -> Path:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._step(name)

    def __getitem__(self, name: str) -> Path:
        if not isinstance(name, str):
            raise TypeError("a path is indexed by the name of a property")
        return self._step(name)

    def _step(self, name: str) -> Path:
        target = self._model._path_target(self._names)
        if target is not None and name not in target._declared():
            known = ", ".join(target._declared())
            raise AttributeError(f"{target.__name__} has no property '{name}'; it has {known}")
        return Path(self._model, self._names + (name,), self._quantifier)

    def _unit(self) -> Unit:
        return self._model._path_unit(self._names)

    def _stored(self, value: Any) -> Any:
        """A value that the property is compared with, as it is stored."""
        owner = self._model._path_target(self._names[:-1])
        declared = None if owner is None else owner._declared().get(self._names[-1])
        return value if declared is None or declared.converter is None else declared.converter.for_query(value)

    def _key(self) -> str:
        """As a key path, which has no quotes around names that are words of the query language."""
        if self._quantifier:
            raise TypeError(f"{self!r}: {self._quantifier.lower()}() stands in conditions; a property is wanted here")
        return ".".join(self._names)

    def _is_list_of_values(self) -> bool:
        return self._model._path_is_list_of_values(self._names)

    # -------------------------------------------------------------------------------------------- functions of texts

    def length(self) -> Path:
        """How many characters a text has, or bytes data."""
        return _Applied(self, "length")

    def lower(self) -> Path:
        return _Applied(self, "lower")

    def upper(self) -> Path:
        return _Applied(self, "upper")

    def strip(self) -> Path:
        """Without the white space at both ends."""
        return _Applied(self, "trim")

    def lstrip(self) -> Path:
        return _Applied(self, "ltrim")

    def rstrip(self) -> Path:
        return _Applied(self, "rtrim")

    def substr(self, start: int, count: Optional[int] = None) -> Path:
        """From a character on, counted from 1, or from the end where it is negative: as in SQL."""
        return _Applied(self, "substr", (start,) if count is None else (start, count))

    # -------------------------------------------------------------------------------------------- comparing

    def geo_within(self, shape: Shape) -> Predicate:
        """Places, which are embedded GeoJSON points, in a GeoBox, GeoCircle or GeoPolygon."""
        return Comparison(self, "GEOWITHIN", str(shape))

    def equals(self, value: Any, *, ignore_case: bool = False, ignore_accents: bool = False) -> Predicate:
        """`==`, for text also without regard to case and accents."""
        return Comparison(self, "==" + _options(ignore_case, ignore_accents), value)

    def contains(self, value: Any, *, ignore_case: bool = False, ignore_accents: bool = False) -> Predicate:
        """A text that contains another, or a list or inverse that contains a value or object."""
        options = _options(ignore_case, ignore_accents)
        if self._is_list_of_values() or not isinstance(value, (str, bytes, bytearray, Path)):
            return Comparison(self.any(), "==" + options, value)
        return Comparison(self, "CONTAINS" + options, value)

    def startswith(self, value: Any, *, ignore_case: bool = False, ignore_accents: bool = False) -> Predicate:
        return Comparison(self, "BEGINSWITH" + _options(ignore_case, ignore_accents), value)

    def endswith(self, value: Any, *, ignore_case: bool = False, ignore_accents: bool = False) -> Predicate:
        return Comparison(self, "ENDSWITH" + _options(ignore_case, ignore_accents), value)

    def like(self, value: Any, *, ignore_case: bool = False, ignore_accents: bool = False) -> Predicate:
        """The whole text fits a pattern: `*` is any characters, `?` exactly one."""
        return Comparison(self, "LIKE" + _options(ignore_case, ignore_accents), value)

    def matches(self, pattern: Any, *, ignore_case: bool = False) -> Predicate:
        """The whole text matches a regular expression, as in `re.fullmatch()`."""
        return Comparison(self, "MATCHES" + _options(ignore_case, False), pattern)

    def __and__(self, other: Any) -> Predicate:
        return predicate_of(self) & predicate_of(other)

    def __or__(self, other: Any) -> Predicate:
        return predicate_of(self) | predicate_of(other)

    def __invert__(self) -> Predicate:
        return ~predicate_of(self)

    def __bool__(self) -> NoReturn:
        raise TypeError("a query has no truth value: combine with & | ~ and parentheses instead of and, or, not")

    def __iter__(self) -> NoReturn:
        raise TypeError(f"{self!r} is a property of a class, not of an object: there is nothing to iterate")

    def __contains__(self, value: Any) -> NoReturn:
        raise TypeError(f"Python makes a bool of `in`; write {self!r}.contains({value!r:.30})")

    def __len__(self) -> NoReturn:
        raise TypeError(f"Python makes an int of len(); write {self!r}.length() of a text, or {self!r}.count()")

    # -------------------------------------------------------------------------------------------- collections

    def any(self, predicate: Optional[Any] = None) -> Any:
        """True if some element matches: `Person.dogs.any(Dog.age > 3)`, `Person.scores.any() > 5`. A whole condition is
        about one and the same element: `Person.dogs.any((Dog.age > 3) & (Dog.name == "Rex"))`."""
        return self._quantified("ANY", predicate)

    def all(self, predicate: Optional[Any] = None) -> Any:
        return self._quantified("ALL", predicate)

    def none(self, predicate: Optional[Any] = None) -> Any:
        return self._quantified("NONE", predicate)

    def _quantified(self, word: str, predicate: Optional[Any]) -> Any:
        if self._quantifier:
            raise TypeError(f"{self!r} already says {self._quantifier}")
        start = Path(self._model, self._names, word)
        if predicate is None:
            return start
        predicate = predicate_of(predicate)
        if isinstance(predicate, Comparison) and type(predicate.path) is Path and not predicate.path._quantifier \
                and not any(name.startswith("@") for name in predicate.path._names) \
                and not isinstance(predicate.value, _Side):
            inner = predicate.path._names
            return Comparison(Path(self._model, self._names + inner, word), predicate.operation, predicate.value)
        # A whole condition on one and the same element.
        if word == "ALL":
            predicate = _Not(predicate)
        return _Subquery(self, predicate, "> 0" if word == "ANY" else "== 0")

    def count(self) -> Path:
        return Path(self._model, self._names + ("@count",))

    def sum(self, name: Optional[str] = None) -> Path:
        return self._aggregate("@sum", name)

    def min(self, name: Optional[str] = None) -> Path:
        return self._aggregate("@min", name)

    def max(self, name: Optional[str] = None) -> Path:
        return self._aggregate("@max", name)

    def average(self, name: Optional[str] = None) -> Path:
        return self._aggregate("@avg", name)

    def _aggregate(self, operation: str, name: Optional[str]) -> Path:
        return Path(self._model, self._names + ((operation,) if name is None else (operation, *name.split("."))))

    # -------------------------------------------------------------------------------------------- sorting

    def __neg__(self) -> Descending:
        return Descending(self)


class _Applied(Path):
    """What a function makes of a text: `Person.name.lower()`."""

    __slots__ = ("_inner", "_function")

    def __init__(self, inner: Path, word: str, numbers: tuple[int, ...] = ()) -> None:
        super().__init__(inner._model, inner._names, inner._quantifier)
        for number in numbers:
            if not isinstance(number, int) or isinstance(number, bool):
                raise errors.WrongTypeError(f"{word} takes ints, not {number!r}")
        self._inner = inner
        self._function = word, "".join(f", {number}" for number in numbers)

    def _applied(self, text: str) -> str:
        word, numbers = self._function
        return f"{word}({self._inner._applied(text)}{numbers})"

    def _step(self, name: str) -> Path:
        raise AttributeError(f"{self!r} is a text or a number and has no property '{name}'")

    def _stored(self, value: Any) -> Any:
        return value

    def _unit(self) -> Unit:
        return None

    def _key(self) -> NoReturn:
        raise TypeError(f"{self!r}: functions stand in conditions; a property is wanted here")

    def _is_list_of_values(self) -> bool:
        return False

    def _quantified(self, word: str, predicate: Optional[Any]) -> Any:
        raise TypeError(f"{word} comes before the function: Person.tags.any().lower()")

    def _aggregate(self, operation: str, name: Optional[str]) -> Path:
        raise TypeError(f"{self!r} has no totals")

    def __neg__(self) -> NoReturn:
        self._key()


class Descending:
    """A path to sort by, from the greatest down: `-Flight.dep_delay`."""

    __slots__ = ("path",)

    def __init__(self, path: Path) -> None:
        self.path = path
