"""Each alternative of what scripts/test.sh and scripts/soak.sh choose tests by names one: where no test has a name that
a filter asks for, nothing says that it is not run."""
from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPTS = ("scripts/test.sh", "scripts/soak.sh")


def all_tests() -> list[str]:
    """As `swift test --filter` takes them: Module.Suite/function."""
    found = []
    for path in sorted(ROOT.glob("Tests/*Tests/**/*.swift")):
        module, suite = path.relative_to(ROOT / "Tests").parts[0], ""
        for match in re.finditer(r"^(?:@Suite(?:\([^\n]*\))? )?(?:\w+ )*?(?:struct|class|actor|enum|extension) ([\w.]+)"
                                 r"|@Test\b.*?\bfunc (\w+)\(", path.read_text(), re.MULTILINE | re.DOTALL):
            if match[1]:
                suite = match[1] + "/"
            else:
                found.append(f"{module}.{suite}{match[2]}()")
    return found


def patterns(text: str) -> list[str]:
    """What a script has between single quotes that names tests; a variable with all that is added to it."""
    found: list[str] = []
    for match in re.finditer(r"(\w\+=)?'([^'\n]*)'", "\n".join(
            line for line in text.splitlines() if not line.lstrip().startswith("#"))):
        if match[1]:
            found[-1] += match[2]
        else:
            found.append(match[2])
    return [each for each in found if re.search(r"Tests(\\\.|\)?/)", each)]


def parts(pattern: str) -> tuple[list[str], list[tuple[int, int]]]:
    """Its alternatives, and where it has groups that are in no other."""
    alternatives, groups, depth, begin = [], [], 0, 0
    for place, character in enumerate(pattern):
        if character == "(":
            depth += 1
            if depth == 1:
                groups.append((place, place))
        elif character == ")":
            depth -= 1
            if depth == 0:
                groups[-1] = (groups[-1][0], place)
        elif character == "|" and depth == 0:
            alternatives.append(pattern[begin:place])
            begin = place + 1
    return [*alternatives, pattern[begin:]], groups


def narrowed(pattern: str) -> Iterator[str]:
    """The pattern with one alternative instead of several, once for each there is."""
    for alternative in parts(pattern)[0]:
        yield alternative
        for begin, end in parts(alternative)[1]:
            for each in narrowed(alternative[begin + 1:end]):
                yield f"{alternative[:begin]}({each}){alternative[end + 1:].removeprefix('?')}"


def unknown(pattern: str, names: list[str]) -> list[str]:
    return [each for each in narrowed(pattern) if not any(re.search(each, name) for name in names)]


@pytest.mark.parametrize("script", SCRIPTS)
def test_each_alternative_of_a_filter_names_a_test(script: str) -> None:
    text, names = (ROOT / script).read_text(), all_tests()
    chosen = patterns(text)
    assert len(chosen) >= 7 and len(names) > 1000
    assert [each for pattern in chosen for each in unknown(pattern, names)] == []


def test_a_name_that_no_test_has_is_found() -> None:
    names = ["PagesTests.CutTests/randomRuns()", "PagesTests.CutTests/withWALRuns()"]
    assert unknown(r"^PagesTests\.CutTests/(random|withWAL)Runs", names) == []
    assert unknown(r"^PagesTests\.CutTests/(random|wal)Runs", names) == [r"^PagesTests\.CutTests/(wal)Runs"]
    assert unknown(r"^PagesTests\.(Old)?CutTests/|^Gone", names) == [r"^PagesTests\.(Old)CutTests/", "^Gone"]
    assert patterns("a='^(One|'\na+='Two)Tests\\.'\ngrep 'Tests|x'\n# it's OneTests/ 's") == [r"^(One|Two)Tests\."]
