"""The package as a whole: what it exports, that it type-checks, and how it is used in a type-checked program."""
from __future__ import annotations

import ast
import enum
import graphlib
import os
import pathlib
import subprocess
import sys
import types
import typing
from typing import Any

import pytest

import motte

PACKAGE = pathlib.Path(__file__).resolve().parents[1]


def test_names() -> None:
    assert len(set(motte.__all__)) == len(motte.__all__)
    assert all(hasattr(motte, name) for name in motte.__all__)
    assert motte.library_version() == motte.__version__
    assert (pathlib.Path(motte.__file__).parent / "py.typed").is_file()


def test_each_name_is_in_the_reference() -> None:
    reference = (PACKAGE / "README.md").read_text()

    missing = [name for name in motte.__all__ if f"motte.{name}" not in reference]
    assert missing == ["library_version"]


def test_the_example_runs(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch,
                          capsys: pytest.CaptureFixture[str]) -> None:
    example = (PACKAGE / "README.md").read_text().split("```python\n")[1].split("```")[0]
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "example"}
    exec(compile(example, "README.md", "exec", dont_inherit=True), names)
    names.clear()

    assert capsys.readouterr().out.splitlines()[:1] == ["1 Ada Rex"]


#: What takes longer to import than the package itself, or is not everybody's.
HEAVY = {"asyncio", "ssl", "socket", "concurrent.futures", "logging", "inspect", "subprocess", "difflib", "json",
         "numpy", "pandas", "pyarrow", "polars", "cffi", "html", "multiprocessing", "unittest"}
USE = """
import sys, motte
class Dog(motte.Model):
    name: str = motte.field(primary_key=True)
with motte.open(in_memory="imports", schema=[Dog]) as db:
    with db.write():
        with db.write():
            db.add_all([Dog(name="Rex"), Dog(name="Fido")])
    token = db.objects(Dog).observe(lambda changes: None)
    db.dispatch()
    token.stop()
    repr(db.objects(Dog).where(Dog.name == "Rex")[0])
"""


@pytest.mark.parametrize("program", ["import sys, motte", USE], ids=["import", "use"])
def test_imports_only_what_is_used(program: str) -> None:
    """asyncio, NumPy and their like come with the first call that needs them; how long it takes follows from that."""
    # Without the site module, whose .pth files import what they like.
    path = os.pathsep.join([str(pathlib.Path(motte.__file__).parents[1]),
                            *(folder for folder in sys.path if folder.endswith("site-packages"))])
    done = subprocess.run(
        [sys.executable, "-S", "-c", program + "\nprint(*sorted(sys.modules))"], capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 0, done.stderr
    imported = set(done.stdout.split())
    # In Python 3.10, uuid takes subprocess along.
    heavy = HEAVY if sys.version_info >= (3, 11) else HEAVY - {"subprocess"}
    assert "motte" in imported and imported & heavy == set() and len(imported) < 165


def test_the_library_is_in_the_package() -> None:
    assert (pathlib.Path(motte.__file__).parent / "libmotte.so.1").is_file()


def documented() -> dict[str, Any]:
    """Everything public by its name: what the package exports, the errors, and what their classes have of their own."""
    found = {f"motte.{name}": getattr(motte, name) for name in motte.__all__ if not isinstance(
        getattr(motte, name), types.ModuleType)}
    found.update({f"motte.errors.{name}": each for name, each in vars(motte.errors).items()
                  if isinstance(each, type) and each.__module__ == "motte.errors" and not name.startswith("_")})
    for name, each in list(found.items()):
        for base in each.__mro__ if isinstance(each, type) else ():
            if base.__module__.partition(".")[0] == "motte" and not issubclass(base, enum.Enum):
                found.update({f"{name}.{member}": value for member, value in vars(base).items()
                              if not member.startswith("_") and is_documented_by_itself(value)})
    return found


def is_documented_by_itself(value: Any) -> bool:
    return isinstance(value, (types.FunctionType, property, classmethod, staticmethod))


def test_each_name_has_a_docstring() -> None:
    names = documented()
    # Annotations that stand for a type, and the fields of named tuples, have comments for Sphinx in the source.
    missing = sorted(name for name, each in names.items()
                     if not typing.get_origin(each) and not (each.__doc__ or "").strip()
                     or isinstance(each, type) and (each.__doc__ or "").startswith(f"{each.__name__}("))
    assert missing == [] and len(names) > 300


def test_each_field_has_a_comment() -> None:
    """Sphinx takes attributes from comments that begin with `#:`, or from the docstring of the class."""
    missing = []
    for name in ("maintenance", "exchange", "notifications", "realmfiles"):
        source = (PACKAGE / "src" / "motte" / f"{name}.py").read_text()
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ClassDef) and any(ast.unparse(base) == "NamedTuple" for base in node.bases):
                lines = source.splitlines()
                missing += [f"{node.name}.{field.target.id}" for field in node.body
                            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
                            and "#:" not in lines[field.lineno - 2] and "#:" not in lines[field.lineno - 1]]
    assert missing == []


def test_docstrings_say_what_threads_may_do() -> None:
    for name in ("Database", "Model", "Collection", "List", "Map", "Set", "Observation", "Reference"):
        assert "thread" in (getattr(motte, name).__doc__ or ""), name


def imports(file: pathlib.Path, modules: set[str]) -> set[str]:
    """The modules of the package that a file imports anywhere: in functions and for type checkers too."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            found |= {node.module} if node.module else {
                alias.name if alias.name in modules else "__init__" for alias in node.names}
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            found |= {name.partition(".")[2] or "__init__" for name in names if name.partition(".")[0] == "motte"}
    return found


def test_imports_have_no_circles() -> None:
    files = {file.stem: file for file in (PACKAGE / "src" / "motte").glob("*.py")}
    compiled = {"_native", "_objects"}
    graph = {name: imports(file, {*files, *compiled}) for name, file in files.items()}

    order = list(graphlib.TopologicalSorter(graph).static_order())
    assert order.index("_protocols") < order.index("notifications") < order.index("results") < order.index("database")
    assert set(order) == {*files, *compiled}, "a module that there is not"
