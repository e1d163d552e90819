"""Plans of results and groups."""
from __future__ import annotations

import json
import uuid

import motte


class Boss(motte.Model):
    name: str = motte.field(indexed=True)


class Worker(motte.Model):
    id: int = motte.field(primary_key=True)
    age: int
    boss: Boss | None = None  # type: ignore[assignment,unused-ignore]


def test_plans_of_results_and_groups() -> None:
    with motte.open(in_memory=str(uuid.uuid4()), schema=[Boss, Worker]) as db:
        with db.write():
            ada = db.add(Boss(name="Ada"))
            for number in range(20):
                db.add(Worker(id=number, age=number, boss=ada if number % 2 else None))
        found = db.objects(Worker).where("age > 5 AND boss.name == 'Ada' LIMIT(3)")
        plan = found.explain()
        assert not plan.is_analyzed and plan.seconds is None and plan.top.rows is None and plan.top.seconds is None
        assert plan.top.kind == "limit" and plan.top.detail == "3" and plan.top.estimated_rows == 3
        plan = found.explain(analyze=True)
        assert plan.is_analyzed and plan.seconds is not None and plan.seconds > 0
        step, kinds = plan.top, []
        while step is not None:
            kinds.append(step.kind)
            assert step.rows is not None and step.seconds is not None and step.seconds >= 0
            step = step.input
        assert kinds[0] == "limit" and kinds[-1] in ("scan", "backlinks") and "filter" in kinds
        assert plan.top.rows == len(found) == 3
        assert plan.query == 'Worker: age > 5 AND boss.name == "Ada" LIMIT(3)'
        assert str(plan).splitlines()[0] == plan.query and "in all" in str(plan)
        assert repr(plan).startswith("<QueryPlan Worker: age")
        assert json.loads(json.dumps(plan.to_dict()))["plan"]["step"] == "limit"
        linked = db.objects(Worker).where("boss.name != 'x'").explain(analyze=True).top
        assert [each.kind for each in linked.lookups] == ["targets"] and linked.lookups[0].rows == 1
        assert repr(linked.lookups[0]) == "<QueryPlanStep targets boss: Boss>"
        assert db.objects(Worker).explain().top.is_counted
        groups = db.objects(Worker).query("GROUP(boss) COUNT")
        assert groups.explain(analyze=True).top.rows == 2 and groups.explain().top.kind == "group"
