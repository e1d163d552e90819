"""Three machines, a server on each, a file of which one leads and two follow, and everything that can go wrong.

    python Tests/Machines/run.py [--seconds 120] [--seed N] [--folder FOLDER] [--loopback]

`motte follow --may-lead` on each machine keeps a file; an application on each opens it, looks at it, and writes where
that is allowed, each commit acknowledged. Meanwhile processes, servers and machines are killed and stopped, links cut
and slowed down, disks filled. What must hold:

    M1  no acknowledged commit is lost
    M2  what anybody ever sees in any file is a beginning of the one history that all end with: nobody diverges
    M3  nobody sees half a commit
    M4  while most of the servers can reach each other, commits go on: after a fault some are acknowledged again
    M5  when the leader's process is gone, another one leads within the lease and what an election takes
    M6  at the end one leads, and all files are whole and the same

Machines are namespaces of Linux (network.py); where these are not allowed, addresses of the loopback device, which is
said. The random faults are those of the seed. MOTTE_TEST_SCALE makes it longer or shorter. The last line is
"N passed, N failed".
"""
from __future__ import annotations

import argparse
import json
import os
import pathlib
import random
import shutil
import statistics
import sys
import tempfile
import time
from typing import Any, Optional

import faults
from application import chained
from machine import LEASE_SECONDS, SERVER, TOOL, Machine, Record
from network import NAMES, Machines, can_be_isolated

#: Generous, for machines that do much else, and for servers: after some faults a stream of NATS 2.9 has no leader that
#: answers for a minute. What is slower than that stands still.
PROGRESS_SECONDS = 300.0
#: Beyond the lease.
TAKEOVER_SECONDS = 120.0
APPLICATION = pathlib.Path(__file__).resolve().parent / "application.py"


class Failed(Exception):
    pass


