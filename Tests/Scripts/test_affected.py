"""Which tests `make check` runs for a change (scripts/affected.py)."""
from __future__ import annotations

import pathlib
import sys
from collections.abc import Callable

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import affected  # noqa: E402


@pytest.fixture(scope="module")
def targets() -> dict[str, tuple[str, set[str], bool]]:
    return affected.targets()


def test_a_module_takes_the_tests_of_those_above_it_along(targets: dict[str, tuple[str, set[str], bool]]) -> None:
    tests = affected.affected_tests(["Sources/Storage/Store.swift"], targets)
    assert {"StorageTests", "LiveObjectsTests", "NotificationsTests", "MotteTests", "ConformanceTests"} <= set(tests)
    assert "ValuesTests" not in tests and "ColumnsTests" not in tests and "SchemaModelTests" not in tests


def test_what_is_above_everything_takes_its_own_tests_only(targets: dict[str, tuple[str, set[str], bool]]) -> None:
    assert affected.affected_tests(["Sources/Motte/Realm/Realm.swift"], targets) == [
        "ConformanceTests", "MotteTests"]
    assert affected.affected_tests(["Tests/PagesTests/CutTests.swift"], targets) == ["PagesTests"]
    assert affected.affected_tests(["Fuzz/CatalogFuzz.swift"], targets) == ["FuzzTests"]


def test_documents_and_python_take_no_swift_test(targets: dict[str, tuple[str, set[str], bool]]) -> None:
    assert affected.affected_tests(["docs/testing.md", "bindings/python/src/motte/query.py"], targets) == []


def test_the_header_and_the_package_take_all(targets: dict[str, tuple[str, set[str], bool]]) -> None:
    every = sorted(name for name, (_, _, is_test) in targets.items() if is_test)
    assert len(every) >= 10
    for file in ("include/motte.h", "Package.swift"):
        assert affected.affected_tests([file], targets) == every


def test_each_module_of_the_sources_has_tests(targets: dict[str, tuple[str, set[str], bool]]) -> None:
    untested = {name for name, (folder, _, is_test) in targets.items() if folder.startswith("Sources/") and not is_test
                and not affected.affected_tests([folder + "new.swift"], targets)}
    # The tool is driven by tests in Python, the other is a name for `Motte`.
    assert untested == {"MotteTool", "RealmSwift"}


@pytest.fixture
def commit(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str | None]:
    """Makes commits in a repository of one file."""
    monkeypatch.setattr(affected, "ROOT", tmp_path)

    def make(text: str) -> str | None:
        (tmp_path / "one").write_text(text)
        affected.git("add", "-A")
        affected.git("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgSign=false",
                     "commit", "-m", text)
        return affected.git("rev-parse", "HEAD")

    return make


def test_what_a_tree_is_compared_with(tmp_path: pathlib.Path, commit: Callable[[str], str | None]) -> None:
    # An unpacked archive, and a clone of one commit.
    assert affected.base() == "all"
    affected.git("init", "--initial-branch=main")
    first = commit("first")
    assert first and affected.base() == "all"
    second = commit("second")
    assert affected.base() == first != second
    (tmp_path / "one").write_text("changed")
    assert affected.base() == second


def test_a_branch_is_compared_with_where_it_began(commit: Callable[[str], str | None]) -> None:
    affected.git("init", "--initial-branch=main")
    commit("first")
    began = commit("second")
    affected.git("checkout", "-b", "feature")
    commit("third")
    # On a clone without another one, and pushed: its own upstream is not where it began.
    assert affected.base() == began
    affected.git("config", "remote.origin.url", "nowhere")
    affected.git("config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
    for branch in ("main", "feature"):
        affected.git("update-ref", f"refs/remotes/origin/{branch}", branch)
        affected.git("config", f"branch.{branch}.remote", "origin")
        affected.git("config", f"branch.{branch}.merge", f"refs/heads/{branch}")
    assert affected.git("rev-parse", "--abbrev-ref", "@{upstream}") == "origin/feature"
    commit("fourth")
    assert affected.base() == began
    # Where there is no other branch than the main one, it has commits that were not pushed.
    affected.git("checkout", "main")
    commit("fifth")
    assert affected.base() == began


def test_a_file_that_got_another_name_is_gone_from_where_it_was(
        tmp_path: pathlib.Path, commit: Callable[[str], str | None]) -> None:
    affected.git("init", "--initial-branch=main")
    commit("a line that is there before and after\n" * 20)
    (tmp_path / "Sources").mkdir()
    (tmp_path / "one").rename(tmp_path / "Sources" / "one")
    affected.git("add", "-A")
    assert affected.changed("HEAD") == ["Sources/one", "one"]
