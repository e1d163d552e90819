"""Reads include/motte.h: the functions, constants and error codes it declares.

The header is the source of truth (one regular shape, no macros between its DECLARATIONS marks), so a few regular
expressions are a parser. Used by build-library.sh (version script, export check) and by tidy.py.

    python3 scripts/motte_header.py functions        one name a line
    python3 scripts/motte_header.py version-script   the linker's list of exports
"""
import pathlib
import re
import sys

HEADER = pathlib.Path(__file__).resolve().parent.parent / "include" / "motte.h"


def text(path=HEADER):
    """The declarations without comments."""
    source = pathlib.Path(path).read_text(encoding="utf-8")
    inside = re.search(r"/\* MOTTE_DECLARATIONS_BEGIN \*/(.*)/\* MOTTE_DECLARATIONS_END \*/", source, re.S)
    body = inside.group(1) if inside else source
    body = re.sub(r"/\*.*?\*/", " ", body, flags=re.S)
    return re.sub(r"(?m)^\s*#.*$", "", body)


def functions(path=HEADER):
    """Names of all declared functions, in the order of the header."""
    names = []
    for statement in re.sub(r"\{[^{}]*\}", " ", text(path)).split(";"):
        statement = " ".join(statement.split())
        if statement.startswith("typedef"):
            continue
        found = re.search(r"\b(motte_\w+)\s*\(", statement)
        if found:
            names.append(found.group(1))
    return names


def constants(path=HEADER):
    """Every enumerator with its number."""
    return {name: int(number, 0) for name, number in re.findall(r"\b(MOTTE_\w+)\s*=\s*(-?(?:0x)?[0-9A-Fa-f]+)", text(path))}


def errors(path=HEADER):
    """MOTTE_E_* without the prefix, with their numbers."""
    return {name[len("MOTTE_E_"):]: number for name, number in constants(path).items() if name.startswith("MOTTE_E_")}


def version_script(path=HEADER):
    lines = "".join(f"        {name};\n" for name in sorted(functions(path)))
    return "MOTTE_1.0 {\n    global:\n" + lines + "    local:\n        *;\n};\n"


if __name__ == "__main__":
    if sys.argv[1:] == ["functions"]:
        print("\n".join(functions()))
    elif sys.argv[1:] == ["version-script"]:
        print(version_script(), end="")
    else:
        sys.exit(__doc__)
