"""The Cypher files: one statement a file, named by folder and file (`write/put_mentions`)."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import knotwork

PACKAGE = Path(knotwork.__file__).parent


@cache
def cypher_folder() -> Path:
    """Where the statements are: in the wheel beside the code, in a working tree at its root."""
    packaged = PACKAGE / "cypher"
    return packaged if packaged.is_dir() else PACKAGE.parents[1] / "cypher"


@cache
def statement(name: str) -> str:
    """The text of one statement, such as `read/audiences`."""
    return (cypher_folder() / f"{name}.cypher").read_text(encoding="utf-8")


def schema_statements() -> list[str]:
    """The statements of cypher/schema, in order of file name and place."""
    texts = [path.read_text(encoding="utf-8") for path in sorted((cypher_folder() / "schema").glob("*.cypher"))]
    return [part.strip() for text in texts for part in _without_comments(text).split(";") if part.strip()]


def _without_comments(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.startswith("//"))
