"""Looks for broken links in a site that scripts/docs.sh built: files, anchors, and pages of the Swift reference.

    python3 scripts/docs/check_site.py FOLDER

Links to other hosts are not followed. Prints a line for each broken one; the exit code is 1 if there is any.
"""
import html.parser
import json
import pathlib
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    """Links and anchors of a page."""

    def __init__(self):
        super().__init__()
        self.links, self.anchors, self.text = [], set(), 0

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if value and (name in ("href", "src") and tag != "base"):
                self.links.append(value)
            if value and (name == "id" or (name == "name" and tag == "a")):
                self.anchors.add(value)

    def handle_data(self, data):
        self.text += len(data.strip())


def pages_of(site):
    found = {}
    for path in sorted(site.rglob("*.html")):
        page = Page()
        page.feed(path.read_text(encoding="utf-8", errors="replace"))
        found[path] = page
    return found


def broken_links(site, pages):
    for path, page in pages.items():
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            # A site is served from its root; DocC's pages name files from there.
            name = urllib.parse.unquote(parts.path)
            goal = site / name.lstrip("/") if name.startswith("/") else path.parent / name
            goal = path if not name else goal.resolve()
            if goal.is_dir():
                goal = goal / "index.html"
            if not goal.exists():
                yield path, link
            elif parts.fragment and goal in pages and path.parts[:len(site.parts) + 1] != (*site.parts, "swift"):
                # Searches and source views make their own anchors in scripts.
                if urllib.parse.unquote(parts.fragment) not in pages[goal].anchors and "search" not in goal.name:
                    yield path, link


def broken_topics(site):
    """Pages of the Swift reference are data that a script shows: what one names must have a page."""
    data = site / "swift" / "data"
    for path in sorted(data.rglob("*.json")):
        for reference in json.loads(path.read_text()).get("references", {}).values():
            url = reference.get("url", "")
            if url.startswith("/documentation/") and reference.get("kind") == "symbol":
                if not (data / (url.split("#")[0].strip("/") + ".json")).exists():
                    yield path, url


def main():
    site = pathlib.Path(sys.argv[1]).resolve()
    pages = pages_of(site)
    broken = [*broken_links(site, pages), *broken_topics(site)]
    for path, link in broken:
        print(f"{path.relative_to(site)}: error: nothing is at {link}")
    # Pages of the Swift reference and of Doxygen's search are filled by a script.
    for path, page in pages.items():
        if page.text < 40 and path.relative_to(site).parts[:1] != ("swift",) and path.parent.name != "search":
            print(f"{path.relative_to(site)}: error: an empty page")
            broken.append((path, ""))
    print(f"note: {len(pages)} pages, {sum(len(page.links) for page in pages.values())} links, {len(broken)} broken")
    return 1 if broken or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
