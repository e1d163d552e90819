"""Crash tests over the shipped library: kill -9 at random moments, and the order of writes and flushes.

    python3 Tests/Crash/run.py            MOTTE_TEST_SCALE, MOTTE_TEST_SEED: see docs/testing.md

Compiles its C programs with the machine's compiler. The last line is "N passed, N failed".
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
# Of killing, at scale 1: of programs that are started again, and of processes that are only forked.
CYCLES = 40
NEW_FILES = 20
# What makes a file of each form: without a WAL, and with one from the first commit on, which is full after a few.
FORMS = {"file": {"MOTTE_WAL_PAGES": "0"}, "with a WAL": {"MOTTE_WAL_PAGES": "12"}}
QUICK_CYCLES = 200
STOP_CYCLES = 250
FORKS = 400


class Failure(Exception):
    pass


def compile_programs(folder):
    common = ["gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-g", f"-I{ROOT / 'include'}"]
    for name in ("writer", "verify", "killloop", "stops", "forks"):
        subprocess.run(
            [*common, HERE / f"{name}.c", "-o", folder / name, LIBRARY / "libmotte.so", "-pthread",
             f"-Wl,-rpath,{LIBRARY}"],
            check=True)
    subprocess.run([*common, "-shared", "-fPIC", HERE / "flush_trace.c", "-o", folder / "flush_trace.so", "-ldl"],
                   check=True)


def verify(folder, file, at_least):
    """The round that the file shows; fails when it is damaged or below what was acknowledged."""
    result = subprocess.run([folder / "verify", file, str(at_least)], capture_output=True, text=True, timeout=60)
    if result.returncode != 0:
        raise Failure(f"after round {at_least} was acknowledged: exit {result.returncode}: {result.stderr.strip()}")
    return int(result.stdout)


def start(program, file, argument, environment=None):
    # Unbuffered: what one call has read must not be missing for the next.
    return subprocess.Popen([program, file, argument], stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
                            env=environment)


def start_writer(folder, file):
    return start(folder / "writer", file, "0")


def acknowledged(text, before):
    """The last complete line a writer printed."""
    lines = [line for line in text.split("\n")[:-1] if line]
    for line in lines:
        if not line.isdigit():
            raise Failure(f"a writer said: {line}")
    return int(lines[-1]) if lines else before


# ------------------------------------------------------------------------------------------------ kill -9


class Running:
    """A writer or a watching reader, and the last round it printed."""

    def __init__(self, folder, file, kind, environment=None):
        self.kind, self.said, self.rest = kind, 0, ""
        program, argument = ("writer", "0") if kind == "writer" else ("verify", "watch")
        self.process = start(folder / program, file, argument, environment)

    def wait_for_line(self):
        line = self.process.stdout.readline().decode()
        if not line.strip().isdigit():
            raise Failure(f"the {self.kind} could not start: {line}{self.process.stderr.read().decode()}")
        self.said = int(line)

    def read(self):
        """What it has printed so far."""
        while select.select([self.process.stdout], [], [], 0)[0]:
            part = os.read(self.process.stdout.fileno(), 1 << 20)
            if not part:
                break
            self.take(part.decode())
        return self.said

    def take(self, text):
        self.rest += text
        self.said = acknowledged(self.rest, self.said)
        self.rest = self.rest[self.rest.rfind("\n") + 1:]

    def kill(self):
        self.process.send_signal(signal.SIGKILL)

    def finish(self):
        out, error = self.process.communicate()
        if self.process.returncode != -signal.SIGKILL:
            raise Failure(f"the {self.kind} ended by itself with {self.process.returncode}: {error.decode()}")
        self.take(out.decode())
        return self.said


def killed_processes_lose_nothing(folder, form):
    """Many cycles of killing on one file."""
    cycles = max(3, round(CYCLES * SCALE))
    killed, last, in_flight = kill_on(folder, folder / f"killed-{form}.motte", cycles)
    return f"{cycles} cycles, {killed} kills, {last} rounds, {in_flight} times a commit in flight was found whole"


def killed_processes_lose_nothing_of_new_files(folder, form):
    """A few cycles on each of many files: while a file is made, and as long as its first version is still in it."""
    files, killed = max(3, round(NEW_FILES * SCALE)), 0
    for number in range(files):
        killed += kill_on(folder, folder / f"new-{form}-{number}.motte", 3)[0]
    return f"{3 * files} cycles, {killed} kills, {files} new files"


def kill_on(folder, file, cycles):
    """In each cycle a writer is killed at a random moment on the same file, while another process writes or reads; in
    half of them that one dies too, in the others it goes on, for some cycles."""
    last, in_flight, killed = 0, 0, 0
    other = None
    try:
        for _ in range(cycles):
            if other is None:
                other = Running(folder, file, chance.choice(["writer", "reader"]))
            victim = Running(folder, file, "writer")
            # Some are killed while they open the file, most while they write.
            if chance.random() < 0.9:
                victim.wait_for_line()
            time.sleep(chance.random() * chance.choice([0.001, 0.01, 0.05]))
            both = chance.random() < 0.5
            victims = [victim, other] if both else [victim]
            for process in chance.sample(victims, len(victims)):
                process.kill()
                killed += 1
            notified = [process.finish() for process in victims]
            if not both:
                notified.append(other.read())
                if other.process.poll() is not None:
                    other.finish()
            last = max([last, *notified])
            shown = verify(folder, file, last)
            # Each of the dead may have had one commit that it could not print any more.
            if both and shown > last + 2:
                raise Failure(f"round {shown} is there, {last} was the last acknowledged")
            in_flight += both and shown > last
            if both:
                last, other = shown, None
    finally:
        if other is not None:
            other.kill()
            other.process.communicate()
    last = verify(folder, file, last)
    try:
        verify(folder, file, last + 1)
    except Failure:
        pass
    else:
        raise Failure("the check does not notice a lost round")
    return killed, last, in_flight


def killed_writers_and_observers_leave_nothing_behind(folder, form):
    """In each cycle some of two writers and two observers are killed; the rest goes on, is notified and sound."""
    cycles = max(5, round(QUICK_CYCLES * SCALE))
    result = subprocess.run(
        [folder / "killloop", folder / f"loop-{form}.motte", str(cycles), str(chance.randrange(1, 1 << 60))],
        capture_output=True, text=True, timeout=60 + cycles)
    if result.returncode != 0:
        raise Failure(f"exit {result.returncode}: {result.stderr.strip()}")
    return result.stdout.strip()


def processes_stopped_or_killed_between_any_two_calls_stop_nobody(folder, form):
    """Opening, writing and closing is interrupted between two system calls, any two, while others do the same."""
    cycles = max(20, round(STOP_CYCLES * SCALE))
    seed = chance.randrange(1, 1 << 60)
    return output_of([folder / "stops", folder / f"stops-{form}.motte", str(cycles), str(seed)], cycles)


def children_forked_while_others_open_and_close_can_open(folder, form):
    """Threads open and close files while the process forks; each child opens files, and ends."""
    forks = max(50, round(FORKS * SCALE))
    seed = chance.randrange(1, 1 << 60)
    return output_of([folder / "forks", folder / f"forks-{form}.motte", str(forks), str(seed)], forks)


def output_of(command, seconds):
    result = subprocess.run(command, capture_output=True, text=True, timeout=120 + seconds)
    if result.returncode != 0:
        raise Failure(f"{' '.join(map(str, command[2:]))}: exit {result.returncode}: {result.stderr.strip()}")
    return result.stdout.strip()


def a_killed_writer_stops_nobody(folder, form):
    """Two processes write in turns; one is killed, the other goes on."""
    file = folder / f"turns-{form}.motte"
    rounds = max(2, round(10 * SCALE))
    for _ in range(rounds):
        writers = [start_writer(folder, file) for _ in range(2)]
        try:
            for writer in writers:
                if not writer.stdout.readline():
                    raise Failure(f"a writer could not start: {writer.stderr.read().decode()}")
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


def a_writer_killed_behind_any_call_stops_nobody(folder, form):
    """A writer is killed behind each of the calls of some commits, while another one writes, which goes on."""
    log, _ = traced(folder, f"calls-{form}", 8)
    seen = {operation: sum(line.startswith(operation + " ") for line in log)
            for operation in ("flush", "syncwrite", "write")}
    tried = 0
    for operation, count in seen.items():
        for number in range(max(1, count - 7), count + 1):
            file = folder / f"behind-{form}-{operation}-{number}.motte"
            other = Running(folder, file, "writer")
            try:
                other.wait_for_line()
                victim = Running(folder, file, "writer", trace_environment(folder, file, kill=f"{operation} {number}"))
                victim.process.wait(timeout=60)
                notified = max(victim.finish(), other.read())
                if not select.select([other.process.stdout], [], [], 20)[0]:
                    raise Failure(f"the other writer stopped for 20 seconds, {operation} {number}")
                time.sleep(0.005)
                notified = max(notified, other.read())
            finally:
                other.kill()
                last = other.finish()
            verify(folder, file, max(notified, last))
            tried += 1
    return f"{tried} calls"


# ------------------------------------------------------------------------------------------------ flushes


def trace_environment(folder, file, fail=None, kill=None):
    environment = dict(os.environ, LD_PRELOAD=str(folder / "flush_trace.so"), MOTTE_FLUSH_FILE=f"/{file.name}",
                       MOTTE_FLUSH_LOG=str(file.with_suffix(".log")))
    if fail:
        environment["MOTTE_FLUSH_FAIL"] = fail
    if kill:
        environment["MOTTE_FLUSH_KILL"] = kill
    return environment


def traced(folder, name, rounds, durability="full", fail=None):
    """Runs a writer under the trace; returns the log and what it printed."""
    file, log = folder / f"{name}.motte", folder / f"{name}.log"
    environment = trace_environment(folder, file, fail)
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


def every_commit_is_flushed(folder, form):
    """Before a commit is acknowledged, a successful flush followed its last write."""
    log, _ = traced(folder, f"flushed-{form}", max(20, round(50 * SCALE)))
    bad, commits = unflushed_commits(log)
    if bad:
        raise Failure(f"without a flush: {', '.join(bad[:5])}")
    return f"{commits} commits, {sum(line.startswith('flush') for line in log)} flushes"


def a_new_file_is_there_to_stay(folder, form):
    """What is in a new file is flushed before it gets its name, and that before opening returns; scratch data not."""
    for durability in ("full", "relaxed", "none"):
        log, _ = traced(folder, f"new-{form}-{durability}", 1, durability)
        log = log[:next(number for number, line in enumerate(log) if line.startswith("say "))]
        named = log.index("name") if "name" in log else -1
        is_named = "flushdir" in log[named + 1:]
        is_whole = "flushnew" in log[:named]
        if named < 0:
            raise Failure(f"the trace does not see the name of a new file, {durability}: {log}")
        if (is_named, is_whole) != (True, True) if durability != "none" else is_named:
            raise Failure(f"{durability}: name flushed: {is_named}, contents flushed before: {is_whole}")
    return "full, relaxed and none"


def the_trace_notices_missing_flushes(folder, form):
    """With durability switched off the same check must fail, or it proves nothing."""
    log, _ = traced(folder, f"relaxed-{form}", 20, durability="none")
    bad, commits = unflushed_commits(log)
    if not bad:
        raise Failure("durability is off and no commit was found without a flush")
    return f"{len(bad)} findings in {commits} commits"


def a_failing_flush_is_reported(folder, form):
    """When a flush or the write that makes a version visible fails, the commit says so and is not acknowledged."""
    log, _ = traced(folder, f"counted-{form}", 10)
    # Closing may write once more; nobody waits for that.
    while log and not log[-1].startswith("say "):
        log.pop()
    seen = {operation: sum(line.startswith(operation + " ") for line in log)
            for operation in ("flush", "syncwrite", "write")}
    tried = 0
    for operation, count in seen.items():
        # Towards the end of the run, well after the file was made.
        for number in {count, max(1, count - 1)} if count else ():
            name = f"failing-{form}-{operation}-{number}"
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
    tests = [killed_processes_lose_nothing, killed_processes_lose_nothing_of_new_files,
             killed_writers_and_observers_leave_nothing_behind, a_killed_writer_stops_nobody,
             a_writer_killed_behind_any_call_stops_nobody,
             processes_stopped_or_killed_between_any_two_calls_stop_nobody,
             children_forked_while_others_open_and_close_can_open, a_new_file_is_there_to_stay, every_commit_is_flushed,
             the_trace_notices_missing_flushes, a_failing_flush_is_reported]
    # Files are made in every form.
    runs = [(form, test) for form in FORMS for test in tests]
    folder = pathlib.Path(tempfile.mkdtemp(prefix="motte-crash-"))
    failed = 0
    try:
        compile_programs(folder)
        for form, test in runs:
            os.environ.update(FORMS[form])
            name = f"{form}: " + test.__name__.replace("_", " ")
            began = time.monotonic()
            try:
                print(f"{name}: {test(folder, form)} ({time.monotonic() - began:.1f} s)", flush=True)
            except (Failure, subprocess.TimeoutExpired) as problem:
                failed += 1
                print(f"{name}: FAILED: {problem}", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{len(runs) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
