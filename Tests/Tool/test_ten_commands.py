"""The ten commands of docs/replication.md from one machine to three, as they stand there, on three machines with a
server each: machines with names and networks of their own where namespaces are allowed, and three addresses of this
one."""
from __future__ import annotations

import os
import pathlib
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from nats_server import SERVER, needed
from running import TOOL
from running import nothing_is_left_running as nothing_is_left_running

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "Machines"))

from network import NAMES, Machines, can_be_isolated

ROOT = pathlib.Path(__file__).parents[2]
LONGEST_SECONDS = 120

pytestmark = needed


def blocks() -> tuple[str, list[tuple[str, str]]]:
    """The configuration of a server, and the commands: on which machine, what."""
    text = (ROOT / "docs" / "replication.md").read_text(encoding="utf-8")
    section = text.split("## Three machines, one of which leads")[1].split("\n## ")[0]
    configuration, commands = re.findall(r"```text\n(.*?)```", section, re.DOTALL)
    found = re.findall(r"^(\w+)\$ (.*)$", commands, re.MULTILINE)
    assert len(found) == len(commands.splitlines())
    return configuration, found


class Shells:
    """One on each machine, in a folder of its own."""

    def __init__(self, machines: Machines, folder: pathlib.Path) -> None:
        self.machines = machines
        self.folders = {name: folder / name for name in NAMES}
        for each in self.folders.values():
            each.mkdir()
        self.path = f"{TOOL.parent}:{pathlib.Path(SERVER).parent}:{os.environ['PATH']}"
        self.running: list[subprocess.Popen[bytes]] = []

    def _command(self, name: str, command: str) -> list[str]:
        return self.machines.inside(name, "env", f"--chdir={self.folders[name]}", f"PATH={self.path}", "sh", "-c",
                                    f"exec {self.machines.resolved(command)}")

    def begin(self, name: str, command: str) -> None:
        log = (self.folders[name] / "log").open("ab")
        self.running.append(subprocess.Popen(self._command(name, command), stdout=log, stderr=log))

    def run(self, name: str, command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self._command(name, command), capture_output=True, text=True, timeout=LONGEST_SECONDS)

    def said(self) -> str:
        return "\n".join(f"{name}:\n{(folder / 'log').read_text()[-2_000:]}" for name, folder in self.folders.items()
                         if (folder / "log").exists())

    def end(self) -> None:
        for process in self.running:
            process.send_signal(signal.SIGKILL)
            process.wait(timeout=60)


@pytest.fixture(params=["names", "addresses"])
def shells(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Iterator[Shells]:
    if request.param == "names" and not can_be_isolated():
        pytest.skip("namespaces are not allowed here")
    machines = Machines(tmp_path, request.param == "names")
    shells = Shells(machines, tmp_path)
    yield shells
    shells.end()
    machines.end()


def configured(text: str, machines: Machines, name: str) -> str:
    assert text.startswith("server_name: one\n")
    text = machines.resolved(text.replace("server_name: one", f"server_name: {name}"))
    if machines.isolated:
        return text
    # On one machine each listens on an address of its own.
    return re.sub(r"\bport: ", f'host: "{machines.address(name)}", port: ', text)


def patiently(shells: Shells, name: str, command: str, wanted: str) -> str:
    """What is typed again until it shows what is on its way."""
    limit = time.monotonic() + LONGEST_SECONDS
    while True:
        done = shells.run(name, command)
        if done.returncode == 0 and wanted in done.stdout:
            return done.stdout
        assert time.monotonic() < limit, f"{command}: {done.stdout} {done.stderr}\n{shells.said()}"
        time.sleep(0.2)


def test_from_one_machine_to_three(shells: Shells) -> None:
    configuration, commands = blocks()
    assert len(commands) == 10
    for name, folder in shells.folders.items():
        (folder / "server.conf").write_text(configured(configuration, shells.machines, name))
    rows = shells.folders["one"] / "rows.csv"
    rows.write_text("id,name\n1,Ada\n")
    made = shells.run("one", "motte import people.motte Person rows.csv --key id")
    assert made.returncode == 0, made.stderr
    for name, command in commands:
        if command.endswith(" &"):
            shells.begin(name, command.removesuffix(" &"))
        elif " query " in command:
            assert "Ada" in patiently(shells, name, command, "Bo")
        elif " status " in command:
            status = patiently(shells, name, command, "lag       0 versions")
            assert "follows   one by nats://" in status
        else:
            patiently(shells, name, command, "")
    restored = shells.run("two", "motte query earlier.motte Person")
    assert restored.returncode == 0 and "Ada" in restored.stdout and "Bo" in restored.stdout
