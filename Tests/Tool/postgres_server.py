"""A PostgreSQL server for tests: its files and its socket in a folder of its own, run by another user than root."""
from __future__ import annotations

import os
import pathlib
import pwd
import shutil
import subprocess
import tempfile
from typing import Optional

PROGRAMS = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))


class Server:
    def __init__(self) -> None:
        self.bin = PROGRAMS[-1].parent
        # Paths of sockets may have 107 bytes.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="motte-pg-"))
        self.user: Optional[str] = None
        if os.geteuid() == 0:
            self.user = "postgres"
            found = pwd.getpwnam(self.user)
            os.chown(self.folder, found.pw_uid, found.pw_gid)
        self.data = self.folder / "data"
        self._run("initdb", "-D", self.data, "-U", "motte", "--auth=trust", "--no-sync", "--encoding=UTF8",
                  "--locale=C")
        with (self.data / "postgresql.conf").open("a") as settings:
            settings.write(f"listen_addresses = ''\nunix_socket_directories = '{self.folder}'\nfsync = off\n"
                           "shared_buffers = 64MB\n")
        self.start()

    def _run(self, program: str, *arguments: object) -> None:
        command = [str(self.bin / program), *map(str, arguments)]
        subprocess.run(command, check=True, user=self.user, cwd=self.folder, timeout=120, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL)

    def start(self) -> None:
        self._run("pg_ctl", "-D", self.data, "-l", self.folder / "log", "-w", "start")

    def stop(self, how: str = "fast") -> None:
        self._run("pg_ctl", "-D", self.data, "-w", "-m", how, "stop")

    def is_running(self) -> bool:
        return subprocess.run([self.bin / "pg_ctl", "-D", self.data, "status"], user=self.user, cwd=self.folder,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=120).returncode == 0

    def end(self) -> None:
        try:
            if self.is_running():
                self.stop("immediate")
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def make(self, name: str) -> str:
        """A new database, and how it is named."""
        self.sql("postgres", f'CREATE DATABASE "{name}"')
        return f"postgresql:///{name}?host={self.folder}&user=motte"

    def sql(self, database: str, statement: str) -> str:
        done = subprocess.run(
            [self.bin / "psql", "-h", self.folder, "-U", "motte", "-d", database, "-X", "-A", "-t", "-q",
             "-v", "ON_ERROR_STOP=1", "-c", statement], capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        return done.stdout
