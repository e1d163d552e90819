"""What scripts/soak.sh makes of a part whose first step fails and whose last one does not."""
from __future__ import annotations

import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


@pytest.mark.parametrize(("first", "code", "said"), [(0, 0, "debian  passed"), (1, 1, "debian  FAILED")])
def test_a_part_fails_with_any_of_its_steps(tmp_path: pathlib.Path, first: int, code: int, said: str) -> None:
    for name, status in (("scripts/build", 0), ("scripts/install-python", 0), ("scripts/setup", 0),
                         ("scripts/debian", first), ("Tests/Consumers/check-debian", 0)):
        script = tmp_path / f"{name}.sh"
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text(f"#!/usr/bin/env bash\nexit {status}\n")
        script.chmod(0o755)
    shutil.copy(ROOT / "scripts" / "soak.sh", tmp_path / "scripts" / "soak.sh")
    done = subprocess.run([tmp_path / "scripts" / "soak.sh", "debian"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, said in done.stdout) == (code, True), done.stdout + done.stderr
    assert f"{1 - code} passed, {code} failed" in done.stdout
