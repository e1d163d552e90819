"""What the check of the site of documents finds (scripts/docs/check_site.py)."""
from __future__ import annotations

import json
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WORDS = "<p>There is so much on this page that nobody would take it for an empty one.</p>"


def check(site: pathlib.Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, ROOT / "scripts" / "docs" / "check_site.py", site], capture_output=True,
                          text=True, timeout=60)


@pytest.fixture
def site(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "index.html").write_text(f'<a href="guide/">a</a><a href="guide/index.html#part">b</a>{WORDS}')
    (tmp_path / "guide").mkdir()
    (tmp_path / "guide" / "index.html").write_text(
        f'<h1 id="part">Part</h1><a href="../index.html">up</a><a href="https://example.com/x">away</a>{WORDS}')
    topics = tmp_path / "swift" / "data" / "documentation"
    topics.mkdir(parents=True)
    (topics / "motte.json").write_text(json.dumps(
        {"references": {"one": {"kind": "symbol", "url": "/documentation/motte/realm"}}}))
    (topics / "motte").mkdir()
    (topics / "motte" / "realm.json").write_text("{}")
    return tmp_path


def test_a_whole_site_passes(site: pathlib.Path) -> None:
    done = check(site)
    assert done.returncode == 0, done.stdout
    assert "note: 2 pages, 4 links, 0 broken" in done.stdout


@pytest.mark.parametrize("link", ["gone.html", "guide/gone.png", "#gone", "guide/index.html#gone", "/gone/"])
def test_a_broken_link_is_found(site: pathlib.Path, link: str) -> None:
    (site / "index.html").write_text(f'<a href="{link}">a</a>{WORDS}')
    done = check(site)
    assert done.returncode == 1
    assert f"index.html: error: nothing is at {link}" in done.stdout


def test_a_topic_without_a_page_is_found(site: pathlib.Path) -> None:
    (site / "swift" / "data" / "documentation" / "motte" / "realm.json").unlink()
    done = check(site)
    assert done.returncode == 1
    assert "nothing is at /documentation/motte/realm" in done.stdout


def test_empty_pages_and_sites_are_found(site: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    (site / "guide" / "index.html").write_text('<h1 id="part"></h1>')
    assert "guide/index.html: error: an empty page" in check(site).stdout
    assert check(tmp_path_factory.mktemp("nothing")).returncode == 1
