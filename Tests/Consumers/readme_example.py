"""Prints examples of the documents, so that check.sh can run what they promise; the rest of the examples are run by
Tests/Documents.

    readme_example.py swift|c|python          the example of a language of README.md
    readme_example.py fill DOCUMENT TEMPLATE  a Swift source, with the blocks of a document in place of its lines
                                              `// Block: how the block begins`
    readme_example.py output DOCUMENT         what it says that its programs print: the blocks of text behind a block
                                              of code
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
MARKS = {"swift": "import Motte", "c": "#include <motte_inline.h>", "python": "import motte"}


def block(document, language, beginning):
    """The one block that has the text."""
    text = (ROOT / document).read_text(encoding="utf-8")
    found = [code for code in re.findall(rf"(?ms)^```{language}\n(.*?)^```", text) if beginning in code]
    if len(found) != 1:
        sys.exit(f"{document} has {len(found)} {language} examples with {beginning!r}")
    return found[0]


if sys.argv[1] == "fill":
    document, template = sys.argv[2:]
    filled = re.sub(r"(?m)^// Block: (.*)\n", lambda line: block(document, "swift", line[1]),
                    pathlib.Path(template).read_text(encoding="utf-8"))
    unused = [code for code in re.findall(r"(?ms)^```swift\n(.*?)^```", (ROOT / document).read_text(encoding="utf-8"))
              if code not in filled]
    if unused:
        sys.exit(f"{template} has not all examples of {document}:\n{unused[0]}")
    print(filled, end="")
elif sys.argv[1] == "output":
    text = (ROOT / sys.argv[2]).read_text(encoding="utf-8")
    print("".join(re.findall(r"(?ms)^```(?:swift|c)\n(?:[^`].*?\n)?```\n\n```text\n(.*?)^```", text)), end="")
else:
    print(block("README.md", sys.argv[1], MARKS[sys.argv[1]]), end="")
