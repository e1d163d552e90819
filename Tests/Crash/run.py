"""Crash tests over the shipped library: kill -9 at random moments, and the order of writes and flushes.

    python3 Tests/Crash/run.py            MOTTE_TEST_SCALE, MOTTE_TEST_SEED: see docs/testing.md

Compiles its three C programs with the machine's compiler. The last line is "N passed, N failed".
"""
import os
import pathlib
import random
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LIBRARY = ROOT / "build" / "library"
SCALE = float(os.environ.get("MOTTE_TEST_SCALE", "1"))
SEED = int(os.environ.get("MOTTE_TEST_SEED", str(random.SystemRandom().randrange(1 << 32))))
chance = random.Random(SEED)


class Failure(Exception):
    pass


def compile_programs(folder):
    common = ["gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-g", f"-I{ROOT / 'include'}"]
    for name in ("writer", "verify"):
        subprocess.run(
            [*common, HERE / f"{name}.c", "-o", folder / name, LIBRARY / "libmotte.so", f"-Wl,-rpath,{LIBRARY}"],
            check=True)
    subprocess.run([*common, "-shared", "-fPIC", HERE / "flush_trace.c", "-o", folder / "flush_trace.so", "-ldl"],
                   check=True)


def verify(folder, file, at_least):
    """The round that the file shows; fails when it is damaged or below what was acknowledged."""
    result = subprocess.run([folder / "verify", file, str(at_least)], capture_output=True, text=True, timeout=60)
    if result.returncode != 0:
        raise Failure(f"after round {at_least} was acknowledged: exit {result.returncode}: {result.stderr.strip()}")
    return int(result.stdout)


