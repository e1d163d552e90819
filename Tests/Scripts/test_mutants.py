"""Each mutant of Tests/Mutants still applies to the sources as they are."""
from __future__ import annotations

import importlib.util
import json
import pathlib

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "Mutants"


def test_each_mutant_applies() -> None:
    spec = importlib.util.spec_from_file_location("mutants", FOLDER / "run.py")
    assert spec is not None and spec.loader is not None
    run = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(run)
    mutants = json.loads((FOLDER / "mutants.json").read_text(encoding="utf-8"))
    texts, stale = run.mutated(FOLDER.parents[1], mutants)
    assert not stale and len(texts) > 10
    assert [mutant["mutant"] for mutant in mutants] == list(range(1, len(mutants) + 1))
