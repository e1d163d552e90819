"""What a change can have an effect on: asked by scripts/check.sh.

    python3 scripts/affected.py [REF]       REF: what the tree is compared with, `all`: everything is taken as changed

Prints lines `since: REF`, `changed: N files`, `tests: ValuesTests StorageTests ...` (test targets of a changed module
or of one above it), `conformance: yes|no`. Without a REF the tree is compared with where its branch left the main one
or, on a clone without one, with the last commit. Where nothing says what came before, in a clone of one commit or in an
unpacked archive, everything is taken as changed.
"""
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Files that every Swift module is built from or with.
OF_ALL = ("Package.swift", "include/", "scripts/check.sh", "scripts/affected.py")
# Tests that drive no Swift module of their own and are run with the conformance cases.
OF_CONFORMANCE = ("Sources/", "include/", "bindings/", "Tests/Conformance/", "Tests/ConformanceTests/", "Package.swift",
                  "scripts/check.sh", "scripts/affected.py", "CMakeLists.txt")


def git(*arguments):
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def base():
    """The commit that this work began at."""
    branch = git("rev-parse", "--abbrev-ref", "HEAD")
    upstreams = ["origin/HEAD", "origin/main"]
    if branch != "main":
        upstreams.append("main")
    # Where a branch was pushed to is not where it began.
    tracked = git("rev-parse", "--abbrev-ref", "@{upstream}")
    if tracked and (branch == "main" or tracked.partition("/")[2] != branch):
        upstreams.append(tracked)
    for upstream in upstreams:
        found = git("merge-base", "HEAD", upstream)
        if found:
            # Without commits of its own a clean tree has only its last commit to look at.
            if found == git("rev-parse", "HEAD") and not changed(found):
                break
            return found
    last = git("rev-parse", "--verify", "--quiet", "HEAD~1" if not git("status", "--porcelain") else "HEAD")
    return last or "all"


def changed(reference):
    """Files that differ from those of the commit, the new ones too, and those that are gone."""
    listed = (git("diff", "--name-only", "--no-renames", reference) or "") + "\n" + (
        git("ls-files", "--others", "--exclude-standard") or "")
    return sorted({name for name in listed.splitlines() if name})


def targets():
    """{name: (folder, names of targets it depends on, whether it is a test)} of Package.swift."""
    dumped = json.loads(subprocess.run(
        ["swift", "package", "dump-package"], cwd=ROOT, check=True, capture_output=True, text=True).stdout)
    found = {}
    for target in dumped["targets"]:
        names = set()
        for dependency in target["dependencies"]:
            for kind in ("target", "byName"):
                if kind in dependency:
                    names.add(dependency[kind][0])
        # Tests name the modules that they test; what they share with others depends on all modules.
        if target["name"] == "TestSupport":
            names = set()
        folder = target.get("path") or ("Tests/" if target["type"] == "test" else "Sources/") + target["name"]
        found[target["name"]] = (folder.rstrip("/") + "/", names, target["type"] == "test")
    return found


def affected_tests(files, all_targets):
    """Names of test targets that a changed file can have an effect on."""
    if any(file.startswith(OF_ALL) for file in files):
        return sorted(name for name, (_, _, is_test) in all_targets.items() if is_test)
    touched = {name for name, (folder, _, _) in all_targets.items() if any(file.startswith(folder) for file in files)}
    grown = True
    while grown:
        above = {name for name, (_, names, _) in all_targets.items() if names & touched} - touched
        grown = bool(above)
        touched |= above
    return sorted(name for name in touched if all_targets[name][2])


def main():
    reference = sys.argv[1] if len(sys.argv) > 1 and sys.argv[1] else base()
    if reference == "all":
        files = ["Package.swift"]
    else:
        if git("rev-parse", "--verify", "--quiet", f"{reference}^{{commit}}") is None:
            sys.exit(f"affected: no commit '{reference}' to compare with")
        files = changed(reference)
    print(f"since: {git('rev-parse', '--short', reference) if reference != 'all' else 'all'}")
    print(f"changed: {'everything' if reference == 'all' else f'{len(files)} files'}")
    print("tests:", *affected_tests(files, targets()))
    for name, folders in (("conformance", OF_CONFORMANCE), ("package", ("bindings/python/", "Package.swift"))):
        print(f"{name}:", "yes" if any(file.startswith(folders) for file in files) else "no")


if __name__ == "__main__":
    main()
