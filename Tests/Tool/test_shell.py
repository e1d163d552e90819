"""The shell, `motte FILE`: as a script drives it, and on a terminal, with line editing, history, Tab and Ctrl-C."""
from __future__ import annotations

import ctypes.util
import fcntl
import os
import pathlib
import pty
import re
import signal
import select
import stat
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator

import pytest

import motte as library
from test_tool import TOOL, motte

SCHEMA = ("Person { id: int key, name: string, age: int?, friend: link<Person> } "
          "Dog { name: string, owner: link<Person> }")
ROWS = '{"id": 1, "name": "Ada", "age": 36, "friend": 2}\n{"id": 2, "name": "Bob"}\n'


@pytest.fixture
def people(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "rows.jsonl").write_text(ROWS)
    file = tmp_path / "people.motte"
    motte("import", file, "Person", tmp_path / "rows.jsonl", "--schema", SCHEMA)
    return file


def script(file: pathlib.Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(TOOL), str(file), *options], input=text, capture_output=True, text=True, timeout=60)


# ---------------------------------------------------------------------------------------------------- scripts


def test_statements_of_a_script(people: pathlib.Path) -> None:
    done = script(people, """-- what a script may have
Person;
select name, friend.name from Person
  where age > 30
  SORT(name ASC) LIMIT(5);
select count(*) from Person; select avg(age) from Person; select max(age) from Person where id == 2;
count Person name == "a;b";
explain Person id == 1;
insert into Person {"id": 3, "name": "semi; 'colon'"};
update Person set name = "x, where; \\"y\\"", age = 5, friend = 1 where id == 3;
Person id == 3;
delete from Person where id == 3;
count Person""")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "id  name  age  friend", "1   Ada   36   2", "2   Bob", "name  friend.name", "Ada   Bob", "2", "36.0", "", "0",
        "Person: index(id == 1, 1 rows)", "Person: id == 1", "step           estimated", "index id == 1        = 1",
        "1 inserted", "1 updated", "id  name           age  friend",
        '3   x, where; "y"  5    1', "1 deleted", "2"]


def test_a_script_ends_with_its_first_mistake(people: pathlib.Path) -> None:
    done = script(people, 'insert Person {"id": 3};\nPersn;\ninsert Person {"id": 4};\n')
    assert done.returncode == 1 and done.stdout == "1 inserted\n"
    assert done.stderr == ("error: line 2: 'Persn' is no class and no statement; .schema shows the classes, .help the "
                           "statements\n")
    assert motte("query", people, "Person", "--count") == "3\n"
    for text, said in [("delete from Person;", "TRUEPREDICATE"), ("update Person set age = 1;", "TRUEPREDICATE"),
                       ("update Person age = 1;", "set property"), ("select name;", "from which class"),
                       ("select from Person;", "no column"), ("insert Person;", "insert Person what"),
                       ("update Person set age = x where id == 1;", "'x' is not int"),
                       ("select sum(age, id) from Person;", "one total at a time"), ("17;", "'17' is no class"),
                       ("= 3;", "begins with a class"),
                       (".nonsense", "no command"), (".mode xml", ".mode is"), (".limit -1", ".limit is"),
                       (".timer maybe", "on or off"), ("commit;", "write"), (".param x", ".param NAME")]:
        done = script(people, text)
        assert done.returncode == 1 and said in done.stderr, (text, done.stderr)


def test_a_transaction_of_several_statements(people: pathlib.Path) -> None:
    change = 'begin;\ninsert Person {"id": 3};\ndelete from Person where id == 1;\n'
    done = script(people, change + "count Person;\nrollback;\ncount Person;\n")
    assert done.stdout.split()[-2:] == ["2", "2"]
    # What was not committed is undone, also by a mistake behind it.
    assert script(people, change).returncode == 0
    assert script(people, change + "nonsense;\ncommit;\n").returncode == 1
    assert motte("query", people, "Person", "--count") == "2\n"
    done = script(people, "begin;\n.import Person x.csv\n")
    assert "a transaction of its own" in done.stderr and done.returncode == 1
    # A statement that fails undoes what it has done, and nothing else.
    script(people, 'begin;\ninsert Person {"id": 4};\ncommit;\n')
    assert motte("query", people, "Person", "--count") == "3\n"


