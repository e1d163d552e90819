"""Runs in a fresh environment that holds nothing but the wheel and what it asks for; argument: a folder to write in."""
import pathlib
import re
import shutil
import subprocess
import sys

import motte


class Person(motte.Model):
    id: int = motte.field(primary_key=True)
    name: str | None


path = pathlib.Path(sys.argv[1]) / "wheel.motte"
with motte.open(path, schema=[Person]) as db:
    with db.write():
        db.add(Person(id=1, name="Ada"))
    people = db.objects(Person)
    assert len(people) == 1 and people[0].name == "Ada"
# Compiled files look for libraries beside themselves, if anywhere: not where the Python lies that they were built with.
if shutil.which("readelf"):
    for file in pathlib.Path(motte.__file__).parent.glob("*.so*"):
        read = subprocess.run(["readelf", "-d", file], capture_output=True, text=True, check=True).stdout
        folders = re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", read)
        assert set(folders) <= {"$ORIGIN"}, f"{file.name} looks for libraries in {folders}"
print("motte", motte.__version__, "from", motte.__file__)
