"""Changes the product in one place at a time and asks which tests notice.

    python3 Tests/Mutants/run.py                all of them, in a copy of what is committed: about ten minutes
    python3 Tests/Mutants/run.py 12 31          some of them

All mutants are built at once; the environment variable MOTTE_MUTANT says which one is on. A mutant lives when the tests
that should notice it pass. One that no longer applies is an error: mend its lines in mutants.json. The last line is
"N passed, N failed"; living mutants are the failed ones.
"""
from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SECONDS = 150
SWITCH = """\
#if canImport(Glibc)
    import Glibc
#endif
package let mutant: Int = getenv("MOTTE_MUTANT").flatMap { Int(String(cString: $0)) } ?? 0
"""
ENVIRONMENT = {
    "MOTTE_TEST_TARGETS": "PagesTests StorageTests FuzzTests", "MOTTE_ENGINE_ONLY": "1",
    "SWIFT_BACKTRACE": "enable=no", "NO_COLOR": "1",
}


def mutate(copy: pathlib.Path, mutants: list[dict[str, str]]) -> None:
    for mutant in mutants:
        path = copy / mutant["file"]
        text = path.read_text(encoding="utf-8")
        if text.count(mutant["from"]) != 1:
            sys.exit(f"mutant {mutant['mutant']} no longer applies to {mutant['file']}")
        path.write_text(text.replace(mutant["from"], mutant["to"]), encoding="utf-8")
    (copy / "Sources" / "Values" / "Mutant.swift").write_text(SWITCH, encoding="utf-8")


def run(copy: pathlib.Path, number: object, tests: str) -> tuple[bool, str]:
    """Whether the tests passed, and which did not."""
    command = ["swift", "test", "--skip-build", "--filter", tests]
    try:
        done = subprocess.run(command, cwd=copy, env={**os.environ, **ENVIRONMENT, "MOTTE_MUTANT": str(number)},
                              capture_output=True, text=True, errors="replace", timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return False, "no end"
    failed = sorted(set(re.findall(r"✘\S* Test (\w+)\(", done.stdout + done.stderr)))
    return done.returncode == 0, " ".join(failed[:4]) or ("" if done.returncode == 0 else "the process ended")


def main() -> None:
    mutants = json.loads((HERE / "mutants.json").read_text(encoding="utf-8"))
    wanted = {int(number) for number in sys.argv[1:]}
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "motte"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(copy)], check=True)
        mutate(copy, mutants)
        subprocess.run(["swift", "build", "--build-tests"], cwd=copy, env={**os.environ, **ENVIRONMENT}, check=True,
                       stdout=subprocess.DEVNULL)
        for tests in sorted({mutant["tests"] for mutant in mutants}):
            passed, failed = run(copy, 0, tests)
            if not passed:
                sys.exit(f"without any mutant these fail already: {failed}")
        killed = lived = 0
        for mutant in mutants:
            if wanted and mutant["mutant"] not in wanted:
                continue
            began = time.monotonic()
            passed, failed = run(copy, mutant["mutant"], mutant["tests"])
            lived, killed = lived + passed, killed + (not passed)
            print(f"{mutant['mutant']:>3} {mutant['file']}: {'LIVES' if passed else 'killed'} {failed}"
                  f" ({time.monotonic() - began:.0f} s)", flush=True)
    print(f"{killed} passed, {lived} failed")
    sys.exit(1 if lived else 0)


if __name__ == "__main__":
    main()
