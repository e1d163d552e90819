"""In CI, where scripts/setup.sh has installed what tests need, a test that is skipped is one that fails, unless there
is a reason for it below."""
from __future__ import annotations

import os
from typing import Any

import pytest

#: Part of the name of a test, and why it may be skipped in CI.
JUSTIFIED = {
    "test_conformance.py::test_case": "conformance-skips.txt says what Python cannot do, case by case",
    "test_database.py::test_a_folder_without_permission": "root, as whom containers run, may write anywhere",
    "test_ten_commands.py::test_from_one_machine_to_three[names]": "namespaces may be forbidden; [addresses] runs",
}


def _judge(report: Any) -> Any:
    if os.environ.get("CI") != "true" or not report.skipped or hasattr(report, "wasxfail"):
        return report
    if any(name in report.nodeid for name in JUSTIFIED):
        return report
    where = report.longrepr
    why = where[2] if isinstance(where, tuple) else where
    report.outcome = "failed"
    report.longrepr = (f"{report.nodeid} is not skipped in CI, whatever it lacks ({why}): scripts/setup.sh installs "
                       "it, or skips.py says why not")
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Any:
    return _judge((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Any:
    return _judge((yield))
