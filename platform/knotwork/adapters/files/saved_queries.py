"""Queries for Neo4j Browser, as files that it imports."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

SUFFIX = ".cypher"


def write_saved_queries(folder: Path, queries: Mapping[str, str]) -> None:
    """Make the folder hold these queries, by name, and no other; what is there already is left alone."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob(f"*{SUFFIX}"):
        if path.stem not in queries:
            path.unlink()
    for name, text in queries.items():
        path = folder / f"{name}{SUFFIX}"
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, encoding="utf-8")
