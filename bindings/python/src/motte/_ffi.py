"""The loaded library: `ffi` and the only `lib` of the package. What is declared comes from motte.h (see _build.py)."""
from typing import Any

from ._native import ffi, lib

__all__ = ["ffi", "lib", "sized", "text", "version"]

NULL: Any = ffi.NULL


def text(pointer: Any) -> str:
    """A terminated text of the library."""
    return str(ffi.string(pointer).decode("utf-8", "replace")) if pointer != NULL else ""


def sized(kind: str) -> Any:
    """A struct that knows its size."""
    details = ffi.new(kind + " *")
    details.struct_size = ffi.sizeof(kind)
    return details


def version() -> str:
    """Release of the loaded library."""
    return text(lib.motte_version_string())


if lib.motte_check_abi(lib.MOTTE_ABI_VERSION, lib.MOTTE_ABI_LAYOUT) != lib.MOTTE_OK:
    raise ImportError(f"the motte package was built for another libmotte than the one loaded, which is {version()}")
