"""How queries are run: what `results.explain()` and `groups.explain()` tell. See docs/explain.md."""
from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Optional

from ._ffi import lib


def _parsed(text: str) -> dict[str, Any]:
    # Not at the import of the package, which is to be quick.
    import json

    return dict(json.loads(text))


class QueryPlanStep:
    """One step of a plan. Its rows come from `input`; `lookups` are found beside it."""

    def __init__(self, content: dict[str, Any]) -> None:
        self._content = content

    @property
    def kind(self) -> str:
        """`scan`, `index`, `filter`, `sort` and the others of docs/explain.md."""
        return str(self._content["step"])

    @property
    def detail(self) -> str:
        """A condition, properties, a number; of a scan the class."""
        return str(self._content["detail"])

    @property
    def estimated_rows(self) -> Optional[int]:
        """About how many rows are expected behind it."""
        return self._content.get("estimated_rows")

    @property
    def is_counted(self) -> bool:
        """Whether the estimate is the number, as an index counts it."""
        return bool(self._content.get("counted", False))

    @property
    def rows(self) -> Optional[int]:
        """How many rows there were; None where it was not run."""
        return self._content.get("rows")

    @property
    def seconds(self) -> Optional[float]:
        """How long the step itself took; None where it was not run."""
        nanoseconds = self._content.get("nanoseconds")
        return None if nanoseconds is None else nanoseconds / 1e9

    @property
    def input(self) -> Optional[QueryPlanStep]:
        """What gives it its rows."""
        below = self._content.get("input")
        return None if below is None else QueryPlanStep(below)

    @property
    def lookups(self) -> list[QueryPlanStep]:
        """What is found beside the rows, such as the objects that links are tested to lead to."""
        return [QueryPlanStep(each) for each in self._content.get("lookups", [])]

    def __repr__(self) -> str:
        return f"<QueryPlanStep {self.kind} {self.detail}>"


class QueryPlan:
    """The plan of a query. `print(plan)` shows a table with a line for each step; `plan.top` is the last step, and
    `plan.to_dict()` is all of it as plain values."""

    def __init__(self, explain: Callable[[int], str], analyze: bool) -> None:
        flags = int(lib.MOTTE_EXPLAIN_ANALYZE) if analyze else 0
        self._json = explain(flags | int(lib.MOTTE_EXPLAIN_JSON))

    @cached_property
    def _content(self) -> dict[str, Any]:
        return _parsed(self._json)

    def to_dict(self) -> dict[str, Any]:
        """As the JSON that the other languages have."""
        return _parsed(self._json)

    def __str__(self) -> str:
        return str(self._content["table"])

    def __repr__(self) -> str:
        return f"<QueryPlan {self.query}>"

    @property
    def query(self) -> str:
        """What was explained: the class and the query."""
        return str(self._content["query"])

    @property
    def is_analyzed(self) -> bool:
        """Whether the query was run for it."""
        return bool(self._content["analyzed"])

    @property
    def seconds(self) -> Optional[float]:
        """How long all of it took; None where it was not run."""
        nanoseconds = self._content.get("nanoseconds")
        return None if nanoseconds is None else nanoseconds / 1e9

    @property
    def top(self) -> QueryPlanStep:
        """The last step."""
        return QueryPlanStep(self._content["plan"])
