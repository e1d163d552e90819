"""When scripts/old-glibc.sh takes the folder that an earlier run made."""
from __future__ import annotations

import os
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_a_folder_that_was_moved_is_made_again(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "build" / "glibc-2.28"
    folder.mkdir(parents=True)
    (tmp_path / "scripts").mkdir()
    # On other machines there is nothing to make.
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "uname").write_text("#!/bin/sh\necho x86_64\n")
    (tmp_path / "bin" / "uname").chmod(0o755)
    shutil.copy(ROOT / "scripts" / "old-glibc.sh", tmp_path / "scripts" / "old-glibc.sh")
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"

    def made(place: pathlib.Path) -> subprocess.CompletedProcess[str]:
        (folder / "libc.so").write_text(f'GROUP ( "{place}/libc.so.6" "{place}/liblater.a" )\n')
        return subprocess.run([tmp_path / "scripts" / "old-glibc.sh", "2.28"], capture_output=True, text=True,
                              timeout=60, env={**os.environ, "PATH": path})

    assert made(folder).stdout == f"{folder}\n"
    # It begins to make one, for which there is nothing here.
    again = made(pathlib.Path("/before/build/glibc-2.28"))
    assert again.returncode != 0 and again.stdout == ""
