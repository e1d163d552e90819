"""The part of the build that pyproject.toml cannot say: the extension module and the library inside the wheel.

The library is, in this order:
    MOTTE_LIBRARY          a libmotte.so.1, or a folder with one, that is already built; "system" for the one that is
                           installed, which pkg-config finds: then the package loads that one and has none inside
    the one installed      for a source distribution, which holds this folder and not the repository
    build/library          of this repository, when scripts/build.sh library has made it
    built now              by scripts/build.sh library, which needs Swift

Beside a library inside the wheel goes libpcre2-8 of this system: regular expressions take it where a system has none.
MOTTE_LIBPCRE2 names another file; with "none" there is none in the wheel.

MOTTE_PROJECT_URL, where documents and sources are published, is what links in the metadata begin with; without it they
name the files in the sources.
"""
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SONAME = "libmotte.so.1"
PCRE2 = "libpcre2-8.so.0"


IN_REPOSITORY = (ROOT / "include" / "motte.h").is_file()
USES_SYSTEM = os.environ.get("MOTTE_LIBRARY") == "system" or not (IN_REPOSITORY or os.environ.get("MOTTE_LIBRARY"))


def installed(what):
    """A folder of the library that is installed."""
    try:
        return subprocess.run(["pkg-config", f"--variable={what}", "motte"], capture_output=True, text=True,
                              check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        sys.exit("the Motte library is not installed, or pkg-config does not find it: install libmotte-dev, or name a "
                 f"{SONAME} with MOTTE_LIBRARY and its header with MOTTE_HEADER, or install a wheel")


if USES_SYSTEM and not os.environ.get("MOTTE_HEADER"):
    # Also for the declarations that cffi reads.
    os.environ["MOTTE_HEADER"] = str(pathlib.Path(installed("includedir")) / "motte.h")


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
        subprocess.run([ROOT / "scripts" / "build.sh", "library"], cwd=ROOT, check=True)
    return path


def pcre2():
    """None where there is none; the package says so when a regular expression is used."""
    given = os.environ.get("MOTTE_LIBPCRE2")
    if given:
        return None if given == "none" else pathlib.Path(given)
    for command in ("ldconfig", "/sbin/ldconfig"):
        try:
            known = subprocess.run([command, "-p"], capture_output=True, text=True, check=True).stdout
        except (OSError, subprocess.CalledProcessError):
            continue
        wide = " (libc6,x86-64)" if platform.machine() == "x86_64" else " (libc6"
        found = re.search(rf"^\s*{re.escape(PCRE2 + wide)}.* => (.*)$", known, re.M)
        return pathlib.Path(found[1]).resolve() if found else None
    return None


class BuildExtension(build_ext):
    """Puts the library beside the extension module, which finds it there through its run path."""

    def run(self):
        if USES_SYSTEM:
            return self.run_with_installed()
        source = library()
        folder = pathlib.Path(self.build_temp).resolve() / "library"
        folder.mkdir(parents=True, exist_ok=True)
        for name in (SONAME, "libmotte.so"):
            shutil.copy(source, folder / name)
        header = os.environ.get("MOTTE_HEADER")
        for extension in self.extensions:
            extension.library_dirs.append(str(folder))
            extension.include_dirs.append(str(pathlib.Path(header).parent if header else ROOT / "include"))
        super().run()
        package = HERE / "src" / "motte" if self.inplace else pathlib.Path(self.build_lib) / "motte"
        shutil.copy(source, package / SONAME)
        expressions = None if self.inplace else pcre2()
        if expressions is not None:
            shutil.copy(expressions, package / PCRE2)
        self.add_notices()

    def add_notices(self):
        # A source distribution has them beside this file; what is above it there is somebody else's.
        folder = ROOT if IN_REPOSITORY else HERE
        for name in ("LICENSE", "THIRD-PARTY-NOTICES.md"):
            if (folder / name).is_file() and not self.inplace:
                shutil.copy(folder / name, pathlib.Path(self.build_lib) / "motte" / name)

    def build_extensions(self):
        """A Python that somebody built has the path to its own library among its words for the linker. On other
        machines anybody's library could lie there."""
        self.compiler.linker_so = [word for word in self.compiler.linker_so if not re.match(r"-Wl,(-R|--?rpath)", word)]
        super().build_extensions()

    def run_with_installed(self):
        """The dynamic linker finds the library where it finds all others."""
        for extension in self.extensions:
            extension.library_dirs.append(installed("libdir"))
            extension.include_dirs.append(str(pathlib.Path(os.environ["MOTTE_HEADER"]).parent))
            extension.extra_link_args = [word for word in extension.extra_link_args if "rpath" not in word]
        super().run()
        self.add_notices()


# manylinux_2_x, and the newest symbol versions a machine of that age must have.
AGES = [
    (17, {"GLIBCXX": (3, 4, 19), "CXXABI": (1, 3, 7), "GCC": (4, 8, 0)}),
    (28, {"GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11), "GCC": (7, 0, 0)}),
    (31, {"GLIBCXX": (3, 4, 28), "CXXABI": (1, 3, 12), "GCC": (7, 0, 0)}),
    (34, {"GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13), "GCC": (7, 0, 0)}),
    (35, {"GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13), "GCC": (12, 0, 0)}),
    (36, {"GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13), "GCC": (12, 0, 0)}),
    (38, {"GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13), "GCC": (12, 0, 0)}),
    (39, {"GLIBCXX": (3, 4, 33), "CXXABI": (1, 3, 15), "GCC": (14, 0, 0)}),
]


def age(files):
    """The x of manylinux_2_x that these files need, by the symbol versions in them; None if that is unknown."""
    needed = {}
    for file in files:
        read = subprocess.run(["objdump", "-p", file], capture_output=True, text=True)
        if read.returncode != 0:
            return None
        for name, version in re.findall(r"\b(GLIBC|GLIBCXX|CXXABI|GCC)_(\d+(?:\.\d+)*)\s*$", read.stdout, re.M):
            numbers = tuple(map(int, version.split(".")))
            needed[name] = max(needed.get(name, numbers), numbers)
        if "GLIBC_ABI_DT_RELR" in read.stdout:
            # Relocations in little space, which older ones do not read.
            needed["GLIBC"] = max(needed.get("GLIBC", (2, 36)), (2, 36))
    libc = needed.pop("GLIBC", (2, 0))
    for minor, newest in AGES:
        if libc <= (2, minor) and all(version <= newest[name] for name, version in needed.items()):
            return minor
    return None


class HonestWheel(bdist_wheel):
    """Names the platform that the compiled files really need, where that is known, as auditwheel does."""

    def run(self):
        # What an earlier build left, files that are gone by now among it, is not part of this wheel.
        shutil.rmtree(self.get_finalized_command("build").build_lib, ignore_errors=True)
        super().run()

    def get_tag(self):
        python, abi, platform = super().get_tag()
        if USES_SYSTEM:
            # It takes more than the names of platforms promise: the library that is installed.
            return python, abi, platform
        package = pathlib.Path(self.bdist_dir or "") / "motte"
        files = [str(file) for file in package.glob("*.so*")]
        needed = age(files) if files and platform.startswith("linux_") and shutil.which("objdump") else None
        return python, abi, platform if needed is None else platform.replace("linux", f"manylinux_2_{needed}")


class SourceDistribution(sdist):
    """This folder and the licence. The sources of the library are the repository: what is built of a source
    distribution takes the library that is installed."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        for name in ("LICENSE", "THIRD-PARTY-NOTICES.md"):
            if (ROOT / name).is_file():
                shutil.copy(ROOT / name, pathlib.Path(base_dir) / name)


def readme():
    """README.md with links that work where nothing else of the repository is."""
    text = (HERE / "README.md").read_text(encoding="utf-8")
    if PROJECT_URL:
        return re.sub(r"\]\(\.\./\.\./([^)]*)\)", rf"]({PROJECT_URL.rstrip('/')}/\1)", text)
    return re.sub(r"\[([^\]]*)\]\(\.\./\.\./([^)#]*)[^)]*\)",
                  lambda link: link[1] if link[1] == link[2] else f"{link[1]} (`{link[2]}` of the sources)", text)


PROJECT_URL = os.environ.get("MOTTE_PROJECT_URL", "")


# What is done per object, in C over the same header; paths are relative to this file, as setuptools wants them.
OBJECTS = Extension(
    "motte._objects",
    sources=[f"native/{name}.c" for name in (
        "module", "plan", "model", "property", "rows", "values", "adding", "cursor", "block", "lent")],
    depends=["native/objects.h"],
    libraries=["motte"],
    extra_compile_args=["-std=c11", "-O2", "-g0", "-Wall", "-Wextra", "-fvisibility=hidden"],
    extra_link_args=["-Wl,-rpath,$ORIGIN", "-Wl,-z,relro,-z,now"],
    py_limited_api=True,
)

setup(
    long_description=readme(),
    long_description_content_type="text/markdown",
    project_urls={"Source": PROJECT_URL, "Documentation": PROJECT_URL} if PROJECT_URL else {},
    ext_modules=[OBJECTS],
    cffi_modules=["src/motte/_build.py:builder"],
    cmdclass={"bdist_wheel": HonestWheel, "build_ext": BuildExtension, "sdist": SourceDistribution},
    options={"bdist_wheel": {"py_limited_api": "cp310"}},
)
