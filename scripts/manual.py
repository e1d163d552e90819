#!/usr/bin/env python3
"""Man pages and shell completion of the motte command, made of what the command says of itself.

    scripts/manual.py TOOL FOLDER

FOLDER gets man1/motte.1, a page for each subcommand (man1/motte-query.1), and completions/motte.{bash,zsh,fish}.
"""
from __future__ import annotations

import json
import pathlib
import re
import subprocess
import sys

FILES = """XDG_STATE_HOME/motte/history
What was typed into shells, ~/.local/state/motte/history without that variable. Only its owner can read it."""
ENVIRONMENT = [
    ("NO_COLOR", "Not empty: no colours."),
    ("PAGER", "Shows long output of the shell; less without it."),
    ("TMPDIR", "Where packed texts and Realm files are unpacked."),
    ("XDG_STATE_HOME", "Where the history of the shell is kept."),
]
STATUS = """0 when it is done, 1 when the command failed, 2 for wrong arguments. A comparison by
.B motte diff
ends with 1 where there are differences and with 2 where it failed."""


def said(tool: str, *arguments: str) -> str:
    return subprocess.run([tool, *arguments], capture_output=True, text=True, check=True, timeout=60).stdout


def escaped(text: str) -> str:
    """Text as it is, whatever a line begins with."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("^", "\\(ha")
    return "\n".join("\\&" + line if line.startswith(".") else line for line in text.split("\n"))


def name(entry: dict) -> str:
    return ("--" if entry["kind"] == "long" else "-") + entry["name"]


def shown(arguments: list[dict]) -> list[dict]:
    return [argument for argument in arguments if argument["shouldDisplay"]]


def synopsis(command: str, arguments: list[dict]) -> str:
    words = [f".B {escaped(command)}"]
    if any(argument["kind"] != "positional" for argument in shown(arguments)):
        words.append(".RI [ options ]")
    for argument in shown(arguments):
        if argument["kind"] != "positional":
            continue
        text = escaped(argument["valueName"])
        dots = " ..." if argument["isRepeating"] else ""
        words.append(f".RI [ {text}{dots} ]" if argument["isOptional"] else f".I {text}{dots}")
    return "\n".join(words)


def option(argument: dict) -> str:
    if argument["kind"] == "positional":
        head = f".I {escaped(argument['valueName'])}"
    else:
        value = "" if argument["kind"] == "flag" else f" \\fI{escaped(argument['valueName'])}\\fR"
        head = ", ".join(f"\\fB{escaped(name(entry))}\\fR{value}" for entry in argument["names"])
    default = argument.get("defaultValue")
    values = argument.get("allValues") or argument.get("allValueStrings")
    text = argument.get("abstract", "")
    if values and not all(value in text for value in values):
        text += f" One of {', '.join(values)}."
    if default:
        text += f" Without it: {default}."
    return f".TP\n{head}\n{escaped(text)}"


def discussion(text: str) -> str:
    """Paragraphs, and indented lines as they are."""
    parts: list[str] = []
    for line in text.strip("\n").split("\n"):
        if line.startswith("  "):
            parts.append(f".RS 4\n.nf\n{escaped(line.strip())}\n.fi\n.RE")
        else:
            parts.append(escaped(line))
    return re.sub(r"\n\.fi\n\.RE\n\.RS 4\n\.nf\n", "\n", "\n".join(parts))


def sections(arguments: list[dict]) -> str:
    places = [option(argument) for argument in shown(arguments) if argument["kind"] == "positional"]
    options = [option(argument) for argument in shown(arguments) if argument["kind"] != "positional"]
    text = ""
    if places:
        text += ".SH ARGUMENTS\n" + "\n".join(places) + "\n"
    if options:
        text += ".SH OPTIONS\n" + "\n".join(options) + "\n"
    return text


def page(title: str, version: str, abstract: str, body: str) -> str:
    line = escaped(abstract[0].lower() + abstract[1:].rstrip("."))
    return (f'.TH {escaped(title.upper())} 1 "" "motte {version}" "User Commands"\n'
            f".SH NAME\n{escaped(title)} \\- {line}\n{body}")


def common() -> str:
    where, what = FILES.split("\n")
    return (f".SH EXIT STATUS\n{STATUS}\n.SH ENVIRONMENT\n"
            + "".join(f".TP\n.B {escaped(variable)}\n{escaped(text)}\n" for variable, text in ENVIRONMENT)
            + f".SH FILES\n.TP\n.I {escaped(where)}\n{escaped(what)}\n")


def main() -> None:
    tool, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    root = json.loads(said(tool, "--experimental-dump-help"))["command"]
    version = said(tool, "--version").strip()
    manuals, completions = folder / "man1", folder / "completions"
    for place in (manuals, completions):
        place.mkdir(parents=True, exist_ok=True)
    commands = [command for command in root["subcommands"] if command["commandName"] != "help"]
    listed = "".join(f".TP\n.BR motte\\-{command['commandName']} (1)\n{escaped(command['abstract'])}\n"
                     for command in commands)
    (manuals / "motte.1").write_text(page(
        "motte", version, root["abstract"],
        ".SH SYNOPSIS\n.B motte\n.I file\n.br\n.B motte\n.I command\n.RI [ options ]\n.I file\n.RI ...\n.br\n"
        ".B motte help\n.I command\n.SH DESCRIPTION\nWith a file alone it runs statements on it, one after the other; "
        "see\n.BR motte\\-shell (1).\n.SH COMMANDS\n" + listed + common()
        + ".SH SEE ALSO\nThe query language and all formats are described in share/doc/motte/docs of where Motte is "
        "installed, and in\n/usr/share/doc/libmotte\\-dev/docs of Debian\\(aqs package libmotte\\-dev.\n"))
    for command in commands:
        title = f"motte-{command['commandName']}"
        body = f".SH SYNOPSIS\n{synopsis('motte ' + command['commandName'], command['arguments'])}\n"
        text = discussion(command.get("discussion", ""))
        body += f".SH DESCRIPTION\n{escaped(command['abstract'])}\n" + (f".PP\n{text}\n" if text else "")
        body += sections(command["arguments"]) + common() + ".SH SEE ALSO\n.BR motte (1)\n"
        (manuals / f"{title}.1").write_text(page(title, version, command["abstract"], body))
    for shell in ("bash", "zsh", "fish"):
        script = said(tool, "--generate-completion-script", shell)
        # It is read by a shell that runs, not run by one.
        (completions / f"motte.{shell}").write_text(re.sub(r"\A#!.*\n", "", script))
    print(f"made {len(commands) + 1} man pages and 3 completions in {folder}")


main()
