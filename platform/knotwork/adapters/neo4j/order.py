"""One order of strings everywhere: by code points, as Python, UTF-8 and Neo4j's range indexes sort.

Cypher itself compares strings by UTF-16 units, in which a character beyond U+FFFF comes before U+E000. Pages that an
index backs are in order by themselves; what Cypher has to sort goes by `coalesce(n.order_id, n.id)`.
"""

from __future__ import annotations

import re

_BEYOND = re.compile("[\uffff-\U0010ffff]")


def order_id(id_: str) -> str | None:
    """A string of small characters that sorts as the id does; None, and no property, when the id itself will do."""
    escaped = _BEYOND.sub(lambda match: f"\uffff{ord(match[0]):06x}", id_)
    return None if escaped == id_ else escaped
