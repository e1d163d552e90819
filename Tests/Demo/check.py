"""Recomputes every number that the last `make demo` printed, from the CSV files and without Motte."""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples" / "demo"))

import oracle  # noqa: E402

sys.argv[1:] = ["--report", str(ROOT / "build" / "demo" / "report.json")]
oracle.main()
