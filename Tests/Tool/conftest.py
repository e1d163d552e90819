"""No test leaves a process of the tool behind."""
from __future__ import annotations

from collections.abc import Iterator

import pytest
import running


@pytest.fixture(autouse=True)
def nothing_is_left_running() -> Iterator[None]:
    yield
    running.end_all()
