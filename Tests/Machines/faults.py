"""What happens to the machines: each fault is done, lasts for some seconds and is mended. Which one comes next, where
and for how long is drawn by the seed; what the processes make of it is not."""
from __future__ import annotations

import pathlib
import random
import signal
import sys
from collections.abc import Iterator
from typing import Callable, Optional

from machine import Machine
from network import Machines

LEASE = pathlib.Path(__file__).resolve().parent / "lease.py"

#: Begins the fault, and gives what ends it.
Fault = Callable[[Machine, random.Random], Callable[[], None]]


def standby_killed(machine: Machine, chance: random.Random) -> Callable[[], None]:
    machine.standby.wanted = chance.random() < 0.5
    machine.standby.kill()

    def mend() -> None:
        machine.standby.wanted = True

    return mend


def server_killed(machine: Machine, chance: random.Random) -> Callable[[], None]:
    machine.server.wanted = chance.random() < 0.5
    machine.server.kill()

    def mend() -> None:
        machine.server.wanted = True

    return mend


def application_killed(machine: Machine, chance: random.Random) -> Callable[[], None]:
    machine.application.kill()
    return lambda: None


def machine_killed(machine: Machine, chance: random.Random) -> Callable[[], None]:
    for service in machine.services:
        service.wanted = False
    machine.kill()

    def mend() -> None:
        for service in machine.services:
            service.wanted = True

    return mend


def standby_stopped(machine: Machine, chance: random.Random) -> Callable[[], None]:
    """It goes on later, and believes that it is still then."""
    machine.standby.signal(signal.SIGSTOP)

    def mend() -> None:
        machine.standby.signal(signal.SIGCONT)

    return mend


def server_stopped(machine: Machine, chance: random.Random) -> Callable[[], None]:
    machine.server.signal(signal.SIGSTOP)

    def mend() -> None:
        machine.server.signal(signal.SIGCONT)

    return mend


def link_cut(machine: Machine, chance: random.Random) -> Callable[[], None]:
    machine.machines.link(machine.name, up=False)
    return lambda: machine.machines.link(machine.name, up=True)


def link_slow(machine: Machine, chance: random.Random) -> Callable[[], None]:
    """Late and with losses; where the kernel can't do that, up and down in turn, so that packets come later."""
    if machine.machines.slow(machine.name, chance.choice((20, 100, 300))):
        return lambda: machine.machines.at_once(machine.name)
    flapping.add(machine.name)

    def mend() -> None:
        flapping.discard(machine.name)
        machine.machines.link(machine.name, up=True)

    return mend


#: Names of machines whose links go up and down.
flapping: set[str] = set()


def flap(machines: Machines, chance: random.Random) -> None:
    for name in flapping:
        machines.link(name, up=chance.random() < 0.6)


def files_full(machine: Machine, chance: random.Random) -> Callable[[], None]:
    machine.fill(machine.files)
    return lambda: machine.empty(machine.files)


def messages_full(machine: Machine, chance: random.Random) -> Callable[[], None]:
    """A server that has no space left stops keeping streams until it is begun again."""
    machine.fill(machine.messages)

    def mend() -> None:
        machine.empty(machine.messages)
        machine.server.kill()

    return mend


def lease_lost(machine: Machine, chance: random.Random) -> Callable[[], None]:
    """For good: nobody mends it but those who follow. Where the bucket does not answer just now nothing is done."""
    machine.ask(sys.executable, LEASE, machine.machines.address(machine.name))
    return lambda: None


ANYWHERE: tuple[Fault, ...] = (
    standby_killed, standby_killed, server_killed, server_killed, application_killed, machine_killed, standby_stopped,
    server_stopped, lease_lost)
ISOLATED: tuple[Fault, ...] = (link_cut, link_cut, link_slow, files_full, messages_full)


def drawn(chance: random.Random, isolated: bool) -> Iterator[Fault]:
    """All of them in an order of chance, again and again."""
    while True:
        faults = list(ANYWHERE + (ISOLATED if isolated else ()))
        chance.shuffle(faults)
        yield from faults


def named(fault: Fault, machine: Optional[Machine]) -> str:
    return fault.__name__.replace("_", " ") + (f" on {machine.name}" if machine else "")
