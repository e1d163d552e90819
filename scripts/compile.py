#!/usr/bin/env python3
"""Compiles what `swift build` plans, the interface of each module first.

SwiftPM compiles a module whole before it begins with those that import it, which keeps little more than one processor
busy. Its plan, a manifest for llbuild, is used as it is but for that: a module is two steps, its interface, which takes
a second, and its objects, which wait for interfaces only. llbuild, which comes with Swift, runs the steps and remembers
what is up to date.

    scripts/compile.py PRODUCT... [--objects PRODUCT]... [--plain ENDING]... [--jobs N] -- OPTIONS

PRODUCT is an executable of the package, or `tests`. --objects: what is to be linked in another way; its objects are
listed in PRODUCT.product/Objects.LinkFileList. --plain: modules whose names end so are not optimised, which takes a
third of the time. What libFuzzer counts is the engine: tests with counters would take four times as long. OPTIONS are
for `swift build`.
"""
from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
from typing import Any, Iterator

TESTS = "mottePackageTests"
# The tests of this package are all found by Swift Testing.
RUNNER = """import Testing

@main
struct Runner {
    static func main() async {
        // `swift test` asks for XCTest's list as well, and would run all tests for that.
        guard CommandLine.arguments.contains("swift-testing") else { return }
        await Testing.__swiftPMEntryPoint() as Never
    }
}
"""
HEADER = re.compile(r'(header|umbrella)\s+"([^"]+)"')
IMPORT = re.compile(r"^(?:@\w+ |package |public )*import (?:\w+ )?(\w+)", re.MULTILINE)
Command = dict[str, Any]


def commands_of(manifest: pathlib.Path) -> Iterator[tuple[str, Command]]:
    """By name. SwiftPM writes a key a line, and values as JSON."""
    name, command, is_there = "", Command(), False
    for line in manifest.read_text().splitlines():
        if line == "commands:":
            is_there = True
        elif not is_there or not line.strip():
            continue
        elif line.startswith("    "):
            key, _, value = line.strip().partition(": ")
            command[key] = json.loads(value) if value[:1] in '["' else value
        else:
            if command:
                yield name, command
            name, command = json.loads(line.strip().removesuffix(":")), {}
    if command:
        yield name, command


def without(arguments: list[str], *unwanted: str, pairs: tuple[str, ...] = ()) -> list[str]:
    """Arguments but some, and but others with what follows them."""
    left, skipped = [], False
    for argument in arguments:
        if skipped or argument in pairs:
            skipped = not skipped
        elif argument not in unwanted:
            left.append(argument)
    return left


def write(path: str, text: str) -> None:
    """Where it is not there already: what depends on it would be compiled again."""
    file = pathlib.Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.exists() or file.read_text() != text:
        file.write_text(text)


def check_imports(module: str, sources: list[str], declared: set[str], ours: set[str]) -> list[str]:
    """Interfaces of all modules lie side by side, so the compiler would find one that Package.swift does not name."""
    found = []
    for source in sources:
        for name in IMPORT.findall(pathlib.Path(source).read_text()):
            if name in ours and name != module and name not in declared:
                found.append(f"{source}: imports {name}, which Package.swift does not name for {module}")
    return found


def headers_of(arguments: list[str]) -> list[str]:
    """Those of the C modules that a Swift module may import."""
    found: set[str] = set()
    for argument in arguments:
        if argument.startswith("-fmodule-map-file="):
            file = pathlib.Path(argument.partition("=")[2])
            for kind, name in HEADER.findall(file.read_text()) if file.exists() else ():
                path = file.parent / name
                found.update(map(str, path.glob("*.h")) if kind == "umbrella" else [str(path)])
    return sorted(found)


