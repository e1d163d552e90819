"""What scripts/release.sh refuses before it builds anything: in a repository that has only what names the version."""
from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLACES = ("CMakeLists.txt", "Sources/CExports/Realm/Library+C.swift", "Sources/Tool/MotteCommand.swift",
          "bindings/python/pyproject.toml", "bindings/python/src/motte/__init__.py", "CHANGELOG.md",
          "scripts/release.sh")
ENVIRONMENT = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_AUTHOR_NAME": "a",
               "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org"}


@pytest.fixture
def repository(tmp_path: pathlib.Path) -> pathlib.Path:
    for name in PLACES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / ".gitignore").write_text("build/\n")
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "All"]):
        subprocess.run(["git", *arguments], cwd=tmp_path, env=ENVIRONMENT, check=True)
    return tmp_path


def release(repository: pathlib.Path, *tags: str) -> str:
    for tag in tags:
        subprocess.run(["git", "tag", tag], cwd=repository, env=ENVIRONMENT, check=True)
    done = subprocess.run([repository / "scripts" / "release.sh"], capture_output=True, text=True, env=ENVIRONMENT)
    # There is nothing to build.
    assert done.returncode != 0
    return done.stdout + done.stderr


def version() -> str:
    line = next(line for line in (ROOT / "CMakeLists.txt").read_text().splitlines() if line.startswith("project(motte"))
    return line.split()[2]


def test_without_a_tag_it_is_a_trial(repository: pathlib.Path) -> None:
    said = release(repository, "before-the-great-change")
    assert f"note: the last commit has no tag {version()}" in said and "ok: version" in said


@pytest.mark.parametrize("prefix", ["", "v"])
def test_the_tag_is_the_version(repository: pathlib.Path, prefix: str) -> None:
    said = release(repository, prefix + version())
    assert "no tag" not in said and "ok: version" in said


@pytest.mark.parametrize("also", [False, True])
def test_another_tag_is_refused(repository: pathlib.Path, also: bool) -> None:
    said = release(repository, "99.0.0", *([version()] if also else []))
    assert f"release: the last commit has the tag 99.0.0, and its version is {version()}" in said
    assert "ok: version" not in said


def test_a_place_with_another_version_is_refused(repository: pathlib.Path) -> None:
    file = repository / "bindings/python/pyproject.toml"
    file.write_text(file.read_text().replace(f'version = "{version()}"', 'version = "99.0.0"'))
    assert f'does not say version = "{version()}"' in release(repository)


def test_tags_of_both_forms_start_a_release() -> None:
    workflow = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    [line] = re.findall(r"(?m)^    tags: (.*)$", workflow)
    # As GitHub reads them.
    patterns = [re.compile(each.replace(".", r"\.")) for each in json.loads(line)]
    started = [tag for tag in ("1.2.3", "v1.2.3", "10.20.30", "v1.2", "1.2.3-rc1", "before") for pattern in patterns
               if pattern.fullmatch(tag)]
    assert started == ["1.2.3", "v1.2.3", "10.20.30"]
