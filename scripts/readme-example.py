"""Prints the example of a language from README.md, so that check-consumers.sh can run what the README promises.

    python3 scripts/readme-example.py swift|c|python
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MARKS = {"swift": "import Motte", "c": "#include <motte.h>", "python": "import motte"}

language = sys.argv[1]
text = (ROOT / "README.md").read_text(encoding="utf-8")
for block in re.findall(rf"(?ms)^```{language}\n(.*?)^```", text):
    if MARKS[language] in block:
        print(block, end="")
        break
else:
    sys.exit(f"README.md has no {language} example")
