"""The small programs of examples/gallery, used as their first lines say."""
from __future__ import annotations

import ast
import json
import pathlib
import signal
import subprocess
import sys
import threading
import types
from typing import Any

import pytest

from documents import ROOT

GALLERY = ROOT / "examples" / "gallery"
LIBRARY = ROOT / "build" / "library"


def python(name: str, *arguments: object) -> str:
    done = subprocess.run([sys.executable, GALLERY / name, *map(str, arguments)], capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_notes_with_tags_and_a_list_that_follows(tmp_path: pathlib.Path) -> None:
    file = ("--file", tmp_path / "notes.motte")
    assert python("notes.py", *file, "add", "Buy beans #shopping #coffee") == "note 1\n"
    assert python("notes.py", *file, "add", "Call Grace") == "note 2\n"
    command = [sys.executable, str(GALLERY / "notes.py"), *map(str, file), "watch", "--tag", "coffee"]
    # In the background of a shell Ctrl-C is ignored, also by what is started there.
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                          preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as watching:
        assert watching.stdout
        watchdog = threading.Timer(30, watching.kill)
        watchdog.start()
        assert watching.stdout.readline() + watching.stdout.readline() == "   1  Buy beans #shopping #coffee\n1 open\n"
        assert python("notes.py", *file, "add", "Clean the mill #coffee") == "note 3\n"
        assert [watching.stdout.readline() for _ in range(4)] == [
            "-0 +1 ~0\n", "   1  Buy beans #shopping #coffee\n", "   3  Clean the mill #coffee\n", "2 open\n"]
        assert python("notes.py", *file, "done", "1") == ""
        assert [watching.stdout.readline() for _ in range(3)] == [
            "-1 +0 ~0\n", "   3  Clean the mill #coffee\n", "1 open\n"]
        watching.send_signal(signal.SIGINT)
        assert watching.wait(30) == 0
        watchdog.cancel()
    assert python("notes.py", *file, "list") == "   2  Call Grace\n   3  Clean the mill #coffee\n2 open\n"
    missing = subprocess.run([sys.executable, GALLERY / "notes.py", *map(str, file), "done", "9"],
                             capture_output=True, text=True)
    assert (missing.returncode, missing.stderr) == (1, "there is no note 9\n")


def test_a_log_of_sensors_in_several_processes(tmp_path: pathlib.Path) -> None:
    program, file = tmp_path / "sensor", tmp_path / "sensors.motte"
    subprocess.run(["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", GALLERY / "sensor.c", "-o", program,
                    "-lm", "-lmotte", f"-I{ROOT}/include", f"-I{ROOT}/bindings/c", f"-L{LIBRARY}",
                    f"-Wl,-rpath,{LIBRARY}"], check=True)
    monitor = subprocess.Popen([sys.executable, str(GALLERY / "monitor.py"), str(file), "--seconds", "2"],
                               stdout=subprocess.PIPE, text=True)
    sensors = [subprocess.Popen([program, file, name, "60", "5"], stdout=subprocess.PIPE, text=True)
               for name in ("attic", "cellar")]
    said = [sensor.communicate(timeout=60)[0] for sensor in sensors]
    assert said == ["attic: 60 readings, the last is 60\n", "cellar: 60 readings, the last is 60\n"]
    lines = monitor.communicate(timeout=60)[0].splitlines()
    assert monitor.returncode == 0
    assert lines[-3].startswith("attic: 60 readings, ") and lines[-2].startswith("cellar: 60 readings, ")
    warnings = [line for line in lines[:-3] if line.endswith(" degrees")]
    assert lines[-1] == f"120 readings, {len(warnings)} warnings" and warnings
    # What is older than a thousand readings of a sensor goes.
    subprocess.run([program, file, "attic", "1010", "0"], check=True, stdout=subprocess.DEVNULL)
    assert "attic: 1000 readings" in python("monitor.py", file, "--seconds", "0.5")


def test_the_notebook_shows_what_it_computes(capsys: pytest.CaptureFixture[str],
                                             monkeypatch: pytest.MonkeyPatch) -> None:
    """Each cell is executed as a kernel does it, and shows what the file has below it."""
    cells = json.loads((ROOT / "examples" / "notebook" / "weather.ipynb").read_text())["cells"]
    module = types.ModuleType("weather")
    # What a test leaves behind is looked at before the fixture would take this back.
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "weather", module)
        assert _compared(cells, module.__dict__, capsys) == 7


def _compared(cells: list[Any], names: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> int:
    """How many outputs were what the file has."""
    compared = 0
    for cell in cells:
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, cell["id"], "exec"), names)
        value = None
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), cell["id"], "eval"), names)
        shown = {"stdout": capsys.readouterr().out}
        if value is not None:
            shown["text/plain"] = repr(value)
            if hasattr(value, "_repr_html_"):
                shown["text/html"] = value._repr_html_()
        for output in cell["outputs"]:
            kept = {output["name"]: output["text"]} if output["output_type"] == "stream" else output["data"]
            for kind, text in kept.items():
                assert shown[kind].strip() == "".join(text).strip(), f"{cell['id']} shows something else as {kind}"
                compared += 1
    return compared
