"""Changes the product in one place at a time and asks which tests notice.

    python3 Tests/Mutants/run.py                all of them, in a copy of what is committed: about ten minutes
    python3 Tests/Mutants/run.py 12 31          some of them

All mutants are built at once; the environment variable MOTTE_MUTANT says which one is on. A mutant lives when the tests
that should notice it pass. One that no longer applies is an error: mend its lines in mutants.json, which
Tests/Scripts/test_mutants.py asks for. The last line is "N passed, N failed"; living mutants are the failed ones.
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
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SECONDS = 300
SWITCH = """\
#if canImport(Glibc)
    import Glibc
#endif
package let mutant: Int = getenv("MOTTE_MUTANT").flatMap { Int(String(cString: $0)) } ?? 0
"""
ENVIRONMENT = {
    "MOTTE_TEST_TARGETS": "PagesTests StorageTests ReplicationTests FuzzTests", "MOTTE_ENGINE_ONLY": "1",
    "SWIFT_BACKTRACE": "enable=no", "NO_COLOR": "1",
}


def edits(mutant: dict[str, Any]) -> list[dict[str, str]]:
    """Most have one."""
    return mutant.get("edits", [mutant])


def mutated(root: pathlib.Path, mutants: list[dict[str, Any]]) -> tuple[dict[str, str], list[str]]:
    """The changed files with all mutants, and what no longer applies."""
    texts: dict[str, str] = {}
    stale = []
    for mutant in mutants:
        for edit in edits(mutant):
            name = edit["file"]
            if name not in texts:
                texts[name] = (root / name).read_text(encoding="utf-8") if (root / name).exists() else ""
            if texts[name].count(edit["from"]) != 1:
                stale.append(f"mutant {mutant['mutant']} no longer applies to {name}")
            texts[name] = texts[name].replace(edit["from"], edit["to"], 1)
    return texts, stale


def mutate(copy: pathlib.Path, mutants: list[dict[str, Any]]) -> None:
    texts, stale = mutated(copy, mutants)
    if stale:
        sys.exit("\n".join(stale))
    for name, text in texts.items():
        (copy / name).write_text(text, encoding="utf-8")
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
        built = subprocess.run(["swift", "build", "--build-tests", "-j", str(os.cpu_count())], cwd=copy,
                               env={**os.environ, **ENVIRONMENT}, stdout=subprocess.PIPE, text=True, errors="replace")
        if built.returncode != 0:
            errors = [line for line in built.stdout.splitlines() if "error:" in line]
            sys.exit("the mutants do not compile:\n" + ("\n".join(sorted(set(errors))) or built.stdout[-6_000:]))
        chosen = [mutant for mutant in mutants if not wanted or mutant["mutant"] in wanted]
        for tests in sorted({mutant["tests"] for mutant in chosen}):
            passed, failed = run(copy, 0, tests)
            if not passed:
                sys.exit(f"without any mutant these fail already: {failed}")
        killed = lived = 0
        for mutant in chosen:
            began = time.monotonic()
            passed, failed = run(copy, mutant["mutant"], mutant["tests"])
            lived, killed = lived + passed, killed + (not passed)
            print(f"{mutant['mutant']:>3} {edits(mutant)[-1]['file']}: {'LIVES' if passed else 'killed'} {failed}"
                  f" ({time.monotonic() - began:.0f} s)", flush=True)
    print(f"{killed} passed, {lived} failed")
    sys.exit(1 if lived else 0)


if __name__ == "__main__":
    main()
