"""What the tests of the scripts share: tools that a machine may not have."""
from __future__ import annotations

import os
import pathlib
import shutil
from collections.abc import Callable

import pytest


@pytest.fixture
def need() -> Callable[[str, str], None]:
    """Skips a test for lack of a tool; in CI, that fails it."""

    def check(tool: str | pathlib.Path, package: str) -> None:
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed; install {package} ('make setup' does)")

    return check


@pytest.fixture
def path_without(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """PATH without one tool: folders that have it are replaced by links to all else that is in them."""

    def make(tool: str) -> str:
        folders = []
        for folder in map(pathlib.Path, os.environ["PATH"].split(os.pathsep)):
            if (folder / tool).exists():
                links = tmp_path_factory.mktemp(f"without-{tool}")
                for found in folder.iterdir():
                    if found.name != tool:
                        (links / found.name).symlink_to(found)
                folder = links
            folders.append(str(folder))
        return os.pathsep.join(folders)

    return make
