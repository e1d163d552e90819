"""The runner of stages behind `make test` and `make check` (scripts/lanes.sh), with stages that take no time."""
from __future__ import annotations

import pathlib
import signal
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

PLAN = """
set -uo pipefail
logs={logs} python={python}
plan=("first:1::begins" "after:1:first:has a: colon" "beside:1::runs beside the first" "last:1:after,beside:ends")
stage_first() {{ sleep 0.4; echo "3 passed, 0 failed"; date +%s%N > {logs}/first.end; }}
stage_after() {{ date +%s%N > {logs}/after.begin; false; echo "not reached"; }}
stage_beside() {{ date +%s%N > {logs}/beside.begin; echo "note: of the stage beside"; }}
stage_last() {{ echo "the last"; }}
. {root}/scripts/lanes.sh
run_stages {wanted}
"""


def run(folder: pathlib.Path, wanted: str, **environment: str) -> subprocess.CompletedProcess[str]:
    script = PLAN.format(logs=folder, python=sys.executable, root=ROOT, wanted=wanted)
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60,
                          env={"PATH": "/usr/local/bin:/usr/bin:/bin", **environment})


def moment(folder: pathlib.Path, name: str) -> int:
    return int((folder / name).read_text())


def test_a_failure_stops_no_other_stage_and_decides_the_exit_code(tmp_path: pathlib.Path) -> None:
    done = run(tmp_path, "first after beside last")
    assert done.returncode == 1, done.stderr
    assert done.stdout.splitlines()[-1] == "5 passed, 1 failed"
    assert f"FAILED: after (log in {tmp_path}/after.log)" in done.stdout
    assert "not reached" not in done.stdout
    assert "note: of the stage beside" in done.stdout
    assert "the last" in (tmp_path / "last.log").read_text()
    assert done.stderr == ""


def test_stages_run_beside_each_other_and_after_what_they_need(tmp_path: pathlib.Path) -> None:
    done = run(tmp_path, "first after beside last", MOTTE_LANES="2")
    assert moment(tmp_path, "beside.begin") < moment(tmp_path, "first.end")
    assert moment(tmp_path, "after.begin") > moment(tmp_path, "first.end")
    begun = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("=== ")]
    assert begun.index("last:") > max(begun.index("after:"), begun.index("beside:"))


def test_one_lane_runs_one_stage_at_a_time(tmp_path: pathlib.Path) -> None:
    run(tmp_path, "first after beside last", MOTTE_LANES="1")
    assert moment(tmp_path, "beside.begin") > moment(tmp_path, "first.end")


def test_single_stages_run_without_what_they_need(tmp_path: pathlib.Path) -> None:
    done = run(tmp_path, "last")
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "1 passed, 0 failed"
    assert "=== last: ends" in done.stdout


@pytest.mark.parametrize("lanes", ["0", "two", "-1", "1.5"])
def test_a_number_of_lanes_that_is_none_is_said(tmp_path: pathlib.Path, lanes: str) -> None:
    done = run(tmp_path, "first", MOTTE_LANES=lanes)
    assert done.returncode == 2
    assert done.stderr == f"MOTTE_LANES is '{lanes}'; it is a number from 1 on\n"


def test_output_is_shown_while_it_runs(tmp_path: pathlib.Path) -> None:
    done = run(tmp_path, "last after", V="1")
    assert done.returncode == 1
    assert "[last] the last" in done.stdout
    assert "the last" in (tmp_path / "last.log").read_text()


def test_each_stage_prints_its_minutes(tmp_path: pathlib.Path) -> None:
    lines = run(tmp_path, "first").stdout.splitlines()
    report = [line.split() for line in lines if line.strip().startswith("first ")]
    assert len(report) == 2
    assert report[0][1:9] == ["0.0", "min", "of", "1", "0.0", "of", "processors", "3"]


def test_a_stage_that_there_is_not_is_said(tmp_path: pathlib.Path) -> None:
    done = run(tmp_path, "first firs")
    assert done.returncode == 2
    assert "no stage 'firs'; there are: first after beside last" in done.stderr
    assert not (tmp_path / "first.log").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_ending_the_runner_ends_its_stages(tmp_path: pathlib.Path, number: signal.Signals) -> None:
    script = PLAN.format(logs=tmp_path, python=sys.executable, root=ROOT, wanted="first").replace(
        "sleep 0.4", f"echo $BASHPID > {tmp_path}/started; sleep 47.11; touch {tmp_path}/survived")
    # Whatever those who run the tests ignore.
    runner = subprocess.Popen(["env", "--default-signal=HUP,INT,TERM", "bash", "-c", script],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        while not (tmp_path / "started").exists() or not (tmp_path / "started").read_text().strip():
            assert runner.poll() is None
            time.sleep(0.02)
        stage = int((tmp_path / "started").read_text())
        runner.send_signal(number)
        assert runner.wait(20) == 130
        deadline = time.monotonic() + 10
        while pathlib.Path(f"/proc/{stage}/stat").exists():
            assert time.monotonic() < deadline, "the stage outlives its runner"
            time.sleep(0.02)
    finally:
        runner.kill()
        runner.communicate()
