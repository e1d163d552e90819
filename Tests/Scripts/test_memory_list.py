"""Each test that is to run under valgrind is there: a name that is not ends that stage before its first test."""
from __future__ import annotations

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_each_test_of_the_list_is_there() -> None:
    names = (ROOT / "bindings/python/tests/memory.txt").read_text(encoding="utf-8").split("\n")
    names = [name for name in names if name and not name.startswith("#")]
    missing = []
    for name in names:
        path, _, test = name.partition("::")
        text = (ROOT / path).read_text(encoding="utf-8") if (ROOT / path).is_file() else None
        function = test.partition("[")[0]
        if text is None or function and re.search(rf"^def {function}\(", text, re.MULTILINE) is None:
            missing.append(name)
    assert not missing and len(names) > 20
