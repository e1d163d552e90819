"""The seed of random tests: MOTTE_TEST_SEED, or a new one; it is printed, so that a failure can be repeated."""
from __future__ import annotations

import os
import random


def seeded() -> int:
    seed = int(os.environ.get("MOTTE_TEST_SEED") or random.SystemRandom().randrange(2**32))
    print(f"MOTTE_TEST_SEED={seed}")
    return seed
