"""What scripts/tidy.py takes for a comparison of names, or a reading of texts, by characters, and what not; and when it
reads what tests noted."""
from __future__ import annotations

import importlib.util
import os
import pathlib
import types

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def tidy(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """Of an empty repository."""
    spec = importlib.util.spec_from_file_location("tidy", ROOT / "scripts" / "tidy.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "tracked", lambda *endings: sorted(tmp_path.rglob("*.swift")))
    return module


def found(tidy: types.ModuleType, line: str, folder: str = "Storage",
          check: str = "names_are_told_apart_by_their_bytes") -> int:
    path = tidy.ROOT / "Sources" / folder / "One.swift"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(line + "\n")
    tidy.findings.clear()
    getattr(tidy, check)()
    return len(tidy.findings)


@pytest.mark.parametrize("line", [
    "columns.first { $0.name == name }",
    "inverses.removeAll { $0.name == replaced.property.name }",
    "where entry.key != type.primaryKey?.name {",
    "if type.primaryKey?.name != key { return }",
    "guard object.className() == other else { return }",
    "classes.sorted { $0.className < $1.className }",
    "for name in names where own[key] == name {",
    "guard known.contains(name) else { return }",
    "options.properties.contains(field.property.name)",
    "all.firstIndex(of: className)",
    "path.lastIndex(of: \"/\")",
    "types.map(\\.name).sorted()",
    "Set(old.objectTypes.map(\\.name))",
    "var gone: [String: Int] = [:]",
    "var seen: Set<String> = []",
])
def test_names_by_characters(tidy: types.ModuleType, line: str) -> None:
    assert found(tidy, line) == 1
    assert found(tidy, line + "  // names: ASCII") == 0
    assert found(tidy, "// names: ASCII\n" + line) == 0


@pytest.mark.parametrize("line", [
    "columns.first { $0.name.hasSameBytes(as: name) }",
    "if type.name.hasSameBytes(as: name) == true { return }",
    "if property.name == nil || nil != type.name || name == \"id\" || \"id\" == name { return }",
    "while name.utf8.count > longest { }",
    "if name.count == other.name.count { return }",
    "if target != NameKey(type.name) { return }",
    "names.sorted { $0.precedesInBytes($1) }",
    "var gone: [NameKey: Int] = [:]",
    "let text = \"$0.name == name\"",
    "let names: [String] = []",
])
def test_what_is_no_such_thing(tidy: types.ModuleType, line: str) -> None:
    assert found(tidy, line) == 0


def test_dictionaries_of_programs(tidy: types.ModuleType) -> None:
    assert found(tidy, "public let userInfo: [String: Any]", "Motte") == 0
    assert found(tidy, "var given: [String: String] = [:]", "Tool") == 0
    assert found(tidy, "fields.first { $0.name == name }", "Motte") == 1


READING = "texts_are_read_by_their_bytes"


@pytest.mark.parametrize("line", [
    "for line in text.split(separator: \"\\n\") {",
    "if text.hasPrefix(\"--\") { return }",
    "return path.hasSuffix(ending)",
    "while let last = text.last, last.isWhitespace { text.removeLast() }",
    "guard text.contains(\"\\n\") else { return }",
    "let end = message.firstIndex(of: \":\")",
    "var quote: Character?",
])
def test_texts_by_characters(tidy: types.ModuleType, line: str) -> None:
    for folder in "Tool", "Exchange", "QueryEngine":
        assert found(tidy, line, folder, READING) == 1
        assert found(tidy, line + "  // characters: shown", folder, READING) == 0
        assert found(tidy, "// characters: shown\n" + line, folder, READING) == 0
    assert found(tidy, line, "Motte", READING) == 0


@pytest.mark.parametrize("line", [
    "for line in text.parts(between: \"\\n\") {",
    "if text.beginsWithBytes(of: \"--\") { return }",
    "while let last = scalars.last, last.properties.isWhitespace { scalars.removeLast() }",
    "if words.contains(found) || text.utf8.contains(UInt8(ascii: \"{\")) { return }",
    "// text.split(separator: \"x\")",
])
def test_what_reads_no_characters(tidy: types.ModuleType, line: str) -> None:
    assert found(tidy, line, "Tool", READING) == 0


@pytest.mark.parametrize("changed", ["include/motte.h", "Tests/Conformance/one.steps", "bindings/c/tests/one.c"])
def test_notes_of_tests_are_read_until_something_is_newer(
        tidy: types.ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
        changed: str) -> None:
    monkeypatch.setattr(tidy, "CASES", tidy.ROOT / "Tests" / "Conformance")
    monkeypatch.setattr(tidy.header, "functions", list)
    notes = ["build/conformance-functions.txt", "build/function-statuses/one.txt"]
    sources = ["include/motte.h", "Tests/Conformance/trace.py", "Tests/Conformance/one.steps", "bindings/c/tests/one.c"]
    lists = ["bindings/c/tests/errors-not-provoked.txt", "Tests/Conformance/functions-not-reached.txt"]
    for time, names in enumerate((sources, notes, lists), 1):
        for name in names:
            (tidy.ROOT / name).parent.mkdir(parents=True, exist_ok=True)
            (tidy.ROOT / name).touch()
            os.utime(tidy.ROOT / name, (time, time))
    tidy.functions_are_reached()
    tidy.functions_return_what_they_promise()
    assert "skipped" not in capsys.readouterr().out
    os.utime(tidy.ROOT / changed, (9, 9))
    tidy.functions_are_reached()
    tidy.functions_return_what_they_promise()
    said = capsys.readouterr().out
    assert said.count("skipped: ") == said.count("(the header, a case or a test is newer; run ") == 2
