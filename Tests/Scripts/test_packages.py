"""What packages say of themselves: the description of the Python package, its sources, man pages and completion."""
from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable

import pytest
import setuptools

# Fixtures that the tests of the scripts share.
pytest_plugins = ["needs"]

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


def test_what_builds_the_python_package_knows_its_form() -> None:
    # A licence as an expression (PEP 639) is for setuptools from 77 on.
    assert '\nlicense = "Apache-2.0"\n' in (ROOT / "bindings/python/pyproject.toml").read_text()
    for name in ("bindings/python/pyproject.toml", "scripts/requirements/development.in",
                 "scripts/requirements/demo.in"):
        assert re.findall(r"setuptools>=([\d.]+)", (ROOT / name).read_text()) == ["77"], name


@pytest.mark.parametrize("system", [False, True])
def test_a_wheel_without_the_library_is_for_this_system_and_has_its_notices(
        tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, system: bool) -> None:
    monkeypatch.setattr(setuptools, "setup", lambda **_: None)
    monkeypatch.setenv("MOTTE_LIBRARY", "system" if system else str(tmp_path / "libmotte.so.1"))
    monkeypatch.setenv("MOTTE_HEADER", str(ROOT / "include" / "motte.h"))
    monkeypatch.setenv("MOTTE_LIBPCRE2", "none")
    spec = importlib.util.spec_from_file_location("motte_setup", ROOT / "bindings" / "python" / "setup.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    package = tmp_path / "motte"
    package.mkdir()
    shutil.copy(sys.executable, package / "_objects.abi3.so")
    (tmp_path / "libmotte.so.1").touch()

    monkeypatch.setattr(module.bdist_wheel, "get_tag", lambda _: ("cp310", "abi3", "linux_x86_64"))
    monkeypatch.setattr(module, "age", lambda _: 28)
    monkeypatch.setattr(module.shutil, "which", lambda name: name)
    wheel = module.HonestWheel.__new__(module.HonestWheel)
    wheel.bdist_dir = str(tmp_path)
    assert wheel.get_tag() == ("cp310", "abi3", "linux_x86_64" if system else "manylinux_2_28_x86_64")

    monkeypatch.setattr(module.build_ext, "run", lambda _: None)
    monkeypatch.setattr(module, "installed", lambda _: str(tmp_path))
    build = module.BuildExtension.__new__(module.BuildExtension)
    build.extensions, build.inplace = [], False
    build.build_lib, build.build_temp = str(tmp_path), str(tmp_path / "temp")
    build.run()
    assert (package / "libmotte.so.1").exists() != system
    for name in ("LICENSE", "THIRD-PARTY-NOTICES.md"):
        assert (package / name).read_bytes() == (ROOT / name).read_bytes()


def installed(folder: pathlib.Path, prefix: pathlib.Path, *options: str) -> None:
    """Installs with CMake what needs no build, and files that stand for what does."""
    library = folder / "library"
    library.mkdir()
    for name in ("libmotte.so.1", "libmotte.so"):
        (library / name).touch()
    for command in (["-S", str(ROOT), "-B", str(folder / "cmake"), f"-DCMAKE_INSTALL_PREFIX={prefix}",
                     f"-DMOTTE_PREBUILT={library}", "-DMOTTE_BUILD_TESTS=OFF", "-DMOTTE_BUILD_TOOL=OFF", *options],
                    ["--install", str(folder / "cmake")]):
        done = subprocess.run(["cmake", *command], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("library", "header"), [("lib", "include"), ("lib/x/y", "include/x"), ("/", "include"),
                                                 ("lib", "/"), ("/", "/")])
def test_pkg_config_finds_folders_wherever_they_are(
        tmp_path: pathlib.Path, need: Callable[[str, str], None], library: str, header: str) -> None:
    need("cmake", "cmake")
    need("pkg-config", "pkg-config")
    prefix = tmp_path / "prefix"
    # A slash stands for a folder that is named by its whole path, elsewhere.
    library, header = (str(tmp_path / name) if given == "/" else given
                       for given, name in ((library, "libraries"), (header, "headers")))
    installed(tmp_path, prefix, f"-DCMAKE_INSTALL_LIBDIR={library}", f"-DCMAKE_INSTALL_INCLUDEDIR={header}")
    if not library.startswith("/") and not header.startswith("/"):
        # Where it was installed does not matter then.
        prefix = prefix.rename(tmp_path / "moved")
    environment = {**os.environ, "PKG_CONFIG_PATH": str(prefix / library / "pkgconfig")}
    for variable, folder, file in (("libdir", library, "libmotte.so.1"), ("includedir", header, "motte.h")):
        found = subprocess.run(["pkg-config", f"--variable={variable}", "motte"], capture_output=True, text=True,
                               check=True, env=environment).stdout.strip()
        assert pathlib.Path(found).resolve() == prefix / folder and (prefix / folder / file).is_file()


def test_links_of_installed_documents_lead_somewhere(tmp_path: pathlib.Path, need: Callable[[str, str], None]) -> None:
    need("cmake", "cmake")
    installed(tmp_path, tmp_path / "prefix")
    folder = tmp_path / "prefix" / "share" / "doc" / "motte"
    documents = sorted(folder.rglob("*.md"))
    assert len(documents) > 40
    broken = [f"{document.relative_to(folder)}: {link}" for document in documents
              for link in re.findall(r"\]\(([^)#\s]+)", re.sub(r"(?s)```.*?```|`[^`\n]*`", "", document.read_text()))
              if "://" not in link and not (document.parent / link).exists()]
    assert broken == []


def test_man_pages_name_the_folder_of_debians_documents() -> None:
    packaged = (ROOT / "scripts" / "debian.sh").read_text()
    [folder] = set(re.findall(r'mv "\$all/usr/share/doc/motte/\$part" "\$work/libmotte-dev/(\S+?)/"', packaged))
    assert f"/{folder}/docs" in (ROOT / "scripts" / "manual.py").read_text().replace("\\\\", "")
