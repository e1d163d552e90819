"""Words of other languages that no message in Python may use. A Realm file is one in any language."""
from __future__ import annotations

import re

FOREIGN = re.compile(
    r"motte_\w|MOTTE_(?!MEMORY|WAL_PAGES|LIB|TEST)|\brealms?\b|\bRealms?\b(?! files?\b)|\b[sS]essions?\b|\bhandle\b|"
    r"\bNULL\b|"
    r"\bnil\b|try!|\bSwift\b|@Persisted|@objc|\bisValid\b|isInvalidated|struct_size|userdata|\bsizeof\b|"
    r"\b(?!objectId\b|geo(?:Box|Circle|Polygon)\b)[a-z]+(?:[A-Z][a-z]+)+\b(?=[ ;,.:()]|$)")


def foreign(message: str) -> list[str]:
    """The words of a message, apart from what is quoted, which is the user's."""
    return FOREIGN.findall(re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`|/\S+", "", message))
