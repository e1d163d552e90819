"""C source of a library that has each function of motte.h and does nothing: its debug information describes the C
interface with all its types, which that of the real library, written in Swift and stripped, does not.

    stubs.py functions       the source
    stubs.py constants       the source of a program that prints `NAME = number` of each constant
"""
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "bindings" / "c"))
import header

header.HEADER = pathlib.Path(os.environ.get("MOTTE_HEADER_FOLDER", header.HEADER.parent)) / "motte.h"


def functions():
    print('#include "motte.h"\n')
    for function in header.functions():
        parameters = ", ".join(f"{each.type} {each.name}" for each in function.parameters) or "void"
        # `char *name` has its star with the type.
        body = "" if function.result == "void" else f" static {function.result} nothing; return nothing; "
        # In brackets, which keeps a macro of that name away.
        print(f"{function.result} ({function.name})({parameters}) {{{body}}}")


def constants():
    code = re.sub(r"/\*.*?\*/", "", header.region(), flags=re.S)
    names = [name for body in re.findall(r"\benum(?:\s+\w+)?\s*\{(.*?)\}", code, re.S)
             for name in re.findall(r"\b(MOTTE_\w+)\s*(?==|,|$)", body)]
    print('#include "motte.h"\n#include <stdio.h>\n\nint main(void) {')
    for name in names:
        print(f'    printf("{name} = %lld\\n", (long long){name});')
    print("    return 0;\n}")


if __name__ == "__main__":
    {"functions": functions, "constants": constants}[sys.argv[1]]()
