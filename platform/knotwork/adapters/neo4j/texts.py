"""Parsed text as stored: canonical JSON, compressed, in pieces that a store handles with ease."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

from knotwork.adapters.neo4j.session import Row, Transaction
from knotwork.domain.model import Heading, PageStart, ParsedText, TenantId
from knotwork.errors import PlatformError

PIECE_BYTES = 256 * 1024
MESSAGE_BYTES = 4 * 1024 * 1024  # of packed texts sent at once, at least: many short ones share a round trip


class StoredTextDamaged(PlatformError):
    """A stored text does not match its hash."""

    code = "stored_text_damaged"


def pack_text(owner_key: str, parsed: ParsedText) -> list[dict[str, Any]]:
    """The rows of a text: {key, part, sha256, data, bytes}, compressed pieces of at most 256 KB, in order."""
    document = {
        "text": parsed.text,
        "title": parsed.title,
        "headings": [[heading.start, heading.level, heading.text] for heading in parsed.headings],
        "pages": [[page.start, page.page] for page in parsed.pages],
    }
    data = zlib.compress(json.dumps(document, ensure_ascii=False).encode(), 6)
    pieces = [data[start : start + PIECE_BYTES] for start in range(0, len(data), PIECE_BYTES)]
    return [
        {
            "key": f"{owner_key}#{part}",
            "part": part,
            "sha256": hashlib.sha256(piece).hexdigest(),
            "data": piece,
            "bytes": len(piece),
        }
        for part, piece in enumerate(pieces)
    ]


async def put_texts(tx: Transaction, tenant: TenantId, texts: Iterable[tuple[str, ParsedText]]) -> None:
    """Store texts, each with the key of its owner, a Source or an IndexRun that is stored."""
    batch: list[dict[str, object]] = []
    size = 0
    for owner, parsed in texts:
        rows = pack_text(owner, parsed)
        batch.append({"owner": owner, "rows": rows})
        size += sum(len(row["data"]) for row in rows)
        if size >= MESSAGE_BYTES:
            await tx.rows("write/put_texts", tenant=tenant, texts=batch)
            batch, size = [], 0
    if batch:
        await tx.rows("write/put_texts", tenant=tenant, texts=batch)


def unpack_text(rows: Sequence[Row]) -> ParsedText | None:
    """The text of its rows, in order; None when there are none.

    Raises:
        StoredTextDamaged: a piece does not match its hash.
    """
    if not rows:
        return None
    for row in rows:
        if hashlib.sha256(row["data"]).hexdigest() != row["sha256"]:
            raise StoredTextDamaged(f"piece {row['part']} of a stored text is damaged; put the source again")
    document = json.loads(zlib.decompress(b"".join(bytes(row["data"]) for row in rows)))
    return ParsedText(
        text=document["text"],
        title=document["title"],
        headings=tuple(Heading(*heading) for heading in document["headings"]),
        pages=tuple(PageStart(*page) for page in document["pages"]),
    )
