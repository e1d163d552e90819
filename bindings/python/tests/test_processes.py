"""What a process and its neighbours do to a file: closed standard descriptors, children, permissions, a sidecar that is
cut short, and sessions that want different things of one file."""
import os
import shutil
import signal
import stat
import subprocess
import sys
import time

import pytest

import motte


class Row(motte.Model):
    id: int = motte.field(primary_key=True)


def make(path, count=10):
    with motte.open(path, schema=[Row]) as db, db.write():
        db.add_all([Row(id=i) for i in range(count)])


def run(program, *arguments, **options):
    return subprocess.run([sys.executable, "-c", program, *map(str, arguments)], capture_output=True, text=True,
                          timeout=60, **options)


MODEL = """
import os, signal, sys, time, motte
class Row(motte.Model):
    id: int = motte.field(primary_key=True)
"""

# Everything that opens files, with some or all of the standard descriptors closed: none of the files may get one.
CLOSED = MODEL + """
report = os.dup(1)
os.set_inheritable(report, False)
for descriptor in map(int, sys.argv[2].split()):
    os.close(descriptor)
taken = set()
def look(*_):
    for descriptor in (0, 1, 2):
        try:
            taken.add(os.readlink(f"/proc/self/fd/{descriptor}"))
        except OSError:
            pass
    return True
usual = set(sys.argv[3].split("|"))
path = sys.argv[1]
db = motte.open(path, schema=[Row], compact_on_launch=look)
look()
with db.write():
    db.add(Row(id=1000))
    look()
look()
db.copy_to(path + ".copy")
look()
db.export_json(path + ".jsonl")
look()
db.verify()
look()
db.close()
os.write(report, repr(sorted(name for name in taken if os.path.dirname(path) in name)).encode())
"""


@pytest.mark.parametrize("closed", ["0 1 2", "1", "0 2"])
def test_no_file_gets_a_standard_descriptor(tmp_path, closed):
    path = str(tmp_path / "a.motte")
    make(path)
    result = run(CLOSED, path, closed, "")
    assert result.stdout == "[]", result.stderr
    with motte.open(path, schema=[Row]) as db:
        assert len(db.objects(Row)) == 11


def test_what_is_printed_stays_out_of_the_file(tmp_path):
    path = str(tmp_path / "a.motte")
    make(path)
    run("""
import os, sys, motte
for descriptor in (0, 1, 2):
    os.close(descriptor)
db = motte.open(sys.argv[1])
for descriptor in (1, 2):
    try:
        os.write(descriptor, b"printed " * 20)
    except OSError:
        pass
db.close()
""", path)
    with motte.open(path, schema=[Row]) as db:
        assert len(db.objects(Row)) == 10
        assert db.verify().problem_count == 0


CHILD = MODEL + """
db = motte.open(sys.argv[1], schema=[Row])
def in_write():
    db.write().__enter__()
    db.add(Row(id=500))
what = sys.argv[2]
if what == "written before":
    in_write()
if what == "shown":
    len(db.objects(Row))
child = os.fork()
if child == 0:
    if what == "used":
        with motte.open(sys.argv[1] + ".own", schema=[Row]) as own, own.write():
            own.add(Row(id=1))
    print(os.getpid(), flush=True)
    time.sleep(60)
    os._exit(0)
time.sleep(0.1)
if what in ("written after", "used"):
    in_write()
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("what", ["written before", "written after", "used", "shown"])
def test_a_child_keeps_nothing_of_its_dead_parent(tmp_path, what):
    path = str(tmp_path / "a.motte")
    make(path)
    parent = subprocess.Popen([sys.executable, "-c", CHILD, path, what], stdout=subprocess.PIPE, text=True)
    child = int(parent.stdout.readline())
    try:
        assert parent.wait(timeout=30) == -signal.SIGKILL
        with motte.open(path, schema=[Row]) as db:
            with db.write(timeout=10):
                db.add(Row(id=600))
            assert not [reader for reader in db.readers() if reader.process == parent.pid]
            assert len(db.objects(Row)) == 11
    finally:
        os.kill(child, signal.SIGKILL)
        parent.stdout.close()


def test_a_child_leaves_what_its_parent_is_making(tmp_path):
    """A child that is forked while its parent copies does not remove the copy, whatever it runs into."""
    path = str(tmp_path / "a.motte")
    make(path, 50_000)
    result = run(MODEL + """
import threading
db = motte.open(sys.argv[1], schema=[Row])
copying = threading.Thread(target=lambda: motte.open(sys.argv[1], schema=[Row]).copy_to(sys.argv[1] + ".copy"))
copying.start()
children = []
while copying.is_alive():
    child = os.fork()
    if child == 0:
        os._exit(0)
    children.append(child)
copying.join()
for child in children:
    os.waitpid(child, 0)
print(len(children) > 0)
""", path)
    assert result.stdout == "True\n", result.stderr
    with motte.open(path + ".copy", schema=[Row]) as db:
        assert len(db.objects(Row)) == 50_000


def test_sessions_of_a_file_have_one_durability(tmp_path):
    path = str(tmp_path / "a.motte")
    make(path)
    for first, second in [("none", "full"), ("full", "none"), ("relaxed", "full"), ("none", None), (None, "relaxed")]:
        def options(durability):
            return {} if durability is None else {"durability": durability}
        with motte.open(path, schema=[Row], **options(first)):
            with pytest.raises(motte.Error, match=f'durability "{first or "full"}"'):
                motte.open(path, schema=[Row], **options(second))
            # Who only reads flushes nothing.
            with motte.open(path, schema=[Row], read_only=True, **options(second)) as reading:
                assert len(reading.objects(Row)) == 10
            motte.open(path, schema=[Row], **options(first)).close()
        motte.open(path, schema=[Row], **options(second)).close()
    # Who came first and reads does not decide, and does not keep others from writing.
    with motte.open(path, schema=[Row], read_only=True) as reading:
        with motte.open(path, schema=[Row], durability="none") as db, db.write():
            db.add(Row(id=10))
        reading.refresh()
        assert len(reading.objects(Row)) == 11


CUT = MODEL + """
db, other = motte.open(sys.argv[1], schema=[Row]), motte.open(sys.argv[1], schema=[Row], read_only=True)
frozen = db.objects(Row).freeze()
os.truncate(sys.argv[1] + "-shared", int(sys.argv[2]))
def attempt(action):
    try:
        action()
        return "fine"
    except motte.Error as error:
        return type(error).__name__
