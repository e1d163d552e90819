"""Files that a command writes: whole or not at all, whatever ends it, and nothing beside them."""
from __future__ import annotations

import os
import pathlib
import resource
import signal
import stat
import subprocess
import time

import pytest

from test_tool import TOOL, motte

OLD = "what was there before\n"
ROWS = 200_000


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("numbers")
    (folder / "t.csv").write_text("id,name\n" + "".join(f"{n},the name of {n}\n" for n in range(ROWS)))
    motte("import", folder / "numbers.motte", "T", folder / "t.csv", "--key", "id", "--quiet")
    return folder / "numbers.motte"


@pytest.fixture
def target(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "target").write_text(OLD)
    return tmp_path / "out" / "target"


def names(folder: pathlib.Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def writing(numbers: pathlib.Path, target: pathlib.Path) -> list[tuple[list[object], str]]:
    """Commands that make `target` new, with their statements."""
    return [(["export", numbers, "--output", target], ""),
            (["export", numbers, "T", "--format", "csv", "--output", target], ""),
            (["export", numbers, "T", "--format", "arrow", "--output", target], ""),
            (["salvage", numbers, "--output", target], ""),
            ([numbers], f".output {target}\n.mode csv\nT;\n.output\ncount T;\n")]


def limited() -> None:
    # As a disk that becomes full; small files can still be written.
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))


def test_a_full_disk_leaves_the_old_file(numbers: pathlib.Path, target: pathlib.Path) -> None:
    for command, statements in writing(numbers, target):
        done = subprocess.run([str(TOOL), *map(str, command)], input=statements, capture_output=True, text=True,
                              timeout=60, preexec_fn=limited)
        assert (done.returncode, done.stdout) == (1, ""), (command, done)
        assert "File too large" in done.stderr, done.stderr
        assert target.read_text() == OLD and names(target.parent) == {"target"}, command
    new = target.parent / "new.sqlite"
    done = subprocess.run([str(TOOL), "export", str(numbers), "--format", "sqlite", "--output", str(new), "--quiet"],
                          capture_output=True, text=True, timeout=60, preexec_fn=limited)
    assert done.returncode == 1 and done.stderr and names(target.parent) == {"target"}, done.stderr


def is_open(pid: int, folder: pathlib.Path) -> bool:
    """Whether the process has a file without a name in a folder."""
    for link in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            path = os.readlink(link)
        except OSError:
            continue
        if path.startswith(f"{folder}/") and (path.endswith(" (deleted)") or ".writing-" in path):
            return True
    return False


def usual_signals() -> None:
    # Who runs tests in the background has them pass over Ctrl-C.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def stop(command: list[object], folder: pathlib.Path, number: signal.Signals) -> int:
    """Sends a signal as soon as the command has begun to write into a folder."""
    with subprocess.Popen([str(TOOL), *map(str, command)], stdout=subprocess.DEVNULL,
                          preexec_fn=usual_signals) as process:
        until = time.monotonic() + 30
        while not is_open(process.pid, folder) and process.poll() is None:
            assert time.monotonic() < until
        process.send_signal(number)
        return process.wait(timeout=60)


def test_who_is_killed_leaves_the_old_file(numbers: pathlib.Path, target: pathlib.Path) -> None:
    for number in (signal.SIGKILL, signal.SIGINT):
        for command, statements in writing(numbers, target):
            if not statements:
                assert stop(command, target.parent, number) == -number, command
                assert target.read_text() == OLD and names(target.parent) == {"target"}, command
    # SQLite takes no file without a name: what asks the command to end is caught.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        command = ["export", numbers, "--format", "sqlite", "--output", target.parent / "new.sqlite", "--quiet"]
        assert stop(command, target.parent, number) == 130
        assert names(target.parent) == {"target"}
    # But not where it was to be passed over, as by nohup.
    new = target.parent / "new.sqlite"
    process = subprocess.Popen(["nohup", str(TOOL), "export", str(numbers), "--format", "sqlite", "--output", str(new),
                                "--quiet"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    while not is_open(process.pid, target.parent) and process.poll() is None:
        pass
    process.send_signal(signal.SIGHUP)
    assert process.wait(timeout=60) == 0 and new.exists()


def test_a_file_of_the_shell_is_there_when_it_is_whole(numbers: pathlib.Path, target: pathlib.Path) -> None:
    target.chmod(0o600)
    shell = subprocess.Popen([str(TOOL), str(numbers)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert shell.stdin and shell.stdout
    shell.stdin.write(f".output {target}\ncount T id < 5;\n.output\ncount T;\n")
    shell.stdin.flush()
    assert shell.stdout.readline() == f"{ROWS}\n" and target.read_text() == "5\n"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    shell.stdin.write(f".output {target}\ncount T id < 6;\n.output {target}.2\ncount T id < 7;\n.output /dev/stdout\n"
                      "count T id < 8;\n")
    shell.stdin.flush()
    assert shell.stdout.readline() == "8\n"
    assert target.read_text() == "6\n" and (target.parent / "target.2").read_text() == "7\n"
    # The end is one too, and a mistake is none.
    shell.stdin.write(f".output {target}\ncount T id < 9;\n")
    shell.stdin.close()
    assert shell.wait(timeout=20) == 0 and target.read_text() == "9\n"
    (target.parent / "more.txt").write_text(f"count T id < 3;\n.output {target}\ncount T id < 2;\n")
    for statements, code, said in [(f".output {target}\ncount T;\nnonsense;\n", 1, "9\n"),
                                   (f".output {target}.2\n.read {target.parent}/more.txt\n", 0, "2\n")]:
        done = subprocess.run([str(TOOL), str(numbers)], input=statements, capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stdout) == (code, "") and target.read_text() == said, done.stderr
    assert (target.parent / "target.2").read_text() == "3\n"
    assert "is a Motte database" in subprocess.run(
        [str(TOOL), str(numbers)], input=f".output {numbers}\n", capture_output=True, text=True, timeout=60).stderr
    assert names(target.parent) == {"target", "target.2", "more.txt"}
