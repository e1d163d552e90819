"""Runs an example of examples/c on a new file and compares what it prints; counts the calls of the smallest one.

    examples.py NAME PROGRAM      runs it
    examples.py calls FILE        counts the calls in a source, without those that only make a value
"""
import re
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

OUTPUTS = {
    "hello": "Grace is 85\nAda is 36\n",
    "poll": "0 warm readings: 0 new, 0 gone\n2 warm readings: 2 new, 0 gone\n",
    "threads": "4 threads counted to 100\nfrozen before that: 0\nthawed: 100\n",
    "glib": "0 open\n2 open\n0 open\n",
}
#: What storing three linked objects, finding them and reading them may take.
MOST_CALLS = 15
VALUES = {"motte_" + name for name in (
    "null", "bool", "int", "float", "double", "string", "string_of", "data", "nested", "timestamp_value",
    "decimal_value", "decimal_text", "object_id_value", "uuid_value", "link")}


def web(program, path):
    def ask(body=None, method=None, where=""):
        request = urllib.request.Request(address + where, data=body, method=method)
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    with subprocess.Popen([program, path, "7"], stdout=subprocess.PIPE, text=True) as server:
        address = server.stdout.readline().strip()
        found = [ask(), ask(b"buy milk"), ask(b"call \"Ada\""), ask(), ask(b"\xff"), ask(where="x"),
                 ask(method="DELETE")]
        code = server.wait(timeout=20)
    assert code == 0, code
    expected = [(200, "[]"), (201, "{}"), (201, "{}"), (200, '[{"text":"buy milk"},{"text":"call \\"Ada\\""}]')]
    bare = [(status, re.sub(r"\s(?=[\[{}\]\"])|\s$|(?<=[,:\[])\s", "", text)) for status, text in found[:4]]
    assert bare == expected, found
    assert found[4][0] == 400 and "not valid UTF-8" in found[4][1], found[4]
    assert found[5][0] == 404 and found[6][0] == 405, found


def calls(source):
    code = re.sub(r"/\*.*?\*/|\"(?:\\.|[^\"\\])*\"", "", Path(source).read_text(), flags=re.S)
    names = [name for name in re.findall(r"\b(motte_\w+)\(", code) if name not in VALUES]
    print(f"{len(names)} calls: {', '.join(names)}")
    assert len(names) <= MOST_CALLS, len(names)


def main():
    name, program = sys.argv[1:]
    if name == "calls":
        return calls(program)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "example.motte")
        if name == "web":
            return web(program, path)
        done = subprocess.run([program, path], capture_output=True, text=True, timeout=50)
        print(done.stdout + done.stderr)
        assert done.returncode == 0 and done.stdout == OUTPUTS[name], (done.returncode, OUTPUTS[name])


if __name__ == "__main__":
    main()
