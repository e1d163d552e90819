"""Three NATS servers that share the streams: what is trimmed stays trimmed, and the rest stays, when servers end and
begin again."""
from __future__ import annotations

import pathlib
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any, Optional

import pytest
from nats_server import SERVER, ask, needed
from running import done, run, until
from running import nothing_is_left_running as nothing_is_left_running
from test_nats import content, made

sys.path.append(str(pathlib.Path(__file__).parents[1] / "Machines"))
from network import NAMES, Machines

pytestmark = needed


class Servers:
    def __init__(self, folder: pathlib.Path) -> None:
        self.folder, self.machines = folder, Machines(folder, isolated=False)
        routes = ", ".join(f'"nats://{self.machines.address(name)}:6222"' for name in NAMES)
        for name in NAMES:
            (folder / f"{name}.conf").write_text(
                f'server_name: {name}\nlisten: "{self.machines.address(name)}:4222"\n'
                f'jetstream {{ store_dir: "{folder / name}" }}\n'
                f'cluster {{ name: people, listen: "{self.machines.address(name)}:6222", routes: [{routes}] }}\n')
        self.processes = {name: self.begin(name) for name in NAMES}

    def begin(self, name: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen([SERVER, "-c", self.folder / f"{name}.conf"], stderr=subprocess.DEVNULL)

    @property
    def place(self) -> str:
        return "nats://" + ",".join(f"{self.machines.address(name)}:4222" for name in NAMES) + "/people"

    def ask(self, subject: str) -> Optional[dict[str, Any]]:
        return ask(self.machines.address(NAMES[0]), 4222, subject)

    def state(self, stream: str) -> Optional[dict[str, Any]]:
        """By what its leader has, with whether all replicas have that."""
        answer = self.ask(f"$JS.API.STREAM.INFO.{stream}")
        if not answer or "state" not in answer or not answer["cluster"].get("leader"):
            return None
        replicas = answer["cluster"].get("replicas", [])
        whole = len(replicas) == 2 and all(each["current"] and not each.get("offline") for each in replicas)
        state = answer["state"]
        return {"leader": answer["cluster"]["leader"], "whole": whole,
                "range": (state["first_seq"], state["last_seq"], state["messages"])}

    def settled(self, stream: str) -> dict[str, Any]:
        until(lambda: (self.state(stream) or {}).get("whole", False))
        state = self.state(stream)
        assert state is not None
        return state

    def end(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait()


@pytest.fixture
def servers(tmp_path: pathlib.Path) -> Iterator[Servers]:
    servers = Servers(tmp_path)
    yield servers
    servers.end()


def test_servers_that_begin_again_keep_what_was_not_trimmed(servers: Servers, tmp_path: pathlib.Path) -> None:
    leader = made(tmp_path / "leader.motte")
    ship = ("ship", leader, "--to", servers.place, "--once", "--keep-for", 0, "--snapshot-bytes", 2_000)
    until(lambda: run(*ship).returncode == 0)
    for count in range(4, 60):
        made(leader, count)
        done(*ship)
    streams = ("MOTTE_people", "MOTTE_people_SNAPSHOTS")
    before = {stream: servers.settled(stream)["range"] for stream in streams}
    assert all(first > 5 and count == last - first + 1 for first, last, count in before.values()), before
    for name in NAMES:
        servers.processes[name].send_signal(signal.SIGKILL)
        servers.processes[name].wait()
        servers.processes[name] = servers.begin(name)
        for stream in streams:
            servers.settled(stream)
    for stream in streams:
        # Each of them as the stream's leader has what there was.
        seen: set[str] = set()
        limit = time.monotonic() + 60
        while len(seen) < len(NAMES) and time.monotonic() < limit:
            state = servers.settled(stream)
            assert state["range"] == before[stream], (stream, state)
            seen.add(state["leader"])
            servers.ask(f"$JS.API.STREAM.LEADER.STEPDOWN.{stream}")
            time.sleep(0.5)
        assert len(seen) == len(NAMES), seen
    copy = tmp_path / "copy.motte"
    until(lambda: run("follow", copy, "--from", servers.place, "--once").returncode == 0)
    assert content(copy) == content(leader)