class Plan:
    """The steps for llbuild."""

    def __init__(self, plain: list[str]) -> None:
        self.plain = tuple(plain)
        self.steps: dict[str, Command] = {}
        self.lists: dict[str, list[str]] = {}
        self.problems: list[str] = []

    def read(self, manifest: pathlib.Path) -> None:
        all_commands = dict(commands_of(manifest))
        ours = {pathlib.Path(each).stem for command in all_commands.values() for each in command.get("outputs", ())
                if each.endswith(".swiftmodule")}
        for name, command in all_commands.items():
            if any(f"{TESTS.removesuffix('Tests')}DiscoveredTests" in each for each in command.get("outputs", ())):
                continue
            inputs = [each for each in command.get("inputs", ())
                      if "DiscoveredTests" not in each and "/swift-version-" not in each]
            command = {**command, "inputs": inputs}
            if command["tool"] == "write-auxiliary-file":
                if inputs and inputs[0] in ("<sources-file-list>", "<link-file-list>"):
                    write(command["outputs"][0], "".join(f"{shlex.quote(each)}\n" for each in inputs[1:]))
                    self.lists[command["outputs"][0]] = inputs[1:]
            elif command["tool"] == "test-entry-point-tool":
                write(command["outputs"][0], RUNNER)
            elif "-emit-module" in command.get("args", ()) and "-whole-module-optimization" in command["args"]:
                self.split(name, command, ours)
            elif command["tool"] in ("shell", "clang", "phony"):
                self.steps[name] = command

    def split(self, name: str, command: Command, ours: set[str]) -> None:
        arguments, outputs = command["args"], command["outputs"]
        module = arguments[arguments.index("-module-name") + 1]
        interface = [each for each in outputs if each.endswith(".swiftmodule")]
        sources = [each for each in command["inputs"] if each.endswith(".swift")]
        declared = {pathlib.Path(each).stem for each in command["inputs"] if each.endswith(".swiftmodule")}
        if "/Sources/" in sources[0]:
            self.problems += check_imports(module, sources, declared, ours)
        inputs = [*command["inputs"], arguments[0], *headers_of(arguments)]
        common = without(arguments, "-emit-module", "-emit-objc-header", "-parseable-output",
                         pairs=("-emit-module-path", "-emit-objc-header-path", "-index-store-path"))
        self.steps[f"interface of {name}"] = {
            "tool": "shell", "inputs": inputs, "outputs": interface, "description": f"Interface of {module}",
            "args": [*without(common, "-c", "-emit-dependencies", "-serialize-diagnostics",
                              pairs=("-output-file-map", "-num-threads")),
                     "-emit-module", "-emit-module-path", interface[0],
                     "-Xfrontend", "-experimental-skip-non-inlinable-function-bodies-without-types"]}
        if module.endswith(self.plain):
            common = ["-Onone" if each == "-O" else each for each in common]
        if module.endswith("Tests"):
            common = [each for each in common if "-sanitize-coverage=" not in each]
        self.steps[name] = {
            "tool": "shell", "inputs": inputs, "outputs": [each for each in outputs if each not in interface],
            "description": f"Compiling {module} ({len(sources)} sources)", "args": common}

    def find(self, name: str) -> str:
        """What is linked."""
        for step in self.steps.values():
            for output in step["outputs"]:
                if step["tool"] == "shell" and output.endswith(f"/{name}"):
                    return str(output)
        sys.exit(f"compile: the package has no {name}")

    def find_objects(self, product: str) -> list[str]:
        for path, items in self.lists.items():
            if path.endswith(f"/{product}.product/Objects.LinkFileList"):
                return items
        sys.exit(f"compile: the package has no {product}")

    def interfaces(self, wanted: list[str]) -> list[str]:
        """Those that are needed for it."""
        makers = {each: step for step in self.steps.values() for each in step["outputs"]}
        known, left = set(wanted), list(wanted)
        while left:
            more = set(makers.get(left.pop(), {"inputs": ()})["inputs"]) - known
            known |= more
            left += more
        return sorted(each for each in known if each.endswith(".swiftmodule"))

    def write(self, file: pathlib.Path, wanted: list[str]) -> None:
        targets = {"interfaces": self.interfaces(wanted), "wanted": wanted}
        lines = ["client:", "  name: swift-build", "tools: {}", "targets:"]
        lines += [f"  {json.dumps(name)}: {json.dumps(nodes)}" for name, nodes in targets.items()]
        lines += ["default: \"wanted\"", "commands:"]
        for name, command in self.steps.items():
            lines.append(f"  {json.dumps(name)}:")
            lines += [f"    {key}: {value if key == 'tool' else json.dumps(value)}" for key, value in command.items()]
        write(str(file), "\n".join(lines) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("products", nargs="*", metavar="PRODUCT", help="an executable, or `tests`")
    parser.add_argument("--objects", action="append", default=[], metavar="PRODUCT", help="compiled, but not linked")
    parser.add_argument("--plain", action="append", default=[], metavar="ENDING", help="not optimised")
    parser.add_argument("--jobs", default=str(os.cpu_count()), help="steps at once")
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    wish, options = parser.parse_args(sys.argv[1:split]), sys.argv[split + 1:]
    scratch = pathlib.Path(".build")
    if "--scratch-path" in options:
        scratch = pathlib.Path(options[options.index("--scratch-path") + 1])
    scratch = scratch.resolve()
    configuration = "release" if "release" in options else "debug"

    if "tests" in wish.products:
        options = ["--build-tests", *options]
    planned = subprocess.run(["swift", "build", *options, "--print-manifest-job-graph"], stdout=subprocess.DEVNULL)
    if planned.returncode != 0:
        return planned.returncode
    plan = Plan(wish.plain)
    plan.read(scratch / f"{configuration}.yaml")
    for problem in plan.problems:
        print(f"compile: {problem}", file=sys.stderr)
    if plan.problems:
        return 1
    wanted = []
    for product in wish.objects:
        wanted += plan.find_objects(product)
    for product in wish.products:
        wanted.append(plan.find(f"{TESTS}.xctest" if product == "tests" else product))
    # As the package manager leaves it: a name without the platform for where everything goes.
    link, folder = scratch / configuration, pathlib.Path(wanted[0]).relative_to(scratch).parts[0]
    if not link.exists():
        link.symlink_to(pathlib.Path(folder) / configuration)
    file = scratch / f"{configuration}-interfaces-first.yaml"
    plan.write(file, wanted)
    llbuild = next(pathlib.Path(step["args"][0]).parent for step in plan.steps.values() if "args" in step)
    for target in ("interfaces", "wanted"):
        done = subprocess.run([llbuild / "swift-build-tool", "-f", file, "--db", scratch / f"{configuration}.db",
                               "--jobs", wish.jobs, target])
        if done.returncode != 0:
            return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
