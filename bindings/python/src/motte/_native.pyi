# The compiled module. What is in it comes from motte.h; only `_ffi.py` imports it.
from typing import Any

ffi: Any
lib: Any
