"""The `motte` command as processes, for tests: run to its end, or begun and ended at some moment."""
from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import time
from collections.abc import Callable, Iterator

import pytest

TOOL = pathlib.Path(__file__).parents[2] / "build" / "tool" / "motte"
_running: list[subprocess.Popen[str]] = []


def run(*arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [TOOL, *map(str, arguments)], capture_output=True, text=True, timeout=300, env={**os.environ, **variables})


def done(*arguments: object) -> str:
    """What it prints; it must end well."""
    result = run(*arguments)
    assert result.returncode == 0, f"{result.stdout}{result.stderr}"
    return result.stdout


def begin(*arguments: object) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [TOOL, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    _running.append(process)
    return process


def end(process: subprocess.Popen[str], how: int = signal.SIGKILL) -> None:
    process.send_signal(how)
    process.communicate(timeout=60)
    _running.remove(process)


def ended(process: subprocess.Popen[str]) -> str:
    """What it said when it ended by itself."""
    _, said = process.communicate(timeout=60)
    _running.remove(process)
    return said


def end_all() -> None:
    while _running:
        process = _running.pop()
        process.kill()
        process.communicate()


@pytest.fixture(autouse=True)
def nothing_is_left_running() -> Iterator[None]:
    """For modules that import it: no test leaves a process of the tool behind."""
    yield
    end_all()


def expect_running(*processes: subprocess.Popen[str]) -> bool:
    """Fails where one has ended by itself; else False, for who waits for something else."""
    for process in processes:
        assert process.poll() is None, process.communicate()[1]
    return False


def until(check: Callable[[], bool], seconds: float = 60) -> None:
    limit = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < limit, "it took too long"
        time.sleep(0.02)
