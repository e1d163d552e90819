"""A NATS server for tests and benchmarks, with a port and files of its own."""
from __future__ import annotations

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
from typing import Any, Optional

import pytest
from running import until

SERVER = shutil.which("nats-server") or "/usr/sbin/nats-server"

needed = pytest.mark.skipif(
    not pathlib.Path(SERVER).exists() and os.environ.get("CI") != "true",
    reason="there is no nats-server; scripts/setup.sh installs it")


def ask(address: str, port: int, subject: str, text: str = "") -> Optional[dict[str, Any]]:
    """A request in NATS's own protocol; None where no answer comes."""
    try:
        with socket.create_connection((address, port), timeout=3) as connection:
            lines = connection.makefile("rb")
            lines.readline()
            connection.sendall(
                b'CONNECT {"verbose":false}\r\nSUB here 1\r\n'
                + f"PUB {subject} here {len(text)}\r\n{text}\r\n".encode())
            while line := lines.readline():
                if line.startswith(b"MSG "):
                    return dict(json.loads(lines.read(int(line.split()[-1]))))
    except OSError:
        pass
    return None


class Server:
    def __init__(self, folder: pathlib.Path, more: str = "") -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.configuration = folder / "server.conf"
        self.configuration.write_text(
            f'listen: "127.0.0.1:{self.port}"\njetstream {{ store_dir: "{folder}/store" }}\n{more}\n')
        self.log = folder / "server.log"
        self.begin()

    def begin(self) -> None:
        with self.log.open("a") as log:
            self.process = subprocess.Popen([SERVER, "-c", self.configuration], stdout=log, stderr=log)
        until(self.answers)

    def answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                return connection.recv(4) == b"INFO"
        except OSError:
            return False

    def end(self, how: int = signal.SIGKILL) -> None:
        self.process.send_signal(how)
        self.process.wait(timeout=30)

    def place(self, name: str = "people", login: str = "") -> str:
        return f"nats://{login}127.0.0.1:{self.port}/{name}"
