"""What Tests/Consumers/check-pythons.sh says where there is no Python, or only that of .venv."""
from __future__ import annotations

import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# An interpreter that makes environments with a copy of itself; everything runs in them.
PYTHON = """
case $* in
    *version_info*) echo 3.14 ;;
    "-m venv --without-pip "*) mkdir -p "$4/bin"; cp "$0" "$4/bin/python" ;;
    *smoke.py) echo "smoke: passed" ;;
esac
"""


@pytest.mark.parametrize(("python", "code", "said"), [
    ("exit 1", 1, ["error: the wheel worked in no Python", "0 passed, 0 failed"]),
    (PYTHON, 0, ["smoke: passed", "not covered: this machine has one Python that the package is for",
                 "1 passed, 0 failed"]),
])
def test_a_wheel_has_to_work_in_some_python(tmp_path: pathlib.Path, python: str, code: int, said: list[str]) -> None:
    # On PATH there are only shims that stand for no version.
    shims = {f"bin/python3.{minor}": "exit 1" for minor in range(10, 15)}
    for name, text in {**shims, ".venv/bin/python": python}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"#!/usr/bin/env bash\n{text}\n")
        (tmp_path / name).chmod(0o755)
    for name in ("Tests/Consumers/check-pythons.sh", "scripts/requirements/runtime.txt"):
        (tmp_path / name).parent.mkdir(parents=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "build" / "wheel").mkdir(parents=True)
    (tmp_path / "build" / "wheel" / "motte-1.whl").touch()
    # Who builds packages may have no home.
    kept = {name: value for name, value in os.environ.items() if name not in ("HOME", "PYENV_ROOT")}
    done = subprocess.run([tmp_path / "Tests/Consumers/check-pythons.sh"], capture_output=True, text=True, timeout=60,
                          env={**kept, "PATH": f"{tmp_path / 'bin'}{os.pathsep}{kept['PATH']}"})
    assert (done.returncode, done.stdout.splitlines()) == (code, said), done.stderr
