"""What scripts/style.sh finds, in a repository of four files."""
from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
from collections.abc import Callable

import pytest

# Fixtures that the tests of the scripts share.
pytest_plugins = ["needs"]

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


def style(folder: pathlib.Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name != "CI"}
    return subprocess.run([folder / "scripts" / "style.sh", *options], capture_output=True, text=True, timeout=120,
                          env={**kept, **environment})


# The command of each, and what installs it.
COMMANDS = {
    "swift-format": ("swift", "a Swift toolchain"),
    "clang-format": (TOOLS / "clang-format", "scripts/requirements/development.txt"),
    "ruff": (TOOLS / "ruff", "scripts/requirements/development.txt"),
    "shellcheck": ("shellcheck", "Debian's package shellcheck"),
}


def missing(name: str) -> bool:
    return shutil.which(COMMANDS[name][0]) is None


def test_good_files_pass_and_a_missing_tool_is_named(repository: pathlib.Path) -> None:
    done = style(repository)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ("skipped: mypy --strict (mypy is not installed; 'make setup' installs it, from scripts/requirements)"
            in done.stdout)
    (repository / ".venv" / "bin" / "ruff").unlink()
    assert "skipped: ruff (ruff is not installed" in style(repository).stdout


def test_a_missing_tool_is_a_failure_in_ci(
        repository: pathlib.Path, path_without: Callable[[str], str]) -> None:
    path = path_without("shellcheck")
    done = style(repository, PATH=path)
    assert done.returncode == 0, done.stdout + done.stderr
    lack = "(shellcheck is not installed; 'make setup' installs it, Debian's package shellcheck)"
    assert f"skipped: shellcheck {lack}" in done.stdout
    done = style(repository, PATH=path, CI="true")
    assert done.returncode == 1
    assert f"shellcheck: FAILED {lack}" in done.stdout
    assert "mypy --strict: FAILED (mypy is not installed; 'make setup' installs it, from " in done.stdout
    assert done.stdout.splitlines()[-1].endswith(" passed, 2 failed")


@pytest.mark.parametrize("name", BAD)
def test_each_tool_finds_something(
        repository: pathlib.Path, name: str, need: Callable[[str | pathlib.Path, str], None]) -> None:
    need(*COMMANDS[name])
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


def test_outside_of_a_checkout_that_is_said(repository: pathlib.Path) -> None:
    shutil.rmtree(repository / ".git")
    done = style(repository)
    assert done.returncode == 2 and done.stderr.startswith("style: this is no git checkout") and not done.stdout


def test_an_unknown_option_is_refused(repository: pathlib.Path) -> None:
    done = style(repository, "--fixx")
    assert done.returncode == 2 and "no option '--fixx'" in done.stderr
