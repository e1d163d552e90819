"""What packages say of themselves: the description of the Python package, its sources, man pages and completion."""
from __future__ import annotations

import json
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


def dependencies(manifest: str) -> list[str]:
    """Names of the packages that Package.swift takes."""
    return [url.rstrip("/").removesuffix(".git").split("/")[-1]
            for url in re.findall(r'\.package\(\s*url:\s*"([^"]+)"', manifest)]


def unnoticed(names: list[str], notices: str) -> list[str]:
    """Those without a line of the table of notices that says where they are and under which licence."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in notices.splitlines()
            if line.startswith("| ")]
    return [name for name in names
            if not any(name.lower() in row[0].lower() and row[1] and row[2] for row in rows)]


def test_everything_that_is_contained_has_its_notice() -> None:
    manifest, notices = (ROOT / "Package.swift").read_text(), (ROOT / "THIRD-PARTY-NOTICES.md").read_text()
    pinned = [pin["identity"] for pin in json.loads((ROOT / "Package.resolved").read_text())["pins"]]
    named = dependencies(manifest)
    assert sorted(map(str.lower, named)) == sorted(pinned) != []
    # What the linker puts in, and what the extension module of the Python package is generated by.
    linked = ["Swift standard library", "LLVM", "libstdc++", "libc_nonshared.a", "cffi"]
    tool = ["FoundationEssentials", "Swift Collections", "libdispatch", "UUID functions"]
    assert unnoticed([*named, *linked, *tool], notices) == []
    # What is loaded by name when it is used.
    loaded = set(re.findall(r'"lib([a-z0-9]+)\.so\.\d', "".join(
        path.read_text() for path in (ROOT / "Sources" / "CMotteShim").glob("*.c"))))
    names = {"crypto": "OpenSSL", "sqlite3": "SQLite", "z": "zlib", "zstd": "Zstandard", "edit": "libedit"}
    assert loaded == set(names) and unnoticed(list(names.values()), notices) == []
    # The test itself: a dependency without a line is found.
    added = manifest.replace(".package(url:", '.package(url: "https://example.org/swift-nonsense.git", from: "1.0.0"),'
                                              "\n.package(url:", 1)
    assert unnoticed(dependencies(added), notices) == ["swift-nonsense"]


def test_programs_that_use_motte_take_its_version_from_one_place() -> None:
    found = re.search(r"^project\(motte VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)
    assert found is not None
    named = re.compile(rf"(?<![\w.]){re.escape(found[1])}(?![\w.])|find_package\(motte \d")
    files = [path for path in (ROOT / "Tests" / "Consumers").rglob("*") if path.is_file()]
    assert len(files) > 10
    assert [str(path) for path in files if named.search(path.read_text(errors="replace"))] == []