def start_writer(folder, file):
    # Unbuffered: what one call has read must not be missing for the next.
    return subprocess.Popen([folder / "writer", file, "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)


def acknowledged(text, before):
    """The last complete line a writer printed."""
    lines = [line for line in text.split("\n")[:-1] if line]
    for line in lines:
        if not line.isdigit():
            raise Failure(f"a writer said: {line}")
    return int(lines[-1]) if lines else before


# ------------------------------------------------------------------------------------------------ kill -9


def killed_writers_lose_nothing(folder):
    """A writer is killed at a random moment, a hundred times on one file."""
    file = folder / "killed.motte"
    last, kills, in_flight = 0, max(3, round(100 * SCALE)), 0
    for _ in range(kills):
        writer = start_writer(folder, file)
        # Some are killed while they open the file, most while they write.
        if chance.random() < 0.9:
            first = writer.stdout.readline().decode()
            if not first.strip().isdigit():
                raise Failure(f"the writer could not start: {first}{writer.stderr.read().decode()}")
        else:
            first = ""
        time.sleep(chance.random() * chance.choice([0.001, 0.01, 0.05]))
        writer.send_signal(signal.SIGKILL)
        out, error = writer.communicate()
        if writer.returncode != -signal.SIGKILL:
            raise Failure(f"the writer ended by itself with {writer.returncode}: {error.decode()}")
        last = acknowledged(first + out.decode(), last)
        shown = verify(folder, file, last)
        if shown > last + 1:
            raise Failure(f"round {shown} is there, {last} was the last acknowledged")
        in_flight += shown == last + 1
        last = shown
    try:
        verify(folder, file, last + 1)
    except Failure:
        pass
    else:
        raise Failure("the check does not notice a lost round")
    return f"{kills} kills, {last} rounds, {in_flight} times a commit in flight was found whole"


def a_killed_writer_stops_nobody(folder):
    """Two processes write in turns; one is killed, the other goes on."""
    file = folder / "turns.motte"
    rounds = max(2, round(10 * SCALE))
    for _ in range(rounds):
        writers = [start_writer(folder, file) for _ in range(2)]
        try:
            for writer in writers:
                if not writer.stdout.readline():
                    raise Failure("a writer could not start")
            time.sleep(chance.random() * 0.05)
            writers[0].kill()
            writers[0].wait()
            # What it had printed so far is read away; after that a new line must come.
            while select.select([writers[1].stdout], [], [], 0)[0] and os.read(writers[1].stdout.fileno(), 1 << 20):
                pass
            if not select.select([writers[1].stdout], [], [], 20)[0]:
                raise Failure("the other writer stopped for 20 seconds after one was killed")
        finally:
            for writer in writers:
                writer.kill()
                writer.communicate()
        verify(folder, file, 0)
    return f"{rounds} times"


# ------------------------------------------------------------------------------------------------ flushes


def traced(folder, name, rounds, durability="full", fail=None):
    """Runs a writer under the trace; returns the log and what it printed."""
    file, log = folder / f"{name}.motte", folder / f"{name}.log"
    environment = dict(os.environ, LD_PRELOAD=str(folder / "flush_trace.so"), MOTTE_FLUSH_LOG=str(log),
                       MOTTE_FLUSH_FILE=f"/{name}.motte")
    if fail:
        environment["MOTTE_FLUSH_FAIL"] = fail
    result = subprocess.run([folder / "writer", file, str(rounds), durability], env=environment, capture_output=True,
                            text=True, timeout=120)
    if result.returncode != 0:
        raise Failure(f"the writer ended with {result.returncode}: {result.stderr}")
    return log.read_text().splitlines(), result.stdout.split("\n")[:-1]


def unflushed_commits(log):
    """Acknowledged rounds of which some write had no successful flush after it. Also checks that the trace sees all."""
    bad, pending, writes, commits = [], 0, 0, 0
    for line in log:
        operation, *rest = line.split()
        if operation == "map":
            raise Failure("the file is mapped for writing, its writes cannot be traced")
        if operation == "write":
            pending += 1
            writes += 1
        elif operation == "syncwrite":
            # It makes the version visible: everything before it has to be on disk already.
            writes += 1
            if pending:
                bad.append("a page that makes a version visible")
        elif operation == "flush" and rest == ["0"]:
            pending = 0
        elif operation == "say" and rest[0].isdigit():
            commits += 1
            if writes == 0:
                raise Failure(f"round {rest[0]} was acknowledged without any write that the trace can see")
            if pending:
                bad.append(f"round {rest[0]}")
            pending = writes = 0
    if commits == 0:
        raise Failure("nothing was acknowledged")
    return bad, commits


def every_commit_is_flushed(folder):
    """Before a commit is acknowledged, a successful flush followed its last write."""
    log, _ = traced(folder, "flushed", max(20, round(50 * SCALE)))
    bad, commits = unflushed_commits(log)
    if bad:
        raise Failure(f"without a flush: {', '.join(bad[:5])}")
    return f"{commits} commits, {sum(line.startswith('flush') for line in log)} flushes"


def the_trace_notices_missing_flushes(folder):
    """With durability switched off the same check must fail, or it proves nothing."""
    log, _ = traced(folder, "relaxed", 20, durability="none")
    bad, commits = unflushed_commits(log)
    if not bad:
        raise Failure("durability is off and no commit was found without a flush")
    return f"{len(bad)} findings in {commits} commits"


def a_failing_flush_is_reported(folder):
    """When a flush or the write that makes a version visible fails, the commit says so and is not acknowledged."""
    log, _ = traced(folder, "counted", 10)
    seen = {operation: sum(line.startswith(operation + " ") for line in log)
            for operation in ("flush", "syncwrite", "write")}
    tried = 0
    for operation, count in seen.items():
        # Towards the end of the run, well after the file was made.
        for number in {count, max(1, count - 1)} if count else ():
            name = f"failing-{operation}-{number}"
            log, said = traced(folder, name, 10, fail=f"{operation} {number}")
            if not any(line.split()[-1] == "-1" for line in log):
                raise Failure(f"{operation} {number} was not reached again")
            if not said or not said[-1].startswith("failed MOTTE_E_"):
                raise Failure(f"{operation} {number} failed, the writer said {said[-1:]}")
            last = acknowledged("".join(f"{line}\n" for line in said[:-1]), 0)
            shown = verify(folder, folder / f"{name}.motte", last)
            if shown > last + 1:
                raise Failure(f"round {shown} is there, {last} was acknowledged")
            tried += 1
    if tried == 0:
        raise Failure("there was nothing to let fail")
    return f"{tried} failures"


# ------------------------------------------------------------------------------------------------ running


def main():
    print(f"seed {SEED}, scale {SCALE}")
    tests = [killed_writers_lose_nothing, a_killed_writer_stops_nobody, every_commit_is_flushed,
             the_trace_notices_missing_flushes, a_failing_flush_is_reported]
    folder = pathlib.Path(tempfile.mkdtemp(prefix="motte-crash-"))
    failed = 0
    try:
        compile_programs(folder)
        for test in tests:
            name = test.__name__.replace("_", " ")
            began = time.monotonic()
            try:
                print(f"{name}: {test(folder)} ({time.monotonic() - began:.1f} s)", flush=True)
            except (Failure, subprocess.TimeoutExpired) as problem:
                failed += 1
                print(f"{name}: FAILED: {problem}", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{len(tests) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