def test_commands_of_the_program(people: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (tmp_path / "two words.csv").write_text("id,name\n7,Eve\n")
    (tmp_path / "cats.csv").write_text("id,name\n1,Tom\n")
    done = script(people, f""".import Person "{tmp_path}/two words.csv"
.import Cat {tmp_path}/cats.csv --key id
count Cat;
.schema Cat
.param who Eve
.param
Person name == $who;
.mode json
Cat;
.export Cat --format csv
.stats Cat --format csv
.output {tmp_path}/out.txt
count Person;
.output
.diff {people}
.help
.timer on
count Cat;
.quit
never;
""")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        "imported 1 objects of Person\nimported 1 objects of Cat\n1\nCat {\n    id: int key,\n    name: string,\n}\n\n"
        '$who Eve\nid  name  age  friend\n7   Eve\n[\n {"id":1,"name":"Tom"}\n]\nid,name\n1,Tom\n'
        "column,type,values"), done.stdout
    assert (tmp_path / "out.txt").read_text() == "3\n"
    assert "Statements end with a semicolon" in done.stdout
    assert re.fullmatch(r"\d\.\d{6} s\n", done.stderr)
    failed = script(people, ".import Person none.csv\n")
    assert failed.returncode == 1 and "cannot read 'none.csv'" in failed.stderr
    assert "Usage" in script(people, ".export --nonsense\n").stderr


def test_statements_of_the_command_line_and_of_files(people: pathlib.Path, tmp_path: pathlib.Path) -> None:
    assert motte(people, "-c", "count Person; count Person id == 1") == "2\n1\n"
    assert motte(people, "-c", "count Person", "-c", "count Person id == 1") == "2\n1\n"
    split = subprocess.run(
        [TOOL, people, "-c", "count Person id == 1", "-c", "OR id == 2", "-c", "count Person"], capture_output=True,
        text=True)
    assert split.stdout == "1\n" and split.returncode == 1, split
    (tmp_path / "one.txt").write_text("count Person;\n")
    (tmp_path / "round.txt").write_text(f".read {tmp_path}/round.txt\n")
    assert script(people, f".read {tmp_path}/one.txt\ncount Dog;\n").stdout == "2\n0\n"
    assert "is read by a file that it reads itself" in script(people, f".read {tmp_path}/round.txt\n").stderr
    assert "neither a command" in motte(tmp_path / "none.motte", expect=2)
    assert "Usage" in motte("nonsense", expect=2)
    assert "OVERVIEW" in motte()


def test_a_script_whose_output_is_full(people: pathlib.Path) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([str(TOOL), str(people)], input="count Person;\n", stdout=full, stderr=subprocess.PIPE,
                              text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr == "error: line 1: cannot write to standard output: No space left on device\n"
    done = subprocess.run(f"yes 'Person;' | head -20000 | {TOOL} {people} | head -1", shell=True, capture_output=True,
                          text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("id  name  age  friend\n", "")


def test_other_processes_are_seen(people: pathlib.Path) -> None:
    shell = subprocess.Popen([str(TOOL), str(people)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert shell.stdin and shell.stdout
    shell.stdin.write("count Person;\n")
    shell.stdin.flush()
    assert shell.stdout.readline() == "2\n"
    motte("insert", people, "Person", "id=9")
    shell.stdin.write("count Person;\n")
    shell.stdin.close()
    assert shell.stdout.readline() == "3\n"
    assert shell.wait(timeout=20) == 0


# ---------------------------------------------------------------------------------------------------- on a terminal


class Terminal:
    """A shell on a terminal of its own, whose keys are sent and whose screen is read."""

    def __init__(self, file: pathlib.Path, state: pathlib.Path, **environment: str) -> None:
        self.parent, child = pty.openpty()
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))

        def own() -> None:
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
            # What runs in the background of a script ignores Ctrl-C, which programs inherit; on a terminal none do.
            for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP):
                signal.signal(number, signal.SIG_DFL)

        self.process = subprocess.Popen(
            [str(TOOL), str(file)], stdin=child, stdout=child, stderr=child, preexec_fn=own, close_fds=True,
            env={"PATH": os.environ["PATH"], "TERM": "xterm", "LC_ALL": "C.UTF-8", "HOME": str(state),
                 "XDG_STATE_HOME": str(state / "state"), "PAGER": "cat", "NO_COLOR": "1", **environment})
        os.close(child)
        self.screen = ""

    def send(self, keys: str) -> None:
        os.write(self.parent, keys.encode())

    def expect(self, pattern: str, seconds: float = 20) -> str:
        """What is on the screen up to and with the pattern, which is then read."""
        until = time.monotonic() + seconds
        while (found := re.search(pattern, self.screen)) is None:
            assert time.monotonic() < until, f"no {pattern!r} in {self.screen!r}"
            assert self.read(), f"it ended, with {self.screen!r}"
        text = self.screen[:found.end()]
        self.screen = self.screen[found.end():]
        return text

    def seconds_of_work(self) -> float:
        """Time of the processor, so that it does not matter what else it does."""
        numbers = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(numbers[11]) + int(numbers[12])) / os.sysconf("SC_CLK_TCK")

    def read(self) -> bool:
        """False where the other end is closed."""
        if select.select([self.parent], [], [], 0.1)[0]:
            try:
                self.screen += os.read(self.parent, 1 << 16).decode(errors="replace")
            except OSError:
                return False
        return True

    def end(self) -> int:
        try:
            # One that comes before the line editor has the terminal is lost or becomes part of the line, which is then
            # cleared before the next; and who ends waits until all is read.
            for attempt in range(40):
                self.send("\x15\x04" if attempt else "\x04")
                until = time.monotonic() + 0.5
                while time.monotonic() < until:
                    if (code := self.process.poll()) is not None:
                        return code
                    self.read()
            raise AssertionError(f"Ctrl-D does not end it: {self.screen!r}")
        finally:
            self.close()

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.parent)


