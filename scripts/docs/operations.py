"""Makes docs/operations.md, the table of what can be done to what in each language, of operations.txt.

    operations.py            writes the document
    operations.py --check    prints `file:line: error: ...` where a name is not in the sources, a function of motte.h is
                             in no row, or the document is another one

`make tidy` runs the check.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = ROOT / "scripts" / "docs" / "operations.txt"
DOCUMENT = ROOT / "docs" / "operations.md"
sys.path.insert(0, str(ROOT / "bindings" / "c"))
import header  # noqa: E402

BEGINNING = """# What each language can do

Made of `scripts/docs/operations.txt`; `make tidy` compares it with the sources. Functions of C are without `motte_`.
Where a language has no name for something, the reason stands in brackets.

| | | C | Swift | Python |
|---|---|---|---|---|
"""


def rows():
    """(line number, noun, operation, C, Swift, Python) of each line; the languages as lists of names, or a reason."""
    for number, line in enumerate(SOURCE.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) != 5:
            sys.exit(f"{SOURCE}:{number}: error: five columns, not {len(cells)}")
        yield (number, cells[0], cells[1],
               *(cell if cell.startswith("- ") else [name.strip() for name in cell.split(",")] for cell in cells[2:]))


def public_names(folder, suffix, pattern):
    """The names that files below a folder declare."""
    names = set()
    for path in sorted(folder.rglob("*" + suffix)):
        names |= set(re.findall(pattern, path.read_text(encoding="utf-8")))
    return names


def cell(names, prefix=""):
    if isinstance(names, str):
        return f"({names[2:].strip('()')})"
    return ", ".join(f"`{prefix}{name}`" for name in names)


def text():
    lines, last = [], ""
    for _, noun, operation, in_c, in_swift, in_python in rows():
        shown = f"**{noun}**" if noun != last else ""
        lines.append(f"| {shown} | {operation} | {cell(in_c)} | {cell(in_swift)} | {cell(in_python)} |")
        last = noun
    return BEGINNING + "\n".join(lines) + "\n"


def findings():
    """(file, line, what is wrong)"""
    functions = {function.name.removeprefix("motte_") for function in header.functions()}
    swift = public_names(ROOT / "Sources" / "Motte", ".swift",
                         r"\b(?:func|var|let|class(?!\s+(?:func|var))|struct|enum|typealias|case)\s+(\w+)")
    python = public_names(ROOT / "bindings" / "python" / "src" / "motte", ".py", r"(?:def|class|import)\s+(\w+)")
    python |= set(re.findall(r"\b(\w+)\b", (ROOT / "bindings/python/src/motte/__init__.py").read_text("utf-8")))
    seen = set()
    for number, _, _, in_c, in_swift, in_python in rows():
        for name in in_c if not isinstance(in_c, str) else []:
            found = {one for one in functions
                     if one == name or name.endswith("*") and one.startswith(name[:-1])}
            if not found:
                yield SOURCE, number, f"motte.h has no {name}"
            seen |= found
        for name in in_swift if not isinstance(in_swift, str) else []:
            if name not in swift:
                yield SOURCE, number, f"Sources/Motte declares no {name}"
        for name in in_python if not isinstance(in_python, str) else []:
            if name not in python:
                yield SOURCE, number, f"the Python package has no {name}"
    for name in sorted(functions - seen):
        yield SOURCE, 1, f"motte_{name} is in no row; add it to one"
    if not DOCUMENT.exists() or DOCUMENT.read_text(encoding="utf-8") != text():
        yield DOCUMENT, 1, "is not what operations.txt says; run python3 scripts/docs/operations.py"


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        wrong = list(findings())
        for path, number, what in wrong:
            print(f"{path.relative_to(ROOT)}:{number}: error: {what}")
        sys.exit(1 if wrong else 0)
    DOCUMENT.write_text(text(), encoding="utf-8")
