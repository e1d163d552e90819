"""Prints the page of the Python reference: every name that `motte` exports, classes first."""
import inspect

import motte

title = "Python"
print(f"{title}\n{'=' * len(title)}\n")
print(".. automodule:: motte\n   :no-members:\n\n.. currentmodule:: motte\n")
named = {name: getattr(motte, name) for name in sorted(motte.__all__)}
parts = {
    "Functions": [name for name, value in named.items() if inspect.isroutine(value)],
    "Classes": [name for name, value in named.items() if inspect.isclass(value)],
}
parts["Types of properties"] = [
    name for name, value in named.items() if not inspect.ismodule(value) and name not in sum(parts.values(), [])]
for part, names in parts.items():
    print(f"{part}\n{'-' * len(part)}\n")
    for name in names:
        kind = {"Functions": "autofunction", "Classes": "autoclass"}.get(part, "autodata")
        print(f".. {kind}:: {name}\n")
print("Errors\n------\n\n.. automodule:: motte.errors\n   :no-index:\n")
