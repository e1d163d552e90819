"""Opens a page of each kind of a site in a headless browser: what it must show is there, and a screenshot is kept.

    python3 scripts/docs/look.py FOLDER SCREENSHOTS

Skipped, with the reason, where there is no browser.
"""
import functools
import http.server
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# Name of the screenshot, page, what the browser must have put there.
KINDS = [
    ("start", "index.html", "An embedded object database"),
    ("guide", "docs/query-language.html", "BEGINSWITH"),
    ("python", "python-reference.html", "motte.Database"),
    ("c", "c/motte_8h.html", "motte_realm_commit"),
    ("swift", "swift/documentation/motte/", "RealmCollection"),
    ("swift-class", "swift/documentation/motte/realm/", "beginWrite"),
]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


def browse(browser, profile, *arguments):
    return subprocess.run(
        [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
         f"--user-data-dir={profile}", "--window-size=1280,1000", "--virtual-time-budget=20000", *arguments],
        capture_output=True, text=True, timeout=120)


def main():
    site, screens = (pathlib.Path(name).resolve() for name in sys.argv[1:3])
    browser = next((path for path in map(shutil.which, BROWSERS) if path), None)
    if browser is None:
        print("skipped: looking at the pages (no browser; 'scripts/setup.sh docs' installs chromium)")
        return 0
    screens.mkdir(parents=True, exist_ok=True)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    failed = 0
    with tempfile.TemporaryDirectory() as profile:
        for name, page, wanted in KINDS:
            if not (site / page).exists():
                print(f"skipped: {page} (its generator is not here)")
                continue
            address = f"http://127.0.0.1:{server.server_port}/{page}"
            shown = browse(browser, profile, "--dump-dom", address)
            picture = screens / f"{name}.png"
            browse(browser, profile, f"--screenshot={picture}", address)
            # Long names have places in them where lines may be broken.
            if wanted not in re.sub(r"<[^>]*>", "", shown.stdout):
                print(f"{page}: error: the browser does not show {wanted!r}")
                failed += 1
            elif not picture.exists() or picture.stat().st_size < 5000:
                print(f"{page}: error: an empty screenshot")
                failed += 1
            else:
                print(f"ok: {page}, {picture.stat().st_size} bytes in {picture.name}")
    server.shutdown()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
