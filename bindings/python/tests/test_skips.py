"""No check is skipped in CI without a reason."""
from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

import pytest

import skips

HERE = pathlib.Path(__file__).resolve().parent

TESTS = """
import pytest

def test_passes():
    pass

def test_lacks_a_tool():
    pytest.skip("no such tool")

def test_lacks_a_module():
    pytest.importorskip("no_such_module")

@pytest.mark.skipif(True, reason="never")
def test_marked():
    pass

@pytest.mark.xfail(strict=True)
def test_expected():
    assert False

def test_a_folder_without_permission():
    pytest.skip("root")
"""


@pytest.mark.parametrize(("ci", "counts"), [
    ("true", {"passed": 1, "failed": 2, "skipped": 1, "xfailed": 1, "errors": 2}),
    ("", {"passed": 1, "skipped": 5, "xfailed": 1}),
])
def test_in_ci_a_test_is_skipped_only_for_a_reason(tmp_path: pathlib.Path, ci: str, counts: dict[str, int]) -> None:
    (tmp_path / "conftest.py").write_text(
        "import skips\ndef pytest_configure(config):\n    config.pluginmanager.register(skips)\n")
    (tmp_path / "test_database.py").write_text(TESTS)
    (tmp_path / "test_module.py").write_text("import pytest\npytest.importorskip('no_such_module')\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--continue-on-collection-errors",
         str(tmp_path)],
        capture_output=True, text=True, cwd=tmp_path, timeout=60,
        env={**os.environ, "CI": ci, "PYTHONPATH": str(HERE), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"})
    last = done.stdout.strip().splitlines()[-1]
    found = {("errors" if name == "error" else name): int(count) for count, name in re.findall(r"(\d+) (\w+)", last)
             if name != "s"}
    assert found == counts, done.stdout
    assert (done.returncode == 0) == (not ci) and ("whatever it lacks" in done.stdout) == bool(ci)


def test_what_may_be_skipped_is_there() -> None:
    folders = HERE, HERE.parents[2] / "Tests" / "Tool"
    for name in skips.JUSTIFIED:
        file, function = name.split("[")[0].split("::")
        found = next(folder / file for folder in folders if (folder / file).exists())
        assert f"def {function}(" in found.read_text()
