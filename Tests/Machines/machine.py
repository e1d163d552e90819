"""A machine of the test: a server, `motte follow --may-lead` and an application, each begun again when it has ended, as
a system's manager of services does it, and what they have said."""
from __future__ import annotations

import dataclasses
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time
from typing import Callable, Optional

from network import NAMES, Machines

HERE = pathlib.Path(__file__).resolve().parent
TOOL = HERE.parents[1] / "build" / "tool" / "motte"
SERVER = shutil.which("nats-server") or "/usr/sbin/nats-server"
LEASE_SECONDS = 3
MEGABYTES_OF_FILES, MEGABYTES_OF_MESSAGES = 192, 384
NOT_BEFORE_SECONDS = 0.5
_MESSAGES = "max_payload: 65536"


@dataclasses.dataclass
class Record:
    """What the applications have said, of all machines."""

    tried: set[str] = dataclasses.field(default_factory=set)
    #: Name, number, hash, and when it was acknowledged.
    acknowledged: list[tuple[str, int, str, float]] = dataclasses.field(default_factory=list)
    shown: set[tuple[int, str]] = dataclasses.field(default_factory=set)
    shown_count: int = 0
    wrong: list[str] = dataclasses.field(default_factory=list)
    errors: dict[str, int] = dataclasses.field(default_factory=dict)
    #: Which machine has begun to lead, and when.
    leads: list[tuple[str, float]] = dataclasses.field(default_factory=list)
    set_aside: int = 0
    lock: threading.Lock = dataclasses.field(default_factory=threading.Lock)


class Service:
    """A process that is begun again when it ends."""

    def __init__(self, command: Callable[[], list[str]], log: pathlib.Path, said: Callable[[str], None]) -> None:
        self._command, self._log, self._said = command, log, said
        self.process: Optional[subprocess.Popen[str]] = None
        self.wanted = True
        self._not_before = 0.0
        self.kills = 0

    def look(self) -> None:
        """Begins it if it is to run and does not. Only the main thread calls this, with which the process ends."""
        if self.process is not None and self.process.poll() is not None:
            self.process = None
        if self.wanted and self.process is None and time.monotonic() >= self._not_before:
            self._not_before = time.monotonic() + NOT_BEFORE_SECONDS
            self.process = subprocess.Popen(self._command(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                            stderr=subprocess.STDOUT, text=True, errors="replace")
            threading.Thread(target=self._read, args=(self.process,), daemon=True).start()

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        with self._log.open("a") as log:
            for line in process.stdout:
                self._said(line)
                log.write(f"{time.monotonic():.3f} {line}")

    def signal(self, number: signal.Signals) -> bool:
        if self.process is None or self.process.poll() is not None:
            return False
        self.process.send_signal(number)
        return True

    def kill(self) -> None:
        if self.signal(signal.SIGKILL) and self.process is not None:
            self.process.wait(timeout=60)
            self.kills += 1


class Machine:
    def __init__(self, name: str, machines: Machines, folder: pathlib.Path, record: Record, seed: int) -> None:
        self.name, self.machines, self.record = name, machines, record
        self._place = machines.resolved("nats://" + ",".join(f"{each}:4222" for each in NAMES) + "/people")
        self._folder = folder / name
        self._folder.mkdir(parents=True)
        #: As it is called in there, and as it is reached from here.
        self._inside = self._folder / "files"
        self.files = machines.disk(name, self._inside, MEGABYTES_OF_FILES)
        self.messages = machines.disk(name, self._folder / "messages", MEGABYTES_OF_MESSAGES)
        self._seed = seed
        configuration = self._folder / "server.conf"
        routes = ", ".join(f'"nats://{machines.address(each)}:6222"' for each in NAMES)
        configuration.write_text(
            f'server_name: {name}\nlisten: "{machines.address(name)}:4222"\n{_MESSAGES}\n'
            f'jetstream {{ store_dir: "{self._folder / "messages"}", max_file_store: 1GB }}\n'
            f'cluster {{ name: people, listen: "{machines.address(name)}:6222", routes: [{routes}] }}\n')
        self.server = Service(lambda: machines.inside(name, SERVER, "-c", configuration),
                              self._folder / "server.log", lambda line: None)
        self.standby = Service(
            lambda: machines.inside(
                name, "env", f"TMPDIR={self._inside}", TOOL, "follow", self.file, "--from", self._place, "--may-lead",
                "--name", name, "--lease", LEASE_SECONDS, "--acknowledge", self._socket, "--keep-for", 60,
                "--replicas", len(NAMES)),
            self._folder / "standby.log", self._hear_standby)
        self.application = Service(self._application, self._folder / "application.log", self._hear)

    @property
    def file(self) -> pathlib.Path:
        return self._inside / "people.motte"

    @property
    def _socket(self) -> pathlib.Path:
        return self._inside / "asked"

    @property
    def services(self) -> tuple[Service, Service, Service]:
        return self.server, self.standby, self.application

    def _application(self) -> list[str]:
        self._seed += 1
        return self.machines.inside(
            self.name, sys.executable, HERE / "application.py", self.file, self._socket, self.name, self._seed)

    def ask(self, *arguments: object, seconds: float = 120) -> subprocess.CompletedProcess[str]:
        """A command of this test on the machine."""
        return subprocess.run(self.machines.inside(self.name, *arguments), capture_output=True, text=True,
                              timeout=seconds)

    def look(self) -> None:
        for service in self.services:
            service.look()
        # What was set aside was looked through by then, and the disk is small.
        for old in self.files.glob("*.former-*"):
            # Others are being made.
            if old.suffix.removeprefix(".former-").isdecimal():
                old.unlink(missing_ok=True)
        for old in self.files.glob("*.unshipped-*"):
            self.record.wrong.append(f"{self.name} kept {old.name}, and every commit was acknowledged")
            old.unlink(missing_ok=True)

    def fill(self, disk: pathlib.Path) -> None:
        with (disk / "filler").open("wb", buffering=0) as filler:
            try:
                while filler.write(bytes(1 << 20)):
                    pass
            except OSError:
                pass

    @staticmethod
    def empty(disk: pathlib.Path) -> None:
        (disk / "filler").unlink(missing_ok=True)

    def _hear_standby(self, line: str) -> None:
        with self.record.lock:
            if line.startswith("leading from"):
                self.record.leads.append((self.name, time.monotonic()))
            elif line.startswith("the file begins again"):
                self.record.set_aside += 1
            elif "is damaged" in line or "checksum" in line:
                self.record.wrong.append(f"{self.name}: {line.strip()}")

    def _hear(self, line: str) -> None:
        kind, _, rest = line.rstrip("\n").partition(" ")
        words = rest.split(" ")
        with self.record.lock:
            if kind == "tried":
                self.record.tried.add(words[0])
            elif kind == "acknowledged":
                self.record.acknowledged.append((words[0], int(words[1]), words[2], time.monotonic()))
            elif kind == "shown":
                self.record.shown.add((int(words[0]), words[1]))
                self.record.shown_count += 1
            elif kind == "wrong":
                self.record.wrong.append(f"{self.name}: {rest}")
            elif kind == "error":
                self.record.errors[words[0]] = self.record.errors.get(words[0], 0) + 1

    def kill(self) -> None:
        for service in self.services:
            service.kill()

    def end(self) -> None:
        for service in self.services:
            service.wanted = False
            # What is stopped is killed as well.
            service.kill()
