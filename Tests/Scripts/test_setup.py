"""What scripts/setup.sh does where packages are missing, beside tools that stand for those of the distribution."""
from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

TOOLS = {
    "swift": "exit 0",
    "sudo": 'exec "$@"',
    # Everything is installed but what `$MISSING` names.
    "dpkg-query": 'case " $MISSING " in *" ${@: -1} "*) exit 1 ;; esac; echo installed',
    "apt-get": 'echo "apt-get $*" >> "$CALLS"; case $1 in update) exit "${NO_LISTS:-0}" ;; install) exit 1 ;; esac',
}


def write(path: pathlib.Path, text: str) -> None:
    path.write_text(f"#!/usr/bin/env bash\n{text}\n")
    path.chmod(0o755)


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    for name in ("scripts/setup.sh", "scripts/requirements/development.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    # A Python environment that has all it needs.
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    write(tmp_path / ".venv" / "bin" / "python", "exit 0")
    shutil.copy(ROOT / "scripts/requirements/development.txt", tmp_path / ".venv" / "installed-development.txt")
    (tmp_path / "bin").mkdir()
    for name, text in TOOLS.items():
        write(tmp_path / "bin" / name, text)
    return tmp_path


def setup(folder: pathlib.Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name != "CI"}
    path = f"{folder / 'bin'}{os.pathsep}{kept['PATH']}"
    return subprocess.run([folder / "scripts" / "setup.sh", *arguments], capture_output=True, text=True, timeout=60,
                          env={**kept, "PATH": path, "PYTHON": sys.executable, "CALLS": str(folder / "calls"),
                               **environment})


def test_nothing_is_done_where_everything_is_there(folder: pathlib.Path) -> None:
    done = setup(folder, MISSING="")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not (folder / "calls").exists()


@pytest.mark.parametrize("lists", ["0", "100"])
def test_checks_do_without_a_tool_but_not_in_ci(folder: pathlib.Path, lists: str) -> None:
    done = setup(folder, MISSING="shellcheck abigail-tools", NO_LISTS=lists)
    assert done.returncode == 0, done.stderr
    assert "setup: shellcheck abigail-tools could not be installed; what needs them is skipped" in done.stderr
    done = setup(folder, MISSING="shellcheck abigail-tools", NO_LISTS=lists, CI="true")
    assert done.returncode == 1
    assert "setup: shellcheck abigail-tools could not be installed, and in CI no check is skipped" in done.stderr


def test_what_builds_need_must_be_there(folder: pathlib.Path) -> None:
    for lists in ("0", "100"):
        done = setup(folder, MISSING="cmake", NO_LISTS=lists)
        assert done.returncode == 1
        assert "setup: cmake could not be installed" in done.stderr


@pytest.mark.parametrize("what", [[], ["demo"]])
def test_certificates_are_among_what_must_be_there(folder: pathlib.Path, what: list[str]) -> None:
    done = setup(folder, *what, MISSING="ca-certificates")
    assert done.returncode == 1
    assert "setup: ca-certificates could not be installed" in done.stderr


def test_an_environment_without_pip_is_made_again(folder: pathlib.Path) -> None:
    write(folder / ".venv" / "bin" / "python", '[ "$2" != "import pip" ]')
    # It makes an environment in which everything works.
    write(folder / "bin" / "python", """
if [ "$1 $2" = "-m venv" ]; then mkdir -p "$3/bin"; cp "$(type -P true)" "$3/bin/python"; fi""")
    done = setup(folder, MISSING="", PYTHON=str(folder / "bin" / "python"))
    assert done.returncode == 0, done.stderr
    assert "setup: making .venv" in done.stdout
    assert (folder / ".venv" / "installed-development.txt").exists()
    assert setup(folder, MISSING="").stdout == ""
