"""The tutorials, typed along: what a program prints is what stands below it. That in Swift is compiled and run by
scripts/check-consumers.sh.
"""
from __future__ import annotations

import pathlib
from typing import Any

import pytest

from documents import ROOT, blocks, promises
from test_examples import run_python


@promises("docs/tutorial-python.md", "every output below is what the code above it prints",
          "at its end everything is on the disk, and if it raises, nothing is",
          "`short` was made before the change and shows the state after it")
def test_the_tutorial_in_python(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch,
                                capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "tutorial"}
    printed = ""
    compared = 0
    for block in blocks("docs/tutorial-python.md"):
        if block.language == "python":
            assert printed == "", f"{block}: the block before it prints more than the document says"
            run_python(block.text, names)
            printed = capsys.readouterr().out
        else:
            assert printed == block.text, str(block)
            printed = ""
            compared += 1
    names.clear()
    assert compared == 6 and (tmp_path / "reading.motte").exists()


def test_the_tutorial_in_swift_is_a_program() -> None:
    script = (ROOT / "scripts" / "check-consumers.sh").read_text()
    assert "output docs/tutorial-swift.md" in script and "Tutorial ^3 books" in script