needs_editing = pytest.mark.skipif(ctypes.util.find_library("edit") is None, reason="libedit is not installed")


@pytest.fixture
def terminal(people: pathlib.Path, tmp_path: pathlib.Path) -> Iterator[Terminal]:
    shell = Terminal(people, tmp_path)
    shell.expect("motte> ")
    yield shell
    if shell.process.poll() is None:
        shell.close()


def test_a_statement_of_several_lines(terminal: Terminal) -> None:
    terminal.send("select name from Person\r")
    terminal.expect(r"\.\.\.> ")
    terminal.send("where id == 1;\r")
    assert "│ Ada  │" in terminal.expect("motte> ")
    terminal.send("nonsense;\r")
    assert "error: 'nonsense' is no class" in terminal.expect("motte> ")
    terminal.send("begin;\r")
    terminal.expect(r"motte\*> ")
    assert terminal.end() == 0


@needs_editing
def test_tab_completes(terminal: Terminal) -> None:
    terminal.send("sel\tname fro\tPer\twh\tfriend.na\t== 'Bob';\r")
    assert "│ Ada  │" in terminal.expect("motte> ")
    terminal.send("update Per\tset ag\t= 40 where id == 1;\r")
    assert "1 updated" in terminal.expect("motte> ")
    terminal.send(".sch\tDo\t\r")
    assert "owner: link<Person>" in terminal.expect("motte> ")
    terminal.send("Person BEG\t\x15count Do\t;\r")
    assert "\n0" in terminal.expect("motte> ")
    # Several are listed.
    terminal.send("co\t\t")
    terminal.expect(r"commit +count")
    terminal.send("\x15")
    assert terminal.end() == 0


@needs_editing
def test_history_is_kept_and_private(people: pathlib.Path, terminal: Terminal, tmp_path: pathlib.Path) -> None:
    terminal.send("count\r")
    terminal.expect(r"\.\.\.> ")
    terminal.send("Person id == 1;\r")
    terminal.expect("\n1\r\n.*motte> ")
    # What begins with a space is not kept.
    terminal.send(" count Dog;\r")
    terminal.expect("\n0\r\n.*motte> ")
    assert terminal.end() == 0
    history = tmp_path / "state" / "motte" / "history"
    assert history.read_text() == "count Person id == 1;\n"
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    assert stat.S_IMODE(history.parent.stat().st_mode) == 0o700
    again = Terminal(people, tmp_path)
    again.expect("motte> ")
    again.send("\x1b[A\r")
    again.expect("\n1\r\n.*motte> ")
    assert again.end() == 0


def test_ctrl_c_gives_a_line_up_and_not_the_shell(terminal: Terminal) -> None:
    terminal.send("select name from Person\r")
    terminal.expect(r"\.\.\.> ")
    terminal.send("where \x03")
    terminal.expect("motte> ")
    terminal.send("count Person;\r")
    terminal.expect("\n2\r\n.*motte> ")
    assert terminal.end() == 0


@pytest.mark.parametrize("library", ["", "none.so"])
def test_ctrl_c_is_never_too_early(people: pathlib.Path, tmp_path: pathlib.Path, library: str) -> None:
    # The prompt is there before the shell waits for a line.
    shell = Terminal(people, tmp_path, MOTTE_LIBEDIT=library)
    shell.expect("motte> ")
    for _ in range(200):
        shell.send("\x03")
        shell.expect("motte> ", seconds=10)
    shell.send("count Person;\r")
    shell.expect("\n2\r\n.*motte> ")
    assert shell.end() == 0


