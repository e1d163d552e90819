"""Type checkers: what users write has no errors to mypy and pyright at their strictest, what is wrong has some, and the
stubs of the compiled modules say what these are."""
from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import motte

HERE = pathlib.Path(__file__).resolve().parent
WRONG = {number for number, line in enumerate((HERE / "typed" / "wrong.py").read_text().splitlines(), 1)
         if line.endswith("# wrong")}
#: Installed packages are found by themselves; one used from its sources is not.
SOURCES = pathlib.Path(motte.__file__).parents[1]


def needs(tool: str) -> str:
    found = shutil.which(tool, path=os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ["PATH"]]))
    if found is None:
        pytest.skip(f"{tool} is not there")
    return found


def run(*command: str, cwd: pathlib.Path) -> subprocess.CompletedProcess[str]:
    path = {} if SOURCES.name == "site-packages" else {"MYPYPATH": str(SOURCES)}
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env={**os.environ, **path})


@pytest.fixture
def programs(tmp_path: pathlib.Path) -> pathlib.Path:
    for name in ("program.py", "wrong.py"):
        shutil.copy(HERE / "typed" / name, tmp_path / name)
    return tmp_path


def test_mypy(programs: pathlib.Path) -> None:
    needs("mypy")
    done = run(sys.executable, "-m", "mypy", "--strict", "--config-file=", "program.py", "wrong.py", cwd=programs)
    found = {(match[1], int(match[2])) for match in re.finditer(r"^(\w+\.py):(\d+): error:", done.stdout, re.M)}
    assert found == {("wrong.py", line) for line in WRONG}, done.stdout + done.stderr


def test_pyright(programs: pathlib.Path) -> None:
    pyright = needs("basedpyright")
    (programs / "pyrightconfig.json").write_text(json.dumps({
        "typeCheckingMode": "strict", "extraPaths": [str(SOURCES)], "reportUnusedExpression": False,
        "pythonVersion": "3.10"}))
    done = run(pyright, "--outputjson", "--pythonpath", sys.executable, "program.py", "wrong.py", cwd=programs)
    assert done.stdout, done.stderr
    found = json.loads(done.stdout)["generalDiagnostics"]
    lines = {(pathlib.Path(each["file"]).name, each["range"]["start"]["line"] + 1) for each in found
             if each["severity"] == "error"}
    assert lines == {("wrong.py", line) for line in WRONG}, "\n".join(
        f"{each['file']}:{each['range']['start']['line'] + 1}: {each['message']}" for each in found)


def test_stubs(tmp_path: pathlib.Path) -> None:
    """The compiled modules have stubs; in all others, annotations stand beside what they are of."""
    needs("stubtest")
    allowed = tmp_path / "allowed.txt"
    shutil.copy(HERE / "typed" / "stubtest-allowed.txt", allowed)
    done = run(sys.executable, "-m", "mypy.stubtest", "motte._objects", "motte._native", "--allowlist", str(allowed),
               cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr


def test_the_program_runs(tmp_path: pathlib.Path) -> None:
    """In an interpreter of its own: its classes have names that other tests have too."""
    done = subprocess.run(
        [sys.executable, "-c", "import pathlib, program; program.main(pathlib.Path('people.motte'))"],
        capture_output=True, text=True, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE / "typed"), str(SOURCES)])})
    assert done.returncode == 0 and "LONDON" in done.stdout, done.stdout + done.stderr
