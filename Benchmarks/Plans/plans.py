"""Whether the plan that is chosen is a good one: the queries of Tests/QueryEngineTests/PlanListTests.swift, each as it
is and with its alternatives, which are forced by putting what no index can answer around parts of the condition.

    python Benchmarks/Plans/plans.py [ROUNDS]

Prints a line for each query: microseconds of the processor for the chosen plan and for the best alternative, their
ratio, and the plan; ends with 1 where a ratio is above 1.5 and the difference above 50 microseconds. The least of all
rounds, in turn, so that other work on the machine changes little. The rows are those of PlanWorld.swift.
"""
from __future__ import annotations

import pathlib
import re
import sys
import time

import motte

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = """
Boss { id: int key, name: string indexed, city: string indexed, level: int }
Person { id: int key, even: int indexed, skewed: int indexed, sparse: int? indexed, code: string indexed, twin: int,
         age: int, half: bool, name: string, boss: link<Boss>, staff: inverse<Person.deputy>, deputy: link<Person> }
"""
WORST, NOISE = 1.5, 50e-6
NOBODY = "age == 1000000"


def fill(db: motte.Database) -> None:
    boss, person = db.model("Boss"), db.model("Person")
    with db.write():
        bosses = [db.add(boss(id=n, name=f"Boss {n}", city=f"City {n % 50}", level=n % 500)) for n in range(2_000)]
        fifth = None
        for n in range(70_000):
            mixed = n * 7_919 % 104_729
            made = db.add(person(
                id=n, even=mixed % 1_000, skewed=0 if n % 5 < 3 else mixed % 97 + 1,
                sparse=n % 50 if n % 100 == 7 else None, code=f"C{mixed % 2_000}", twin=mixed % 1_000, age=n * 31 % 100,
                half=n % 2 == 0, name=f"Person {n}", deputy=fifth if 1_000 <= n < 1_100 else None,
                boss=None if n % 10 == 9 else bosses[0 if n % 2 == 0 else mixed % 2_000]))
            fifth = made if n == 5 else fifth


def queries() -> list[str]:
    text = (ROOT / "Tests/QueryEngineTests/PlanListTests.swift").read_text()
    return re.findall(r'^ {8}\(\s*"(.+?)",\s*"Person: ', text, re.M)


def alternatives(text: str) -> list[str]:
    """With no index, and with those of one part alone."""
    found = re.match(r"(.*?)( SORT.*| LIMIT.*| DISTINCT.*)?$", text)
    assert found is not None
    condition, clauses = found.group(1), found.group(2) or ""
    parts = condition.split(" AND ")
    forced = [" AND ".join(part if kept == number else f"({part} OR {NOBODY})" for number, part in enumerate(parts))
              for kept in range(-1, len(parts) if len(parts) > 1 else 0)]
    return [each + clauses for each in forced]


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    bad = 0
    with motte.open(in_memory="plans", schema=SCHEMA, query_threads=1) as db:
        fill(db)
        for text in queries():
            compiled = [db.query("Person", each) for each in [text, *alternatives(text)]]
            best = [float("inf")] * len(compiled)
            counts = [0] * len(compiled)
            for _ in range(rounds):
                for number, query in enumerate(compiled):
                    start = time.thread_time()
                    counts[number] = len(query.run().keys())
                    best[number] = min(best[number], time.thread_time() - start)
            assert len(set(counts)) == 1, (text, counts)
            other = min(best[1:])
            is_bad = best[0] > WORST * other and best[0] - other > NOISE
            bad += is_bad
            print(f"{best[0] * 1e6:8.0f} {other * 1e6:8.0f} {best[0] / other:6.2f}{' !' if is_bad else '  '} "
                  f"{compiled[0].explain()}")
    print(f"{len(queries())} queries, {bad} plans above {WORST} times the best alternative")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