def test_ctrl_c_ends_an_import_and_not_the_shell(
        people: pathlib.Path, terminal: Terminal, tmp_path: pathlib.Path) -> None:
    source = tmp_path / "many.fifo"
    os.mkfifo(source)
    terminal.send(f".import Many {source} --format csv --batch 10 --commit-every 10\r")
    with open(source, "w") as pipe:
        pipe.write("id\n" + "".join(f"{n}\n" for n in range(300_000)))
        # The source is read before its first row is written.
    until = time.monotonic() + 20
    while not re.search(r"class +Many: [1-9]", motte("info", people)):
        assert time.monotonic() < until
    terminal.send("\x03")
    terminal.expect("interrupted\r\n.*motte> ")
    assert 0 < int(motte("query", people, "Many", "--count")) < 300_000
    terminal.send("count Person;\r")
    terminal.expect("\n2\r\n.*motte> ")
    assert terminal.end() == 0


def test_ctrl_c_ends_a_query_and_not_the_shell(terminal: Terminal, tmp_path: pathlib.Path) -> None:
    source = tmp_path / "many.csv"
    source.write_text("id,name\n" + "".join(f"{n},{'abab'[n % 4] * 180}c{n}\n" for n in range(20_000)))
    terminal.send(f".import Many {source} --format csv\r")
    terminal.expect("imported 20000 objects of Many\r\n.*motte> ")
    # A minute, if it is let.
    query = " OR ".join(f"name LIKE '*a*b*c*{number}*'" for number in range(1500))
    script = tmp_path / "long.motte"
    script.write_text(f"count Many where {query};\n")
    before = terminal.seconds_of_work()
    terminal.send(f".read {script}\r")
    until = time.monotonic() + 60
    while terminal.seconds_of_work() < before + 0.5:
        assert time.monotonic() < until, "the query did not begin"
        time.sleep(0.05)
    terminal.send("\x03")
    # The file that it is read from says so, too.
    terminal.expect("interrupted\r\nerror: .*\r\n.*motte> ")
    terminal.send("count Person;\r")
    terminal.expect("\n2\r\n.*motte> ")
    assert terminal.end() == 0


def test_a_watch_ends_with_ctrl_c(people: pathlib.Path, terminal: Terminal) -> None:
    terminal.send(".watch Person\r")
    terminal.expect("watching 2 objects")
    motte("insert", people, "Person", "id=5", "name=Eve")
    terminal.expect(r"\+ 5  Eve")
    terminal.send("\x03")
    terminal.expect("motte> ")
    terminal.send("count Person;\r")
    terminal.expect("\n3\r\n.*motte> ")
    assert terminal.end() == 0


def test_without_libedit_lines_are_read_plainly(people: pathlib.Path, tmp_path: pathlib.Path) -> None:
    shell = Terminal(people, tmp_path, MOTTE_LIBEDIT="none.so")
    assert "package libedit2" in shell.expect("motte> ")
    shell.send("count Person;\n")
    shell.expect("\n2\r\n.*motte> ")
    shell.send("Per\x03")
    shell.expect("motte> ")
    assert shell.end() == 0


def test_long_output_goes_through_the_pager(people: pathlib.Path, tmp_path: pathlib.Path) -> None:
    shell = Terminal(people, tmp_path, PAGER="sed 's/^/paged /'")
    shell.expect("motte> ")
    shell.send("Person;\r")
    assert "paged │  1 │ Ada" in shell.expect("motte> ")
    # One that reads only the beginning leaves the shell as it is.
    shell.send(".pager head -1\r")
    shell.expect("motte> ")
    shell.send("Person;\r")
    assert "Ada" not in shell.expect("motte> ")
    shell.send(".pager off\rcount Person;\r")
    shell.expect("\n2\r\n.*motte> ")
    assert shell.end() == 0


def test_ctrl_c_is_the_pagers_while_it_shows_something(people: pathlib.Path, tmp_path: pathlib.Path) -> None:
    # It answers Ctrl-C itself, as less does, and SIGPIPE ends what it runs, as anywhere.
    pager = tmp_path / "pager"
    # Python counts every one, where bash loses those that come while its trap runs.
    pager.write_text("#!/bin/bash\ncat > /dev/null\n(yes; echo $? >&2) | head -1 > /dev/null\n"
                     f"exec {sys.executable} -u {tmp_path}/caught.py\n")
    (tmp_path / "caught.py").write_text(
        "import signal, time\ncaught = 0\n\ndef catch(*_):\n    global caught\n    caught += 1\n    print('caught')\n\n"
        "signal.signal(signal.SIGINT, catch)\nprint('shown')\nwhile caught < 3:\n    time.sleep(0.1)\nprint('over')\n")
    pager.chmod(0o755)
    shell = Terminal(people, tmp_path, PAGER=str(pager))
    shell.expect("motte> ")
    shell.send("Person;\r")
    shell.expect("141\r\n")
    shell.expect("shown\r\n")
    for _ in range(3):
        shell.send("\x03")
        shell.expect("caught\r\n")
    shell.expect("over\r\n.*motte> ")
    assert shell.end() == 0