class Run:
    def __init__(self, folder: pathlib.Path, seed: int, isolated: bool) -> None:
        self.chance = random.Random(seed)
        self.record = Record()
        self.network = Machines(folder, isolated)
        self.machines = {
            name: Machine(name, self.network, folder, self.record, self.chance.randrange(1 << 24)) for name in NAMES}
        self.faults: dict[str, int] = {}
        self.takeovers: list[float] = []
        self.slowest = self.began = 0.0

    # ------------------------------------------------------------------------------------------------ time

    def turn(self) -> None:
        for machine in self.machines.values():
            machine.look()
        faults.flap(self.network, self.chance)
        if self.record.wrong:
            raise Failed(self.record.wrong[0])
        time.sleep(0.1)

    def wait(self, seconds: float) -> None:
        limit = time.monotonic() + seconds
        while time.monotonic() < limit:
            self.turn()

    def until(self, what: str, check: Any, seconds: float) -> float:
        began = time.monotonic()
        while not check():
            self.turn()
            if time.monotonic() - began > seconds:
                raise Failed(f"{what}: not within {seconds:.0f} s")
        return time.monotonic() - began

    def until_commits(self, after: str) -> None:
        """M4."""
        began, known = time.monotonic(), len(self.record.acknowledged)
        self.until(f"commits go on {after}", lambda: len(self.record.acknowledged) >= known + 3, PROGRESS_SECONDS)
        self.slowest = max(self.slowest, time.monotonic() - began)

    # ------------------------------------------------------------------------------------------------ the run

    def begin(self) -> None:
        one = self.machines[NAMES[0]]
        made = one.ask(sys.executable, APPLICATION, "--make", one.file)
        assert made.returncode == 0, made.stderr
        # The first file leads; the other machines have none yet.
        for name in NAMES[1:]:
            self.machines[name].standby.wanted = self.machines[name].application.wanted = False
        self.until_commits("at the beginning")
        for machine in self.machines.values():
            machine.standby.wanted = machine.application.wanted = True
        self.until("all have the file", lambda: all(each.files.joinpath("people.motte").exists()
                                                   for each in self.machines.values()), PROGRESS_SECONDS)

    def leader(self) -> Optional[Machine]:
        return self.machines[self.record.leads[-1][0]] if self.record.leads else None

    def say(self, what: str) -> None:
        print(f"{time.monotonic() - self.began:7.1f} {what}", flush=True)

    def one_fault(self, fault: faults.Fault) -> None:
        leader = self.leader()
        machine = leader if leader and self.chance.random() < 0.6 else self.machines[self.chance.choice(NAMES)]
        self.faults[fault.__name__] = self.faults.get(fault.__name__, 0) + 1
        self.say(faults.named(fault, machine))
        mend = fault(machine, self.chance)
        try:
            self.wait(self.chance.choice((0.3, 1, LEASE_SECONDS, 2 * LEASE_SECONDS)))
        finally:
            mend()
        if self.chance.random() < 0.7:
            self.until_commits(f"after {faults.named(fault, machine)}")

    def takeover(self) -> None:
        """M5."""
        self.until_commits("before a takeover")
        leader = self.leader()
        if leader is None:
            raise Failed("nobody has ever led")
        self.say(f"the leader, {leader.name}, is killed until another leads")
        leader.standby.wanted = False
        known = len(self.record.leads)
        leader.standby.kill()
        self.takeovers.append(self.until("another leads", lambda: any(
            name != leader.name for name, _ in self.record.leads[known:]), LEASE_SECONDS + TAKEOVER_SECONDS))
        leader.standby.wanted = True
        self.until_commits("after a takeover")

    def go(self, seconds: float) -> None:
        self.began = time.monotonic()
        self.begin()
        self.takeover()
        next_takeover = time.monotonic() + 60
        for fault in faults.drawn(self.chance, self.network.isolated):
            if time.monotonic() - self.began > seconds:
                break
            self.one_fault(fault)
            if time.monotonic() > next_takeover:
                next_takeover = time.monotonic() + 120
                self.takeover()
        self.until_commits("at the end")

    # ------------------------------------------------------------------------------------------------ the end

    def contents(self) -> Optional[list[dict[str, Any]]]:
        found = []
        for machine in self.machines.values():
            done = machine.ask(sys.executable, APPLICATION, "--dump", machine.file)
            if done.returncode != 0:
                return None
            found.append(json.loads(done.stdout))
        return found

    def settle(self) -> dict[str, Any]:
        """M6."""
        for machine in self.machines.values():
            machine.application.wanted = False
            machine.application.kill()
        limit = time.monotonic() + PROGRESS_SECONDS
        while True:
            self.wait(1)
            found = self.contents()
            roles = [machine.ask(TOOL, "status", machine.file).stdout for machine in self.machines.values()]
            leaders = sum("follows" not in role for role in roles)
            if found and leaders == 1 and all(each == found[0] for each in found):
                break
            if time.monotonic() > limit:
                raise Failed(f"the files never become the same: {[each['head'] for each in found or []]}, {roles}")
        for machine in self.machines.values():
            verified = machine.ask(TOOL, "verify", machine.file)
            if verified.returncode != 0:
                raise Failed(f"the file of {machine.name} is unsound: {verified.stdout} {verified.stderr}")
        return found[0]

    def check(self, end: dict[str, Any]) -> None:
        history, digest = {(0, "")}, ""
        for number, (name, parts, stored) in enumerate(end["commits"], 1):
            digest = chained(digest, name, parts)
            if stored != digest or name not in self.record.tried or end["parts"][number - 1] != parts:
                raise Failed(f"commit {number}, {name}, is not what was written")
            history.add((number, digest))
        if end["head"] != [len(end["commits"]), sum(end["parts"]), digest]:
            raise Failed(f"the head is {end['head']}")
        lost = [(name, number) for name, number, stored, _ in self.record.acknowledged
                if (number, stored) not in history]
        if lost:
            raise Failed(f"M1: {len(lost)} acknowledged commits are lost, such as {lost[0]}")
        strange = self.record.shown - history
        if strange:
            raise Failed(f"M2: {len(strange)} states were seen that are none of the history, such as {min(strange)}")

    def summary(self, end: dict[str, Any]) -> str:
        kills = sum(service.kills for machine in self.machines.values() for service in machine.services)
        takeovers = sum(before[0] != after[0] for before, after in zip(self.record.leads, self.record.leads[1:]))
        done = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in sorted(self.faults.items()))
        return (
            f"{len(self.record.acknowledged)} acknowledged commits of {len(end['commits'])}, none lost; "
            f"{len(self.record.shown)} states seen {self.record.shown_count} times, none strange; "
            f"{sum(self.faults.values())} faults ({done}), {kills} kills, {takeovers} takeovers, "
            f"{self.record.set_aside} files begun again; another leads {statistics.median(self.takeovers):.1f} s after "
            f"the leader was killed (median of {len(self.takeovers)}; at most {max(self.takeovers):.1f} s; lease "
            f"{LEASE_SECONDS} s); commits went on at most {self.slowest:.1f} s after a fault")

    def end(self) -> None:
        for machine in self.machines.values():
            machine.end()
        self.network.end()


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--seconds", type=float)
    arguments.add_argument("--seed", type=int)
    arguments.add_argument("--folder", type=pathlib.Path, help="keeps what was said there")
    arguments.add_argument("--loopback", action="store_true", help="without namespaces")
    wanted = arguments.parse_args()
    if not TOOL.exists() or not pathlib.Path(SERVER).exists():
        sys.exit("build the tool with scripts/build.sh tool, and install nats-server with scripts/setup.sh")
    seconds = wanted.seconds or 120 * float(os.environ.get("MOTTE_TEST_SCALE", "1"))
    seed = wanted.seed if wanted.seed is not None else int(
        os.environ.get("MOTTE_TEST_SEED", random.randrange(1 << 30)))
    isolated = not wanted.loopback and can_be_isolated()
    if not isolated:
        print("not covered: links that are cut, and full disks; namespaces are not allowed here, or not wanted")
    print(f"seed {seed}, {seconds:.0f} s, {'namespaces' if isolated else 'loopback'}", flush=True)
    folder = wanted.folder or pathlib.Path(tempfile.mkdtemp(prefix="motte-machines-"))
    folder.mkdir(parents=True, exist_ok=True)
    run = Run(folder.resolve(), seed, isolated)
    try:
        run.go(seconds)
        end = run.settle()
        run.check(end)
        print(f"note: {run.summary(end)}; seed {seed}")
    except Failed as failure:
        print(f"FAILED: {failure}; seed {seed}; what was said is in {folder}")
        print(f"errors of the applications: {run.record.errors}")
        print("0 passed, 1 failed")
        sys.exit(1)
    finally:
        run.end()
    if wanted.folder is None:
        shutil.rmtree(folder, ignore_errors=True)
    print("1 passed, 0 failed")


if __name__ == "__main__":
    main()
