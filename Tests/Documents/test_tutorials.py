"""The tutorials, typed along: what a program prints is what stands below it. That in Swift is compiled and run by
Tests/Consumers/check.sh.
"""
from __future__ import annotations

import pathlib
import subprocess
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


@promises("docs/tutorial-c.md", "The blocks are one program; every output below is what the code above it prints")
def test_the_tutorial_in_c(tmp_path: pathlib.Path) -> None:
    parts = blocks("docs/tutorial-c.md")
    (tmp_path / "reading.c").write_text("".join(block.text for block in parts if block.language == "c"))
    library = ROOT / "build" / "library"
    subprocess.run(["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "reading.c", "-o", "reading", "-lmotte",
                    f"-I{ROOT}/include", f"-I{ROOT}/bindings/c", f"-L{library}", f"-Wl,-rpath,{library}"],
                   cwd=tmp_path, check=True)
    done = subprocess.run(["./reading"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout == parts[-1].text


def test_the_tutorial_in_swift_is_a_program() -> None:
    script = (ROOT / "Tests" / "Consumers" / "check.sh").read_text()
    assert "output docs/tutorial-swift.md" in script and "Tutorial ^3 books" in script
