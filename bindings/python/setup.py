"""The part of the build that pyproject.toml cannot say: the extension module and the library inside the wheel.

The library is, in this order:
    MOTTE_LIBRARY          a libmotte.so.1, or a folder with one, that is already built
    build/library          of this repository, when scripts/build-library.sh has made it
    built now              by scripts/build-library.sh, which needs Swift
"""
import os
import pathlib
import shutil
import subprocess
import sys

from setuptools import setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SONAME = "libmotte.so.1"


def library():
    given = os.environ.get("MOTTE_LIBRARY")
    if given:
        path = pathlib.Path(given)
        path = path / SONAME if path.is_dir() else path
        if not path.is_file():
            sys.exit(f"MOTTE_LIBRARY names {given}, and there is no {SONAME}")
        return path
    path = ROOT / "build" / "library" / SONAME
    if not path.is_file():
        if shutil.which("swift") is None:
            sys.exit("the Motte library is not built and Swift is not on PATH: install a wheel, install Swift 6.3, "
                     f"or set MOTTE_LIBRARY to a {SONAME}")
        subprocess.run([ROOT / "scripts" / "build-library.sh"], cwd=ROOT, check=True)
    return path


class BuildExtension(build_ext):
    """Puts the library beside the extension module, which finds it there through its run path."""

    def run(self):
        source = library()
        folder = pathlib.Path(self.build_temp).resolve() / "library"
        folder.mkdir(parents=True, exist_ok=True)
        for name in (SONAME, "libmotte.so"):
            shutil.copy(source, folder / name)
        for extension in self.extensions:
            extension.library_dirs.append(str(folder))
        super().run()
        package = HERE / "src" / "motte" if self.inplace else pathlib.Path(self.build_lib) / "motte"
        shutil.copy(source, package / SONAME)
        for name in ("LICENSE", "THIRD-PARTY-NOTICES.md"):
            if (ROOT / name).is_file() and not self.inplace:
                shutil.copy(ROOT / name, package / name)


class NoSourceDistribution(sdist):
    """The sources of the library are the repository, which a source distribution of this folder would not hold."""

    def run(self):
        sys.exit("build wheels, from the repository: python -m build --wheel bindings/python")


setup(
    cffi_modules=["src/motte/_build.py:builder"],
    cmdclass={"build_ext": BuildExtension, "sdist": NoSourceDistribution},
    options={"bdist_wheel": {"py_limited_api": "cp39"}},
)