ids = iter(range(2000, 3000))
def write():
    with db.write():
        db.add(Row(id=next(ids)))
print(attempt(lambda: len(frozen)), attempt(write), attempt(write), attempt(lambda: len(other.objects(Row))),
      attempt(lambda: db.readers()), attempt(other.close), attempt(db.close))
"""


@pytest.mark.parametrize("size", [0, 100, 5000, 65536])
def test_a_sidecar_that_is_cut_short_is_an_error(tmp_path, size):
    path = str(tmp_path / "a.motte")
    make(path)
    result = run(CUT, path, size)
    assert result.returncode == 0, (result.returncode, result.stderr)
    words = result.stdout.split()
    assert words[0] == "fine" and words[1] in ("FileMovedError", "fine") and words[2] in ("FileMovedError", "fine")
    if size == 0:
        assert words[1] == words[2] == "FileMovedError"
    with motte.open(path, schema=[Row]) as db:
        assert db.verify().problem_count == 0
        assert len(db.objects(Row)) == 10 + words[1:3].count("fine")


as_root = pytest.mark.skipif(os.getuid() != 0, reason="needs root, to be other users")


def as_user(user, group, path, writes):
    """What opening the file is to another user: "" or the name of the error."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        answer = "failed"
        try:
            os.umask(0o022)
            os.setgroups([])
            os.setgid(group)
            os.setuid(user)
            with motte.open(path, schema=[Row], read_only=not writes) as db:
                if writes:
                    with db.write():
                        db.objects(Row)
                len(db.objects(Row))
            answer = ""
        except BaseException as error:
            answer = type(error).__name__
        finally:
            os.write(writing, answer.encode())
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return answer


@as_root
@pytest.mark.parametrize("mode, writers, readers, refused", [
    (0o444, [], [65534, 65533, 65532], []),
    (0o400, [], [65534], [65533, 65532]),
    (0o600, [65534], [], [65533, 65532]),
    (0o664, [65534, 65533], [65532], []),
    (0o660, [65534, 65533], [], [65532]),
    (0o644, [65534], [65533, 65532], []),
    (0o640, [65534], [65533], [65532]),
])
def test_who_may_read_a_file_may_open_it(mode, writers, readers, refused):
    """Each after all others, twice; 65533 is of the file's group."""
    folder = os.path.realpath(subprocess.check_output(["mktemp", "-d"], text=True).strip())
    path = os.path.join(folder, "a.motte")
    try:
        make(path)
        os.remove(path + "-shared")
        os.chown(folder, 65534, 65534)
        os.chmod(folder, 0o2777)
        os.chown(path, 65534, 65534)
        os.chmod(path, mode)
        group = {65534: 65534, 65533: 65534, 65532: 65532}
        for _ in range(2):
            for user in (65534, 65533, 65532):
                if user in writers:
                    assert as_user(user, group[user], path, True) == ""
                expected = "DatabasePermissionError" if user in refused else ""
                assert as_user(user, group[user], path, False) == expected, user
    finally:
        shutil.rmtree(folder)


@as_root
def test_a_sidecar_belongs_to_whom_the_file_does(tmp_path):
    path = str(tmp_path / "a.motte")
    make(path)
    os.chown(path, 65534, 65534)
    os.chmod(path, 0o640)
    with motte.open(path):
        facts = os.stat(path + "-shared")
    assert (facts.st_uid, facts.st_gid, stat.S_IMODE(facts.st_mode)) == (65534, 65534, 0o660)


def refusals(path):
    yield lambda: motte.open(path)
    yield lambda: motte.open(path, read_only=True)
    yield lambda: motte.open(path, immutable=True)
    yield lambda: motte.salvage(path, path + ".saved")
    yield lambda: motte.compact(path)
    yield lambda: motte.delete(path)
    yield lambda: motte.open(path + ".new", seed=path)


@pytest.mark.parametrize("kind", ["fifo", "folder", "socket", "device"])
def test_what_is_no_file_is_refused_at_once(tmp_path, kind):
    path = str(tmp_path / "a.motte")
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        os.mkdir(path)
    elif kind == "socket":
        import socket
        socket.socket(socket.AF_UNIX).bind(path)
    else:
        path = "/dev/zero"
    begun = time.monotonic()
    for attempt in refusals(path):
        with pytest.raises(motte.Error):
            attempt()
    assert time.monotonic() - begun < 20


def test_a_name_without_room_for_the_sidecar_is_refused(tmp_path):
    source = str(tmp_path / "a.motte")
    make(source)
    with motte.open(source, schema=[Row]) as db:
        for count in (248, 249, 255):
            target = str(tmp_path / ("x" * count))
            if count == 248:
                db.copy_to(target)
                motte.open(target).close()
                continue
            with pytest.raises(motte.Error, match="at most 248"):
                db.copy_to(target)
            assert not os.path.exists(target)