@needs_editing
@pytest.mark.parametrize("locale", ["C.UTF-8", "C", "", "xx_YY.UTF-8"])
def test_letters_beyond_ascii_are_edited(people: pathlib.Path, tmp_path: pathlib.Path, locale: str) -> None:
    motte("insert", people, "Person", "id=3", "name=äö日")
    shell = Terminal(people, tmp_path, LC_ALL=locale)
    shell.expect("motte> ")
    shell.send("select id from Person where name == 'äöü\x7f日';\r")
    assert "│  3 │" in shell.expect("motte> $")
    assert shell.end() == 0


@needs_editing
def test_ctrl_d_ends_the_shell_also_when_it_comes_early(people: pathlib.Path, tmp_path: pathlib.Path) -> None:
    shell = Terminal(people, tmp_path, PAGER="sleep 1; cat")
    shell.expect("motte> ")
    shell.send("Person;\r")
    shell.expect("Person;\r\n")
    time.sleep(0.5)
    # Lines come first that were typed before it.
    shell.send("count Dog;\n\x04")
    until = time.monotonic() + 20
    while shell.read() and time.monotonic() < until:
        pass
    assert shell.process.wait(20) == 0 and re.search(r"Ada(.|\n)*\n0\r\n", shell.screen), shell.screen
    shell.close()


def test_a_file_gets_what_is_printed_and_no_prompts(people: pathlib.Path, tmp_path: pathlib.Path) -> None:
    for environment in ({}, {"MOTTE_LIBEDIT": "none.so"}):
        shell = Terminal(people, tmp_path, **environment)
        shell.expect("motte> ")
        shell.send(f".output {tmp_path}/out.txt\r")
        shell.expect("motte> ")
        shell.send("count Person;\r")
        shell.expect("motte> ")
        shell.send(".stats Person\r")
        shell.expect("motte> ")
        assert shell.end() == 0
        text = (tmp_path / "out.txt").read_text()
        assert text.startswith("2\ncolumn") and "motte>" not in text


def test_a_history_that_cannot_be_written_is_none(people: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (tmp_path / "no-folder").write_text("")
    shell = Terminal(people, tmp_path, XDG_STATE_HOME=str(tmp_path / "no-folder"))
    shell.expect("motte> ")
    shell.send("count Person;\r")
    shell.expect("\n2\r\n.*motte> ")
    assert shell.end() == 0


@needs_editing
def test_other_signals_end_nothing(terminal: Terminal) -> None:
    # Nobody can bring back what Ctrl-Z would stop here, so that it is passed over.
    terminal.send("count \x1a")
    time.sleep(0.3)
    fcntl.ioctl(terminal.parent, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
    time.sleep(0.3)
    terminal.send("\x15count Person name == '" + "x" * 10_000 + "';\r")
    terminal.expect("\n0\r\n.*motte> ")
    assert terminal.end() == 0


def test_a_text_in_quotes_is_that_text(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "texts.motte"
    with library.open(file, schema="P { id: int key, s: string?, m: mixed, at: timestamp?, n: int }") as db, db.write():
        db.add(db.model("P")(id=1))
    for given, s, m in (('"null"', "null", "null"), ("null", None, None), ('"5"', "5", "5"), ("5", "5", 5),
                        ("'[1]'", "[1]", "[1]"), ('"json:[1]"', "json:[1]", "json:[1]"), ("string:a", "a", "a"),
                        ('"string:a"', "string:a", "string:a"), ('"a \\"b\\""', 'a "b"', 'a "b"')):
        done = script(file, f"update P set s = {given}, m = {given} where TRUEPREDICATE\n")
        assert done.returncode == 0, done.stderr
        with library.open(file) as db:
            found = db.get("P", 1)
            assert (found.s, found.m) == (s, m) and type(found.m) is type(m), given
    for wrong in ('s = "a" n = "7"', 'n = "null"'):
        refused = script(file, f"update P set {wrong} where TRUEPREDICATE\n")
        assert refused.returncode != 0 and "updated" not in refused.stdout, wrong
    assert script(file, 'update P set at = "2020-01-01T00:00:00Z", n = "7" where id == 1\n').returncode == 0
    with library.open(file) as db:
        assert db.get("P", 1).at.year == 2020 and db.get("P", 1).n == 7
