"""The versions of the embedded Neo4j; `python -m knotwork.adapters.neo4j.pin_jars` resolves and pins its jars anew."""

from __future__ import annotations

import hashlib
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from knotwork.adapters.neo4j.jars import DOWNLOADS_AT_ONCE, LOCK_FILE

if TYPE_CHECKING:
    from jgo.maven import Dependency

ROOTS = (
    "org.neo4j.app:neo4j-server:5.26.30",
    "org.neo4j:neo4j:5.26.30",
    "org.neo4j.client:neo4j-browser:5.24.0",
)


def pin() -> None:
    """Write jars.lock: one line `sha256 size path` a jar, sorted by path; native parts of every platform included."""
    from jgo.maven import MavenContext
    from jgo.parse import Coordinate

    with tempfile.TemporaryDirectory() as folder:
        repository = Path(folder)
        context = MavenContext(repo_cache=repository, timeout=30)
        wanted = [context.create_dependency(replace(Coordinate.parse(root), scope="compile")) for root in ROOTS]
        inputs, transitive = context.resolver.resolve(wanted)
        needed = [*inputs, *(found for found in transitive if found.scope in {"compile", "runtime"})]
        with ThreadPoolExecutor(DOWNLOADS_AT_ONCE) as pool:
            files = sorted(pool.map(_fetch, needed))
        rows = [
            f"{hashlib.sha256(file.read_bytes()).hexdigest()} {file.stat().st_size} "
            f"{file.relative_to(repository).as_posix()}"
            for file in files
        ]
    head = [f"# {root}" for root in ROOTS]
    LOCK_FILE.write_text("\n".join([*head, *rows]) + "\n", "ascii")


def _fetch(dependency: Dependency) -> Path:
    return dependency.artifact.resolve()


if __name__ == "__main__":
    pin()
