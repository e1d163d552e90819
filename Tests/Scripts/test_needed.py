"""What scripts/check-needed.sh finds of programs and libraries."""
from __future__ import annotations

import pathlib
import subprocess
from collections.abc import Callable

import pytest

# Fixtures that the tests of the scripts share.
pytest_plugins = ["needs"]

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(("options", "complaint"), [
    (["-Wl,-z,relro,-z,now"], ""),
    (["-Wl,-z,relro,-z,lazy"], "is not linked with -z relro -z now"),
    (["-Wl,-z,norelro,-z,now"], "is not linked with -z relro -z now"),
    (["-Wl,-z,relro,-z,now", "-Wl,-rpath,/nowhere"], "looks for libraries in a folder of its own"),
])
def test_how_it_is_linked(tmp_path: pathlib.Path, need: Callable[[str, str], None], options: list[str],
                          complaint: str) -> None:
    need("gcc", "gcc")
    (tmp_path / "one.c").write_text("int main(void) { return 0; }\n")
    subprocess.run(["gcc", "one.c", "-o", "one", *options], cwd=tmp_path, check=True)
    done = subprocess.run([ROOT / "scripts" / "check-needed.sh", tmp_path / "one"], capture_output=True, text=True)
    assert (done.returncode, complaint in done.stderr) == (1 if complaint else 0, True), done.stderr
    assert complaint or done.stdout == "libc.so.6\n"
    # Programs of others, which may need more, are linked as they like.
    given = subprocess.run([ROOT / "scripts" / "check-needed.sh", tmp_path / "one", "libx.so"], capture_output=True)
    assert given.returncode == 0
