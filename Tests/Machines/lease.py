"""Makes the bucket of the lease one that takes what it is sent and never says so, like one whose replicas wait for each
other for ever: servers come to that by themselves, but too seldom to wait for it.

    python Tests/Machines/lease.py ADDRESS
"""
from __future__ import annotations

import json
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "Tool"))
from nats_server import ask

BUCKET = "KV_MOTTE_people"


def main(address: str) -> int:
    info = ask(address, 4222, f"$JS.API.STREAM.INFO.{BUCKET}")
    if not info or "config" not in info:
        return 1
    lost = {**info["config"], "no_ack": True}
    answer = ask(address, 4222, f"$JS.API.STREAM.UPDATE.{BUCKET}", json.dumps(lost))
    return 0 if answer and answer.get("config", {}).get("no_ack") else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
