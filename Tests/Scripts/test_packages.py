"""What packages say of themselves: the description of the Python package, its sources, man pages and completion."""
from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

ROOT = pathlib.Path(__file__).parents[2]
TOOL = ROOT / "build" / "tool" / "motte"


def metadata(tmp_path: pathlib.Path, url: str | None) -> tuple[str, list[str]]:
    """Of a source distribution made of a copy of this repository: its metadata and its files."""
    folder = tmp_path / ("with" if url else "without")
    for name in ("bindings/python", "include"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("build", "*.egg-info", "*.so*"))
    for name in ("LICENSE", "THIRD-PARTY-NOTICES.md"):
        shutil.copy(ROOT / name, folder / name)
    environment = {name: value for name, value in os.environ.items() if name != "MOTTE_PROJECT_URL"}
    if url:
        environment["MOTTE_PROJECT_URL"] = url
    done = subprocess.run([sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", "out", "."],
                          cwd=folder / "bindings" / "python", env=environment, capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    [archive] = (folder / "bindings" / "python" / "out").glob("motte-*.tar.gz")
    with tarfile.open(archive) as tar:
        files = [name.split("/", 1)[1] for name in tar.getnames() if "/" in name]
        [member] = [name for name in tar.getnames() if re.fullmatch(r"motte-[\d.]+/PKG-INFO", name)]
        read = tar.extractfile(member)
        assert read is not None
        return read.read().decode(), files


def test_links_of_the_description_work_alone(tmp_path: pathlib.Path) -> None:
    plain, files = metadata(tmp_path, None)
    assert "An embedded object database" in plain and "](../" not in plain
    assert "(`docs/json.md` of the sources)" in plain and "Project-URL" not in plain
    assert {"LICENSE", "THIRD-PARTY-NOTICES.md", "native/objects.h", "src/motte/_build.py", "src/motte/py.typed"} \
        <= set(files)
    assert not [name for name in files if name.startswith("tests/") or name.endswith(".so")]
    published, _ = metadata(tmp_path, "https://example.org/motte/")
    assert "](https://example.org/motte/docs/json.md)" in published and "](../" not in published
    assert "Project-URL: Source, https://example.org/motte/" in published


def test_sources_without_a_library_say_what_to_do(tmp_path: pathlib.Path) -> None:
    shutil.copytree(ROOT / "bindings" / "python", tmp_path / "python",
                    ignore=shutil.ignore_patterns("build", "*.egg-info", "*.so*"))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MOTTE_")}
    done = subprocess.run([sys.executable, "setup.py", "--version"], cwd=tmp_path / "python", capture_output=True,
                          text=True, timeout=120,
                          # Instead of where one may be installed.
                          env={**environment, "PKG_CONFIG_PATH": "", "PKG_CONFIG_LIBDIR": str(tmp_path)})
    assert done.returncode == 1 and "install libmotte-dev" in done.stderr


def test_man_pages_and_completion(tmp_path: pathlib.Path) -> None:
    subprocess.run([sys.executable, str(ROOT / "scripts" / "manual.py"), str(TOOL), str(tmp_path)], check=True,
                   capture_output=True, timeout=60)
    said = subprocess.run([str(TOOL), "--help"], capture_output=True, text=True, check=True, timeout=60).stdout
    commands = re.findall(r"^  (\w+)(?: \(default\))?  ", said.split("SUBCOMMANDS:")[1], re.MULTILINE)
    pages = {path.name for path in (tmp_path / "man1").iterdir()}
    assert pages == {"motte.1", *(f"motte-{command}.1" for command in commands)} and len(pages) > 18
    query = (tmp_path / "man1" / "motte-query.1").read_text()
    assert "\\fB\\-\\-param\\fR \\fIname=value\\fR" in query and ".SH EXIT STATUS" in query
    for page in pages if shutil.which("man") else []:
        shown = subprocess.run(["man", "--warnings", "-l", str(tmp_path / "man1" / page)], capture_output=True,
                               text=True, timeout=60, env={**os.environ, "MANWIDTH": "100", "LC_ALL": "C.UTF-8"})
        assert shown.returncode == 0 and shown.stderr == "", (page, shown.stderr)
    script = tmp_path / "completions" / "motte.bash"
    done = subprocess.run(["bash", "-c", f"source {script}; complete -p motte"], capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == 0 and "motte" in done.stdout, done.stderr
    assert all((tmp_path / "completions" / f"motte.{shell}").stat().st_size > 1_000 for shell in ("zsh", "fish"))
