"""A stage tests the sources as they are: what it needs is built before it, once in a run. With scripts that say what
they were called for in place of builds and tests."""
from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

# Fixtures that the tests of the scripts share.
pytest_plugins = ["needs"]

ROOT = pathlib.Path(__file__).resolve().parents[2]
CALLED = 'echo "begin $(basename "$0" .sh) $*" >> "$CALLS"; sleep 0.1; echo "end $(basename "$0" .sh) $*" >> "$CALLS"'
STANDING_IN = {
    "scripts/build.sh": f'[ "$1" != flags ] || exit 0\n{CALLED}',
    "scripts/install-python.sh": CALLED,
    "scripts/demo.sh": CALLED,
    "Tests/Consumers/check.sh": CALLED,
    "Tests/Consumers/check-pythons.sh": CALLED,
    # The runner counts tests with it.
    ".venv/bin/python": f'if [ "$1" = - ]; then exec "{sys.executable}" "$@"; fi\n{CALLED}',
    "bin/swift": CALLED,
    "bin/cmake": CALLED,
    "bin/ctest": CALLED,
}


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    for name, text in STANDING_IN.items():
        script = tmp_path / name
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text(f"#!/usr/bin/env bash\n{text}\n")
        script.chmod(0o755)
    for name in ("test.sh", "check.sh", "lanes.sh"):
        shutil.copy(ROOT / "scripts" / name, tmp_path / "scripts" / name)
    (tmp_path / "scripts" / "tidy.py").touch()
    (tmp_path / "scripts" / "affected.py").write_text(
        'print("since: x\\nchanged: 1 files\\ntests: ValuesTests\\nconformance: yes\\npackage: no")\n')
    # What an earlier build left.
    for name in ("build/library/libmotte.so.1", "build/tool/motte", "build/ctest/x"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("true")
        (tmp_path / name).chmod(0o755)
    return tmp_path


def ran(folder: pathlib.Path, script: str, *stages: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MOTTE_") and name != "CI"}
    path = f"{folder / 'bin'}{os.pathsep}{kept['PATH']}"
    return subprocess.run([folder / "scripts" / script, *stages], capture_output=True, text=True, timeout=60,
                          env={**kept, "PATH": path, "CALLS": str(folder / "calls")})


def calls(folder: pathlib.Path, script: str, *stages: str) -> list[str]:
    log = folder / "calls"
    log.unlink(missing_ok=True)
    done = ran(folder, script, *stages)
    assert done.returncode == 0, done.stdout + done.stderr
    return [line for line in log.read_text().splitlines() if line.startswith("begin ")]


def builds(made: list[str]) -> list[str]:
    return [line.removeprefix("begin ").strip() for line in made if line.startswith(("begin build", "begin install-"))]


LIBRARY = ["build library", "build tool"]
PACKAGE = [*LIBRARY, "install-python --if-changed"]


@pytest.mark.parametrize(("stages", "expected"), [
    (["python"], PACKAGE),
    (["python", "tool"], PACKAGE),
    (["consumers", "machines", "size"], PACKAGE),
    (["c"], LIBRARY),
    (["crash"], LIBRARY),
    (["tidy"], LIBRARY),
    (["package"], [*LIBRARY, "install-python"]),
    (["unit"], ["build tests"]),
    (["library", "python"], PACKAGE),
    (["library", "package", "python", "c"], [*LIBRARY, "install-python"]),
    (["machines", "library", "package"], [*LIBRARY, "install-python"]),
])
def test_what_is_tested_is_built_first_and_once(
        folder: pathlib.Path, stages: list[str], expected: list[str]) -> None:
    made = calls(folder, "test.sh", *stages)
    assert builds(made) == expected
    for line in made:
        if line.startswith(("begin python", "begin swift", "begin cmake", "begin check")):
            assert made.index(line) > made.index(f"begin {expected[-1]}" + " " * (" " not in expected[-1]))


def test_the_next_run_looks_again(folder: pathlib.Path) -> None:
    for _ in range(2):
        assert builds(calls(folder, "test.sh", "tool")[:3]) == PACKAGE


WARNING = "Sources/Values/One.swift:1:1: warning: never used"


@pytest.mark.parametrize(("old", "says", "stages", "passes"), [
    ("", "true", ["build"], True),
    ("", f"echo '{WARNING}'", ["build"], False),
    # What an earlier run printed, and what is not there to be looked into.
    (WARNING, "true", ["build"], True),
    (WARNING, "true", ["build", "library"], True),
    ("", "sleep 0.3; rm build/test-logs/build-output.txt", ["build"], False),
])
def test_a_build_has_no_warnings(folder: pathlib.Path, old: str, says: str, stages: list[str], passes: bool) -> None:
    (folder / "build" / "test-logs").mkdir()
    (folder / "build" / "test-logs" / "library-output.txt").write_text(old + "\n")
    (folder / "scripts" / "build.sh").write_text(f'#!/usr/bin/env bash\n[ "$1" != tests ] || {{ {says}; }}\n')
    (folder / "scripts" / "build.sh").chmod(0o755)
    done = ran(folder, "test.sh", *stages)
    assert (done.returncode == 0) == passes, done.stdout + done.stderr


@pytest.mark.parametrize(("script", "place"), [("test.sh", "build"), ("check.sh", "build/check/traces")])
def test_what_an_earlier_run_noted_is_gone_before_the_tests(folder: pathlib.Path, script: str, place: str) -> None:
    old = [folder / place / "function-statuses" / "gone.txt", folder / place / "conformance-functions.txt"]
    old[0].parent.mkdir(parents=True)
    for path in old:
        path.touch()
    # It notes what this run does.
    (folder / "bin" / "ctest").write_text(
        f"#!/usr/bin/env bash\n[ ! -e {old[0]} ] && [ ! -e {old[1]} ] && touch {old[1]}\n")
    for name in (".build/debug/libmotte.so", "build/check/c/x"):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).touch()
    calls(folder, script, "c")
    assert [path.exists() for path in old] == [False, True]


def test_the_file_of_the_demo_is_made_by_this_library(folder: pathlib.Path) -> None:
    file = folder / "build" / "demo" / "flights.motte"
    file.parent.mkdir()
    file.touch()
    library = (folder / "build" / "library" / "libmotte.so.1").stat().st_mtime
    for age, expected in ((-10, True), (10, False)):
        os.utime(file, (library + age, library + age))
        assert any(line.startswith("begin demo") for line in calls(folder, "test.sh", "size")) == expected


@pytest.mark.parametrize(("stage", "before"), [("memory", "c"), ("size", "demo")])
def test_stages_that_share_a_folder_come_one_after_the_other(stage: str, before: str) -> None:
    [line] = [line for line in (ROOT / "scripts" / "test.sh").read_text().splitlines() if f'"{stage}:' in line]
    assert before in line.split(":")[2].split(",")


@pytest.mark.parametrize("stages", [["unit"], ["c", "unit"], ["unit", "build"], ["style"]])
def test_the_quick_loop_builds_before_it_tests(folder: pathlib.Path, stages: list[str]) -> None:
    (folder / "scripts" / "style.sh").write_text('echo "begin style" >> "$CALLS"\n')
    (folder / "scripts" / "style.sh").chmod(0o755)
    (folder / ".build" / "debug").mkdir(parents=True)
    (folder / ".build" / "debug" / "libmotte.so").touch()
    (folder / "build" / "check" / "c").mkdir(parents=True)
    made = calls(folder, "check.sh", *stages)
    built = [line for line in made if line.startswith("begin swift build")]
    assert len(built) == (0 if stages == ["style"] else 1)
    assert made[0].startswith("begin style" if stages == ["style"] else "begin swift build")


def test_two_builds_in_one_folder_come_one_after_the_other(folder: pathlib.Path) -> None:
    shutil.copy(ROOT / "scripts" / "build.sh", folder / "scripts" / "build.sh")
    (folder / "scripts" / "compile.py").write_text(
        "import os, time\n"
        "def say(what): open(os.environ['CALLS'], 'a').write(what + '\\n')\n"
        "say('begin'); time.sleep(0.5); say('end')\n")
    log = folder / "calls"

    def built(what: str) -> subprocess.Popen[str]:
        path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
        return subprocess.Popen([folder / "scripts" / "build.sh", what], stderr=subprocess.PIPE, text=True,
                                env={**os.environ, "PATH": path, "CALLS": str(log)})

    running = [built("tests"), built("bench")]
    assert [each.communicate(timeout=60) and each.returncode for each in running] == [0, 0]
    assert log.read_text().split() == ["begin", "end", "begin", "end"]
    # Those in folders of their own do not wait.
    running = [built("tests"), built("threads")]
    assert [each.communicate(timeout=60)[1] for each in running] == ["", ""]


def test_a_build_without_swift_says_what_is_missing(folder: pathlib.Path, path_without: Callable[[str], str]) -> None:
    shutil.copy(ROOT / "scripts" / "build.sh", folder / "scripts" / "build.sh")
    done = subprocess.run([folder / "scripts" / "build.sh", "library"], capture_output=True, text=True,
                          env={**os.environ, "PATH": path_without("swift")})
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "build: swift is not on PATH; install Swift 6.3 from https://www.swift.org/install/linux/\n"


@pytest.mark.parametrize(("given", "cache"), [
    ({"HOME": "/nonexistent"}, "build/cache"), ({"HOME": "."}, ""),
    ({"HOME": "/nonexistent", "XDG_CACHE_HOME": "/elsewhere"}, "/elsewhere"),
])
def test_a_build_without_a_home_has_its_cache_in_build(folder: pathlib.Path, given: dict[str, str], cache: str) -> None:
    shutil.copy(ROOT / "scripts" / "build.sh", folder / "scripts" / "build.sh")
    (folder / "scripts" / "compile.py").write_text("import os\nprint(os.environ.get('XDG_CACHE_HOME', ''))\n")
    kept = {name: value for name, value in os.environ.items() if name != "XDG_CACHE_HOME"}
    done = subprocess.run([folder / "scripts" / "build.sh", "tests"], cwd=folder, capture_output=True, text=True,
                          env={**kept, "PATH": f"{folder / 'bin'}{os.pathsep}{kept['PATH']}", **given})
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == (str(folder / cache) if cache and not cache.startswith("/") else cache)


def test_a_build_ends_where_the_runtime_cannot_be_prepared(folder: pathlib.Path) -> None:
    shutil.copy(ROOT / "scripts" / "build.sh", folder / "scripts" / "build.sh")
    (folder / "scripts" / "compile.py").touch()
    (folder / "runtime_static" / "linux").mkdir(parents=True)
    said = json.dumps({"compilerVersion": "6", "runtimeResourcePath": str(folder / "runtime")}, indent=1)
    for name, text in (("swiftc", f"[ $1 = -print-target-info ] || {{ {CALLED}; }}\ncat <<'END'\n{said}\nEND"),
                       ("objcopy", "echo objcopy fails >&2; exit 1")):
        (folder / "bin" / name).write_text(f"#!/usr/bin/env bash\n{text}\n")
        (folder / "bin" / name).chmod(0o755)
    done = ran(folder, "build.sh", "tool")
    assert (done.returncode, done.stderr) == (1, "objcopy fails\n"), done.stdout
    assert not (folder / "calls").exists() and not (folder / ".build" / "static" / "swift.of").exists()


PIP = """
site=site/motte
case $* in
    "-c "*__file__*) [ -e "$site/libmotte.so.1" ] && echo "$PWD/$site" ;;
    *" wheel "*) mkdir -p build/wheel; touch build/wheel/motte-1.whl; echo made >> made ;;
    *" install "*) mkdir -p "$site"; cp build/library/libmotte.so.1 "$site/" ;;
esac
"""


def test_the_package_is_installed_again_after_a_change(folder: pathlib.Path) -> None:
    shutil.copy(ROOT / "scripts" / "install-python.sh", folder / "scripts" / "install-python.sh")
    (folder / ".venv" / "bin" / "python").write_text(f"#!/usr/bin/env bash\n{PIP}")
    sources = [f"bindings/python/{name}" for name in ("src/motte/a.py", "native/a.c", "setup.py", "pyproject.toml",
                                                      "README.md")]
    sources += ["include/motte.h", "LICENSE", "THIRD-PARTY-NOTICES.md"]
    for name in sources:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()

    def installed(*options: str) -> bool:
        (folder / "made").unlink(missing_ok=True)
        subprocess.run([folder / "scripts" / "install-python.sh", *options], check=True, capture_output=True)
        return (folder / "made").exists()

    assert installed("--if-changed")
    assert not installed("--if-changed") and installed()
    for name in ("build/library/libmotte.so.1", *sources):
        (folder / name).write_text(f"new {name}")
        later = time.time() + 10
        os.utime(folder / name, (later, later))
        assert installed("--if-changed"), name
        earlier = time.time() - 10
        os.utime(folder / name, (earlier, earlier))
        assert not installed("--if-changed"), name
    # One that comes, gets another name or goes.
    extra = folder / "bindings/python/src/motte/b.py"
    for change in (extra.touch, lambda: extra.rename(extra.with_name("c.py")), extra.with_name("c.py").unlink):
        change()
        assert installed("--if-changed")
        assert not installed("--if-changed")
    # What runs leave there is none.
    (folder / "bindings/python/src/motte.egg-info").mkdir()
    wheel = folder / "build/wheel/motte-1.whl"
    later = time.time() + 10
    os.utime(wheel, (later, later))
    os.utime(folder / "bindings/python/src/motte.egg-info", (later + 10, later + 10))
    assert not installed("--if-changed")
