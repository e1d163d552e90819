"""What scripts/style.sh finds, in a repository of four files."""
from __future__ import annotations

import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TOOLS = ROOT / ".venv" / "bin"

GOOD = {
    "Sources/One.swift": "struct One {\n    let number = 1\n}\n",
    "one.c": "int one(void) { return 1; }\n",
    "one.py": "ONE = 1\n",
    "scripts/one.sh": '#!/usr/bin/env bash\necho "$1"\n',
}
BAD = {
    "swift-format": ("Sources/One.swift", "struct One {\n  let number = 1\n}\n"),
    "clang-format": ("one.c", "int  one(void) {return 1;}\n"),
    "ruff": ("one.py", "import os\n\nONE = 1\n"),
    "shellcheck": ("scripts/one.sh", "#!/usr/bin/env bash\necho $1\n"),
}


@pytest.fixture
def repository(tmp_path: pathlib.Path) -> pathlib.Path:
    for name, text in GOOD.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    for name in (".swift-format", ".clang-format", "ruff.toml", "scripts/style.sh"):
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    # Without mypy, which looks at a package that there is not.
    for tool in ("clang-format", "ruff"):
        (tmp_path / ".venv" / "bin" / tool).symlink_to(TOOLS / tool)
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True)
    return tmp_path


def style(folder: pathlib.Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([folder / "scripts" / "style.sh", *options], capture_output=True, text=True, timeout=120)


def missing(name: str) -> bool:
    if name in ("clang-format", "ruff"):
        return not (TOOLS / name).exists()
    return shutil.which({"swift-format": "swift", "shellcheck": "shellcheck"}[name]) is None


def test_good_files_pass_and_a_missing_tool_is_named(repository: pathlib.Path) -> None:
    done = style(repository)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "skipped: mypy --strict (mypy is not installed; 'make setup' installs it)" in done.stdout
    (repository / ".venv" / "bin" / "ruff").unlink()
    assert "skipped: ruff (ruff is not installed" in style(repository).stdout


@pytest.mark.parametrize("name", BAD)
def test_each_tool_finds_something(repository: pathlib.Path, name: str) -> None:
    if missing(name):
        pytest.skip(f"{name} is not installed")
    file, text = BAD[name]
    (repository / file).write_text(text)
    done = style(repository)
    assert done.returncode == 1
    assert f"{name}: FAILED" in done.stdout
    assert done.stdout.splitlines()[-1].endswith(" passed, 1 failed")


def test_mending_leaves_nothing_to_find(repository: pathlib.Path) -> None:
    for name in ("swift-format", "clang-format", "ruff"):
        if not missing(name):
            (repository / BAD[name][0]).write_text(BAD[name][1])
    assert style(repository).returncode == 1
    assert style(repository, "--fix").returncode == 0
    done = style(repository)
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_unknown_option_is_refused(repository: pathlib.Path) -> None:
    done = style(repository, "--fixx")
    assert done.returncode == 2 and "no option '--fixx'" in done.stderr
