"""Machines of one's own on one machine: each has a network and mounts of its own (namespaces of Linux), a name that the
others know, and one link to a switch, which can be cut.

Everything is held by one process a machine, which waits for this one: when the last process in it has ended, a machine
is gone with its mounts and links, however this one ended. Where namespaces are not allowed machines are addresses of
the loopback device: then nothing can be cut, and there are no small disks.
"""
from __future__ import annotations

import os
import pathlib
import subprocess

NAMES = ("one", "two", "three")


def _works(*command: str) -> bool:
    try:
        return subprocess.run(command, capture_output=True, timeout=30).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def can_be_isolated() -> bool:
    """Whether this process may make namespaces, links between them, and mounts in them."""
    probe = ("mount -t tmpfs -o size=1m none /mnt", "mount --bind /etc/hostname /etc/hosts", "ip link set lo up",
             "ip link add m0 type bridge", "ip link add m1 type veth peer name m2")
    return os.geteuid() == 0 and _works("unshare", "--net", "--mount", "sh", "-c", " && ".join(probe))


class Holder:
    """A network and mounts, for as long as this process lives or something runs in there."""

    def __init__(self, hosts: pathlib.Path) -> None:
        script = 'mount --bind "$0" /etc/hosts && ip link set lo up && echo ready && exec cat'
        # What is written to the pipe would come back; nothing is.
        self.process = subprocess.Popen(["unshare", "--net", "--mount", "sh", "-c", script, str(hosts)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n", "no namespaces"

    def inside(self, *command: object) -> list[str]:
        """A command that runs in there, and ends with this process."""
        return ["nsenter", f"--target={self.process.pid}", "--net", "--mount", "setpriv", "--pdeathsig", "KILL",
                *map(str, command)]

    def run(self, *command: object) -> None:
        subprocess.run(self.inside(*command), check=True, capture_output=True, timeout=60)

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(timeout=60)


class Machines:
    """`one`, `two` and `three`."""

    def __init__(self, folder: pathlib.Path, isolated: bool) -> None:
        self.isolated = isolated
        if isolated:
            self.addresses = {name: f"10.99.0.{number}" for number, name in enumerate(NAMES, 1)}
        else:
            # Of their own for each process that has such machines.
            own = os.getpid() % 65_536
            self.addresses = {
                name: f"127.{own >> 8}.{own & 255}.{number}" for number, name in enumerate(NAMES, 101)}
        if not isolated:
            return
        hosts = folder / "hosts"
        hosts.write_text("127.0.0.1 localhost\n" + "".join(
            f"{address} {name}\n" for name, address in self.addresses.items()))
        self._switch = Holder(hosts)
        self._switch.run("ip", "link", "add", "switch", "type", "bridge")
        self._switch.run("ip", "link", "set", "switch", "up")
        self._holders = {name: Holder(hosts) for name in NAMES}
        for name, holder in self._holders.items():
            self._switch.run("ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns",
                             holder.process.pid)
            self._switch.run("ip", "link", "set", name, "master", "switch", "up")
            holder.run("ip", "addr", "add", f"{self.addresses[name]}/24", "dev", "eth0")
            holder.run("ip", "link", "set", "eth0", "up")
        self._can_be_slow = _works(*self._switch.inside("tc", "qdisc", "add", "dev", NAMES[0], "root", "netem"))
        if self._can_be_slow:
            self.at_once(NAMES[0])

    def inside(self, name: str, *command: object) -> list[str]:
        return self._holders[name].inside(*command) if self.isolated else [
            "setpriv", "--pdeathsig", "KILL", *map(str, command)]

    def resolved(self, text: str) -> str:
        """As it is written, or with addresses where there are no names: `nats://one:4222`."""
        if self.isolated:
            return text
        for name, address in self.addresses.items():
            text = text.replace(f"//{name}:", f"//{address}:").replace(f",{name}:", f",{address}:")
        return text

    def address(self, name: str) -> str:
        return self.addresses[name]

    def disk(self, name: str, path: pathlib.Path, megabytes: int) -> pathlib.Path:
        """A disk of that size at a path; how it is reached from here."""
        path.mkdir(parents=True, exist_ok=True)
        if not self.isolated:
            return path
        self._holders[name].run("mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "none", path)
        return pathlib.Path(f"/proc/{self._holders[name].process.pid}/root{path}")

    def link(self, name: str, up: bool) -> None:
        self._switch.run("ip", "link", "set", name, "up" if up else "down")

    def slow(self, name: str, milliseconds: int) -> bool:
        """Packets to the machine are late by so much, and some are lost; False where the kernel cannot do that."""
        if self._can_be_slow:
            self._switch.run("tc", "qdisc", "replace", "dev", name, "root", "netem", "delay", f"{milliseconds}ms",
                             f"{milliseconds // 2}ms", "loss", "2%")
        return self._can_be_slow

    def at_once(self, name: str) -> None:
        if self._can_be_slow:
            self._switch.run("tc", "qdisc", "del", "dev", name, "root")

    def end(self) -> None:
        if self.isolated:
            for holder in (*self._holders.values(), self._switch):
                holder.end()
